//! Fixtures for the tests of several modules.

use crate::{Layout, State};

/// As it is bootstrapped: each partition has so many copies.
pub fn cluster(nodes: &[u32], copies: u32, partitions: u32) -> State {
    let layout = Layout {
        nodes: nodes.to_vec(),
        copies,
        partitions,
    };
    State::bootstrapped("it".to_string(), &layout, 0)
}
