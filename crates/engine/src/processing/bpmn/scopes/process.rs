//! The process itself: the root scope of an instance.

use skep_protocol::Response;
use skep_protocol::document::write_json_object;
use skep_protocol::intent::ProcessInstanceResultIntent;
use skep_protocol::value::{ErrorType, ProcessInstanceResultValue};
use skep_protocol::{RejectionType, response::ProcessInstanceCreated};

use crate::processing::bpmn::container::{self, Container, Rest};
use crate::processing::bpmn::subscriptions::start::{self, NextStart};
use crate::processing::bpmn::{
    ElementBehavior, Ending, Next, Problem, Subject, call_activity, flows, lifecycle,
    start_instructions, step, subscriptions, triggers,
};
use crate::processing::deployment::delete_resource;
use crate::processing::{Context, reject};
use crate::remote::Variables;
use crate::state::VariableNames;

pub(crate) struct Process;

impl ElementBehavior for Process {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        if let Some(trigger) = triggers::beginning(cx, el.key) {
            lifecycle::activated(cx, el);
            step::activate_triggered(cx, trigger);
            return Ok(Next::Wait);
        }
        if start_instructions::wait_in(cx, el.key) {
            subscriptions::subscribe_scope(cx, el)?;
            lifecycle::activated(cx, el);
            start_instructions::go_on(cx, el.key);
            return Ok(Next::Wait);
        }
        let Some(start) = el.process.graph.none_start_event() else {
            return Err(Problem::new(
                ErrorType::CalledElementError,
                format!(
                    "Expected process '{}' to have a none start event, but it has none. Call a process with one.",
                    el.process.bpmn_process_id
                ),
            ));
        };
        lifecycle::activated(cx, el);
        step::activate(cx, el.key, start);
        Ok(Next::Wait)
    }

    fn hand_on(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Variables, Problem> {
        if el.value.parent_element_instance_key.some().is_some() {
            return call_activity::variables_of_called(cx, el);
        }
        if cx.volatile.awaiting_results.contains_key(&el.key) {
            answer_result(cx, el);
        }
        Ok(Variables::new())
    }

    fn ending(&self, cx: &mut Context<'_>, el: &Subject) -> Option<NextStart> {
        start::next_start(cx, el.key)
    }

    fn completed(&self, cx: &mut Context<'_>, el: &Subject, handed_on: Variables) {
        delete_resource::instance_ended(cx, el.process.key, el.key);
        if let Some(call_activity) = el.value.parent_element_instance_key.some() {
            call_activity::called_ended(cx, call_activity, handed_on);
        }
    }

    fn terminate(&self, cx: &mut Context<'_>, el: &Subject) -> Ending {
        container::terminate_children(cx, el)
    }

    fn terminated(&self, cx: &mut Context<'_>, el: &Subject) {
        delete_resource::instance_ended(cx, el.process.key, el.key);
        if let Some((request, _)) = cx.volatile.awaiting_results.remove(&el.key) {
            let rejection = reject(
                RejectionType::NotFound,
                "CREATE_WITH_AWAITING_RESULT",
                format!(
                    "Expected to wait for the result of process instance {}, but it was terminated before it completed",
                    el.key
                ),
            );
            cx.respond(request, Err(rejection));
        }
        if let Some(call_activity) = el.value.parent_element_instance_key.some() {
            call_activity::called_terminated(cx, call_activity);
        }
    }

    fn as_container(&self) -> Option<&'static dyn Container> {
        Some(&Process)
    }
}

impl Container for Process {
    fn at_rest(&self, cx: &mut Context<'_>, scope: &Subject) -> Rest {
        flows::at_rest(cx, scope)
    }
}

/// Answers the client that created the instance and waits for its result.
fn answer_result(cx: &mut Context<'_>, el: &Subject) {
    let Some((request, wanted)) = cx.volatile.awaiting_results.remove(&el.key) else {
        return;
    };
    let Some(row) = cx.state.elements.get(el.key) else {
        return;
    };
    let mut variables = String::new();
    let names: VariableNames = wanted.fetch_variables.into_iter().collect();
    let found = row.variables.select(&names);
    let found: Vec<_> = found.map(|v| (v.name.clone(), v.value().clone())).collect();
    write_json_object(found.iter().map(|(n, v)| (&**n, &**v)), &mut variables);
    let extra = row.extra.clone().unwrap_or_default();
    let value = ProcessInstanceResultValue {
        process_definition_key: el.process.key,
        process_instance_key: el.key,
        bpmn_process_id: el.process.bpmn_process_id.clone(),
        version: el.process.version,
        variables: found,
    };
    cx.event(el.key, ProcessInstanceResultIntent::Completed, &value);
    let created = ProcessInstanceCreated {
        process_definition_key: value.process_definition_key,
        bpmn_process_id: value.bpmn_process_id,
        version: value.version,
        process_instance_key: value.process_instance_key,
        tags: extra.tags.into(),
        business_id: extra.business_id,
    };
    cx.respond(
        request,
        Ok(Response::ProcessInstanceResult { created, variables }),
    );
}
