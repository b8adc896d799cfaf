//! Why a resource is refused: findings per element, and their text.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::xml::{Node, bpmn_name};

/// A deployment's rejection text is cut at this many bytes.
pub const MAX_REJECTION_BYTES: usize = 12_288;

/// What each finding begins with. The gateways count by it what they leave out.
const FINDING: &str = "\n    - ERROR: ";

/// Findings beyond this number are counted, not kept.
const MAX_FINDINGS: usize = 100;

/// Messages repeat ids and texts of the file, which may be long.
const MAX_MESSAGE_CHARS: usize = 2000;

/// A resource that cannot be deployed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    pub resource_name: String,
    /// At least one, in document order within each check; at most 100.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub further: usize,
}

/// One reason to refuse a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The process that contains the element; `None` for what is outside of processes.
    pub process_id: Option<String>,
    /// The flow element (or message, or process) concerned; `None` when it has no id or the file is unreadable.
    pub element_id: Option<String>,
    /// The BPMN name of the element concerned, for instance `serviceTask`.
    pub element_type: Option<String>,
    /// The broken rule and what to do.
    pub message: String,
    /// Line in the XML, from 1.
    pub line: Option<u32>,
}

impl Finding {
    /// A finding about the file as a whole.
    pub(crate) fn of_file(message: impl Into<String>, line: Option<u32>) -> Self {
        Finding {
            process_id: None,
            element_id: None,
            element_type: None,
            message: message.into(),
            line,
        }
    }
}

impl Invalid {
    /// A resource that is refused as a whole.
    pub fn of_resource(resource_name: &str, message: impl Into<String>) -> Self {
        Invalid::single(resource_name, Finding::of_file(message, None))
    }

    pub(crate) fn single(resource_name: &str, finding: Finding) -> Self {
        Invalid {
            resource_name: resource_name.to_string(),
            findings: vec![finding],
            further: 0,
        }
    }
}

/// The block of this resource in a rejection: its name, then per element the findings.
impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}':", abbreviate(&self.resource_name))?;
        let mut shown: Option<(&Option<String>, &Option<String>, &Option<String>)> = None;
        for finding in &self.findings {
            let subject = (
                &finding.process_id,
                &finding.element_id,
                &finding.element_type,
            );
            if shown != Some(subject) {
                shown = Some(subject);
                match (&finding.element_id, &finding.element_type) {
                    (Some(id), Some(kind)) => write!(f, "\n- Element: {id} ({kind})")?,
                    (Some(id), None) => write!(f, "\n- Element: {id}")?,
                    (None, Some(kind)) => write!(f, "\n- Element: {kind} without id")?,
                    (None, None) => write!(f, "\n- File")?,
                }
                if let Some(process) = finding
                    .process_id
                    .as_ref()
                    .filter(|p| finding.element_id.as_ref() != Some(p))
                {
                    write!(f, " in process '{process}'")?;
                }
            }
            write!(f, "{FINDING}{}", finding.message)?;
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

/// The reason with which a deployment is rejected, over all its invalid resources. At most [`MAX_REJECTION_BYTES`]: what does
/// not fit is left out by whole lines, and the last one says how many findings that are.
pub fn rejection_text(invalid: &[Invalid]) -> String {
    let mut text =
        String::from("Expected to deploy new resources, but encountered the following errors:");
    for resource in invalid {
        // Writing into a String cannot fail.
        let _ = write!(text, "\n{resource}");
    }
    if text.len() <= MAX_REJECTION_BYTES {
        return text;
    }
    const ROOM_FOR_END: usize = 64;
    let mut end = MAX_REJECTION_BYTES - ROOM_FOR_END;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    // A finding that is longer than all the room is cut inside.
    let shown = kept.matches(FINDING).count();
    let (end, mark) = match kept.rfind('\n') {
        Some(line) if shown > 1 => (line, ""),
        _ => (end, "…"),
    };
    text.truncate(end);
    let shown = text.matches(FINDING).count();
    let all: usize = invalid.iter().map(|i| i.findings.len() + i.further).sum();
    text.push_str(mark);
    if all > shown {
        let _ = write!(text, "\n- and {} further findings", all - shown);
    }
    text
}

/// Collects the findings of one resource.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    further: usize,
}

impl Findings {
    /// Records a finding about the flow element that owns this XML node.
    pub(crate) fn add(&mut self, node: Node<'_>, message: impl Into<String>) {
        if self.list.len() >= MAX_FINDINGS {
            self.further += 1;
            return;
        }
        let owner = owner(node);
        let process = node.ancestors().find(|a| bpmn_name(*a) == Some("process"));
        let id = |node: Node<'_>| {
            node.attribute("id")
                .filter(|id| !id.is_empty())
                .map(abbreviate)
        };
        self.list.push(Finding {
            process_id: process.and_then(id),
            element_id: id(owner),
            element_type: Some(owner.tag_name().name().to_string()),
            message: cut(message.into(), MAX_MESSAGE_CHARS),
            line: Some(node.document().text_pos_at(node.range().start).row),
        });
    }

    pub(crate) fn add_finding(&mut self, finding: Finding) {
        self.list.push(finding);
    }

    /// Number of findings so far: grows exactly when something was refused.
    pub(crate) fn count(&self) -> usize {
        self.list.len() + self.further
    }

    /// `Ok` when nothing was found.
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

/// The element of the model that a node inside of it belongs to: the nearest child of a container.
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
    cut(text.to_string(), MAX_CHARS)
}

fn cut(mut text: String, max_chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(max_chars) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(element: Option<&str>, message: &str) -> Finding {
        Finding {
            process_id: Some("order".into()),
            element_id: element.map(Into::into),
            element_type: Some("serviceTask".into()),
            message: message.into(),
            line: Some(7),
        }
    }

    #[test]
    fn the_text_names_resource_element_and_findings() {
        let invalid = Invalid {
            resource_name: "order.bpmn".into(),
            findings: vec![
                finding(Some("pay"), "first rule"),
                finding(Some("pay"), "second rule"),
                finding(None, "third rule"),
            ],
            further: 0,
        };
        assert_eq!(
            invalid.to_string(),
            "'order.bpmn':\n\
             - Element: pay (serviceTask) in process 'order'\n    - ERROR: first rule (line 7)\n    - ERROR: second rule (line 7)\n\
             - Element: serviceTask without id in process 'order'\n    - ERROR: third rule (line 7)"
        );
    }

    #[test]
    fn a_rejection_is_cut_by_whole_lines_and_says_how_much_is_left_out() {
        let findings = vec![finding(Some("pay"), &"ä".repeat(500)); 100];
        let invalid = Invalid {
            resource_name: "a.bpmn".into(),
            findings,
            further: 7,
        };
        let text = rejection_text(&[invalid.clone(), invalid]);
        assert!(text.len() <= MAX_REJECTION_BYTES, "{}", text.len());
        let (shown, end) = text.rsplit_once('\n').unwrap();
        let count = shown.matches("- ERROR: ").count();
        assert!(count > 10 && shown.ends_with("ä (line 7)"), "{count}");
        assert_eq!(end, format!("- and {} further findings", 2 * 107 - count));
    }

    #[test]
    fn one_finding_without_end_is_cut_inside() {
        let invalid = Invalid::single("a.bpmn", Finding::of_file("ä".repeat(20_000), None));
        let text = rejection_text(&[invalid.clone(), invalid]);
        assert!(text.len() <= MAX_REJECTION_BYTES && text.len() > MAX_REJECTION_BYTES - 100);
        assert!(text.ends_with("ä…\n- and 1 further findings"), "{text}");
    }
}
