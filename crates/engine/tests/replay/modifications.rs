//! Random modifications of instances: each is refused or carried out, and the instance continues.

use skep_engine::state::{ElementInstance, Row, read_row};
use skep_protocol::Key;
use skep_protocol::command::{Command, ModifyProcessInstance};
use skep_protocol::value::*;

use skep_random::Random;
use skep_testkit::rig::*;

/// Ids of all elements of the process, including those that cannot be chosen.
pub fn all_ids(bpmn: &skep_model::builder::Bpmn) -> Vec<String> {
    let process = bpmn.clone().compile();
    process.element_ids().map(String::from).collect()
}

/// Modifies a running instance, or one that has ended.
pub fn modify(rig: &mut Rig, random: &mut Random, ids: &[String]) -> bool {
    let mut instances = rig.open_instances();
    instances.extend(rig.called_instances());
    let Some(instance) = any(random, &instances).copied() else {
        return false;
    };
    let partition = instance.partition().unwrap();
    let inside = element_instances(rig, instance);
    let mut command = ModifyProcessInstance {
        process_instance_key: instance,
        ..ModifyProcessInstance::default()
    };
    for _ in 0..random.below(3) {
        command.activate_instructions.push(ActivateInstruction {
            element_id: id(random, ids),
            ancestor_scope_key: match random.below(3) {
                0 => any(random, &inside).copied().unwrap_or(Key::NONE),
                _ => Key::NONE,
            },
            variable_instructions: variables(random, ids),
            ancestor_scope_keys: Vec::new(),
        });
    }
    for _ in 0..random.below(3) {
        let by_id = random.below(2) == 0;
        command.terminate_instructions.push(TerminateInstruction {
            element_instance_key: if by_id {
                Key::NONE
            } else {
                any(random, &inside).copied().unwrap_or(Key::NONE)
            },
            element_id: if by_id { id(random, ids) } else { "".into() },
        });
    }
    for _ in 0..random.below(3) {
        command.move_instructions.push(moved(random, ids, &inside));
    }
    let request = rig.send_to(partition, Command::ModifyProcessInstance(command));
    rig.answer(request).is_some_and(|answer| answer.is_ok())
}

fn moved(random: &mut Random, ids: &[String], inside: &[Key]) -> MoveInstruction {
    let by_id = random.below(2) == 0;
    MoveInstruction {
        source_element_id: if by_id { id(random, ids) } else { "".into() },
        source_element_instance_key: if by_id {
            Key::NONE
        } else {
            any(random, inside).copied().unwrap_or(Key::NONE)
        },
        target_element_id: id(random, ids),
        ancestor: match random.below(4) {
            0 => MoveAncestor::Any,
            1 => MoveAncestor::Inferred,
            2 => MoveAncestor::SourceParent,
            _ => MoveAncestor::Key(any(random, inside).copied().unwrap_or(Key::NONE)),
        },
        variable_instructions: variables(random, ids),
    }
}

fn any<'a, T>(random: &mut Random, all: &'a [T]) -> Option<&'a T> {
    all.get(random.below(all.len().max(1) as u64) as usize)
}

fn id(random: &mut Random, ids: &[String]) -> std::sync::Arc<str> {
    any(random, ids).map_or("".into(), |id| id.as_str().into())
}

fn variables(random: &mut Random, ids: &[String]) -> Vec<VariableInstruction> {
    let scope = match random.below(8) {
        0 => id(random, ids),
        1 | 2 => "".into(),
        _ => return Vec::new(),
    };
    vec![VariableInstruction {
        element_id: scope,
        variables: vec![("a".into(), random.below(4).to_string().into())],
    }]
}

/// The instance and its element instances, without those of called processes.
fn element_instances(rig: &mut Rig, instance: Key) -> Vec<Key> {
    let partition = instance.partition().unwrap();
    let rows = rig.engine(partition).state.dump().into_iter();
    let mut found = Vec::new();
    for ((table, key), row) in rows {
        if table == ElementInstance::TABLE {
            let row: ElementInstance = read_row(&row).unwrap();
            if row.process_instance_key == instance {
                found.push(Key(i64::from_be_bytes(key.try_into().unwrap())));
            }
        }
    }
    found
}
