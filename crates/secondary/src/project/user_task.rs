//! User tasks.

use skep_model::timer_value::parse_date;
use skep_protocol::intent::UserTaskIntent as Intent;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{UserTaskAttributes, UserTaskValue};
use skep_query::Value;
use skep_query::entities::USER_TASK;

use super::{Projection, intent_of, json_list, key, usage, word};
use crate::changes::{Completion, set};

pub fn changed(to: &mut Projection<'_>, record: &Record<'_>) -> Result<(), DecodeError> {
    let intent = intent_of::<UserTaskValue>(record)?;
    if intent == Intent::Migrated {
        of_definition(to, record, &record.value()?);
        return Ok(());
    }
    // A transition carries the attributes it would lead to. They take effect when it completes.
    let (state, holds) = match intent {
        Intent::Creating => ("CREATING", true),
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
    set!(to.changes, USER_TASK, record.key, { "state": word(state) });
    if matches!(state, "COMPLETED" | "CANCELED") {
        set!(to.changes, USER_TASK, record.key, { "completionDate": Value::Int(record.timestamp) });
    }
    if holds {
        let value: UserTaskValue = record.value()?;
        if intent == Intent::Creating {
            creating(to, record, &value);
        }
        usage::assignee(to, record, intent, &value);
        attributes(to, record, &value.attributes);
    }
    Ok(())
}

fn creating(to: &mut Projection<'_>, record: &Record<'_>, value: &UserTaskValue) {
    let location = to.location(value.process_definition_key, value.element);
    let element = location.element();
    to.changes
        .completions
        .push(Completion::UserTask(record.key));
    of_definition(to, record, value);
    set!(to.changes, USER_TASK, record.key, {
        "creationDate": Value::Int(record.timestamp),
        "tenantId": location.tenant(),
        "externalFormReference": Value::some_text(&value.external_form_reference),
        "customHeaders": element.map_or_else(|| word("{}"), |e| Value::Text(e.headers.clone())),
        "elementInstanceKey": key(value.element_instance_key),
        "processInstanceKey": key(value.process_instance_key),
        "rootProcessInstanceKey": key(value.root_process_instance_key),
        "formKey": key(value.form_key),
    });
}

/// Sets the columns derived from the element. A migrated task belongs to another definition.
fn of_definition(to: &mut Projection<'_>, record: &Record<'_>, value: &UserTaskValue) {
    let location = to.location(value.process_definition_key, value.element);
    let name = location.element().and_then(|element| element.name.as_ref());
    set!(to.changes, USER_TASK, record.key, {
        "name": Value::opt_text(name),
        "elementId": location.element_id(),
        "processDefinitionId": location.process_id(),
        "processDefinitionVersion": location.version(),
        "processName": location.process_name(),
        "processDefinitionKey": key(value.process_definition_key),
    });
}

fn attributes(to: &mut Projection<'_>, record: &Record<'_>, attributes: &UserTaskAttributes) {
    // An absent date is an empty text; the engine has accepted the others by the same function.
    let date = |text: &str| parse_date(text).map_or(Value::Null, Value::Int);
    set!(to.changes, USER_TASK, record.key, {
        "assignee": Value::some_text(&attributes.assignee),
        "candidateGroups": json_list(&attributes.candidate_groups),
        "candidateUsers": json_list(&attributes.candidate_users),
        "followUpDate": date(&attributes.follow_up_date),
        "dueDate": date(&attributes.due_date),
        "priority": Value::Int(attributes.priority.into()),
    });
}
