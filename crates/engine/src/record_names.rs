//! The names that a reader needs to render the records of a log: the definitions of PROCESS records, and the position of
//! each element instance.
//!
//! Records name elements by index. A definition stays known after its deletion, because earlier records are still read.

use std::collections::HashMap;
use std::sync::Arc;

use skep_model::{Element, Process};
use skep_protocol::intent::{Intent, ProcessIntent, ValueType};
use skep_protocol::json::{API_VERSION, Ancestor, Definitions, ElementNames, Lineage};
use skep_protocol::record::{Record, RecordType};
use skep_protocol::value::{PinnedElement, ProcessValue};
use skep_protocol::{Key, TenantId};

use crate::state::DeployedProcess;

/// The names of one partition's elements. It must see every record, batch by batch.
pub struct RecordNames {
    partition: u32,
    broker_version: Arc<str>,
    definitions: HashMap<Key, Definition>,
    lineage: Lineage,
}

#[derive(Default)]
struct Definition {
    elements: Vec<ElementNames>,
    /// Ids of the call activities of its file, in their order.
    call_activities: Arc<[Arc<str>]>,
}

impl RecordNames {
    pub fn new(partition: u32) -> RecordNames {
        RecordNames {
            partition,
            broker_version: API_VERSION.into(),
            definitions: HashMap::new(),
            lineage: Lineage::default(),
        }
    }

    /// The same names, for records with a different `brokerVersion`.
    #[must_use]
    pub fn with_broker_version(self, broker_version: &str) -> RecordNames {
        RecordNames {
            broker_version: broker_version.into(),
            ..self
        }
    }

    /// Learns a record. A whole batch is learned before its records are rendered, because some records complete earlier
    /// ones.
    pub fn learn(&mut self, record: &Record<'_>) {
        self.lineage.learn(record);
        if record.value_type != ValueType::Process
            || record.record_type != RecordType::Event
            || record.intent != ProcessIntent::Created.id()
        {
            return;
        }
        // The renderer prints or reports records that cannot be read.
        if let Ok(value) = record.value::<ProcessValue>() {
            self.define(&value);
        }
    }

    /// Adds a definition by the value of its PROCESS record.
    pub fn define(&mut self, value: &ProcessValue) {
        let definition = match skep_model::parse_pinned(&value.resource, &value.elements) {
            Ok(graph) => {
                Definition::of(&value.bpmn_process_id, value.version, &value.tenant, &graph)
            }
            Err(_) => Definition::of_names(value),
        };
        self.definitions
            .insert(value.process_definition_key, definition);
    }

    /// Adds a definition whose PROCESS record is no longer in the log.
    pub fn add(&mut self, process: &DeployedProcess) {
        let DeployedProcess {
            bpmn_process_id,
            version,
            tenant,
            graph,
            ..
        } = process;
        let definition = Definition::of(bpmn_process_id, *version, tenant, graph);
        self.definitions.insert(process.key, definition);
    }

    /// Adds an element instance that began before the first learned record.
    pub fn add_element(&mut self, key: Key, ancestor: &Ancestor) {
        self.lineage.add(key, ancestor);
    }

    /// Must be called after the records of a batch have been rendered.
    pub fn batch_ends(&mut self) {
        self.lineage.batch_ends();
    }
}

impl Definition {
    fn of(process_id: &str, version: i32, tenant: &TenantId, graph: &Process) -> Definition {
        let names = |element: &Element| ElementNames {
            bpmn_process_id: process_id.to_string(),
            version,
            element_id: element.id.to_string(),
            element_type: element.element_type.as_str(),
            event_type: element.event_type(),
            custom_headers: element.headers_json().map_or("{}", |json| json).to_string(),
            tenant: tenant.clone(),
        };
        Definition {
            elements: graph.elements.iter().map(names).collect(),
            call_activities: graph.call_activities.clone(),
        }
    }

    /// The names of a model that this version cannot read.
    fn of_names(value: &ProcessValue) -> Definition {
        let names = |element: &PinnedElement| ElementNames {
            bpmn_process_id: value.bpmn_process_id.to_string(),
            version: value.version,
            element_id: element.id.to_string(),
            element_type: element.element_type.as_str(),
            event_type: "UNSPECIFIED",
            custom_headers: "{}".to_string(),
            tenant: value.tenant.clone(),
        };
        Definition {
            elements: value.elements.iter().map(names).collect(),
            call_activities: Arc::default(),
        }
    }
}

impl Definitions for RecordNames {
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames> {
        let definition = self.definitions.get(&process_definition_key)?;
        definition.elements.get(element as usize).cloned()
    }

    fn calling_element(&self, process_definition_key: Key, element: u32) -> Option<u32> {
        let definition = self.definitions.get(&process_definition_key)?;
        let id = &definition.elements.get(element as usize)?.element_id;
        let calls = &definition.call_activities;
        let place = calls.binary_search_by(|call| (**call).cmp(id)).ok()?;
        u32::try_from(place).ok()
    }

    fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    fn partition_id(&self) -> u32 {
        self.partition
    }

    fn broker_version(&self) -> &str {
        &self.broker_version
    }
}
