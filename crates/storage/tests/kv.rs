//! Both key-value stores satisfy the same contract, and the one on disk survives being killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use skep_random::Random;
use skep_storage::StorageError;
use skep_storage::kv::{
    FjallConfig, FjallKv, KvBatch, KvStore, MemoryKv, Row, StreamReader, StreamWriter,
};

fn config() -> FjallConfig {
    FjallConfig {
        cache_bytes: 1 << 20,
        worker_threads: 1,
    }
}

fn fjall(directory: &Path) -> FjallKv {
    FjallKv::open(directory, config()).unwrap()
}

fn batch(rows: &[(u8, &str, Option<&str>)], meta: Option<&str>) -> KvBatch<'static> {
    let mut batch = KvBatch::new();
    for (table, key, value) in rows {
        match value {
            Some(value) => batch.put(*table, *key, *value),
            None => batch.delete(*table, *key),
        }
    }
    if let Some(meta) = meta {
        batch.set_meta(meta);
    }
    batch
}

fn rows(found: skep_storage::kv::Rows<'_>) -> Vec<(String, String)> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    found
        .map(|row| {
            let (key, value) = row.unwrap();
            (text(key), text(value))
        })
        .collect()
}

fn all(store: &dyn KvStore) -> Vec<(u8, Row)> {
    store.view().unwrap().rows().map(Result::unwrap).collect()
}

fn contract(store: &mut dyn KvStore) {
    assert_eq!(store.get(1, b"a").unwrap(), None);
    assert_eq!(store.meta().unwrap(), None);
    let first = [
        (1, "a", Some("1")),
        (1, "ab", Some("2")),
        (1, "b", Some("3")),
        (2, "a", Some("4")),
        (1, "", Some("0")),
    ];
    store.commit(batch(&first, Some("at 1"))).unwrap();
    assert_eq!(store.get(1, b"ab").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(store.get(2, b"ab").unwrap(), None, "tables are apart");
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect()
    };
    assert_eq!(
        rows(store.scan(1, b"", None)),
        pairs(&[("", "0"), ("a", "1"), ("ab", "2"), ("b", "3")])
    );
    assert_eq!(
        rows(store.scan(1, b"a", Some(b"b"))),
        pairs(&[("a", "1"), ("ab", "2")])
    );
    assert_eq!(rows(store.scan(1, b"b", Some(b"a"))), []);
    assert_eq!(
        rows(store.scan_prefix(1, b"a")),
        pairs(&[("a", "1"), ("ab", "2")])
    );
    assert_eq!(rows(store.scan_prefix(3, b"")), []);

    let view = store.view().unwrap();
    store
        .commit(batch(
            &[(1, "a", None), (1, "c", Some("5")), (9, "x", None)],
            None,
        ))
        .unwrap();
    assert_eq!(store.get(1, b"a").unwrap(), None);
    assert_eq!(
        store.meta().unwrap().as_deref(),
        Some(&b"at 1"[..]),
        "meta stays until replaced"
    );
    let seen: Vec<(u8, Vec<u8>)> = view
        .rows()
        .map(|row| row.map(|(table, (key, _))| (table, key)).unwrap())
        .collect();
    let expected = [(1, ""), (1, "a"), (1, "ab"), (1, "b"), (2, "a")];
    let expected: Vec<(u8, Vec<u8>)> = expected
        .iter()
        .map(|(table, key)| (*table, key.as_bytes().to_vec()))
        .collect();
    assert_eq!(seen, expected, "a view does not move");
    assert_eq!(view.meta(), Some(&b"at 1"[..]));
}

#[test]
fn the_memory_store_keeps_the_contract() {
    contract(&mut MemoryKv::new());
}

#[test]
fn the_disk_store_keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    contract(&mut fjall(directory.path()));
}

#[test]
fn the_disk_store_keeps_its_content_over_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = fjall(directory.path());
    store
        .commit(batch(&[(1, "a", Some("1"))], Some("m")))
        .unwrap();
    let before = all(&store);
    drop(store);
    let store = fjall(directory.path());
    assert_eq!(all(&store), before);
    drop(store);
    let store = fjall(directory.path());
    assert_eq!(
        (all(&store), store.meta().unwrap()),
        (before, Some(b"m".to_vec()))
    );
}

#[test]
fn a_table_that_does_not_exist_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = fjall(directory.path())
        .commit(batch(&[(200, "a", Some("1"))], None))
        .unwrap_err();
    assert!(error.to_string().contains("table 200"), "{error}");
}

#[test]
fn the_last_change_of_a_key_in_a_batch_counts() {
    let directory = tempfile::tempdir().unwrap();
    let mut stores: [Box<dyn KvStore>; 2] =
        [Box::new(MemoryKv::new()), Box::new(fjall(directory.path()))];
    for store in &mut stores {
        let changes = [
            (1, "a", Some("first")),
            (1, "b", Some("gone")),
            (1, "a", None),
            (1, "a", Some("last")),
            (1, "b", None),
        ];
        store.commit(batch(&changes, None)).unwrap();
        assert_eq!(
            rows(store.scan(1, b"", None)),
            [("a".to_string(), "last".to_string())]
        );
    }
}

/// Cuts the files of rows off, below a directory.
fn cut_off_tables(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            cut_off_tables(&path);
        } else if directory.ends_with("tables") {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_len(0).unwrap();
        }
    }
}

#[test]
fn an_error_of_a_read_says_that_the_store_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let noise = Random(1).noise(64 << 10);
    let mut store = fjall(directory.path());
    store
        .commit(batch(&[(1, "a", Some(&noise))], None))
        .unwrap();
    drop(store);
    let store = fjall(directory.path());
    cut_off_tables(directory.path());
    let of_scan = store.scan(1, b"", None).next().unwrap().unwrap_err();
    for error in [store.get(1, b"a").unwrap_err(), of_scan] {
        let text = error.to_string();
        let expected = "reading the key-value store in";
        assert!(text.starts_with(expected), "{text}");
    }
}

/// Total size of the files below a directory.
fn on_disk(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).unwrap();
    let size = |path: &Path| {
        if path.is_dir() {
            on_disk(path)
        } else {
            path.metadata()
                .map_or(0, |metadata| metadata.blocks() * 512)
        }
    };
    entries.map(|entry| size(&entry.unwrap().path())).sum()
}

#[test]
fn the_room_of_deleted_rows_can_be_had_back_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = fjall(directory.path());
    let noise = |number: u32| Random(number.into()).noise(4096).into_bytes();
    for commit in 0..3_u32 {
        let mut batch = KvBatch::new();
        for row in commit * 1000..(commit + 1) * 1000 {
            batch.put(1, row.to_be_bytes(), noise(row));
        }
        store.commit(batch).unwrap();
    }
    let full = on_disk(directory.path());
    assert!(full > 10 << 20, "{full} bytes");
    let reader = store.reader();
    let mut batch = KvBatch::new();
    for row in 1..3000_u32 {
        batch.delete(1, row.to_be_bytes());
    }
    store.reclaim().unwrap();
    let before = on_disk(directory.path());
    store.commit(batch).unwrap();
    assert!(
        on_disk(directory.path()) > before,
        "the rows are still there"
    );
    store.reclaim().unwrap();
    let left = on_disk(directory.path());
    assert!(left < 1 << 20, "{left} of {full} bytes are left");
    assert_eq!(
        reader.get(1, &0_u32.to_be_bytes()).unwrap(),
        Some(noise(0)),
        "what was not deleted is there"
    );
    assert_eq!(reader.rows(1).count(), 1);
}

#[test]
fn a_reader_sees_an_installed_snapshot_and_later_commits() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = fjall(directory.path());
    let reader = store.reader();
    install(&mut store, chunks(&filled(), 4096)).unwrap();
    store.commit(batch(&[(1, "new", Some("1"))], None)).unwrap();
    assert_eq!(reader.get(1, b"new").unwrap(), Some(b"1".to_vec()));
    assert_eq!(reader.rows(1).count(), 601);
}

fn filled() -> MemoryKv {
    let mut store = MemoryKv::new();
    let mut batch = KvBatch::new();
    for number in 0..3000_u32 {
        batch.put(
            (number % 5) as u8,
            number.to_be_bytes(),
            vec![number as u8; (number % 200) as usize],
        );
    }
    batch.set_meta("position");
    store.commit(batch).unwrap();
    store
}

fn chunks(store: &dyn KvStore, size: usize) -> Vec<bytes::Bytes> {
    let view = store.view().unwrap();
    let mut writer = StreamWriter::new(&*view, size).unwrap();
    std::iter::from_fn(|| writer.next_chunk().unwrap()).collect()
}

fn install(store: &mut dyn KvStore, chunks: Vec<bytes::Bytes>) -> Result<(), StorageError> {
    let reader = StreamReader::new(chunks.into_iter().map(Ok))?;
    let meta = reader.meta().map(<[u8]>::to_vec);
    store.install(Box::new(reader), meta)
}

#[test]
fn a_snapshot_stream_replaces_the_content_of_another_store() {
    let source = filled();
    let directory = tempfile::tempdir().unwrap();
    let mut target = fjall(directory.path());
    target
        .commit(batch(&[(1, "old", Some("gone"))], Some("older")))
        .unwrap();
    let chunks = chunks(&source, 4096);
    assert!(chunks.len() > 50);
    install(&mut target, chunks.clone()).unwrap();
    assert_eq!(all(&target), all(&source));
    assert_eq!(target.meta().unwrap().as_deref(), Some(&b"position"[..]));
    target
        .commit(batch(&[(1, "new", Some("1"))], None))
        .unwrap();
    drop(target);
    let target = fjall(directory.path());
    assert_eq!(all(&target).len(), all(&source).len() + 1);
    let mut back = MemoryKv::new();
    install(&mut back, chunks).unwrap();
    assert_eq!(all(&back), all(&source));
}

#[test]
fn a_damaged_or_short_stream_is_refused_and_the_old_content_stays() {
    let good = chunks(&filled(), 4096);
    let directory = tempfile::tempdir().unwrap();
    let mut target = fjall(directory.path());
    target
        .commit(batch(&[(1, "old", Some("stays"))], None))
        .unwrap();
    let before = all(&target);
    let mut flipped = good.clone();
    let mut bytes = flipped[7].to_vec();
    bytes[100] ^= 1;
    flipped[7] = bytes.into();
    let mut swapped = good.clone();
    swapped.swap(3, 4);
    for bad in [
        flipped,
        swapped,
        good[..good.len() - 1].to_vec(),
        good[1..].to_vec(),
        vec![],
    ] {
        let error = install(&mut target, bad).unwrap_err();
        assert!(matches!(error, StorageError::Snapshot(_)), "{error}");
        assert_eq!(all(&target), before);
    }
    drop(target);
    assert_eq!(all(&fjall(directory.path())), before);
}

#[test]
fn a_staged_build_leaves_the_store_unchanged_until_it_is_adopted() {
    let source = filled();
    let directory = tempfile::tempdir().unwrap();
    let mut target = fjall(directory.path());
    target
        .commit(batch(&[(1, "old", Some("stays"))], None))
        .unwrap();
    let before = all(&target);
    let build = |target: &FjallKv, leave_free| {
        let rows = StreamReader::new(chunks(&source, 4096).into_iter().map(Ok)).unwrap();
        let meta = rows.meta().map(<[u8]>::to_vec);
        target.staging().build(Box::new(rows), meta, leave_free)
    };
    let count = || std::fs::read_dir(directory.path()).unwrap().count();
    let files = count();
    // No disk has that much free space.
    assert!(build(&target, u64::MAX / 2).unwrap_err().is_disk_full());
    assert_eq!(count(), files, "nothing is left of it");
    drop(build(&target, 0).unwrap());
    assert_eq!(all(&target), before);
    let staged = build(&target, 0).unwrap();
    // Commits continue meanwhile; their changes are discarded with the old content.
    target
        .commit(batch(&[(1, "new", Some("1"))], None))
        .unwrap();
    assert_eq!(all(&target).len(), before.len() + 1);
    target.adopt(staged).unwrap();
    assert_eq!(all(&target), all(&source));
    drop(target);
    assert_eq!(all(&fjall(directory.path())), all(&source));
}

#[test]
fn the_snapshot_stream_has_the_bytes_it_always_had() {
    let mut store = MemoryKv::new();
    store
        .commit(batch(
            &[(1, "a", Some("1")), (7, "key", Some(""))],
            Some("meta"),
        ))
        .unwrap();
    let bytes: Vec<u8> = chunks(&store, 1 << 16).concat();
    if std::env::var("SKEP_GOLDEN").as_deref() == Ok("write") {
        std::fs::write("tests/golden/snapshot-v1.bin", &bytes).unwrap();
    }
    let golden = include_bytes!("golden/snapshot-v1.bin");
    assert_eq!(bytes, golden);
    let mut read = MemoryKv::new();
    install(&mut read, vec![bytes::Bytes::from_static(golden)]).unwrap();
    assert_eq!(all(&read), all(&store));
}

#[test]
fn a_snapshot_of_a_later_version_is_refused_by_name() {
    let mut later = include_bytes!("golden/snapshot-v1.bin").to_vec();
    // Behind the header of the chunk and the magic number.
    later[14..16].copy_from_slice(&2_u16.to_le_bytes());
    let sum = crc32fast::hash(&later[8..]);
    later[..4].copy_from_slice(&sum.to_le_bytes());
    let error = install(&mut MemoryKv::new(), vec![later.into()]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("version 2 of the format is not known"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_stores_agree(commits in prop::collection::vec(
        prop::collection::vec((0_u8..3, prop::collection::vec(0_u8..4, 0..4), prop::option::of(0_usize..9000)), 0..30),
        1..8,
    )) {
        let directory = tempfile::tempdir().unwrap();
        let mut disk = fjall(directory.path());
        let mut memory = MemoryKv::new();
        for (number, commit) in commits.into_iter().enumerate() {
            let mut batch = KvBatch::new();
            // One change per key: the order within a batch is that of the calls, which a map makes unambiguous.
            let changes: BTreeMap<_, _> = commit.into_iter().map(|(table, key, value)| ((table, key), value)).collect();
            for ((table, key), value) in changes {
                match value {
                    Some(size) => batch.put(table, key, vec![number as u8; size]),
                    None => batch.delete(table, key),
                }
            }
            batch.set_meta(number.to_be_bytes());
            disk.commit(batch.clone()).unwrap();
            memory.commit(batch).unwrap();
            if number % 3 == 2 {
                drop(disk);
                disk = fjall(directory.path());
            }
            prop_assert_eq!(all(&disk), all(&memory));
            prop_assert_eq!(disk.meta().unwrap(), memory.meta().unwrap());
        }
    }
}

/// Not a test by itself, but the process that the crash test kills. Commits rows that all carry the number of their commit, and prints each
/// completed commit.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Some(directory) = std::env::var_os("SKEP_KV_CHILD") else {
        return;
    };
    let mut store = fjall(Path::new(&directory));
    let start = store
        .meta()
        .unwrap()
        .map_or(0, |meta| u64::from_be_bytes(meta.try_into().unwrap()));
    for number in start + 1.. {
        let mut batch = KvBatch::new();
        for row in 0..400_u32 {
            batch.put((row % 3) as u8, row.to_be_bytes(), number.to_be_bytes());
        }
        batch.set_meta(number.to_be_bytes());
        store.commit(batch).unwrap();
        println!("done {number}");
    }
}

#[test]
fn a_killed_process_leaves_whole_commits_and_every_acknowledged_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut total = 0;
    for round in 0..4_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "child_that_commits_until_it_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env("SKEP_KV_CHILD", directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut count = 0;
        while count < 8 + 9 * round {
            let line = lines.next().unwrap().unwrap();
            if let Some(number) = line.strip_prefix("done ") {
                acknowledged = number.parse::<u64>().unwrap();
                count += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let store = fjall(directory.path());
        let number = u64::from_be_bytes(store.meta().unwrap().unwrap().try_into().unwrap());
        assert!(
            number >= acknowledged,
            "commit {acknowledged} was acknowledged, {number} is there"
        );
        let rows = all(&store);
        assert_eq!(rows.len(), 400);
        assert!(
            rows.iter()
                .all(|(_, (_, value))| *value == number.to_be_bytes()),
            "a mixture of commits"
        );
        assert!(number > total);
        total = number;
    }
}
