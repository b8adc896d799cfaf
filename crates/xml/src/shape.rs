//! Bounds on the shape of a document, checked before a tree is built of it.

use crate::{Fault, Unreadable};

/// Elements nested deeper than this are refused; drawn models stay far below.
pub(crate) const MAX_DEPTH: usize = 256;
/// Attributes of one tag (the reader compares each with each).
pub(crate) const MAX_ATTRIBUTES: usize = 256;
/// Namespace declarations of the whole document (each inner declaration copies the outer ones).
pub(crate) const MAX_NAMESPACE_DECLARATIONS: usize = 4096;

/// Constructs that contain no tags, by their start and end.
const SKIPPED: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// Bounds nesting, attributes and namespace declarations before the tree is built.
///
/// A plain walk over the tags; where the text is not well-formed its result does not matter, as the reader refuses it.
pub(crate) fn check(text: &str) -> Result<(), Unreadable> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut namespaces) = (0, 0usize, 0usize);
    while let Some(open) = find(bytes, at, b"<") {
        let rest = bytes.get(open..).unwrap_or_default();
        let skipped = SKIPPED.iter().find(|(start, _)| rest.starts_with(start));
        if let Some((start, end)) = skipped {
            match find(bytes, open + start.len(), end) {
                Some(close) => at = close + end.len(),
                None => return Ok(()),
            }
            continue;
        }
        let tag = tag_end(bytes, open + 1);
        let Some(close) = tag.close else {
            return Ok(());
        };
        if rest.starts_with(b"</") {
            depth = depth.saturating_sub(1);
        } else if !rest.starts_with(b"<!") && bytes.get(close.saturating_sub(1)) != Some(&b'/') {
            depth += 1;
        }
        namespaces += tag.namespaces;
        let problem = if depth > MAX_DEPTH {
            format!("Elements are nested more than {MAX_DEPTH} deep")
        } else if tag.attributes > MAX_ATTRIBUTES {
            format!("An element has more than {MAX_ATTRIBUTES} attributes")
        } else if namespaces > MAX_NAMESPACE_DECLARATIONS {
            format!("The file has more than {MAX_NAMESPACE_DECLARATIONS} namespace declarations")
        } else {
            at = close + 1;
            continue;
        };
        let line = 1 + bytes.iter().take(open).filter(|b| **b == b'\n').count();
        return Err(Unreadable {
            fault: Fault::TooLarge,
            message: format!(
                "{problem}. Such files are refused, to bound the work of reading them"
            ),
            line: u32::try_from(line).ok(),
        });
    }
    Ok(())
}

struct Tag {
    /// Position of the closing `>`.
    close: Option<usize>,
    attributes: usize,
    namespaces: usize,
}

fn tag_end(bytes: &[u8], from: usize) -> Tag {
    let mut tag = Tag {
        close: None,
        attributes: 0,
        namespaces: 0,
    };
    let mut quote = None;
    for (offset, byte) in bytes.iter().enumerate().skip(from) {
        match (quote, byte) {
            (Some(q), b) if q == *b => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => {
                tag.attributes += 1;
                quote = Some(*byte);
            }
            (None, b'x')
                if bytes
                    .get(offset..)
                    .is_some_and(|rest| rest.starts_with(b"xmlns")) =>
            {
                tag.namespaces += 1;
            }
            (None, b'>') => {
                tag.close = Some(offset);
                break;
            }
            _ => {}
        }
    }
    tag
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let tail = bytes.get(from..)?;
    tail.windows(needle.len())
        .position(|window| window == needle)
        .map(|offset| from + offset)
}
