//! Unsafe recovery of a group: one member becomes the only voter, with the log that it has on disk.

use skep_storage::log::{EntryId, Frame, Log, Recovered};

use crate::error::GroupError;
use crate::members::Members;
use crate::state::HardState;

/// Turns the log into that of another member, `own`, which is alone in its group: all of its entries count as committed. `checkpoint` is
/// the checkpoint of the member that had the log, and `plan` the number of the plan that asks for it. Repeating it changes nothing, as long
/// as the group was not opened in between. To be used only if the other members are known to be lost for good.
///
/// # Errors
/// The log cannot be decoded or written.
pub fn force_single_voter(
    group: u32,
    (log, found): (&mut Log, &Recovered),
    checkpoint: EntryId,
    own: u64,
    plan: u64,
) -> Result<Members, GroupError> {
    let stored = match &found.state {
        Some(bytes) => {
            HardState::decode(bytes).map_err(|reason| GroupError::State { group, reason })?
        }
        None => HardState::default(),
    };
    let mut frames = Vec::new();
    // A snapshot was installed, but the log did not follow it. No leader is left that would bring it up to date.
    let behind = found.last.index < checkpoint.index;
    if behind {
        frames.push(Frame::Base {
            index: checkpoint.index,
            term: checkpoint.term,
            reset: true,
        });
    }
    // Changes of the members in the log are skipped: these members are newer.
    let members = Members {
        index: found.last.index.max(checkpoint.index),
        plan,
        confirmed: plan,
        voters: vec![own],
        learners: Vec::new(),
    };
    let state = HardState {
        term: stored.term.max(found.last.term).max(checkpoint.term),
        vote: 0,
        commit: stored.commit,
        members: Some((own, members.clone())),
    };
    frames.push(Frame::State(state.encode()));
    log.append(&frames)
        .map_err(|source| GroupError::Log { group, source })?;
    Ok(members)
}
