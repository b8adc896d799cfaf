//! Migration of process instances.

use skep_protocol::command::{Command, MigrateProcessInstance};
use skep_protocol::value::MappingInstruction;
use skep_protocol::{Key, Rejection, Response};

use super::Rig;

impl Rig {
    /// The newest definition of a process.
    pub fn definition(&self, process: &str) -> Key {
        let definitions = self.events("PROCESS");
        let created = definitions.filter(|seen| seen.intent == "CREATED");
        let of_process = created.filter(|seen| seen.text("bpmnProcessId") == process);
        of_process.last().expect("the process is deployed").key
    }

    /// A migration to the newest definition of a process.
    pub fn migration(&self, instance: Key, target: &str, pairs: &[(&str, &str)]) -> Command {
        let instructions = pairs.iter().map(|(source, target)| MappingInstruction {
            source_element_id: (*source).into(),
            target_element_id: (*target).into(),
        });
        Command::MigrateProcessInstance(MigrateProcessInstance {
            process_instance_key: instance,
            target_process_definition_key: self.definition(target),
            mapping_instructions: instructions.collect(),
        })
    }

    pub fn migrate(
        &mut self,
        instance: Key,
        target: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Response, Rejection> {
        let command = self.migration(instance, target, pairs);
        self.send(command)
    }
}
