//! The sequence flows that a process instance took, from its row.

use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{Row, Value};

/// One row per flow: sequence flow ID, process instance, root process instance, definition, process ID, tenant.
pub fn of(instance: &Row) -> Vec<Row> {
    let column = |at: usize| instance.get(at).cloned().unwrap_or_default();
    let shared = [
        column(const { PROCESS_INSTANCE.column("processInstanceKey") }),
        column(const { PROCESS_INSTANCE.column("rootProcessInstanceKey") }),
        column(const { PROCESS_INSTANCE.column("processDefinitionKey") }),
        column(const { PROCESS_INSTANCE.column("processDefinitionId") }),
        column(const { PROCESS_INSTANCE.column("tenantId") }),
    ];
    let taken = column(const { PROCESS_INSTANCE.column("takenFlows") });
    let ids = taken.as_text().unwrap_or_default().lines();
    let row = |id: &str| std::iter::once(Value::text(id)).chain(shared.clone());
    ids.map(|id| row(id).collect()).collect()
}
