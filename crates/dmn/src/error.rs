//! Collecting why a file is refused: findings per element.

use skep_protocol::findings::shortened;
pub use skep_protocol::findings::{Finding, Invalid, Rule};
use skep_xml::{Fault, Unreadable};

use crate::xml::Node;

/// Findings beyond this number are counted, not kept.
const MAX_FINDINGS: usize = 100;

/// Messages repeat ids and texts of the file, which may be long.
const MAX_MESSAGE_CHARS: usize = 2000;

/// A file that is refused as a whole.
pub(crate) fn of_file(
    resource_name: &str,
    rule: Rule,
    message: impl Into<String>,
    line: Option<u32>,
) -> Invalid {
    Invalid::single(resource_name, Finding::of_file(rule, message, line))
}

/// A file that is not XML, or exceeds the size limit.
pub(crate) fn unreadable(resource_name: &str, fault: Unreadable) -> Invalid {
    let rule = match fault.fault {
        Fault::NotXml => Rule::FileNotReadable,
        Fault::TooLarge => Rule::ModelTooLarge,
    };
    of_file(resource_name, rule, fault.message, fault.line)
}

/// Collects the findings of one file.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    further: usize,
}

impl Findings {
    /// Records a finding about an XML element.
    pub(crate) fn add(&mut self, node: Node<'_>, rule: Rule, message: impl Into<String>) {
        if self.list.len() >= MAX_FINDINGS {
            self.further += 1;
            return;
        }
        let owner = node
            .ancestors()
            .find(|a| a.attribute("id").is_some_and(|id| !id.is_empty()))
            .unwrap_or(node);
        self.list.push(Finding {
            rule,
            process_id: None,
            element_id: owner.attribute("id").map(abbreviate),
            element_type: Some(owner.tag_name().name().to_owned()),
            message: shortened(message.into(), MAX_MESSAGE_CHARS),
            line: Some(node.document().text_pos_at(node.range().start).row),
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_invalid(self, resource_name: &str) -> Invalid {
        Invalid {
            resource_name: resource_name.to_owned(),
            findings: self.list,
            further: self.further,
        }
    }
}

/// User text that is repeated in messages, kept short.
pub(crate) fn abbreviate(text: &str) -> String {
    shortened(text.to_owned(), 200)
}
