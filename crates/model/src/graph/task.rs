//! Tasks: jobs, scripts, decisions, user tasks, called processes.

use std::sync::Arc;

use skep_feel::Expression;

use super::{Binding, ListenerDefinition, TextList, TextValue};

#[derive(Debug)]
pub struct JobDefinition {
    pub job_type: TextValue,
    /// Text of a whole number, or an expression that yields one.
    pub retries: TextValue,
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// `headers` as the text of a JSON object, made once.
    pub headers_json: Arc<str>,
    /// Resources whose keys the worker receives.
    pub linked_resources: Vec<LinkedResource>,
}

#[derive(Debug)]
pub struct LinkedResource {
    pub resource_id: Arc<str>,
    pub resource_type: Arc<str>,
    pub link_name: Option<Arc<str>>,
    pub binding: Binding,
}

#[derive(Debug)]
pub enum ScriptTask {
    /// The result is a local variable of this name.
    Expression {
        expression: Expression,
        result_variable: Arc<str>,
    },
    Job(JobDefinition),
}

#[derive(Debug)]
pub enum BusinessRuleTask {
    Decision(CalledDecision),
    Job(JobDefinition),
}

#[derive(Debug)]
pub struct CalledDecision {
    pub decision_id: TextValue,
    pub binding: Binding,
    /// The result is a local variable of this name.
    pub result_variable: Arc<str>,
}

#[derive(Debug)]
pub struct CalledElement {
    pub process_id: TextValue,
    pub binding: Binding,
    pub propagate_all_parent_variables: bool,
    pub propagate_all_child_variables: bool,
}

/// A user task. Without `native` it is a job of the type `io.camunda.zeebe:userTask` whose headers carry the rest.
#[derive(Debug)]
pub struct UserTask {
    pub assignee: Option<TextValue>,
    pub candidate_groups: Option<TextList>,
    pub candidate_users: Option<TextList>,
    /// ISO 8601 date-time with zone.
    pub due_date: Option<TextValue>,
    pub follow_up_date: Option<TextValue>,
    pub form: Option<FormReference>,
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// `headers` as the text of a JSON object, made once.
    pub headers_json: Arc<str>,
    pub native: Option<NativeUserTask>,
}

/// The part specific to Camunda user tasks (`zeebe:userTask`).
#[derive(Debug)]
pub struct NativeUserTask {
    /// A whole number from 0 to 100.
    pub priority: TextValue,
    /// In the order in which the listeners of one event run.
    pub listeners: Vec<TaskListener>,
}

#[derive(Debug)]
pub struct TaskListener {
    pub event: TaskListenerEvent,
    pub listener: ListenerDefinition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskListenerEvent {
    Creating,
    Assigning,
    Updating,
    Completing,
    Canceling,
}

/// The location of the form of a user task or start event.
#[derive(Debug)]
pub enum FormReference {
    /// A deployed form.
    Id { id: TextValue, binding: Binding },
    /// Job-based user tasks and start events: a name that only the task's application understands.
    Key(TextValue),
    /// Camunda user tasks: a name that only the task's application understands.
    External(TextValue),
}
