//! Commands that leave no trace.

use std::collections::HashSet;

use skep_engine::state::ElementState;
use skep_protocol::command::*;
use skep_protocol::value::{ActivateInstruction, MappingInstruction, TerminateInstruction};
use skep_protocol::{Document, Key};
use skep_testkit::rig::*;

use crate::models::ADDED;
use crate::world::{PROCESS, World, set};

/// Migrates every instance to the definition that it has.
pub fn migrate_to_the_same(world: &mut World) {
    let mut instances = world.rig.open_instances();
    instances.extend(world.rig.called_instances());
    for instance in instances {
        if let Some(definition) = definition_of_active(world, instance) {
            migrate(world, instance, definition, definition);
        }
    }
}

/// Migrates the instance to the version of its process that it does not have.
pub fn migrate_to_the_other(world: &mut World) {
    for instance in world.rig.open_instances() {
        if let Some(definition) = definition_of_active(world, instance) {
            let other = other_version(&world.rig, definition);
            migrate(world, instance, definition, other);
        }
    }
}

/// An instance that is cancelled, and waits for a listener meanwhile, cannot be migrated any more.
fn definition_of_active(world: &mut World, instance: Key) -> Option<Key> {
    let row = world.rig.engine(1).state.elements.get(instance)?;
    (row.state == ElementState::Activated).then_some(row.process_definition_key)
}

fn other_version(rig: &Rig, definition: Key) -> Key {
    let mut events = rig.events("PROCESS");
    let other = events.find(|r| {
        let is_one = r.intent == "CREATED" && r.text("bpmnProcessId") == PROCESS;
        is_one && r.key != definition
    });
    other.expect("there are two versions").key
}

fn migrate(world: &mut World, instance: Key, from: Key, to: Key) {
    let state = &mut world.rig.engine(1).state;
    let process = state.processes.get(from).expect("it is deployed").clone();
    let mut seen = HashSet::new();
    let ids = process.graph.element_ids().filter(|id| {
        let has_id = process.graph.find(id).is_some() && !id.contains('#');
        has_id && (from == to || !id.starts_with(ADDED)) && seen.insert(id.to_string())
    });
    let mapping_instructions = ids.map(|id| MappingInstruction {
        source_element_id: id.into(),
        target_element_id: id.into(),
    });
    let command = Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key: instance,
        target_process_definition_key: to,
        mapping_instructions: mapping_instructions.collect(),
    });
    world.rig.send(command).expect("it is migrated");
}

/// Fails every job, and resolves the incident.
pub fn fail_and_resolve(world: &mut World) {
    for job in world.jobs_to_do() {
        world.rig.send(fail(job.key)).expect("the job fails");
        world
            .rig
            .set_retries(job.key, job.retries)
            .expect("it may be tried again");
        let rig = &mut world.rig;
        let created = rig.events("INCIDENT").filter(|r| r.intent == "CREATED");
        let incident = created.last().expect("the failure makes an incident").key;
        rig.resolve(incident).expect("it is resolved");
    }
}

pub fn fail(job_key: Key) -> Command {
    Command::FailJob(FailJob {
        job_key,
        retries: 0,
        retry_back_off: 0,
        error_message: String::new(),
        variables: Document::new(),
    })
}

/// A variable that no expression reads, messages and signals that nothing waits for, and an instance of another process.
pub fn concern_nobody(world: &mut World) {
    let rig = &mut world.rig;
    let value = rig.seen.len();
    for instance in rig.open_instances() {
        let _ = rig.send(set(instance, &format!(r#"{{"{ADDED}":{value}}}"#)));
    }
    rig.publish("nobody", "key", 0, "{}");
    rig.publish("message", "other-key", MINUTE, "{}");
    rig.broadcast("nobody", "{}");
    let other = rig.create("other", "{}");
    rig.cancel(other).expect("it is cancelled");
}

/// A modification ends each waiting element that is new, and activates it again.
pub fn replace_new_elements(world: &mut World) {
    const REPLACED: [&str; 5] = [
        "SERVICE_TASK",
        "SEND_TASK",
        "RECEIVE_TASK",
        "INTERMEDIATE_CATCH_EVENT",
        "EVENT_BASED_GATEWAY",
    ];
    let seen = world.new_records().iter();
    let activated = seen.filter(|r| r.is_event() && r.intent == "ELEMENT_ACTIVATED");
    let new = activated.filter(|r| REPLACED.contains(&r.text("bpmnElementType")));
    let new: Vec<Seen> = new.cloned().collect();
    for record in new {
        let row = world.rig.engine(1).state.elements.get(record.key);
        let waits = row.is_some_and(|row| {
            let extra = row.extra.as_ref();
            let has_incident = extra.is_some_and(|extra| !extra.incidents.is_empty());
            row.state == ElementState::Activated && !has_incident
        });
        if !waits {
            continue;
        }
        let scope = Key(record
            .field("flowScopeKey")
            .as_i64()
            .expect("it has a scope"));
        let again = ActivateInstruction {
            element_id: record.element().into(),
            ancestor_scope_key: scope,
            variable_instructions: Vec::new(),
            ancestor_scope_keys: Vec::new(),
        };
        let end = TerminateInstruction {
            element_instance_key: record.key,
            ..TerminateInstruction::default()
        };
        // Instances of a multi-instance activity cannot be replaced: that is refused.
        let command = world.rig.modify(record.instance()).activate(again);
        let _ = command.terminate(end).send();
    }
}
