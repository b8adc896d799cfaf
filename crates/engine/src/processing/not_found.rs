//! The rejection of a command with an unknown key. The router uses it if no partition can have assigned the key, and the
//! engine if the caller must not see the entity: clients get the same text either way.

use std::cell::RefCell;
use std::sync::Arc;

use skep_protocol::Rejection;
use skep_protocol::command::Request;

use crate::effects::NoStreams;
use crate::engine::{Engine, EngineConfig};
use crate::state::State;
use crate::state::table::EmptyStore;

thread_local! {
    /// An empty partition. Creating one takes a hundred times as long as asking it.
    static EMPTY: RefCell<Option<Box<Engine>>> = const { RefCell::new(None) };
}

/// The rejection by an empty partition; `None` for commands that it would accept.
pub fn key_not_found(request: &Request) -> Option<Rejection> {
    let mut partition = match EMPTY.take() {
        Some(partition) => partition,
        None => empty()?,
    };
    partition.process(0, Some(1), request, &mut NoStreams);
    let (_, effects) = partition.take_batch();
    let (_, answer) = effects.responses.into_iter().next()?;
    // A rejection has changed nothing; after anything else the partition is dropped.
    let refusal = answer.err()?;
    EMPTY.set(Some(partition));
    Some(refusal)
}

fn empty() -> Option<Box<Engine>> {
    let config = EngineConfig::default();
    let state = State::open(config.partition, Arc::new(EmptyStore)).ok()?;
    Some(Box::new(Engine::new(config, state, 1)))
}
