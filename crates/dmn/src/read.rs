//! XML to the compiled form.

mod boxed;
mod graph;
mod items;
mod table;

use std::sync::Arc;

use skep_feel::{Expression, HostTypes, ParseError, ParseOptions, UnaryTests};

use crate::error::{self, Findings, Invalid, Rule, abbreviate, of_file};
use crate::matcher::Cell;
use crate::model::{Drg, Text};
use crate::types::{TypeId, Types};
use crate::xml::{self, Node, Unreadable, dmn_name};
use crate::{Dialect, Options};

impl Drg {
    /// Reads, checks and compiles a DMN file.
    ///
    /// # Errors
    /// All findings of the file, so that a user can fix them together.
    pub fn parse(resource_name: &str, xml: &[u8], options: &Options) -> Result<Drg, Invalid> {
        let unreadable = |fault: Unreadable| error::unreadable(resource_name, fault);
        let text = xml::decode(xml, options.max_xml_bytes).map_err(unreadable)?;
        let document = xml::parse(text).map_err(unreadable)?;
        let root = document.root_element();
        if dmn_name(root) != Some("definitions") {
            let message = format!(
                "The file is not a DMN model: its root is '{}' of the namespace '{}', expected 'definitions' in a namespace of DMN 1.1 to 1.5",
                abbreviate(root.tag_name().name()),
                abbreviate(root.tag_name().namespace().unwrap_or_default()),
            );
            return Err(of_file(resource_name, Rule::NotAModel, message, Some(1)));
        }
        let length = resource_name.chars().count();
        if length > options.max_name_length {
            let message = format!(
                "The resource name has {length} characters, the limit is {}. Shorten it",
                options.max_name_length
            );
            return Err(of_file(resource_name, Rule::TextTooLong, message, None));
        }
        let mut reader = Reader {
            options,
            names: Vec::new(),
            findings: Findings::default(),
            types: Arc::default(),
            feel_types: HostTypes::default(),
            height: 0,
        };
        if options.dialect == Dialect::Standard {
            reader.names = names(root);
            if reader.names.len() > MAX_NAMES {
                let message = format!(
                    "The model has more than {MAX_NAMES} names with spaces or operators. Rename some"
                );
                return Err(of_file(resource_name, Rule::ModelTooLarge, message, None));
            }
        }
        let graph = reader.graph(root);
        match graph {
            Some(graph) if reader.findings.is_empty() => Ok(Drg(Arc::new(graph))),
            _ => Err(reader.findings.into_invalid(resource_name)),
        }
    }
}

/// Names with spaces or operators; each is looked for in each expression.
const MAX_NAMES: usize = 2000;

struct Reader<'o> {
    options: &'o Options,
    /// Names of the model that FEEL cannot read without help.
    names: Vec<Arc<str>>,
    findings: Findings,
    types: Arc<Types>,
    /// The same for FEEL.
    feel_types: HostTypes,
    /// How deep boxed expressions are nested at most.
    height: usize,
}

impl Reader<'_> {
    fn standard(&self) -> bool {
        self.options.dialect == Dialect::Standard
    }

    /// The id of an element; empty when it has none.
    fn id(&mut self, node: Node<'_>) -> Arc<str> {
        self.bounded(node, "id", self.options.max_id_length)
    }

    /// The name of an element; empty when it has none.
    fn name(&mut self, node: Node<'_>) -> Arc<str> {
        self.bounded(node, "name", self.options.max_name_length)
    }

    fn bounded(&mut self, node: Node<'_>, attribute: &str, limit: usize) -> Arc<str> {
        let value = node.attribute(attribute).unwrap_or_default();
        let length = value.chars().count();
        if length > limit {
            let message = format!(
                "The attribute '{attribute}' of '{}' has {length} characters, the limit is {limit}. Shorten it",
                node.tag_name().name()
            );
            self.findings.add(node, Rule::TextTooLong, message);
        }
        Arc::from(value)
    }

    /// The type that the attribute `typeRef` names, where types matter.
    fn type_ref(&mut self, node: Node<'_>) -> Option<TypeId> {
        let reference = node.attribute("typeRef")?;
        if !self.standard() {
            return None;
        }
        self.types.find(reference)
    }

    /// An expression in the child `text` of an element.
    fn text(&mut self, node: Node<'_>) -> Text {
        let text = xml::child(node, "text").map(xml::text).unwrap_or_default();
        self.check_language(node);
        if text.is_empty() {
            return Text::Empty;
        }
        match Expression::parse_with(&text, &self.parse_options(&text)) {
            Ok(expression) => Text::Feel(expression),
            Err(error) => {
                self.broken(node, &text, &error);
                Text::Broken {
                    text,
                    message: error.to_string(),
                }
            }
        }
    }

    /// Unary tests in the child `text` of an element.
    fn cell(&mut self, node: Node<'_>) -> Cell {
        let text = xml::child(node, "text").map(xml::text).unwrap_or_default();
        self.check_language(node);
        if text.is_empty() || text == "-" {
            return Cell::Any;
        }
        match UnaryTests::parse_with(&text, &self.parse_options(&text)) {
            Ok(tests) => Cell::Tests(tests),
            Err(error) => {
                self.broken(node, &text, &error);
                Cell::Broken {
                    text,
                    message: error.to_string(),
                }
            }
        }
    }

    /// The names that occur in a text, as far as FEEL must know them.
    fn parse_options(&self, text: &str) -> ParseOptions {
        let occurs = |name: &&Arc<str>| {
            let first = name.split(' ').next().unwrap_or_default();
            text.contains(first)
        };
        ParseOptions {
            names: self.names.iter().filter(occurs).cloned().collect(),
            types: self.feel_types.clone(),
        }
    }

    fn broken(&mut self, node: Node<'_>, text: &str, error: &ParseError) {
        if !self.standard() {
            let message = format!("Failed to parse expression '{}': {error}", abbreviate(text));
            self.findings.add(node, Rule::ExpressionInvalid, message);
        }
    }

    /// Expressions in other languages than FEEL are refused.
    fn check_language(&mut self, node: Node<'_>) {
        let language = node.attribute("expressionLanguage").unwrap_or_default();
        let known = language.is_empty()
            || language.eq_ignore_ascii_case("feel")
            || language.to_ascii_uppercase().contains("/FEEL")
            || language.starts_with("http://www.omg.org/spec/FEEL/");
        if !known {
            let message = format!(
                "The expression language '{}' is not supported. Write the expression in FEEL",
                abbreviate(language)
            );
            self.findings.add(node, Rule::NotSupported, message);
        }
    }
}

/// Names of the model with spaces, operators or other characters that end a name in FEEL.
fn names(root: Node<'_>) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = root
        .descendants()
        .filter(|node| dmn_name(*node).is_some())
        .flat_map(|node| [node.attribute("name"), node.attribute("iteratorVariable")])
        .flatten()
        .map(str::trim)
        .filter(|name| !name.is_empty() && name.chars().any(|c| !(c.is_alphanumeric() || c == '_')))
        .map(Arc::from)
        .collect();
    names.sort();
    names.dedup();
    names
}
