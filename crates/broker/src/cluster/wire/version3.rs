//! Messages that nodes of version 3 of the protocol do not know: what users of the web interface keep. They read everything else as
//! it is written today.

use skep_protocol::{Response, ValueType};

use super::NodeMessage;

pub(super) fn knows(message: &NodeMessage) -> bool {
    if let NodeMessage::Request { request, .. } = message {
        return request.command.record().value_type != ValueType::Kept;
    }
    let kept = |answer: &Response| matches!(answer, Response::Kept(..) | Response::KeptListed(_));
    !matches!(message, NodeMessage::Answer { result: Ok(answer), .. } if kept(answer))
}
