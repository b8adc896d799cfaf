//! The newest state of the cluster that this node knows, and the routing that follows from it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use skep_cluster::State;
use skep_protocol::Routing;

#[derive(Clone)]
struct Known {
    state: Arc<State>,
    routing: Arc<Routing>,
}

impl Default for Known {
    fn default() -> Known {
        let state = State::default();
        Known {
            routing: Arc::new(state.routing()),
            state: Arc::new(state),
        }
    }
}

/// Nothing is known of it before the cluster has begun or was found.
#[derive(Default)]
pub struct KnownState {
    known: Mutex<Known>,
    changed: Condvar,
}

impl KnownState {
    pub fn get(&self) -> Arc<State> {
        self.known.lock().state.clone()
    }

    /// The routing of keys to partitions.
    pub fn routing(&self) -> Arc<Routing> {
        self.known.lock().routing.clone()
    }

    /// State and routing of the same moment.
    pub fn both(&self) -> (Arc<State>, Arc<Routing>) {
        let Known { state, routing } = self.known.lock().clone();
        (state, routing)
    }

    /// Takes in an agreed state, and returns the previous one. `None`: it is not newer than the known one.
    pub fn take_in(&self, state: &State) -> Option<Arc<State>> {
        let mut known = self.known.lock();
        if state.revision <= known.state.revision {
            return None;
        }
        let before = std::mem::take(&mut known.state);
        if before.partitions != state.partitions || before.routing_version != state.routing_version
        {
            known.routing = Arc::new(state.routing());
        }
        known.state = Arc::new(state.clone());
        drop(known);
        self.changed.notify_all();
        Some(before)
    }

    /// Waits until the cluster has begun. False if that takes longer than `time`.
    pub fn wait(&self, time: Duration) -> bool {
        let mut known = self.known.lock();
        if !known.state.is_bootstrapped() {
            let _ = self.changed.wait_for(&mut known, time);
        }
        known.state.is_bootstrapped()
    }
}
