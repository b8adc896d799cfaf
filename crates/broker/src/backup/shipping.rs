//! Ships the logs of partitions that are led here behind the newest backup, all the time.
//!
//! The store is the truth: a leader continues behind the objects that are there, no matter which node shipped them. Every copy of a partition keeps its log from the newest
//! marker on, so that each can lead without a gap. On a disk that is nearly full the log goes first: then the range breaks, and nothing
//! continues that backup.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use skep_backup::{
    Broken, Chain, Cut, Manifest, PIECE, Place, break_off, broken, encode_entries, latest,
    newest_complete,
};
use skep_storage::StorageError;
use skep_storage::log::LogReader;

use super::BackupConfig;
use super::lineage::Lineage;
use super::parts::{PATIENCE, ask};
use super::unmarked::Unmarked;
use crate::cluster::{Cluster, now};
use crate::partition::{LogPin, PartitionHandle, Report};

/// Between two looks at the partitions, if nobody wishes anything.
const LOOK: Duration = Duration::from_millis(500);
/// Between two looks at the store for the backup to continue and its newest marker.
const LOOK_AT_STORE: Duration = Duration::from_secs(5);
/// An entry is shipped after so long, if no marker asks for it before.
const SHIP_AFTER: Duration = Duration::from_secs(10);
/// The pause after a failure.
const AGAIN: Duration = Duration::from_secs(5);

/// What others of this node want to be shipped or looked at soon.
#[derive(Default)]
pub struct Wishes {
    wished: Mutex<Wished>,
    changed: Condvar,
}

#[derive(Default)]
struct Wished {
    /// By partition: the entry up to which an object is to go.
    cuts: BTreeMap<u32, u64>,
    /// The backup to continue may be another one.
    look: bool,
}

impl Wishes {
    /// Partitions stood still at these entries.
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

    /// Waits a moment, or until something is wished. Whether the store is to be looked at.
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

    /// The log up to there is shipped.
    fn shipped(&self, partition: u32, upto: u64) {
        let mut wished = self.wished.lock();
        if wished.cuts.get(&partition).is_some_and(|cut| *cut <= upto) {
            wished.cuts.remove(&partition);
        }
    }
}

/// Begins to ship, if backups are continuous, for as long as the node is there.
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
        place: None,
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
    place: Option<Place>,
    base: Option<Base>,
    copies: BTreeMap<u32, Copy>,
    /// When the store was looked at last.
    looked: Option<Instant>,
    /// Nothing is tried before.
    waits: Option<Instant>,
    /// It was logged that something fails.
    failing: bool,
}

/// The backup that is continued.
struct Base {
    manifest: Manifest,
    is_broken: bool,
    /// Entries up to these are in the store, with a marker behind them.
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

    fn chain(&self, place: &Place, partition: u32) -> Option<Chain> {
        let of = self.manifest.partition(partition)?;
        let backup = self.manifest.backup_id;
        Some(Chain::new(place, backup, partition, of.cut.index))
    }
}

/// A partition that is here.
struct Copy {
    handle: Arc<PartitionHandle>,
    log: LogReader,
    /// The log behind this entry is kept.
    behind: u64,
    _pin: LogPin,
    /// Of a leader that knows it: the next entry to ship.
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
        // Logs are kept before the store is asked, which may not answer.
        self.keep_logs(cluster);
        // The state announces a purge before any copy begins anew: no earlier backup gets the logs of those.
        let state = cluster.state();
        if state.purge.is_some() {
            return Ok(());
        }
        let lineage = Lineage::of(&state);
        self.base.take_if(|base| !lineage.has(&base.manifest));
        let place = match &self.place {
            Some(place) => place.clone(),
            None => {
                let place = Place::open(&self.config.location)?;
                self.place.insert(place).clone()
            }
        };
        if (self.looked).is_none_or(|looked| looked.elapsed() >= LOOK_AT_STORE) {
            self.look_at_store(&lineage, &place)?;
            self.looked = Some(Instant::now());
            self.keep_logs(cluster);
        }
        let Some(base) = self.base.as_mut().filter(|base| !base.is_broken) else {
            return Ok(());
        };
        for (partition, copy) in &mut self.copies {
            let Some(chain) = base.chain(&place, *partition) else {
                continue;
            };
            match copy.ship(&chain, &self.wishes, self.config.rate) {
                Ok(()) => {}
                Err(gap @ Unmarked::Gap { .. }) => {
                    let (backup, reason) = (base.manifest.backup_id, gap.to_string());
                    tracing::error!(code = "BACKUP_FAILED", backup, %reason, "the range of backups is broken, and begins anew with the next backup");
                    cluster.parts().metrics().broken_ranges.inc();
                    base.is_broken = true;
                    let at = now();
                    return Ok(break_off(&place, backup, &Broken { reason, at })?);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Every copy here keeps its log from the newest marker on; without a backup all that it has.
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
            let told = ask(&handle, |asker| Report::KeepLog { behind, asker });
            // A partition that does not answer now is asked again.
            if let Ok((log, pin)) = told.recv_timeout(PATIENCE) {
                let copy = self.copies.remove(&partition);
                let copy = Copy {
                    handle,
                    log,
                    behind,
                    _pin: pin,
                    next: copy.as_ref().and_then(|copy| copy.next),
                    since: copy.and_then(|copy| copy.since),
                };
                self.copies.insert(partition, copy);
            }
        }
    }

    fn look_at_store(&mut self, lineage: &Lineage, place: &Place) -> Result<(), Unmarked> {
        let known = self.base.as_ref().map(|base| base.manifest.backup_id);
        let newer = newest_complete(place, known, |it| lineage.has(it))?;
        if let Some(manifest) = newer {
            self.reach(place, &manifest);
            for copy in self.copies.values_mut() {
                copy.next = None;
            }
            self.base = Some(Base::of(manifest));
        }
        let Some(base) = &mut self.base else {
            return Ok(());
        };
        let backup = base.manifest.backup_id;
        base.is_broken |= broken(place, backup)?.is_some();
        if let Some(marker) = latest(place, backup)? {
            for (partition, cut) in marker.cuts {
                let behind = base.kept_behind.entry(partition).or_default();
                *behind = (*behind).max(cut.index);
            }
        }
        Ok(())
    }

    /// The log of the backup before reaches the next one: both are one range then. If it does not, they are two.
    fn reach(&mut self, place: &Place, next: &Manifest) {
        let Some(base) = self.base.as_ref().filter(|base| !base.is_broken) else {
            return;
        };
        for (partition, copy) in &mut self.copies {
            let (Some(chain), Some(of)) =
                (base.chain(place, *partition), next.partition(*partition))
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
        let next = self.next(chain)?;
        if applied < next {
            self.since = None;
            return Ok(());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let cut = wishes.cut(partition);
        let upto = match cut.filter(|cut| *cut >= next && *cut <= applied) {
            Some(cut) => cut,
            None if since.elapsed() >= SHIP_AFTER => applied,
            None => return Ok(()),
        };
        self.ship_upto(chain, upto, rate)?;
        if self.next.is_some_and(|next| next > upto) {
            self.since = None;
            wishes.shipped(partition, upto);
        }
        Ok(())
    }

    /// The store is asked once, when this copy begins to lead or another backup is continued.
    fn next(&mut self, chain: &Chain) -> Result<u64, Unmarked> {
        if let Some(next) = self.next {
            return Ok(next);
        }
        let next = chain.next(None)?;
        Ok(*self.next.insert(next))
    }

    /// Ships as much as is on the disk here, up to an entry that is committed.
    fn ship_upto(&mut self, chain: &Chain, upto: u64, rate: u64) -> Result<(), Unmarked> {
        let mut next = self.next(chain)?;
        while next <= upto {
            // Until the disk has an entry of this leader's term, others of its log may not be those that are committed. A replica that never had
            // others says no term.
            let term = self.handle.status.term();
            if term != 0 && self.log.last().term != term {
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
                chain.next(Some(next))?
            };
            self.next = Some(next);
            pace(content.len(), rate);
        }
        Ok(())
    }
}

/// The disk and the line serve work first.
fn pace(bytes: usize, rate: u64) {
    let nanos = (bytes as u64).saturating_mul(1_000_000_000) / rate.max(1);
    std::thread::sleep(Duration::from_nanos(nanos).min(PATIENCE));
}
