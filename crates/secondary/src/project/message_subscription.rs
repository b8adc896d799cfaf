//! Message subscriptions of process instances, and the messages they received.

use std::sync::Arc;

use skep_protocol::Key;
use skep_protocol::intent::{
    MessageStartEventSubscriptionIntent, ProcessMessageSubscriptionIntent,
};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{MessageStartEventSubscriptionValue, ProcessMessageSubscriptionValue};
use skep_query::Value;
use skep_query::entities::{self, CORRELATED_MESSAGE_SUBSCRIPTION, MESSAGE_SUBSCRIPTION};

use super::{Projection, intent_of, key, word};
use crate::changes::{Completion, set};

/// The process side of a subscription, which lives with its instance and in the same partition.
pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    use ProcessMessageSubscriptionIntent as Intent;
    let intent = intent_of::<ProcessMessageSubscriptionValue>(record)?;
    let state = match intent {
        // A subscriber waits whether or not the message side exists yet.
        Intent::Creating => "CREATED",
        Intent::Correlated => "CORRELATED",
        Intent::Deleting => "DELETED",
        Intent::Migrated => "MIGRATED",
        _ => return Ok(()),
    };
    let value: ProcessMessageSubscriptionValue = record.value()?;
    let is_open = match intent {
        Intent::Correlated => !value.interrupting,
        _ => intent != Intent::Deleting,
    };
    if matches!(intent, Intent::Creating | Intent::Migrated) {
        created(to, record, &value);
    }
    if intent == Intent::Correlated {
        let location = to.location(value.process_definition_key, value.element);
        correlated(
            to,
            record,
            Correlated {
                message_key: value.message_key,
                message_name: value.message_name,
                correlation_key: value.correlation_key,
                element_id: location.element_id(),
                element_instance_key: value.element_instance_key,
                process_id: value.bpmn_process_id,
                process_definition_key: value.process_definition_key,
                process_instance_key: value.process_instance_key,
                tenant: location.tenant(),
            },
        );
    }
    set!(to.changes, MESSAGE_SUBSCRIPTION, record.key, {
        "messageSubscriptionState": word(state),
        "isOpen": Value::from(is_open),
        "lastUpdatedDate": Value::Int(record.timestamp),
    });
    Ok(())
}

fn created(to: &mut Projection<'_>, record: &Record<'_>, value: &ProcessMessageSubscriptionValue) {
    let location = to.location(value.process_definition_key, value.element);
    to.changes
        .completions
        .push(Completion::MessageSubscription(record.key));
    set!(to.changes, MESSAGE_SUBSCRIPTION, record.key, {
        "processDefinitionId": Value::Text(value.bpmn_process_id.clone()),
        "processDefinitionKey": key(value.process_definition_key),
        "processInstanceKey": key(value.process_instance_key),
        "elementId": location.element_id(),
        "elementType": location.element_type(),
        "elementInstanceKey": key(value.element_instance_key),
        "messageName": Value::Text(value.message_name.clone()),
        "correlationKey": Value::Text(value.correlation_key.clone()),
        "tenantId": location.tenant(),
        "messageSubscriptionType": word("PROCESS_EVENT"),
        "processDefinitionName": location.process_name(),
        "processDefinitionVersion": location.version(),
        "toolName": location.property("io.camunda.tool:name"),
        "toolProperties": location.properties("io.camunda.tool:"),
        "inboundConnectorType": location.property("inbound.type"),
    });
}

/// Adds a row for a message that started a process instance.
pub fn started(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    use MessageStartEventSubscriptionIntent as Intent;
    if intent_of::<MessageStartEventSubscriptionValue>(record)? != Intent::Correlated {
        return Ok(());
    }
    let value: MessageStartEventSubscriptionValue = record.value()?;
    let location = to.location(value.process_definition_key, value.start_event);
    correlated(
        to,
        record,
        Correlated {
            message_key: value.message_key,
            message_name: value.message_name,
            correlation_key: value.correlation_key,
            element_id: location.element_id(),
            element_instance_key: Key::NONE,
            process_id: value.bpmn_process_id,
            process_definition_key: value.process_definition_key,
            process_instance_key: value.process_instance_key,
            tenant: Value::text(value.tenant.as_str()),
        },
    );
    Ok(())
}

struct Correlated {
    message_key: Key,
    message_name: Arc<str>,
    correlation_key: Arc<str>,
    element_id: Value,
    element_instance_key: Key,
    process_id: Arc<str>,
    process_definition_key: Key,
    process_instance_key: Key,
    tenant: Value,
}

fn correlated(to: &mut Projection<'_>, record: &Record<'_>, it: Correlated) {
    let id: Arc<str> = format!("{}-{}", it.message_key, record.key).into();
    let (row, _) = to.changes.text_row(
        const { entities::number(&CORRELATED_MESSAGE_SUBSCRIPTION) },
        &id,
    );
    to.changes
        .completions
        .push(Completion::CorrelatedMessageSubscription(row));
    set!(to.changes, CORRELATED_MESSAGE_SUBSCRIPTION, row, {
        "id": Value::Text(id),
        "correlationKey": Value::some_text(&it.correlation_key),
        "correlationTime": Value::Int(record.timestamp),
        "elementId": it.element_id,
        "elementInstanceKey": key(it.element_instance_key),
        "messageKey": key(it.message_key),
        "messageName": Value::Text(it.message_name),
        "partitionId": record.key.partition().map_or(Value::Null, |id| Value::Int(id.into())),
        "processDefinitionId": Value::Text(it.process_id),
        "processDefinitionKey": key(it.process_definition_key),
        "processInstanceKey": key(it.process_instance_key),
        "subscriptionKey": key(record.key),
        "tenantId": it.tenant,
    });
}
