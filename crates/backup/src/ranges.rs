//! The ranges of a store: time spans within which the cluster can be restored to every marker.

use std::collections::BTreeSet;

use crate::backups::{self, BackupState};
use crate::manifest::Manifest;
use crate::markers::{self, Broken, Marker};
use crate::{BackupError, Store};

/// A moment to which the cluster can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub backup: u64,
    /// The time of a marker; `None`: the backup itself.
    pub marker: Option<i64>,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// Backups that continue each other, oldest first.
#[derive(Clone, Debug)]
pub struct Range {
    pub bases: Vec<Base>,
}

/// A backup and the markers that continue it.
#[derive(Clone, Debug)]
pub struct Base {
    pub manifest: Manifest,
    /// Times of the markers, in ascending order.
    pub markers: Vec<i64>,
    pub broken: Option<Broken>,
}

impl Base {
    pub(crate) fn read(store: &Store, manifest: Manifest) -> Result<Base, BackupError> {
        Ok(Base {
            markers: markers::times(store, manifest.backup_id)?,
            broken: markers::broken(store, manifest.backup_id)?,
            manifest,
        })
    }

    /// The backup and the one that it carries on, if it is continued.
    fn of(store: &Store, manifest: Manifest) -> Result<Option<(Base, Option<u64>)>, BackupError> {
        let Some(begun) = markers::begun(store, manifest.backup_id)? else {
            return Ok(None);
        };
        Ok(Some((Base::read(store, manifest)?, begun.after)))
    }

    /// The backup itself.
    pub(crate) fn moment(&self) -> Moment {
        Moment {
            backup: self.manifest.backup_id,
            marker: None,
            at: self.manifest.cut_at,
        }
    }

    /// The marker with this number.
    pub(crate) fn marked(&self, number: usize) -> Option<Moment> {
        let at = *self.markers.get(number)?;
        Some(Moment {
            marker: Some(at),
            at,
            ..self.moment()
        })
    }

    /// The newest moment at or before this time.
    pub(crate) fn moment_by(&self, time: i64) -> Option<Moment> {
        let before = self.markers.partition_point(|at| *at <= time);
        let marker = before.checked_sub(1).and_then(|at| self.marked(at));
        let moment = marker.unwrap_or_else(|| self.moment());
        (moment.at <= time).then_some(moment)
    }
}

impl Range {
    fn moments_by(&self, time: i64) -> Option<Moment> {
        let newest = self.bases.iter().filter_map(|base| base.moment_by(time));
        newest.max_by_key(|moment| moment.at)
    }

    /// The first moment.
    pub fn start(&self) -> Option<Moment> {
        self.bases.first().map(Base::moment)
    }

    /// The newest moment.
    pub fn end(&self) -> Option<Moment> {
        self.moments_by(i64::MAX)
    }

    /// The newest moment at or before this time, which must be within the range.
    pub fn find(&self, time: i64) -> Option<Moment> {
        let is_within = self.start()?.at <= time && time <= self.end()?.at;
        is_within.then(|| self.moments_by(time)).flatten()
    }

    fn position(&self, backup: u64) -> Option<usize> {
        let mut ids = self.bases.iter().map(|base| base.manifest.backup_id);
        ids.position(|id| id == backup)
    }

    /// The backup of a moment.
    pub fn base(&self, of: Moment) -> Option<&Base> {
        self.bases.get(self.position(of.backup)?)
    }

    /// The reason why a backup in this range cannot be deleted. `continues`: the cluster continues the newest backup.
    fn needs(&self, backup: u64, continues: bool) -> Option<String> {
        let at = self.position(backup)?;
        let last = self.bases.len() - 1;
        if at == last {
            let is_whole = self.bases.last().is_some_and(|base| base.broken.is_none());
            return (continues && is_whole).then(|| {
                "it is the one that is continued at the moment: take another backup first"
                    .to_string()
            });
        }
        let first = self.bases.first().map(|base| base.manifest.backup_id);
        (at > 0).then(|| {
            format!(
                "it is in the middle of a range that begins with the backup {}: delete the older ones first",
                first.unwrap_or_default()
            )
        })
    }
}

/// The ranges of the store, oldest first. Backups that were never continued have none.
///
/// # Errors
/// An object is damaged, or the store cannot be used.
pub fn ranges(store: &Store) -> Result<Vec<Range>, BackupError> {
    ranges_of(store, Base::of)
}

/// The ranges without the backups whose log cannot be used: no moment of those is in a range, and they do not hide others.
fn usable_ranges(store: &Store) -> Result<Vec<Range>, BackupError> {
    ranges_of(store, |store, manifest| match Base::of(store, manifest) {
        Err(BackupError::Damaged { .. }) => Ok(None),
        base => base,
    })
}

type Find = fn(&Store, Manifest) -> Result<Option<(Base, Option<u64>)>, BackupError>;

fn ranges_of(store: &Store, find: Find) -> Result<Vec<Range>, BackupError> {
    let mut ranges: Vec<Range> = Vec::new();
    for backup in backups::list(store, "")?.into_iter().rev() {
        let (BackupState::Completed, Some(manifest)) = (backup.state, backup.manifest) else {
            continue;
        };
        let Some((base, after)) = find(store, manifest)? else {
            continue;
        };
        let before = ranges.iter_mut().find(|range| {
            let last = range.bases.last();
            last.is_some_and(|last| Some(last.manifest.backup_id) == after)
        });
        match before {
            Some(range) => range.bases.push(base),
            None => ranges.push(Range { bases: vec![base] }),
        }
    }
    Ok(ranges)
}

/// Checks that all these clusters are one.
fn expect_one<'m>(manifests: impl Iterator<Item = &'m Manifest>) -> Result<(), BackupError> {
    let clusters: BTreeSet<&str> = manifests
        .map(|manifest| manifest.cluster.cluster_id.as_str())
        .collect();
    if clusters.len() < 2 {
        return Ok(());
    }
    let clusters: Vec<&str> = clusters.into_iter().collect();
    Err(BackupError::SeveralClusters(clusters.join(", ")))
}

fn is_of(manifest: &Manifest, cluster: Option<&str>) -> bool {
    cluster.is_none_or(|cluster| manifest.cluster.cluster_id == cluster)
}

/// The complete backups of one cluster. `cluster`: its id, if it is known.
pub(crate) fn complete(store: &Store, cluster: Option<&str>) -> Result<Vec<Manifest>, BackupError> {
    let backups = backups::list(store, "")?.into_iter();
    let manifests = backups.filter_map(|backup| backup.manifest);
    let manifests: Vec<Manifest> = manifests.filter(|it| is_of(it, cluster)).collect();
    expect_one(manifests.iter())?;
    Ok(manifests)
}

/// The newest moment in the store: a backup or a marker. `cluster`: its id, if it is known.
///
/// # Errors
/// [`BackupError::NoMoment`], [`BackupError::SeveralClusters`], or the store cannot be used.
pub fn newest_moment(store: &Store, cluster: Option<&str>) -> Result<Moment, BackupError> {
    let mut newest: Option<Moment> = None;
    for manifest in complete(store, cluster)? {
        let last = Base::read(store, manifest)?.moment_by(i64::MAX);
        newest = newest.into_iter().chain(last).max_by_key(|it| it.at);
    }
    newest.ok_or_else(|| BackupError::NoMoment("the store has no complete backup".to_string()))
}

/// The newest moment at or before this time within a range.
///
/// # Errors
/// [`BackupError::NoMoment`], which names the ranges, [`BackupError::SeveralClusters`], or the store cannot be used.
pub fn moment(store: &Store, time: i64, cluster: Option<&str>) -> Result<Moment, BackupError> {
    let mut ranges = usable_ranges(store)?;
    ranges.retain(|range| {
        let first = range.bases.first();
        first.is_some_and(|base| is_of(&base.manifest, cluster))
    });
    let bases = ranges.iter().flat_map(|range| &range.bases);
    expect_one(bases.map(|base| &base.manifest))?;
    let found = ranges.iter().filter_map(|range| range.find(time));
    if let Some(moment) = found.max_by_key(|moment| moment.at) {
        return Ok(moment);
    }
    let spans = ranges.iter().filter_map(|range| {
        let (start, end) = (range.start()?, range.end()?);
        Some(format!("{} to {}", instant(start.at), instant(end.at)))
    });
    let spans: Vec<String> = spans.collect();
    Err(BackupError::NoMoment(if spans.is_empty() {
        format!(
            "{} is in no range, as no backup was continued (camunda.data.primary-storage.backup.continuous). Restore one by its id: --backup",
            instant(time)
        )
    } else {
        format!(
            "{} is in none of the ranges: {}. Give a time within one of them, the id of a backup (--backup), or --to latest",
            instant(time),
            spans.join("; ")
        )
    }))
}

/// A time, in milliseconds since 1970, as operators read and write it.
pub fn instant(time: i64) -> String {
    let time_of_day = jiff::Timestamp::from_millisecond(time);
    time_of_day.map_or_else(|_| time.to_string(), |time| time.to_string())
}

/// The reason why a backup must be kept for now; `None`: it is not needed, or it is damaged itself. `continues`: the cluster
/// continues the newest backup.
///
/// # Errors
/// An object is damaged, or the store cannot be used.
pub fn is_needed(
    store: &Store,
    backup: u64,
    continues: bool,
) -> Result<Option<String>, BackupError> {
    let ranges = match ranges(store) {
        Err(BackupError::Damaged { name, .. }) if name.starts_with(&backups::name(backup, "")) => {
            return Ok(None);
        }
        ranges => ranges?,
    };
    let newest = ranges.iter().filter_map(Range::end).map(|end| end.backup);
    let newest = newest.max();
    Ok(ranges.iter().find_map(|range| {
        let is_newest = range.end().map(|end| end.backup) == newest;
        range.needs(backup, continues && is_newest)
    }))
}

/// The marker of a moment; `None` if the moment is the backup itself.
///
/// # Errors
/// The marker is missing or damaged, or the store cannot be used.
pub fn marker_of(
    store: &Store,
    base: &Manifest,
    moment: Moment,
) -> Result<Option<Marker>, BackupError> {
    let marker = moment.marker;
    marker.map(|at| Marker::read(store, base, at)).transpose()
}
