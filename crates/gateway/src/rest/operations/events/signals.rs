//! Operations of signals.

use skep_protocol::command::Command;

use crate::rest::decode::signals;
use crate::rest::operations::rows::operations;

operations! { "Signals":
    POST "/v2/signals/broadcast" () broadcastSignal {
        does: Command(BroadcastSignal) = |call| signals::broadcast(call.text, call.front),
        rpc: [BroadcastSignal],
    }
}
