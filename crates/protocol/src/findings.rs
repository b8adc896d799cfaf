//! Findings: why resources of a deployment are refused, as data and as the text that clients see.

mod rule;

use std::fmt::{self, Display, Formatter};

pub use rule::Rule;
use serde::{Deserialize, Serialize};

/// Names of resources are repeated in texts up to this length.
const MAX_NAME_CHARS: usize = 200;

/// A resource that cannot be deployed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Invalid {
    pub resource_name: String,
    /// At least one, in document order within each check.
    pub findings: Vec<Finding>,
    /// Findings beyond those that are listed.
    pub further: usize,
}

/// One reason to refuse a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Code of the rule that is broken.
    pub rule: Rule,
    /// The process that contains the element; `None` outside of processes.
    pub process_id: Option<String>,
    /// The flow element (or message, or process) concerned; `None` when it has no id or the file is unreadable.
    pub element_id: Option<String>,
    /// The BPMN name of the element concerned, for instance `serviceTask`.
    pub element_type: Option<String>,
    /// The fault and its remedy.
    pub message: String,
    /// Line in the XML, from 1.
    pub line: Option<u32>,
}

/// A piece of the text over findings, with the line break before it.
struct Piece {
    text: String,
    /// Number of findings that it shows or counts.
    findings: usize,
    /// Whether it shows one.
    shows: bool,
}

impl Piece {
    fn heading(text: String) -> Piece {
        Piece {
            text,
            findings: 0,
            shows: false,
        }
    }
}

impl Invalid {
    /// A resource that is refused as a whole.
    pub fn of_resource(resource_name: &str, rule: Rule, message: impl Into<String>) -> Invalid {
        Invalid::single(resource_name, Finding::of_file(rule, message, None))
    }

    /// A resource with one finding.
    pub fn single(resource_name: &str, finding: Finding) -> Invalid {
        Invalid {
            resource_name: resource_name.to_string(),
            findings: vec![finding],
            further: 0,
        }
    }

    /// The resource's name, then per element the findings.
    fn pieces(&self) -> Vec<Piece> {
        let name = shortened(self.resource_name.clone(), MAX_NAME_CHARS);
        let mut pieces = vec![Piece::heading(format!("\n'{name}':"))];
        let mut shown = None;
        for finding in &self.findings {
            let subject = finding.subject();
            if shown.as_ref() != Some(&subject) {
                pieces.push(Piece::heading(format!("\n- {subject}")));
                shown = Some(subject);
            }
            let line = finding.line.map(|line| format!(" (line {line})"));
            pieces.push(Piece {
                text: format!(
                    "\n    - ERROR[{}]: {}{}",
                    finding.rule,
                    finding.message,
                    line.unwrap_or_default()
                ),
                findings: 1,
                shows: true,
            });
        }
        if self.further > 0 {
            pieces.push(Piece {
                text: further(self.further),
                findings: self.further,
                shows: false,
            });
        }
        pieces
    }
}

impl Finding {
    /// A finding about the file as a whole.
    pub fn of_file(rule: Rule, message: impl Into<String>, line: Option<u32>) -> Finding {
        Finding {
            rule,
            process_id: None,
            element_id: None,
            element_type: None,
            message: message.into(),
            line,
        }
    }

    /// The element or file concerned.
    fn subject(&self) -> String {
        let element = match (&self.element_id, &self.element_type) {
            (Some(id), Some(kind)) => format!("Element: {id} ({kind})"),
            (Some(id), None) => format!("Element: {id}"),
            (None, Some(kind)) => format!("Element: {kind} without id"),
            (None, None) => "File".to_string(),
        };
        match &self.process_id {
            Some(process) if self.element_id.as_ref() != Some(process) => {
                format!("{element} in process '{process}'")
            }
            _ => element,
        }
    }
}

fn further(n: usize) -> String {
    format!("\n- and {n} further findings")
}

/// The block of this resource in a text.
impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text: String = self.pieces().into_iter().map(|piece| piece.text).collect();
        f.write_str(text.trim_start_matches('\n'))
    }
}

/// How long a text may be.
#[derive(Clone, Copy)]
pub struct Limit {
    /// The most that the text may cost.
    pub most: usize,
    /// Cost of a byte of the text.
    pub cost: fn(u8) -> usize,
    /// Room reserved for the line that counts the omitted findings.
    pub end: usize,
    /// Shortens a text to a cost, if not even one finding fits unchanged.
    pub shorten: fn(&str, usize) -> String,
}

impl Limit {
    fn of(&self, text: &str) -> usize {
        text.bytes().map(self.cost).sum()
    }
}

/// The text over all findings of some resources, after its beginning. Text that does not fit is omitted by whole lines, and
/// the last line counts the omitted findings.
pub fn text(beginning: &str, invalid: &[Invalid], limit: Limit) -> String {
    let pieces: Vec<Piece> = invalid.iter().flat_map(Invalid::pieces).collect();
    let whole = joined(beginning, &pieces);
    if limit.of(&whole) <= limit.most {
        return whole;
    }
    let room = limit.most.saturating_sub(limit.end);
    let mut cost = limit.of(beginning);
    let fits = |piece: &&Piece| {
        cost += limit.of(&piece.text);
        cost <= room
    };
    let fitting = pieces.iter().take_while(fits).count();
    // At least one finding is shown, in part if need be.
    let first = pieces
        .iter()
        .position(|piece| piece.shows)
        .map_or(0, |at| at + 1);
    let (kept, left) = pieces.split_at(fitting.max(first));
    let mut text = joined(beginning, kept);
    if fitting < first {
        text = (limit.shorten)(&text, room);
    }
    match left.iter().map(|piece| piece.findings).sum() {
        0 => {}
        n => text.push_str(&further(n)),
    }
    text
}

fn joined(beginning: &str, pieces: &[Piece]) -> String {
    let mut text = beginning.to_string();
    pieces.iter().for_each(|piece| text.push_str(&piece.text));
    text
}

/// The text, cut at `max_chars` and with an ellipsis at the end.
pub fn shortened(mut text: String, max_chars: usize) -> String {
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
            rule: Rule::ValueMissing,
            process_id: Some("order".into()),
            element_id: element.map(Into::into),
            element_type: Some("serviceTask".into()),
            message: message.into(),
            line: Some(7),
        }
    }

    fn plain(most: usize) -> Limit {
        Limit {
            most,
            cost: |_| 1,
            end: 64,
            shorten: |text, room| text.chars().take(room / 4).collect(),
        }
    }

    fn invalid(findings: Vec<Finding>, further: usize) -> Invalid {
        Invalid {
            resource_name: "a.bpmn".into(),
            findings,
            further,
        }
    }

    #[test]
    fn the_text_names_resource_element_and_findings() {
        let invalid = invalid(
            vec![
                finding(Some("pay"), "first rule"),
                finding(Some("pay"), "second rule"),
                finding(None, "third rule"),
            ],
            0,
        );
        assert_eq!(
            invalid.to_string(),
            "'a.bpmn':\n\
             - Element: pay (serviceTask) in process 'order'\n    - ERROR[VALUE_MISSING]: first rule (line 7)\n    - ERROR[VALUE_MISSING]: second rule (line 7)\n\
             - Element: serviceTask without id in process 'order'\n    - ERROR[VALUE_MISSING]: third rule (line 7)"
        );
        assert_eq!(
            text("Refused:", std::slice::from_ref(&invalid), plain(10_000)),
            format!("Refused:\n{invalid}")
        );
    }

    #[test]
    fn findings_are_left_out_by_whole_lines_and_counted() {
        let one = invalid(vec![finding(Some("pay"), &"ä".repeat(500)); 100], 7);
        let all = [one.clone(), one];
        let text = text("Refused:", &all, plain(12_288));
        assert!(text.len() <= 12_288, "{}", text.len());
        let (shown, end) = text.rsplit_once('\n').unwrap();
        let count = shown.matches("- ERROR[VALUE_MISSING]: ").count();
        assert!(count > 10 && shown.ends_with("ä (line 7)"), "{count}");
        assert_eq!(end, format!("- and {} further findings", 2 * 107 - count));
    }

    #[test]
    fn one_finding_without_end_is_shortened() {
        let one = invalid(vec![finding(None, &"ä".repeat(20_000))], 0);
        let text = text("Refused:", &[one.clone(), one], plain(4000));
        assert!(text.len() <= 4000, "{}", text.len());
        assert!(text.ends_with("ä\n- and 1 further findings"), "{text}");
    }

    #[test]
    fn a_text_that_just_fits_is_not_cut() {
        let all = [invalid(vec![finding(Some("pay"), "rule"); 30], 3)];
        let whole = text("Refused:", &all, plain(100_000));
        assert_eq!(text("Refused:", &all, plain(whole.len())), whole);
        assert!(text("Refused:", &all, plain(whole.len() - 1)).len() < whole.len());
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_larger_than_its_limit(
            lengths in proptest::collection::vec(0usize..300, 1..40),
            further in 0usize..3,
            most in 300usize..2000,
        ) {
            let findings = lengths.iter().map(|n| finding(Some("pay"), &"ü".repeat(*n)));
            let all = [invalid(findings.collect(), further)];
            let shown = text("Refused:", &all, plain(most));
            proptest::prop_assert!(shown.len() <= most, "{} of {most}", shown.len());
        }
    }
}
