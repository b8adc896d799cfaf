//! The greetings that two nodes exchange before anything else.

use serde::{Deserialize, Serialize};

/// The version of the protocol after the greeting. Consecutive versions understand each other, so that nodes can be upgraded one by one.
/// Changing a message, or one of its fields, takes the next number and keeps the encoding of the previous one; see docs/how-to/upgrade.md
/// for what each number introduced.
pub const PROTOCOL_VERSION: u32 = 8;
/// The oldest version that is also supported.
pub const OLDEST_VERSION: u32 = 1;

/// The layout of a new cluster's partitions. All nodes compute the same placement from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    pub size: u32,
    pub replication_factor: u32,
    pub partitions: u32,
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (size, copies) = (self.size, self.replication_factor);
        write!(
            f,
            "{size} nodes, {} partitions, {copies} copies of each",
            self.partitions
        )
    }
}

/// A node as it presents itself. Later versions add fields at the end, which earlier ones do not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub version: u32,
    /// Empty until the node belongs to a cluster.
    pub cluster_id: String,
    /// Whether all nodes have the id: a node that comes without one has lost its data.
    pub formed: bool,
    pub node: u32,
    /// Different after each start.
    pub incarnation: u64,
    /// `host:port` where others reach it.
    pub address: String,
    pub layout: Layout,
    /// Nodes of the cluster that have data: if one of them has none, it has lost it.
    pub members: Vec<u32>,
    /// Nodes that it knows, with their addresses.
    pub known: Vec<(u32, String)>,
    /// The oldest version that it supports besides its own.
    pub oldest_version: u32,
}

impl Greeting {
    /// The version in which two nodes talk, if there is one.
    pub fn common_version(&self, other: &Greeting) -> Option<u32> {
        let version = self.version.min(other.version);
        let oldest = self.oldest_version.max(other.oldest_version);
        (version >= oldest).then_some(version)
    }
}

/// The first frame of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The class of the connection; 0: only to exchange greetings.
    pub(crate) class: u8,
    pub(crate) greeting: Greeting,
}

/// The first frame of the other side.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Welcome(Greeting),
    /// The connection ends here.
    Refused {
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaks(oldest_version: u32, version: u32) -> Greeting {
        Greeting {
            version,
            cluster_id: String::new(),
            formed: false,
            node: 0,
            incarnation: 1,
            address: String::new(),
            layout: Layout {
                size: 3,
                replication_factor: 3,
                partitions: 1,
            },
            members: Vec::new(),
            known: Vec::new(),
            oldest_version,
        }
    }

    #[test]
    fn nodes_talk_in_the_newest_version_that_both_speak() {
        let common = |a: Greeting, b: Greeting| {
            assert_eq!(a.common_version(&b), b.common_version(&a));
            a.common_version(&b)
        };
        assert_eq!(common(speaks(1, 1), speaks(1, 1)), Some(1));
        assert_eq!(common(speaks(1, 1), speaks(1, 2)), Some(1));
        assert_eq!(common(speaks(1, 2), speaks(2, 3)), Some(2));
        assert_eq!(common(speaks(1, 1), speaks(2, 3)), None);
    }

    #[test]
    fn additions_of_a_later_version_to_its_greeting_are_ignored() {
        let opening = Opening {
            class: 2,
            greeting: speaks(1, 2),
        };
        let mut bytes = postcard::to_stdvec(&opening).unwrap();
        bytes.extend_from_slice(b"something new");
        let read: Opening = postcard::from_bytes(&bytes).unwrap();
        assert_eq!((read.class, read.greeting), (2, speaks(1, 2)));
    }
}
