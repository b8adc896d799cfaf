//! Scopes with behaviour of their own: multi-instance bodies and ad-hoc sub-processes.

use std::sync::Arc;

use skep_feel::Expression;

use super::{ElementIndex, JobDefinition, TextValue};

/// A multi-instance marker.
#[derive(Debug)]
pub struct MultiInstance {
    /// The activity that is repeated.
    pub inner: ElementIndex,
    pub sequential: bool,
    pub input_collection: Expression,
    /// The variable of each inner instance for its item.
    pub input_element: Option<Arc<str>>,
    pub output: Option<OutputCollection>,
    /// The body completes when this is true after an inner instance. A constant is accepted and never true.
    pub completion_condition: Option<TextValue>,
}

/// Output of the inner instances: a variable of the enclosing scope, a list with the value of `element` of each.
#[derive(Debug)]
pub struct OutputCollection {
    pub collection: Arc<str>,
    pub element: Expression,
}

/// An ad-hoc sub-process: any of its activities can be activated.
#[derive(Debug)]
pub struct AdHocSubProcess {
    /// Those without incoming sequence flow, in document order.
    pub activities: Vec<ElementIndex>,
    /// Description of the `activities`, as the text of a JSON list: `adHocSubProcessElements` in the instances.
    pub elements_json: Arc<str>,
    /// The element of the instances around each activated activity; it is the parent of all that is inside, but event
    /// sub-processes.
    pub inner_instance: ElementIndex,
    /// Run by BPMN: the ids of the activities that are activated first.
    pub active_elements: Option<Expression>,
    pub completion_condition: Option<Expression>,
    /// Terminates the remaining instances when the completion condition holds.
    pub cancel_remaining_instances: bool,
    pub output: Option<OutputCollection>,
    /// Run by a job worker, which decides what is activated and when it is complete.
    pub job: Option<JobDefinition>,
}
