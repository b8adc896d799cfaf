//! The rejection of a command with an unknown key. The router calls this code if no partition can have assigned the key:
//! clients read the same text, whoever found out.

use std::sync::Arc;

use skep_protocol::Rejection;
use skep_protocol::command::Request;

use crate::effects::NoStreams;
use crate::engine::{Engine, EngineConfig};
use crate::state::State;
use crate::state::table::EmptyStore;

/// The refusal of a partition that has nothing at all; `None` for commands that it would not refuse.
pub fn key_not_found(request: &Request) -> Option<Rejection> {
    let config = EngineConfig::default();
    let state = State::open(config.partition, Arc::new(EmptyStore)).ok()?;
    let mut partition = Engine::new(config, state, 1);
    partition.process(0, Some(1), request, &mut NoStreams);
    let (_, effects) = partition.take_batch();
    let (_, answer) = effects.responses.into_iter().next()?;
    answer.err()
}
