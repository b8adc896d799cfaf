//! Why a file is refused: findings per element, and their text.

use std::fmt::{self, Display, Formatter};

use crate::xml::Node;

/// Findings beyond this number are counted, not kept.
const MAX_FINDINGS: usize = 100;

/// Messages repeat ids and texts of the file, which may be long.
const MAX_MESSAGE_CHARS: usize = 2000;

/// A file that cannot be deployed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// The file.
    pub resource_name: String,
    /// At least one, in document order within each check; at most 100.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub further: usize,
}

/// One reason to refuse a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The nearest element with an id; `None` when there is none or the file is unreadable.
    pub element_id: Option<String>,
    /// The DMN name of that element, for instance `decisionTable`.
    pub element_type: Option<String>,
    /// The broken rule and what to do.
    pub message: String,
    /// Line in the XML, from 1.
    pub line: Option<u32>,
}

impl Invalid {
    pub(crate) fn of_file(
        resource_name: &str,
        message: impl Into<String>,
        line: Option<u32>,
    ) -> Self {
        Invalid {
            resource_name: resource_name.to_owned(),
            findings: vec![Finding {
                element_id: None,
                element_type: None,
                message: message.into(),
                line,
            }],
            further: 0,
        }
    }
}

/// The block of this file in a rejection: its name, then per element the findings.
impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}':", abbreviate(&self.resource_name))?;
        let mut shown = None;
        for finding in &self.findings {
            let subject = (&finding.element_id, &finding.element_type);
            if shown != Some(subject) {
                shown = Some(subject);
                match subject {
                    (Some(id), Some(kind)) => write!(f, "\n- Element: {id} ({kind})")?,
                    (Some(id), None) => write!(f, "\n- Element: {id}")?,
                    (None, Some(kind)) => write!(f, "\n- Element: {kind} without id")?,
                    (None, None) => write!(f, "\n- File")?,
                }
            }
            write!(f, "\n    - ERROR: {}", finding.message)?;
            if let Some(line) = finding.line {
                write!(f, " (line {line})")?;
            }
        }
        match self.further {
            0 => Ok(()),
            further => write!(f, "\n- and {further} further findings"),
        }
    }
}

/// Collects the findings of one file.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    further: usize,
}

impl Findings {
    /// Records a finding about an XML element.
    pub(crate) fn add(&mut self, node: Node<'_>, message: impl Into<String>) {
        if self.list.len() >= MAX_FINDINGS {
            self.further += 1;
            return;
        }
        let owner = node
            .ancestors()
            .find(|a| a.attribute("id").is_some_and(|id| !id.is_empty()))
            .unwrap_or(node);
        self.list.push(Finding {
            element_id: owner.attribute("id").map(abbreviate),
            element_type: Some(owner.tag_name().name().to_owned()),
            message: cut(message.into(), MAX_MESSAGE_CHARS),
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
    cut(text.to_owned(), 200)
}

fn cut(mut text: String, max_chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max_chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}
