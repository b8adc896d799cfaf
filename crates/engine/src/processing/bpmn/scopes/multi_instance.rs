//! Multi-instance: an activity that runs once for each item of a collection, in parallel or sequentially.
//!
//! The body is a separate element around the activity: it has the activity's sequence flows and boundary events, and its
//! inner instances are its children. Each inner instance begins in its own step, so even very many do not delay other
//! commands.

use skep_feel::Value;
use skep_model::{ElementKind, MultiInstance, TextValue};
use skep_protocol::Key;
use skep_protocol::document::JsonText;
use skep_protocol::intent::MultiInstanceIntent;
use skep_protocol::value::{Activation, ErrorType, MultiInstanceValue, Step};

use crate::processing::bpmn::container::{self, Container, Rest, Verdict};
use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, lifecycle, output_collection, subscriptions,
};
use crate::processing::{Context, Named, expression, variable};
use crate::state::{ElementState, Loop};

pub(crate) struct MultiInstanceBody;

impl ElementBehavior for MultiInstanceBody {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let definition = definition_of_body(cx, el)?;
        let items = evaluate_collection(cx, el, definition)?;
        let count = items.len();
        let value = MultiInstanceValue {
            input_collection: items,
            chain: cx.steps.chain(),
        };
        let evaluated = MultiInstanceIntent::InputCollectionEvaluated;
        cx.event(el.key, evaluated, &value);
        subscriptions::subscribe_boundary_events(cx, el)?;
        lifecycle::activated(cx, el);
        if let Some(output) = &definition.output {
            let nulls = format!("[{}]", vec!["null"; count].join(","));
            variable::set_local(cx, el.key, &output.collection, &nulls.into());
        }
        if count == 0 {
            return Ok(Next::Complete);
        }
        cx.steps.push(Step::ActivateInner(el.key));
        Ok(Next::Wait)
    }

    /// Continues with the remaining inner instances, in case an incident of the body held them up.
    fn resume(&self, cx: &mut Context<'_>, el: &Subject) {
        cx.steps.push(Step::ActivateInner(el.key));
        container::child_ended(cx, el.key);
    }

    /// The output collection moves to the scope around it.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        if let Some(output) = &definition_of_body(cx, el)?.output {
            output_collection::hand_over(cx, el, output);
        }
        Ok(())
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&MultiInstanceBody)
    }
}

impl Container for MultiInstanceBody {
    /// Sets the item, the variable for the result, and the loop counter.
    fn child_activating(&self, cx: &mut Context<'_>, child: &Subject) -> Result<(), Problem> {
        let definition = definition_around(cx, child)?;
        let counter = counter_of(cx, child);
        if let Some(name) = &definition.input_element {
            let item = cx.state.input_collections.item(child.flow_scope(), counter);
            let item = item.unwrap_or_else(|| JsonText::from("null"));
            variable::set_local(cx, child.key, name, &item);
        }
        let output = definition.output.as_ref();
        // A worker's result under this name stays with the child.
        let result = output.and_then(|output| output.element.accessed_variable());
        // The input element may also be the output element; it keeps its value then.
        let result = result.filter(|name| definition.input_element.as_ref() != Some(name));
        if let Some(name) = result {
            variable::set_local(cx, child.key, name, &"null".into());
        }
        let counter = counter.to_string().into();
        variable::set_local(cx, child.key, &"loopCounter".into(), &counter);
        Ok(())
    }

    fn child_completing(&self, cx: &mut Context<'_>, child: &Subject) -> Result<Verdict, Problem> {
        let definition = definition_around(cx, child)?;
        if let Some(output) = &definition.output {
            let element = output_collection::element_of(cx, child, output)?;
            let index = counter_of(cx, child).saturating_sub(1);
            let body = child.flow_scope();
            output_collection::set(cx, body, &output.collection, index, element)?;
        }
        match &definition.completion_condition {
            Some(condition) => is_fulfilled(cx, child, condition),
            None => Ok(Verdict::GoOn),
        }
    }

    fn child_completed(&self, cx: &mut Context<'_>, child: &Subject) {
        let body = child.flow_scope();
        let repeats = repeats(cx, body);
        let sequential = definition_around(cx, child).is_ok_and(|it| it.sequential);
        if sequential && repeats.begun < repeats.instances {
            let next = Step::ActivateInner(body);
            cx.steps.push_at(next, repeats.chain);
        }
    }

    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        let repeats = repeats(cx, scope.key);
        let row = cx.state.elements.get(scope.key);
        let is_ending = row.is_some_and(|row| row.is_ending());
        if is_ending || repeats.begun >= repeats.instances {
            Rest::Done
        } else {
            Rest::Waits
        }
    }
}

/// Begins the next inner instance of a body; for a parallel body all remaining ones, in one step each.
pub(crate) fn activate_inner(cx: &mut Context<'_>, body: Key) {
    let Some(row) = cx.state.elements.get(body) else {
        return;
    };
    // A body that is ending only waits for the instances that have begun.
    if row.state != ElementState::Activated || row.is_ending() || row.is_interrupted() {
        return;
    }
    let active = row.active_children;
    let Some(el) = Subject::load(cx, body) else {
        return;
    };
    let Ok(definition) = definition_of_body(cx, &el) else {
        return;
    };
    let repeats = repeats(cx, body);
    if repeats.begun >= repeats.instances || (definition.sequential && active > 0) {
        return;
    }
    let inner = Activation {
        scope: body,
        element: definition.inner.0,
        via: None,
        consumed_flows: 0,
    };
    if definition.sequential {
        if let Some(inner) = lifecycle::activating(cx, &inner) {
            lifecycle::activate(cx, &inner);
        }
        return;
    }
    cx.steps.push(Step::Activate(inner));
    if repeats.begun + 1 < repeats.instances {
        cx.steps.again(Step::ActivateInner(body));
    }
}

fn definition_of_body<'e>(
    cx: &Context<'_>,
    body: &'e Subject,
) -> Result<&'e MultiInstance, Problem> {
    match &body.element().kind {
        ElementKind::MultiInstanceBody(definition) => Ok(definition),
        _ => Err(crate::processing::bpmn::wrong_kind(cx, body)),
    }
}

/// The definition of the body that an inner instance belongs to.
fn definition_around<'e>(
    cx: &Context<'_>,
    inner: &'e Subject,
) -> Result<&'e MultiInstance, Problem> {
    let body = inner.process.graph.element(inner.element().parent);
    match &body.kind {
        ElementKind::MultiInstanceBody(definition) => Ok(definition),
        _ => Err(crate::processing::bpmn::wrong_kind(cx, inner)),
    }
}

/// The number of this inner instance within the body, from 1.
fn counter_of(cx: &mut Context<'_>, inner: &Subject) -> u32 {
    let row = cx.state.elements.get(inner.key);
    let extra = row.and_then(|row| row.extra.as_ref());
    extra.map_or(0, |extra| extra.loop_counter)
}

fn repeats(cx: &mut Context<'_>, body: Key) -> Loop {
    let row = cx.state.elements.get(body);
    let extra = row.and_then(|row| row.extra.as_ref());
    extra.and_then(|extra| extra.repeats).unwrap_or_default()
}

/// Bytes that an item may cost besides its text: its place in the output collection.
const PER_ITEM: usize = 8;

fn evaluate_collection(
    cx: &mut Context<'_>,
    el: &Subject,
    definition: &MultiInstance,
) -> Result<Vec<JsonText>, Problem> {
    let most = cx.max_step_bytes();
    let result = expression::extract(cx, &definition.input_collection, el.key)?;
    let Value::List(list) = &result.value else {
        return Err(result.is_not("'ARRAY'"));
    };
    let mut room = most;
    let mut items = Vec::with_capacity(list.len().min(most / PER_ITEM));
    for item in list.iter() {
        let json = item.to_json_within(room as u64);
        let left = json
            .as_ref()
            .and_then(|json| room.checked_sub(json.len() + PER_ITEM));
        let (Some(json), Some(left)) = (json, left) else {
            return Err(result.problem(format!(
                "Expected the input collection to have at most {most} bytes, but it has more. Let it be shorter: an activity \
                 can run for the parts of a list one after the other."
            )));
        };
        room = left;
        items.push(json.into());
    }
    Ok(items)
}

/// Whether the completion condition holds, now that `child` is done.
fn is_fulfilled(
    cx: &mut Context<'_>,
    child: &Subject,
    condition: &TextValue,
) -> Result<Verdict, Problem> {
    let condition = match condition {
        TextValue::Expression(condition) => condition,
        TextValue::Static(text) => {
            let message = format!(
                "Expected the completion condition '{text}' to be an expression that yields true or false, but it is a \
                 constant. Put '=' before it."
            );
            return Err(Problem::new(ErrorType::ExtractValueError, message));
        }
    };
    let row = cx.state.elements.get(child.flow_scope());
    let active = row.map_or(0, |row| row.active_children);
    let repeats = repeats(cx, child.flow_scope());
    // This one counts as completed.
    let counts = [
        ("numberOfInstances", repeats.begun),
        ("numberOfActiveInstances", active.saturating_sub(1)),
        ("numberOfCompletedInstances", repeats.completed + 1),
        ("numberOfTerminatedInstances", repeats.terminated),
    ];
    let counts = counts
        .into_iter()
        .map(|(name, count)| (name.into(), JsonText::from(count.to_string())));
    let counts: Named = counts.collect();
    let result = expression::evaluate(cx, condition, child.key, &counts)
        .map_err(|message| Problem::new(ErrorType::ExtractValueError, message))?;
    match result.value {
        Value::Boolean(true) => Ok(Verdict::Fulfilled),
        Value::Boolean(false) => Ok(Verdict::GoOn),
        _ => Err(result.is_not("'BOOLEAN'")),
    }
}
