//! The rejection of a command with an unknown key. The router calls this code if no partition can have assigned the key, and the engine if
//! the caller must not see what the key names: clients read the same text, whoever found out.

use std::cell::RefCell;
use std::sync::Arc;

use skep_protocol::Rejection;
use skep_protocol::command::Request;

use crate::effects::NoStreams;
use crate::engine::{Engine, EngineConfig};
use crate::state::State;
use crate::state::table::EmptyStore;

thread_local! {
    /// A partition that has nothing at all. To make one takes a hundred times as long as to ask it.
    static EMPTY: RefCell<Option<Box<Engine>>> = const { RefCell::new(None) };
}

/// The refusal of a partition that has nothing at all; `None` for commands that it would not refuse.
pub fn key_not_found(request: &Request) -> Option<Rejection> {
    let mut partition = match EMPTY.take() {
        Some(partition) => partition,
        None => empty()?,
    };
    partition.process(0, Some(1), request, &mut NoStreams);
    let (_, effects) = partition.take_batch();
    let (_, answer) = effects.responses.into_iter().next()?;
    // What was refused has changed nothing; with anything else the partition goes.
    let refusal = answer.err()?;
    EMPTY.set(Some(partition));
    Some(refusal)
}

fn empty() -> Option<Box<Engine>> {
    let config = EngineConfig::default();
    let state = State::open(config.partition, Arc::new(EmptyStore)).ok()?;
    Some(Box::new(Engine::new(config, state, 1)))
}
