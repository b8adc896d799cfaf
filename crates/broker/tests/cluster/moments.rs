//! Continuous backups: the cluster is restored to moments between backups, and a log that is not shipped in time breaks a range.

use super::stores::{checkpoint, committed, stored};
use super::*;

use std::collections::HashMap;
use std::path::PathBuf;

use skep_backup::{Location, Moment, Reader, Store, moment, ranges, verify};
use skep_broker::backup::restore::{self, How};
use skep_broker::backup::schedule::Schedule;

const INTERVAL: Duration = Duration::from_millis(300);

pub fn continuous(store: &TempDir) -> BackupConfig {
    BackupConfig {
        location: Location::Directory(store.path().to_path_buf()),
        rate: 1 << 30,
        schedule: Schedule::default(),
        continuous: Some(INTERVAL),
        required: false,
        documents: Vec::new(),
    }
}

fn now() -> i64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as i64
}

/// Runs a blocking query of the store in its own thread.
async fn ask<T: Send + 'static>(
    store: &TempDir,
    question: impl FnOnce(&Store) -> T + Send + 'static,
) -> T {
    let location = Location::Directory(store.path().to_path_buf());
    let asked = tokio::task::spawn_blocking(move || question(&Store::open(&location).unwrap()));
    asked.await.unwrap()
}

/// The newest moment of the newest range.
async fn newest(store: &TempDir) -> Option<Moment> {
    ask(store, |backups| ranges(backups).unwrap().last()?.end()).await
}

/// An acknowledged instance.
struct Entry {
    key: Key,
    sent: i64,
    acknowledged: i64,
}

/// Instances created one after the other, each on another node.
#[derive(Default)]
struct Ledger(Vec<Entry>);

impl Ledger {
    async fn create(&mut self, rigs: &[Rig]) {
        let sent = now();
        let key = create_one(&rigs[self.0.len() % rigs.len()]).await;
        self.0.push(Entry {
            key,
            sent,
            acknowledged: now(),
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        self.0.iter().map(|it| it.key)
    }

    /// Creates instances until there is a marker later than now.
    async fn create_until_marked(&mut self, rigs: &[Rig], store: &TempDir) -> Moment {
        let (began, from) = (Instant::now(), now());
        loop {
            self.create(rigs).await;
            let newest = newest(store).await;
            let marked = newest.filter(|it| it.marker.is_some() && it.at > from);
            if let Some(moment) = marked {
                return moment;
            }
            assert!(began.elapsed() < DEADLINE, "waited for a marker in vain");
        }
    }

    /// Asserts that instances acknowledged before the moment exist, and that instances requested after it do not.
    fn expect_at(&self, moment: Moment, there: &HashSet<Key>) {
        let before = self.0.iter().filter(|it| it.acknowledged < moment.at);
        let lost: Vec<Key> = before
            .map(|it| it.key)
            .filter(|key| !there.contains(key))
            .collect();
        assert_eq!(lost, [], "acknowledged before the moment");
        let after = self.0.iter().filter(|it| it.sent > moment.at);
        let too_many: Vec<Key> = after
            .map(|it| it.key)
            .filter(|key| there.contains(key))
            .collect();
        assert_eq!(too_many, [], "asked for after the moment");
    }
}

/// A single node.
fn alone(directory: &TempDir, partitions: u32, backup: Option<BackupConfig>) -> BrokerConfig {
    BrokerConfig {
        partitions,
        directory: directory.path().to_path_buf(),
        secondary_storage: Some(skep_secondary::Config::default()),
        backup,
        ..BrokerConfig::default()
    }
}

async fn open(directory: TempDir, config: BrokerConfig) -> Rig {
    let opened = tokio::task::spawn_blocking(|| Broker::open(config, Arc::new(Clock::default())));
    let rig = Rig {
        broker: opened.await.unwrap().unwrap(),
        clock: Arc::default(),
        directory: Arc::new(directory),
    };
    wait_until("leaders", || knows_all_leaders(&rig)).await;
    rig
}

/// The instances of the ledger that exist on a node restored to a moment.
async fn restored(
    store: &TempDir,
    partitions: u32,
    moment: Moment,
    ledger: &Ledger,
) -> HashSet<Key> {
    let (directory, config) = restore(store, alone_with(partitions), moment).await;
    let rig = open(directory, config).await;
    let there = those_of(&rig, partitions, ledger).await;
    stop(rig).await;
    there
}

/// The settings of a single node without backups.
fn alone_with(partitions: u32) -> BrokerConfig {
    BrokerConfig {
        partitions,
        secondary_storage: Some(skep_secondary::Config::default()),
        ..BrokerConfig::default()
    }
}

/// A directory that is restored to a moment.
async fn restore(store: &TempDir, config: BrokerConfig, moment: Moment) -> (TempDir, BrokerConfig) {
    let directory = tempfile::tempdir().unwrap();
    let config = BrokerConfig {
        directory: directory.path().to_path_buf(),
        ..config
    };
    let restores = config.clone();
    ask(store, move |backups| {
        let reader = Reader::open_at(backups, moment).unwrap();
        restore::run(&restores, &reader, How::default(), &mut |_| {}).unwrap();
    })
    .await;
    (directory, config)
}

/// The instances of the ledger that exist on a node.
async fn those_of(rig: &Rig, partitions: u32, ledger: &Ledger) -> HashSet<Key> {
    // Once a new instance of each partition is found, all older ones are searchable as well.
    let mut new = HashMap::new();
    while new.len() < partitions as usize {
        let key = new_one(rig).await;
        new.insert(key.partition(), key);
    }
    for key in new.into_values() {
        let began = Instant::now();
        while !is_found(rig, key).await {
            assert!(began.elapsed() < DEADLINE, "a new instance is not found");
        }
    }
    let mut there = HashSet::new();
    for key in ledger.keys() {
        if is_found(rig, key).await {
            there.insert(key);
        }
    }
    there
}

async fn is_found(rig: &Rig, key: Key) -> bool {
    let entity = &PROCESS_INSTANCE;
    let query = Query::Get { entity, key };
    let found = rig.broker.query(query, Consistency::ReadYourWrites).await;
    matches!(found, Ok((Answer::Row(Some(_)), _)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_is_restored_with_all_before_it_and_nothing_after_it_though_leaders_changed() {
    let store = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(3, 2);
    nodes.backup = Some(continuous(&store));
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut ledger = Ledger::default();
    let first = ledger.create_until_marked(&rigs, &store).await;
    let leads = leader(&rigs[0].broker.topology(), 1).unwrap();
    stop(rigs.remove(leads)).await;
    let second = ledger.create_until_marked(&rigs, &store).await;
    rigs.push(nodes.open(leads).await);
    let third = ledger.create_until_marked(&rigs, &store).await;
    ledger.create(&rigs).await;
    for rig in rigs {
        stop(rig).await;
    }
    assert_eq!(first.backup, third.backup, "one backup is enough");
    assert!(first.at < second.at && second.at < third.at);
    let verified = ask(&store, move |backups| {
        verify(backups, first.backup).unwrap()
    })
    .await;
    assert!(verified.markers >= 3, "{verified:?}");
    for wanted in [first, second, third] {
        let found = ask(&store, move |backups| {
            moment(backups, wanted.at, None).unwrap()
        })
        .await;
        assert_eq!(found, wanted);
        let there = restored(&store, 2, found, &ledger).await;
        ledger.expect_at(found, &there);
    }
}

/// Whether the log begins after this entry.
async fn lacks(rig: &Rig, entry: u64) -> bool {
    let (asker, answered) = crossbeam_channel::bounded(1);
    let asks = Report::KeepLog {
        behind: u64::MAX,
        required: false,
        asker,
    };
    rig.broker.partitions()[0].inbox.send(asks);
    let answered = tokio::task::spawn_blocking(move || answered.recv_timeout(DEADLINE));
    let (log, _) = answered.await.unwrap().unwrap();
    log.base().index >= entry
}

/// The store refuses the log of the first partition behind a backup until it is back.
struct Away {
    log: PathBuf,
    away: PathBuf,
}

impl Away {
    fn begin(store: &TempDir, backup: u64) -> Away {
        let log = format!("backups/{backup}/continued/partition-1");
        let gone = Away {
            log: store.path().join(log),
            away: store.path().join("away"),
        };
        std::fs::create_dir(&gone.away).unwrap();
        let began = Instant::now();
        // A leader that ships at this moment recreates the directory.
        while !gone.log.is_file() {
            for object in std::fs::read_dir(&gone.log).unwrap() {
                let object = object.unwrap();
                let _ = std::fs::rename(object.path(), gone.away.join(object.file_name()));
            }
            if std::fs::remove_dir(&gone.log).is_ok() {
                let _ = std::fs::write(&gone.log, "no directory");
            }
            assert!(began.elapsed() < DEADLINE, "it is always made again");
        }
        gone
    }

    fn end(self) {
        std::fs::remove_file(&self.log).unwrap();
        std::fs::rename(&self.away, &self.log).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_leader_has_in_its_log_what_the_store_lacks() {
    let store = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(3, 1);
    nodes.backup = Some(continuous(&store));
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut ledger = Ledger::default();
    let first = ledger.create_until_marked(&rigs, &store).await;
    let away = Away::begin(&store, first.backup);
    for _ in 0..10 {
        ledger.create(&rigs).await;
    }
    let done = rigs.iter().map(committed).max().unwrap();
    for rig in &rigs {
        wait_until("secondary storage", || stored(rig) >= done).await;
    }
    // Twice: at first, other members may not have reported yet that they have everything.
    for _ in 0..2 {
        ledger.create(&rigs).await;
        for rig in &rigs {
            checkpoint(rig).await;
        }
    }
    let leads = leader(&rigs[0].broker.topology(), 1).unwrap();
    stop(rigs.remove(leads)).await;
    ledger.create(&rigs).await;
    away.end();
    let last = ledger.create_until_marked(&rigs, &store).await;
    for rig in rigs {
        stop(rig).await;
    }
    assert_eq!(last.backup, first.backup, "the range did not break");
    let there = restored(&store, 1, last, &ledger).await;
    ledger.expect_at(last, &there);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_not_kept_until_it_is_shipped_breaks_the_range_and_another_begins() {
    let store = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = alone(&directory, 1, Some(continuous(&store)));
    let rigs = [open(directory, config).await];
    rigs[0].deploy(&one_task()).await;
    let mut ledger = Ledger::default();
    let last = ledger.create_until_marked(&rigs, &store).await;
    let away = Away::begin(&store, last.backup);
    for _ in 0..10 {
        ledger.create(&rigs).await;
    }
    let status = rigs[0].broker.partitions()[0].status.clone();
    let done = status.applied.load(Ordering::Acquire);
    wait_until("secondary storage", || stored(&rigs[0]) >= done).await;
    checkpoint(&rigs[0]).await;
    ledger.create(&rigs).await;
    checkpoint(&rigs[0]).await;
    assert!(!lacks(&rigs[0], done).await, "there is room for the log");
    let began = Instant::now();
    while !lacks(&rigs[0], done).await {
        status.disk_low.store(true, Ordering::Relaxed);
        ledger.create(&rigs).await;
        checkpoint(&rigs[0]).await;
        assert!(began.elapsed() < DEADLINE, "the log stays on a full disk");
    }
    status.disk_low.store(false, Ordering::Relaxed);
    away.end();
    let began = Instant::now();
    let all = loop {
        ledger.create(&rigs).await;
        let all = ask(&store, |backups| ranges(backups).unwrap()).await;
        if all.len() == 2 && all[1].end().unwrap().marker.is_some() {
            break all;
        }
        assert!(began.elapsed() < DEADLINE, "no other range begins");
    };
    for rig in rigs {
        stop(rig).await;
    }
    let (broken, anew) = (&all[0], &all[1]);
    assert!(broken.bases.last().unwrap().broken.is_some());
    let between = anew.start().unwrap().at - 1;
    let none = ask(&store, move |backups| moment(backups, between, None)).await;
    assert!(none.unwrap_err().to_string().contains("none of the ranges"));
    for end in [broken.end().unwrap(), anew.end().unwrap()] {
        let there = restored(&store, 1, end, &ledger).await;
        ledger.expect_at(end, &there);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_emptied_is_noticed_and_another_range_begins() {
    let store = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = alone(&directory, 1, Some(continuous(&store)));
    let rigs = [open(directory, config).await];
    rigs[0].deploy(&one_task()).await;
    let mut ledger = Ledger::default();
    let last = ledger.create_until_marked(&rigs, &store).await;
    std::fs::remove_dir_all(store.path().join("backups")).unwrap();
    let began = Instant::now();
    let end = loop {
        ledger.create(&rigs).await;
        let all = ask(&store, |backups| ranges(backups).unwrap_or_default()).await;
        let end = all.last().and_then(|range| range.end());
        if let Some(end) = end.filter(|end| end.backup > last.backup && end.marker.is_some()) {
            break end;
        }
        assert!(began.elapsed() < DEADLINE, "no other range begins");
    };
    for rig in rigs {
        stop(rig).await;
    }
    let there = restored(&store, 1, end, &ledger).await;
    ledger.expect_at(end, &there);
}

/// A node that has worked until a moment of its own, and its instances.
async fn work_until_marked(rig: Rig, store: &TempDir) -> (Moment, Ledger, u64) {
    let rigs = [rig];
    let mut ledger = Ledger::default();
    let moment = ledger.create_until_marked(&rigs, store).await;
    let epoch = rigs[0].broker.cluster_state().epoch;
    let [rig] = rigs;
    stop(rig).await;
    (moment, ledger, epoch)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_restores_of_one_backup_are_two_clusters_with_two_ranges() {
    let store = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = alone(&directory, 1, Some(continuous(&store)));
    let original = open(directory, config).await;
    original.deploy(&one_task()).await;
    let (from, _, _) = work_until_marked(original, &store).await;
    let continues = BrokerConfig {
        backup: Some(continuous(&store)),
        ..alone_with(1)
    };
    let mut restores = Vec::new();
    // The same moment twice, and the backup before it: each is a restore of its own.
    for moment in [
        from,
        from,
        Moment {
            marker: None,
            ..from
        },
    ] {
        let (directory, config) = restore(&store, continues.clone(), moment).await;
        let rig = open(directory, config).await;
        if moment.marker.is_none() {
            // The backup was taken before anything was deployed, or after it.
            rig.deploy(&one_task()).await;
        }
        restores.push(work_until_marked(rig, &store).await);
    }
    let epochs: HashSet<u64> = restores.iter().map(|(_, _, epoch)| *epoch).collect();
    let backups: HashSet<u64> = restores.iter().map(|(end, _, _)| end.backup).collect();
    assert_eq!((epochs.len(), backups.len()), (3, 3), "each has its own");
    assert!(!backups.contains(&from.backup));
    for (end, ledger, _) in &restores {
        let backup = end.backup;
        ask(&store, move |backups| verify(backups, backup).unwrap()).await;
        let there = restored(&store, 1, *end, ledger).await;
        ledger.expect_at(*end, &there);
        for (_, other, _) in restores.iter().filter(|(other, _, _)| other != end) {
            assert!(other.keys().all(|key| !there.contains(&key)));
        }
    }
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Copied directories have the same identity, so only the log itself tells that the range belongs to another history.
#[tokio::test(flavor = "multi_thread")]
async fn another_history_of_the_same_cluster_breaks_the_range_and_begins_its_own() {
    for is_longer in [false, true] {
        let store = tempfile::tempdir().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let config = alone(&directory, 1, Some(continuous(&store)));
        let rig = open(directory, config.clone()).await;
        rig.deploy(&one_task()).await;
        let directory = rig.directory.clone();
        let (before, _, _) = work_until_marked(rig, &store).await;
        let copied = tempfile::tempdir().unwrap();
        copy_all(directory.path(), copied.path());
        let directory = Arc::into_inner(directory).unwrap();
        let rig = open(directory, config.clone()).await;
        work_until_marked(rig, &store).await;
        let one = newest(&store).await.unwrap();
        assert_eq!(one.backup, before.backup, "it continues its own log");
        let other = BrokerConfig {
            directory: copied.path().to_path_buf(),
            // A longer log than that in the store is compared entry by entry.
            backup: config.backup.clone().filter(|_| !is_longer),
            ..config.clone()
        };
        let mut rig = open(copied, other.clone()).await;
        let mut ledger = Ledger::default();
        if is_longer {
            let mut rigs = [rig];
            for _ in 0..200 {
                ledger.create(&rigs).await;
            }
            let directory = rigs[0].directory.clone();
            [rig] = rigs;
            stop(rig).await;
            let again = BrokerConfig {
                backup: config.backup.clone(),
                ..other
            };
            rigs = [open(Arc::into_inner(directory).unwrap(), again).await];
            [rig] = rigs;
        }
        let (end, newer, _) = work_until_marked(rig, &store).await;
        ledger.0.extend(newer.0);
        assert!(end.backup > one.backup, "another range begins");
        let all = ask(&store, |backups| ranges(backups).unwrap()).await;
        let reason = all[0].bases[0].broken.as_ref().map(|it| it.reason.clone());
        assert!(reason.unwrap().contains("another history"));
        assert_eq!(all[0].end().unwrap().at, one.at, "no marker of the other");
        let there = restored(&store, 1, end, &ledger).await;
        ledger.expect_at(end, &there);
    }
}
