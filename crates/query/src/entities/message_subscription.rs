//! Subscriptions where process instances wait, or waited, for messages.

use super::element_instance::ELEMENT_TYPES;
use crate::entity::{Entity, Field, Kind, Leaves, Ops};

const STATES: &[&str] = &["CORRELATED", "CREATED", "DELETED", "MIGRATED"];

/// Subscriptions that start process instances are not stored.
const TYPES: &[&str] = &["START_EVENT", "PROCESS_EVENT"];

pub static MESSAGE_SUBSCRIPTION: Entity = Entity {
    title: "Message Subscription",
    table: "message_subscription",
    fields: &[
        Field::new("messageSubscriptionKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionKey", Kind::Key, Ops::KEY),
        Field::new("processInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
        Field::new("elementId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("elementInstanceKey", Kind::Key, Ops::KEY).sortable(),
        Field::new("messageSubscriptionState", Kind::Enum(STATES), Ops::ENUM).sortable(),
        Field::new("lastUpdatedDate", Kind::Time, Ops::ORDERED).sortable(),
        Field::new("messageName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("correlationKey", Kind::Text, Ops::TEXT).sortable(),
        Field::new("tenantId", Kind::Text, Ops::TEXT)
            .sortable()
            .tenant(),
        Field::new("elementType", Kind::Enum(ELEMENT_TYPES), Ops::NONE).hidden(),
        // A non-interrupting subscription still waits after it has received a message.
        Field::new("isOpen", Kind::Bool, Ops::NONE)
            .hidden()
            .rarely_true(),
        // Added in 8.10: the business ID of the process instance, and values derived from the element.
        Field::new("businessId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("messageSubscriptionType", Kind::Enum(TYPES), Ops::ENUM).sortable(),
        Field::new("processDefinitionName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("processDefinitionVersion", Kind::Int, Ops::ORDERED).sortable(),
        Field::new("toolName", Kind::Text, Ops::TEXT).sortable(),
        Field::new("toolProperties", Kind::Json, Ops::NONE),
        Field::new("inboundConnectorType", Kind::Text, Ops::TEXT).sortable(),
    ],
    related: &[],
    items: &[],
    indices: &[
        &["processInstanceKey"],
        &["messageName", "correlationKey"],
        &["isOpen"],
        &["tenantId"],
    ],
    everywhere: false,
    leaves: Leaves::WithInstance,
};
