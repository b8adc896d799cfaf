//! MESSAGE EXPIRE: the time to live has ended.

use skep_protocol::Key;
use skep_protocol::intent::MessageIntent;

use crate::processing::Context;

pub(crate) fn process(cx: &mut Context<'_>, key: Key) {
    if let Some(value) = cx.state.messages.get(key).map(|m| m.value.clone()) {
        cx.event(key, MessageIntent::Expired, &value);
    }
}
