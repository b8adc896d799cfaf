//! Names of elements, learned from the PROCESS records that pass by.

use std::collections::HashMap;

use skep_model::{ElementIndex, Process};
use skep_protocol::Key;
use skep_protocol::intent::ValueType;
use skep_protocol::json::{Definitions, ElementNames};
use skep_protocol::record::{Record, RecordType};
use skep_protocol::value::ProcessValue;

/// Definitions seen so far. Those whose PROCESS record was compacted away have no names.
#[derive(Default)]
pub struct Names(HashMap<Key, Definition>);

struct Definition {
    process_id: String,
    version: i32,
    elements: Vec<String>,
    graph: Option<Process>,
}

impl Names {
    pub fn learn(&mut self, record: &Record<'_>) {
        if record.value_type != ValueType::Process || record.record_type != RecordType::Event {
            return;
        }
        // What cannot be read is printed as what it is, or reported, by the renderer.
        let Ok(value) = record.value::<ProcessValue>() else {
            return;
        };
        let elements: Vec<String> = value.elements.iter().map(ToString::to_string).collect();
        let definition = Definition {
            process_id: value.bpmn_process_id.to_string(),
            version: value.version,
            graph: skep_model::parse_pinned(&value.resource, &elements).ok(),
            elements,
        };
        self.0.insert(value.process_definition_key, definition);
    }
}

impl Definitions for Names {
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames> {
        let definition = self.0.get(&process_definition_key)?;
        let id = definition.elements.get(element as usize)?;
        let graph = definition.graph.as_ref();
        let element = graph.map(|graph| graph.element(ElementIndex(element)));
        Some(ElementNames {
            bpmn_process_id: definition.process_id.clone(),
            version: definition.version,
            element_id: id.clone(),
            element_type: element.map_or("UNSPECIFIED", |e| e.element_type.as_str()),
            event_type: "UNSPECIFIED",
            custom_headers: element.map_or_else(|| "{}".to_string(), custom_headers),
        })
    }
}

/// Task headers as the text of a JSON object.
fn custom_headers(element: &skep_model::Element) -> String {
    match &element.kind {
        skep_model::ElementKind::ServiceTask(job) => job.headers_json.to_string(),
        _ => "{}".to_string(),
    }
}
