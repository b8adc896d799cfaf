//! USER_TASK events.

use skep_protocol::Key;
use skep_protocol::intent::UserTaskIntent as Intent;
use skep_protocol::value::{UserTaskAttribute, UserTaskValue};

use crate::appliers::Apply;
use crate::state::global_listeners::ListenerJob;
use crate::state::{State, UserTask, UserTaskState};

impl Apply<UserTaskValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &UserTaskValue, _timestamp: i64) {
        let begin = |state: &mut State, to: UserTaskState| {
            let listeners = global_listeners(state, to);
            change(state, key, |task| task.begin(to, value, listeners));
        };
        match intent {
            Intent::Creating => {
                let listeners = global_listeners(self, UserTaskState::Creating);
                let task = UserTask::new(value, listeners);
                self.user_tasks.table.insert(key, task);
                set_task_of_element(self, value.element_instance_key, key);
            }
            Intent::Assigning => begin(self, UserTaskState::Assigning),
            Intent::Claiming => begin(self, UserTaskState::Claiming),
            Intent::Updating => begin(self, UserTaskState::Updating),
            Intent::Completing => begin(self, UserTaskState::Completing),
            Intent::Canceling => begin(self, UserTaskState::Canceling),
            Intent::Corrected => change(self, key, |task| {
                if let Some(transition) = &mut task.transition {
                    transition.attributes = value.attributes.clone();
                    transition.assigns &= !value.changed.contains(&UserTaskAttribute::Assignee);
                }
            }),
            Intent::Created | Intent::Assigned | Intent::Updated => {
                change(self, key, |task| task.end(value.attributes.clone()));
            }
            Intent::CompletionDenied | Intent::AssignmentDenied | Intent::UpdateDenied => {
                change(self, key, UserTask::give_up);
            }
            Intent::Completed | Intent::Canceled => {
                self.user_tasks.table.remove(key);
                set_task_of_element(self, value.element_instance_key, Key::NONE);
            }
            Intent::Migrated => change(self, key, |task| {
                task.element = value.element;
                task.process_definition_key = value.process_definition_key;
            }),
            Intent::Complete | Intent::Assign | Intent::Claim | Intent::Update => {}
        }
    }
}

/// The global listeners for a transition, fixed when it begins: those before the model's listeners, and those after them.
fn global_listeners(state: &State, to: UserTaskState) -> [Vec<ListenerJob>; 2] {
    let event = to.listener_event();
    [false, true].map(|after| match event {
        Some(event) => state.global_listeners.of(event, after),
        None => Vec::new(),
    })
}

/// Changes a task, which exists until it is completed or canceled.
#[track_caller]
pub(in crate::appliers) fn change(state: &mut State, key: Key, change: impl FnOnce(&mut UserTask)) {
    if let Some(task) = state.user_tasks.table.should_get_mut(key) {
        change(task);
    }
}

fn set_task_of_element(state: &mut State, element_instance_key: Key, key: Key) {
    if let Some(element) = state.elements.must_get_mut(element_instance_key) {
        element.extra().user_task = key;
    }
}
