//! An instance that a message has started keeps other messages with its correlation key from starting instances of its
//! process. After the migration it does so in the target's process, if messages start that.

use std::sync::Arc;

use skep_protocol::intent::MessageStartEventSubscriptionIntent as Intent;
use skep_protocol::value::MessageStartEventSubscriptionValue;
use skep_protocol::{Key, Rejection, RejectionType};

use super::plan::Plan;
use super::refuse;
use crate::processing::bpmn::subscriptions::start;
use crate::processing::{Context, reject, slots};

/// The version of the protocol between nodes since which nodes know MIGRATED of a correlation key.
const KEYS_MOVE_SINCE: u32 = 4;

/// Checks that no other instance of the target's process was started with the instance's correlation key.
pub(super) fn check(cx: &mut Context<'_>, plan: &Plan) -> Result<(), Rejection> {
    let target = &plan.target;
    if !changes_process(plan) || !start::has_message(&target.graph) {
        return Ok(());
    }
    let Some(started) = cx.state.message_starts.started_by(plan.instance) else {
        return Ok(());
    };
    let key = &started.correlation_key;
    let starts = &cx.state.message_starts;
    if !starts.is_running(&target.tenant, &target.bpmn_process_id, key) {
        return Ok(());
    }
    Err(reject(
        RejectionType::InvalidState,
        "MIGRATE",
        format!(
            "Expected to migrate process instance '{}' but target process definition '{}' has an active instance triggered by a \
             message start event with correlation key '{key}'. Only one instance per correlation key is allowed for message \
             start events.",
            plan.instance, target.key
        ),
    ))
}

/// Hands the correlation key over to the target's process. It is checked again, because in a migration that takes several
/// turns a message may have started an instance since.
pub(super) fn migrate(cx: &mut Context<'_>, plan: &Plan) -> Result<(), Rejection> {
    check(cx, plan)?;
    let is_started = start::has_message(&plan.target.graph);
    if is_started && !changes_process(plan) {
        return Ok(());
    }
    // In the target's process it keeps none from starting: only the partition to which the key has moved could tell whether it may.
    if slots::starts::is_elsewhere(cx, plan.instance) {
        slots::starts::release(cx, plan.instance);
        return Ok(());
    }
    let Some(started) = cx.state.message_starts.started_by(plan.instance) else {
        return Ok(());
    };
    known_everywhere(cx, plan)?;
    let next = start::next_start(cx, plan.instance);
    let bpmn_process_id = if is_started {
        plan.target.bpmn_process_id.clone()
    } else {
        Arc::default()
    };
    let value = MessageStartEventSubscriptionValue {
        process_definition_key: plan.target.key,
        bpmn_process_id,
        message_name: Arc::default(),
        start_event: 0,
        process_instance_key: plan.instance,
        message_key: Key::NONE,
        correlation_key: started.correlation_key,
        variables: Vec::new(),
        tenant: started.tenant,
    };
    cx.event(plan.instance, Intent::Migrated, &value);
    start::start_next(cx, next);
    Ok(())
}

/// New migrations are refused on arrival. This one may have begun before the upgrade of the leader's node: as an item of a batch operation,
/// or in turns.
fn known_everywhere(cx: &Context<'_>, plan: &Plan) -> Result<(), Rejection> {
    let spoken = cx.config.oldest_node.version();
    if spoken >= KEYS_MOVE_SINCE {
        return Ok(());
    }
    Err(refuse(
        RejectionType::InvalidState,
        plan.instance,
        format_args!(
            "a message has started it: moving its correlation key needs version {KEYS_MOVE_SINCE} of the protocol between nodes, and a \
             node of the cluster speaks version {spoken}. Nothing was done; upgrade all nodes, then migrate it again"
        ),
    ))
}

fn changes_process(plan: &Plan) -> bool {
    plan.source.bpmn_process_id != plan.target.bpmn_process_id
}
