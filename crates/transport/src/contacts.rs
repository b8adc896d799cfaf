//! Finding the other nodes: each contact point is asked who it is and which nodes it knows.

use std::sync::Arc;
use std::time::Duration;

use crate::Owner;
use crate::link::{self, Ended};
use crate::transport::Shared;

/// Interval between two searches: while not all nodes are found, and afterwards, as addresses may move.
const SEARCHING: Duration = Duration::from_millis(300);
const FOUND: Duration = Duration::from_secs(5);

pub(crate) async fn run<O: Owner>(shared: Arc<Shared<O>>, address: String) {
    let mut reported = None;
    loop {
        match link::greet(&shared, &address, 0).await {
            Ok((_, greeting, _)) => {
                reported = None;
                if let Some(peer) = shared.peers.get(greeting.node) {
                    peer.was_found_at(&address);
                }
                for (node, address) in &greeting.known {
                    if let Some(peer) = shared.peers.get(*node) {
                        peer.is_said_to_be_at(address);
                    }
                }
            }
            Err(Ended::Refused(reason)) => {
                // This node is among its own contact points, which is fine.
                if reason == link_to_itself() {
                    return;
                }
                if reported.as_ref() != Some(&reason) {
                    tracing::error!(code = "NODE_REFUSED", address, %reason, "no connection between nodes");
                    reported = Some(reason);
                }
            }
            Err(Ended::Io(error)) => {
                tracing::debug!(address, %error, "a contact point does not answer");
            }
        }
        let all = shared
            .peers
            .iter()
            .all(|peer| peer.endpoint.borrow().is_some() || !shared.owner.expects(peer.node));
        let found = all && shared.owner.is_settled();
        link::rest(if found { FOUND } else { SEARCHING }).await;
    }
}

/// The reason with which a node refuses itself.
pub(crate) fn link_to_itself() -> &'static str {
    "this is the node itself"
}
