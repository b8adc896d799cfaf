//! Reading the XML of models: one hardened reader for BPMN and DMN, and small helpers over its nodes.
//!
//! Everything that is deployed has passed [`parse`], so that its costs stay proportional to the size of the text: no DTD or
//! entities of one's own, bounded size, nesting, attributes per tag and namespace declarations.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod shape;

pub use roxmltree::Document;
use roxmltree::ParsingOptions;

/// The namespace of the extension elements of engines with this API.
pub const ZEEBE: &str = "http://camunda.org/schema/zeebe/1.0";

pub type Node<'x> = roxmltree::Node<'x, 'x>;

/// A text as written in an attribute or between tags, so that a reader gets every character of it back. Line breaks and tabs
/// in an attribute would become blanks otherwise.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            other => out.push(other),
        }
    }
    out
}

/// Why a text is not readable as XML, with the line if there is one.
#[derive(Debug, PartialEq)]
pub struct Unreadable {
    pub fault: Fault,
    pub message: String,
    pub line: Option<u32>,
}

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not text, not XML, or has forbidden declarations.
    NotXml,
    /// It exceeds a limit on size or shape.
    TooLarge,
}

impl Unreadable {
    fn new(fault: Fault, message: impl Into<String>) -> Self {
        Unreadable {
            fault,
            message: message.into(),
            line: None,
        }
    }
}

/// The bytes as text: UTF-8 with or without byte order mark, at most `max_bytes` long. `advice` is the remedy for a longer file.
///
/// # Errors
/// When the file is too long, or in another encoding.
pub fn decode<'x>(xml: &'x [u8], max_bytes: usize, advice: &str) -> Result<&'x str, Unreadable> {
    if xml.len() > max_bytes {
        let message = format!(
            "The file has {} bytes, the limit is {max_bytes}. {advice}",
            xml.len()
        );
        return Err(Unreadable::new(Fault::TooLarge, message));
    }
    let text = std::str::from_utf8(xml).map_err(|error| {
        let message = format!(
            "The file is not UTF-8 text (byte {} is not valid). Save the model as UTF-8",
            error.valid_up_to()
        );
        Unreadable::new(Fault::NotXml, message)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Parses a decoded text.
///
/// # Errors
/// When it is not well-formed, has declarations of its own, or exceeds the bounds on its shape.
pub fn parse(text: &str) -> Result<Document<'_>, Unreadable> {
    shape::check(text)?;
    parse_stored(text)
}

/// Parses a text that was accepted once, with the bounds of then.
///
/// # Errors
/// When it is not well-formed.
pub fn parse_stored(text: &str) -> Result<Document<'_>, Unreadable> {
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let message = match error {
            roxmltree::Error::DtdDetected => "Document type declarations (DOCTYPE) and custom entities are refused. Remove the declaration".to_string(),
            roxmltree::Error::UnknownEntityReference(ref name, _) => {
                format!("The entity '{name}' is not known. Only the five that XML predefines are allowed")
            }
            ref other => format!("The file is not well-formed XML: {other}"),
        };
        Unreadable { fault: Fault::NotXml, message, line: Some(error.pos().row) }
    })
}

/// The children of this namespace and local name.
pub fn children_of<'x>(
    node: Node<'x>,
    namespace: &'static str,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> + Clone {
    node.children()
        .filter(move |child| is_named(*child, namespace, name))
}

/// Whether the node is an element of this namespace and local name.
pub fn is_named(node: Node<'_>, namespace: &str, name: &str) -> bool {
    let tag = node.tag_name();
    node.is_element() && tag.namespace() == Some(namespace) && tag.name() == name
}

/// The text inside an element, without the white space around it.
pub fn text(node: Node<'_>) -> String {
    let whole: String = node
        .children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text())
        .collect();
    whole.trim().to_string()
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
    fn escaped_text_reads_back_unchanged() {
        let text = "a < b && \"c\" > 'd'\n\te\r\n";
        let written = format!("<a x=\"{0}\">{0}</a>", escape(text));
        let read = parse(&written).expect("readable");
        let element = read.root_element();
        assert_eq!(element.attribute("x"), Some(text));
        assert_eq!(element.text(), Some(text));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(decode("\u{feff}<a/>".as_bytes(), 100, ""), Ok("<a/>"));
    }

    #[test]
    fn other_encodings_are_refused() {
        assert!(
            decode(b"<a>\xe4</a>", 100, "")
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
            "<a>".repeat(shape::MAX_DEPTH + 1),
            "</a>".repeat(shape::MAX_DEPTH + 1)
        );
        assert!(refusal(&deep).contains("nested"));
        let wide = format!("<a>{}{}</a>", "<b></b>".repeat(5000), "<b/>".repeat(5000));
        assert!(parse(&wide).is_ok());
    }

    #[test]
    fn many_attributes_are_refused() {
        let attributes: String = (0..=shape::MAX_ATTRIBUTES)
            .map(|i| format!(" a{i}=''"))
            .collect();
        assert!(refusal(&format!("<a{attributes}/>")).contains("attributes"));
    }

    #[test]
    fn many_namespace_declarations_are_refused() {
        let elements = "<b xmlns:p='u'/>".repeat(shape::MAX_NAMESPACE_DECLARATIONS + 1);
        assert!(refusal(&format!("<a>{elements}</a>")).contains("namespace"));
    }

    #[test]
    fn size_is_bounded() {
        assert!(
            decode(&[b' '; 11], 10, "Split it")
                .expect_err("refused")
                .message
                .contains("limit is 10. Split it")
        );
    }
}
