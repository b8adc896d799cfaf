//! Ad-hoc sub-process: its activities have no order. An expression, a command, or the worker of its job chooses which ones
//! are activated. Each runs in its own inner instance, with everything that follows it through sequence flows.

use std::sync::Arc;

use skep_feel::{Expression, Value};
use skep_model::{
    AdHocSubProcess as Definition, ElementIndex, ElementKind, JobDefinition, OutputCollection,
};
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::intent::AdHocSubProcessInstructionIntent;
use skep_protocol::value::{
    ActivateElement, Activation, AdHocSubProcessInstructionValue, JobKind, JobResult, Step,
};

use crate::processing::bpmn::container::{self, Container, Rest, Verdict};
use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, flows, incidents, lifecycle,
    output_collection, start_instructions, step, subscriptions,
};
use crate::processing::job::{self, create};
use crate::processing::{Context, Named, expression, variable};
use crate::state::ElementState;

/// Maximum number of activities that one expression, command or job result may activate: all begin in one turn.
pub(crate) const MAX_ACTIVATED: usize = 1_000;

pub(crate) struct AdHocSubProcess;

impl ElementBehavior for AdHocSubProcess {
    /// Publishes the list of activatable elements as a variable, for instance for an agent.
    fn prepare(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        let elements = &definition_of(cx, el)?.elements_json;
        variable::set_local(cx, el.key, &"adHocSubProcessElements".into(), elements);
        Ok(())
    }

    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let definition = definition_of(cx, el)?;
        let first = first_elements(cx, el, definition)?;
        let job = match &definition.job {
            Some(job) => Some(create::type_and_retries(
                cx,
                el,
                &job.job_type,
                &job.retries,
            )?),
            None => None,
        };
        begin_output(cx, el);
        subscriptions::subscribe_scope(cx, el)?;
        if let Some((job_type, retries)) = job {
            create_job(cx, el, job_type, retries);
        }
        lifecycle::activated(cx, el);
        // Start instructions that wait for this scope replace its first activities.
        if !start_instructions::go_on(cx, el.key) {
            let begun = first
                .into_iter()
                .map(|element| (element, &[][..]))
                .collect();
            let begun = begin_all(cx, el, definition, begun);
            activate_in(cx, begun);
        }
        Ok(Next::Wait)
    }

    /// Resumes an activated instance whose next job could not be created.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        if let Ok(definition) = definition_of(cx, el)
            && let Some(job) = &definition.job
            && !is_fulfilled(cx, el.key)
        {
            next_job(cx, el, job);
        }
        container::child_ended(cx, el.key);
    }

    /// The output collection moves to the scope around it. A job may still be open, if one was created after the completion was decided.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        cancel_job(cx, el);
        if let Some(output) = &definition_of(cx, el)?.output {
            output_collection::hand_over(cx, el, output);
        }
        Ok(())
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&AdHocSubProcess)
    }
}

/// Its children are inner instances and event sub-processes, and both are treated alike.
impl Container for AdHocSubProcess {
    fn child_completing(&self, cx: &mut Context<'_>, child: &Subject) -> Result<Verdict, Problem> {
        let Some(definition) = definition_around(child) else {
            return Ok(Verdict::GoOn);
        };
        let output = definition.output.as_ref();
        let element = output
            .map(|output| output_collection::element_of(cx, child, output))
            .transpose()?;
        // Both can fail, and are repeated once the incident is resolved: nothing is appended before.
        let condition = definition.completion_condition.as_ref();
        let holds = condition
            .map(|condition| holds_with(cx, child, condition, output.zip(element.as_ref())))
            .transpose()?;
        if let Some((output, element)) = output.zip(element) {
            output_collection::append(cx, child.flow_scope(), &output.collection, element)?;
        }
        let Some(holds) = holds else {
            return Ok(Verdict::GoOn);
        };
        let row = cx.state.elements.get(child.flow_scope());
        let is_last = row.is_some_and(|row| row.active_children == 1);
        if holds && (definition.cancel_remaining_instances || is_last) {
            Ok(Verdict::Fulfilled)
        } else {
            Ok(Verdict::GoOn)
        }
    }

    /// If a job decides what comes next, a new one is created. An undecided job is outdated.
    fn child_completed(&self, cx: &mut Context<'_>, child: &Subject) {
        let scope = child.flow_scope();
        let job = definition_around(child).and_then(|definition| definition.job.as_ref());
        let Some(job) = job.filter(|_| !is_fulfilled(cx, scope)) else {
            return;
        };
        if let Some(el) = Subject::load(cx, scope) {
            next_job(cx, &el, job);
        }
    }

    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        let Ok(definition) = definition_of(cx, scope) else {
            return Rest::Waits;
        };
        let somebody_decides =
            definition.job.is_some() || definition.completion_condition.is_some();
        if somebody_decides && !is_fulfilled(cx, scope.key) {
            Rest::Waits
        } else {
            Rest::Done
        }
    }

    /// Nobody decides about what was terminated: without children it completes, whatever its condition. Only an open job still decides: its
    /// worker may be at it.
    fn at_rest_after_termination(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        let row = cx.state.elements.get(scope.key);
        let is_open = row.is_some_and(|row| row.job_key.some().is_some());
        if is_open && !is_fulfilled(cx, scope.key) {
            Rest::Waits
        } else {
            Rest::Done
        }
    }
}

/// Evaluates the completion condition in the scope of the ad-hoc sub-process. It sees the output collection with the element of the completing child.
fn holds_with(
    cx: &mut Context<'_>,
    child: &Subject,
    condition: &Expression,
    added: Option<(&OutputCollection, &JsonText)>,
) -> Result<bool, Problem> {
    let mut overlay = Named::default();
    if let Some((output, element)) = added
        && condition.variables().contains(&output.collection)
        && let Some(list) =
            output_collection::appended(cx, child.flow_scope(), &output.collection, element)
    {
        overlay.set(output.collection.clone(), list);
    }
    let result = expression::extract_with(cx, condition, child.flow_scope(), &overlay)?;
    match result.value {
        Value::Boolean(holds) => Ok(holds),
        _ => Err(result.is_not("'BOOLEAN'")),
    }
}

/// The inner instance around an activated activity: a scope for it and for what follows it.
pub(crate) struct InnerInstance;

impl ElementBehavior for InnerInstance {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Wait)
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&InnerInstance)
    }
}

impl Container for InnerInstance {
    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        flows::at_rest(cx, scope)
    }
}

fn definition_of<'e>(cx: &Context<'_>, el: &'e Subject) -> Result<&'e Definition, Problem> {
    match &el.element().kind {
        ElementKind::AdHocSubProcess(definition) => Ok(definition),
        _ => Err(crate::processing::bpmn::wrong_kind(cx, el)),
    }
}

/// The definition of the ad-hoc sub-process around `child`.
fn definition_around(child: &Subject) -> Option<&Definition> {
    let scope = child.process.graph.element(child.element().parent);
    match &scope.kind {
        ElementKind::AdHocSubProcess(definition) => Some(definition),
        _ => None,
    }
}

/// Whether no more decisions are expected.
fn is_fulfilled(cx: &mut Context<'_>, key: Key) -> bool {
    let row = cx.state.elements.get(key);
    let extra = row.and_then(|row| row.extra.as_ref());
    extra.is_some_and(|extra| extra.fulfilled || extra.ending)
}

/// Evaluates `activeElementsCollection`.
fn first_elements(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &Definition,
) -> Result<Vec<ElementIndex>, Problem> {
    let Some(active) = &definition.active_elements else {
        return Ok(Vec::new());
    };
    let result = expression::extract(cx, active, el.key)?;
    let Value::List(list) = &result.value else {
        return Err(result.is_not("'ARRAY'"));
    };
    let mut ids: Vec<&str> = Vec::new();
    for item in list.iter() {
        match item {
            Value::String(id) => ids.push(id),
            _ => return Err(result.is_not("a list of element ids")),
        }
    }
    find_all(el, definition, &ids).map_err(|why| {
        let message =
            format!("Expected to activate elements of the ad-hoc sub-process, but {why}.");
        result.problem(message)
    })
}

/// Finds the activities with these ids.
fn find_all(
    el: &Subject,
    definition: &Definition,
    ids: &[&str],
) -> Result<Vec<ElementIndex>, String> {
    if ids.len() > MAX_ACTIVATED {
        let count = ids.len();
        return Err(format!(
            "there are {count}, and at most {MAX_ACTIVATED} can be activated at a time"
        ));
    }
    let graph = &el.process.graph;
    let activity = |id: &&str| {
        let found = graph.find(id);
        found.filter(|index| definition.activities.contains(index))
    };
    let unknown: Vec<&str> = ids
        .iter()
        .copied()
        .filter(|id| activity(id).is_none())
        .collect();
    if !unknown.is_empty() {
        return Err(format!(
            "it has no activities [{}] that no sequence flow leads to",
            unknown.join(", ")
        ));
    }
    Ok(ids.iter().filter_map(activity).collect())
}

/// Creates the empty output collection. Does nothing for an element that is not an ad-hoc sub-process.
pub(crate) fn begin_output(cx: &mut Context<'_>, el: &Subject) {
    if let ElementKind::AdHocSubProcess(definition) = &el.element().kind
        && let Some(output) = &definition.output
    {
        variable::set_local(cx, el.key, &output.collection, &"[]".into());
    }
}

type Variables<'a> = &'a [(Arc<str>, JsonText)];

/// Begins an inner instance for each of these activities, with its local variables. Returns the scopes in which the
/// activities are then to be activated.
fn begin_all(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &Definition,
    activities: Vec<(ElementIndex, Variables<'_>)>,
) -> Vec<(Key, ElementIndex)> {
    let output = definition.output.as_ref();
    let result = output.and_then(|output| output.element.accessed_variable());
    let mut begun = Vec::with_capacity(activities.len());
    for (activity, variables) in activities {
        let inner = Activation {
            scope: el.key,
            element: definition.inner_instance.0,
            via: None,
            consumed_flows: 0,
        };
        let Some(inner) = lifecycle::activating(cx, &inner) else {
            continue;
        };
        lifecycle::activate(cx, &inner);
        if let Some(name) = result {
            variable::set_local(cx, inner.key, name, &"null".into());
        }
        for (name, value) in variables {
            variable::set_local(cx, inner.key, name, value);
        }
        begun.push((inner.key, activity));
    }
    begun
}

fn activate_in(cx: &mut Context<'_>, begun: Vec<(Key, ElementIndex)>) {
    for (scope, activity) in begun {
        step::activate(cx, scope, activity);
    }
}

/// Finds the elements that a command or a job result activates.
///
/// # Errors
/// If some of them cannot be activated, with the reason.
pub(crate) fn check(
    cx: &Context<'_>,
    el: &Subject,
    elements: &[ActivateElement],
) -> Result<Vec<ElementIndex>, String> {
    let definition = definition_of(cx, el).map_err(|problem| problem.message)?;
    let ids: Vec<&str> = elements
        .iter()
        .map(|element| &*element.element_id)
        .collect();
    find_all(el, definition, &ids)
}

/// Carries out an instruction: ends the active inner instances if requested, and activates the elements, which are
/// `activities`. `key`: the key of the instruction's record.
pub(crate) fn activate_elements(
    cx: &mut Context<'_>,
    el: &Subject,
    key: Key,
    value: &AdHocSubProcessInstructionValue,
    activities: &[ElementIndex],
) {
    let Ok(definition) = definition_of(cx, el) else {
        return;
    };
    let before = Children::of(cx, el);
    let elements = value.activate_elements.iter();
    let with_variables = activities
        .iter()
        .zip(elements)
        .map(|(activity, element)| (*activity, &element.variables[..]));
    let begun = begin_all(cx, el, definition, with_variables.collect());
    cx.event(key, AdHocSubProcessInstructionIntent::Activated, value);
    if value.cancel_remaining_instances {
        before.terminate(cx, el);
    }
    activate_in(cx, begun);
}

/// The inner instances that exist at some time.
struct Children {
    oldest: Key,
    newest: Key,
}

impl Children {
    fn of(cx: &mut Context<'_>, el: &Subject) -> Children {
        let row = cx.state.elements.get(el.key);
        Children {
            oldest: row.map_or(Key::NONE, |row| row.last_child),
            newest: row.map_or(Key::NONE, |row| row.first_child),
        }
    }

    fn terminate(self, cx: &mut Context<'_>, el: &Subject) {
        if self.oldest.is_none() {
            return;
        }
        let next = cx.state.elements.child_after(el.key, self.oldest);
        lifecycle::terminate(cx, self.oldest);
        if self.oldest != self.newest {
            cx.steps.push(Step::TerminateChildren {
                scope: el.key,
                next,
                last: self.newest,
            });
        }
    }
}

/// Handles the completed job of an ad-hoc sub-process; `activities` are those that its result activates.
pub(crate) fn job_completed(
    cx: &mut Context<'_>,
    el: &Subject,
    variables: &[(Arc<str>, JsonText)],
    result: &JobResult,
    activities: &[ElementIndex],
) {
    let row = cx.state.elements.get(el.key);
    if row.is_none_or(|row| row.state != ElementState::Activated || row.is_interrupted()) {
        return;
    }
    variable::propagate(cx, el.key, variables);
    let instruction = AdHocSubProcessInstructionValue {
        ad_hoc_sub_process_instance_key: el.key,
        activate_elements: result.activate_elements.clone(),
        cancel_remaining_instances: result.cancel_remaining_instances,
        completion_condition_fulfilled: result.completion_condition_fulfilled,
    };
    if !activities.is_empty() {
        activate_elements(cx, el, el.key, &instruction, activities);
    }
    if result.completion_condition_fulfilled {
        let completed = AdHocSubProcessInstructionIntent::Completed;
        cx.event(el.key, completed, &instruction);
    }
    if activities.is_empty() {
        if result.cancel_remaining_instances {
            Children::of(cx, el).terminate(cx, el);
        }
        container::child_ended(cx, el.key);
    }
}

/// Creates the job that decides what comes next. An open one is outdated.
fn next_job(cx: &mut Context<'_>, el: &Subject, definition: &JobDefinition) {
    match create::type_and_retries(cx, el, &definition.job_type, &definition.retries) {
        Ok((job_type, retries)) => {
            cancel_job(cx, el);
            create_job(cx, el, job_type, retries);
        }
        Err(problem) => incidents::raise(cx, el, problem),
    }
}

/// Cancels the job that is open, and with it its incident.
fn cancel_job(cx: &mut Context<'_>, el: &Subject) {
    let row = cx.state.elements.get(el.key);
    if let Some(open) = row.and_then(|row| row.job_key.some()) {
        incidents::resolve_of_job(cx, el.key, open);
        job::cancel(cx, open, false);
    }
}

fn create_job(cx: &mut Context<'_>, el: &Subject, job_type: Arc<str>, retries: i32) {
    let mut job = create::value(el, job_type, retries);
    job.extra().kind = JobKind::AdHocSubProcess;
    create::create(cx, &job);
}
