//! Process definitions, for the names of what records call by index.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_protocol::element_type::ElementType;
use skep_protocol::value::ProcessValue;

/// What rows say of a definition and its elements.
#[derive(Debug)]
pub struct Definition {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub elements: Vec<Element>,
    pub has_start_form: bool,
}

#[derive(Debug)]
pub struct Element {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub element_type: ElementType,
    /// The text of a JSON object.
    pub headers: Arc<str>,
}

impl Definition {
    /// Names come from the model; where it cannot be read any more, ids and types are what the record has.
    pub fn new(value: &ProcessValue) -> Definition {
        let graph = skep_model::parse_pinned(&value.resource, &value.elements).ok();
        let none: Arc<str> = Arc::from("{}");
        let element = |(index, pinned): (usize, &skep_protocol::value::PinnedElement)| {
            let compiled = graph.as_ref().and_then(|graph| graph.elements.get(index));
            Element {
                id: pinned.id.clone(),
                name: compiled.and_then(|element| element.name.clone()),
                element_type: pinned.element_type,
                headers: compiled
                    .and_then(|element| element.headers_json())
                    .unwrap_or(&none)
                    .clone(),
            }
        };
        let elements: Vec<Element> = value.elements.iter().enumerate().map(element).collect();
        Definition {
            id: value.bpmn_process_id.clone(),
            name: elements.first().and_then(|process| process.name.clone()),
            version: value.version,
            version_tag: value.version_tag.clone(),
            elements,
            has_start_form: false,
        }
    }
}

/// Where definitions are looked up that were stored earlier.
pub trait StoredDefinitions {
    /// The body of the PROCESS record.
    fn definition(&self, key: Key) -> Option<Vec<u8>>;
}

/// Those that were needed since the start.
#[derive(Debug, Default)]
pub struct Definitions {
    known: FxHashMap<Key, Option<Arc<Definition>>>,
}

impl Definitions {
    pub fn insert(&mut self, key: Key, definition: Arc<Definition>) {
        self.known.insert(key, Some(definition));
    }

    pub fn get(&mut self, key: Key, stored: &dyn StoredDefinitions) -> Option<Arc<Definition>> {
        let found = self.known.entry(key).or_insert_with(|| {
            let body = stored.definition(key)?;
            let value: ProcessValue = skep_protocol::record::decode(&body).ok()?;
            Some(Arc::new(Definition::new(&value)))
        });
        found.clone()
    }
}
