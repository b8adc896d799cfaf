//! What version 7 of the protocol does not know: a node's status is without the logs that it is about and without loads, a request to
//! delete history is without what the gateway has found about it, and requests and commands between partitions about correlation keys that
//! move are not sent. Everything else is written as it is today.

use skep_engine::RemoteCommand;

use super::NodeMessage;

/// What nodes of version 7 get instead of a message that they do not know.
pub(super) fn instead_of(message: &NodeMessage) -> Option<NodeMessage> {
    if let NodeMessage::StatusOf(report) = message {
        return Some(NodeMessage::Status(report.status.clone()));
    }
    let NodeMessage::Request {
        id,
        partition,
        request,
    } = message
    else {
        return None;
    };
    Some(NodeMessage::Request {
        id: *id,
        partition: *partition,
        request: request.before_version_8()?,
    })
}

pub(super) fn knows(message: &NodeMessage) -> bool {
    if let NodeMessage::Remote { command, .. } = message {
        return !matches!(
            command.command,
            RemoteCommand::Routing(_)
                | RemoteCommand::SentOn { .. }
                | RemoteCommand::CloseMessageSubscriptionByKey { .. }
        );
    }
    !matches!(message, NodeMessage::SentOn(_))
}
