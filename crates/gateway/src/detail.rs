//! Texts of failures, kept to a size that every client takes.
//!
//! They repeat what the client sent, which may be megabytes. Over gRPC they travel in a header, and clients refuse a header
//! beyond 8 KiB, so that the failure itself would be lost.

use std::borrow::Cow;

/// Bytes of a text that lists findings, in a problem body.
pub const IN_BODY: usize = 16 << 10;

/// Bytes of such a text as it is encoded in a gRPC trailer; other headers need room beside it.
pub const IN_HEADER: usize = 6 << 10;

/// Bytes of any other text: whatever is longer repeats input.
const OTHER: usize = 4 << 10;

/// What each finding of a deployment begins with.
const FINDING: &str = "\n    - ERROR: ";

/// Room for the line that says how many findings are left out.
const ROOM_FOR_END: usize = 128;

/// Bytes that a byte takes in a problem body.
pub fn plain(_: u8) -> usize {
    1
}

/// Bytes that a byte takes in a percent-encoded header, or more.
pub fn encoded(byte: u8) -> usize {
    let kept = byte.is_ascii_graphic() && !b"\"#<>`?{}%".contains(&byte);
    if kept { 1 } else { 3 }
}

/// The text in at most `limit` bytes. Findings are left out from the end, by whole lines, with a last line that counts them;
/// any other text loses its middle, as its beginning says what happened and its end what to do.
pub fn bounded(text: &str, limit: usize, cost: fn(u8) -> usize) -> Cow<'_, str> {
    let findings = text.contains(FINDING);
    let limit = if findings { limit } else { limit.min(OTHER) };
    // Most texts are short: no need to count.
    if text.len() <= limit / 3 || size(text, cost) <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match findings {
        true => by_lines(text, limit, cost),
        false => without_middle(text, limit, cost),
    })
}

fn size(text: &str, cost: fn(u8) -> usize) -> usize {
    text.bytes().map(cost).sum()
}

fn by_lines(text: &str, limit: usize, cost: fn(u8) -> usize) -> String {
    let room = limit.saturating_sub(ROOM_FOR_END);
    let (kept, _) = text.split_at(beginning(text, room, cost));
    // The last line is broken, unless it ends just here.
    let end = kept.rfind('\n').unwrap_or(0);
    let (mut kept, mut left) = text.split_at(end);
    let cut;
    if !kept.contains(FINDING) {
        // Not even one finding fits: then it is told without its middle.
        let first = text.find(FINDING).map_or(0, |at| at + FINDING.len());
        let rest = text.get(first..).unwrap_or_default();
        let end = rest.find(FINDING).map_or(text.len(), |at| first + at);
        (kept, left) = text.split_at(end);
        cut = without_middle(kept, room, cost);
        kept = &cut;
    }
    match left_out(left) {
        0 => kept.to_string(),
        n => format!("{kept}\n- and {n} further findings"),
    }
}

/// How many findings are in a part of a text, those included that the text itself says it leaves out.
fn left_out(part: &str) -> usize {
    let further = |line: &str| -> Option<usize> {
        let line = line.strip_prefix("- and ")?;
        line.strip_suffix(" further findings")?.parse().ok()
    };
    part.matches(FINDING).count() + part.lines().filter_map(further).sum::<usize>()
}

fn without_middle(text: &str, limit: usize, cost: fn(u8) -> usize) -> String {
    const MARK_ROOM: usize = 128;
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
    use super::*;

    fn findings(n: usize, message: &str) -> String {
        let mut text = "Expected to deploy, but:\n'a.bpmn':".to_string();
        for i in 0..n {
            text.push_str(&format!("\n- Element: e{i}{FINDING}{message} {i}."));
        }
        text
    }

    #[test]
    fn short_texts_stay() {
        for text in ["", "why", &findings(3, "so")] {
            assert_eq!(bounded(text, IN_HEADER, encoded), text);
        }
    }

    #[test]
    fn findings_are_left_out_by_whole_lines_and_counted() {
        for (limit, cost) in [(IN_BODY, plain as fn(u8) -> usize), (IN_HEADER, encoded)] {
            let text = findings(200, &"Prüfung überfällig ".repeat(5));
            let text = format!("{text}\n- and 11 further findings");
            let cut = bounded(&text, limit, cost);
            assert!(size(&cut, cost) <= limit, "{}", size(&cut, cost));
            let shown = cut.matches(FINDING).count();
            assert!(shown > 5, "{cut}");
            let end = format!("\n- and {} further findings", 200 - shown + 11);
            assert!(cut.ends_with(&end), "{cut}");
            let whole = cut.strip_suffix(&end).expect("the end");
            assert!(text.starts_with(&format!("{whole}\n")), "{whole}");
        }
    }

    #[test]
    fn one_long_finding_loses_its_middle() {
        let text = findings(3, &"ü".repeat(5000));
        let cut = bounded(&text, IN_HEADER, encoded);
        assert!(size(&cut, encoded) <= IN_HEADER);
        assert!(
            cut.contains("characters left out") && cut.contains(" 0."),
            "{cut}"
        );
        assert!(cut.ends_with("- and 2 further findings"), "{cut}");
    }

    #[test]
    fn repeated_input_loses_its_middle_and_the_sentence_stays() {
        let text = format!("No process with id '{}' was found.", "y".repeat(100_000));
        let cut = bounded(&text, IN_BODY, plain);
        assert!(cut.len() <= OTHER, "{}", cut.len());
        assert!(cut.starts_with("No process with id 'yyy") && cut.ends_with("yyy' was found."));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_larger_than_its_limit(text in r#"([aü\n ]{0,40}(\n    - ERROR: )?){0,40}"#, limit in 300usize..2000) {
            for cost in [plain as fn(u8) -> usize, encoded] {
                let cut = bounded(&text, limit, cost);
                proptest::prop_assert!(size(&cut, cost) <= limit);
            }
        }
    }
}
