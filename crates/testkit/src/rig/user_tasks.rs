//! Clients' commands for user tasks.

use skep_protocol::command::*;
use skep_protocol::value::Corrections;
use skep_protocol::{Document, Key, Rejection, Response};

use super::Rig;

impl Rig {
    /// The newest user task.
    pub fn user_task(&self) -> Key {
        let created = self.events("USER_TASK").filter(|r| r.intent == "CREATING");
        created.last().expect("there is a user task").key
    }

    pub fn assignment(task: Key, assignee: &str, claim: bool) -> Command {
        Command::AssignUserTask(AssignUserTask {
            user_task_key: task,
            assignee: assignee.into(),
            action: "".into(),
            claim,
        })
    }

    pub fn task_update(task: Key, changes: Corrections) -> Command {
        Command::UpdateUserTask(UpdateUserTask {
            user_task_key: task,
            action: "".into(),
            changes,
        })
    }

    pub fn completion(task: Key, variables: &str) -> Command {
        Command::CompleteUserTask(CompleteUserTask {
            user_task_key: task,
            action: "".into(),
            variables: Document::parse(variables).unwrap(),
        })
    }

    pub fn assign(
        &mut self,
        task: Key,
        assignee: &str,
        action: &str,
    ) -> Result<Response, Rejection> {
        let mut command = Rig::assignment(task, assignee, false);
        if let Command::AssignUserTask(assign) = &mut command {
            assign.action = action.into();
        }
        self.send(command)
    }

    pub fn claim(&mut self, task: Key, assignee: &str) -> Result<Response, Rejection> {
        self.send(Rig::assignment(task, assignee, true))
    }

    pub fn update_task(&mut self, task: Key, changes: Corrections) -> Result<Response, Rejection> {
        self.send(Rig::task_update(task, changes))
    }

    pub fn complete_task(&mut self, task: Key, variables: &str) -> Result<Response, Rejection> {
        self.send(Rig::completion(task, variables))
    }
}
