//! Reading XML: a hardened document reader and small helpers over its nodes.
//!
//! Everything that is deployed has passed [`check_shape`], so that its costs stay proportional to the size of
//! the text: no DTD or entities of one's own, bounded size, nesting, attributes per tag and namespace declarations.

use roxmltree::{Document, ParsingOptions};

pub(crate) const BPMN: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";
pub(crate) const ZEEBE: &str = "http://camunda.org/schema/zeebe/1.0";

/// Elements nested deeper than this are refused; drawn models stay far below.
const MAX_DEPTH: usize = 256;
/// Attributes of one tag (the reader compares each with each).
const MAX_ATTRIBUTES: usize = 256;
/// Namespace declarations of the whole document (each inner declaration copies the outer ones).
const MAX_NAMESPACE_DECLARATIONS: usize = 4096;

pub(crate) type Node<'x> = roxmltree::Node<'x, 'x>;

/// Why a text is not readable as XML, with the line if there is one.
#[derive(Debug, PartialEq)]
pub(crate) struct Unreadable {
    pub message: String,
    pub line: Option<u32>,
}

impl Unreadable {
    fn new(message: impl Into<String>) -> Self {
        Unreadable {
            message: message.into(),
            line: None,
        }
    }
}

/// The bytes as text: UTF-8 with or without byte order mark, at most `max_bytes` long.
pub(crate) fn decode(xml: &[u8], max_bytes: usize) -> Result<&str, Unreadable> {
    if xml.len() > max_bytes {
        return Err(Unreadable::new(format!(
            "The file has {} bytes, the limit is {max_bytes}. Split the model into several processes, joined by call activities",
            xml.len()
        )));
    }
    let text = std::str::from_utf8(xml).map_err(|error| {
        Unreadable::new(format!(
            "The file is not UTF-8 text (byte {} is not valid). Save the model as UTF-8",
            error.valid_up_to()
        ))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Parses a decoded text, within the bounds of [`check_shape`].
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Unreadable> {
    check_shape(text)?;
    parse_stored(text)
}

/// Parses a text that was accepted once, with the bounds of then.
pub(crate) fn parse_stored(text: &str) -> Result<Document<'_>, Unreadable> {
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let message = match error {
            roxmltree::Error::DtdDetected => "Document type declarations (DOCTYPE) and entities of one's own are refused. Remove the declaration".to_string(),
            roxmltree::Error::UnknownEntityReference(ref name, _) => {
                format!("The entity '{name}' is not known. Only the five entities of XML itself are allowed")
            }
            ref other => format!("The file is not well-formed XML: {other}"),
        };
        Unreadable { message, line: Some(error.pos().row) }
    })
}

/// What contains no tags, by its start and end.
const SKIPPED: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// Bounds nesting, attributes and namespace declarations before the tree is built.
///
/// A plain walk over the tags; where the text is not well-formed its result does not matter, as the reader refuses it.
fn check_shape(text: &str) -> Result<(), Unreadable> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut namespaces) = (0, 0usize, 0usize);
    while let Some(open) = find(bytes, at, b"<") {
        let rest = &bytes[open..];
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
        let line = 1 + bytes[..open].iter().filter(|b| **b == b'\n').count();
        return Err(Unreadable {
            message: format!("{problem}, which is refused to bound the work of reading it"),
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
            (None, b'x') if bytes[offset..].starts_with(b"xmlns") => tag.namespaces += 1,
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

/// The local name of an element of the BPMN namespace.
pub(crate) fn bpmn_name<'x>(node: Node<'x>) -> Option<&'x str> {
    let tag = node.tag_name();
    (node.is_element() && tag.namespace() == Some(BPMN)).then(|| tag.name())
}

/// The BPMN children with this local name.
pub(crate) fn bpmn_children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> {
    node.children()
        .filter(move |child| bpmn_name(*child) == Some(name))
}

/// All elements of the zeebe namespace in the `extensionElements` of this node.
pub(crate) fn all_extensions<'x>(node: Node<'x>) -> impl Iterator<Item = Node<'x>> {
    bpmn_children(node, "extensionElements")
        .flat_map(|extensions| extensions.children())
        .filter(|child| child.is_element() && child.tag_name().namespace() == Some(ZEEBE))
}

/// The extension elements of this node with this local name.
pub(crate) fn extensions<'x>(node: Node<'x>, name: &'static str) -> impl Iterator<Item = Node<'x>> {
    all_extensions(node).filter(move |child| child.tag_name().name() == name)
}

/// The zeebe children of an extension element with this local name.
pub(crate) fn zeebe_children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> {
    node.children().filter(move |child| {
        child.is_element()
            && child.tag_name().namespace() == Some(ZEEBE)
            && child.tag_name().name() == name
    })
}

/// The text inside an element, without the white space around it.
pub(crate) fn text(node: Node<'_>) -> String {
    let whole: String = node
        .children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text())
        .collect();
    whole.trim().to_string()
}

/// Looks up by a reference that may carry a namespace prefix (references are qualified names in BPMN).
pub(crate) fn local_reference(reference: &str) -> &str {
    reference.rsplit(':').next().unwrap_or(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).expect_err("must be refused").message
    }

    #[test]
    fn ordinary_xml_is_read() {
        let text = "<?xml version='1.0'?><!-- > < --><a x='>'><b/><![CDATA[<c><c>]]></a>";
        assert_eq!(
            parse(text)
                .expect("readable")
                .root_element()
                .tag_name()
                .name(),
            "a"
        );
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(decode("\u{feff}<a/>".as_bytes(), 100), Ok("<a/>"));
    }

    #[test]
    fn other_encodings_are_refused() {
        assert!(
            decode(b"<a>\xe4</a>", 100)
                .expect_err("refused")
                .message
                .contains("not UTF-8")
        );
    }

    #[test]
    fn document_types_are_refused() {
        assert!(refusal("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>").contains("DOCTYPE"));
    }

    #[test]
    fn unknown_entities_are_refused() {
        assert!(refusal("<a>&x;</a>").contains("'x'"));
    }

    #[test]
    fn deep_nesting_is_refused_and_wide_models_are_not() {
        let deep = format!(
            "{}{}",
            "<a>".repeat(MAX_DEPTH + 1),
            "</a>".repeat(MAX_DEPTH + 1)
        );
        assert!(refusal(&deep).contains("nested"));
        let wide = format!("<a>{}{}</a>", "<b></b>".repeat(5000), "<b/>".repeat(5000));
        assert!(parse(&wide).is_ok());
    }

    #[test]
    fn many_attributes_are_refused() {
        let attributes: String = (0..=MAX_ATTRIBUTES).map(|i| format!(" a{i}=''")).collect();
        assert!(refusal(&format!("<a{attributes}/>")).contains("attributes"));
    }

    #[test]
    fn many_namespace_declarations_are_refused() {
        let elements = "<b xmlns:p='u'/>".repeat(MAX_NAMESPACE_DECLARATIONS + 1);
        assert!(refusal(&format!("<a>{elements}</a>")).contains("namespace"));
    }

    #[test]
    fn size_is_bounded() {
        assert!(
            decode(&[b' '; 11], 10)
                .expect_err("refused")
                .message
                .contains("limit is 10")
        );
    }
}
