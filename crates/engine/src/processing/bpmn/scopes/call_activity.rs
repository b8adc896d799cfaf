//! Call activity: starts an instance of another process and waits for its end.

use std::sync::Arc;

use skep_model::{CalledElement, ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceIntent;
use skep_protocol::value::{ErrorType, ProcessInstanceValue};

use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Step, Subject, binding, incidents, lifecycle,
    subscriptions,
};
use crate::processing::{Context, expression, variable};
use crate::remote::Variables;
use crate::state::{DeployedProcess, ElementState, VariableNames};

pub(crate) struct CallActivity;

impl ElementBehavior for CallActivity {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let ElementKind::CallActivity(called) = &el.element().kind else {
            return Err(crate::processing::bpmn::wrong_kind(cx, el));
        };
        let process = find_called(cx, el, called)?;
        check_callable(cx, el, &process)?;
        // Any failure occurs here, and not in the step that makes the call.
        variables_for(cx, el, called)?;
        subscriptions::subscribe_boundary_events(cx, el)?;
        lifecycle::activated(cx, el);
        cx.steps.push(Step::Call {
            caller: el.key,
            definition: process.key,
        });
        Ok(Next::Wait)
    }

    /// Resumes an activated instance whose call or completion was held up by an incident.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        if called_instance(cx, el.key).some().is_some() {
            cx.steps.push(Step::Complete(el.key));
            return;
        }
        let ElementKind::CallActivity(called) = &el.element().kind else {
            return;
        };
        match find_called(cx, el, called) {
            Ok(process) => call(cx, el.key, process.key),
            Err(problem) => incidents::raise(cx, el, problem),
        }
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        terminate_called(cx, el.key)
    }
}

/// Begins the called process, in a separate step.
pub(crate) fn call(cx: &mut Context<'_>, caller: Key, definition: Key) {
    let Some(row) = cx.state.elements.get(caller) else {
        return;
    };
    // It is ending, and has nothing to wait for.
    if row.state != ElementState::Activated || row.is_interrupted() {
        return;
    }
    let Some(el) = Subject::load(cx, caller) else {
        return;
    };
    if let Err(problem) = begin(cx, &el, definition) {
        incidents::raise(cx, &el, problem);
    }
}

fn begin(cx: &mut Context<'_>, el: &Subject, definition: Key) -> Result<(), Problem> {
    let ElementKind::CallActivity(called) = &el.element().kind else {
        return Err(crate::processing::bpmn::wrong_kind(cx, el));
    };
    let Some(process) = cx.process(definition) else {
        let message = format!("The definition {definition} of the called process was deleted.");
        return Err(Problem::new(ErrorType::CalledElementError, message));
    };
    let variables = variables_for(cx, el, called)?;
    let key = cx.new_key();
    let value = ProcessInstanceValue {
        process_definition_key: process.key,
        process_instance_key: key,
        element: ElementIndex::PROCESS.0,
        flow_scope_key: Key::NONE,
        parent_process_instance_key: el.value.process_instance_key,
        parent_element_instance_key: el.key,
        root_process_instance_key: el.value.root_process_instance_key,
        consumed_flows: 0,
    };
    for (name, text) in &variables {
        variable::create_before(cx, &value, name, text);
    }
    cx.event(key, ProcessInstanceIntent::ElementActivating, &value);
    let child = Subject {
        key,
        process,
        value,
    };
    lifecycle::activate(cx, &child);
    Ok(())
}

fn check_callable(
    cx: &mut Context<'_>,
    el: &Subject,
    process: &DeployedProcess,
) -> Result<(), Problem> {
    let refused = |why: String| Err(Problem::new(ErrorType::CalledElementError, why));
    if let Some(reason) = &process.unusable {
        return refused(reason.to_string());
    }
    if process.graph.none_start_event().is_none() {
        return refused(format!(
            "Expected process with BPMN process id '{}' to have a none start event, but not found.",
            process.bpmn_process_id
        ));
    }
    let depth = depth_of(cx, el) + 1;
    if depth > cx.config.max_process_depth {
        return refused(format!(
            "The call activity would start a process {depth} calls deep, but at most {} are allowed. Check whether the process calls \
             itself without end.",
            cx.config.max_process_depth
        ));
    }
    Ok(())
}

/// The variables passed to the called process.
fn variables_for(
    cx: &mut Context<'_>,
    el: &Subject,
    called: &CalledElement,
) -> Result<Variables, Problem> {
    let variables: Variables = if called.propagate_all_parent_variables {
        cx.state
            .elements
            .visible_variables(el.key, &VariableNames::all())
    } else {
        let row = cx.state.elements.get(el.key);
        let local = row.into_iter().flat_map(|row| &row.variables);
        local.map(|v| (v.name.clone(), v.value().clone())).collect()
    };
    check_size(cx, &variables, "called process")?;
    Ok(variables)
}

/// Terminates the instance that this element has called, if there is one.
pub(crate) fn terminate_called(cx: &mut Context<'_>, key: Key) -> Ending {
    let called = called_instance(cx, key);
    match called.some() {
        Some(child) if cx.state.elements.get(child).is_some() => {
            cx.steps.push(Step::Terminate(child));
            Ending::Waits
        }
        _ => Ending::Now,
    }
}

/// Called when the called process has ended in any way. A completed one hands on its variables.
pub(crate) fn called_ended(cx: &mut Context<'_>, call_activity: Key, handed_on: Variables) {
    let Some(row) = cx.state.elements.get(call_activity) else {
        return cx.broken(format_args!(
            "the call activity {call_activity} of a process is gone"
        ));
    };
    let (state, instance) = (row.state, row.process_instance_key);
    match state {
        // A banned instance can only be cancelled.
        ElementState::Activated if cx.state.banned.contains(instance) => {}
        ElementState::Activated if !handed_on.is_empty() => {
            if let Some(el) = Subject::load(cx, call_activity) {
                lifecycle::complete_with(cx, &el, &handed_on, None);
            }
        }
        ElementState::Activated => cx.steps.push(Step::Complete(call_activity)),
        ElementState::Terminating => cx.steps.push(Step::Terminated(call_activity)),
        ElementState::Activating | ElementState::Completing => {}
    }
}

/// Called when the called process was terminated. A call activity that is waiting for exactly that ends with it (see
/// [`lifecycle::terminated`]).
pub(crate) fn called_terminated(cx: &mut Context<'_>, call_activity: Key) {
    let row = cx.state.elements.get(call_activity);
    if row.is_none_or(|row| row.state != ElementState::Terminating) {
        called_ended(cx, call_activity, Variables::new());
    }
}

fn called_instance(cx: &mut Context<'_>, key: Key) -> Key {
    cx.state
        .elements
        .get(key)
        .and_then(|row| row.extra.as_ref())
        .map_or(Key::NONE, |extra| extra.called_instance)
}

/// Call depth of the instance of `el`; 1 for a root instance.
fn depth_of(cx: &mut Context<'_>, el: &Subject) -> u32 {
    let mut depth = 1;
    let mut parent = el.value.parent_element_instance_key;
    while let Some(row) = cx.state.elements.get(parent) {
        depth += 1;
        parent = row.parent_element_instance_key();
        if depth > cx.config.max_process_depth {
            break;
        }
    }
    depth
}

fn find_called(
    cx: &mut Context<'_>,
    el: &Subject,
    called: &CalledElement,
) -> Result<Arc<DeployedProcess>, Problem> {
    let id = expression::text(cx, &called.process_id, el.key)?;
    let (tenant, deployment) = (&el.process.tenant, el.process.deployment_key);
    let processes = &cx.state.processes;
    let found = processes.bound(tenant, &id, &called.binding, deployment);
    found.cloned().ok_or_else(|| {
        let not_found = binding::not_found(&called.binding, deployment);
        let message = format!("Expected process with BPMN process id '{id}' {not_found}.");
        Problem::new(ErrorType::CalledElementError, message)
    })
}

/// The variables that the completing process hands to the call activity.
pub(crate) fn variables_of_called(
    cx: &mut Context<'_>,
    child: &Subject,
) -> Result<Variables, Problem> {
    let Some(parent) = Subject::load(cx, child.value.parent_element_instance_key) else {
        return Ok(Variables::new());
    };
    let ElementKind::CallActivity(called) = &parent.element().kind else {
        return Ok(Variables::new());
    };
    if !called.propagate_all_child_variables && parent.element().outputs.is_empty() {
        return Ok(Variables::new());
    }
    let Some(row) = cx.state.elements.get(child.key) else {
        return Ok(Variables::new());
    };
    let variables: Vec<_> = row
        .variables
        .iter()
        .map(|v| (v.name.clone(), v.value().clone()))
        .collect();
    check_size(cx, &variables, "calling process")?;
    Ok(variables)
}

/// Checks the size: variables are copied in one step, which must fit into a batch.
fn check_size(cx: &Context<'_>, variables: &Variables, target: &str) -> Result<(), Problem> {
    let bytes: usize = variables.iter().map(|(n, v)| n.len() + v.len()).sum();
    let most = cx.max_step_bytes();
    if bytes <= most {
        return Ok(());
    }
    Err(Problem::new(
        ErrorType::IoMappingError,
        format!(
            "Expected to pass the variables of the process to the {target}, but they have {bytes} bytes and at most {most} are allowed. \
             Let mappings choose fewer of them, or make them smaller, then resolve the incident."
        ),
    ))
}
