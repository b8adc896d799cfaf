//! The restores from a store. Each has an epoch of its own, which all its nodes share.
//!
//! The first node that restores a moment claims the next epoch, and the others join it. An epoch is claimed once, so the clusters of two
//! restores never take each other for the same, even if both began with the same moment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skep_cluster::{EPOCHS_OF_A_RESTORE, next_restore};
use skep_objects::ObjectError;

use crate::backups::{found, manifest, numbers, text};
use crate::{BackupError, Store};

const ALL: &str = "restores";

/// A restore is joined for this long without its epoch being named. Later ones of the same moment are others.
pub const JOINED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Attempts to claim an epoch while other nodes claim some.
const ATTEMPTS: u32 = 64;

/// What the nodes of a restore have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    pub cluster_id: String,
    pub backup_id: u64,
    /// `None`: the backup itself.
    pub marker: Option<i64>,
    /// The initial nodes.
    pub nodes: Vec<u32>,
    /// The replication factor.
    pub copies: u32,
    /// Its cluster takes no backups in this store.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drill: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The first object of a restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claimed {
    of: Restored,
    /// Milliseconds since 1970.
    at: i64,
}

/// A node's part in a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    /// The attempt, which the data directory remembers until it is complete.
    attempt: String,
}

/// A node that restores its data directory.
#[derive(Clone, Copy, Debug)]
pub struct Participant<'a> {
    pub node: u32,
    /// Unique to this data directory. An interrupted restore has the same one when it is run again.
    pub attempt: &'a str,
    /// The epoch of the moment.
    pub from: u64,
    /// The epoch to join, if it is given.
    pub wanted: Option<u64>,
    /// Milliseconds since 1970.
    pub now: i64,
}

/// The restore that a node takes part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub epoch: u64,
    /// The newest other restore of the same moment.
    pub other: Option<Other>,
    /// Why the store does not have the claim, if it could not be written.
    pub unclaimed: Option<String>,
}

/// Another restore of the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub epoch: u64,
    pub at: i64,
    /// The nodes that have joined it.
    pub nodes: Vec<u32>,
}

fn directory(epoch: u64) -> String {
    format!("{ALL}/{epoch}")
}

fn claim_name(epoch: u64) -> String {
    format!("{ALL}/{epoch}/begun.json")
}

fn part_name(epoch: u64, node: u32) -> String {
    format!("{ALL}/{epoch}/node-{node}.json")
}

impl Restored {
    fn is_same_moment(&self, other: &Restored) -> bool {
        let moment = |it: &Restored| (it.cluster_id.clone(), it.backup_id, it.marker);
        moment(self) == moment(other)
    }
}

/// The restores and epochs that a store knows.
struct Known {
    /// `None`: the claim cannot be read.
    claims: BTreeMap<u64, Option<Claimed>>,
    /// The epochs of complete backups, each with one of them.
    backups: BTreeMap<u64, u64>,
}

impl Known {
    fn read(store: &Store) -> Result<Known, BackupError> {
        let mut known = Known {
            claims: BTreeMap::new(),
            backups: BTreeMap::new(),
        };
        for epoch in numbers(store, ALL)? {
            let claim = match found::<Claimed>(store, &claim_name(epoch)) {
                Ok(Some(claim)) => Some(claim),
                // A directory is there before its first object: it is being claimed at this moment, and whoever claims it too finds out.
                Ok(None) if nodes(store, epoch)?.is_empty() => continue,
                Ok(None) => None,
                Err(BackupError::Damaged { .. }) => None,
                Err(error) => return Err(error),
            };
            known.claims.insert(epoch, claim);
        }
        for id in numbers(store, crate::backups::ALL)? {
            match manifest(store, id) {
                Ok(Some(manifest)) => {
                    known.backups.insert(manifest.cluster.epoch, id);
                }
                Ok(None) | Err(BackupError::Unusable { .. } | BackupError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    /// An epoch that nobody has used.
    fn next(&self, from: u64) -> Result<u64, BackupError> {
        let claimed = self.claims.last_key_value().map(|(epoch, _)| *epoch);
        let taken = self.backups.last_key_value().map(|(epoch, _)| *epoch);
        let newest = from.max(claimed.unwrap_or(0)).max(taken.unwrap_or(0));
        next_restore(newest).ok_or_else(|| BackupError::NoEpoch {
            epoch: newest,
            reason: "there are no more epochs after it".to_string(),
        })
    }

    /// A backup that the restored cluster has already taken.
    fn backup_of(&self, epoch: u64) -> Option<u64> {
        let epochs = epoch..epoch.saturating_add(EPOCHS_OF_A_RESTORE);
        let mut backups = self.backups.range(epochs);
        backups.next().map(|(_, backup)| *backup)
    }

    /// Restores of the same moment, the newest first.
    fn others<'k>(&'k self, of: &'k Restored) -> impl Iterator<Item = (u64, &'k Claimed)> {
        let claims = self.claims.iter().rev();
        let claims = claims.filter_map(|(epoch, claim)| Some((*epoch, claim.as_ref()?)));
        claims.filter(|(_, claim)| claim.of.is_same_moment(of))
    }

    /// The restore that this node belongs to, if there is one.
    fn choose(
        &self,
        store: &Store,
        of: &Restored,
        by: &Participant<'_>,
    ) -> Result<Option<u64>, BackupError> {
        let same = || self.others(of).filter(|(_, claim)| claim.of == *of);
        for (epoch, _) in same() {
            if part(store, epoch, by.node)?.is_some_and(|part| part.attempt == by.attempt) {
                return Ok(Some(epoch));
            }
        }
        let Some((epoch, claim)) = same().next() else {
            return Ok(None);
        };
        let age = by.now.saturating_sub(claim.at);
        let is_open = i64::try_from(JOINED_FOR.as_millis()).is_ok_and(|most| age <= most)
            && self.backup_of(epoch).is_none()
            && part(store, epoch, by.node)?.is_none();
        Ok(is_open.then_some(epoch))
    }

    /// Checks an epoch that is given. Returns whether it is claimed already.
    fn check(&self, epoch: u64, of: &Restored, from: u64) -> Result<bool, BackupError> {
        let refused = |reason: String| Err(BackupError::NoEpoch { epoch, reason });
        let last = next_restore(epoch.saturating_sub(1));
        if epoch <= from || last != Some(epoch) {
            let next = self.next(from)?;
            return refused(format!(
                "restores have multiples of {EPOCHS_OF_A_RESTORE} above {from}, the epoch of the moment: {next} is free"
            ));
        }
        if let Some(backup) = self.backup_of(epoch) {
            return refused(format!(
                "its cluster has taken the backup {backup}: add this node to it, with an empty directory, instead of restoring it"
            ));
        }
        match self.claims.get(&epoch) {
            None => Ok(false),
            Some(Some(claim)) if claim.of == *of => Ok(true),
            Some(Some(claim)) => refused(format!(
                "it belongs to a restore of the backup {}{} to the nodes {} with replication factor {}, which is another one",
                claim.of.backup_id,
                claim
                    .of
                    .marker
                    .map_or_else(String::new, |at| format!(" and its marker {at}")),
                listed(&claim.of.nodes),
                claim.of.copies
            )),
            Some(None) => refused(format!("the object '{}' is damaged", claim_name(epoch))),
        }
    }
}

fn listed(nodes: &[u32]) -> String {
    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
    nodes.join(", ")
}

fn part(store: &Store, epoch: u64, node: u32) -> Result<Option<Part>, BackupError> {
    match found(store, &part_name(epoch, node)) {
        // Some attempt has written it.
        Err(BackupError::Damaged { .. }) => Ok(Some(Part {
            attempt: "unknown".to_string(),
        })),
        part => part,
    }
}

/// The nodes that take part in a restore.
fn nodes(store: &Store, epoch: u64) -> Result<Vec<u32>, BackupError> {
    let objects = store.list(&directory(epoch))?;
    let nodes = objects.iter().filter_map(|object| {
        let file = object.name.rsplit('/').next()?.strip_suffix(".json")?;
        file.strip_prefix("node-")?.parse().ok()
    });
    let mut nodes: Vec<u32> = nodes.collect();
    nodes.sort_unstable();
    Ok(nodes)
}

impl Joined {
    fn new(store: &Store, known: &Known, of: &Restored, epoch: u64) -> Result<Joined, BackupError> {
        let other = known.others(of).find(|(other, _)| *other != epoch);
        let other = other.map(|(epoch, claim)| {
            Ok::<_, BackupError>(Other {
                epoch,
                at: claim.at,
                nodes: nodes(store, epoch)?,
            })
        });
        Ok(Joined {
            epoch,
            other: other.transpose()?,
            unclaimed: None,
        })
    }
}

/// The restore that this node would join, without writing anything.
///
/// # Errors
/// [`BackupError::NoEpoch`], or the store cannot be used.
pub fn foresee(store: &Store, of: &Restored, by: &Participant<'_>) -> Result<Joined, BackupError> {
    let known = Known::read(store)?;
    let epoch = match by.wanted {
        Some(epoch) => {
            known.check(epoch, of, by.from)?;
            epoch
        }
        None => match known.choose(store, of, by)? {
            Some(epoch) => epoch,
            None => known.next(by.from)?,
        },
    };
    Joined::new(store, &known, of, epoch)
}

/// Joins the restore of this moment to these nodes, or begins one. A node that has already joined the newest one begins another.
///
/// # Errors
/// [`BackupError::NoEpoch`], or the store cannot be used. A store that cannot be written needs an epoch that is given.
pub fn join(store: &Store, of: &Restored, by: &Participant<'_>) -> Result<Joined, BackupError> {
    if let Some(epoch) = by.wanted {
        return join_given(store, of, by, epoch);
    }
    for _ in 0..ATTEMPTS {
        let known = Known::read(store)?;
        let epoch = match known.choose(store, of, by)? {
            Some(epoch) => epoch,
            None => {
                let epoch = known.next(by.from)?;
                match store.create(&claim_name(epoch), claim(of, by.now)) {
                    Ok(()) => epoch,
                    // Another node was faster, and this one may join it.
                    Err(ObjectError::Exists { .. }) => continue,
                    Err(error) => {
                        return Err(BackupError::NoEpoch {
                            epoch,
                            reason: format!(
                                "it cannot be claimed in the store ({error}). If the store is read-only, give --epoch {epoch} on all nodes of \
                                 this restore, and a greater one for each later restore of this cluster"
                            ),
                        });
                    }
                }
            }
        };
        let own = Part {
            attempt: by.attempt.to_string(),
        };
        match store.create(&part_name(epoch, by.node), text(&own)) {
            Ok(()) => return Joined::new(store, &known, of, epoch),
            Err(ObjectError::Exists { .. }) => {
                if part(store, epoch, by.node)? == Some(own) {
                    return Joined::new(store, &known, of, epoch);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(BackupError::NoEpoch {
        epoch: by.from,
        reason: format!("other nodes claimed {ATTEMPTS} epochs meanwhile; run the restore again"),
    })
}

/// When the restore with this epoch began, and whether it is a drill. `None`: the store was read-only.
pub(crate) fn claim_of(store: &Store, epoch: u64) -> Result<Option<(i64, bool)>, BackupError> {
    let claimed = found::<Claimed>(store, &claim_name(epoch))?;
    Ok(claimed.map(|claimed| (claimed.at, claimed.of.drill)))
}

fn claim(of: &Restored, at: i64) -> bytes::Bytes {
    let of = of.clone();
    text(&Claimed { of, at })
}

fn join_given(
    store: &Store,
    of: &Restored,
    by: &Participant<'_>,
    epoch: u64,
) -> Result<Joined, BackupError> {
    let mut known = Known::read(store)?;
    let mut unclaimed = None;
    if !known.check(epoch, of, by.from)? {
        match store.create(&claim_name(epoch), claim(of, by.now)) {
            Ok(()) => {}
            Err(ObjectError::Exists { .. }) => {
                known = Known::read(store)?;
                known.check(epoch, of, by.from)?;
            }
            // The operator has chosen the epoch, so a read-only store is enough.
            Err(error) => unclaimed = Some(error.to_string()),
        }
    }
    // A directory that was lost before its node started is restored again.
    let attempt = by.attempt.to_string();
    if let Err(error) = store.put(&part_name(epoch, by.node), text(&Part { attempt })) {
        unclaimed.get_or_insert(error.to_string());
    }
    // Only the store would tell the cluster later that it is one.
    if let (true, Some(error)) = (of.drill, &unclaimed) {
        return Err(BackupError::NoEpoch {
            epoch,
            reason: format!(
                "a drill must be noted in the store, or its cluster would take backups there, and that is impossible ({error}). Give the \
                 restore a store that can be written to"
            ),
        });
    }
    let joined = Joined::new(store, &known, of, epoch)?;
    Ok(Joined {
        unclaimed,
        ..joined
    })
}
