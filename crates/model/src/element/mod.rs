//! The elements of a process: which are executed, and for each kind its file with how it is read and checked.

pub(crate) mod boundary_event;
pub(crate) mod call_activity;
pub(crate) mod end_event;
pub(crate) mod exclusive_gateway;
pub(crate) mod intermediate_catch_event;
pub(crate) mod process;
pub(crate) mod receive_task;
pub(crate) mod sequence_flow;
pub(crate) mod service_task;
pub(crate) mod start_event;
pub(crate) mod sub_process;
pub(crate) mod user_task;

use crate::compile::Draft;
use crate::context::Context;
use crate::error::Findings;
use crate::graph::{ElementIndex, ElementKind, ElementType};
use crate::value::boolean;
use crate::xml::{Node, bpmn_name};

/// What a child of a process or sub-process is to the engine.
pub(crate) enum Role {
    /// Executed.
    Element(ElementType),
    /// Accepted, without effect.
    Drawn,
    /// Belongs to its parent rather than being an element of its own.
    Part,
    /// The deployment is refused, with this reason.
    Refused(String),
}

/// The table of elements. What becomes executable moves from `not_yet` to `Role::Element`.
pub(crate) fn role(node: Node<'_>) -> Role {
    use ElementType as Type;
    let Some(name) = bpmn_name(node) else {
        return Role::Refused(format!(
            "The element '{}' is not an element of BPMN. Remove it, or put it into extensionElements",
            node.tag_name().name()
        ));
    };
    match name {
        "startEvent" => Role::Element(Type::StartEvent),
        "endEvent" => Role::Element(Type::EndEvent),
        "intermediateCatchEvent" => Role::Element(Type::IntermediateCatchEvent),
        "boundaryEvent" => Role::Element(Type::BoundaryEvent),
        "serviceTask" => Role::Element(Type::ServiceTask),
        "userTask" => Role::Element(Type::UserTask),
        "receiveTask" => Role::Element(Type::ReceiveTask),
        "manualTask" => Role::Element(Type::ManualTask),
        "task" => Role::Element(Type::Task),
        "exclusiveGateway" => Role::Element(Type::ExclusiveGateway),
        "parallelGateway" => Role::Element(Type::ParallelGateway),
        "sequenceFlow" => Role::Element(Type::SequenceFlow),
        "callActivity" => Role::Element(Type::CallActivity),
        "subProcess" if is_true(node, "triggeredByEvent") => not_yet("An event sub-process"),
        "subProcess" => Role::Element(Type::SubProcess),

        "scriptTask" => not_yet("A script task"),
        "businessRuleTask" => not_yet("A business rule task"),
        "sendTask" => not_yet("A send task"),
        "inclusiveGateway" => not_yet("An inclusive gateway"),
        "eventBasedGateway" => not_yet("An event-based gateway"),
        "intermediateThrowEvent" => not_yet("An intermediate throw event"),
        "adHocSubProcess" => not_yet("An ad-hoc sub-process"),

        "complexGateway" => never(
            "A complex gateway",
            "Use exclusive, inclusive or parallel gateways",
        ),
        "transaction" => never(
            "A transaction",
            "Use a sub-process with error and compensation events",
        ),
        "choreographyTask" | "subChoreography" | "callChoreography" => {
            never("A choreography", "Model the process itself")
        }

        "laneSet"
        | "dataObject"
        | "dataObjectReference"
        | "dataStoreReference"
        | "textAnnotation"
        | "group"
        | "association" => Role::Drawn,
        name if is_part(name) => Role::Part,
        name => Role::Refused(format!("The element '{name}' is not known here. Remove it")),
    }
}

fn not_yet(what: &str) -> Role {
    Role::Refused(not_supported_yet(what))
}

fn never(what: &str, instead: &str) -> Role {
    Role::Refused(never_supported(what, instead))
}

/// For what is planned: works in other engines with this API, and in a later release of this one.
pub(crate) fn not_supported_yet(what: &str) -> String {
    format!(
        "{what} is not supported by this release of Skep yet. Remove it from the model, or wait for a release that supports it"
    )
}

/// For what no engine with this API executes.
pub(crate) fn never_supported(what: &str, instead: &str) -> String {
    format!("{what} is not executed by engines with this API. {instead}")
}

/// Children that describe their parent.
fn is_part(name: &str) -> bool {
    matches!(
        name,
        "documentation"
            | "extensionElements"
            | "incoming"
            | "outgoing"
            | "auditing"
            | "monitoring"
            | "categoryValueRef"
            | "property"
            | "ioSpecification"
            | "ioBinding"
            | "dataInput"
            | "dataOutput"
            | "dataInputAssociation"
            | "dataOutputAssociation"
            | "inputSet"
            | "outputSet"
            | "resourceRole"
            | "performer"
            | "humanPerformer"
            | "potentialOwner"
            | "supports"
            | "supportedInterfaceRef"
            | "correlationSubscription"
            | "multiInstanceLoopCharacteristics"
            | "standardLoopCharacteristics"
    )
}

/// Refuses children and markers that the element cannot have, or that this release does not execute.
pub(crate) fn check_content(
    node: Node<'_>,
    element_type: ElementType,
    context: &mut Context<'_, '_>,
) {
    for child in node.children().filter(|child| child.is_element()) {
        let name = bpmn_name(child).unwrap_or_default();
        match name {
            "multiInstanceLoopCharacteristics" => {
                context.add(node, not_supported_yet("The multi-instance marker"))
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
                context.add(child, message);
            }
        }
    }
    if boolean(node, node, "isForCompensation", false, context.findings) == Some(true) {
        context.add(node, not_supported_yet("The compensation marker"));
    }
}

fn is_true(node: Node<'_>, attribute: &str) -> bool {
    matches!(node.attribute(attribute).map(str::trim), Some("true" | "1"))
}

/// Elements that contain others.
pub(crate) fn is_container(element_type: ElementType) -> bool {
    matches!(element_type, ElementType::Process | ElementType::SubProcess)
}

fn is_event(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::StartEvent | Type::EndEvent | Type::IntermediateCatchEvent | Type::BoundaryEvent
    )
}

/// Activities: what boundary events can be attached to.
pub(crate) fn is_activity(element_type: ElementType) -> bool {
    use ElementType as Type;
    matches!(
        element_type,
        Type::SubProcess
            | Type::ServiceTask
            | Type::UserTask
            | Type::ReceiveTask
            | Type::ManualTask
            | Type::Task
            | Type::CallActivity
    )
}

/// Elements on which `zeebe:ioMapping` has an effect; elsewhere it is accepted without one.
pub(crate) fn has_mappings(element_type: ElementType) -> bool {
    use ElementType as Type;
    is_event(element_type)
        || matches!(
            element_type,
            Type::SubProcess
                | Type::ServiceTask
                | Type::UserTask
                | Type::ReceiveTask
                | Type::CallActivity
        )
}

/// Whether input mappings have an effect on an element that has mappings. Events that do nothing but happen have none.
pub(crate) fn has_inputs(element_type: ElementType) -> bool {
    use ElementType as Type;
    !matches!(
        element_type,
        Type::StartEvent | Type::EndEvent | Type::BoundaryEvent
    )
}

/// What is particular to the element; `None` after a finding.
pub(crate) fn parse<'x>(
    node: Node<'x>,
    element_type: ElementType,
    context: &mut Context<'_, 'x>,
) -> Option<ElementKind> {
    use ElementType as Type;
    match element_type {
        Type::Process => Some(ElementKind::Process),
        Type::SubProcess => Some(ElementKind::SubProcess),
        Type::StartEvent => start_event::parse(node, context),
        Type::IntermediateCatchEvent => intermediate_catch_event::parse(node, context),
        Type::BoundaryEvent => boundary_event::parse(node, context),
        Type::EndEvent => end_event::parse(node, context),
        Type::ServiceTask => service_task::parse(node, context),
        Type::UserTask => user_task::parse(node, context),
        Type::ReceiveTask => receive_task::parse(node, context),
        Type::ManualTask => Some(ElementKind::ManualTask),
        Type::Task => Some(ElementKind::Task),
        Type::ExclusiveGateway => exclusive_gateway::parse(node, context),
        Type::ParallelGateway => Some(ElementKind::ParallelGateway),
        Type::SequenceFlow => sequence_flow::parse(node, context),
        Type::CallActivity => call_activity::parse(node, context),
        _ => None,
    }
}

/// The rules of an element within the finished graph.
pub(crate) fn check(draft: &Draft<'_>, index: ElementIndex, findings: &mut Findings) {
    use ElementType as Type;
    match draft.element(index).element_type {
        Type::Process => process::check(draft, findings),
        Type::SubProcess => sub_process::check(draft, index, findings),
        Type::StartEvent => start_event::check(draft, index, findings),
        Type::BoundaryEvent => boundary_event::check(draft, index, findings),
        Type::EndEvent => end_event::check(draft, index, findings),
        Type::ExclusiveGateway => exclusive_gateway::check(draft, index, findings),
        Type::SequenceFlow => sequence_flow::check(draft, index, findings),
        // Nothing to ask beyond their own XML.
        Type::ServiceTask
        | Type::UserTask
        | Type::ReceiveTask
        | Type::ManualTask
        | Type::Task
        | Type::CallActivity => {}
        Type::IntermediateCatchEvent | Type::ParallelGateway => {}
        _ => {}
    }
}
