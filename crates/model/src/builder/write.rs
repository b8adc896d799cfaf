//! The XML text of a built process.

use std::fmt::Write;

use super::{Bpmn, Item, MultiInstance};
use crate::graph::ElementType;
use crate::xml::{BPMN, ZEEBE};

pub(super) fn file(processes: &[Bpmn]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    line(
        &mut out,
        &format!(
            "<bpmn:definitions xmlns:bpmn=\"{BPMN}\" xmlns:zeebe=\"{ZEEBE}\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" id=\"definitions\" targetNamespace=\"http://bpmn.io/schema/bpmn\">"
        ),
    );
    for process in processes {
        process
            .definitions
            .iter()
            .for_each(|xml| line(&mut out, xml));
    }
    for process in processes {
        line(
            &mut out,
            &format!(
                "<bpmn:process id=\"{}\"{}>",
                skep_xml::escape(&process.id),
                attributes(&process.attributes)
            ),
        );
        extension_elements(&mut out, &process.extensions);
        scope(&mut out, process, None);
        line(&mut out, "</bpmn:process>");
    }
    line(&mut out, "</bpmn:definitions>");
    out
}

/// The elements of a scope in the order in which they were added, then its flows likewise.
fn scope(out: &mut String, process: &Bpmn, this: Option<usize>) {
    for (position, item) in process
        .items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.scope == this)
    {
        if let Some(raw) = &item.raw {
            line(out, raw);
            continue;
        }
        line(
            out,
            &format!(
                "<bpmn:{} id=\"{}\"{}>",
                item.tag,
                skep_xml::escape(&item.id),
                attributes(&item.attributes)
            ),
        );
        extension_elements(out, &extensions(item));
        item.content.iter().for_each(|xml| line(out, xml));
        multi_instance(out, &item.multi_instance);
        scope(out, process, Some(position));
        line(out, &format!("</bpmn:{}>", item.tag));
    }
    for flow in process.flows.iter().filter(|flow| flow.scope == this) {
        let open = tag(
            "bpmn:sequenceFlow",
            &[
                ("id", &flow.id),
                ("sourceRef", &flow.source),
                ("targetRef", &flow.target),
            ],
        );
        match &flow.condition {
            None => line(out, &open),
            Some(condition) => {
                let open = open.trim_end_matches("/>");
                let condition = skep_xml::escape(condition);
                line(
                    out,
                    &format!(
                        "{open}><bpmn:conditionExpression xsi:type=\"bpmn:tFormalExpression\">{condition}</bpmn:conditionExpression></bpmn:sequenceFlow>"
                    ),
                );
            }
        }
    }
}

fn extensions(item: &Item) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((job_type, retries)) = &item.task_definition {
        let mut attributes = vec![("type", job_type.as_str())];
        attributes.extend(retries.as_deref().map(|retries| ("retries", retries)));
        all.push(tag("zeebe:taskDefinition", &attributes));
    }
    if !item.called_element.is_empty() {
        let attributes: Vec<(&str, &str)> = item
            .called_element
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        all.push(tag("zeebe:calledElement", &attributes));
    }
    if !item.headers.is_empty() {
        let headers: String = item
            .headers
            .iter()
            .map(|(key, value)| tag("zeebe:header", &[("key", key), ("value", value)]))
            .collect();
        all.push(format!("<zeebe:taskHeaders>{headers}</zeebe:taskHeaders>"));
    }
    if !item.mappings.is_empty() {
        all.push(format!(
            "<zeebe:ioMapping>{}</zeebe:ioMapping>",
            item.mappings.concat()
        ));
    }
    for (name, listeners) in [
        ("executionListeners", &item.listeners),
        ("taskListeners", &item.task_listeners),
    ] {
        if !listeners.is_empty() {
            let listeners = listeners.concat();
            all.push(format!("<zeebe:{name}>{listeners}</zeebe:{name}>"));
        }
    }
    all.extend(item.extensions.iter().cloned());
    all
}

fn multi_instance(out: &mut String, marker: &MultiInstance) {
    if marker.attributes.is_empty() {
        return;
    }
    let attributes: Vec<(&str, &str)> = marker
        .attributes
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let sequential = marker.sequential;
    line(
        out,
        &format!("<bpmn:multiInstanceLoopCharacteristics isSequential=\"{sequential}\">"),
    );
    extension_elements(out, &[tag("zeebe:loopCharacteristics", &attributes)]);
    line(out, &marker.condition);
    line(out, "</bpmn:multiInstanceLoopCharacteristics>");
}

fn extension_elements(out: &mut String, extensions: &[String]) {
    if !extensions.is_empty() {
        line(
            out,
            &format!(
                "<bpmn:extensionElements>{}</bpmn:extensionElements>",
                extensions.concat()
            ),
        );
    }
}

/// An empty element.
pub(super) fn tag(name: &str, attributes: &[(&str, &str)]) -> String {
    let mut out = format!("<{name}");
    for (name, value) in attributes {
        // Writing into a String cannot fail.
        let _ = write!(out, " {name}=\"{}\"", skep_xml::escape(value));
    }
    out.push_str("/>");
    out
}

fn attributes(attributes: &[(String, String)]) -> String {
    attributes
        .iter()
        .map(|(name, value)| format!(" {name}=\"{}\"", skep_xml::escape(value)))
        .collect()
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The type of element of a tag, as far as the tag determines it.
pub(super) fn element_type(tag: &str) -> ElementType {
    let upper = |c: char| {
        if c.is_ascii_uppercase() {
            format!("_{c}")
        } else {
            c.to_ascii_uppercase().to_string()
        }
    };
    let name: String = tag.chars().map(upper).collect();
    let mut types = ElementType::ALL.iter().copied();
    let found = types.find(|element_type| element_type.as_str() == name);
    found.unwrap_or(ElementType::Task)
}
