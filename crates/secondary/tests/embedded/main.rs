//! Failures of the embedded store's file: it is damaged, locked by another process, lost, or its process is killed during a flush, and its
//! disk fills up. Nothing is missing or duplicated afterwards, and nothing is emptied.

mod active_elements;
mod active_instances;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rusqlite::Connection;
use skep_exporting::{CommittedLog, LogError, LogProgress};
use skep_query::entities::{PROCESS_INSTANCE, VARIABLE};
use skep_query::{Answer, Consistency, Query, QueryError, Search, search};
use skep_secondary::{Config, Store};

use skep_testkit::committed_log::Log;
use skep_testkit::one_task::{self, written};
use skep_testkit::sandbox;
use skep_testkit::stores::partition;

const DEADLINE: Duration = Duration::from_secs(180);

/// The batches of this many instances, large enough to be damaged.
fn batches(instances: usize) -> Vec<Bytes> {
    written(instances, &format!(r#"{{"text":"{}"}}"#, "x".repeat(2000)))
}

struct Filled {
    store: Store,
    log: Log,
    progress: Arc<LogProgress>,
}

impl Filled {
    fn try_open(directory: &Path, log: Vec<Bytes>) -> Result<Filled, String> {
        Filled::keeping(directory, log, Duration::from_secs(100 * 365 * 24 * 3600))
    }

    /// Opens a store that keeps ended instances for this time.
    fn keeping(directory: &Path, log: Vec<Bytes>, history_ttl: Duration) -> Result<Filled, String> {
        let config = Config {
            history_ttl,
            ..Config::default()
        };
        Filled::with(directory, log, config)
    }

    fn with(directory: &Path, log: Vec<Bytes>, config: Config) -> Result<Filled, String> {
        let progress = Arc::new(LogProgress::default());
        progress.commit(log.len() as u64);
        let log = Log::new(log);
        let config = Config {
            window: Duration::from_millis(1),
            ..config
        };
        let store = Store::open(
            partition(1, directory),
            config,
            log.clone(),
            progress.clone(),
        );
        Ok(Filled {
            store: store.map_err(|error| error.to_string())?,
            log,
            progress,
        })
    }

    fn open(directory: &Path, log: Vec<Bytes>) -> Filled {
        Filled::try_open(directory, log).unwrap()
    }

    fn follow(&self, more: &[Bytes]) {
        self.log.commit(more.iter().cloned(), &self.progress);
    }

    fn fault(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some(fault) = self.store.status().fault() {
                return fault.reason;
            }
            assert!(began.elapsed() < DEADLINE, "nothing is in the way");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn ask(&self) -> Result<(usize, u64), QueryError> {
        self.search(search(&PROCESS_INSTANCE, r#"{"page":{"limit":10000}}"#).unwrap())
    }

    fn search(&self, search: Search) -> Result<(usize, u64), QueryError> {
        let (done, answer) = mpsc::channel();
        let store = &self.store;
        store.query(
            Query::Search(search),
            Consistency::ReadYourWrites,
            move |answered| {
                let _ = done.send(answered);
            },
        );
        match answer.recv().unwrap()? {
            (Answer::Page(found), behind) => Ok((found.rows.len(), behind)),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until everything is stored, and checks the number of instances.
    fn has(&self, instances: usize) {
        let began = Instant::now();
        while self.store.status().exported_entry() < self.progress.committed() {
            let fault = self.store.status().fault();
            assert!(began.elapsed() < DEADLINE, "{fault:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.ask(), Ok((instances, 0)));
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("query.sqlite")
}

/// A sum over rows, which reveals repeated writes.
fn counted(directory: &Path) -> i64 {
    let connection = Connection::open(file(directory)).unwrap();
    let sum = "SELECT sum(created) FROM job_statistics";
    connection.query_row(sum, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_file_that_is_none_is_named_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let junk = vec![0x5a; 100_000];
    std::fs::write(file(directory.path()), &junk).unwrap();
    let refused = Filled::try_open(directory.path(), batches(1));
    let error = refused.err().expect("it cannot be opened");
    let known = skep_secondary::stored_position(directory.path());
    assert!(known.is_err_and(|error| error.is_damage()));
    assert!(
        error.contains("query.sqlite") && error.contains("not a database"),
        "{error}"
    );
    assert_eq!(std::fs::read(file(directory.path())).unwrap(), junk);
    // If the log is complete, the file can be set aside and recreated.
    let aside = skep_secondary::set_aside(directory.path()).unwrap();
    assert_eq!(std::fs::read(aside).unwrap(), junk);
    Filled::open(directory.path(), batches(3)).has(3);
}

#[test]
fn damage_within_the_file_is_reported_and_nothing_is_emptied() {
    let directory = tempfile::tempdir().unwrap();
    let (first, all) = (batches(200), batches(400));
    let filled = Filled::open(directory.path(), first.clone());
    filled.has(200);
    drop(filled);
    // All rows are in the file itself; the files beside it would hide the damage.
    for beside in ["query.sqlite-wal", "query.sqlite-shm"] {
        let _ = std::fs::remove_file(directory.path().join(beside));
    }
    let mut bytes = std::fs::read(file(directory.path())).unwrap();
    // Keeps the first pages with the schema and the position.
    let from = bytes.len() / 4;
    bytes[from..].fill(0x5a);
    std::fs::write(file(directory.path()), &bytes).unwrap();
    let error = match Filled::try_open(directory.path(), all) {
        Err(error) => error,
        Ok(filled) => {
            let fault = filled.fault();
            assert!(filled.ask().is_err(), "what is damaged answers nothing");
            assert!(filled.store.is_damaged());
            assert!(filled.store.status().durable().entry <= first.len() as u64);
            fault
        }
    };
    assert!(
        error.contains("query.sqlite") && error.contains("malformed"),
        "{error}"
    );
    let left = std::fs::metadata(file(directory.path())).unwrap().len();
    assert!(left >= bytes.len() as u64);
}

/// As in a purge, in which partitions are removed while searches wait for what was committed elsewhere.
#[test]
fn a_store_that_ends_keeps_no_query_waiting_and_waits_for_none() {
    for abandoned in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let config = Config {
            max_wait: DEADLINE,
            ..Config::default()
        };
        let filled = Filled::with(directory.path(), batches(3), config).unwrap();
        filled.has(3);
        filled.progress.expect(1_000_000);
        let (done, answers) = mpsc::channel();
        // More than there are threads.
        for _ in 0..12 {
            let done = done.clone();
            let query = Query::Search(search(&PROCESS_INSTANCE, "{}").unwrap());
            let consistency = Consistency::ReadYourWrites;
            filled.store.query(query, consistency, move |answered| {
                let _ = done.send(answered);
            });
        }
        drop(done);
        let began = Instant::now();
        if abandoned {
            filled.store.abandon();
        }
        filled.store.stop();
        assert!(began.elapsed() < DEADLINE / 2, "{:?}", began.elapsed());
        let answers: Vec<_> = answers.iter().collect();
        assert_eq!(answers.len(), 12);
        let refused = |answer: &Result<_, _>| matches!(answer, Err(QueryError::Unavailable(_)));
        assert!(answers.iter().all(refused), "{answers:?}");
    }
}

#[test]
fn a_search_by_key_overtakes_sixteen_with_thousands_of_alternatives() {
    let directory = tempfile::tempdir().unwrap();
    let filled = Filled::open(directory.path(), batches(300));
    filled.has(300);
    // Of one field alone, they would become a list of values that is looked up by index.
    let alternative = |n: u32| format!(r#"{{"processInstanceKey":"{n}","state":"ACTIVE"}}"#);
    let alternatives = (0..1_600).map(alternative);
    let alternatives: Vec<_> = alternatives.collect();
    let body = format!(r#"{{"filter":{{"$or":[{}]}}}}"#, alternatives.join(","));
    let (done, answers) = mpsc::channel();
    let submit = |client: Option<usize>, search: &Search| {
        let done = done.clone();
        let query = Query::Search(search.clone());
        let consistency = Consistency::ReadYourWrites;
        filled.store.query(query, consistency, move |answered| {
            let _ = done.send((client, answered.is_ok()));
        });
    };
    // To read them takes as long as to answer them.
    let long = search(&PROCESS_INSTANCE, &body).unwrap();
    let by_key = search(
        &PROCESS_INSTANCE,
        r#"{"filter":{"processInstanceKey":"1"}}"#,
    )
    .unwrap();
    for client in 0..16 {
        submit(Some(client), &long);
    }
    submit(None, &by_key);
    let answers: Vec<_> = (0..17).map(|_| answers.recv().unwrap()).collect();
    assert!(answers.iter().all(|(_, answered)| *answered), "{answers:?}");
    let place = answers.iter().position(|(client, _)| client.is_none());
    // One thread is kept free of such searches; when it gets a processor is up to the machine.
    assert!(place.unwrap() < 8, "{answers:?}");
}

/// A log that says when it is read, which takes as long as somebody holds the lock.
struct Slow(mpsc::Sender<()>, Arc<Mutex<()>>);

impl CommittedLog for Slow {
    fn read(&self, _: u64, _: u64, _: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        let _ = self.0.send(());
        drop(self.1.lock().unwrap());
        Ok(Vec::new())
    }
}

/// It is given up on the thread of its partition.
#[test]
fn a_store_that_is_given_up_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let progress = Arc::new(LogProgress::default());
    progress.commit(1);
    let slow = Arc::new(Mutex::new(()));
    let held = slow.lock().unwrap();
    let (reads, read) = mpsc::channel();
    let of = partition(1, directory.path());
    let log = Slow(reads, slow.clone());
    let store = Store::open(of, Config::default(), log, progress);
    let store = Arc::new(store.unwrap());
    assert_eq!(read.recv_timeout(DEADLINE), Ok(()));
    let (done, given_up) = mpsc::channel();
    let its_own = store.clone();
    let thread = std::thread::spawn(move || {
        its_own.abandon();
        let _ = done.send(());
    });
    assert_eq!(given_up.recv_timeout(DEADLINE), Ok(()));
    drop(held);
    thread.join().unwrap();
    store.stop();
}

#[test]
fn a_lock_held_by_another_process_is_reported_and_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let all = batches(20);
    let (before, after) = all.split_at(all.len() / 2);
    let filled = Filled::open(directory.path(), before.to_vec());
    let (known, _) = filled.ask().unwrap();
    let other = Connection::open(file(directory.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    filled.follow(after);
    let fault = filled.fault();
    assert!(fault.contains("locked"), "{fault}");
    // Searches return the existing rows, marked as incomplete.
    let (found, behind) = filled.ask().unwrap();
    assert!(found == known && behind > 0, "{found} {behind}");
    // The records are much older, but it has lacked some of them only since they were committed.
    let longest = began.elapsed().as_millis();
    assert!(u128::from(behind) <= longest, "{behind} {longest}");
    other.execute_batch("COMMIT").unwrap();
    filled.has(20);
    assert_eq!(counted(directory.path()), 20);
}

#[test]
fn a_file_that_is_deleted_under_it_is_made_again_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let all = batches(30);
    let (before, after) = all.split_at(all.len() / 2);
    let filled = Filled::open(directory.path(), before.to_vec());
    assert!(filled.ask().is_ok());
    for name in ["query.sqlite", "query.sqlite-wal", "query.sqlite-shm"] {
        let _ = std::fs::remove_file(directory.path().join(name));
    }
    // A process that has the file open still has all of it.
    filled.follow(after);
    filled.has(30);
    drop(filled);
    let filled = Filled::open(directory.path(), all);
    filled.has(30);
    assert_eq!(counted(directory.path()), 30);
}

#[test]
fn a_disk_that_runs_full_gets_the_rest_when_it_has_room() {
    let name = "a_disk_that_runs_full_gets_the_rest_when_it_has_room";
    sandbox::run(name, |directory| async move {
        let disk = sandbox::FileSystem::tmpfs(&directory, 64);
        let all = batches(300);
        let (before, after) = all.split_at(all.len() / 3);
        let filled = Filled::open(&disk.root, before.to_vec());
        let (known, _) = filled.ask().unwrap();
        let filler = disk.fill();
        filled.follow(after);
        let fault = filled.fault();
        assert!(fault.contains("full"), "{fault}");
        let (found, _) = filled.ask().unwrap();
        assert!(found >= known, "what is there can be searched");
        assert!(filled.store.status().durable().entry < all.len() as u64);
        drop(filler);
        filled.has(300);
        assert_eq!(counted(&disk.root), 300);
    });
}

/// Set in a process that fills a store until it is killed: the store's directory.
const CHILD: &str = "SKEP_FILLS";

#[test]
fn a_kill_between_flushes_neither_loses_nor_repeats_rows() {
    let name = "a_kill_between_flushes_neither_loses_nor_repeats_rows";
    let all = batches(120);
    if let Some(directory) = std::env::var_os(CHILD) {
        let filled = Filled::open(Path::new(&directory), Vec::new());
        for entry in &all {
            filled.follow(std::slice::from_ref(entry));
            println!("{}", filled.store.status().exported_entry());
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(DEADLINE);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = std::io::BufReader::new(child.stdout.take().unwrap());
        // It is killed after this progress, at any point.
        let lines = std::io::BufRead::lines(out).map_while(Result::ok);
        let mut entries = lines.filter_map(|line| line.parse::<u64>().ok());
        let target = last + 10 + round;
        let reached = entries.find(|entry| *entry >= target.min(all.len() as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        last = reached.expect("it got so far");
    }
    let filled = Filled::open(directory.path(), Vec::new());
    let stored = filled.store.status().exported_entry();
    assert!(
        stored >= last,
        "{stored} of {last}: what was stored is there"
    );
    filled.follow(&all);
    filled.has(120);
    assert_eq!(counted(directory.path()), 120);
}

#[test]
fn a_value_that_an_earlier_version_stored_as_it_was_sent_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let log = batches(1);
    let store = Filled::open(directory.path(), log.clone());
    store.has(1);
    store.store.stop();
    let texts = [
        r#""J\u00fcrgen""#,
        r#""J\u00FCrgen""#,
        r#""J\u00fcrgen \/ Co""#,
    ];
    for (at, text) in texts.into_iter().enumerate() {
        let connection = Connection::open(file(directory.path())).unwrap();
        connection
            .execute("UPDATE variable SET value = ?", [text])
            .unwrap();
        drop(connection);
        let store = Filled::open(directory.path(), log.clone());
        let meant = serde_json::from_str::<String>(text).unwrap();
        let own = serde_json::to_string(&serde_json::to_string(&meant).unwrap()).unwrap();
        for value in [own.as_str(), r#"{"$like": "*ürgen*"}"#] {
            let body = format!(r#"{{"filter":{{"name":"text","value":{value}}}}}"#);
            let search = search(&VARIABLE, &body).unwrap();
            assert_eq!(store.search(search), Ok((1, 0)), "{at}: {body}");
        }
        store.store.stop();
    }
}

/// The batches of this many completed instances, each with this many bytes.
fn ended(instances: usize, bytes: usize) -> Vec<Bytes> {
    let mut rig = one_task::rig();
    for _ in 0..instances {
        rig.create("p", &format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes)));
        rig.work("work", "{}");
    }
    let batches = std::mem::take(&mut rig.batches);
    batches.into_iter().map(|(_, batch)| batch.into()).collect()
}

const MIB: u64 = 1 << 20;

#[test]
fn a_store_whose_history_has_left_gives_the_room_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = ended(1_000, 20_000);
    let filled = Filled::open(directory.path(), log.clone());
    filled.has(1_000);
    filled.store.stop();
    drop(filled);
    let full = file(directory.path()).metadata().unwrap().len();
    assert!(full > 20 * MIB, "{full}");
    // The instances have ended on a past day.
    let filled = Filled::keeping(directory.path(), log, Duration::ZERO).unwrap();
    let began = Instant::now();
    loop {
        let (bytes, beside) = filled.store.room().unwrap();
        if bytes < 4 * MIB && beside < 4 * MIB {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{bytes} and {beside} bytes");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(filled.ask(), Ok((0, 0)));
}

#[test]
fn a_file_of_an_earlier_version_learns_to_give_room_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = ended(10, 100);
    let filled = Filled::open(directory.path(), log.clone());
    filled.has(10);
    drop(filled);
    let connection = Connection::open(file(directory.path())).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL;")
        .unwrap();
    let mode = |connection: &Connection| -> i64 {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        connection
            .pragma_query_value(None, "auto_vacuum", read)
            .unwrap()
    };
    assert_eq!(mode(&connection), 0);
    drop(connection);
    let filled = Filled::open(directory.path(), log);
    filled.has(10);
    drop(filled);
    let connection = Connection::open(file(directory.path())).unwrap();
    assert_eq!(mode(&connection), 2, "incremental");
}

#[test]
fn indices_of_an_earlier_version_are_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let log = ended(10, 100);
    let filled = Filled::open(directory.path(), log.clone());
    filled.has(10);
    drop(filled);
    let connection = Connection::open(file(directory.path())).unwrap();
    let made = |connection: &Connection| -> Vec<String> {
        let names = ["element_instance_2", "process_instance_6"];
        let sql = "SELECT sql FROM sqlite_schema WHERE name = ?";
        names
            .map(|name| connection.query_row(sql, [name], |row| row.get(0)).unwrap())
            .to_vec()
    };
    let own = made(&connection);
    connection
        .execute_batch(
            "DROP INDEX process_instance_6;
            DROP INDEX element_instance_2;
            CREATE INDEX element_instance_2 ON element_instance (elementId, processDefinitionKey) WHERE state = 'ACTIVE';",
        )
        .unwrap();
    drop(connection);
    let filled = Filled::open(directory.path(), log);
    filled.has(10);
    drop(filled);
    let connection = Connection::open(file(directory.path())).unwrap();
    assert_eq!(made(&connection), own);
    assert!(own[0].contains("startDate"), "{own:?}");
    assert!(own[1].contains("businessId"), "{own:?}");
}

#[test]
fn rows_have_an_index_on_their_tenant_while_tenants_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let log = ended(10, 100);
    for tenants in [false, true, true, false] {
        let config = Config {
            tenants,
            history_ttl: Duration::from_secs(100 * 365 * 24 * 3600),
            ..Config::default()
        };
        let filled = Filled::with(directory.path(), log.clone(), config).unwrap();
        filled.has(10);
        drop(filled);
        let connection = Connection::open(file(directory.path())).unwrap();
        let sql = "SELECT count(DISTINCT tbl_name) FROM sqlite_schema
            WHERE type = 'index' AND sql LIKE '% (\"tenantId\"%' AND tbl_name <> 'active_instance'";
        let found: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        // One is the table of tenants.
        assert_eq!(found, if tenants { 22 } else { 1 });
    }
}

#[test]
fn the_write_ahead_file_stays_small_whatever_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let filled = Filled::open(directory.path(), Vec::new());
    // Few large rows: 12 times 12 MB.
    let (mut most, mut rig) = (0, one_task::rig());
    for n in 0..12 {
        for _ in 0..6 {
            rig.create("p", &format!(r#"{{"text":"{}"}}"#, "x".repeat(2_000_000)));
        }
        let batches = std::mem::take(&mut rig.batches);
        let batches: Vec<Bytes> = batches.into_iter().map(|(_, b)| b.into()).collect();
        filled.follow(&batches);
        filled.has(6 * (n + 1));
        most = most.max(filled.store.room().unwrap().1);
    }
    assert!(most < 100 * MIB, "{most}");
}
