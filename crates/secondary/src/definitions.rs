//! Process definitions, used to resolve the names of elements that records reference by index.

use skep_exporting::TargetError;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_model::{Binding, ElementKind, FormReference, Process};
use skep_protocol::element_type::ElementType;
use skep_protocol::value::ProcessValue;
use skep_protocol::{DEFAULT_TENANT, Key, UNKNOWN_TENANT};
use skep_query::Value;

use crate::project::word;

/// Data of a definition and its elements that rows contain.
#[derive(Debug)]
pub struct Definition {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub version: i32,
    pub version_tag: Option<Arc<str>>,
    pub elements: Vec<Element>,
    pub tenant: Arc<str>,
    pub start_form: Option<StartForm>,
}

/// The form shown to users who start a process.
#[derive(Clone, Debug, PartialEq)]
pub struct StartForm {
    pub id: Arc<str>,
    /// `latest`, `deployment`, or a version tag prefixed with `=`.
    pub binding: Arc<str>,
}

impl StartForm {
    fn of(graph: &Process) -> Option<StartForm> {
        let form = graph
            .elements
            .iter()
            .find_map(|element| match &element.kind {
                ElementKind::StartEvent(start) => start.form.as_ref(),
                _ => None,
            });
        let Some(FormReference::Id { id, binding }) = form else {
            return None;
        };
        Some(StartForm {
            id: id.as_static()?.into(),
            binding: match binding {
                Binding::Latest => "latest".into(),
                Binding::Deployment => "deployment".into(),
                Binding::VersionTag(tag) => format!("={tag}").into(),
            },
        })
    }
}

#[derive(Debug)]
pub struct Element {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub element_type: ElementType,
    /// A JSON object as text.
    pub headers: Arc<str>,
    /// Extension properties of the element: names and values from the model.
    pub properties: Vec<(Arc<str>, Arc<str>)>,
}

impl Definition {
    /// Takes names from the model. If the model can no longer be parsed, only the IDs and types from the record are available.
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
                properties: compiled
                    .map(|element| element.properties.clone())
                    .unwrap_or_default(),
            }
        };
        let elements: Vec<Element> = value.elements.iter().enumerate().map(element).collect();
        Definition {
            id: value.bpmn_process_id.clone(),
            name: elements.first().and_then(|process| process.name.clone()),
            version: value.version,
            version_tag: value.version_tag.clone(),
            elements,
            tenant: value.tenant.as_str().into(),
            start_form: graph.as_ref().and_then(StartForm::of),
        }
    }

    /// Approximate size in bytes.
    fn weight(&self) -> usize {
        let of = |element: &Element| {
            let name = element.name.as_ref().map_or(0, |name| name.len());
            let properties = element.properties.iter();
            let properties = properties.map(|(name, value)| name.len() + value.len());
            let texts = element.id.len() + name + element.headers.len();
            size_of::<Element>() + texts + properties.sum::<usize>()
        };
        size_of::<Definition>() + self.id.len() + self.elements.iter().map(of).sum::<usize>()
    }
}

/// An element of a definition, as a source of column values. Unknown values are absent.
#[derive(Clone, Debug)]
pub struct Location {
    pub definition: Option<Arc<Definition>>,
    element: u32,
    /// Whether tenants are checked.
    tenants: bool,
}

impl Location {
    pub fn new(definition: Option<Arc<Definition>>, element: u32, tenants: bool) -> Location {
        Location {
            definition,
            element,
            tenants,
        }
    }

    pub fn element(&self) -> Option<&Element> {
        self.definition
            .as_ref()?
            .elements
            .get(self.element as usize)
    }

    fn of_definition(&self, value: impl Fn(&Definition) -> Value) -> Value {
        self.definition.as_deref().map_or(Value::Null, value)
    }

    pub fn process_id(&self) -> Value {
        self.of_definition(|d| Value::Text(d.id.clone()))
    }

    /// The tenant of the definition. Of an unknown one, after records were lost, it is unknown: such rows are shown to nobody whose tenants
    /// are checked.
    pub fn tenant(&self) -> Value {
        match &self.definition {
            Some(definition) => Value::Text(definition.tenant.clone()),
            None if self.tenants => word(UNKNOWN_TENANT),
            None => word(DEFAULT_TENANT),
        }
    }

    pub fn process_name(&self) -> Value {
        self.of_definition(|d| Value::opt_text(d.name.as_ref()))
    }

    pub fn version(&self) -> Value {
        self.of_definition(|d| Value::Int(d.version.into()))
    }

    pub fn version_tag(&self) -> Value {
        self.of_definition(|d| Value::opt_text(d.version_tag.as_ref()))
    }

    pub fn element_id(&self) -> Value {
        Value::opt_text(self.element().map(|element| &element.id))
    }

    /// The value of the property with this name.
    pub fn property(&self, name: &str) -> Value {
        let mut properties = self.element().into_iter().flat_map(|e| &e.properties);
        let found = properties.find(|(known, _)| &**known == name);
        found.map_or(Value::Null, |(_, value)| Value::Text(value.clone()))
    }

    /// Properties whose names start with `beginning`, as a JSON object. Absent if there are none.
    pub fn properties(&self, beginning: &str) -> Value {
        let properties = self.element().into_iter().flat_map(|e| &e.properties);
        let found = properties.filter(|(name, _)| name.starts_with(beginning));
        let found = found.map(|(name, value)| (name.to_string(), value.to_string().into()));
        let found: serde_json::Map<String, serde_json::Value> = found.collect();
        if found.is_empty() {
            Value::Null
        } else {
            Value::text(&serde_json::Value::Object(found).to_string())
        }
    }

    pub fn element_type(&self) -> Value {
        word(
            self.element()
                .map_or("UNKNOWN", |e| e.element_type.as_str()),
        )
    }
}

/// Looks up definitions that were stored earlier.
pub trait StoredDefinitions {
    /// The body of the PROCESS record.
    fn definition(&self, key: Key) -> Result<Option<Vec<u8>>, TargetError>;
}

/// Approximate bytes of models kept in the cache, and the minimum number of definitions kept.
const MAX_KEPT: usize = 16 << 20;
const MIN_KEPT: usize = 16;

/// Cache of the definitions that were used last.
#[derive(Debug, Default)]
pub struct Definitions {
    known: FxHashMap<Key, Known>,
    weight: usize,
    /// Look-up counter, used to evict the least recently used definition first.
    time: u64,
    /// Reason why a definition could not be looked up.
    failure: Option<TargetError>,
}

#[derive(Debug)]
struct Known {
    definition: Option<Arc<Definition>>,
    used: u64,
    weight: usize,
}

impl Definitions {
    pub fn insert(&mut self, key: Key, definition: Option<Arc<Definition>>) {
        self.time += 1;
        let weight = definition.as_ref().map_or(64, |d| d.weight());
        let known = Known {
            definition,
            used: self.time,
            weight,
        };
        self.weight += weight;
        if let Some(before) = self.known.insert(key, known) {
            self.weight -= before.weight;
        }
        while self.weight > MAX_KEPT && self.known.len() > MIN_KEPT {
            self.forget_oldest();
        }
    }

    pub fn get(&mut self, key: Key, stored: &dyn StoredDefinitions) -> Option<Arc<Definition>> {
        self.time += 1;
        if let Some(known) = self.known.get_mut(&key) {
            known.used = self.time;
            return known.definition.clone();
        }
        let body = match stored.definition(key) {
            Ok(body) => body,
            Err(error) => {
                self.failure = Some(error);
                return None;
            }
        };
        let value = body.and_then(|body| skep_protocol::record::decode::<ProcessValue>(&body).ok());
        let found = value.map(|value| Arc::new(Definition::new(&value)));
        self.insert(key, found.clone());
        found
    }

    /// Takes the failure of a look-up since the last call. Rows that were built without the definition must not be stored.
    pub fn take_failure(&mut self) -> Option<TargetError> {
        self.failure.take()
    }

    fn forget_oldest(&mut self) {
        let oldest = self.known.iter().min_by_key(|(_, known)| known.used);
        let Some(key) = oldest.map(|(key, _)| *key) else {
            return;
        };
        if let Some(known) = self.known.remove(&key) {
            self.weight -= known.weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl StoredDefinitions for Nothing {
        fn definition(&self, _key: Key) -> Result<Option<Vec<u8>>, TargetError> {
            Ok(None)
        }
    }

    fn definition(id: &str) -> Option<Arc<Definition>> {
        Some(Arc::new(Definition {
            id: id.into(),
            name: None,
            version: 1,
            version_tag: None,
            elements: Vec::new(),
            tenant: "t".into(),
            start_form: None,
        }))
    }

    #[test]
    fn the_least_recently_used_definition_is_forgotten() {
        let mut definitions = Definitions::default();
        let long = "x".repeat(1 << 20);
        for n in 1..=40 {
            definitions.insert(Key(n), definition(&long));
            definitions.get(Key(1), &Nothing);
        }
        assert!(
            definitions.weight <= MAX_KEPT + (2 << 20),
            "{}",
            definitions.weight
        );
        assert!(definitions.get(Key(1), &Nothing).is_some());
        assert!(definitions.get(Key(2), &Nothing).is_none());
        assert!(definitions.get(Key(40), &Nothing).is_some());
    }
}
