//! DEPLOYMENT CREATE: all resources or none.

use std::borrow::Cow;

use skep_protocol::command::Deploy;
use skep_protocol::intent::{
    DecisionIntent, DecisionRequirementsIntent, DeploymentIntent, FormIntent, ProcessIntent,
    ResourceIntent,
};
use skep_protocol::value::{DeploymentValue, ProcessValue, TimerValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::parse::{Content, Parsed};
use super::plan::{Plan, plan};
use super::{distribution, parse, starts};
use crate::prepared::{Compiled, Kind, Prepared};
use crate::processing::{Context, Outcome, reject};
use crate::remote::{Definition, Distributed};

pub(crate) fn process(cx: &mut Context<'_>, command: &Deploy) -> Outcome {
    let parsed = parsed(cx, command)?;
    let deployment_key = cx.next_key();
    let (plan, timers) = planned(cx, &parsed, deployment_key)?;
    let replaced = starts::replaced_by(cx, &plan.created);
    keep_compiled(cx, parsed, &plan.created);
    plan.created.iter().for_each(|new| created(cx, new));
    starts::replace_timers(cx, &replaced, &timers);
    cx.event(deployment_key, DeploymentIntent::Created, &plan.deployment);
    starts::replace_subscriptions(cx, &replaced);
    let command = Distributed::Deployment {
        deployment_key,
        definitions: plan.created,
    };
    let key = cx.next_key();
    let answer = Response::Deployed(plan.deployment);
    Ok(distribution::start(cx, key, command, answer))
}

/// The checks of a deployment only: nothing is written.
pub(crate) fn check(cx: &mut Context<'_>, command: &Deploy) -> Outcome {
    let parsed = parsed(cx, command);
    let planned = parsed.and_then(|parsed| planned(cx, &parsed, Key::NONE));
    let checked = planned.map(|(plan, _)| plan.deployment);
    Ok(Some(Response::DeploymentChecked(checked)))
}

fn parsed(cx: &mut Context<'_>, command: &Deploy) -> Result<Vec<Parsed>, Rejection> {
    match cx.prepared.take() {
        Some(Prepared(Kind::Resources(parsed))) => parsed,
        _ => parse::all(&command.resources),
    }
}

/// The resources of a deployment, with the timers of the start events of each new process.
fn planned(
    cx: &mut Context<'_>,
    parsed: &[Parsed],
    deployment_key: Key,
) -> Result<(Plan, Vec<Vec<TimerValue>>), Rejection> {
    let plan = plan(cx, parsed, deployment_key);
    check_size(cx, &plan.created)?;
    let timers = starts::timers(cx, parsed, &plan.created)?;
    Ok((plan, timers))
}

/// Keeps the definitions compiled for the checks, so that they need not be compiled again.
fn keep_compiled(cx: &mut Context<'_>, parsed: Vec<Parsed>, created: &[Definition]) {
    let keys = |of: fn(&Definition) -> Option<Key>| created.iter().filter_map(of);
    let mut processes = keys(|new| match new {
        Definition::Process(value) => Some(value.process_definition_key),
        _ => None,
    });
    let mut decisions = keys(|new| match new {
        Definition::DecisionRequirements(value) => Some(value.metadata.key),
        _ => None,
    });
    // Either everything is new, in the order of the resources, or nothing is.
    for one in parsed {
        match one.content {
            Content::Processes(model) => {
                for (graph, key) in model.processes.into_iter().zip(processes.by_ref()) {
                    cx.state.processes.keep_compiled(key, graph);
                }
            }
            Content::Decisions(graph) => {
                if let Some(key) = decisions.next() {
                    cx.state.decisions.keep_compiled(key, graph);
                }
            }
            Content::Form(_) | Content::Script(_) => {}
        }
    }
}

fn created(cx: &mut Context<'_>, new: &Definition) {
    match new {
        Definition::Process(value) => {
            cx.event(value.process_definition_key, ProcessIntent::Created, value);
        }
        Definition::DecisionRequirements(value) => {
            cx.event(
                value.metadata.key,
                DecisionRequirementsIntent::Created,
                value,
            );
        }
        Definition::Decision(value) => cx.event(value.key, DecisionIntent::Created, value),
        Definition::Form(value) => cx.event(value.0.metadata.key, FormIntent::Created, value),
        Definition::Resource(value) => {
            cx.event(value.0.metadata.key, ResourceIntent::Created, value);
        }
    }
}

/// Maximum bytes of the records of one deployment. They are in one batch, and several copies may be in memory at once.
const MAX_RECORDS_BYTES: usize = 32 << 20;

/// Checks the size: each new process has a record with the whole resource, and all of them are sent to the other
/// partitions.
fn check_size(cx: &Context<'_>, created: &[Definition]) -> Result<(), Rejection> {
    let elements = |value: &ProcessValue| {
        let elements = value.elements.iter();
        elements.map(|element| element.id.len() + 2).sum::<usize>()
    };
    let sizes = created.iter().map(|new| match new {
        Definition::Process(value) => value.resource.len() + elements(value),
        Definition::DecisionRequirements(value) => value.resource.len(),
        Definition::Decision(value) => value.id.len() + value.name.len(),
        Definition::Form(value) => value.0.resource.len(),
        Definition::Resource(value) => value.0.resource.len(),
    });
    let copies = if cx.config.routing.count() > 1 { 2 } else { 1 };
    let bytes = copies * sizes.sum::<usize>();
    if bytes <= MAX_RECORDS_BYTES {
        return Ok(());
    }
    let reason = format!(
        "Expected to deploy {} definitions, but their records would take {bytes} bytes, more than the {MAX_RECORDS_BYTES} \
         that one deployment may write: each process is recorded with the whole of its resource. Split resources with many \
         processes, or deploy fewer at a time.",
        created.len()
    );
    Err(reject(
        RejectionType::ExceededBatchRecordSize,
        "CREATE",
        reason,
    ))
}

/// DEPLOYMENT DISTRIBUTE: creates the definitions that another partition has deployed.
pub(crate) fn distributed(cx: &mut Context<'_>, deployment_key: Key, definitions: &[Definition]) {
    if let Some(Prepared(Kind::Definitions(compiled))) = cx.prepared.take() {
        for one in compiled {
            match one {
                Compiled::Process(key, graph) => cx.state.processes.keep_compiled(key, graph),
                Compiled::Decisions(key, graph) => cx.state.decisions.keep_compiled(key, graph),
            }
        }
    }
    // A new partition may already have got them with the global state.
    let mut definitions = Cow::Borrowed(definitions);
    if definitions.iter().any(|new| is_there(cx, new)) {
        definitions.to_mut().retain(|new| !is_there(cx, new));
    }
    if definitions.is_empty() {
        return;
    }
    let replaced = starts::replaced_by(cx, &definitions);
    definitions.iter().for_each(|new| created(cx, new));
    let tenant = definitions.first().map(Definition::tenant);
    let value = DeploymentValue {
        deployment_key,
        tenant: tenant.cloned().unwrap_or_default(),
        ..DeploymentValue::default()
    };
    cx.event(deployment_key, DeploymentIntent::Distributed, &value);
    starts::replace_subscriptions(cx, &replaced);
}

fn is_there(cx: &Context<'_>, new: &Definition) -> bool {
    let state = &cx.state;
    match new {
        Definition::Process(value) => state.processes.get(value.process_definition_key).is_some(),
        Definition::DecisionRequirements(value) => state
            .decisions
            .requirements
            .pin(value.metadata.key)
            .is_some(),
        Definition::Decision(value) => state.decisions.decisions.pin(value.key).is_some(),
        Definition::Form(value) => state.forms.pin(value.0.metadata.key).is_some(),
        Definition::Resource(value) => state.resources.pin(value.0.metadata.key).is_some(),
    }
}
