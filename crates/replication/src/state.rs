//! The hard state of a group (term, vote, commit index) as bytes in a state frame of the log.
//!
//! ```text
//! version u8 = 1 | term u64 | vote u64 (0 = none) | commit u64
//! ```

use bytes::Bytes;

const VERSION: u8 = 1;
const SIZE: usize = 25;

/// What a member must not forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HardState {
    pub(crate) term: u64,
    pub(crate) vote: u64,
    pub(crate) commit: u64,
}

impl HardState {
    pub(crate) fn encode(self) -> Bytes {
        let mut out = Vec::with_capacity(SIZE);
        out.push(VERSION);
        for number in [self.term, self.vote, self.commit] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let version = bytes.first().copied().unwrap_or_default();
        if version != VERSION {
            return Err(format!(
                "format version {version} is not known; use the version of skep that wrote it"
            ));
        }
        let number = |at: usize| {
            let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
            part.map(u64::from_le_bytes)
                .ok_or_else(|| "it is too short".to_owned())
        };
        Ok(Self {
            term: number(1)?,
            vote: number(9)?,
            commit: number(17)?,
        })
    }
}
