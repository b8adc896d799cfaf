//! Unknown keys: the answer of a partition, and the same text for keys that no partition can have created.

use skep_engine::key_not_found;
use skep_protocol::command::*;
use skep_protocol::{Document, Key, RejectionType};

use skep_testkit::rig::Rig;

const KEY: Key = Key(i64::MAX);

fn commands() -> Vec<Command> {
    let task = |claim| AssignUserTask {
        user_task_key: KEY,
        assignee: "demo".into(),
        action: "".into(),
        claim,
    };
    let update = |kind| Command::UpdateJob {
        job_key: KEY,
        retries: Some(1),
        timeout: Some(1),
        kind,
    };
    vec![
        Command::CancelProcessInstance {
            process_instance_key: KEY,
        },
        Command::BanInstance {
            process_instance_key: KEY,
        },
        Command::CompleteJob {
            job_key: KEY,
            variables: Document::default(),
            result: None,
        },
        update(UpdateJobKind::Retries),
        update(UpdateJobKind::Timeout),
        update(UpdateJobKind::Both),
        Command::ResolveIncident { incident_key: KEY },
        Command::SetVariables {
            element_instance_key: KEY,
            variables: Document::default(),
            local: false,
        },
        Command::AssignUserTask(task(true)),
        Command::AssignUserTask(task(false)),
        Command::ModifyProcessInstance(ModifyProcessInstance {
            process_instance_key: KEY,
            ..ModifyProcessInstance::default()
        }),
        Command::MigrateProcessInstance(MigrateProcessInstance {
            process_instance_key: KEY,
            target_process_definition_key: KEY,
            mapping_instructions: Vec::new(),
        }),
        Command::ActivateAdHoc(ActivateAdHoc {
            ad_hoc_sub_process_instance_key: KEY,
            elements: Vec::new(),
            cancel_remaining_instances: false,
        }),
        Command::Batch(BatchCommand::Cancel {
            batch_operation_key: KEY,
        }),
    ]
}

#[test]
fn a_key_of_an_unknown_partition_gets_the_refusal_of_an_unknown_key() {
    for command in commands() {
        let request = Request::internal(command.clone());
        let refusal = key_not_found(&request).expect("it is refused");
        assert_eq!(refusal.kind, RejectionType::NotFound, "{refusal:?}");
        assert!(refusal.reason.contains(&KEY.to_string()), "{refusal:?}");
        let mut rig = Rig::new();
        let sent = rig.send_to(1, command);
        assert_eq!(rig.answer(sent), Some(Err(refusal)));
    }
}

#[test]
fn a_command_without_a_key_has_no_such_refusal() {
    let request = Request::internal(Command::ResetClock);
    assert_eq!(key_not_found(&request), None);
}
