//! Messages that nodes of version 4 of the protocol do not know: those by which a leader is confirmed. They read everything else as it is
//! written today.

use super::NodeMessage;

pub(super) fn knows(message: &NodeMessage) -> bool {
    !matches!(message, NodeMessage::Confirmation(_))
}
