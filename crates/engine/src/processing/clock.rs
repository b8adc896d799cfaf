//! CLOCK PIN and RESET: the time that timers and time-outs see.

use skep_protocol::intent::ClockIntent;
use skep_protocol::value::ClockValue;
use skep_protocol::{RejectionType, Response};

use super::{Context, Outcome, reject};

pub(crate) fn pin(cx: &mut Context<'_>, time: i64) -> Outcome {
    if time < 0 {
        return Err(reject(
            RejectionType::InvalidArgument,
            "PIN",
            format!("Expected pin time to be not negative but it was {time}"),
        ));
    }
    let key = cx.next_key();
    cx.event(key, ClockIntent::Pinned, &ClockValue { time });
    Ok(Some(Response::Empty))
}

pub(crate) fn reset(cx: &mut Context<'_>) -> Outcome {
    let key = cx.next_key();
    let time = cx.now;
    cx.event(key, ClockIntent::Resetted, &ClockValue { time });
    Ok(Some(Response::Empty))
}
