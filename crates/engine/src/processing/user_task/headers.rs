//! Headers of jobs about a user task: those of the model, and reserved headers that describe the task.

use std::sync::Arc;

use skep_model::ElementKind;
use skep_protocol::Key;
use skep_protocol::document::write_json_string;
use skep_protocol::user_task::RESERVED_PREFIX;
use skep_protocol::value::{UserTaskAttribute, UserTaskValue};

use crate::processing::bpmn::Subject;

/// Names (without the reserved prefix) and values.
pub(crate) type Headers = Vec<(&'static str, Arc<str>)>;

/// The reserved headers that describe the task to a listener.
pub(crate) fn of_listener(key: Key, value: &UserTaskValue) -> Headers {
    let attributes = &value.attributes;
    let mut headers = Headers::new();
    let mut text = |name: &'static str, text: Arc<str>| {
        if !text.is_empty() {
            headers.push((name, text));
        }
    };
    let names = |all: &[UserTaskAttribute]| list(all.iter().map(|attribute| attribute.name()));
    let texts = |all: &[Arc<str>]| list(all.iter().map(|text| &**text));
    text("action", value.action.clone());
    text("assignee", attributes.assignee.clone());
    text("dueDate", attributes.due_date.clone());
    text("followUpDate", attributes.follow_up_date.clone());
    for (name, list) in [
        ("candidateGroups", &attributes.candidate_groups),
        ("candidateUsers", &attributes.candidate_users),
    ] {
        if !list.is_empty() {
            text(name, texts(list));
        }
    }
    if !value.changed.is_empty() {
        text("changedAttributes", names(&value.changed));
    }
    if let Some(form_key) = value.form_key.some() {
        text("formKey", form_key.to_string().into());
    }
    text("priority", attributes.priority.to_string().into());
    text("userTaskKey", key.to_string().into());
    headers
}

/// A list of texts as JSON array text.
pub(crate) fn list<'a>(items: impl Iterator<Item = &'a str>) -> Arc<str> {
    let mut out = String::from("[");
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_json_string(item, &mut out);
    }
    out.push(']');
    out.into()
}

/// The headers of the model.
pub(crate) fn of_element(el: &Subject) -> &[(Arc<str>, Arc<str>)] {
    match &el.element().kind {
        ElementKind::UserTask(definition) => &definition.headers,
        _ => &[],
    }
}

/// All headers as JSON object text.
pub(crate) fn json(own: &[(Arc<str>, Arc<str>)], reserved: &Headers) -> Arc<str> {
    let mut out = String::from("{");
    let mut add = |prefix: &str, name: &str, text: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        write_json_string(&format!("{prefix}{name}"), &mut out);
        out.push(':');
        write_json_string(text, &mut out);
    };
    for (name, text) in own {
        add("", name, text);
    }
    for (name, text) in reserved {
        add(RESERVED_PREFIX, name, text);
    }
    out.push('}');
    out.into()
}
