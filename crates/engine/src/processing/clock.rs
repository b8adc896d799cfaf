//! CLOCK PIN and RESET: the time that timers and timeouts see, on all partitions.

use skep_protocol::intent::ClockIntent;
use skep_protocol::value::ClockValue;
use skep_protocol::{RejectionType, Response};

use super::deployment::distribution;
use super::{Context, Outcome, reject};
use crate::remote::Distributed;

pub(crate) fn pin(cx: &mut Context<'_>, time: i64) -> Outcome {
    if time < 0 {
        return Err(reject(
            RejectionType::InvalidArgument,
            "PIN",
            format!("Expected pin time to be not negative but it was {time}"),
        ));
    }
    pinned(cx, time);
    let key = cx.next_key();
    let command = Distributed::PinClock { time };
    Ok(distribution::start(cx, key, command, Response::Empty))
}

pub(crate) fn reset(cx: &mut Context<'_>) -> Outcome {
    resetted(cx);
    let key = cx.next_key();
    let command = Distributed::ResetClock;
    Ok(distribution::start(cx, key, command, Response::Empty))
}

pub(crate) fn pinned(cx: &mut Context<'_>, time: i64) {
    let key = cx.next_key();
    cx.event(key, ClockIntent::Pinned, &ClockValue { time });
}

pub(crate) fn resetted(cx: &mut Context<'_>) {
    let key = cx.next_key();
    let time = cx.now;
    cx.event(key, ClockIntent::Resetted, &ClockValue { time });
}
