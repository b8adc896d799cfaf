//! Users, groups, roles, tenants and mapping rules with very many memberships and authorizations are deleted in turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skep_engine::state::State;
use skep_engine::{Engine, EngineConfig, OldestNode, RemoteCommand};
use skep_protocol::batch::BatchReader;
use skep_protocol::command::*;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::*;
use skep_protocol::{Key, Rejection, RejectionType, Response};
use skep_testkit::rig::*;

use crate::identity::{CREATE, authorization, grants_of, member, new, send, user};

/// Most memberships and authorizations that go in one turn.
const SLICE: usize = 250;

fn entity(id: &str) -> ParentValue {
    ParentValue {
        key: Key::NONE,
        id: id.into(),
        name: id.into(),
        description: "".into(),
        member: None,
    }
}

fn clients(parent: &str, count: usize) -> Vec<(Arc<str>, Member)> {
    let app = |n| Member::new(EntityType::Client, &format!("app-{n}"));
    (0..count).map(|n| (parent.into(), app(n))).collect()
}

/// The group `all` with this many members.
fn group_of(count: usize) -> IdentitySetupValue {
    IdentitySetupValue {
        groups: vec![entity("all")],
        group_members: clients("all", count),
        ..IdentitySetupValue::default()
    }
}

fn set_up(rig: &mut Rig, setup: IdentitySetupValue) {
    send(rig, IdentityCommand::SetUp(Box::new(setup))).unwrap();
}

fn delete_group() -> IdentityCommand {
    IdentityCommand::DeleteGroup { id: "all".into() }
}

fn rows(rig: &Rig, partition: usize) -> usize {
    let state = &rig.partitions[partition - 1].engine.state;
    state.identity.table.len()
}

fn refused(answer: Result<Response, Rejection>) -> (RejectionType, String) {
    let rejection = answer.expect_err("it is refused");
    (rejection.kind, rejection.reason.to_string())
}

/// What the first partition has written about identity since then.
fn written(rig: &Rig, from: usize) -> Vec<String> {
    let events = rig.seen[from..].iter();
    let events = events.filter(|seen| seen.is_event() && seen.partition == 1);
    let events = events.map(|seen| format!("{} {}", seen.value_type, seen.intent));
    let others = ["CONTINUATION ", "COMMAND_DISTRIBUTION "];
    events
        .filter(|event| !others.iter().any(|other| event.starts_with(other)))
        .collect()
}

/// Deletes something that has all of these; returns the number of batches of the first partition.
fn delete(rig: &mut Rig, command: IdentityCommand, removed: &[(&str, usize)], last: &str) -> usize {
    rig.record_batches();
    rig.batches.clear();
    let from = rig.seen.len();
    let answer = send(rig, command);
    assert!(matches!(answer, Ok(Response::Empty)), "{answer:?}");
    let mut expected: Vec<String> = Vec::new();
    for (event, count) in removed {
        expected.extend(std::iter::repeat_n(event.to_string(), *count));
    }
    expected.push(last.to_string());
    let got = written(rig, from);
    assert!(got == expected, "{last}: {} events", got.len());
    let own: Vec<&Vec<u8>> = (rig.batches.iter())
        .filter(|(partition, _)| *partition == 1)
        .map(|(_, batch)| batch)
        .collect();
    for batch in &own {
        let mut reader = BatchReader::new(batch).unwrap();
        let records = reader.by_ref().count();
        assert!(records < SLICE + 10, "{last}: {records} records in a batch");
    }
    own.len()
}

#[test]
fn twenty_thousand_members_leave_in_turns() {
    let mut rig = Rig::new();
    set_up(&mut rig, group_of(20_000));
    let removed = [("GROUP ENTITY_REMOVED", 20_000)];
    let batches = delete(&mut rig, delete_group(), &removed, "GROUP DELETED");
    assert_eq!(batches, 20_000 / SLICE);
    assert_eq!(rows(&rig, 1), 0);
    send(&mut rig, IdentityCommand::CreateGroup(new("all"))).unwrap();
    assert_eq!(rows(&rig, 1), 1, "the next one with this id is empty");
}

#[test]
fn more_members_than_one_command_could_remove_leave_all_partitions() {
    let mut rig = Rig::with_partitions(3);
    set_up(&mut rig, group_of(5_001));
    let removed = [("GROUP ENTITY_REMOVED", 5_001)];
    delete(&mut rig, delete_group(), &removed, "GROUP DELETED");
    assert_eq!([1, 2, 3].map(|partition| rows(&rig, partition)), [0; 3]);
}

/// More than one slice of whatever belongs to an entity.
const MANY: usize = 1_001;

fn parents() -> Vec<ParentValue> {
    (0..MANY).map(|n| entity(&format!("p-{n}"))).collect()
}

/// One member of all of them.
fn in_all(kind: EntityType, id: &str) -> Vec<(Arc<str>, Member)> {
    let parents = (0..MANY).map(|n| Arc::from(format!("p-{n}")));
    parents
        .map(|parent| (parent, Member::new(kind, id)))
        .collect()
}

fn rule() -> MappingRuleValue {
    MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: "rule".into(),
        claim_name: "dept".into(),
        claim_value: "sales".into(),
        name: "Rule".into(),
    }
}

#[test]
fn a_user_leaves_very_many_groups_in_turns() {
    let mut rig = Rig::with_partitions(2);
    let setup = IdentitySetupValue {
        users: vec![user("anna")],
        groups: parents(),
        group_members: in_all(EntityType::User, "anna"),
        ..IdentitySetupValue::default()
    };
    set_up(&mut rig, setup);
    let username = "anna".into();
    let batches = delete(
        &mut rig,
        IdentityCommand::DeleteUser { username },
        &[("GROUP ENTITY_REMOVED", MANY), ("AUTHORIZATION DELETED", 1)],
        "USER DELETED",
    );
    assert_eq!(batches, MANY.div_ceil(SLICE) + acknowledgements(&rig));
    assert_eq!([rows(&rig, 1), rows(&rig, 2)], [MANY, MANY]);
}

#[test]
fn a_mapping_rule_leaves_very_many_roles_in_turns() {
    let mut rig = Rig::with_partitions(2);
    let setup = IdentitySetupValue {
        mapping_rules: vec![rule()],
        roles: parents(),
        role_members: in_all(EntityType::MappingRule, "rule"),
        ..IdentitySetupValue::default()
    };
    set_up(&mut rig, setup);
    delete(
        &mut rig,
        IdentityCommand::DeleteMappingRule { id: "rule".into() },
        &[("ROLE ENTITY_REMOVED", MANY)],
        "MAPPING_RULE DELETED",
    );
    assert_eq!([rows(&rig, 1), rows(&rig, 2)], [MANY, MANY]);
}

#[test]
fn a_role_loses_very_many_authorizations_and_members_in_turns() {
    let granted = |n: usize| {
        authorization(
            (OwnerType::Role, "clerk"),
            ResourceType::ProcessDefinition,
            ResourceMatcher::Id(format!("process-{n}").into()),
            &[PermissionType::CreateProcessInstance],
        )
    };
    let mut rig = Rig::with_partitions(2);
    let setup = IdentitySetupValue {
        roles: vec![entity("clerk")],
        authorizations: (0..MANY).map(granted).collect(),
        role_members: clients("clerk", MANY),
        tenants: vec![entity("acme")],
        tenant_members: vec![("acme".into(), Member::new(EntityType::Role, "clerk"))],
        ..IdentitySetupValue::default()
    };
    set_up(&mut rig, setup);
    delete(
        &mut rig,
        IdentityCommand::DeleteRole { id: "clerk".into() },
        &[
            ("TENANT ENTITY_REMOVED", 1),
            ("AUTHORIZATION DELETED", MANY),
            ("ROLE ENTITY_REMOVED", MANY),
        ],
        "ROLE DELETED",
    );
    assert_eq!([rows(&rig, 1), rows(&rig, 2)], [1, 1], "the tenant");
}

#[test]
fn very_many_members_leave_a_tenant_in_turns() {
    let mut rig = Rig::with_partitions(2);
    let setup = IdentitySetupValue {
        tenants: vec![entity("acme")],
        tenant_members: clients("acme", MANY),
        ..IdentitySetupValue::default()
    };
    set_up(&mut rig, setup);
    delete(
        &mut rig,
        IdentityCommand::DeleteTenant { id: "acme".into() },
        &[("TENANT ENTITY_REMOVED", MANY)],
        "TENANT DELETED",
    );
    assert_eq!([rows(&rig, 1), rows(&rig, 2)], [0, 0]);
}

/// Number of batches of the first partition since they are recorded in which other partitions only acknowledge.
fn acknowledgements(rig: &Rig) -> usize {
    let own = rig.batches.iter().filter(|(partition, _)| *partition == 1);
    let is_other = |batch: &Vec<u8>| {
        let mut reader = BatchReader::new(batch).unwrap();
        reader.by_ref().all(|record| {
            record.unwrap().value_type == skep_protocol::ValueType::CommandDistribution
        })
    };
    own.filter(|(_, batch)| is_other(batch)).count()
}

#[test]
fn the_answer_waits_for_the_last_slice_and_nobody_joins_before_it() {
    let mut rig = Rig::new();
    let mut setup = group_of(600);
    setup.roles.push(entity("clerk"));
    setup.users.push(user("anna"));
    set_up(&mut rig, setup);
    rig.interrupted = true;
    let request = rig.send_async(Command::Identity(delete_group()));
    let late = member("all", EntityType::Client, "late");
    let update = UpdateParent {
        id: "all".into(),
        name: "Renamed".into(),
        description: None,
    };
    let grant = authorization(
        (OwnerType::Group, "all"),
        ResourceType::Message,
        ResourceMatcher::Any,
        &[PermissionType::Create],
    );
    let refusals = [
        (
            IdentityCommand::AddToGroup(late),
            RejectionType::InvalidState,
        ),
        (
            IdentityCommand::UpdateGroup(update),
            RejectionType::InvalidState,
        ),
        (delete_group(), RejectionType::InvalidState),
        (
            IdentityCommand::CreateGroup(new("all")),
            RejectionType::AlreadyExists,
        ),
        (
            IdentityCommand::CreateAuthorization(grant),
            RejectionType::NotFound,
        ),
        (
            IdentityCommand::AddToRole(member("clerk", EntityType::Group, "all")),
            RejectionType::NotFound,
        ),
    ];
    let mut turns = 0;
    while rig.engine(1).has_work() {
        assert!(rig.look_at_answer(request).is_none());
        for (command, expected) in &refusals {
            let (kind, reason) = refused(send(&mut rig, command.clone()));
            assert_eq!(kind, *expected, "{command:?}: {reason}");
        }
        // Others are served in between.
        let anna = member("clerk", EntityType::User, "anna");
        send(&mut rig, IdentityCommand::AddToRole(anna.clone())).unwrap();
        send(&mut rig, IdentityCommand::RemoveFromRole(anna)).unwrap();
        rig.run_work();
        turns += 1;
    }
    assert_eq!(turns, 2, "600 members are three slices");
    let answer = rig.answer(request);
    assert!(matches!(answer, Some(Ok(Response::Empty))), "{answer:?}");
    send(&mut rig, IdentityCommand::CreateGroup(new("all"))).unwrap();
    let late = member("all", EntityType::Client, "late");
    send(&mut rig, IdentityCommand::AddToGroup(late)).unwrap();
}

#[test]
fn users_and_rules_that_are_being_deleted_are_neither_changed_nor_added() {
    let mut rig = Rig::new();
    let anna = Member::new(EntityType::User, "anna");
    let of_rule = Member::new(EntityType::MappingRule, "rule");
    let setup = IdentitySetupValue {
        users: vec![user("anna")],
        mapping_rules: vec![rule()],
        roles: vec![entity("clerk"), entity("boss")],
        role_members: vec![
            ("clerk".into(), anna.clone()),
            ("boss".into(), anna),
            ("clerk".into(), of_rule.clone()),
            ("boss".into(), of_rule),
        ],
        tenants: vec![entity("acme")],
        ..IdentitySetupValue::default()
    };
    set_up(&mut rig, setup);
    rig.interrupted = true;
    rig.turn_steps(1);
    let username: Arc<str> = "anna".into();
    let delete_user = IdentityCommand::DeleteUser {
        username: username.clone(),
    };
    let delete_rule = IdentityCommand::DeleteMappingRule { id: "rule".into() };
    let requests = [&delete_user, &delete_rule]
        .map(|command| rig.send_async(Command::Identity(command.clone())));
    let update = UpdateUser {
        username,
        name: None,
        email: None,
        password: PasswordHash::new("$argon2id$other"),
    };
    for (command, expected) in [
        (delete_user, RejectionType::InvalidState),
        (
            IdentityCommand::UpdateUser(update),
            RejectionType::InvalidState,
        ),
        (
            IdentityCommand::CreateUser(user("anna")),
            RejectionType::AlreadyExists,
        ),
        (
            IdentityCommand::AddToTenant(member("acme", EntityType::User, "anna")),
            RejectionType::NotFound,
        ),
        (delete_rule, RejectionType::InvalidState),
        (
            IdentityCommand::UpdateMappingRule(rule()),
            RejectionType::InvalidState,
        ),
        (
            IdentityCommand::AddToTenant(member("acme", EntityType::MappingRule, "rule")),
            RejectionType::NotFound,
        ),
    ] {
        let (kind, reason) = refused(send(&mut rig, command.clone()));
        assert_eq!(kind, expected, "{command:?}: {reason}");
    }
    while rig.run_work() {}
    for request in requests {
        assert!(matches!(rig.answer(request), Some(Ok(Response::Empty))));
    }
    assert_eq!(rows(&rig, 1), 3, "the roles and the tenant");
}

/// The set-up of a node that starts meanwhile adds what is configured: it goes as well.
#[test]
fn members_that_a_set_up_adds_meanwhile_leave_too() {
    let mut rig = Rig::new();
    set_up(&mut rig, group_of(600));
    rig.interrupted = true;
    rig.send_async(Command::Identity(delete_group()));
    let from = rig.seen.len();
    set_up(&mut rig, group_of(300));
    let added = written(&rig, from);
    assert!(
        added.iter().any(|event| event == "GROUP ENTITY_ADDED"),
        "{added:?}"
    );
    while rig.run_work() {}
    assert_eq!(rows(&rig, 1), 0);
}

#[test]
fn the_permissions_of_a_group_end_before_its_members_leave() {
    let mut rig = Rig::with_partitions(2);
    let mut setup = group_of(20);
    setup.users.push(user("anna"));
    let anna = Member::new(EntityType::User, "anna");
    setup.group_members.push(("all".into(), anna));
    setup.roles.push(entity("clerk"));
    let all = Member::new(EntityType::Group, "all");
    setup.role_members.push(("clerk".into(), all));
    setup.authorizations.push(authorization(
        (OwnerType::Role, "clerk"),
        ResourceType::ProcessDefinition,
        ResourceMatcher::Any,
        &[PermissionType::CreateProcessInstance],
    ));
    set_up(&mut rig, setup);
    rig.interrupted = true;
    rig.turn_steps(1);
    let request = rig.send_async(Command::Identity(delete_group()));
    for partition in [1, 2] {
        let grants = grants_of(&rig, partition, "anna");
        assert_eq!(grants.groups().len(), 1, "the member is still there");
        assert!(!grants.allows(CREATE[0], "any"));
    }
    while rig.run_work() {}
    assert!(matches!(rig.answer(request), Some(Ok(Response::Empty))));
    assert!(grants_of(&rig, 2, "anna").groups().is_empty());
}

#[test]
fn a_new_leader_continues() {
    let mut rig = Rig::new();
    set_up(&mut rig, group_of(1_100));
    rig.interrupted = true;
    let from = rig.seen.len();
    rig.send_async(Command::Identity(delete_group()));
    loop {
        rig.change_leader(1);
        let late = member("all", EntityType::Client, "late");
        let add = IdentityCommand::AddToGroup(late);
        let (kind, _) = refused(send(&mut rig, add));
        if !rig.engine(1).has_work() {
            assert_eq!(kind, RejectionType::NotFound);
            break;
        }
        assert_eq!(kind, RejectionType::InvalidState);
        rig.run_work();
    }
    let events = written(&rig, from);
    assert_eq!(events.len(), 1_101);
    assert_eq!(events.last().unwrap(), "GROUP DELETED");
    assert_eq!(rows(&rig, 1), 0);
}

#[test]
fn a_restart_from_a_checkpoint_continues() {
    let mut rig = Rig::new();
    set_up(&mut rig, group_of(1_100));
    rig.interrupted = true;
    let from = rig.seen.len();
    rig.send_async(Command::Identity(delete_group()));
    let store = MemoryStore::default();
    let mut restarts = 0;
    while rig.engine(1).has_work() {
        let mut pending = Pending::default();
        rig.engine(1).state.checkpoint(&mut pending);
        store.write(pending);
        let position = rig.engine(1).next_position();
        let state = State::open(1, Arc::new(store.clone())).unwrap();
        *rig.engine(1) = Engine::new(config(1, 1), state, position);
        let late = member("all", EntityType::Client, "late");
        let refusal = refused(send(&mut rig, IdentityCommand::AddToGroup(late)));
        assert_eq!(refusal.0, RejectionType::InvalidState, "{}", refusal.1);
        rig.run_work();
        restarts += 1;
    }
    assert_eq!(restarts, 4);
    let events = written(&rig, from);
    assert_eq!(events.len(), 1_101);
    assert_eq!(events.last().unwrap(), "GROUP DELETED");
    assert_eq!(rows(&rig, 1), 0);
}

#[test]
fn the_answer_waits_for_a_partition_that_has_missed_slices() {
    let mut rig = Rig::with_partitions(2);
    set_up(&mut rig, group_of(600));
    let is_away = Arc::new(AtomicBool::new(true));
    let away = is_away.clone();
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if away.load(Ordering::Relaxed) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let request = rig.send_async(Command::Identity(delete_group()));
    assert_eq!([rows(&rig, 1), rows(&rig, 2)], [0, 601]);
    assert!(rig.look_at_answer(request).is_none());
    is_away.store(false, Ordering::Relaxed);
    rig.advance(10_000);
    let answer = rig.answer(request);
    assert!(matches!(answer, Some(Ok(Response::Empty))), "{answer:?}");
    assert_eq!(rows(&rig, 2), 0);
}

/// The step that continues would stop the replicas of a node that does not know it.
#[test]
fn nothing_is_put_off_while_a_node_does_not_know_slices() {
    let oldest_node = OldestNode::default();
    let mut rig = Rig::with_configs(1, |id| EngineConfig {
        oldest_node: oldest_node.clone(),
        ..config(id, 1)
    });
    oldest_node.speaks(Some(6));
    set_up(&mut rig, group_of(5_001));
    let (kind, reason) = refused(send(&mut rig, delete_group()));
    assert_eq!(kind, RejectionType::InvalidState);
    assert_eq!(
        reason,
        "Expected to delete group with id 'all', but more than 5000 memberships and authorizations would go with it: that needs \
         version 7 of the protocol between nodes, and a node of the cluster speaks version 6. Nothing was done; upgrade all nodes, then \
         delete it again"
    );
    let one = member("all", EntityType::Client, "app-7");
    send(&mut rig, IdentityCommand::RemoveFromGroup(one)).unwrap();
    send(&mut rig, delete_group()).unwrap();
    assert_eq!(rows(&rig, 1), 0);
    assert!(rig.events("CONTINUATION").next().is_none());

    oldest_node.speaks(Some(7));
    set_up(&mut rig, group_of(5_001));
    send(&mut rig, delete_group()).unwrap();
    assert_eq!(rows(&rig, 1), 0);
}
