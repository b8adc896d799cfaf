//! The hard state of a group (term, vote, commit index, and its members once they were changed) as bytes in a state frame of the log.
//!
//! ```text
//! version u8 = 1 | term u64 | vote u64 (0 = none) | commit u64                                  the members are those of the settings
//! version u8 = 2 | term u64 | vote u64 | commit u64 | this member (LEB128) | members (see members.rs)
//! ```

use bytes::{Buf, Bytes};

use crate::codec::{Cursor, put_number};
use crate::members::Members;

const WITHOUT_MEMBERS: u8 = 1;
const WITH_MEMBERS: u8 = 2;
const SIZE: usize = 25;

/// State that a member must never forget.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HardState {
    pub(crate) term: u64,
    pub(crate) vote: u64,
    pub(crate) commit: u64,
    /// This member, and those of its group.
    pub(crate) members: Option<(u64, Members)>,
}

impl HardState {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(SIZE);
        out.push(match self.members {
            None => WITHOUT_MEMBERS,
            Some(_) => WITH_MEMBERS,
        });
        for number in [self.term, self.vote, self.commit] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        if let Some((own, members)) = &self.members {
            put_number(&mut out, *own);
            members.encode_into(&mut out);
        }
        out.into()
    }

    pub(crate) fn decode(bytes: &Bytes) -> Result<Self, String> {
        let version = bytes.first().copied().unwrap_or_default();
        if version != WITHOUT_MEMBERS && version != WITH_MEMBERS {
            return Err(format!(
                "format version {version} is not known; use the version of skep that wrote it"
            ));
        }
        let number = |at: usize| {
            let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
            part.map(u64::from_le_bytes)
                .ok_or_else(|| "it is too short".to_owned())
        };
        let mut state = Self {
            term: number(1)?,
            vote: number(9)?,
            commit: number(17)?,
            members: None,
        };
        if version == WITH_MEMBERS {
            let mut rest = bytes.clone();
            rest.advance(SIZE);
            let mut cursor = Cursor(rest);
            let own = cursor.number().map_err(|error| error.to_string())?;
            let members = Members::decode(cursor.0).map_err(|error| error.to_string())?;
            state.members = Some((own, members));
        }
        Ok(state)
    }
}
