//! The elements of a process: for each kind its file with how it is read and checked.

pub(crate) mod ad_hoc_sub_process;
pub(crate) mod boundary_event;
pub(crate) mod business_rule_task;
pub(crate) mod call_activity;
pub(crate) mod choice;
pub(crate) mod compensation_handler;
pub(crate) mod end_event;
pub(crate) mod event_based_gateway;
pub(crate) mod event_sub_process;
pub(crate) mod intermediate_catch_event;
pub(crate) mod intermediate_throw_event;
pub(crate) mod process;
pub(crate) mod receive_task;
mod role;
pub(crate) mod script_task;
pub(crate) mod send_task;
pub(crate) mod sequence_flow;
pub(crate) mod service_task;
pub(crate) mod start_event;
pub(crate) mod sub_process;
pub(crate) mod user_task;

pub(crate) use role::{Role, never_supported, role};

use crate::compile::{Draft, Location};
use crate::context::Context;
use crate::error::{Findings, Rule};
use crate::graph::{ElementIndex, ElementKind, ElementType, ThrowEvent};
use crate::value::boolean;
use crate::xml::{Node, bpmn_name};
use crate::zeebe::{ad_hoc, loop_characteristics};
use role::is_part;

/// Refuses children and markers that the element cannot have.
pub(crate) fn check_content(
    node: Node<'_>,
    element_type: ElementType,
    context: &mut Context<'_, '_>,
) {
    for child in node.children().filter(|child| child.is_element()) {
        let name = bpmn_name(child).unwrap_or_default();
        match name {
            "multiInstanceLoopCharacteristics" if !is_activity(element_type) => {
                context.add(
                    node,
                    Rule::MarkerNotAllowed,
                    "Only activities can have the multi-instance marker. Remove it",
                );
            }
            _ if is_container(element_type) || is_part(name) => {}
            "conditionExpression" if element_type == ElementType::SequenceFlow => {}
            _ if is_event(element_type)
                && (name.ends_with("EventDefinition") || name == "eventDefinitionRef") => {}
            _ => {
                let message = format!(
                    "The element '{}' is not known inside of '{}'. Remove it",
                    child.tag_name().name(),
                    node.tag_name().name()
                );
                context.add(child, Rule::UnknownElement, message);
            }
        }
    }
}

/// Whether an activity only runs when another one is compensated.
pub(crate) fn is_for_compensation(
    node: Node<'_>,
    element_type: ElementType,
    context: &mut Context<'_, '_>,
) -> bool {
    let marked = boolean(node, node, "isForCompensation", false, context.findings);
    is_activity(element_type) && marked == Some(true)
}

/// Elements that contain others.
pub(crate) fn is_container(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::Process | Type::SubProcess | Type::EventSubProcess | Type::AdHocSubProcess
    )
}

pub(crate) fn is_event(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::StartEvent
            | Type::EndEvent
            | Type::IntermediateCatchEvent
            | Type::IntermediateThrowEvent
            | Type::BoundaryEvent
    )
}

pub(crate) fn is_gateway(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::ExclusiveGateway
            | Type::InclusiveGateway
            | Type::ParallelGateway
            | Type::EventBasedGateway
    )
}

/// Activities: elements that can have boundary events and can be repeated.
pub(crate) fn is_activity(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::SubProcess | Type::AdHocSubProcess | Type::CallActivity | Type::MultiInstanceBody
    ) || is_task(element_type)
}

fn is_task(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(element_type, Type::ManualTask | Type::Task) || is_working_task(element_type)
}

/// Tasks that do work.
fn is_working_task(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::ServiceTask
            | Type::SendTask
            | Type::ScriptTask
            | Type::BusinessRuleTask
            | Type::UserTask
            | Type::ReceiveTask
    )
}

/// Elements on which `zeebe:ioMapping` has an effect; elsewhere it is accepted without one.
pub(crate) fn has_mappings(element_type: ElementType) -> bool {
    use ElementType as Type;
    is_event(element_type)
        || is_working_task(element_type)
        || matches!(
            element_type,
            Type::SubProcess | Type::EventSubProcess | Type::AdHocSubProcess | Type::CallActivity
        )
}

/// Whether input mappings have an effect on an element that has mappings. Events that only happen have none.
pub(crate) fn has_inputs(kind: &ElementKind) -> bool {
    !matches!(
        kind,
        ElementKind::StartEvent(_)
            | ElementKind::BoundaryEvent(_)
            | ElementKind::IntermediateThrowEvent(ThrowEvent::None | ThrowEvent::Link { .. })
            | ElementKind::EndEvent(
                ThrowEvent::None | ThrowEvent::Terminate | ThrowEvent::Error { .. }
            )
            | ElementKind::EndEvent(ThrowEvent::Escalation { .. })
            | ElementKind::IntermediateThrowEvent(ThrowEvent::Escalation { .. })
    )
}

/// Reads the part that is specific to the element type; `None` after a finding.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    location: &Location,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    use ElementType as Type;
    match location.element_type {
        Type::Process => Some(ElementKind::Process),
        Type::SubProcess => Some(ElementKind::SubProcess),
        // Its start event is entered when the graph is connected.
        Type::EventSubProcess => Some(ElementKind::EventSubProcess {
            start: ElementIndex::PROCESS,
        }),
        Type::AdHocSubProcess => ad_hoc::parse(node, location.inner?, context)
            .map(|ad_hoc| ElementKind::AdHocSubProcess(Box::new(ad_hoc))),
        Type::AdHocSubProcessInnerInstance => Some(ElementKind::AdHocSubProcessInnerInstance),
        Type::MultiInstanceBody => loop_characteristics::parse(node, location.inner?, context)
            .map(|body| ElementKind::MultiInstanceBody(Box::new(body))),
        Type::StartEvent => start_event::parse(node, location.parent_type, context),
        Type::IntermediateCatchEvent => intermediate_catch_event::parse(node, context),
        Type::IntermediateThrowEvent => {
            intermediate_throw_event::parse(node, location.parent, context)
        }
        Type::BoundaryEvent => boundary_event::parse(node, context),
        Type::EndEvent => end_event::parse(node, context),
        Type::ServiceTask => service_task::parse(node, context),
        Type::SendTask => send_task::parse(node, context),
        Type::ScriptTask => script_task::parse(node, context),
        Type::BusinessRuleTask => business_rule_task::parse(node, context),
        Type::UserTask => user_task::parse(node, context),
        Type::ReceiveTask => receive_task::parse(node, context),
        Type::ManualTask => Some(ElementKind::ManualTask),
        Type::Task => Some(ElementKind::Task),
        Type::ExclusiveGateway => {
            let default = choice::default(node, context)?;
            Some(ElementKind::ExclusiveGateway { default })
        }
        Type::InclusiveGateway => {
            let default = choice::default(node, context)?;
            Some(ElementKind::InclusiveGateway { default })
        }
        Type::ParallelGateway => Some(ElementKind::ParallelGateway),
        // Its events are entered when the graph is connected.
        Type::EventBasedGateway => Some(ElementKind::EventBasedGateway { events: Vec::new() }),
        Type::SequenceFlow => sequence_flow::parse(node, context),
        Type::CallActivity => call_activity::parse(node, context),
    }
}

/// The rules of an element within the finished graph.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    use ElementType as Type;
    compensation_handler::check(draft, index, findings);
    match draft.element(index).element_type {
        Type::Process => process::check(draft, findings),
        Type::SubProcess => sub_process::check(draft, index, findings),
        Type::EventSubProcess => event_sub_process::check(draft, index, findings),
        Type::AdHocSubProcess => ad_hoc_sub_process::check(draft, index, findings),
        Type::StartEvent => {
            ad_hoc_sub_process::check_content(draft, index, findings);
        }
        Type::BoundaryEvent => boundary_event::check(draft, index, findings),
        Type::EndEvent => {
            ad_hoc_sub_process::check_content(draft, index, findings);
            end_event::check(draft, index, findings);
            compensation_handler::check_thrown(draft, index, findings);
        }
        Type::IntermediateThrowEvent => {
            compensation_handler::check_thrown(draft, index, findings);
        }
        Type::ExclusiveGateway | Type::InclusiveGateway => choice::check(draft, index, findings),
        Type::EventBasedGateway => event_based_gateway::check(draft, index, findings),
        Type::SequenceFlow => sequence_flow::check(draft, index, findings),
        // No rules beyond their own XML.
        Type::ServiceTask
        | Type::SendTask
        | Type::ScriptTask
        | Type::BusinessRuleTask
        | Type::UserTask
        | Type::ReceiveTask
        | Type::ManualTask
        | Type::Task
        | Type::CallActivity => {}
        Type::IntermediateCatchEvent | Type::ParallelGateway => {}
        Type::MultiInstanceBody | Type::AdHocSubProcessInnerInstance => {}
    }
}
