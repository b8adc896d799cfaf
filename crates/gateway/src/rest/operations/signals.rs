//! Operations of signals.

use skep_protocol::command::Command;

use super::rows::operations;
use crate::rest::decode::signals;

operations! { "Signals":
    POST "/v2/signals/broadcast" () broadcastSignal {
        does: Command(BroadcastSignal) = |call| signals::broadcast(call.text, call.front),
        rpc: [BroadcastSignal],
    }
}
