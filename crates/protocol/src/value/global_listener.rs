//! The value of GLOBAL_LISTENER records.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ListenerEvent, RecordValue};
use crate::intent::{GlobalListenerIntent, ValueType};

/// A task listener that listens to the user tasks of all processes. The record's key is its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalListenerValue {
    /// Chosen by the client; each once.
    pub id: Arc<str>,
    pub job_type: Arc<str>,
    pub retries: i32,
    pub events: Vec<GlobalListenerEvent>,
    /// It runs after the listeners of the model, not before them.
    pub after_non_global: bool,
    /// Higher priorities run first.
    pub priority: i32,
}

impl RecordValue for GlobalListenerValue {
    const VALUE_TYPE: ValueType = ValueType::GlobalListener;
    type Intent = GlobalListenerIntent;
}

impl GlobalListenerValue {
    /// Retries of a listener that defines none.
    pub const DEFAULT_RETRIES: i32 = 3;
    pub const DEFAULT_PRIORITY: i32 = 50;

    pub fn listens_to(&self, event: ListenerEvent) -> bool {
        let of_all = |given: &GlobalListenerEvent| match given {
            GlobalListenerEvent::All => true,
            GlobalListenerEvent::One(one) => *one == event,
        };
        self.events.iter().any(of_all)
    }

    /// About how many bytes its texts and list take.
    pub fn weight(&self) -> usize {
        self.id.len() + self.job_type.len() + self.events.len() * size_of::<GlobalListenerEvent>()
    }
}

/// The event that a global listener listens to; ids are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GlobalListenerEvent {
    All,
    One(ListenerEvent),
}

impl GlobalListenerEvent {
    /// The names of the API, in lower case.
    pub const ALL: [(&'static str, GlobalListenerEvent); 6] = [
        ("all", GlobalListenerEvent::All),
        (
            "creating",
            GlobalListenerEvent::One(ListenerEvent::Creating),
        ),
        (
            "assigning",
            GlobalListenerEvent::One(ListenerEvent::Assigning),
        ),
        (
            "updating",
            GlobalListenerEvent::One(ListenerEvent::Updating),
        ),
        (
            "completing",
            GlobalListenerEvent::One(ListenerEvent::Completing),
        ),
        (
            "canceling",
            GlobalListenerEvent::One(ListenerEvent::Canceling),
        ),
    ];

    /// The name that clients and records have.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, event)| *event == self);
        named.map_or("", |(name, _)| name)
    }
}
