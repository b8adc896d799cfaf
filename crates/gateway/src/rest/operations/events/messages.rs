//! Operations of messages.

use skep_protocol::command::{Command, Need};
use skep_protocol::grants;
use skep_query::entities::{CORRELATED_MESSAGE_SUBSCRIPTION, MESSAGE_SUBSCRIPTION};

use crate::rest::decode::messages;
use crate::rest::operations::rows::operations;
use crate::rest::queries::{self};

operations! { "Messages":
    POST "/v2/messages/publication" () publishMessage {
        does: Command(PublishMessage) = |call| messages::publish(call.text, call.front),
        rpc: [PublishMessage],
    }
    POST "/v2/messages/correlation" () correlateMessage {
        does: Command(CorrelateMessage) = |call| messages::correlate(call.text, call.front),
    }
    POST "/v2/correlated-message-subscriptions/search" () searchCorrelatedMessageSubscriptions {
        does: Page(CORRELATED_MESSAGE_SUBSCRIPTION),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    POST "/v2/message-subscriptions/search" () searchMessageSubscriptions {
        does: Page(MESSAGE_SUBSCRIPTION),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
}
