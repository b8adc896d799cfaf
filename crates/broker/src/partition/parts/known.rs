//! The definitions and element instances that an exporter must know at the entry where it begins, from the state.

use std::sync::Arc;

use bytes::Bytes;
use skep_engine::state::State;
use skep_exporting::Known;
use skep_protocol::json::{Ancestor, Started};
use skep_protocol::{Key, record};

/// The definitions and element instances in the state at this entry.
pub(super) fn known(state: &mut State, entry: u64) -> Known {
    Known {
        entry,
        definitions: definitions(state),
        elements: elements(state),
    }
}

/// The bodies of the PROCESS records.
pub(super) fn definitions(state: &mut State) -> Arc<[Bytes]> {
    let records = state.processes.records();
    let bodies = records.iter().map(record::encode);
    bodies.map(Bytes::from).collect()
}

/// The live element instances, with their places.
pub(super) fn elements(state: &State) -> Arc<[(Key, Ancestor)]> {
    let mut elements = Vec::new();
    let read = state.elements.table.for_each(|key, row| {
        let extra = row.extra.as_deref();
        let started = extra.map(|extra| Started {
            tags: extra.tags.clone(),
            business_id: extra.business_id.clone().unwrap_or_default(),
        });
        let is_process = row.flow_scope_key.some().is_none();
        let ancestor = Ancestor {
            element: row.element,
            definition: row.process_definition_key,
            scope: row.flow_scope_key,
            caller: if is_process {
                row.parent_element_instance_key()
            } else {
                Key::NONE
            },
            root: row.root_process_instance_key(),
            started: started.filter(|started| is_process && *started != Started::default()),
        };
        elements.push((key, ancestor));
    });
    if let Err(error) = read {
        tracing::error!(code = "EXPORTER", %error, "element instances cannot be read; exported records lack their paths");
    }
    elements.into()
}
