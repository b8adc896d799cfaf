//! Secondary storage in tests: its back ends, and stores that follow a rig.

mod backend;
mod filled;

pub use backend::{Backend, document_settings, documents, rdbms};
pub use filled::{Filled, audited, follow, partition, rig};
