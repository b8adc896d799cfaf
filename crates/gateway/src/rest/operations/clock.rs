//! Operations of clock.

use skep_protocol::command::Command;

use super::rows::operations;
use crate::rest::decode::system;

operations! { "Clock":
    PUT "/v2/clock" () pinClock {
        does: Command(PinClock) = |call| system::pin_clock(call.text, call.front),
    }
    POST "/v2/clock/reset" () resetClock {
        does: Command(ResetClock) = |call| system::reset_clock(call.text, call.front),
    }
}
