//! Limits the texts of failures to a size that every client accepts.
//!
//! They repeat what the client sent, which may be megabytes. Over gRPC they travel in a header, and clients refuse a header
//! beyond 8 KiB, so the failure itself would be lost.

use std::borrow::Cow;

use skep_protocol::findings::Limit;
use skep_protocol::{Failure, Rejection};

/// Bytes of a text with findings of a deployment, as encoded in a gRPC trailer; other headers need room beside it.
const FINDINGS_IN_HEADER: usize = 6 << 10;

/// Bytes of any other text: longer ones only repeat input.
const OTHER: usize = 4 << 10;

/// Bytes that a byte takes in a problem body.
pub fn plain(_: u8) -> usize {
    1
}

/// Bytes that a byte takes in a percent-encoded header, or more.
pub fn encoded(byte: u8) -> usize {
    let kept = byte.is_ascii_graphic() && !b"\"#<>`?{}%".contains(&byte);
    if kept { 1 } else { 3 }
}

/// The text of a failure for a problem body. One with findings about resources of a deployment has its own bound.
pub fn in_body(failure: &Failure) -> String {
    let text = failure.to_string();
    match findings(failure) {
        Some(_) => text,
        None => bounded(&text, plain).into_owned(),
    }
}

/// The text of a failure for a gRPC trailer: of findings those that fit.
pub fn in_header(failure: &Failure) -> String {
    let text = failure.to_string();
    let limit = Limit {
        most: FINDINGS_IN_HEADER,
        cost: encoded,
        end: MARK_ROOM,
        shorten: |text, room| without_middle(text, room, encoded),
    };
    match findings(failure) {
        Some(rejection) if size(&text, encoded) > limit.most => rejection.with_findings(limit),
        Some(_) => text,
        None => bounded(&text, encoded).into_owned(),
    }
}

fn findings(failure: &Failure) -> Option<&Rejection> {
    match failure {
        Failure::Rejected(rejection) if !rejection.findings.is_empty() => Some(rejection),
        _ => None,
    }
}

/// The text in a few kilobytes. A longer one loses its middle, as its beginning has the error and its end the remedy.
pub fn bounded(text: &str, cost: fn(u8) -> usize) -> Cow<'_, str> {
    // Most texts are short: no need to count.
    if text.len() <= OTHER / 3 || size(text, cost) <= OTHER {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without_middle(text, OTHER, cost))
}

fn size(text: &str, cost: fn(u8) -> usize) -> usize {
    text.bytes().map(cost).sum()
}

/// Room for the line with the omitted length.
const MARK_ROOM: usize = 128;

fn without_middle(text: &str, limit: usize, cost: fn(u8) -> usize) -> String {
    let room = limit.saturating_sub(MARK_ROOM);
    let (head, rest) = text.split_at(beginning(text, room / 3 * 2, cost));
    let mut left = room / 3;
    let mut start = rest.len();
    for (at, c) in rest.char_indices().rev() {
        let char_cost = size(c.encode_utf8(&mut [0; 4]), cost);
        if char_cost > left {
            break;
        }
        left -= char_cost;
        start = at;
    }
    let (middle, tail) = rest.split_at(start);
    let n = middle.chars().count();
    format!("{head}… [{n} characters left out] …{tail}")
}

/// Where the beginning of a text ends that takes at most `room`.
fn beginning(text: &str, room: usize, cost: fn(u8) -> usize) -> usize {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += size(c.encode_utf8(&mut [0; 4]), cost);
        if taken > room {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use skep_protocol::findings::{Finding, Invalid, Rule};

    use super::*;

    fn refused(n: usize, message: &str) -> Failure {
        let finding = |i: usize| Finding {
            rule: Rule::ValueMissing,
            process_id: None,
            element_id: Some(format!("e{i}")),
            element_type: None,
            message: format!("{message} {i}."),
            line: None,
        };
        let invalid = Invalid {
            resource_name: "a.bpmn".into(),
            findings: (0..n).map(finding).collect(),
            further: 11,
        };
        Rejection::of_deployment("CREATE", vec![invalid]).into()
    }

    #[test]
    fn short_texts_stay() {
        for text in ["", "why"] {
            assert_eq!(bounded(text, encoded), text);
        }
        let failure = refused(3, "so");
        assert_eq!(in_header(&failure), failure.to_string());
        assert_eq!(in_body(&failure), failure.to_string());
    }

    #[test]
    fn findings_are_left_out_by_whole_lines_and_counted() {
        let message = "Prüfung überfällig ".repeat(5);
        let failure = refused(100, &message);
        let cut = in_header(&failure);
        assert!(size(&cut, encoded) <= FINDINGS_IN_HEADER);
        let shown = cut.matches("- ERROR[VALUE_MISSING]: ").count();
        assert!(shown > 5, "{cut}");
        let end = format!("\n- and {} further findings", 100 - shown + 11);
        let whole = cut.strip_suffix(&end).expect("the end");
        let text = in_body(&failure);
        assert!(text.starts_with(&format!("{whole}\n")), "{whole}");
    }

    #[test]
    fn one_long_finding_loses_its_middle() {
        let cut = in_header(&refused(3, &"ü".repeat(5000)));
        assert!(size(&cut, encoded) <= FINDINGS_IN_HEADER);
        assert!(
            cut.contains("characters left out") && cut.contains(" 0."),
            "{cut}"
        );
        assert!(cut.ends_with("- and 13 further findings"), "{cut}");
    }

    #[test]
    fn repeated_input_loses_its_middle_and_the_sentence_stays() {
        let text = format!("No process with id '{}' was found.", "y".repeat(100_000));
        let cut = bounded(&text, plain);
        assert!(cut.len() <= OTHER, "{}", cut.len());
        assert!(cut.starts_with("No process with id 'yyy") && cut.ends_with("yyy' was found."));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_larger_than_its_limit(text in r#"[aü\n ]{0,60}"#, times in 1usize..200, n in 1usize..40) {
            let text = text.repeat(times);
            for cost in [plain as fn(u8) -> usize, encoded] {
                proptest::prop_assert!(size(&bounded(&text, cost), cost) <= OTHER);
            }
            let header = in_header(&refused(n, &text));
            proptest::prop_assert!(size(&header, encoded) <= FINDINGS_IN_HEADER);
        }
    }
}
