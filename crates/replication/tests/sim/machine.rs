//! A toy state machine similar to the engine: the leader evaluates commands against its (speculative) state and proposes events; all
//! members apply events. An event is valid only for the state it was made for, so any mistake with speculative state shows.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes};

use super::hash;

/// A client's command: the counter to increment. The number makes each command unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub number: u64,
    pub counter: u64,
}

/// The leader's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub number: u64,
    pub counter: u64,
    pub value: u64,
}

impl Counted {
    pub fn encode(self) -> Bytes {
        let mut out = Vec::with_capacity(64);
        for part in [self.number, self.counter, self.value] {
            out.extend_from_slice(&part.to_be_bytes());
        }
        // Entries of different sizes.
        out.resize(24 + (self.number % 90) as usize, 7);
        out.into()
    }

    pub fn decode(mut bytes: Bytes) -> Self {
        Self {
            number: bytes.get_u64(),
            counter: bytes.get_u64(),
            value: bytes.get_u64(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    pub counters: BTreeMap<u64, u64>,
    /// Digest of the whole history.
    pub digest: u64,
}

impl Machine {
    pub fn evaluate(&self, command: Command) -> Counted {
        Counted {
            number: command.number,
            counter: command.counter,
            value: self.counters.get(&command.counter).copied().unwrap_or(0) + 1,
        }
    }

    /// Applies an event; returns an error text if it was not made for this state.
    pub fn apply(&mut self, event: Counted) -> Result<(), String> {
        let value = self.counters.entry(event.counter).or_default();
        if event.value != *value + 1 {
            return Err(format!(
                "{event:?} was applied when the counter was {value}"
            ));
        }
        *value = event.value;
        self.digest = hash(
            &[self.digest, event.number, event.counter, event.value],
            &[],
        );
        Ok(())
    }
}
