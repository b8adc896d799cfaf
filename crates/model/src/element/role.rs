//! Classifies the elements of BPMN: executed, only drawn, or not supported by engines of this kind.

use crate::error::Rule;
use crate::graph::ElementType;
use crate::xml::{Node, bpmn_name};

/// Role of a child of a process or sub-process in the engine.
pub(crate) enum Role {
    /// Executed.
    Element(ElementType),
    /// Accepted, without effect.
    Drawn,
    /// Belongs to its parent rather than being an element of its own.
    Part,
    /// The deployment is refused, with this reason.
    Refused(Rule, String),
}

/// The table of elements.
pub(crate) fn role(node: Node<'_>) -> Role {
    use ElementType as Type;
    let Some(name) = bpmn_name(node) else {
        let reason = format!(
            "The element '{}' is not an element of BPMN. Remove it, or put it into extensionElements",
            node.tag_name().name()
        );
        return Role::Refused(Rule::UnknownElement, reason);
    };
    match name {
        "startEvent" => Role::Element(Type::StartEvent),
        "endEvent" => Role::Element(Type::EndEvent),
        "intermediateCatchEvent" => Role::Element(Type::IntermediateCatchEvent),
        "boundaryEvent" => Role::Element(Type::BoundaryEvent),
        "serviceTask" => Role::Element(Type::ServiceTask),
        "receiveTask" => Role::Element(Type::ReceiveTask),
        "manualTask" => Role::Element(Type::ManualTask),
        "task" => Role::Element(Type::Task),
        "exclusiveGateway" => Role::Element(Type::ExclusiveGateway),
        "parallelGateway" => Role::Element(Type::ParallelGateway),
        "sequenceFlow" => Role::Element(Type::SequenceFlow),
        "callActivity" => Role::Element(Type::CallActivity),
        "subProcess" if is_true(node, "triggeredByEvent") => Role::Element(Type::EventSubProcess),
        "subProcess" => Role::Element(Type::SubProcess),
        "adHocSubProcess" => Role::Element(Type::AdHocSubProcess),
        "userTask" => Role::Element(Type::UserTask),
        "scriptTask" => Role::Element(Type::ScriptTask),
        "businessRuleTask" => Role::Element(Type::BusinessRuleTask),
        "sendTask" => Role::Element(Type::SendTask),
        "inclusiveGateway" => Role::Element(Type::InclusiveGateway),
        "eventBasedGateway" => Role::Element(Type::EventBasedGateway),
        "intermediateThrowEvent" => Role::Element(Type::IntermediateThrowEvent),

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
        name => {
            let reason = format!("The element '{name}' is not known here. Remove it");
            Role::Refused(Rule::UnknownElement, reason)
        }
    }
}

fn never(what: &str, instead: &str) -> Role {
    Role::Refused(Rule::NotSupported, never_supported(what, instead))
}

/// The message for an element that no engine with this API executes.
pub(crate) fn never_supported(what: &str, instead: &str) -> String {
    format!("{what} is not executed by engines with this API. {instead}")
}

/// Children that describe their parent.
pub(super) fn is_part(name: &str) -> bool {
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
            | "completionCondition"
            | "script"
            | "rendering"
    )
}

fn is_true(node: Node<'_>, attribute: &str) -> bool {
    matches!(node.attribute(attribute).map(str::trim), Some("true" | "1"))
}
