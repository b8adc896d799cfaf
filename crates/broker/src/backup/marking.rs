//! Markers: moments between backups to which the cluster can be restored, made by the node that leads the metadata group.
//!
//! All partitions pause together, as for a backup, and the marker records where their logs end. It is written once the store has the logs
//! up to there ([`shipping`](super::shipping)). The store holds all state, so the next leader simply carries on. The leading node also
//! makes sure that there is a backup to continue.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use skep_backup::{
    BackupError, BackupKind, BackupState, Broken, Continued, Cut, FORMAT, Manifest, Marker, Store,
    begin, begun, broken, find, newest_complete, times,
};
use skep_cluster::{Refusal, State};

use super::BackupConfig;
use super::coordinator;
use super::cut::Leaders;
use super::lineage::Lineage;
use super::shipped::Shipped;
use super::unmarked::Unmarked;
use crate::cluster::{Cluster, now};

/// Interval between two checks of the time.
const LOOK: Duration = Duration::from_secs(1);
/// Attempts to pause all partitions at the same time; after that the marker is skipped.
const CUTS: u32 = 3;
/// How long to wait until the store has the logs up to a marker; after that the marker is skipped.
const SHIPPED: Duration = Duration::from_secs(30);
/// How long to wait until the log of the previous backup reaches the next one.
const REACHES: Duration = Duration::from_secs(10);
const LOOK_AT_STORE: Duration = Duration::from_millis(200);
/// Delay between two attempts to take a backup: initial and maximum.
const AGAIN: Duration = Duration::from_secs(30);
const AT_MOST: Duration = Duration::from_secs(3600);
/// A backup is continued until the log after it exceeds both its own size and this limit, or until it reaches this age.
const LEAST_LOG: u64 = 64 << 20;
const OLDEST: i64 = 24 * 3600 * 1000;

/// Starts making markers, if backups are continuous, for as long as the node is running.
///
/// # Errors
/// No thread can be started.
pub fn mark_all_the_time(cluster: &Arc<Cluster>) -> std::io::Result<()> {
    let config = cluster.parts().config().cloned();
    let Some((config, interval)) = config.and_then(|it| Some((it.clone(), it.continuous?))) else {
        return Ok(());
    };
    let marking = Marking {
        cluster: Arc::downgrade(cluster),
        config,
        interval,
        store: None,
        base: None,
        tried: None,
        current: now(),
        asked: None,
        failing: false,
    };
    let thread = std::thread::Builder::new().name("backup-markers".to_string());
    thread.spawn(move || marking.run()).map(drop)
}

struct Marking {
    cluster: Weak<Cluster>,
    config: BackupConfig,
    interval: Duration,
    store: Option<Store>,
    base: Option<Base>,
    /// When a marker was last due.
    tried: Option<Instant>,
    /// The newest moment that can be restored, or since which nothing was done.
    current: i64,
    /// When a backup was last requested, and how long the next attempt waits.
    asked: Option<(Instant, Duration)>,
    /// Whether the current failure was already logged.
    failing: bool,
}

/// The backup that is being continued.
struct Base {
    manifest: Manifest,
    logs: Vec<Shipped>,
    /// The newest restorable moment after it.
    last: i64,
    broken: Option<Broken>,
    /// Whether nothing was done after the newest moment, up to the ends of all logs.
    rests: bool,
}

impl Marking {
    fn run(mut self) {
        loop {
            std::thread::sleep(LOOK.min(self.interval));
            let Some(cluster) = self.cluster.upgrade().filter(|it| !it.is_stopped()) else {
                return;
            };
            let behind = &cluster.parts().metrics().behind;
            if !cluster.leads_metadata() {
                // The next leader reads the store, and so does this node if it leads again.
                (self.base, self.current) = (None, now());
                behind.set(0.0);
                continue;
            }
            match self.look(&cluster) {
                Ok(()) => self.failing = false,
                Err(reason) => {
                    if !std::mem::replace(&mut self.failing, true) {
                        tracing::error!(code = "BACKUP_FAILED", %reason, "a marker of the backups is skipped; the next one is tried when it is due");
                    }
                }
            }
            let millis = now().saturating_sub(self.current).max(0);
            behind.set(Duration::from_millis(millis as u64).as_secs_f64());
        }
    }

    fn look(&mut self, cluster: &Arc<Cluster>) -> Result<(), Unmarked> {
        let is_due = self.tried.is_none_or(|it| it.elapsed() >= self.interval);
        if !is_due && self.base.is_some() {
            return Ok(());
        }
        self.tried = Some(Instant::now());
        let store = match &self.store {
            Some(store) => store.clone(),
            None => {
                let store = Store::open(&self.config.location)?;
                self.store.insert(store).clone()
            }
        };
        // Without the mount, markers would go into the empty directory below it.
        cluster.parts().expect_mounted(&store)?;
        let state = cluster.state();
        if state.purge.is_some() {
            // Half of it may already be deleted; another range begins afterwards.
            return Ok(());
        }
        let known = self.base.as_ref().map(|base| base.manifest.backup_id);
        self.find_base(&store, &state)?;
        let id = self.base.as_ref().map(|base| base.manifest.backup_id);
        if let Some(backup) = id.filter(|id| known == Some(*id))
            && !is_there(&store, backup)?
        {
            tracing::error!(
                code = "BACKUP_FAILED",
                backup,
                "the backup that is being continued is missing from the store: nothing in its range can be restored, and another backup \
                 is taken"
            );
            self.base = None;
        }
        if let Some(base) = &mut self.base {
            base.look(&store)?;
        }
        let wants = match &self.base {
            None => Some("there is no backup to continue".to_string()),
            Some(base) => base.is_over(),
        };
        if let Some(why) = wants {
            self.ask_for_base(cluster, &why)?;
        }
        let Some(base) = self.base.as_mut().filter(|base| base.broken.is_none()) else {
            return Ok(());
        };
        if base.rests && !base.has_more(cluster) {
            self.current = now();
            return Ok(());
        }
        let leaders = Leaders {
            cluster: cluster.clone(),
            store,
        };
        match base.mark(&leaders, &state) {
            Ok(current) => self.current = current,
            Err(why) if why.ends_range() => {
                // The next look finds the range broken, and asks for another backup.
                let backup = base.manifest.backup_id;
                why.break_range(cluster, &leaders.store, backup)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn find_base(&mut self, store: &Store, state: &State) -> Result<(), Unmarked> {
        let lineage = Lineage::of(state);
        self.base.take_if(|base| !lineage.has(&base.manifest));
        let known = self.base.as_ref().map(|base| base.manifest.backup_id);
        let newer = newest_complete(store, known, |it| lineage.has(it))?;
        let Some(manifest) = newer else {
            return Ok(());
        };
        continues(store, &lineage, &manifest)?;
        let base = Base::read(store, manifest)?;
        tracing::info!(
            backup = base.manifest.backup_id,
            "the log after the backup is shipped, and markers are written"
        );
        self.current = base.last;
        self.base = Some(base);
        self.asked = None;
        Ok(())
    }

    /// Requests an ordinary backup, which is continued once it is complete.
    fn ask_for_base(&mut self, cluster: &Arc<Cluster>, why: &str) -> Result<(), Unmarked> {
        if let Some((asked, wait)) = self.asked
            && asked.elapsed() < wait
        {
            return Ok(());
        }
        let wait = self
            .asked
            .map_or(AGAIN, |(_, wait)| (wait * 2).min(AT_MOST));
        match coordinator::begin(cluster, None, BackupKind::Scheduled) {
            Ok(backup) => {
                tracing::info!(backup, why, "taking a backup to continue from");
                self.asked = Some((Instant::now(), wait));
                Ok(())
            }
            // A backup is in progress, or none can be taken now.
            Err(Refusal::Busy(reason)) => {
                tracing::debug!(reason, "no backup to continue from is taken");
                Ok(())
            }
            Err(refusal) => {
                self.asked = Some((Instant::now(), wait));
                Err(Unmarked::NoBackup(refusal))
            }
        }
    }
}

/// Whether the backup still exists: somebody may have emptied the store.
fn is_there(store: &Store, backup: u64) -> Result<bool, Unmarked> {
    match find(store, backup) {
        Ok(found) => Ok(found.state == BackupState::Completed),
        Err(BackupError::Unknown(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Records that this backup is continued, and which one it carries on: the newest one before it, if its log reaches this one.
fn continues(store: &Store, lineage: &Lineage, manifest: &Manifest) -> Result<(), Unmarked> {
    let backup = manifest.backup_id;
    if begun(store, backup)?.is_some() {
        return Ok(());
    }
    let is_before = |it: &Manifest| {
        let was_begun = || matches!(begun(store, it.backup_id), Ok(Some(_)));
        it.backup_id < backup && lineage.has(it) && was_begun()
    };
    let mut after = None;
    if let Some(before) = newest_complete(store, None, is_before)? {
        let is_whole = broken(store, before.backup_id)?.is_none();
        let reaches = is_whole && reaches(store, &before, manifest)?;
        after = reaches.then_some(before.backup_id);
    }
    Ok(begin(store, backup, &Continued { after, at: now() })?)
}

/// Whether the log reaches the next backup. Leaders that have found that backup ship the rest of the log after the previous one.
fn reaches(store: &Store, before: &Manifest, next: &Manifest) -> Result<bool, Unmarked> {
    let began = Instant::now();
    let mut logs: Vec<Shipped> = Shipped::behind(store, before).collect();
    loop {
        let mut all = true;
        for log in &mut logs {
            log.look()?;
            let Some(of) = next.partition(log.partition) else {
                return Ok(false);
            };
            all &= log.has(of.cut)?;
        }
        if all || began.elapsed() > REACHES {
            return Ok(all);
        }
        std::thread::sleep(LOOK_AT_STORE);
    }
}

impl Base {
    fn read(store: &Store, manifest: Manifest) -> Result<Base, Unmarked> {
        let mut logs: Vec<Shipped> = Shipped::behind(store, &manifest).collect();
        let last = times(store, manifest.backup_id)?;
        let last = last.last().copied();
        if let Some(at) = last {
            let marker = Marker::read(store, &manifest, at)?;
            for log in &mut logs {
                let cut = marker.cuts.get(&log.partition).copied();
                log.cut = cut.unwrap_or(log.cut);
            }
        }
        Ok(Base {
            last: last.unwrap_or(manifest.cut_at),
            broken: None,
            rests: false,
            manifest,
            logs,
        })
    }

    /// Reads the current contents of the store.
    fn look(&mut self, store: &Store) -> Result<(), Unmarked> {
        self.broken = broken(store, self.manifest.backup_id)?;
        for log in &mut self.logs {
            log.look()?;
        }
        Ok(())
    }

    /// Why another backup is needed, if it is.
    fn is_over(&self) -> Option<String> {
        if let Some(broken) = &self.broken {
            return Some(format!("the range is broken: {}", broken.reason));
        }
        let log = self.logs.iter().map(Shipped::bytes);
        let age = now().saturating_sub(self.manifest.cut_at);
        is_enough(size(&self.manifest), log.sum(), age)
    }

    /// Whether anything was done since the newest moment, as far as this node and the store know.
    fn has_more(&self, cluster: &Cluster) -> bool {
        self.logs.iter().any(|log| log.has_more(cluster))
    }

    /// Makes a marker, unless nothing was done. Returns the time of the newest moment.
    fn mark(&mut self, leaders: &Leaders, state: &State) -> Result<i64, Unmarked> {
        let (cuts, at) = leaders
            .cut(self.manifest.cluster.partitions, CUTS)
            .map_err(Unmarked::NoCut)?;
        let now_is = leaders.cluster.state();
        if Lineage::of(&now_is) != Lineage::of(state) {
            return Err(Unmarked::Changed);
        }
        let is_new = |log: &Shipped| cuts.get(&log.partition) != Some(&log.cut);
        if !self.logs.iter().any(is_new) {
            self.rests = true;
            return Ok(at);
        }
        for log in &self.logs {
            log.expect_grown(cuts.get(&log.partition))?;
        }
        // The clock may have been set back.
        let at = at.max(self.last + 1);
        self.rests = false;
        let mut all_end = true;
        for log in &mut self.logs {
            let cut = cuts.get(&log.partition).copied().unwrap_or(log.cut);
            all_end &= wait_until_shipped(log, cut, (leaders, self.manifest.backup_id))?;
        }
        let marker = Marker {
            format: FORMAT,
            backup_id: self.manifest.backup_id,
            at,
            cuts,
            cluster: state.clone(),
        };
        marker.create(&leaders.store)?;
        for log in &mut self.logs {
            log.cut = marker.cuts.get(&log.partition).copied().unwrap_or(log.cut);
        }
        (self.last, self.rests) = (at, all_end);
        Ok(at)
    }
}

/// The bytes that the next backup writes again. Documents are among them if they are too many to be listed: such a backup is continued for
/// longer, or a node would do nothing else than upload the same documents.
fn size(manifest: &Manifest) -> u64 {
    let listed = manifest.documents.iter().filter(|of| of.listed.is_some());
    let shared = listed.flat_map(|of| of.objects.iter().flatten());
    let shared: u64 = shared.map(|object| object.bytes).sum();
    let all: u64 = manifest.objects().map(|object| object.bytes).sum();
    all.saturating_sub(shared)
}

/// Why a backup of this size is no longer continued, given the bytes of log after it and its age in milliseconds. A restore reads both.
fn is_enough(backup: u64, log: u64, age: i64) -> Option<String> {
    let limit = LEAST_LOG.max(backup);
    if log > limit {
        return Some(format!(
            "the log after the last one has {log} bytes, more than {limit}"
        ));
    }
    (age > OLDEST).then(|| "the last one is a day old".to_string())
}

/// Whether the log in the store ends with the cut.
fn wait_until_shipped(
    log: &mut Shipped,
    cut: Cut,
    (leaders, backup): (&Leaders, u64),
) -> Result<bool, Unmarked> {
    let began = Instant::now();
    loop {
        log.look()?;
        if log.has(cut)? {
            return Ok(log.ends_with(cut));
        }
        // Nothing is shipped to a broken range any more.
        if began.elapsed() > SHIPPED
            || leaders.cluster.is_stopped()
            || broken(&leaders.store, backup)?.is_some()
        {
            return Err(Unmarked::NotShipped {
                partition: log.partition,
                entry: cut.index,
            });
        }
        std::thread::sleep(LOOK_AT_STORE);
    }
}

#[cfg(test)]
mod tests {
    use skep_backup::{BackupKind, DocumentsManifest, FORMAT, Listed, Manifest, StoredObject};
    use skep_cluster::State;

    use super::{LEAST_LOG, OLDEST, is_enough, size};

    #[test]
    fn a_backup_is_continued_until_its_log_is_larger_or_a_day_is_over() {
        for (backup, log, age, is_over) in [
            (1_000, LEAST_LOG, OLDEST, false),
            (1_000, LEAST_LOG + 1, 0, true),
            (2 * LEAST_LOG, 2 * LEAST_LOG, 0, false),
            (2 * LEAST_LOG, 2 * LEAST_LOG + 1, 0, true),
            (1_000, 0, OLDEST + 1, true),
        ] {
            let why = is_enough(backup, log, age);
            assert_eq!(why.is_some(), is_over, "{backup}, {log}, {age}: {why:?}");
        }
    }

    #[test]
    fn documents_that_are_uploaded_again_are_not_before_there_is_as_much_log() {
        let documents = DocumentsManifest {
            store: "local".to_string(),
            objects: Some(vec![StoredObject {
                name: "backups/1/documents-local/000001".to_string(),
                bytes: 3 * LEAST_LOG,
                sha256: String::new(),
            }]),
            listed: None,
            unreadable: Vec::new(),
        };
        let mut manifest = Manifest {
            format: FORMAT,
            backup_id: 1,
            version: String::new(),
            kind: BackupKind::Scheduled,
            began_at: 0,
            cut_at: 0,
            completed_at: 0,
            cluster: State::default(),
            partitions: Vec::new(),
            documents: vec![documents],
        };
        let size = size(&manifest);
        assert_eq!(is_enough(size, 3 * LEAST_LOG, OLDEST), None);
        assert!(is_enough(size, 3 * LEAST_LOG + 1, 0).is_some());
        assert!(is_enough(size, 0, OLDEST + 1).is_some(), "but once a day");
        // The next backup refers to listed ones.
        manifest.documents[0].listed = Some(Listed {
            objects: Vec::new(),
            content_bytes: vec![1],
        });
        assert_eq!(super::size(&manifest), 0);
    }
}
