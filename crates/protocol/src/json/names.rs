//! What the renderer finds out about the entities that records name by index or key.

use serde_json::{Value, json};

use super::{Definitions, ElementNames, Started, set};
use crate::key::Key;
use crate::tenant::TenantId;

pub(super) struct Names<'a>(pub(super) &'a dyn Definitions);

impl Names<'_> {
    pub(super) fn of(&self, process_definition_key: Key, element: u32) -> ElementNames {
        self.0
            .element(process_definition_key, element)
            .unwrap_or_default()
    }

    /// The tenant of a definition and its instances. Records without a definition belong to the default tenant.
    pub(super) fn tenant(&self, process_definition_key: Key) -> TenantId {
        let Some(key) = process_definition_key.some() else {
            return TenantId::default();
        };
        let process = self.0.element(key, 0);
        process.map_or_else(TenantId::unknown, |process| process.tenant)
    }

    /// The tenant of an element instance.
    pub(super) fn tenant_of_instance(&self, element_instance_key: Key) -> TenantId {
        let definition = self.0.lineage().definition(element_instance_key);
        definition.map_or_else(TenantId::unknown, |key| self.tenant(key))
    }

    pub(super) fn started(&self, process_instance_key: Key) -> Started {
        self.0.lineage().started(process_instance_key)
    }

    /// Adds the three paths of an element instance.
    pub(super) fn with_path(&self, mut value: Value, element_instance_key: Key) -> Value {
        let path = self.0.lineage().path(element_instance_key, self.0);
        for (name, keys) in [
            ("elementInstancePath", json!(path.element_instances)),
            ("processDefinitionPath", json!(path.definitions)),
            ("callingElementPath", json!(path.calling_elements)),
        ] {
            set(&mut value, name, keys);
        }
        value
    }
}
