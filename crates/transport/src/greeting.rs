//! What two nodes tell each other before anything else.

use serde::{Deserialize, Serialize};

/// Of what follows the greeting. Two versions that differ by one understand each other once there is a second one.
pub const PROTOCOL_VERSION: u32 = 1;

/// How the partitions of a new cluster lie on its nodes. All nodes compute the same from it.
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

/// A node as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    pub version: u32,
    /// Empty before the node belongs to a cluster.
    pub cluster_id: String,
    /// All nodes have the id: whoever comes without one has lost its data.
    pub formed: bool,
    pub node: u32,
    /// Another one after each start.
    pub incarnation: u64,
    /// `host:port` where others reach it.
    pub address: String,
    pub layout: Layout,
    /// Nodes of the cluster that have data: who is one of them and has none has lost it.
    pub members: Vec<u32>,
    /// Nodes that it knows, with their addresses.
    pub known: Vec<(u32, String)>,
}

/// The first frame of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// 0: only to say hello.
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
