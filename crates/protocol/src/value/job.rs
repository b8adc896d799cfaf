//! JOB: the work of a job, its life-cycle, and its worker's answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::document::JsonText;
use crate::key::Key;
use crate::tenant::TenantId;

/// In place of an element: no event catches the error that a job threw.
pub const NO_CATCH_EVENT: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobValue {
    #[serde(rename = "type")]
    pub job_type: Arc<str>,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    /// On ERROR_THROWN [`NO_CATCH_EVENT`] when nothing catches the error.
    pub element: u32,
    pub element_instance_key: Key,
    pub retries: i32,
    /// Fields that few records have: `None` costs one byte.
    pub extra: Option<Box<JobExtra>>,
    pub worker: Arc<str>,
    /// Epoch milliseconds, of the last activation; -1 before the first.
    pub deadline: i64,
    /// Of the last failure, until the job ends.
    pub error_message: Arc<str>,
    /// On COMPLETED and ERROR_THROWN: the worker's variables.
    pub variables: Vec<(Arc<str>, JsonText)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobExtra {
    pub kind: JobKind,
    /// Text of a JSON object: the custom headers, if they differ from those of the element.
    pub headers: Option<Arc<str>>,
    /// On FAILED: milliseconds, and the moment they end; 0 and -1 without.
    pub retry_backoff: i64,
    pub recurring_time: i64,
    /// On ERROR_THROWN.
    pub error_code: Arc<str>,
    /// On COMPLETED: the worker's answer beside variables.
    pub result: Option<JobResult>,
    /// On CANCELED: a migration has made a Camunda user task of it.
    pub becomes_user_task: bool,
    /// That of the job's definition.
    pub tenant: TenantId,
}

impl Default for JobExtra {
    fn default() -> JobExtra {
        JobExtra {
            kind: JobKind::default(),
            headers: None,
            retry_backoff: 0,
            recurring_time: -1,
            error_code: Arc::default(),
            result: None,
            becomes_user_task: false,
            tenant: TenantId::default(),
        }
    }
}

impl JobValue {
    /// The fields that few records have, added if missing.
    pub fn extra(&mut self) -> &mut JobExtra {
        self.extra.get_or_insert_default()
    }

    pub fn kind(&self) -> JobKind {
        self.extra.as_ref().map_or(JobKind::default(), |e| e.kind)
    }

    /// The custom headers, if they differ from those of the element.
    pub fn headers(&self) -> Option<&Arc<str>> {
        self.extra.as_ref()?.headers.as_ref()
    }

    pub fn tenant(&self) -> TenantId {
        let extra = self.extra.as_ref();
        extra.map_or_else(TenantId::default, |extra| extra.tenant.clone())
    }

    pub fn result(&self) -> Option<&JobResult> {
        self.extra.as_ref()?.result.as_ref()
    }
}

/// Purpose of a job; ids are in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobKind {
    /// The work of an element.
    #[default]
    BpmnElement,
    ExecutionListener(ListenerEvent),
    TaskListener(ListenerEvent),
    /// It decides which elements an ad-hoc sub-process activates.
    AdHocSubProcess,
}

impl JobKind {
    pub fn name(self) -> &'static str {
        match self {
            JobKind::BpmnElement => "BPMN_ELEMENT",
            JobKind::ExecutionListener(_) => "EXECUTION_LISTENER",
            JobKind::TaskListener(_) => "TASK_LISTENER",
            JobKind::AdHocSubProcess => "AD_HOC_SUB_PROCESS",
        }
    }

    /// The event that a listener listens to.
    pub fn listener_event(self) -> Option<ListenerEvent> {
        match self {
            JobKind::ExecutionListener(event) | JobKind::TaskListener(event) => Some(event),
            JobKind::BpmnElement | JobKind::AdHocSubProcess => None,
        }
    }

    /// The API's name: `UNSPECIFIED` for jobs that are not for a listener.
    pub fn listener_event_name(self) -> &'static str {
        self.listener_event()
            .map_or("UNSPECIFIED", ListenerEvent::name)
    }

    pub fn is_listener(self) -> bool {
        self.listener_event().is_some()
    }
}

/// Events of listeners: execution listeners use the first two, task listeners the others. Ids are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ListenerEvent {
    Start,
    End,
    Creating,
    Assigning,
    Updating,
    Completing,
    Canceling,
}

impl ListenerEvent {
    pub fn name(self) -> &'static str {
        match self {
            ListenerEvent::Start => "START",
            ListenerEvent::End => "END",
            ListenerEvent::Creating => "CREATING",
            ListenerEvent::Assigning => "ASSIGNING",
            ListenerEvent::Updating => "UPDATING",
            ListenerEvent::Completing => "COMPLETING",
            ListenerEvent::Canceling => "CANCELING",
        }
    }
}

/// Result from the worker of a task listener or of an ad-hoc sub-process. Any job may be completed with one; jobs of other
/// kinds ignore it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobResult {
    #[serde(rename = "type")]
    pub kind: JobResultType,
    /// The task listener denies the transition.
    pub denied: bool,
    pub denied_reason: Arc<str>,
    pub corrections: Corrections,
    pub activate_elements: Vec<ActivateElement>,
    /// The completion condition of the ad-hoc sub-process is fulfilled.
    pub completion_condition_fulfilled: bool,
    /// Terminates the instances that still run in it.
    pub cancel_remaining_instances: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobResultType {
    #[default]
    UserTask,
    AdHocSubProcess,
}

/// Corrections of a task listener to its user task; `None` leaves the attribute as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Corrections {
    /// Empty: unassigned.
    pub assignee: Option<Arc<str>>,
    pub candidate_groups: Option<Vec<Arc<str>>>,
    pub candidate_users: Option<Vec<Arc<str>>>,
    /// ISO 8601; empty: none.
    pub due_date: Option<Arc<str>>,
    pub follow_up_date: Option<Arc<str>>,
    /// 0 to 100.
    pub priority: Option<i32>,
}

impl Corrections {
    pub fn is_empty(&self) -> bool {
        *self == Corrections::default()
    }

    /// About how many bytes the texts take.
    pub fn weight(&self) -> usize {
        let texts = [&self.assignee, &self.due_date, &self.follow_up_date];
        let lists = [&self.candidate_groups, &self.candidate_users];
        let lists = lists.into_iter().flatten().flatten();
        let all = texts.into_iter().flatten().chain(lists);
        all.map(|text| text.len() + size_of::<[usize; 4]>()).sum()
    }

    /// Names of the corrected attributes as records have them.
    pub fn attributes(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.assignee.is_some(), "assignee"),
            (self.candidate_groups.is_some(), "candidateGroupsList"),
            (self.candidate_users.is_some(), "candidateUsersList"),
            (self.due_date.is_some(), "dueDate"),
            (self.follow_up_date.is_some(), "followUpDate"),
            (self.priority.is_some(), "priority"),
        ];
        given
            .into_iter()
            .filter_map(|(given, name)| given.then_some(name))
    }
}

/// An element of an ad-hoc sub-process that its job activates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivateElement {
    pub element_id: Arc<str>,
    /// Local to the inner instance.
    pub variables: Vec<(Arc<str>, JsonText)>,
}

/// About how many bytes a text takes in memory beside its characters.
const TEXT: usize = size_of::<Arc<str>>() + size_of::<[usize; 2]>();

impl ActivateElement {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| 2 * TEXT + name.len() + value.len());
        size_of::<ActivateElement>() + self.element_id.len() + variables.sum::<usize>()
    }
}

impl JobResult {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        let elements = self.activate_elements.iter().map(ActivateElement::weight);
        size_of::<JobResult>()
            + self.denied_reason.len()
            + self.corrections.weight()
            + elements.sum::<usize>()
    }
}
