//! One partition of one node.

pub mod busiest;
pub mod checkpoint;
pub mod core;
pub mod pending_rows;
pub mod requests;
pub mod status;
pub mod thread;

pub use status::PartitionStatus;
pub use thread::{
    ClientRequest, Inbox, Message, Notice, OpenError, PartitionHandle, Report, STACK_BYTES, Work,
};
