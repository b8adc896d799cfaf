//! The table of commands: its rows, and the invariants of their encoding between nodes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use skep_protocol::command::{
    AssignUserTask, At, BatchCommand, Class, Command, HistoryOf, IdentityCommand, KeptCommand,
    Need, RecordName, Row, SessionCommand,
};
use skep_protocol::permission::{Permission, ResourceType};
use skep_protocol::record::encode;
use skep_protocol::value::{HistoryDeletionType, HistoryDeletionValue};
use skep_protocol::{Document, Key};

fn rows() -> impl Iterator<Item = &'static Row> {
    let families = [
        BatchCommand::ROWS,
        IdentityCommand::ROWS,
        SessionCommand::ROWS,
        KeptCommand::ROWS,
    ];
    Command::ROWS.iter().chain(families.into_iter().flatten())
}

#[test]
fn every_command_has_a_unique_name_and_is_written_as_existing_records() {
    let mut names = BTreeSet::new();
    for row in rows() {
        assert!(names.insert(row.name), "{} stands twice", row.name);
        for RecordName(value_type, intent) in row.records {
            let intent = value_type.intent_name(*intent);
            assert_ne!(intent, "UNKNOWN", "{}: {value_type:?}", row.name);
        }
    }
    assert_eq!(names.len(), 36 + 8 + 26 + 5 + 4);
}

/// The number of a variant is its index in the table: nodes of other versions use the same.
#[test]
fn commands_keep_their_numbers_between_nodes() {
    let key = Key::new(1, 7);
    let numbered = [
        (3, cancellation(key)),
        (8, completion(key)),
        (27, Command::DeleteGlobalListener { id: "audit".into() }),
        (
            28,
            Command::Batch(BatchCommand::Resume {
                batch_operation_key: key,
            }),
        ),
        (30, Command::ResetClock),
        (
            34,
            Command::ListIncidents {
                partition: 1,
                after: Key::NONE,
                limit: 1,
            },
        ),
        (
            35,
            Command::Identity(IdentityCommand::DeleteUser {
                username: "anna".into(),
            }),
        ),
        (36, Command::ScaleUp { partitions: 6 }),
        (
            38,
            Command::Session(SessionCommand::UseSession { id: [0; 32] }),
        ),
        (
            39,
            Command::Kept(KeptCommand::ListKept {
                kind: Default::default(),
            }),
        ),
    ];
    for (number, command) in numbered {
        assert_eq!(encode(&command)[0], number, "{command:?}");
    }
    let resume = BatchCommand::Resume {
        batch_operation_key: key,
    };
    assert_eq!(encode(&resume)[0], 3);
    let deletion = HistoryDeletionValue {
        resource_key: key,
        kind: HistoryDeletionType::ProcessInstance,
    };
    let of = HistoryOf {
        deletion: deletion.clone(),
        resources: vec!["order".into()],
        tenant: None,
    };
    assert_eq!(encode(&BatchCommand::DeleteHistory(deletion))[0], 6);
    assert_eq!(encode(&BatchCommand::DeleteHistoryOf(of))[0], 7);
    let setup = IdentityCommand::SetUp(Box::default());
    assert_eq!(encode(&setup)[0], 25);
}

fn completion(job_key: Key) -> Command {
    Command::CompleteJob {
        job_key,
        variables: Document::default(),
        result: None,
    }
}

fn cancellation(process_instance_key: Key) -> Command {
    Command::CancelProcessInstance {
        process_instance_key,
    }
}

/// Gateways, partitions and their metrics all rely on this list.
#[test]
fn commands_that_finish_or_stop_work_are_never_refused_for_lack_of_room() {
    let finishing = rows().filter(|row| row.class.is_finishing());
    let finishing: Vec<_> = finishing.map(|row| row.name).collect();
    let expected = [
        "CancelProcessInstance",
        "BanInstance",
        "CompleteJob",
        "FailJob",
        "ThrowError",
        "UpdateJob",
        "ResolveIncident",
        "CompleteUserTask",
        "ChangeExporting",
        "Cancel",
        "Suspend",
        "DeleteUser",
        "DeleteGroup",
        "RemoveFromGroup",
        "DeleteRole",
        "RemoveFromRole",
        "DeleteTenant",
        "RemoveFromTenant",
        "DeleteMappingRule",
        "DeleteAuthorization",
        "SetUp",
        "BeginSession",
        "UseSession",
        "ClaimSession",
        "RenewSession",
        "EndSession",
        "DeleteKept",
        "GetKept",
        "ListKept",
    ];
    assert_eq!(finishing, expected);
    let polling: Vec<_> = rows().filter(|row| row.class == Class::Polling).collect();
    assert_eq!(polling.len(), 1, "{polling:?}");
}

#[test]
fn a_command_by_key_goes_to_the_partition_of_the_key_and_is_written_as_its_intent_says() {
    let key = Key::new(3, 9);
    let claim = |claim| {
        Command::AssignUserTask(AssignUserTask {
            user_task_key: key,
            assignee: "demo".into(),
            action: "".into(),
            claim,
        })
    };
    let commands = [
        (completion(key), "JOB#COMPLETE"),
        (cancellation(key), "PROCESS_INSTANCE#CANCEL"),
        (claim(true), "USER_TASK#CLAIM"),
        (claim(false), "USER_TASK#ASSIGN"),
        (
            Command::Batch(BatchCommand::Suspend {
                batch_operation_key: key,
            }),
            "BATCH_OPERATION_LIFECYCLE_MANAGEMENT#SUSPEND",
        ),
    ];
    for (command, name) in commands {
        assert_eq!(command.at(), At::Key(key));
        assert_eq!(command.record().key, key);
        assert_eq!(command.record().name().to_string(), name);
    }
}

#[test]
fn the_assignee_needs_less_than_others_to_unassign_a_task() {
    let assign = |assignee: &str| {
        Command::AssignUserTask(AssignUserTask {
            user_task_key: Key::new(1, 1),
            assignee: assignee.into(),
            action: "".into(),
            claim: false,
        })
    };
    let others = "PROCESS_DEFINITION:UPDATE_USER_TASK USER_TASK:UPDATE";
    let own = "PROCESS_DEFINITION:UPDATE_USER_TASK PROCESS_DEFINITION:CLAIM_USER_TASK USER_TASK:UPDATE USER_TASK:CLAIM";
    for (assignee, expected) in [("", own), ("demo", "")] {
        let command = assign(assignee);
        let Need::OfTask {
            any_of,
            or_assignee,
            or_for,
        } = command.needs()
        else {
            panic!("{:?}", command.needs());
        };
        assert_eq!(texts(any_of), others);
        assert_eq!(texts(or_assignee), expected, "to assign to {assignee:?}");
        assert!(or_for.is_none(), "nobody takes it for himself: {or_for:?}");
    }
    let claim = Command::AssignUserTask(AssignUserTask {
        user_task_key: Key::new(1, 1),
        assignee: "demo".into(),
        action: "".into(),
        claim: true,
    });
    let Need::OfTask { or_for, .. } = claim.needs() else {
        panic!("{:?}", claim.needs());
    };
    let taken = or_for.map(|(who, permissions)| (who, texts(permissions)));
    assert_eq!(taken, Some(("demo", own.to_string())));
}

fn texts(permissions: &[Permission]) -> String {
    let all = permissions.iter().map(ToString::to_string);
    all.collect::<Vec<_>>().join(" ")
}

/// The reference's table, beside the repository.
#[test]
fn the_permissions_are_those_of_the_reference() {
    const NAME: &str = "shared/api/permissions.md";
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(file) = here.ancestors().map(|a| a.join(NAME)).find(|f| f.exists()) else {
        let line = format!("NOT RUN (facts): {NAME} is missing beside the repository\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        return;
    };
    let page = std::fs::read_to_string(file).unwrap();
    let expected: Vec<String> = page
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(str::to_string)
        .collect();
    let ours = ResourceType::ALL.iter().map(|resource| {
        let permissions = resource.permissions().iter();
        let permissions = permissions.map(|(permission, since)| {
            let name = permission.name();
            if *since == resource.since() {
                name.to_string()
            } else {
                format!("{name} ({since})")
            }
        });
        let permissions = permissions.collect::<Vec<_>>().join(", ");
        format!(
            "| {} | 8.{} | {permissions} |",
            resource.name(),
            resource.since()
        )
    });
    assert_eq!(ours.collect::<Vec<_>>(), expected);
}
