//! Messages that nodes of version 4 of the protocol do not know: those by which a leader is confirmed. They read everything else as
//! version 5 does.

use super::NodeMessage;

pub(super) fn knows(message: &NodeMessage) -> bool {
    !matches!(message, NodeMessage::Confirmation(_))
}
