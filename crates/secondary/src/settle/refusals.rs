//! Refused commands: their entries in the audit log belong to the tenant and the process of the entity that the command names.

use std::collections::BTreeSet;

use skep_exporting::TargetError;
use skep_query::entities::{AUDIT_LOG, INCIDENT, PROCESS_INSTANCE, USER_TASK};
use skep_query::{Entity, Value};

use super::{Stored, current};
use crate::changes::{Changes, Refusal};

/// Where an entity has the columns that its entries have, too.
struct Place {
    entity: &'static Entity,
    /// Pairs of columns: in the entry, and in the row of the entity.
    columns: &'static [(usize, usize)],
}

const TENANT: usize = AUDIT_LOG.column("tenantId");
const PROCESS_ID: usize = AUDIT_LOG.column("processDefinitionId");
const DEFINITION: usize = AUDIT_LOG.column("processDefinitionKey");
const INSTANCE: usize = AUDIT_LOG.column("processInstanceKey");
const ROOT: usize = AUDIT_LOG.column("rootProcessInstanceKey");
const ELEMENT: usize = AUDIT_LOG.column("elementInstanceKey");

static PLACES: [Place; 3] = [
    Place {
        entity: &PROCESS_INSTANCE,
        columns: &[
            (TENANT, PROCESS_INSTANCE.column("tenantId")),
            (PROCESS_ID, PROCESS_INSTANCE.column("processDefinitionId")),
            (DEFINITION, PROCESS_INSTANCE.column("processDefinitionKey")),
            (ROOT, PROCESS_INSTANCE.column("rootProcessInstanceKey")),
        ],
    },
    Place {
        entity: &USER_TASK,
        columns: &[
            (TENANT, USER_TASK.column("tenantId")),
            (PROCESS_ID, USER_TASK.column("processDefinitionId")),
            (DEFINITION, USER_TASK.column("processDefinitionKey")),
            (INSTANCE, USER_TASK.column("processInstanceKey")),
            (ROOT, USER_TASK.column("rootProcessInstanceKey")),
            (ELEMENT, USER_TASK.column("elementInstanceKey")),
        ],
    },
    Place {
        entity: &INCIDENT,
        columns: &[
            (TENANT, INCIDENT.column("tenantId")),
            (PROCESS_ID, INCIDENT.column("processDefinitionId")),
            (DEFINITION, INCIDENT.column("processDefinitionKey")),
            (INSTANCE, INCIDENT.column("processInstanceKey")),
            (ROOT, INCIDENT.column("rootProcessInstanceKey")),
            (ELEMENT, INCIDENT.column("elementInstanceKey")),
        ],
    },
];

pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let refusals = std::mem::take(&mut changes.refusals);
    for place in &PLACES {
        let all = refusals.iter();
        let here = all.filter(|refusal| std::ptr::eq(refusal.entity, place.entity));
        let here: Vec<&Refusal> = here.collect();
        if here.is_empty() {
            continue;
        }
        let keys: BTreeSet<i64> = here.iter().map(|refusal| refusal.key.0).collect();
        let columns: Vec<usize> = place.columns.iter().map(|(_, from)| *from).collect();
        let found = current(changes, stored, place.entity, &keys, &columns)?;
        for refusal in here {
            let values = found.get(&refusal.key.0).into_iter().flatten();
            for ((into, _), value) in place.columns.iter().zip(values) {
                if !matches!(value, Value::Null) {
                    changes.put(&AUDIT_LOG, refusal.row, *into, value.clone());
                }
            }
        }
    }
    Ok(())
}
