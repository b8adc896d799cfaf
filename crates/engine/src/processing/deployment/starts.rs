//! Start events of deployed and deleted definitions: the latest version of a process owns the subscriptions.

use skep_protocol::findings::{Finding, Invalid, Rule};
use skep_protocol::value::{ProcessValue, TimerValue};
use skep_protocol::{Key, Rejection, RejectionType};

use super::parse::{Content, Parsed};
use crate::processing::bpmn::subscriptions::{start, timer};
use crate::processing::{Context, reject};
use crate::remote::Definition;
use crate::state::DeployedProcess;

fn processes(created: &[Definition]) -> impl Iterator<Item = &ProcessValue> {
    created.iter().filter_map(|new| match new {
        Definition::Process(value) => Some(value),
        _ => None,
    })
}

/// The timers of the start events of each new process. Expressions are evaluated now.
pub(super) fn timers(
    cx: &mut Context<'_>,
    parsed: &[Parsed],
    created: &[Definition],
) -> Result<Vec<Vec<TimerValue>>, Rejection> {
    let (mut timers, mut invalid) = (Vec::new(), Vec::new());
    let graphs = parsed.iter().flat_map(|one| {
        let graphs = match &one.content {
            Content::Processes(model) => model.processes.as_slice(),
            _ => &[],
        };
        graphs.iter().map(|graph| (&one.name, graph))
    });
    // Either all processes are new, or none are.
    for (value, (resource_name, graph)) in processes(created).zip(graphs) {
        match start::timers(cx, graph, value.process_definition_key) {
            Ok(of_process) => timers.push(of_process),
            Err((element, problem)) => {
                let element = graph.element(element);
                let finding = Finding {
                    rule: Rule::TimerInvalid,
                    process_id: Some(graph.id.to_string()),
                    element_id: Some(element.id.to_string()),
                    element_type: Some("startEvent".to_string()),
                    message: format!(
                        "{} The timer of a start event is evaluated at deployment, when there are no variables yet.",
                        problem.message
                    ),
                    line: None,
                };
                invalid.push(Invalid::single(resource_name, finding));
            }
        }
    }
    if invalid.is_empty() {
        Ok(timers)
    } else {
        Err(Rejection::of_deployment("CREATE", invalid))
    }
}

/// A new process, and the version that was the latest before it.
pub(super) struct Replacement {
    new: Key,
    old: Option<Key>,
}

/// Finds the versions that new definitions replace. Call it before the new ones exist.
pub(super) fn replaced_by(cx: &Context<'_>, created: &[Definition]) -> Vec<Replacement> {
    let replacement = |value: &ProcessValue| {
        let latest = cx
            .state
            .processes
            .latest(&value.tenant, &value.bpmn_process_id);
        Replacement {
            new: value.process_definition_key,
            old: latest.map(|process| process.key),
        }
    };
    processes(created).map(replacement).collect()
}

/// Replaces the timers, which are on the partition that receives deployments.
pub(super) fn replace_timers(
    cx: &mut Context<'_>,
    replaced: &[Replacement],
    timers: &[Vec<TimerValue>],
) {
    for (replacement, timers) in replaced.iter().zip(timers) {
        if let Some(old) = replacement.old {
            start::close_timers(cx, old);
        }
        for timer in timers {
            timer::open(cx, timer);
        }
    }
}

/// Moves each partition's subscriptions to the latest versions.
pub(super) fn replace_subscriptions(cx: &mut Context<'_>, replaced: &[Replacement]) {
    for replacement in replaced {
        if let Some(old) = replacement.old {
            start::close_subscriptions(cx, old);
        }
        if let Some(process) = cx.process(replacement.new) {
            start::open_subscriptions(cx, &process);
        }
    }
}

/// Opens the timers of the version that becomes the latest when this one is deleted.
pub(super) fn timers_again(
    cx: &mut Context<'_>,
    process: &DeployedProcess,
) -> Result<Vec<TimerValue>, Rejection> {
    let before = cx.state.processes.successor_of_deleted(process.key);
    let Some(before) = before.cloned() else {
        return Ok(Vec::new());
    };
    start::timers(cx, &before.graph, before.key).map_err(|(_, problem)| {
        let reason = format!(
            "Expected to delete version {} of process '{}', so that version {} starts by its timers again, but: {} Delete that \
             version first.",
            process.version, process.bpmn_process_id, before.version, problem.message
        );
        reject(RejectionType::InvalidState, "DELETE", reason)
    })
}
