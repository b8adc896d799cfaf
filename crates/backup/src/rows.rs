//! Rows that are not in the backups of a store, because they are in a database or a search server: the moments that they can be brought to.
//!
//! A restored cluster writes the rows that are missing, from its log. So the log must reach back to the rows, and rows of work after the
//! moment must not be there.

use std::collections::BTreeMap;

use crate::manifest::Manifest;
use crate::markers::begun;
use crate::ranges::{Base, Moment, complete, instant, marker_of};
use crate::{BackupError, Store};

/// By partition: the last entry of its log of which there are rows. Partitions without rows may be missing.
pub type RowPositions = BTreeMap<u32, u64>;

/// Why rows cannot be brought to a moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error(
        "there are rows of partition {partition} up to entry {rows} of its log, which ends with entry {cut} at that moment: they are of \
         later work"
    )]
    Ahead { partition: u32, rows: u64, cut: u64 },
    #[error(
        "there are rows of partition {partition} up to entry {rows} of its log, and the store has that log from entry {first} on"
    )]
    Behind {
        partition: u32,
        rows: u64,
        first: u64,
    },
}

/// A partition's log at a moment, with the backups that continue each other.
struct LogAt {
    partition: u32,
    /// The entry before the first one.
    base: u64,
    /// The last entry.
    cut: u64,
}

/// Checks that the rows can be brought to the moment that the manifest describes.
///
/// # Errors
/// They cannot.
pub fn expect_fit(manifest: &Manifest, rows: &RowPositions) -> Result<(), Misfit> {
    let logs = manifest.partitions.iter().map(|of| LogAt {
        partition: of.partition,
        base: of.log.base_index,
        cut: of.cut.index,
    });
    fit(logs, rows)
}

fn fit(logs: impl Iterator<Item = LogAt>, rows: &RowPositions) -> Result<(), Misfit> {
    let mut others = rows.clone();
    let mut behind = None;
    for log in logs {
        let LogAt {
            partition,
            base,
            cut,
        } = log;
        let rows = others.remove(&partition).unwrap_or(0);
        if rows > cut {
            return Err(Misfit::Ahead {
                partition,
                rows,
                cut,
            });
        }
        if rows < base {
            behind.get_or_insert(Misfit::Behind {
                partition,
                rows,
                first: base + 1,
            });
        }
    }
    // Partitions that were added after the moment.
    if let Some((partition, rows)) = others.into_iter().find(|(_, rows)| *rows > 0) {
        return Err(Misfit::Ahead {
            partition,
            rows,
            cut: 0,
        });
    }
    behind.map_or(Ok(()), Err)
}

/// The moments of a store to which the same rows can be brought. Those in between that have the log from the rows on are among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitting {
    pub first: Moment,
    pub newest: Moment,
}

/// Finds the moments that fit the rows. `cluster`: its id, if it is known.
///
/// # Errors
/// [`BackupError::NoMoment`], which says why the newest one does not fit, [`BackupError::SeveralClusters`], or the store cannot be used.
pub fn moments_for(
    store: &Store,
    cluster: Option<&str>,
    rows: &RowPositions,
) -> Result<Fitting, BackupError> {
    let mut manifests = complete(store, cluster)?;
    manifests.sort_by_key(|manifest| manifest.backup_id);
    let mut begins: BTreeMap<u64, BTreeMap<u32, u64>> = BTreeMap::new();
    let mut fitting: Option<Fitting> = None;
    let mut misfit: Option<(Moment, Misfit)> = None;
    for manifest in manifests {
        let backup = manifest.backup_id;
        let after = begun(store, backup)?.and_then(|continued| continued.after);
        let before = after.and_then(|backup| begins.get(&backup));
        let base = Bringing {
            begins: reaches_back(&manifest, before),
            base: Base::read(store, manifest)?,
            store,
            rows,
        };
        if let Some(newest) = base.base.moment_by(i64::MAX) {
            match base.fits(newest)? {
                Ok(()) => {
                    let known = fitting.take();
                    let first = match known {
                        Some(known) => known.first,
                        None => base.first()?.unwrap_or(newest),
                    };
                    let newest = known
                        .map(|it| it.newest)
                        .filter(|it| it.at > newest.at)
                        .unwrap_or(newest);
                    fitting = Some(Fitting { first, newest });
                }
                Err(why) => {
                    let is_newer = |(moment, _): &(Moment, _)| moment.at < newest.at;
                    if misfit.as_ref().is_none_or(is_newer) {
                        misfit = Some((newest, why));
                    }
                }
            }
        }
        begins.insert(backup, base.begins);
    }
    fitting.ok_or_else(|| {
        let why = misfit
            .map(|(newest, why)| format!("the newest one is {}, but {why}", instant(newest.at)));
        BackupError::NoMoment(why.unwrap_or_else(|| "the store has no complete backup".to_string()))
    })
}

/// By partition: the entry before the first one that the store has, with the backups that this one carries on.
fn reaches_back(manifest: &Manifest, before: Option<&BTreeMap<u32, u64>>) -> BTreeMap<u32, u64> {
    let begins = manifest.partitions.iter().map(|of| {
        let own = of.log.base_index;
        let earlier = before.and_then(|before| before.get(&of.partition));
        (
            of.partition,
            earlier.map_or(own, |earlier| own.min(*earlier)),
        )
    });
    begins.collect()
}

/// A backup with what continues it, and the rows to bring to one of its moments.
struct Bringing<'a> {
    store: &'a Store,
    base: Base,
    begins: BTreeMap<u32, u64>,
    rows: &'a RowPositions,
}

impl Bringing<'_> {
    fn fits(&self, moment: Moment) -> Result<Result<(), Misfit>, BackupError> {
        let manifest = &self.base.manifest;
        let marker = marker_of(self.store, manifest, moment)?;
        let cuts = marker.map(|marker| marker.cuts).unwrap_or_default();
        let logs = manifest.partitions.iter().map(|of| {
            let begin = self.begins.get(&of.partition).copied();
            let cut = cuts.get(&of.partition).unwrap_or(&of.cut);
            LogAt {
                partition: of.partition,
                base: begin.unwrap_or(of.log.base_index),
                cut: cut.index,
            }
        });
        Ok(fit(logs, self.rows))
    }

    /// The first of its moments that fits, given that the newest one does: logs only grow from marker to marker.
    fn first(&self) -> Result<Option<Moment>, BackupError> {
        let backup = self.base.moment();
        if self.fits(backup)?.is_ok() {
            return Ok(Some(backup));
        }
        let (mut from, mut to) = (0, self.base.markers.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let moment = self.base.marked(middle);
            let fits = match moment {
                Some(moment) => self.fits(moment)?.is_ok(),
                None => false,
            };
            if fits {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        Ok(self.base.marked(from))
    }
}
