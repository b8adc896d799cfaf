//! A node's status as version 7 of the protocol knows it: without the logs that it is about. Everything else is written as it is today.

use super::NodeMessage;

/// What nodes of version 7 get instead of a message that they do not know.
pub(super) fn instead_of(message: &NodeMessage) -> Option<NodeMessage> {
    let NodeMessage::StatusOf { status, .. } = message else {
        return None;
    };
    Some(NodeMessage::Status(status.clone()))
}
