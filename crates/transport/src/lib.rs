//! Messages between the nodes of a cluster.
//!
//! Each node listens on one port. To every other node it opens one connection per [`Class`] of traffic, to which only it writes: snapshots
//! never delay votes, and a lost connection loses one class in one direction. Messages are frames of bytes whose meaning this crate does
//! not know. It delivers them in order, at most once, and drops what could not be sent: the sender repeats what matters.
//!
//! Before anything else both sides show a [`Greeting`]; a node that does not belong here is refused, with the reason in the log of both.
//! With TLS both show a certificate even before. Every queue is bounded: a node that does not read costs its own queue and nothing else.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod accept;
mod contacts;
mod frame;
mod greeting;
mod link;
mod named;
mod peers;
mod queue;
mod tls;
mod transport;

pub use greeting::{Greeting, Layout, OLDEST_VERSION, PROTOCOL_VERSION};
pub use queue::SendError;
pub use tls::{TlsError, TlsFiles};
pub use transport::{Config, Listening, OpenError, Owner, Transport};

/// The kinds of traffic, each with its own connection and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Small and urgent, and may be lost: the members of a group repeat it.
    Consensus = 1,
    /// Commands and answers.
    Requests = 2,
    /// Snapshots.
    Bulk = 3,
}

impl Class {
    pub const ALL: [Class; 3] = [Class::Consensus, Class::Requests, Class::Bulk];

    pub(crate) fn from_byte(byte: u8) -> Option<Class> {
        Class::ALL.into_iter().find(|class| *class as u8 == byte)
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::Consensus => "consensus",
            Class::Requests => "requests",
            Class::Bulk => "bulk",
        }
    }

    /// Maximum number of messages and bytes that may wait to be sent. One message always fits.
    pub(crate) fn bounds(self) -> (usize, usize) {
        match self {
            Class::Consensus => (16_384, 64 << 20),
            Class::Requests => (65_536, 64 << 20),
            Class::Bulk => (64, 16 << 20),
        }
    }
}
