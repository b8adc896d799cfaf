//! Random migrations of instances: to a model whose elements have other names, back, to a newer version, or to the same definition.

use std::collections::HashSet;

use skep_engine::state::subscriptions::StartedByMessage;
use skep_engine::state::{Row, read_row};
use skep_protocol::command::{Command, MigrateProcessInstance};
use skep_protocol::value::{BatchPlan, MappingInstruction};
use skep_protocol::{Key, TenantId};

use skep_random::Random;
use skep_testkit::rig::*;

/// The same model under other names: those of the process, its elements and its sequence flows.
pub fn renamed(xml: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for part in xml.split(" id=\"").skip(1) {
        ids.extend(part.split('"').next());
    }
    let mut out = xml.to_string();
    for id in ids {
        for attribute in [
            "id",
            "default",
            "sourceRef",
            "targetRef",
            "attachedToRef",
            "activityRef",
        ] {
            let named = |id: &str| format!(" {attribute}=\"{id}\"");
            out = out.replace(&named(id), &named(&format!("{id}-renamed")));
        }
        for kind in ["message", "signal", "error", "escalation"] {
            let named = |id: &str| format!(" {kind}Ref=\"{id}\"");
            out = out.replace(&named(id), &named(&format!("{id}-renamed")));
        }
    }
    out
}

/// Migrates a running instance, with most of the instructions that it may need. True if it was accepted.
pub fn migrate(rig: &mut Rig, random: &mut Random) -> bool {
    let mut open: Vec<Key> = rig.open_instances();
    open.extend(rig.called_instances());
    let Some(instance) = open.get(random.below(open.len().max(1) as u64) as usize) else {
        return false;
    };
    let Some(command) = migration(rig, random, *instance) else {
        return false;
    };
    let request = rig.send_async(command);
    !matches!(rig.answer(request), Some(Err(_)))
}

/// The plan of a batch migration: it fits instances of one definition only.
pub fn plan(rig: &mut Rig, random: &mut Random) -> Option<BatchPlan> {
    let open: Vec<Key> = rig.open_instances();
    let instance = *open.get(random.below(open.len().max(1) as u64) as usize)?;
    let Some(Command::MigrateProcessInstance(migration)) = migration(rig, random, instance) else {
        return None;
    };
    let instructions = migration.mapping_instructions.into_iter();
    let pair = |one: MappingInstruction| (one.source_element_id, one.target_element_id);
    Some(BatchPlan::Migrate {
        target_process_definition_key: migration.target_process_definition_key,
        mapping: instructions.map(pair).collect(),
    })
}

fn migration(rig: &mut Rig, random: &mut Random, instance: Key) -> Option<Command> {
    let partition = instance.partition()?;
    let state = &mut rig.engine(partition).state;
    let source = state.elements.get(instance)?.process_definition_key;
    let source = state.processes.get(source)?.clone();
    let id = match (&*source.bpmn_process_id, random.below(4)) {
        (id, 0) => id,
        ("random", _) => "random-renamed",
        ("random-renamed", _) => "random",
        ("started", _) => "started-renamed",
        ("started-renamed", _) => "started",
        (id, _) => id,
    };
    let target = state.processes.latest(&TenantId::default(), id)?.clone();
    // Both have the same elements in the same order.
    let pairs = source.graph.element_ids().zip(target.graph.element_ids());
    let thorough = random.below(4) > 0;
    let mut seen = HashSet::new();
    let mut mapping_instructions = Vec::new();
    for (from, to) in pairs {
        let has_id = source.graph.find(from).is_some() && !from.contains('#');
        if has_id && seen.insert(from.to_string()) && (thorough || random.below(8) > 0) {
            mapping_instructions.push(MappingInstruction {
                source_element_id: from.into(),
                target_element_id: to.into(),
            });
        }
    }
    Some(Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key: instance,
        target_process_definition_key: target.key,
        mapping_instructions,
    }))
}

/// Checks that at most one active instance of a process was started by messages with one correlation key, and that each counts for
/// the process that it belongs to.
pub fn check_message_starts(rig: &mut Rig, seed: u64) {
    for partition in &mut rig.partitions {
        let state = &mut partition.engine.state;
        let mut seen = HashSet::new();
        for ((table, key), row) in state.dump() {
            if table != StartedByMessage::TABLE {
                continue;
            }
            let instance = Key(i64::from_be_bytes(key.try_into().unwrap()));
            let started: StartedByMessage = read_row(&row).unwrap();
            let process = started.bpmn_process_id.clone();
            let is_first = seen.insert((process.clone(), started.correlation_key));
            assert!(
                is_first,
                "seed {seed}: two instances of {process} have one key"
            );
            // Its elements are migrated after the key.
            if state.migrations.get(instance).is_some() {
                continue;
            }
            let Some(row) = state.elements.get(instance) else {
                continue;
            };
            let definition = row.process_definition_key;
            let definition = state.processes.get(definition).unwrap();
            assert_eq!(definition.bpmn_process_id, process, "seed {seed}");
        }
    }
}
