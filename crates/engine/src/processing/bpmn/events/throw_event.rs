//! Intermediate throw events: none events without an effect, and links, which continue elsewhere.

use skep_model::{ElementKind, MessageThrow, ThrowEvent as Definition};
use skep_protocol::value::{ErrorType, Step};

use crate::processing::Context;
use crate::processing::bpmn::{ElementBehavior, Next, Problem, Subject, lifecycle, triggers};
use crate::remote::Variables;

/// None and link throw events.
pub(crate) struct ThrowEvent;

impl ElementBehavior for ThrowEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        lifecycle::activated(cx, el);
        Ok(Next::Complete)
    }

    /// The token of a link continues at its catch event.
    fn completed(&self, cx: &mut Context<'_>, el: &Subject, _: Variables) {
        if let ElementKind::IntermediateThrowEvent(Definition::Link { target }) = el.element().kind
        {
            let target = (el.flow_scope(), target);
            let trigger = triggers::triggering(cx, el, target, false, Variables::new());
            cx.steps.push(Step::ActivateTriggered(trigger));
        }
    }
}

/// `zeebe:publishMessage` of a send task or message event: accepted, but never executed by engines with this API.
pub(crate) struct PublishMessage;

impl ElementBehavior for PublishMessage {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        let element = el.element();
        match &element.kind {
            ElementKind::SendTask(MessageThrow::Publish)
            | ElementKind::EndEvent(Definition::Message(MessageThrow::Publish))
            | ElementKind::IntermediateThrowEvent(Definition::Message(MessageThrow::Publish)) => {}
            _ => return Err(crate::processing::bpmn::wrong_kind(cx, el)),
        }
        Err(Problem::new(
            ErrorType::Unknown,
            format!(
                "'{}' publishes its message by 'zeebe:publishMessage', which no engine with this API does. Cancel the instance, \
                 and give the element a 'zeebe:taskDefinition': a worker then publishes the message.",
                element.id
            ),
        ))
    }
}
