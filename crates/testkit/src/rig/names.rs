//! Names of elements for records that specifications inspect.

use skep_engine::state::State;
use skep_protocol::Key;
use skep_protocol::json::{Definitions, ElementNames, Lineage};

/// Specifications inspect fields, not the paths that readers of the log add: the lineage stays empty.
pub(super) struct Names<'a> {
    pub(super) state: &'a State,
    pub(super) lineage: Lineage,
}

impl Definitions for Names<'_> {
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames> {
        let process = self.state.processes.get(process_definition_key)?;
        let element = process.graph.elements.get(element as usize)?;
        Some(ElementNames {
            bpmn_process_id: process.bpmn_process_id.to_string(),
            version: process.version,
            element_id: element.id.to_string(),
            element_type: element.element_type.as_str(),
            event_type: "UNSPECIFIED",
            custom_headers: element.headers_json().map_or("", |json| json).to_string(),
            tenant: process.tenant.clone(),
        })
    }

    fn calling_element(&self, _: Key, _: u32) -> Option<u32> {
        None
    }

    fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    fn partition_id(&self) -> u32 {
        self.state.partition
    }
}
