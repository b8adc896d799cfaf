//! A node's work for backups: the parts of the partitions that it leads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use skep_backup::{
    BackupError, Begun, Cut, LogPart, Mount, PIECE, PartitionManifest, Store, StoredObject, Upload,
    encode_entries,
};
use skep_storage::kv::StreamWriter;

use super::shipping::Wishes;
use super::{BackupConfig, Step, StepFailed, StepResult, Stepped, query_copy};
use crate::cluster::Cluster;
use crate::metrics::backups::{BackupFamilies, Counted};
use crate::partition::secondary::COPY;
use crate::partition::{Base, LogPin, PartitionHandle, Report};

/// How long a partition's thread may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for a checkpoint that is being stored.
const BASE_PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for entries up to the cut: they were proposed when it was made.
const COMMIT_PATIENCE: Duration = Duration::from_secs(30);
/// Work that the coordinator has not polled for this long is abandoned.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// How long the first object of a backup may take to be visible on another node.
const SEEN: Duration = Duration::from_secs(5);
/// Interval between two checks for progress.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of log per read.
const READ: usize = 1 << 20;

type Key = (u64, u32);

/// The backup parts that this node is making.
pub struct Parts {
    config: Option<BackupConfig>,
    metrics: BackupFamilies,
    running: Mutex<BTreeMap<Key, Arc<Part>>>,
    wishes: Arc<Wishes>,
    mount: Mount,
}

/// One partition's part.
struct Part {
    /// When the coordinator last polled.
    asked: Mutex<Instant>,
    progress: Mutex<StepResult>,
    /// Keeps the log that the part needs, once it has begun to write its base.
    pin: Mutex<Option<LogPin>>,
    /// The uploaded base, once there is one.
    base: Mutex<Option<Arc<Uploaded>>>,
    counted: Counted,
}

/// A base that is in the store, and what the rest of the part needs.
struct Uploaded {
    base: LogBase,
    state: Vec<StoredObject>,
    query: Option<Vec<StoredObject>>,
}

struct LogBase {
    checkpoint_index: u64,
    log_from: skep_replication::EntryId,
    log: skep_storage::log::LogReader,
    pin: LogPin,
}

impl Part {
    fn new(counted: Counted) -> Part {
        Part {
            asked: Mutex::new(Instant::now()),
            progress: Mutex::new(Ok(Stepped::Working("it begins".to_string()))),
            pin: Mutex::new(None),
            base: Mutex::new(None),
            counted,
        }
    }

    /// Somebody waits for it: also while the store hesitates, its log is kept.
    fn note_asked(&self, now: Instant) {
        *self.asked.lock() = now;
        if let Some(pin) = &*self.pin.lock() {
            pin.renew(now);
        }
    }

    fn is_wanted(&self) -> bool {
        self.asked.lock().elapsed() < FORGOTTEN
    }

    fn says(&self, stepped: Stepped) {
        *self.progress.lock() = Ok(stepped);
    }

    fn works(&self, what: &str) {
        self.says(Stepped::Working(what.to_string()));
    }
}

impl Parts {
    pub fn new(config: Option<BackupConfig>, metrics: BackupFamilies, mount: Mount) -> Parts {
        Parts {
            config,
            metrics,
            running: Mutex::default(),
            wishes: Arc::default(),
            mount,
        }
    }

    pub(super) fn metrics(&self) -> &BackupFamilies {
        &self.metrics
    }

    /// The requests to this node's log-shipping thread.
    pub(super) fn wishes(&self) -> &Arc<Wishes> {
        &self.wishes
    }

    /// Checks that the directory is the store, before anything is written to it, and remembers it.
    ///
    /// # Errors
    /// The store's mount is missing, or the store or the record of it cannot be used.
    pub(super) fn expect_mounted(&self, store: &Store) -> Result<(), BackupError> {
        let expected = self.mount.expect(store);
        if let Some(reason) = self.mount.take_unrecorded() {
            tracing::warn!(
                code = "BACKUP_FAILED",
                store = store.shown(),
                %reason,
                "where the store of backups is mounted cannot be recorded: after a restart, backups may go to the directory below a missing \
                 mount. It is tried again"
            );
        }
        expected
    }

    pub fn config(&self) -> Option<&BackupConfig> {
        self.config.as_ref()
    }

    /// Carries out the coordinator's step, or starts it. Blocks for some seconds at most.
    pub fn step(&self, cluster: &Arc<Cluster>, step: Step) -> StepResult {
        // Polls come for each partition ten times a second, and look at their own part.
        if !matches!(step, Step::Look { .. }) {
            self.forget_unwanted();
        }
        match step {
            Step::Begin { backup, partition } => self.begin(cluster, (backup, partition)),
            Step::Look { backup, partition } => self.look((backup, partition)),
            Step::StandStill { partitions } => self.stand_still(cluster, &partitions),
            Step::GoOn { partitions } => go_on(cluster, &partitions),
            Step::Ship {
                backup,
                partition,
                cut,
            } => self.ship(cluster, (backup, partition), cut),
            Step::Forget { backup } => {
                self.running.lock().retain(|(of, _), _| *of != backup);
                // This backup may be the one to continue.
                self.wishes.look();
                Ok(Stepped::Done)
            }
        }
    }

    fn stand_still(&self, cluster: &Cluster, partitions: &[u32]) -> StepResult {
        let stands = stand_still(cluster, partitions)?;
        if let Stepped::Stands(cuts) = &stands {
            self.wishes.ship(partitions, cuts);
        }
        Ok(stands)
    }

    /// Drops parts that are no longer wanted. Their threads end by themselves.
    fn forget_unwanted(&self) {
        self.running.lock().retain(|_, part| part.is_wanted());
    }

    fn part(&self, key: Key) -> Option<Arc<Part>> {
        self.running.lock().get(&key).cloned()
    }

    fn begin(&self, cluster: &Arc<Cluster>, key: Key) -> StepResult {
        let Some(config) = self.config.clone() else {
            return Err(StepFailed::new(format!(
                "node {} has no store for backups: all nodes need the same settings",
                cluster.node()
            )));
        };
        if let Some(there) = self.part(key) {
            return there.progress.lock().clone();
        }
        let part = Arc::new(Part::new(Counted::begin(&self.metrics, key.1)));
        self.running.lock().insert(key, part.clone());
        let cluster = cluster.clone();
        spawn(&part.clone(), move || {
            let uploaded = upload_base(&cluster, key, &config, &part)?;
            *part.base.lock() = Some(Arc::new(uploaded));
            part.says(Stepped::HasBase);
            Ok(())
        })
    }

    fn look(&self, key: Key) -> StepResult {
        let Some(part) = self.part(key).filter(|part| part.is_wanted()) else {
            return Err(StepFailed::new("the node was started again meanwhile"));
        };
        part.note_asked(Instant::now());
        part.progress.lock().clone()
    }

    fn ship(&self, cluster: &Arc<Cluster>, key: Key, cut: Cut) -> StepResult {
        let (Some(part), Some(config)) = (self.part(key), self.config.clone()) else {
            return Err(StepFailed::new("the node was started again meanwhile"));
        };
        let Some(handle) = cluster.replica_here(key.1) else {
            return Err(StepFailed::new("the partition is no longer on this node"));
        };
        part.works("the log is written to the store");
        let node = cluster.node();
        spawn(&part.clone(), move || {
            // Not kept locked: the coordinator polls it meanwhile.
            let uploaded = part.base.lock().clone().ok_or("it has no base")?;
            wait_for_commit(&handle, cut)?;
            let log = ship_log(&uploaded, cut, &config, key, &part)?;
            let manifest = PartitionManifest {
                partition: key.1,
                broker_id: node,
                cut,
                checkpoint_index: uploaded.base.checkpoint_index,
                state: uploaded.state.clone(),
                query: uploaded.query.clone(),
                log,
            };
            part.counted.completes();
            part.says(Stepped::Complete(Box::new(manifest)));
            Ok(())
        })
    }
}

/// Runs a part's work in the background; the part reports how it ended.
fn spawn(
    part: &Arc<Part>,
    work: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> StepResult {
    let fails = part.clone();
    let thread = std::thread::Builder::new().name("backup".to_string());
    let spawned = thread.spawn(move || {
        if let Err(reason) = work() {
            *fails.progress.lock() = Err(StepFailed::new(reason));
        }
    });
    match spawned {
        Ok(_) => part.progress.lock().clone(),
        Err(error) => Err(StepFailed::new(error)),
    }
}

/// Sends a request to a partition's thread.
pub(super) fn ask<T>(
    handle: &PartitionHandle,
    report: impl FnOnce(Sender<T>) -> Report,
) -> Receiver<T> {
    let (sender, receiver) = bounded(1);
    handle.inbox.send(report(sender));
    receiver
}

fn base_of(cluster: &Cluster, partition: u32, part: &Part) -> Result<Base, String> {
    let handle = cluster.replica_here(partition);
    let handle = handle.ok_or_else(|| format!("partition {partition} is not here"))?;
    let began = Instant::now();
    loop {
        let answer = ask(&handle, Report::DescribeBase).recv_timeout(PATIENCE);
        let reason = match answer {
            Ok(Ok(base)) => return Ok(base),
            Ok(Err(reason)) => reason,
            Err(_) => "it does not answer".to_string(),
        };
        if began.elapsed() > BASE_PATIENCE || !part.is_wanted() {
            return Err(format!("partition {partition} provides no base: {reason}"));
        }
        std::thread::sleep(LOOK);
    }
}

/// Bytes per second that each partition led here may use.
fn rate(cluster: &Cluster, config: &BackupConfig) -> u64 {
    config.rate / cluster.leads_how_many().max(1)
}

fn upload_base(
    cluster: &Arc<Cluster>,
    (backup, partition): Key,
    config: &BackupConfig,
    part: &Part,
) -> Result<Uploaded, String> {
    let store = Store::open(&config.location).map_err(|error| error.to_string())?;
    expect_same_store(cluster, &store, backup).map_err(|error| error.to_string())?;
    // This node may take the next backup.
    let mounted = cluster.parts().expect_mounted(&store);
    mounted.map_err(|error| error.to_string())?;
    let rate = rate(cluster, config);
    let base = base_of(cluster, partition, part)?;
    *part.pin.lock() = Some(base.pin.clone());
    part.works("the checkpoint is written to the store");
    let mut upload = Upload::new(&store, (backup, partition), "state", rate);
    let mut rows = StreamWriter::new(&*base.checkpoint, PIECE).map_err(|e| e.to_string())?;
    while let Some(chunk) = rows.next_chunk().map_err(|error| error.to_string())? {
        upload.wait(&mut || still_wanted(part, &base.pin))?;
        upload.add(&chunk).map_err(|error| error.to_string())?;
    }
    let state = upload.finish();
    drop(rows);
    let Base {
        checkpoint,
        checkpoint_index,
        log_from,
        log,
        pin,
    } = base;
    // The checkpoint's files may be deleted.
    drop(checkpoint);
    let has_query = cluster.has_embedded_storage();
    let query = if !has_query {
        None
    } else {
        part.works("secondary storage is written to the store");
        let (from, directory) = cluster.may_copy(partition, log_from.index)?;
        let mut upload = Upload::new(&store, (backup, partition), "query", rate);
        let copy = directory.join(format!("{COPY}backup-{backup}"));
        query_copy::upload(&from, &copy, &mut upload, || {
            pin.renew(Instant::now());
            part.is_wanted()
        })?;
        Some(upload.finish())
    };
    Ok(Uploaded {
        base: LogBase {
            checkpoint_index,
            log_from,
            log,
            pin,
        },
        state,
        query,
    })
}

/// The coordinator has written the first object before it asked for parts. Mounted directories may show it a moment later.
fn expect_same_store(cluster: &Cluster, store: &Store, backup: u64) -> Result<(), BackupError> {
    let cluster_id = cluster.state().cluster_id.clone();
    let began = Instant::now();
    loop {
        match Begun::expect(store, backup, &cluster_id) {
            Ok(()) => return Ok(()),
            Err(error) if began.elapsed() > SEEN => return Err(error),
            Err(_) => std::thread::sleep(LOOK),
        }
    }
}

/// Keeps the log that the backup needs, for as long as it waits for it.
fn still_wanted(part: &Part, pin: &LogPin) -> Result<(), String> {
    if part.is_wanted() {
        pin.renew(Instant::now());
        Ok(())
    } else {
        Err("the backup no longer waits for it".to_string())
    }
}

/// Waits until everything proposed before the pause is committed here, and in the log.
fn wait_for_commit(handle: &PartitionHandle, cut: Cut) -> Result<(), String> {
    let began = Instant::now();
    while handle.status.applied.load(Ordering::Acquire) < cut.index {
        if began.elapsed() > COMMIT_PATIENCE {
            return Err(format!(
                "entry {} of partition {} is not committed",
                cut.index, handle.status.partition
            ));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn ship_log(
    uploaded: &Uploaded,
    cut: Cut,
    config: &BackupConfig,
    (backup, partition): Key,
    part: &Part,
) -> Result<LogPart, String> {
    let LogBase {
        log_from, log, pin, ..
    } = &uploaded.base;
    let store = Store::open(&config.location).map_err(|error| error.to_string())?;
    let mut upload = Upload::new(&store, (backup, partition), "log", config.rate);
    let mut content = Vec::new();
    let (mut next, mut term) = (log_from.index + 1, log_from.term);
    let began = Instant::now();
    while next <= cut.index {
        still_wanted(part, pin)?;
        let entries = log.read(next, cut.index + 1, READ);
        let entries = entries.map_err(|error| error.to_string())?;
        // Committed entries may not be on the local disk yet.
        if entries.is_empty() {
            if began.elapsed() > COMMIT_PATIENCE {
                return Err(format!("entry {next} is not in the log"));
            }
            std::thread::sleep(LOOK);
        }
        for entry in entries {
            (next, term) = (entry.index + 1, entry.term);
            encode_entries(&entry, &mut content);
        }
        if content.len() >= PIECE {
            upload.wait(&mut || still_wanted(part, pin))?;
            upload.add(&content).map_err(|error| error.to_string())?;
            content.clear();
        }
    }
    debug_assert_eq!(next, cut.index + 1, "nothing behind the cut is shipped");
    if term != cut.term {
        return Err(format!(
            "partition {partition} has another leader, which did not have all entries up to the cut"
        ));
    }
    if !content.is_empty() {
        upload.wait(&mut || still_wanted(part, pin))?;
        upload.add(&content).map_err(|error| error.to_string())?;
    }
    Ok(LogPart {
        base_index: log_from.index,
        base_term: log_from.term,
        objects: upload.finish(),
    })
}

fn handles(cluster: &Cluster, partitions: &[u32]) -> Result<Vec<Arc<PartitionHandle>>, StepFailed> {
    let of = |partition: &u32| {
        let handle = cluster.replica_here(*partition);
        handle.ok_or_else(|| StepFailed::for_now(format!("partition {partition} is not here")))
    };
    partitions.iter().map(of).collect()
}

/// Pauses all partitions at the same time: none waits for another one.
fn stand_still(cluster: &Cluster, partitions: &[u32]) -> StepResult {
    let handles = handles(cluster, partitions)?;
    let asked = handles.iter().map(|it| ask(it, Report::StandStill));
    let asked: Vec<_> = asked.collect();
    let deadline = Instant::now() + PATIENCE;
    let mut cuts = Vec::new();
    for (partition, answer) in partitions.iter().zip(asked) {
        match answer.recv_deadline(deadline) {
            Ok(Ok(cut)) => cuts.push(cut),
            Ok(Err(reason)) => {
                return Err(StepFailed::for_now(format!(
                    "partition {partition}: {reason}"
                )));
            }
            Err(_) => {
                return Err(StepFailed::for_now(format!(
                    "partition {partition} does not answer"
                )));
            }
        }
    }
    Ok(Stepped::Stands(cuts))
}

fn go_on(cluster: &Cluster, partitions: &[u32]) -> StepResult {
    let handles = handles(cluster, partitions)?;
    let asked = handles.iter().map(|it| ask(it, Report::GoOn));
    let asked: Vec<_> = asked.collect();
    let deadline = Instant::now() + PATIENCE;
    let mut answers = asked.iter().map(|answer| answer.recv_deadline(deadline));
    Ok(Stepped::GoneOn(answers.all(|stood| stood == Ok(true))))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{FORGOTTEN, Part};
    use crate::metrics::backups::{BackupFamilies, Counted};
    use crate::partition::LogPins;

    /// One object is written for up to 3 minutes when the store hesitates.
    #[test]
    fn the_log_of_a_part_is_kept_while_somebody_asks_about_it_and_nothing_is_written() {
        let began = Instant::now();
        let mut pins = LogPins::default();
        let part = Part::new(Counted::begin(&BackupFamilies::default(), 1));
        *part.pin.lock() = Some(pins.pin(3, began));
        for minutes in 1..=3 {
            let now = began + FORGOTTEN * minutes;
            part.note_asked(now);
            assert_eq!(pins.compactable(9, false, now), 3, "{minutes}");
        }
        assert!(part.is_wanted());
        let later = began + FORGOTTEN * 4;
        assert_eq!(pins.compactable(9, false, later), 9, "nobody asks");
    }
}
