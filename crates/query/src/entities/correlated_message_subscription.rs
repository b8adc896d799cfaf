//! Messages received by process instances: one row per message and subscription.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static CORRELATED_MESSAGE_SUBSCRIPTION: Entity = Entity {
    title: "Correlated Message Subscription",
    table: "correlated_message_subscription",
    fields: &[
        // Composed of message and subscription, because a subscription receives many messages, and a message goes to many
        // subscriptions.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("correlationKey", Kind::Text, Ops::TEXT).sortable(),
        Field::new("correlationTime", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("elementId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("messageKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("messageName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("partitionId", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("subscriptionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("tenantId", Kind::Text, Ops::TEXT)
            .sortable()
            .tenant(),
        // Added in 8.10: the business ID of the process instance.
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["processInstanceKey"],
        &["messageKey"],
        &["tenantId", "id"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
