//! Messages of long polling as version 5 of the protocol knows them: without tenants. Everything else is written as it is today.

use super::{NodeMessage, PollMessage};

/// What nodes of version 5 get instead of a message that they do not know.
pub(super) fn instead_of(message: &NodeMessage) -> Option<NodeMessage> {
    let NodeMessage::Polls(message) = message else {
        return None;
    };
    Some(match message {
        PollMessage::Wanted { job_type, .. } => NodeMessage::Wanted {
            job_type: job_type.clone(),
        },
        PollMessage::Available { job_type, .. } => NodeMessage::Available {
            job_type: job_type.clone(),
        },
    })
}
