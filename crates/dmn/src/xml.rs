//! Reading XML: a hardened document reader and small helpers over its nodes.
//!
//! Everything that reaches [`roxmltree`] has passed [`check_shape`], so that its costs stay proportional to the size of
//! the text: no DTD or entities of one's own, bounded size, nesting, attributes per tag and namespace declarations.

use roxmltree::{Document, ParsingOptions};

/// The model namespaces of DMN 1.1, 1.2, 1.3, 1.4 and 1.5.
pub(crate) const DMN: [&str; 5] = [
    "http://www.omg.org/spec/DMN/20151101/dmn.xsd",
    "http://www.omg.org/spec/DMN/20180521/MODEL/",
    "https://www.omg.org/spec/DMN/20191111/MODEL/",
    "https://www.omg.org/spec/DMN/20211108/MODEL/",
    "https://www.omg.org/spec/DMN/20230324/MODEL/",
];
const ZEEBE: &str = "http://camunda.org/schema/zeebe/1.0";

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
            "The file has {} bytes, the limit is {max_bytes}. Split the model into several files",
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

/// Parses a decoded text.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Unreadable> {
    check_shape(text)?;
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let message = match error {
            roxmltree::Error::DtdDetected => "Document type declarations (DOCTYPE) and entities of one's own are refused. Remove the declaration".to_owned(),
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
    bytes
        .get(from..)?
        .windows(needle.len())
        .position(|window| window == needle)
        .map(|offset| from + offset)
}

/// The local name of a DMN element, whatever the version.
pub(crate) fn dmn_name<'x>(node: Node<'x>) -> Option<&'x str> {
    let tag = node.tag_name();
    let is_dmn = node.is_element() && tag.namespace().is_some_and(|ns| DMN.contains(&ns));
    is_dmn.then(|| tag.name())
}

/// The DMN children with this local name.
pub(crate) fn children<'x>(
    node: Node<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'x>> + Clone {
    node.children()
        .filter(move |child| dmn_name(*child) == Some(name))
}

/// The first DMN child with this local name.
pub(crate) fn child<'x>(node: Node<'x>, name: &'static str) -> Option<Node<'x>> {
    children(node, name).next()
}

/// The attribute `value` of `zeebe:versionTag` in the extension elements.
pub(crate) fn version_tag<'x>(node: Node<'x>) -> Option<&'x str> {
    children(node, "extensionElements")
        .flat_map(|extensions| extensions.children())
        .find(|e| e.tag_name().namespace() == Some(ZEEBE) && e.tag_name().name() == "versionTag")
        .and_then(|tag| tag.attribute("value"))
        .filter(|value| !value.is_empty())
}

/// The text inside an element, without the white space around it.
pub(crate) fn text(node: Node<'_>) -> String {
    let whole: String = node
        .children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text())
        .collect();
    whole.trim().to_owned()
}
