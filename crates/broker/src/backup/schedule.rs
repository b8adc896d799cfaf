//! Scheduled backups, and the deletion of old ones: done by the node that leads the metadata group.
//!
//! All state is in the store: the next backup is due by the schedule after the newest one began, whoever took it. So it does not matter
//! which node leads, and a backup that was due while nobody led is taken once, late.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use skep_backup::{
    Backup, BackupError, BackupKind, BackupState, Store, Unused, delete, delete_unused_documents,
    list,
};
use skep_cluster::Refusal;
use skep_model::timer_value::Cycle;

use super::BackupConfig;
use super::coordinator::{begin, claim, next_id};
use super::grown::{Replicas, expect_grown};
use crate::cluster::{Cluster, now};

/// Interval between two checks of the time.
const LOOK: Duration = Duration::from_secs(1);
/// Delay before a failed operation is retried.
const AGAIN: Duration = Duration::from_secs(30);
/// Old backups are looked for before each scheduled one, and at this interval.
const SWEEP: Duration = Duration::from_secs(600);

/// When backups are taken and deleted automatically.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    pub times: Option<Cycle>,
    /// A backup is deleted once it is this old, except for the newest complete one.
    pub keep: Option<Duration>,
    /// Added to the time, in milliseconds since 1970, to make an id.
    pub offset: u64,
}

impl Schedule {
    fn is_empty(&self) -> bool {
        self.times.is_none() && self.keep.is_none()
    }

    /// When the next backup is due, in milliseconds since 1970. `last`: when the newest one began.
    fn due(&self, last: Option<i64>, now: i64) -> Option<i64> {
        let times = self.times.as_ref()?;
        match last {
            Some(last) => times.next(last, now),
            None => times.first(now),
        }
    }

    /// The backups that are old enough to be deleted. `backups`: newest first. `continuous`: every moment within the window can be
    /// restored, so the newest backup from before the window stays, as it is continued into it.
    fn old<'b>(&self, backups: &'b [Backup], now: i64, continuous: bool) -> Vec<&'b Backup> {
        let Some(keep) = self.keep else {
            return Vec::new();
        };
        let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let newest = backups
            .iter()
            .find(|backup| {
                let cut_at = backup.manifest.as_ref().map(|manifest| manifest.cut_at);
                let is_before = cut_at.is_none_or(|cut_at| now.saturating_sub(cut_at) >= keep);
                backup.state == BackupState::Completed && (is_before || !continuous)
            })
            .map(|backup| backup.id);
        let is_old = |backup: &&Backup| {
            let moment = match (&backup.manifest, &backup.begun) {
                (Some(manifest), _) => manifest.cut_at,
                (None, Some(begun)) => begun.began_at,
                // Unknown.
                (None, None) => return false,
            };
            let ended = matches!(backup.state, BackupState::Completed | BackupState::Failed);
            ended && Some(backup.id) != newest && now.saturating_sub(moment) > keep
        };
        backups.iter().filter(is_old).collect()
    }
}

/// Stores of earlier versions may have backups of other clusters, which those delete themselves.
fn retain_own(backups: &mut Vec<Backup>, cluster_id: &str) {
    backups.retain(|backup| backup.cluster_id() == Some(cluster_id));
}

/// Starts following the schedule, if there is one, for as long as the node is running.
///
/// # Errors
/// No thread can be started.
pub fn keep_to_schedule(cluster: &Arc<Cluster>) -> std::io::Result<()> {
    let config = cluster.parts().config().cloned();
    let Some(config) = config.filter(|config| !config.schedule.is_empty()) else {
        return Ok(());
    };
    let keeper = Keeper {
        cluster: Arc::downgrade(cluster),
        config,
        due: None,
        swept: None,
        waits: None,
    };
    let thread = std::thread::Builder::new().name("backup-times".to_string());
    thread.spawn(move || keeper.run()).map(drop)
}

struct Keeper {
    cluster: Weak<Cluster>,
    config: BackupConfig,
    /// When the next backup is due, once that is known.
    due: Option<i64>,
    /// When old backups were last looked for.
    swept: Option<Instant>,
    /// No attempt before this time.
    waits: Option<Instant>,
}

impl Keeper {
    fn run(mut self) {
        loop {
            std::thread::sleep(LOOK);
            let Some(cluster) = self.cluster.upgrade().filter(|it| !it.is_stopped()) else {
                return;
            };
            if !cluster.leads_metadata() {
                // The next leader reads the store, and so does this node if it leads again.
                self.due = None;
                continue;
            }
            if self.waits.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            self.waits = None;
            if let Err(reason) = self.look(&cluster) {
                tracing::error!(code = "BACKUP_FAILED", %reason, "the schedule of backups failed; it is tried again");
                self.due = None;
                self.waits = Some(Instant::now() + AGAIN);
            }
        }
    }

    fn look(&mut self, cluster: &Arc<Cluster>) -> Result<(), String> {
        let schedule = self.config.schedule.clone();
        let now = now();
        let knows_when = self.due.is_some() || schedule.times.is_none();
        let is_due = self.due.is_some_and(|due| due <= now);
        let sweeps = schedule.keep.is_some()
            && (is_due || self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP));
        if knows_when && !is_due && !sweeps {
            return Ok(());
        }
        let text = |error: BackupError| error.to_string();
        let store = Store::open(&self.config.location).map_err(|error| error.to_string())?;
        let mut backups = list(&store, "").map_err(text)?;
        let newest = backups.first().map(|backup| backup.id);
        retain_own(&mut backups, &cluster.state().cluster_id);
        if sweeps {
            match claim(cluster, &store, &cluster.state()) {
                // Earlier versions let several clusters have one store: each deletes its own.
                Ok(()) | Err(BackupError::OtherCluster { .. }) => {}
                Err(error) => return Err(text(error)),
            }
            expect_grown(cluster, &store, Replicas::Leading).map_err(text)?;
            self.swept = Some(Instant::now());
            match expect_grown(cluster, &store, Replicas::All) {
                Ok(()) => {
                    let continuous = self.config.continuous.is_some();
                    for old in schedule.old(&backups, now, continuous) {
                        tracing::info!(backup = old.id, "the backup is old enough to be deleted");
                        delete(&store, old.id).map_err(text)?;
                    }
                    // Also what failed backups have written.
                    clean(&store);
                }
                // Deleting is final: a replica that lags behind puts it off.
                Err(why) => tracing::warn!(%why, "no backup is deleted by age"),
            }
        }
        if is_due {
            let id = next_id(newest, schedule.offset);
            match begin(cluster, Some(id), BackupKind::Scheduled) {
                Ok(_) => self.due = schedule.due(Some(now), now),
                // Somebody is taking one right now: that is just as good.
                Err(Refusal::Busy(_)) => self.due = None,
                Err(refusal) => return Err(refusal.to_string()),
            }
        } else if self.due.is_none() {
            let began = |backup: &Backup| Some(backup.begun.as_ref()?.began_at);
            self.due = schedule.due(backups.first().and_then(began), now);
        }
        Ok(())
    }
}

/// Deletes documents to which no backup refers any more. That it fails keeps nobody from taking the next backup.
fn clean(store: &Store) {
    match delete_unused_documents(store) {
        Ok(Unused::Deleted(0)) => {}
        Ok(Unused::Deleted(objects)) => {
            tracing::info!(objects, "documents to which no backup refers are deleted");
        }
        Ok(Unused::KeptFor(backup)) => tracing::info!(
            backup,
            "no documents are deleted while this backup is in progress, or cannot be read"
        ),
        Err(error) => tracing::warn!(%error, "documents to which no backup refers are not deleted"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skep_backup::{Backup, BackupKind, BackupState, Begun, FORMAT, Manifest};
    use skep_cluster::State;
    use skep_model::timer_value::Cycle;

    use super::{Schedule, retain_own};

    fn backup(id: u64, state: BackupState, began_at: i64) -> Backup {
        Backup {
            id,
            state,
            note: None,
            begun: Some(Begun {
                backup_id: id,
                cluster_id: String::new(),
                version: String::new(),
                began_at,
                broker_id: 0,
                partitions: 1,
            }),
            manifest: None,
            updated_at: None,
        }
    }

    #[test]
    fn a_backup_that_was_missed_is_taken_once_and_late() {
        let schedule = Schedule {
            times: Some(Cycle::parse("R/PT1H").unwrap()),
            ..Schedule::default()
        };
        let hour = 3_600_000;
        assert_eq!(schedule.due(None, 10), Some(10 + hour));
        assert_eq!(schedule.due(Some(0), 10), Some(hour));
        assert_eq!(schedule.due(Some(0), 5 * hour), Some(5 * hour));
        assert_eq!(Schedule::default().due(Some(0), 10), None);
    }

    #[test]
    fn backups_of_other_clusters_are_left_alone() {
        let of = |id: u64, cluster_id: &str| {
            let mut backup = backup(id, BackupState::Failed, 0);
            if let Some(begun) = &mut backup.begun {
                begun.cluster_id = cluster_id.to_string();
            }
            backup
        };
        let unknown = Backup {
            begun: None,
            ..backup(1, BackupState::Incompatible, 0)
        };
        let mut backups = vec![of(4, "other"), of(3, "own"), of(2, "other"), unknown];
        retain_own(&mut backups, "own");
        let ids: Vec<u64> = backups.iter().map(|backup| backup.id).collect();
        assert_eq!(ids, [3]);
    }

    #[test]
    fn old_backups_go_but_not_the_newest_complete_one_nor_one_that_is_being_taken() {
        let backups = [
            backup(6, BackupState::InProgress, 0),
            backup(5, BackupState::Failed, 0),
            backup(4, BackupState::Completed, 0),
            backup(3, BackupState::Completed, 0),
            backup(2, BackupState::Completed, 9_000),
            backup(1, BackupState::Incompatible, 0),
        ];
        let schedule = Schedule {
            keep: Some(Duration::from_secs(5)),
            ..Schedule::default()
        };
        let ids = |now| {
            let old = schedule.old(&backups, now, false).into_iter();
            old.map(|backup| backup.id).collect::<Vec<u64>>()
        };
        assert_eq!(ids(10_000), [5, 3]);
        assert!(ids(5_000).is_empty());
        let complete = |id: u64, cut_at: i64| Backup {
            manifest: Some(Manifest {
                format: FORMAT,
                backup_id: id,
                version: String::new(),
                kind: BackupKind::Scheduled,
                began_at: 0,
                cut_at,
                completed_at: cut_at,
                cluster: State::default(),
                partitions: Vec::new(),
                documents: Vec::new(),
            }),
            ..backup(id, BackupState::Completed, 0)
        };
        // Range four was continued until five: its moments can be restored while they are in the window.
        let backups = [complete(5, 7_000), complete(4, 4_000), complete(3, 1_000)];
        let ids = |continuous| {
            let old = schedule.old(&backups, 10_000, continuous).into_iter();
            old.map(|backup| backup.id).collect::<Vec<u64>>()
        };
        assert_eq!(ids(false), [4, 3]);
        assert_eq!(ids(true), [3]);
        assert!(Schedule::default().old(&backups, 10_000, false).is_empty());
    }
}
