//! PROCESS_INSTANCE_CREATION CREATE and CREATE_WITH_AWAITING_RESULT.

use std::collections::HashSet;
use std::sync::Arc;

use skep_model::ElementIndex;
use skep_protocol::command::{CreateProcessInstance, ProcessRef};
use skep_protocol::intent::{ProcessInstanceCreationIntent, ProcessInstanceIntent};
use skep_protocol::response::ProcessInstanceCreated;
use skep_protocol::value::{ProcessInstanceCreationValue, ProcessInstanceValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use crate::processing::bpmn::{Subject, lifecycle, start_instructions};
use crate::processing::{Context, Outcome, reject, variable};
use crate::state::DeployedProcess;

/// Maximum number of start instructions of one creation: all elements begin in one turn.
const MAX_START_INSTRUCTIONS: usize = 1_000;

pub(crate) fn process(cx: &mut Context<'_>, command: &CreateProcessInstance) -> Outcome {
    let intent = intent_name(command);
    skep_protocol::tags::check(&command.tags)
        .map_err(|why| reject(RejectionType::InvalidArgument, intent, why))?;
    let process = find(cx, &command.process, intent)?;
    let start_at = start_elements(&process, command, intent)?;
    // An element that does not exist never ends. The reference accepts waiting for it as well.
    // The list is searched whenever an element ends, so duplicates are dropped.
    let mut seen = HashSet::new();
    let terminate_after = command.terminate_after.iter();
    let terminate_after = terminate_after
        .filter_map(|id| process.graph.find(id))
        .map(|index| index.0)
        .filter(|index| seen.insert(*index))
        .collect();

    let key = cx.new_key();
    let value = ProcessInstanceValue {
        process_definition_key: process.key,
        process_instance_key: key,
        element: ElementIndex::PROCESS.0,
        flow_scope_key: Key::NONE,
        parent_process_instance_key: Key::NONE,
        parent_element_instance_key: Key::NONE,
        root_process_instance_key: key,
        consumed_flows: 0,
    };
    for (name, text) in command.variables.entries() {
        variable::create_before(cx, &value, name, text);
    }
    let creation = ProcessInstanceCreationValue {
        process_definition_key: process.key,
        process_instance_key: key,
        bpmn_process_id: process.bpmn_process_id.clone(),
        version: process.version,
        start_elements: start_at.iter().map(|e| e.0).collect(),
        terminate_after,
        tags: command.tags.clone(),
        business_id: command.business_id.clone(),
    };
    let root = Subject {
        key,
        process,
        value,
    };
    begin(cx, &root, &creation, &start_at);
    let process = root.process;

    let created = ProcessInstanceCreated {
        process_definition_key: process.key,
        bpmn_process_id: process.bpmn_process_id.clone(),
        version: process.version,
        process_instance_key: key,
        tags: creation.tags.into(),
        business_id: creation.business_id,
    };
    let answer = match (&command.await_result, cx.request) {
        (Some(wanted), Some(request)) => {
            cx.volatile
                .awaiting_results
                .insert(key, (request, wanted.clone()));
            None
        }
        _ => Some(Response::ProcessInstanceCreated(created)),
    };
    Ok(answer)
}

/// Begins the instance. With start instructions it counts as created once the scopes around its start elements exist.
fn begin(
    cx: &mut Context<'_>,
    root: &Subject,
    creation: &ProcessInstanceCreationValue,
    start_at: &[ElementIndex],
) {
    let activating = ProcessInstanceIntent::ElementActivating;
    if start_at.is_empty() {
        created(cx, creation);
        cx.event(root.key, activating, &root.value);
        lifecycle::activate(cx, root);
    } else {
        cx.event(root.key, activating, &root.value);
        start_instructions::activate_at(cx, root, start_at);
        created(cx, creation);
    }
}

fn created(cx: &mut Context<'_>, creation: &ProcessInstanceCreationValue) {
    let key = cx.next_key();
    cx.event(key, ProcessInstanceCreationIntent::Created, creation);
}

fn intent_name(command: &CreateProcessInstance) -> &'static str {
    match command.await_result {
        Some(_) => "CREATE_WITH_AWAITING_RESULT",
        None => "CREATE",
    }
}

fn find(
    cx: &Context<'_>,
    wanted: &ProcessRef,
    intent: &'static str,
) -> Result<Arc<DeployedProcess>, Rejection> {
    let processes = &cx.state.processes;
    let (found, what) = match wanted {
        ProcessRef::Key(key) => (processes.startable(*key), format!("key '{key}'")),
        ProcessRef::Id {
            bpmn_process_id,
            version,
        } if *version < 0 => (
            processes.latest(&cx.tenant, bpmn_process_id),
            format!("process ID '{bpmn_process_id}'"),
        ),
        ProcessRef::Id {
            bpmn_process_id,
            version,
        } => (
            processes.version(&cx.tenant, bpmn_process_id, *version),
            format!("process ID '{bpmn_process_id}' and version '{version}'"),
        ),
    };
    let found = found.filter(|process| process.tenant == cx.tenant);
    let found = found.cloned().ok_or_else(|| {
        reject(
            RejectionType::NotFound,
            intent,
            format!("Expected to find process definition with {what}, but none found"),
        )
    })?;
    match &found.unusable {
        None => Ok(found),
        Some(reason) => Err(reject(
            RejectionType::InvalidState,
            intent,
            reason.to_string(),
        )),
    }
}

fn start_elements(
    process: &DeployedProcess,
    command: &CreateProcessInstance,
    intent: &'static str,
) -> Result<Vec<ElementIndex>, Rejection> {
    if command.start_instructions.is_empty() && process.graph.none_start_event().is_none() {
        return Err(reject(
            RejectionType::InvalidState,
            intent,
            format!(
                "Expected to create instance of process with none start event, but there is no such event in process '{}'",
                process.bpmn_process_id
            ),
        ));
    }
    let count = command.start_instructions.len();
    if count > MAX_START_INSTRUCTIONS {
        return Err(reject(
            RejectionType::InvalidArgument,
            intent,
            format!(
                "Expected to create instance of process with at most {MAX_START_INSTRUCTIONS} start instructions, but there \
                 are {count}. Create several instances."
            ),
        ));
    }
    command
        .start_instructions
        .iter()
        .map(|id| {
            start_instructions::check(&process.graph, id)
                .map_err(|reason| reject(RejectionType::InvalidArgument, intent, reason))
        })
        .collect()
}
