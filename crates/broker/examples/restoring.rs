//! How fast a node gets its data from a backup: `cargo run --release -p skep-broker --example restoring -- DIRECTORY GIB...`
//!
//! For each size a backup of one partition is written below DIRECTORY, which needs twice that much space: half of it rows of secondary
//! storage, a quarter rows of the state, a quarter log. The objects are dropped from the page cache, so that they are read from the disk as
//! far as the system allows; then they are restored as by `skep restore`, flushed to the disk. Store and node share the disk here. The time
//! for 20 GiB is extrapolated from the largest size, and says so.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use rustix::fs::{Advice, fadvise};
use skep_backup::{
    BackupKind, Begun, Cut, FORMAT, Location, LogPart, Manifest, PartitionManifest, Reader, Store,
    StoredObject, Upload, encode_entries,
};
use skep_broker::BrokerConfig;
use skep_broker::backup::restore::{How, run};
use skep_cluster::{Layout, State};
use skep_storage::StorageError;
use skep_storage::kv::{KvView, StreamWriter, TableRows};
use skep_storage::log::Entry;

const GIB: u64 = 1 << 30;
/// The goal: so much in 150 s.
const GOAL: u64 = 20 * GIB;
/// Bytes of content per object, those of a backup.
const PIECE: usize = skep_backup::PIECE;
const VALUE: usize = 1000;
const PAYLOAD: usize = 64 << 10;
const ID: u64 = 1;

/// Text of which a half is random: it is compressed about as well as records.
struct Text(u64);

impl Text {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 32);
        while bytes.len() < length {
            bytes.extend_from_slice(b"\"customer\":\"");
            bytes.extend_from_slice(&self.next().to_le_bytes());
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

/// Rows that are made as they are read.
struct Rows(u64);

impl KvView for Rows {
    fn rows(&self) -> TableRows<'_> {
        let mut text = Text(7);
        let rows = (0..self.0).map(move |number| {
            let key = number.to_be_bytes().to_vec();
            Ok::<_, StorageError>((1, (key, text.bytes(VALUE))))
        });
        Box::new(rows)
    }

    fn meta(&self) -> Option<&[u8]> {
        None
    }
}

fn upload(store: &Store, part: &str) -> Upload {
    Upload::new(store, (ID, 1), part, u64::MAX)
}

fn state(store: &Store, bytes: u64) -> Vec<StoredObject> {
    let rows = Rows(bytes / VALUE as u64);
    let mut writer = StreamWriter::new(&rows, PIECE).unwrap();
    let mut objects = upload(store, "state");
    while let Some(chunk) = writer.next_chunk().unwrap() {
        objects.add(&chunk).unwrap();
    }
    objects.finish()
}

fn query(store: &Store, bytes: u64) -> Vec<StoredObject> {
    let (mut text, mut objects) = (Text(11), upload(store, "query"));
    for _ in 0..bytes / PIECE as u64 {
        objects.add(&text.bytes(PIECE)).unwrap();
    }
    objects.finish()
}

/// The objects, and the last entry.
fn log(store: &Store, bytes: u64) -> (Vec<StoredObject>, u64) {
    let (mut text, mut objects) = (Text(13), upload(store, "log"));
    let mut index = 1;
    for _ in 0..bytes / PIECE as u64 {
        let mut content = Vec::new();
        while content.len() < PIECE {
            index += 1;
            let entry = Entry {
                index,
                term: 1,
                tag: 0,
                payload: Bytes::from(text.bytes(PAYLOAD)),
            };
            encode_entries(&entry, &mut content);
        }
        objects.add(&content).unwrap();
    }
    (objects.finish(), index)
}

fn back_up(store: &Store, bytes: u64) -> Manifest {
    let begun = Begun {
        backup_id: ID,
        cluster_id: "measured".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        began_at: 1,
        broker_id: 0,
        partitions: 1,
    };
    begun.create(store).unwrap();
    let layout = Layout {
        nodes: vec![0],
        copies: 1,
        partitions: 1,
    };
    let (entries, last) = log(store, bytes / 4);
    let manifest = Manifest {
        format: FORMAT,
        backup_id: ID,
        version: begun.version.clone(),
        kind: BackupKind::default(),
        documents: Vec::new(),
        began_at: 1,
        cut_at: 2,
        completed_at: 3,
        cluster: State::bootstrapped(begun.cluster_id.clone(), &layout, 0),
        partitions: vec![PartitionManifest {
            partition: 1,
            broker_id: 0,
            cut: Cut {
                index: last,
                term: 1,
                position: last,
                last_key: last,
            },
            checkpoint_index: 1,
            state: state(store, bytes / 4),
            query: Some(query(store, bytes / 2)),
            log: LogPart {
                base_index: 1,
                base_term: 1,
                objects: entries,
            },
        }],
    };
    begun.complete(store, &manifest).unwrap();
    manifest
}

/// Writes the files to the disk and drops them from memory.
fn forget(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            forget(&path);
        } else {
            let file = std::fs::File::open(&path).unwrap();
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
    }
}

/// The bytes of all files.
fn size(directory: &Path) -> u64 {
    let sizes = std::fs::read_dir(directory).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            size(&path)
        } else {
            path.metadata().unwrap().len()
        }
    });
    sizes.sum()
}

/// Bytes of data per second.
fn measure(below: &Path, bytes: u64) -> f64 {
    let directory = tempfile::tempdir_in(below).unwrap();
    let objects = directory.path().join("store");
    let store = Store::open(&Location::Directory(objects.clone())).unwrap();
    let manifest = back_up(&store, bytes);
    let stored: u64 = manifest.objects().map(|object| object.bytes).sum();
    forget(&objects);
    let config = BrokerConfig {
        directory: directory.path().join("node"),
        partitions: 1,
        secondary_storage: Some(skep_secondary::Config::default()),
        ..BrokerConfig::default()
    };
    let began = Instant::now();
    let reader = Reader::open(&store, ID).unwrap();
    run(&config, &reader, How::default(), &mut |_| {}).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let data = size(&config.directory);
    // Rows of the state are compressed.
    assert!(
        data >= bytes * 3 / 4,
        "{data} of {bytes} bytes are restored"
    );
    let rate = bytes as f64 / seconds;
    println!(
        "{:5.2} GiB, {:.2} GiB in the store: {seconds:6.1} s, {:4.0} MiB/s",
        bytes as f64 / GIB as f64,
        stored as f64 / GIB as f64,
        rate / f64::from(1 << 20)
    );
    rate
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(below), sizes) = (arguments.next(), arguments) else {
        eprintln!("restoring DIRECTORY GIB...");
        std::process::exit(2);
    };
    let mut rate = None;
    for size in sizes {
        let gib: f64 = size.parse().expect("a number of GiB");
        rate = Some(measure(Path::new(&below), (gib * GIB as f64) as u64));
    }
    if let Some(rate) = rate {
        println!(
            "extrapolated from the last one: {:.0} GiB in {:.0} s",
            GOAL as f64 / GIB as f64,
            GOAL as f64 / rate
        );
    }
}
