//! The members of a group, and changes of them: one member at a time.
//!
//! A change is an entry of the log and takes effect when it is applied. The library refuses the next one until then, so that any two
//! majorities of successive memberships share a member; that is why no joint membership is needed.
//!
//! The group's leader carries out plans made elsewhere, and may only know an old plan. So plans have growing numbers, and once a change for
//! one plan has taken effect, no change for an older plan is made any more.
//!
//! ```text
//! change:  version u8 = 1 | kind u8 (1 learner, 2 voter, 3 none, 4 confirmed) | member | plan
//! members: index | plan | confirmed | number of voters | voter* | number of learners | learner*       (numbers are LEB128)
//! ```

use bytes::Bytes;
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState};

use crate::codec::{Cursor, put_number};
use crate::error::MessageError;

const VERSION: u8 = 1;
/// The largest number of members of a group; more would be a mistake.
const MAX_MEMBERS: u64 = 64;

/// The members of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// The entry that set these members; 0 for the members with which the group began.
    pub index: u64,
    /// The newest plan for which there was a change. No change is made for an older one.
    pub plan: u64,
    /// The newest plan whose members are [confirmed](Change::Confirm).
    pub confirmed: u64,
    /// Voters elect the leader and decide what is committed. Ascending.
    pub voters: Vec<u64>,
    /// Learners get all entries and decide nothing. Ascending.
    pub learners: Vec<u64>,
}

/// A change of the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A new member starts to receive entries.
    AddLearner(u64),
    /// A learner gets its vote.
    Promote(u64),
    /// The member leaves the group. The group does not notify it.
    Remove(u64),
    /// No member is added or removed: the leader confirms, under its own name, that the members are as planned. This makes even a group of
    /// one store the previous change. Only then may a removed member disappear, because until then a leader that crashes may forget the
    /// change and need it.
    Confirm(u64),
}

/// An entry that changes the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) change: Change,
    /// The plan for which it is made.
    pub(crate) plan: u64,
}

impl Members {
    /// The members with which a group begins.
    pub fn bootstrap(voters: Vec<u64>) -> Self {
        Self {
            index: 0,
            plan: 0,
            confirmed: 0,
            voters,
            learners: Vec::new(),
        }
    }

    /// Whether this is a member in any role.
    pub fn contains(&self, member: u64) -> bool {
        self.voters.contains(&member) || self.learners.contains(&member)
    }

    pub(crate) fn conf_state(&self) -> ConfState {
        let mut state = ConfState::default();
        state.set_voters(self.voters.clone());
        state.set_learners(self.learners.clone());
        state
    }

    /// The members after the entry of this index.
    pub(crate) fn after(&self, index: u64, planned: Planned, mut state: ConfState) -> Self {
        let plan = self.plan.max(planned.plan);
        let confirmed = match planned.change {
            Change::Confirm(_) => plan,
            _ => self.confirmed,
        };
        let (mut voters, mut learners) = (state.take_voters(), state.take_learners());
        voters.sort_unstable();
        learners.sort_unstable();
        Self {
            index,
            plan,
            confirmed,
            voters,
            learners,
        }
    }

    /// Encodes the members, for the stored state and for members that are to join.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        put_number(out, self.index);
        put_number(out, self.plan);
        put_number(out, self.confirmed);
        for members in [&self.voters, &self.learners] {
            put_number(out, members.len() as u64);
            for member in members {
                put_number(out, *member);
            }
        }
    }

    /// Decodes the output of [`Members::encode_into`].
    ///
    /// # Errors
    /// The bytes are not members.
    pub fn decode(bytes: Bytes) -> Result<Self, MessageError> {
        let mut cursor = Cursor(bytes);
        let (index, plan) = (cursor.number()?, cursor.number()?);
        let confirmed = cursor.number()?;
        let mut list = || {
            let count = cursor.number()?;
            if count > MAX_MEMBERS {
                return Err(MessageError::Range);
            }
            let members: Result<Vec<u64>, _> = (0..count).map(|_| cursor.number()).collect();
            members.and_then(|members| {
                let ascending = members.is_sorted_by(|a, b| a < b);
                let known = ascending && !members.contains(&0);
                known.then_some(members).ok_or(MessageError::Range)
            })
        };
        Ok(Self {
            index,
            plan,
            confirmed,
            voters: list()?,
            learners: list()?,
        })
    }
}

impl Change {
    /// The member concerned.
    pub fn member(self) -> u64 {
        match self {
            Change::AddLearner(member)
            | Change::Promote(member)
            | Change::Remove(member)
            | Change::Confirm(member) => member,
        }
    }

    fn kind(self) -> u8 {
        match self {
            Change::AddLearner(_) => 1,
            Change::Promote(_) => 2,
            Change::Remove(_) => 3,
            Change::Confirm(_) => 4,
        }
    }
}

impl Planned {
    /// Encodes the payload of its entry, in the log and between members.
    pub(crate) fn encode(self) -> Bytes {
        let mut out = vec![VERSION, self.change.kind()];
        put_number(&mut out, self.change.member());
        put_number(&mut out, self.plan);
        out.into()
    }

    pub(crate) fn decode(payload: Bytes) -> Option<Self> {
        let mut cursor = Cursor(payload);
        let (version, kind) = (cursor.byte().ok()?, cursor.byte().ok()?);
        let member = cursor.number().ok().filter(|member| *member != 0)?;
        let plan = cursor.number().ok()?;
        let change = match (version, kind) {
            (VERSION, 1) => Change::AddLearner(member),
            (VERSION, 2) => Change::Promote(member),
            (VERSION, 3) => Change::Remove(member),
            (VERSION, 4) => Change::Confirm(member),
            _ => return None,
        };
        Some(Self { change, plan })
    }

    pub(crate) fn to_library(self) -> ConfChangeV2 {
        let mut single = ConfChangeSingle::default();
        single.set_change_type(match self.change {
            Change::AddLearner(_) => ConfChangeType::AddLearnerNode,
            // A leader has a vote: giving it one changes nothing.
            Change::Promote(_) | Change::Confirm(_) => ConfChangeType::AddNode,
            Change::Remove(_) => ConfChangeType::RemoveNode,
        });
        single.node_id = self.change.member();
        let mut change = ConfChangeV2::default();
        change.set_changes(vec![single].into());
        change.context = self.encode();
        change
    }

    /// Encodes the change the way the library stores it in its entries.
    pub(crate) fn library_bytes(self) -> Bytes {
        self.to_library()
            .write_to_bytes()
            .unwrap_or_default()
            .into()
    }

    pub(crate) fn of_library(data: &[u8]) -> Option<Self> {
        let mut change = ConfChangeV2::default();
        change.merge_from_bytes(data).ok()?;
        Self::decode(change.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_changes_decode_to_the_same() {
        let members = Members {
            index: 700,
            plan: 300,
            confirmed: 299,
            voters: vec![1, 2, (5 << 32) + 3],
            learners: vec![9],
        };
        let mut bytes = Vec::new();
        members.encode_into(&mut bytes);
        assert_eq!(Members::decode(bytes.clone().into()), Ok(members.clone()));
        for end in 0..bytes.len() {
            assert!(Members::decode(Bytes::copy_from_slice(&bytes[..end])).is_err());
        }
        let confirms = Planned {
            change: Change::Confirm(1),
            plan: 301,
        };
        let confirmed = members.after(701, confirms, members.conf_state());
        assert_eq!((confirmed.plan, confirmed.confirmed), (301, 301));
        assert_eq!(confirmed.voters, members.voters);
        for change in [
            Change::AddLearner(3),
            Change::Promote(5 << 32),
            Change::Remove(1),
            Change::Confirm(2),
        ] {
            let planned = Planned { change, plan: 300 };
            assert_eq!(Planned::decode(planned.encode()), Some(planned));
            assert_eq!(Planned::of_library(&planned.library_bytes()), Some(planned));
        }
        for bad in [
            &b""[..],
            b"\x01",
            b"\x01\x01\x01",
            b"\x01\x05\x01\0",
            b"\x02\x01\x01\0",
            b"\x01\x01\0\0",
        ] {
            assert_eq!(Planned::decode(Bytes::from_static(bad)), None);
        }
        // Not ascending, duplicates, number 0.
        for bad in [
            &b"\0\0\0\x02\x02\x01\0"[..],
            b"\0\0\0\x02\x01\x01\0",
            b"\0\0\0\x01\0\0",
        ] {
            assert!(Members::decode(Bytes::from_static(bad)).is_err());
        }
    }
}
