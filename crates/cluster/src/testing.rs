//! Fixtures shared by the tests of several modules.

use crate::{Layout, State};

/// A bootstrapped state: each partition has this many copies.
pub fn cluster(nodes: &[u32], copies: u32, partitions: u32) -> State {
    let layout = Layout {
        nodes: nodes.to_vec(),
        copies,
        partitions,
    };
    State::bootstrapped("it".to_string(), &layout, 0)
}
