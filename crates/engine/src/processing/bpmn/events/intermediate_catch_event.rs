//! Intermediate catch event and receive task: wait for an event.

use skep_model::CatchEvent as Definition;

use crate::processing::bpmn::{
    ElementBehavior, Next, Problem, Subject, event_based_gateway, lifecycle, subscriptions,
};
use crate::processing::{Context, variable};

pub(crate) struct CatchEvent;

impl ElementBehavior for CatchEvent {
    fn activate(&self, cx: &mut Context<'_>, el: &Subject) -> Result<Next, Problem> {
        if event_based_gateway::is_before(&el.process.graph, el.element()) {
            lifecycle::activated(cx, el);
            return Ok(Next::Complete);
        }
        subscriptions::subscribe_own(cx, el)?;
        lifecycle::activated(cx, el);
        // The target of a link has nothing to wait for.
        match el.element().caught() {
            Some(Definition::Link { .. }) => Ok(Next::Complete),
            _ => Ok(Next::Wait),
        }
    }

    /// An event awaited by a gateway has already received its variables: they are local, as those of a boundary event.
    fn complete(&self, cx: &mut Context<'_>, el: &Subject) -> Result<(), Problem> {
        let element = el.element();
        if element.outputs.is_empty() && event_based_gateway::is_before(&el.process.graph, element)
        {
            variable::propagate_own(cx, el);
        }
        Ok(())
    }
}
