//! Users' operations, derived from their effects.

use serde_json::{Value as Json, json};
use skep_engine::{EngineConfig, IdentityConfig};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    Command, DecisionRef, EvaluateDecision, IdentityCommand, Membership, NewParent,
};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, IdentitySetupValue, Member, OwnerType, ParentValue,
    PasswordHash, ResourceMatcher, UserValue,
};
use skep_protocol::{Document, RejectionType, TenantId};
use skep_query::entities::{AUDIT_LOG, USER};
use skep_secondary::{AuditConfig, AuditedConfig};

use skep_testkit::rig::{Rig, config, decision};
use skep_testkit::stores::{Filled, audited, follow, rig};

fn anna() -> Claims {
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    Claims::User(anna.into())
}

/// Entity, operation and result of each entry, in order.
fn entries(store: &Filled) -> Vec<String> {
    let text = |row: &Json, name: &str| row[name].as_str().unwrap().to_string();
    let rows = store.find(&AUDIT_LOG, "{}").into_iter();
    rows.map(|row| {
        let [entity, operation, result] =
            ["entityType", "operationType", "result"].map(|name| text(&row, name));
        format!("{entity} {operation} {result}")
    })
    .collect()
}

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("start")
        .user_task("task")
        .service_task("job", "work")
        .end("end")
}

#[test]
fn actions_of_users_are_audited_and_those_of_the_process_are_not() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.claims = anna();
    rig.deploy(process());
    let instance = rig.create("p", r#"{"a": 1}"#);
    let task = rig.user_task();
    rig.assign(task, "bert", "").unwrap();
    rig.assign(task, "", "").unwrap();
    rig.complete_task(task, r#"{"b": 2}"#).unwrap();
    let _ = rig.complete_task(task, "{}");
    rig.set_variables(instance, r#"{"a": 2, "c": 3}"#, true);
    let job = rig.job("work");
    rig.fail(&job, 0, 0);
    assert!(rig.resolve(rig.incident().key).is_err());
    rig.set_retries(job.key, 1).unwrap();
    rig.resolve(rig.incident().key).unwrap();
    rig.cancel(instance).unwrap();
    follow(&mut rig, &store);
    assert_eq!(
        entries(&store),
        [
            "RESOURCE CREATE SUCCESS",
            "PROCESS_INSTANCE CREATE SUCCESS",
            "USER_TASK ASSIGN SUCCESS",
            "USER_TASK UNASSIGN SUCCESS",
            "USER_TASK COMPLETE SUCCESS",
            "VARIABLE UPDATE SUCCESS",
            "VARIABLE CREATE SUCCESS",
            "INCIDENT RESOLVE FAIL",
            "INCIDENT RESOLVE SUCCESS",
            "PROCESS_INSTANCE CANCEL SUCCESS",
        ]
    );
    let assigned = store.one(&AUDIT_LOG, r#"{"operationType": "ASSIGN"}"#);
    for (name, value) in [
        ("actorType", json!("USER")),
        ("actorId", json!("anna")),
        ("category", json!("USER_TASKS")),
        ("relatedEntityKey", json!("bert")),
        ("relatedEntityType", json!("USER")),
        ("userTaskKey", json!(task.to_string())),
        ("entityKey", json!(task.to_string())),
        ("processInstanceKey", json!(instance.to_string())),
        ("processDefinitionId", json!("p")),
        ("tenantId", json!("<default>")),
        ("batchOperationKey", Json::Null),
    ] {
        assert_eq!(assigned[name], value, "{name}");
    }
    let variable = store.one(
        &AUDIT_LOG,
        r#"{"entityType": "VARIABLE", "operationType": "CREATE"}"#,
    );
    assert_eq!(variable["entityDescription"], "c");
    let all = format!(r#"{{"processInstanceKey": "{instance}"}}"#);
    assert_eq!(store.find(&AUDIT_LOG, &all).len(), 9);
}

#[test]
fn refusals_due_to_a_state_are_audited() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.claims = anna();
    rig.deploy(process().task_listener("completing", "check"));
    let instance = rig.create("p", "{}");
    let task = rig.user_task();
    rig.assign(task, "bert", "").unwrap();
    let refused = rig.claim(task, "carl");
    assert!(refused.is_err());
    follow(&mut rig, &store);
    let failed = store.one(&AUDIT_LOG, r#"{"result": "FAIL"}"#);
    assert_eq!(
        (&failed["operationType"], &failed["userTaskKey"]),
        (&json!("ASSIGN"), &json!(task.to_string()))
    );
    assert_eq!(
        (
            &failed["processInstanceKey"],
            &failed["processDefinitionId"]
        ),
        (&json!(instance.to_string()), &json!("p"))
    );
    assert_eq!(failed["tenantId"], "<default>");
    // An unknown task is not an invalid state.
    let nothing = skep_protocol::Key::new(1, 1 << 40);
    assert!(rig.claim(nothing, "carl").is_err());
    follow(&mut rig, &store);
    assert_eq!(store.find(&AUDIT_LOG, r#"{"result": "FAIL"}"#).len(), 1);
}

/// What was not created has no row that could name its tenant.
#[test]
fn a_refused_creation_is_audited_for_its_tenant() {
    let (_, store) = rig(super::BACKEND);
    let mut rig = Rig::with_configs(1, |partition| EngineConfig {
        identity: IdentityConfig {
            tenant_checks: true,
            ..IdentityConfig::default()
        },
        ..config(partition, 1)
    });
    rig.record_batches();
    rig.claims = Claims::Internal;
    for command in [
        IdentityCommand::CreateUser(UserValue {
            user_key: skep_protocol::Key::NONE,
            username: "anna".into(),
            name: "Anna".into(),
            email: "".into(),
            password: PasswordHash::new("secret"),
        }),
        IdentityCommand::CreateTenant(NewParent {
            id: "acme".into(),
            name: "Acme".into(),
            description: "".into(),
        }),
        IdentityCommand::AddToTenant(Membership {
            parent: "acme".into(),
            member: Member::new(EntityType::User, "anna"),
        }),
    ] {
        rig.send(Command::Identity(command)).unwrap();
    }
    (rig.claims, rig.tenant) = (anna(), TenantId::new("acme"));
    rig.deploy(Bpmn::process("p").start_message("s", "order").end("end"));
    let create = Command::CreateProcessInstance(Rig::creation("p", "{}"));
    let refused = rig.send(create).unwrap_err();
    assert_eq!(refused.kind, RejectionType::InvalidState, "{refused}");
    follow(&mut rig, &store);
    let failed = store.one(&AUDIT_LOG, r#"{"result": "FAIL"}"#);
    assert_eq!(
        (&failed["operationType"], &failed["tenantId"]),
        (&json!("CREATE"), &json!("acme"))
    );
}

#[test]
fn definitions_and_decisions_come_and_go() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.claims = anna();
    rig.deployed(vec![("a.dmn", decision("file", "d", "1"))]);
    let file = rig.events("DECISION_REQUIREMENTS").next().unwrap().key;
    rig.send(Command::EvaluateDecision(EvaluateDecision {
        decision: DecisionRef::Id("d".into()),
        variables: Document::parse("{}").unwrap(),
    }))
    .unwrap();
    rig.delete_resource(file).unwrap();
    follow(&mut rig, &store);
    let mut audited = entries(&store);
    audited.sort_unstable();
    assert_eq!(
        audited,
        [
            "DECISION CREATE SUCCESS",
            "DECISION DELETE SUCCESS",
            "DECISION EVALUATE SUCCESS",
            "RESOURCE CREATE SUCCESS",
            "RESOURCE DELETE SUCCESS",
        ]
    );
    let evaluated = store.one(&AUDIT_LOG, r#"{"operationType": "EVALUATE"}"#);
    assert_eq!(evaluated["decisionDefinitionId"], "d");
}

#[test]
fn anonymous_callers_are_audited_where_configured() {
    let audited_with = |store: &Filled| {
        let mut rig = Rig::new();
        rig.record_batches();
        rig.deploy(process());
        rig.create("p", "{}");
        let task = rig.user_task();
        rig.assign(task, "bert", "").unwrap();
        follow(&mut rig, store);
        entries(store)
    };
    assert_eq!(
        audited_with(&audited(super::BACKEND, AuditConfig::default())),
        Vec::<String>::new()
    );
    let of_unknown = |categories: &str, excludes: &str| {
        audited(
            super::BACKEND,
            AuditConfig {
                unknown: AuditedConfig {
                    categories: categories.to_string(),
                    excludes: excludes.to_string(),
                },
                ..AuditConfig::default()
            },
        )
    };
    let tasks = audited_with(&of_unknown("USER_TASKS", ""));
    assert_eq!(tasks, ["USER_TASK ASSIGN SUCCESS"]);
    let rest = audited_with(&of_unknown(
        "DEPLOYED_RESOURCES,USER_TASKS",
        "USER_TASK,RESOURCE",
    ));
    assert_eq!(rest, ["PROCESS_INSTANCE CREATE SUCCESS"]);
}

fn user(name: &str) -> UserValue {
    UserValue {
        user_key: skep_protocol::Key::NONE,
        username: name.into(),
        name: "".into(),
        email: "".into(),
        password: PasswordHash::new("$argon2id$"),
    }
}

fn sales() -> NewParent {
    NewParent {
        id: "sales".into(),
        name: "Sales".into(),
        description: "".into(),
    }
}

fn bert_in_sales() -> Membership {
    Membership {
        parent: "sales".into(),
        member: Member::new(EntityType::User, "bert"),
    }
}

#[test]
fn changes_of_identities_and_rights_are_audited_by_id() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.claims = anna();
    for command in [
        IdentityCommand::CreateUser(user("bert")),
        IdentityCommand::CreateGroup(sales()),
        IdentityCommand::AddToGroup(bert_in_sales()),
        IdentityCommand::RemoveFromGroup(bert_in_sales()),
        IdentityCommand::CreateAuthorization(AuthorizationValue {
            authorization_key: skep_protocol::Key::NONE,
            owner_type: OwnerType::Group,
            owner_id: "sales".into(),
            resource_type: ResourceType::Message,
            matcher: ResourceMatcher::Any,
            permissions: vec![PermissionType::Create],
        }),
        IdentityCommand::DeleteUser {
            username: "bert".into(),
        },
    ] {
        rig.send(Command::Identity(command)).unwrap();
    }
    // Refusals are not logged.
    let again = rig.send(Command::Identity(IdentityCommand::CreateGroup(sales())));
    assert!(again.is_err());
    follow(&mut rig, &store);
    let own = |entry: &String| !entry.starts_with("AUTHORIZATION DELETE");
    let audited: Vec<String> = entries(&store).into_iter().filter(own).collect();
    assert_eq!(
        audited,
        [
            "USER CREATE SUCCESS",
            // New users have the permission to read their own entry.
            "AUTHORIZATION CREATE SUCCESS",
            "GROUP CREATE SUCCESS",
            "GROUP ASSIGN SUCCESS",
            "GROUP UNASSIGN SUCCESS",
            "AUTHORIZATION CREATE SUCCESS",
            "USER DELETE SUCCESS",
        ]
    );
    let assigned = store.one(&AUDIT_LOG, r#"{"operationType": "ASSIGN"}"#);
    for (name, value) in [
        ("category", json!("ADMIN")),
        ("actorId", json!("anna")),
        ("entityKey", json!("sales")),
        ("relatedEntityType", json!("USER")),
        ("relatedEntityKey", json!("bert")),
        ("tenantId", Json::Null),
        ("processDefinitionKey", Json::Null),
    ] {
        assert_eq!(assigned[name], value, "{name}");
    }
    let filter = r#"{"entityType": "AUTHORIZATION", "relatedEntityKey": "sales"}"#;
    let authorization = store.one(&AUDIT_LOG, filter);
    assert_eq!(authorization["relatedEntityType"], "GROUP");
    let key: i64 = authorization["entityKey"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(key > 0, "{authorization}");
    let created = r#"{"entityType": "GROUP", "operationType": "CREATE"}"#;
    assert_eq!(store.one(&AUDIT_LOG, created)["entityDescription"], "Sales");
}

/// However many turns it takes.
#[test]
fn the_deletion_of_a_group_with_its_members_is_audited_with_the_caller() {
    let (mut rig, store) = rig(super::BACKEND);
    let app = |n: usize| Member::new(EntityType::Client, &format!("app-{n}"));
    let group = ParentValue {
        key: skep_protocol::Key::NONE,
        id: "sales".into(),
        name: "Sales".into(),
        description: "".into(),
        member: None,
    };
    let setup = IdentitySetupValue {
        groups: vec![group],
        group_members: (0..5).map(|n| ("sales".into(), app(n))).collect(),
        ..IdentitySetupValue::default()
    };
    let setup = IdentityCommand::SetUp(Box::new(setup));
    rig.send(Command::Identity(setup)).unwrap();
    rig.turn_steps(2);
    rig.claims = anna();
    let delete = IdentityCommand::DeleteGroup { id: "sales".into() };
    rig.send(Command::Identity(delete)).unwrap();
    assert!(rig.events("CONTINUATION").count() > 1, "it takes turns");
    follow(&mut rig, &store);
    let mut expected = vec!["GROUP UNASSIGN SUCCESS"; 5];
    expected.push("GROUP DELETE SUCCESS");
    assert_eq!(entries(&store), expected);
    for row in store.find(&AUDIT_LOG, "{}") {
        assert_eq!(row["actorId"], "anna", "{row}");
        assert_eq!(row["entityKey"], "sales", "{row}");
    }
}

/// Even with all callers audited: the set-up of a cluster has no user.
#[test]
fn the_initial_set_up_is_not_audited() {
    let all = AuditedConfig {
        categories: "ADMIN,DEPLOYED_RESOURCES,USER_TASKS".to_string(),
        excludes: String::new(),
    };
    let store = audited(
        super::BACKEND,
        AuditConfig {
            enabled: true,
            user: all.clone(),
            client: all.clone(),
            unknown: all,
        },
    );
    let mut rig = Rig::new();
    rig.record_batches();
    rig.claims = Claims::Internal;
    let setup = IdentitySetupValue {
        users: vec![user("demo")],
        ..IdentitySetupValue::default()
    };
    let setup = IdentityCommand::SetUp(Box::new(setup));
    rig.send(Command::Identity(setup)).unwrap();
    follow(&mut rig, &store);
    assert_eq!(store.find(&USER, "{}").len(), 1);
    assert_eq!(entries(&store), [""; 0]);
    rig.claims = Claims::Anonymous;
    let create = IdentityCommand::CreateGroup(sales());
    rig.send(Command::Identity(create)).unwrap();
    follow(&mut rig, &store);
    assert_eq!(entries(&store), ["GROUP CREATE SUCCESS"]);
}
