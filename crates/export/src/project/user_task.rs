//! User tasks.

use std::sync::Arc;

use skep_protocol::intent::UserTaskIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{UserTaskAttributes, UserTaskValue};
use skep_query::entities::USER_TASK;
use skep_query::{Value, answer, parse_time};

use super::{Projection, intent_of, key, name, tenant, word};

pub fn changed(
    to: &mut Projection<'_>,
    record: &Record<'_>,
    value: &UserTaskValue,
) -> Result<(), DecodeError> {
    // A transition shows the attributes that it would lead to; they hold once it has come about.
    let (state, holds) = match intent_of::<UserTaskValue>(record)? {
        Intent::Creating => {
            creating(to, record, value);
            ("CREATING", true)
        }
        Intent::Assigning | Intent::Claiming => ("ASSIGNING", false),
        Intent::Updating => ("UPDATING", false),
        Intent::Completing => ("COMPLETING", false),
        Intent::Canceling => ("CANCELING", false),
        Intent::Created | Intent::Assigned | Intent::Updated => ("CREATED", true),
        Intent::AssignmentDenied | Intent::UpdateDenied | Intent::CompletionDenied => {
            ("CREATED", false)
        }
        Intent::Completed => ("COMPLETED", true),
        Intent::Canceled => ("CANCELED", false),
        _ => return Ok(()),
    };
    to.changes
        .set(&USER_TASK, record.key, [("state", word(state))]);
    if matches!(state, "COMPLETED" | "CANCELED") {
        let end = [("completionDate", Value::Int(record.timestamp))];
        to.changes.set(&USER_TASK, record.key, end);
    }
    if holds {
        attributes(to, record, &value.attributes);
    }
    Ok(())
}

fn creating(to: &mut Projection<'_>, record: &Record<'_>, value: &UserTaskValue) {
    let definition = to.definition(value.process_definition_key);
    let definition = definition.as_deref();
    let element = definition.and_then(|d| d.elements.get(value.element as usize));
    let headers = element.map_or_else(|| word("{}"), |e| Value::Text(e.headers.clone()));
    to.changes.user_tasks.push(record.key);
    to.changes.set(
        &USER_TASK,
        record.key,
        [
            ("name", name(element.and_then(|e| e.name.as_ref()))),
            ("elementId", name(element.map(|e| &e.id))),
            ("processDefinitionId", name(definition.map(|d| &d.id))),
            ("creationDate", Value::Int(record.timestamp)),
            ("tenantId", tenant()),
            (
                "externalFormReference",
                Value::some_text(&value.external_form_reference),
            ),
            (
                "processDefinitionVersion",
                definition.map_or(Value::Null, |d| Value::Int(d.version.into())),
            ),
            ("customHeaders", headers),
            ("elementInstanceKey", key(value.element_instance_key)),
            (
                "processName",
                name(definition.and_then(|d| d.name.as_ref())),
            ),
            ("processDefinitionKey", key(value.process_definition_key)),
            ("processInstanceKey", key(value.process_instance_key)),
            (
                "rootProcessInstanceKey",
                key(value.root_process_instance_key),
            ),
            ("formKey", key(value.form_key)),
        ],
    );
}

fn attributes(to: &mut Projection<'_>, record: &Record<'_>, attributes: &UserTaskAttributes) {
    let date = |text: &str| parse_time(text).map_or(Value::Null, Value::Int);
    to.changes.set(
        &USER_TASK,
        record.key,
        [
            ("assignee", Value::some_text(&attributes.assignee)),
            ("candidateGroups", list(&attributes.candidate_groups)),
            ("candidateUsers", list(&attributes.candidate_users)),
            ("followUpDate", date(&attributes.follow_up_date)),
            ("dueDate", date(&attributes.due_date)),
            ("priority", Value::Int(attributes.priority.into())),
        ],
    );
}

/// A JSON array.
fn list(texts: &[Arc<str>]) -> Value {
    let mut out = String::from("[");
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        answer::write_text(text, &mut out);
    }
    out.push(']');
    Value::text(&out)
}
