//! Collecting why a resource is refused: findings per element.

use skep_protocol::findings::shortened;
pub(crate) use skep_protocol::findings::{Finding, Invalid, Rule};
use skep_xml::{Fault, Unreadable};

use crate::xml::{Node, bpmn_name};

/// Findings beyond this number are counted, not kept.
const MAX_FINDINGS: usize = 100;

/// Messages repeat ids and texts of the file, which may be long.
const MAX_MESSAGE_CHARS: usize = 2000;

/// Collects the findings of one resource.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    further: usize,
}

impl Findings {
    /// Records a finding about the flow element that owns this XML node.
    pub(crate) fn add(&mut self, node: Node<'_>, rule: Rule, message: impl Into<String>) {
        self.add_at(owner(node), rule, message);
    }

    /// Records a finding about this very node.
    pub(crate) fn add_at(&mut self, node: Node<'_>, rule: Rule, message: impl Into<String>) {
        if self.list.len() >= MAX_FINDINGS {
            self.further += 1;
            return;
        }
        let process = node.ancestors().find(|a| bpmn_name(*a) == Some("process"));
        let id = |node: Node<'_>| {
            node.attribute("id")
                .filter(|id| !id.is_empty())
                .map(abbreviate)
        };
        self.list.push(Finding {
            rule,
            process_id: process.and_then(id),
            element_id: id(node),
            element_type: Some(node.tag_name().name().to_string()),
            message: shortened(message.into(), MAX_MESSAGE_CHARS),
            line: Some(node.document().text_pos_at(node.range().start).row),
        });
    }

    /// Whether there is a finding about elements with this id.
    pub(crate) fn has(&self, rule: Rule, id: &str) -> bool {
        let id = abbreviate(id);
        let mut findings = self.list.iter();
        findings.any(|finding| finding.rule == rule && finding.element_id.as_ref() == Some(&id))
    }

    pub(crate) fn add_finding(&mut self, finding: Finding) {
        self.list.push(finding);
    }

    /// Adds a finding before all others, even if there are too many.
    pub(crate) fn add_first(&mut self, finding: Finding) {
        self.list.insert(0, finding);
    }

    /// Number of findings so far: grows exactly when something was refused.
    pub(crate) fn count(&self) -> usize {
        self.list.len() + self.further
    }

    /// The findings after the first `count`, in one line.
    pub(crate) fn since(&self, count: usize) -> String {
        let messages = self.list.iter().skip(count);
        let messages: Vec<&str> = messages.map(|finding| &*finding.message).collect();
        if messages.is_empty() {
            "it cannot be compiled".to_string()
        } else {
            messages.join("; ")
        }
    }

    /// `Ok` if there are no findings.
    pub(crate) fn into_result(self, resource_name: &str) -> Result<(), Invalid> {
        if self.list.is_empty() {
            return Ok(());
        }
        Err(Invalid {
            resource_name: resource_name.to_string(),
            findings: self.list,
            further: self.further,
        })
    }
}

/// A file that is not XML, or exceeds the size limit.
pub(crate) fn unreadable(fault: Unreadable) -> Finding {
    let rule = match fault.fault {
        Fault::NotXml => Rule::FileNotReadable,
        Fault::TooLarge => Rule::ModelTooLarge,
    };
    Finding::of_file(rule, fault.message, fault.line)
}

/// The element of the model that contains a node: the nearest child of a container.
fn owner<'x>(node: Node<'x>) -> Node<'x> {
    let container = |node: Node<'x>| {
        matches!(
            bpmn_name(node),
            Some("definitions" | "process" | "subProcess" | "adHocSubProcess" | "transaction")
        )
    };
    node.ancestors()
        .filter(|a| a.is_element() && bpmn_name(*a) != Some("extensionElements"))
        .find(|a| container(*a) || a.parent().is_some_and(container))
        .unwrap_or(node)
}

/// User text that is repeated in messages, kept short.
pub(crate) fn abbreviate(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    shortened(text.to_string(), MAX_CHARS)
}
