//! Features that must wait until every node has a version of Skep that knows them.
//!
//! A record that an older node does not know would stop its replicas: they read it from the leader's log like all others. So a command that
//! leads to such records is refused, by name, while a node of the cluster is older. A node that is away counts with the version it last
//! had. Sender and leader both check this, since either may have just started and not have met all nodes. Once such records are in the log,
//! there is no way back to the older version.

use skep_cluster::{Operation, Refusal};
use skep_engine::RemoteCommand;
use skep_protocol::Failure;
use skep_protocol::command::Request;
use skep_transport::PROTOCOL_VERSION;

use super::Cluster;

/// Scaling partitions up and down, backups.
const SECOND: u32 = 2;
/// The oldest version that a node may speak beside this one.
const BEFORE_THIS: u32 = PROTOCOL_VERSION - 1;

fn since_operation(operation: &Operation) -> u32 {
    match operation {
        Operation::StartPartitionScaleUp { .. }
        | Operation::AwaitRedistribution { .. }
        | Operation::UpdateRoutingState { .. } => SECOND,
        Operation::AwaitRelocation { .. } => RemoteCommand::CLOSE_BY_KEY_SINCE,
        Operation::BrokerAdd { .. }
        | Operation::BrokerRemove { .. }
        | Operation::BrokerForceRemove { .. }
        | Operation::PartitionJoin { .. }
        | Operation::PartitionLeave { .. }
        | Operation::DeleteHistory { .. }
        | Operation::UpdateIncarnationNumber
        | Operation::PartitionBootstrap { .. }
        | Operation::PartitionReconfigurePriority { .. }
        | Operation::PartitionForceReconfigure { .. } => 1,
    }
}

/// As far as known, a node of the cluster does not have the version.
#[derive(Debug, thiserror::Error)]
enum NotEverywhere {
    #[error(
        "This needs version {version} of the protocol between nodes, and node {node} speaks version {spoken}: its version of Skep does not \
         know it. Nothing was done; upgrade all nodes, then send the request again."
    )]
    Older {
        version: u32,
        node: u32,
        spoken: u32,
    },
    #[error(
        "This needs version {version} of the protocol between nodes, and this node has just started and has not met node {node} yet. Nothing \
         was done; send the request again after a moment."
    )]
    NotMet { version: u32, node: u32 },
}

impl Cluster {
    /// Refuses a command that an older node of the cluster does not know.
    ///
    /// # Errors
    /// Names the node, which has to be upgraded first.
    pub(crate) fn knows_everywhere(&self, request: &Request) -> Result<(), Failure> {
        self.have_all(request.since())
            .map_err(|why| Failure::Unavailable(why.to_string()))
    }

    /// The same for a change of the cluster.
    ///
    /// # Errors
    /// Names the node, which has to be upgraded first.
    pub(super) fn know_operations(&self, operations: &[Operation]) -> Result<(), Refusal> {
        let since = operations.iter().map(since_operation).max();
        self.have_all(since.unwrap_or_default())
            .map_err(|why| Refusal::Busy(why.to_string()))
    }

    /// The same for a backup, in which all nodes take part.
    ///
    /// # Errors
    /// Names the node, which has to be upgraded first.
    pub(super) fn know_backups(&self) -> Result<(), Refusal> {
        self.have_all(SECOND)
            .map_err(|why| Refusal::Busy(why.to_string()))
    }

    /// Tells the engines which version the oldest node speaks. After the start, a node that this one has not met may be older.
    pub(super) fn note_oldest(&self) {
        let others = self.nodes().into_iter().filter(|node| *node != self.node());
        let may_be_older = !self.is_gateway() && !self.is_at_home();
        let unknown = may_be_older.then_some(BEFORE_THIS);
        let versions = others.filter_map(|node| {
            let spoken = self.transport.as_ref().and_then(|it| it.last_version(node));
            spoken.or(unknown)
        });
        self.local.oldest_node.speaks(versions.min());
    }

    fn have_all(&self, version: u32) -> Result<(), NotEverywhere> {
        if version <= 1 {
            return Ok(());
        }
        let others = self.nodes().into_iter().filter(|node| *node != self.node());
        for node in others {
            let spoken = self.transport.as_ref().and_then(|it| it.last_version(node));
            match spoken {
                Some(spoken) if spoken < version => {
                    return Err(NotEverywhere::Older {
                        version,
                        node,
                        spoken,
                    });
                }
                // A node that has been away all the time may be away for good.
                None if !self.is_gateway() && !self.is_at_home() => {
                    return Err(NotEverywhere::NotMet { version, node });
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}
