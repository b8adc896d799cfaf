//! Messages that nodes of version 2 of the protocol do not know: browser sessions. They read everything else as it is written today.

use skep_protocol::{Response, ValueType};

use super::NodeMessage;

pub(super) fn knows(message: &NodeMessage) -> bool {
    if let NodeMessage::Request { request, .. } = message {
        return request.command.record().value_type != ValueType::Session;
    }
    let session =
        |answer: &Response| matches!(answer, Response::Session(_) | Response::SessionClaimed);
    !matches!(message, NodeMessage::Answer { result: Ok(answer), .. } if session(answer))
}
