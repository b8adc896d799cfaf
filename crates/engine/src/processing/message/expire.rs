//! MESSAGE EXPIRE: the time to live has ended.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::intent::MessageIntent;
use skep_protocol::value::MessageValue;

use crate::processing::Context;

/// Writes only which message expired; its content is in PUBLISHED.
pub(crate) fn process(cx: &mut Context<'_>, key: Key) {
    let Some(message) = cx.state.messages.get(key) else {
        return;
    };
    let value = MessageValue {
        name: Arc::default(),
        correlation_key: Arc::default(),
        time_to_live: -1,
        deadline: -1,
        message_id: Arc::default(),
        variables: Vec::new(),
        tenant: message.tenant.clone(),
    };
    cx.event(key, MessageIntent::Expired, &value);
}
