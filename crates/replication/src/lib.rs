//! Replication of one partition: a Raft group without IO, threads or clocks.
//!
//! The partition's thread owns a [`Group`] and drives it only by calls: propose, receive a message, tick, "append number n is on disk".
//! [`Group::poll`] then says what to do: frames to append, messages to send, entries to apply, a change of role. Because nothing else
//! happens inside, a whole cluster runs in one thread of a test, on a simulated clock, network and disk.
//!
//! The consensus algorithm is the crate `raft`, which is an implementation detail: types, wire and disk encodings are our
//! own, so the crate can be replaced without touching a format or a caller.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod changing;
mod check_quorum;
mod codec;
mod commit;
mod config;
mod convert;
mod entries;
mod error;
mod evidence;
mod group;
mod hibernation;
mod members;
mod message;
mod output;
mod ready;
mod receive;
mod restored;
mod snapshot;
mod snapshot_receiver;
mod state;
pub mod transport;
mod unsafe_recovery;

pub use config::{EntrySource, GroupConfig, RecoveredLog};
pub use error::{ChangeError, GroupError, MessageError, ProposeError, Remedy};
pub use evidence::LogEvidence;
pub use group::Group;
pub use members::{Change, Members};
pub use message::{Kind as MessageKind, Message};
pub use output::{Append, Committed, Event, Output, Part, Role};
pub use restored::History;
pub use skep_storage::log::EntryId;
pub use snapshot::{SnapshotPoll, SnapshotSource};
pub use unsafe_recovery::force_single_voter;
