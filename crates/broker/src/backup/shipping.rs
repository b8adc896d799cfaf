//! Continuously ships the logs of partitions led here, from the newest backup on.
//!
//! The store is the source of truth: a leader continues after the objects that are there, no matter which node shipped them. Every copy of
//! a partition keeps its log from the newest marker on, so that each can lead without a gap. When the disk is nearly full, the log is
//! released first, unless backups are required: the range then breaks, and nothing continues that backup.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use skep_backup::{
    Chain, Cut, Manifest, PIECE, Store, broken, encode_entries, latest, newest_complete,
};
use skep_storage::StorageError;
use skep_storage::log::LogReader;

use super::BackupConfig;
use super::lineage::Lineage;
use super::parts::{PATIENCE, ask};
use super::unmarked::Unmarked;
use crate::cluster::Cluster;
use crate::partition::{LogPin, PartitionHandle, Report};

/// Interval between two passes over the partitions, unless something is requested sooner.
const LOOK: Duration = Duration::from_millis(500);
/// Interval between two reads of the store for the backup to continue and its newest marker.
const LOOK_AT_STORE: Duration = Duration::from_secs(5);
/// An entry is shipped after this time, unless a marker needs it sooner.
const SHIP_AFTER: Duration = Duration::from_secs(10);
/// The pause after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// Requests from other parts of this node to ship or check something soon.
#[derive(Default)]
pub struct Wishes {
    wished: Mutex<Wished>,
    changed: Condvar,
}

#[derive(Default)]
struct Wished {
    /// By partition: the entry up to which the log is to be shipped.
    cuts: BTreeMap<u32, u64>,
    /// The backup to continue may have changed.
    look: bool,
}

impl Wishes {
    /// Partitions paused at these entries, and their logs are to be shipped up to there.
    pub fn ship(&self, partitions: &[u32], cuts: &[Cut]) {
        let cuts = partitions.iter().zip(cuts);
        let cuts = cuts.map(|(partition, cut)| (*partition, cut.index));
        self.wished.lock().cuts.extend(cuts);
        self.changed.notify_one();
    }

    pub fn look(&self) {
        self.wished.lock().look = true;
        self.changed.notify_one();
    }

    /// Waits a moment, or until something is requested. Returns whether the store is to be read.
    fn wait(&self) -> bool {
        let mut wished = self.wished.lock();
        if !wished.look {
            self.changed.wait_for(&mut wished, LOOK);
        }
        std::mem::take(&mut wished.look)
    }

    fn cut(&self, partition: u32) -> Option<u64> {
        self.wished.lock().cuts.get(&partition).copied()
    }

    /// Notes that the log is shipped up to this entry.
    fn shipped(&self, partition: u32, upto: u64) {
        let mut wished = self.wished.lock();
        if wished.cuts.get(&partition).is_some_and(|cut| *cut <= upto) {
            wished.cuts.remove(&partition);
        }
    }
}

/// Starts shipping, if backups are continuous, for as long as the node is running.
///
/// # Errors
/// No thread can be started.
pub fn ship_all_the_time(cluster: &Arc<Cluster>) -> std::io::Result<()> {
    let config = cluster.parts().config().cloned();
    let Some(config) = config.filter(|it| it.continuous.is_some() && !cluster.is_gateway()) else {
        return Ok(());
    };
    let shipper = Shipper {
        cluster: Arc::downgrade(cluster),
        wishes: cluster.parts().wishes().clone(),
        config,
        store: None,
        base: None,
        copies: BTreeMap::new(),
        looked: None,
        waits: None,
        failing: false,
    };
    let thread = std::thread::Builder::new().name("backup-log".to_string());
    thread.spawn(move || shipper.run()).map(drop)
}

struct Shipper {
    cluster: Weak<Cluster>,
    wishes: Arc<Wishes>,
    config: BackupConfig,
    store: Option<Store>,
    base: Option<Base>,
    copies: BTreeMap<u32, Copy>,
    /// When the store was last read.
    looked: Option<Instant>,
    /// No attempt before this time.
    waits: Option<Instant>,
    /// Whether the current failure was already logged.
    failing: bool,
}

/// The backup that is being continued.
struct Base {
    manifest: Manifest,
    is_broken: bool,
    /// Entries up to these are in the store, with a marker after them.
    kept_behind: BTreeMap<u32, u64>,
}

impl Base {
    fn of(manifest: Manifest) -> Base {
        let cuts = manifest.partitions.iter();
        Base {
            is_broken: false,
            kept_behind: cuts.map(|of| (of.partition, of.cut.index)).collect(),
            manifest,
        }
    }

    fn chain(&self, store: &Store, partition: u32) -> Option<Chain> {
        let of = self.manifest.partition(partition)?;
        let backup = self.manifest.backup_id;
        Some(Chain::new(store, backup, partition, of.cut))
    }
}

/// A local replica of a partition.
struct Copy {
    handle: Arc<PartitionHandle>,
    log: LogReader,
    /// The log after this entry is kept.
    behind: u64,
    _pin: LogPin,
    /// The next entry to ship, if this replica leads and knows it.
    next: Option<u64>,
    /// Since when there are entries to ship.
    since: Option<Instant>,
}

impl Shipper {
    fn run(mut self) {
        loop {
            if self.wishes.wait() {
                self.looked = None;
            }
            let Some(cluster) = self.cluster.upgrade().filter(|it| !it.is_stopped()) else {
                return;
            };
            if self.waits.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            self.waits = None;
            match self.look(&cluster) {
                Ok(()) => self.failing = false,
                Err(reason) => {
                    if !std::mem::replace(&mut self.failing, true) {
                        tracing::error!(code = "BACKUP_FAILED", %reason, "the log cannot be shipped to the store; it is kept, and tried again");
                    }
                    self.waits = Some(Instant::now() + AGAIN);
                }
            }
        }
    }

    fn look(&mut self, cluster: &Arc<Cluster>) -> Result<(), Unmarked> {
        // Logs are pinned before asking the store, which may not answer.
        self.keep_logs(cluster);
        // The state announces a purge before any copy starts over, so the logs of new copies go to no earlier backup.
        let state = cluster.state();
        if state.purge.is_some() {
            return Ok(());
        }
        let lineage = Lineage::of(&state);
        self.base.take_if(|base| !lineage.has(&base.manifest));
        let store = match &self.store {
            Some(store) => store.clone(),
            None => {
                let store = Store::open(&self.config.location)?;
                self.store.insert(store).clone()
            }
        };
        if (self.looked).is_none_or(|looked| looked.elapsed() >= LOOK_AT_STORE) {
            self.look_at_store(&lineage, &store)?;
            self.looked = Some(Instant::now());
            self.keep_logs(cluster);
        }
        let Some(base) = self.base.as_mut().filter(|base| !base.is_broken) else {
            return Ok(());
        };
        for (partition, copy) in &mut self.copies {
            let Some(chain) = base.chain(&store, *partition) else {
                continue;
            };
            match copy.ship(&chain, &self.wishes, self.config.rate) {
                Ok(()) => {}
                Err(why) if why.ends_range() => {
                    base.is_broken = true;
                    return why.break_range(cluster, &store, base.manifest.backup_id);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes every local copy keep its log from the newest marker on, or all of it if there is no backup.
    fn keep_logs(&mut self, cluster: &Cluster) {
        let here = cluster.replicas_here();
        self.copies.retain(|_, copy| {
            let is_there = |handle: &Arc<PartitionHandle>| Arc::ptr_eq(handle, &copy.handle);
            here.iter().any(is_there)
        });
        for handle in here {
            let partition = handle.status.partition;
            let behind = self.base.as_ref().map_or(0, |base| {
                base.kept_behind.get(&partition).copied().unwrap_or(0)
            });
            let copy = self.copies.get(&partition);
            if copy.is_some_and(|copy| copy.behind == behind) {
                continue;
            }
            let answer = ask(&handle, |asker| Report::KeepLog {
                behind,
                required: self.config.required,
                asker,
            });
            // A partition that does not answer now is asked again.
            if let Ok((log, pin)) = answer.recv_timeout(PATIENCE) {
                let copy = self.copies.remove(&partition);
                let copy = Copy {
                    handle,
                    log,
                    behind,
                    _pin: pin,
                    next: copy.as_ref().and_then(|copy| copy.next),
                    since: copy.and_then(|copy| copy.since),
                };
                // The pin that it replaces is gone now.
                if copy
                    .handle
                    .status
                    .space
                    .kept_for_backup
                    .load(Ordering::Relaxed)
                {
                    copy.handle.inbox.send(Report::TakeSnapshot(None));
                }
                self.copies.insert(partition, copy);
            }
        }
    }

    fn look_at_store(&mut self, lineage: &Lineage, store: &Store) -> Result<(), Unmarked> {
        let known = self.base.as_ref().map(|base| base.manifest.backup_id);
        let newer = newest_complete(store, known, |it| lineage.has(it))?;
        if let Some(manifest) = newer {
            self.reach(store, &manifest);
            for copy in self.copies.values_mut() {
                copy.next = None;
            }
            self.base = Some(Base::of(manifest));
        }
        let Some(base) = &mut self.base else {
            return Ok(());
        };
        let backup = base.manifest.backup_id;
        base.is_broken |= broken(store, backup)?.is_some();
        if let Some(marker) = latest(store, backup)? {
            for (partition, cut) in marker.cuts {
                let behind = base.kept_behind.entry(partition).or_default();
                *behind = (*behind).max(cut.index);
            }
        }
        Ok(())
    }

    /// Ships the log of the previous backup until it reaches the next one: both form one range then. If it falls short, they are two.
    fn reach(&mut self, store: &Store, next: &Manifest) {
        let Some(base) = self.base.as_ref().filter(|base| !base.is_broken) else {
            return;
        };
        for (partition, copy) in &mut self.copies {
            let (Some(chain), Some(of)) =
                (base.chain(store, *partition), next.partition(*partition))
            else {
                continue;
            };
            if copy.handle.leads()
                && let Err(reason) = copy.ship_upto(&chain, of.cut.index, self.config.rate)
            {
                tracing::warn!(
                    partition,
                    %reason,
                    "the log does not reach the next backup: a range ends"
                );
            }
        }
    }
}

impl Copy {
    fn ship(&mut self, chain: &Chain, wishes: &Wishes, rate: u64) -> Result<(), Unmarked> {
        if !self.handle.leads() {
            (self.next, self.since) = (None, None);
            return Ok(());
        }
        let partition = self.handle.status.partition;
        let applied = self.handle.status.applied.load(Ordering::Acquire);
        let Some(next) = self.next(chain)? else {
            return Ok(());
        };
        if applied < next {
            self.since = None;
            return Ok(());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let is_due = since.elapsed() >= SHIP_AFTER;
        let Some(upto) = ships_upto(wishes.cut(partition), next, applied, is_due) else {
            return Ok(());
        };
        self.ship_upto(chain, upto, rate)?;
        if self.next.is_some_and(|next| next > upto) {
            self.since = None;
            wishes.shipped(partition, upto);
        }
        Ok(())
    }

    /// The next entry to ship. The store is asked once, when this copy begins to lead or another backup is continued. `None`: the local
    /// disk does not have the entry before it yet.
    fn next(&mut self, chain: &Chain) -> Result<Option<u64>, Unmarked> {
        if self.next.is_none() {
            self.next = self.continues(chain, None)?;
        }
        Ok(self.next)
    }

    /// The entry after the chain. The entry before it must be the one of this log, or the chain belongs to another history.
    fn continues(&self, chain: &Chain, known: Option<u64>) -> Result<Option<u64>, Unmarked> {
        if !self.is_committed() {
            return Ok(None);
        }
        let shipped = chain.last(known)?;
        let next = chain.next(shipped.as_ref());
        let base = chain.base();
        let (index, term) = shipped
            .as_ref()
            .map_or((base.index, base.term), |last| (last.index, last.term));
        // Uncommitted entries may differ if this replica no longer leads and does not know it yet.
        if self.handle.status.applied.load(Ordering::Acquire) < index {
            return Ok(None);
        }
        let is_same = match self.log.read(index, next, PIECE) {
            Ok(entries) => {
                let Some(own) = entries.first() else {
                    return Ok(None);
                };
                own.term == term && shipped.is_none_or(|shipped| shipped == *own)
            }
            // The entry is gone, but the term of the last such entry is known.
            Err(StorageError::Compacted { .. }) => {
                let gone = self.log.base();
                gone.index != index || gone.term == term
            }
            Err(error) => return Err(error.into()),
        };
        if is_same {
            return Ok(Some(next));
        }
        Err(Unmarked::OtherHistory {
            partition: self.handle.status.partition,
            entry: index,
        })
    }

    /// Until the disk has an entry of this leader's term, other entries of its log may not be the committed ones. A replica that never had
    /// others reports no term.
    fn is_committed(&self) -> bool {
        let term = self.handle.status.term();
        term == 0 || self.log.last().term == term
    }

    /// Ships as much as is on the local disk, up to a committed entry.
    fn ship_upto(&mut self, chain: &Chain, upto: u64, rate: u64) -> Result<(), Unmarked> {
        let Some(next) = self.next(chain)? else {
            return Ok(());
        };
        if next > upto {
            return Ok(());
        }
        let shipped = self.ship_entries(chain, next..=upto, rate);
        // The mount of the directory may have vanished meanwhile: what was written since is elsewhere, and is shipped again.
        if let Err(elsewhere) = chain.expect_backup() {
            self.next = None;
            return Err(elsewhere.into());
        }
        shipped
    }

    fn ship_entries(
        &mut self,
        chain: &Chain,
        entries: RangeInclusive<u64>,
        rate: u64,
    ) -> Result<(), Unmarked> {
        let (mut next, upto) = entries.into_inner();
        chain.expect_backup()?;
        while next <= upto {
            if !self.is_committed() {
                return Ok(());
            }
            let entries = match self.log.read(next, upto + 1, PIECE) {
                Ok(entries) => entries,
                Err(StorageError::Compacted { first, .. }) => {
                    return Err(Unmarked::Gap {
                        partition: self.handle.status.partition,
                        first,
                        next,
                    });
                }
                Err(error) => return Err(error.into()),
            };
            let Some(last) = entries.last().map(|entry| entry.index) else {
                return Ok(());
            };
            debug_assert_eq!(entries.first().map(|entry| entry.index), Some(next));
            debug_assert!(last <= upto, "what may not be committed is not shipped");
            let mut content = Vec::new();
            for entry in &entries {
                encode_entries(entry, &mut content);
            }
            let created = chain.create(next, &content)?;
            next = if created {
                last + 1
            } else {
                // Another leader was faster.
                self.next = None;
                let Some(next) = self.continues(chain, Some(next))? else {
                    return Ok(());
                };
                next
            };
            self.next = Some(next);
            pace(content.len(), rate);
        }
        Ok(())
    }
}

/// The entry up to which the log is shipped now: a cut that somebody waits for, or all that is committed, once it has waited for long. Never
/// an entry after `applied`, which another leader may replace.
fn ships_upto(cut: Option<u64>, next: u64, applied: u64, is_due: bool) -> Option<u64> {
    let cut = cut.filter(|cut| (next..=applied).contains(cut));
    cut.or_else(|| is_due.then_some(applied))
}

/// Limits the rate: disk and network are there for regular work first.
fn pace(bytes: usize, rate: u64) {
    let nanos = (bytes as u64).saturating_mul(1_000_000_000) / rate.max(1);
    std::thread::sleep(Duration::from_nanos(nanos).min(PATIENCE));
}

#[cfg(test)]
mod tests {
    use super::ships_upto;

    /// Whether the store has what the next leader has, after the first one had `length` entries and `committed` of them were, and shipped
    /// what it `believed` to be committed: the next one replaces all others.
    fn is_one_history(length: u64, committed: u64, believed: u64, cut: Option<u64>) -> bool {
        assert!(committed <= length);
        let first = vec![1; length as usize];
        let mut next = vec![1; committed as usize];
        next.extend([2, 2, 2]);
        let mut chain: Vec<u64> = Vec::new();
        if believed > 0
            && let Some(upto) = ships_upto(cut, 1, believed, cut.is_none())
        {
            chain.extend(&first[..upto as usize]);
        }
        let begin = chain.len();
        let all = next.len() as u64;
        if let Some(upto) = ships_upto(None, begin as u64 + 1, all, true) {
            chain.extend(next.get(begin..upto as usize).unwrap_or_default());
        }
        chain == next
    }

    #[test]
    fn entries_that_another_leader_may_replace_are_not_shipped() {
        let mut differ = 0;
        for length in 0..6 {
            for committed in 0..=length {
                for cut in (0..8).map(Some).chain([None]) {
                    assert!(
                        is_one_history(length, committed, committed, cut),
                        "{committed} of {length}, cut {cut:?}"
                    );
                    // The log holds more than the committed entries.
                    differ += u32::from(!is_one_history(length, committed, length, cut));
                }
            }
        }
        assert!(differ > 0, "nothing depends on what is committed");
    }

    #[test]
    fn a_cut_is_shipped_at_once_and_all_else_when_it_is_due() {
        assert_eq!(ships_upto(Some(5), 3, 9, false), Some(5));
        assert_eq!(ships_upto(Some(5), 3, 9, true), Some(5));
        assert_eq!(ships_upto(Some(2), 3, 9, false), None, "it is there");
        assert_eq!(ships_upto(Some(10), 3, 9, false), None);
        assert_eq!(ships_upto(Some(10), 3, 9, true), Some(9));
        assert_eq!(ships_upto(None, 3, 9, false), None);
        assert_eq!(ships_upto(None, 3, 9, true), Some(9));
    }
}
