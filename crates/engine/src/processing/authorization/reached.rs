//! Messages, signals and conditions reach processes that the caller does not name: the caller needs the permission to start
//! or to continue each of them. Without it for any of them, the whole command is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use skep_feel::{Evaluation, Value};
use skep_protocol::command::Reached;
use skep_protocol::permission::Permission;
use skep_protocol::{Document, Key, Rejection, RejectionType, TenantId, grants};

use super::{AccessCheck, grants_of_caller, tenancy};
use crate::processing::bpmn::subscriptions::conditional;
use crate::processing::{Context, expression, reject};

const START: &[Permission] = grants![ProcessDefinition: CreateProcessInstance];
const GO_ON: &[Permission] = grants![ProcessDefinition: UpdateProcessInstance];

/// Maximum number of subscriptions to check for a caller without permissions on all processes: as many as one command may
/// reach.
const MAX_LOOKED_AT: usize = 10_000;

pub(super) fn check(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    by: &Reached<'_>,
) -> Result<(), Rejection> {
    match by {
        Reached::Message {
            name,
            correlation_key,
        } => by_message(cx, access, name, correlation_key),
        Reached::Signal(name) => {
            let tenant = cx.tenant.clone();
            by_signal(cx, access, (&tenant, name))
        }
    }
}

fn by_message(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    name: &Arc<str>,
    correlation_key: &Arc<str>,
) -> Result<(), Rejection> {
    let tenant = cx.tenant.clone();
    let state = &mut *cx.state;
    let waiting = &state.message_subscriptions;
    for key in waiting.takers(&tenant, name, correlation_key) {
        if let Some(row) = state.message_subscriptions.get(key) {
            access.on(GO_ON, &row.bpmn_process_id)?;
        }
    }
    for key in state.message_starts.named(&tenant, name) {
        if let Some(row) = state.message_starts.get(key) {
            access.on(START, &row.bpmn_process_id)?;
        }
    }
    Ok(())
}

/// Whether a client's signal, sent by another partition, may be delivered on this partition.
pub(crate) fn signal(cx: &mut Context<'_>, tenant: &TenantId, name: &Arc<str>) -> bool {
    if !tenancy::may_signal(cx, tenant) {
        return false;
    }
    let Some(grants) = grants_of_caller(cx) else {
        return true;
    };
    let access = AccessCheck {
        grants: &grants,
        intent: "BROADCAST",
    };
    by_signal(cx, &access, (tenant, name)).is_ok()
}

fn by_signal(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    (tenant, name): (&TenantId, &Arc<str>),
) -> Result<(), Rejection> {
    if access.any(START).is_ok() && access.any(GO_ON).is_ok() {
        return Ok(());
    }
    let Some(last) = cx.state.signals.newest(tenant, name) else {
        return Ok(());
    };
    let mut seen: BTreeSet<(bool, Arc<str>)> = BTreeSet::new();
    let mut after = Key::NONE;
    for _ in 0..MAX_LOOKED_AT {
        let Some(next) = cx.state.signals.next(tenant, name, after, last) else {
            return Ok(());
        };
        after = next;
        let Some(row) = cx.state.signals.get(next) else {
            continue;
        };
        let reached = (row.is_of_definition(), row.bpmn_process_id.clone());
        if seen.contains(&reached) {
            continue;
        }
        let permissions = if reached.0 { START } else { GO_ON };
        access.on(permissions, &reached.1)?;
        seen.insert(reached);
    }
    Err(too_many(access, "subscriptions wait for the signal"))
}

/// Checks that no condition holds whose process the caller may not start.
pub(super) fn conditions(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    definition: Option<Key>,
    variables: &Document,
) -> Result<(), Rejection> {
    if access.any(START).is_ok() {
        return Ok(());
    }
    let tenant = cx.tenant.clone();
    if let Some(key) = definition {
        let process = cx.state.processes.startable(key);
        let own = process.filter(|process| process.tenant == tenant);
        let id = own.map(|process| process.bpmn_process_id.clone());
        return id.map_or(Ok(()), |id| access.on(START, &id));
    }
    let variables = expression::given(cx, variables.entries(), &tenant);
    let last = cx.state.conditions.newest_start(&tenant, Key::NONE);
    let mut after = Key::NONE;
    for _ in 0..MAX_LOOKED_AT {
        let conditions = &cx.state.conditions;
        let Some(next) = conditions.next_start(&tenant, Key::NONE, after, last) else {
            return Ok(());
        };
        if cx.is_spent() {
            break;
        }
        after = next;
        let Some(row) = cx.state.conditions.get(next) else {
            continue;
        };
        let (definition, event) = (row.process_definition_key, row.catch_event);
        let Some(process) = cx.process(definition) else {
            continue;
        };
        let Err(refusal) = access.on(START, &process.bpmn_process_id) else {
            continue;
        };
        let event = process.graph.elements.get(event as usize);
        let Some(condition) = event.and_then(conditional::condition_of) else {
            continue;
        };
        let context = expression::eval_context(cx);
        let Evaluation { value, steps, .. } = condition.expression.evaluate(&variables, &context);
        cx.budget.take_evaluation(steps);
        if matches!(value, Value::Boolean(true)) {
            return Err(refusal);
        }
    }
    Err(too_many(access, "conditions are waited for"))
}

fn too_many(access: &AccessCheck<'_>, what: &str) -> Rejection {
    reject(
        RejectionType::Forbidden,
        access.intent,
        format!(
            "Expected to check the permissions on all processes that are reached, but too many {what} for a caller who was not granted \
             CREATE_PROCESS_INSTANCE and UPDATE_PROCESS_INSTANCE on all of them"
        ),
    )
}
