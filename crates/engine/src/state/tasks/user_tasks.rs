//! User tasks, with the transition that listeners are deciding on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{ListenerEvent, UserTaskAttribute, UserTaskAttributes, UserTaskValue};

use crate::remote::Variables;
use crate::state::global_listeners::ListenerJob;
use crate::state::table::{Row, StoreError, Table, Tables, weight_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserTaskState {
    Creating,
    /// Waits for its user. In all other states the task is in a [`Transition`].
    Created,
    Assigning,
    Claiming,
    Updating,
    Completing,
    Canceling,
}

impl UserTaskState {
    /// The state name shown to clients.
    pub fn name(self) -> &'static str {
        match self {
            UserTaskState::Creating => "CREATING",
            UserTaskState::Created => "CREATED",
            UserTaskState::Assigning => "ASSIGNING",
            UserTaskState::Claiming => "CLAIMING",
            UserTaskState::Updating => "UPDATING",
            UserTaskState::Completing => "COMPLETING",
            UserTaskState::Canceling => "CANCELING",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserTask {
    pub state: UserTaskState,
    pub element: u32,
    pub element_instance_key: Key,
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    /// Epoch milliseconds.
    pub creation_timestamp: i64,
    pub form_key: Key,
    pub external_form_reference: Arc<str>,
    /// The current attributes, before the transition takes effect.
    pub attributes: UserTaskAttributes,
    pub transition: Option<Box<Transition>>,
    /// The variable update of the transition.
    pub document: Option<DocumentUpdate>,
}

/// A transition that takes effect when all listeners have agreed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    pub attributes: UserTaskAttributes,
    /// Attributes changed by the command.
    pub changed: Vec<UserTaskAttribute>,
    pub action: Arc<str>,
    pub variables: Variables,
    /// Number of listeners of this transition that have completed.
    pub listeners_done: u32,
    /// The global listeners, fixed when the transition began: before those of the model, and after them.
    pub global_listeners: [Vec<ListenerJob>; 2],
    /// The assignee comes from the model: the task is assigned when it has been created.
    pub assigns: bool,
}

/// A variable update in the task's scope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentUpdate {
    /// Key of the VARIABLE_DOCUMENT records.
    pub key: Key,
    pub local: bool,
}

impl UserTaskState {
    /// The event of the listeners that run in this state.
    pub fn listener_event(self) -> Option<ListenerEvent> {
        Some(match self {
            UserTaskState::Creating => ListenerEvent::Creating,
            UserTaskState::Assigning | UserTaskState::Claiming => ListenerEvent::Assigning,
            UserTaskState::Updating => ListenerEvent::Updating,
            UserTaskState::Completing => ListenerEvent::Completing,
            UserTaskState::Canceling => ListenerEvent::Canceling,
            UserTaskState::Created => return None,
        })
    }
}

impl UserTask {
    /// A task in creation.
    pub fn new(value: &UserTaskValue, listeners: [Vec<ListenerJob>; 2]) -> UserTask {
        let assigns = !value.attributes.assignee.is_empty();
        UserTask {
            state: UserTaskState::Creating,
            element: value.element,
            element_instance_key: value.element_instance_key,
            process_definition_key: value.process_definition_key,
            process_instance_key: value.process_instance_key,
            root_process_instance_key: value.root_process_instance_key,
            creation_timestamp: value.creation_timestamp,
            form_key: value.form_key,
            external_form_reference: value.external_form_reference.clone(),
            attributes: UserTaskAttributes {
                assignee: Arc::default(),
                ..value.attributes.clone()
            },
            transition: Some(Box::new(Transition::new(value, assigns, listeners))),
            document: None,
        }
    }

    /// Begins a transition.
    pub(in crate::appliers) fn begin(
        &mut self,
        state: UserTaskState,
        value: &UserTaskValue,
        listeners: [Vec<ListenerJob>; 2],
    ) {
        self.state = state;
        self.transition = Some(Box::new(Transition::new(value, false, listeners)));
    }

    /// Ends the transition: the task now has these attributes.
    pub(in crate::appliers) fn end(&mut self, attributes: UserTaskAttributes) {
        self.attributes = attributes;
        self.give_up();
    }

    /// Ends the transition without any change.
    pub(in crate::appliers) fn give_up(&mut self) {
        self.state = UserTaskState::Created;
        self.transition = None;
    }
}

impl Transition {
    fn new(
        value: &UserTaskValue,
        assigns: bool,
        global_listeners: [Vec<ListenerJob>; 2],
    ) -> Transition {
        Transition {
            attributes: value.attributes.clone(),
            changed: value.changed.clone(),
            action: value.action.clone(),
            variables: value.variables.clone(),
            listeners_done: 0,
            global_listeners,
            assigns,
        }
    }

    fn weight(&self) -> usize {
        let texts = self.attributes.weight() + self.action.len() + weight_of(&self.variables);
        let listeners = self.global_listeners.iter().flatten();
        let listeners = listeners.map(|job| job.job_type.len() + size_of::<ListenerJob>());
        size_of::<Self>() + self.changed.len() + texts + listeners.sum::<usize>()
    }
}

impl Row for UserTask {
    const TABLE: u8 = 35;

    fn weight(&self) -> usize {
        let transition = self.transition.as_ref().map_or(0, |t| t.weight());
        let texts = self.attributes.weight() + self.external_form_reference.len();
        size_of::<Self>() + texts + transition
    }
}

pub struct UserTasks {
    pub table: Table<UserTask>,
}

impl UserTasks {
    pub fn open(tables: &Arc<Tables>) -> Result<UserTasks, StoreError> {
        Ok(UserTasks {
            table: Table::open(tables)?,
        })
    }

    pub fn get(&mut self, key: Key) -> Option<&UserTask> {
        self.table.get(key)
    }
}
