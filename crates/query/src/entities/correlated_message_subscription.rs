//! Messages that process instances got: one for each message and subscription.

use crate::entity::{Entity, Field, Kind, Leaves, Ops};

pub static CORRELATED_MESSAGE_SUBSCRIPTION: Entity = Entity {
    title: "Correlated Message Subscription",
    table: "correlated_message_subscription",
    fields: &[
        // Message and subscription: one subscription gets many messages, and one message goes to many.
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
        Field::new("tenantId", Kind::Text, Ops::TEXT).sortable(),
        // Of 8.10: that of the process instance.
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[],
    items: &[],
    indices: &[&["processInstanceKey"], &["messageKey"]],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
