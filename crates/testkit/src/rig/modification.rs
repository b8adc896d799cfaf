//! Builds modifications of instances, step by step.

use skep_protocol::command::{Command, ModifyProcessInstance};
use skep_protocol::value::{ActivateInstruction, MoveInstruction, TerminateInstruction};
use skep_protocol::{Key, Rejection, Response};

use super::{Rig, rejected};

/// A modification under construction.
pub struct Modify<'a>(&'a mut Rig, ModifyProcessInstance);

impl Rig {
    pub fn modify(&mut self, instance: Key) -> Modify<'_> {
        let command = ModifyProcessInstance {
            process_instance_key: instance,
            ..ModifyProcessInstance::default()
        };
        Modify(self, command)
    }
}

impl Modify<'_> {
    pub fn activate(mut self, instruction: ActivateInstruction) -> Self {
        self.1.activate_instructions.push(instruction);
        self
    }

    pub fn terminate(mut self, instruction: TerminateInstruction) -> Self {
        self.1.terminate_instructions.push(instruction);
        self
    }

    pub fn r#move(mut self, instruction: MoveInstruction) -> Self {
        self.1.move_instructions.push(instruction);
        self
    }

    pub fn send(self) -> Result<Response, Rejection> {
        self.0.send(Command::ModifyProcessInstance(self.1))
    }

    #[track_caller]
    pub fn done(self) {
        self.send().unwrap();
    }

    /// Expects a refusal that changes nothing; returns its type and reason.
    #[track_caller]
    pub fn refused(self) -> (String, String) {
        let Modify(rig, command) = self;
        let before = rig.seen.iter().filter(|r| r.is_event()).count();
        let refusal = rejected(rig.send(Command::ModifyProcessInstance(command)));
        let after = rig.seen.iter().filter(|r| r.is_event()).count();
        assert_eq!(before, after);
        refusal
    }
}
