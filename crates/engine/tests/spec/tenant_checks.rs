//! Tenants with membership checks: nothing can be created for another tenant, and its entities appear not to exist.

use serde_json::json;
use skep_engine::{EngineConfig, IdentityConfig};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::record::RecordType;
use skep_protocol::value::*;
use skep_protocol::{
    Document, Key, Rejection, RejectionType, Response, TenantFilter, TenantId, Tenants,
};

use super::identity::{member, new, send, user};
use skep_testkit::rig::*;

/// A rig with two tenants: acme with the member anna, and globex with bert.
pub fn checking(partitions: u32) -> Rig {
    checking_also(partitions, false)
}

/// The same, optionally with authorization checks.
fn checking_also(partitions: u32, authorizations: bool) -> Rig {
    let mut rig = Rig::with_configs(partitions, |partition| EngineConfig {
        partition,
        routing: std::sync::Arc::new(skep_protocol::Routing::new(partitions)),
        identity: IdentityConfig {
            authorizations,
            tenant_checks: true,
            ..IdentityConfig::default()
        },
        ..EngineConfig::default()
    });
    rig.claims = Claims::Internal;
    for (tenant, name) in [("acme", "anna"), ("globex", "bert")] {
        send(&mut rig, IdentityCommand::CreateUser(user(name))).unwrap();
        send(&mut rig, IdentityCommand::CreateTenant(new(tenant))).unwrap();
        assign(&mut rig, tenant, name);
    }
    rig
}

fn assign(rig: &mut Rig, tenant: &str, name: &str) {
    let before = std::mem::replace(&mut rig.claims, Claims::Internal);
    let member = member(tenant, EntityType::User, name);
    send(rig, IdentityCommand::AddToTenant(member)).unwrap();
    rig.claims = before;
}

fn unassign(rig: &mut Rig, tenant: &str, name: &str) {
    let before = std::mem::replace(&mut rig.claims, Claims::Internal);
    let member = member(tenant, EntityType::User, name);
    send(rig, IdentityCommand::RemoveFromTenant(member)).unwrap();
    rig.claims = before;
}

fn is(name: &str) -> Claims {
    let principal = Principal {
        id: name.into(),
        ..Principal::default()
    };
    Claims::User(principal.into())
}

/// Sends a command as a user, for a tenant.
fn by(rig: &mut Rig, name: &str, tenant: &str, command: Command) -> Result<Response, Rejection> {
    (rig.claims, rig.tenant) = (is(name), TenantId::new(tenant));
    let answer = rig.send(command);
    (rig.claims, rig.tenant) = (Claims::Internal, TenantId::default());
    answer
}

/// Internal commands of the engine for a tenant.
pub fn inside<T>(rig: &mut Rig, tenant: &str, work: impl FnOnce(&mut Rig) -> T) -> T {
    rig.tenant = TenantId::new(tenant);
    let result = work(rig);
    rig.tenant = TenantId::default();
    result
}

/// Refused. The rejection is the only record besides the command.
pub fn refused(
    rig: &mut Rig,
    name: &str,
    tenant: &str,
    command: Command,
) -> (RejectionType, String) {
    let from = rig.seen.len();
    let rejection = by(rig, name, tenant, command.clone()).expect_err("it is refused");
    let records: Vec<_> = rig.seen[from..].iter().map(|r| r.record_type).collect();
    let expected = [RecordType::Command, RecordType::CommandRejection];
    assert_eq!(records, expected, "{command:?}");
    (rejection.kind, rejection.reason.to_string())
}

fn process(id: &str) -> Bpmn {
    Bpmn::process(id)
        .start("s")
        .service_task("t", "work")
        .end("e")
}

fn last(rig: &Rig, value_type: &str, intent: &str) -> Key {
    let events = rig.events(value_type).filter(|r| r.intent == intent);
    events.last().expect("there was one").key
}

fn deployment(model: Bpmn) -> Command {
    Command::Deploy(Deploy {
        resources: vec![Resource {
            name: "p.bpmn".into(),
            content: model.xml().into(),
        }],
    })
}

fn create(id: &str) -> Command {
    Rig::creation(id, "{}").into_command()
}

fn publish() -> Command {
    Command::PublishMessage(Rig::message("m", "k", MINUTE, "{}"))
}

fn correlate() -> Command {
    Command::CorrelateMessage(CorrelateMessage {
        name: "m".into(),
        correlation_key: "k".into(),
        variables: Document::new(),
    })
}

fn broadcast() -> Command {
    Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    })
}

fn evaluate_conditions(process_definition_key: Option<Key>) -> Command {
    Command::EvaluateConditionals(EvaluateConditionals {
        process_definition_key,
        variables: Document::parse(r#"{"amount":1}"#).unwrap(),
    })
}

fn evaluate(decision: DecisionRef) -> Command {
    Command::EvaluateDecision(EvaluateDecision {
        decision,
        variables: Document::new(),
    })
}

fn variable(tenant: &str) -> ClusterVariableValue {
    ClusterVariableValue {
        name: "limit".into(),
        value: "1".into(),
        tenant: Some(TenantId::new(tenant)),
    }
}

#[test]
fn commands_for_a_tenant_that_the_caller_is_not_assigned_to_are_refused() {
    let mut rig = checking(1);
    // The answer is the same whether the other tenant has such an entity or not.
    for is_there in [false, true] {
        if is_there {
            inside(&mut rig, "acme", |rig| rig.deploy(process("order")));
        }
        for command in [
            deployment(process("order")),
            create("order"),
            publish(),
            correlate(),
            broadcast(),
            evaluate_conditions(None),
            evaluate(DecisionRef::Id("fee".into())),
            Command::CreateClusterVariable(variable("acme")),
        ] {
            let (kind, text) = refused(&mut rig, "bert", "acme", command.clone());
            assert_eq!(kind, RejectionType::Forbidden, "{command:?}");
            let said = "for tenant 'acme', but the caller is not assigned to this tenant";
            assert!(text.contains(said), "{text}");
        }
    }
    let text = refused(&mut rig, "bert", "acme", create("order")).1;
    assert_eq!(
        text,
        "Expected to perform operation 'CREATE_PROCESS_INSTANCE' on resource 'PROCESS_DEFINITION' for tenant 'acme', but the caller is not \
         assigned to this tenant"
    );
    let expression = Command::EvaluateExpression {
        expression: "=camunda.vars.env".into(),
        variables: Document::new(),
    };
    let (kind, _) = refused(&mut rig, "bert", "acme", expression);
    assert_eq!(kind, RejectionType::Unauthorized);
    // The default tenant is checked like any other.
    let (kind, _) = refused(&mut rig, "anna", "", deployment(process("order")));
    assert_eq!(kind, RejectionType::Forbidden);
}

/// Creates a command about the entity with this key.
pub type Made = Box<dyn Fn(Key) -> Command>;

/// Entities of acme with their keys, and all commands about them.
pub fn commands(rig: &mut Rig) -> Vec<(Key, Made)> {
    let (job, task) = inside(rig, "acme", |rig| {
        rig.deploy(process("order"));
        rig.deploy(Bpmn::process("ask").start("s").user_task("u").end("e"));
        let fees = decision("fees", "fee", "1");
        rig.deploy_files(vec![("fee.dmn", fees)]).unwrap();
        rig.create("ask", "{}");
        rig.create("order", "{}");
        let job = last(rig, "JOB", "CREATED");
        (job, last(rig, "USER_TASK", "CREATED"))
    });
    let definition = last(rig, "PROCESS", "CREATED");
    let requirements = last(rig, "DECISION_REQUIREMENTS", "CREATED");
    let mut all: Vec<(Key, Made)> = Vec::new();
    let instance = rig.instance_of("order");
    all.extend(of_instance(definition).map(|made| (instance, made)));
    let element = rig.element_key("t");
    all.extend(of_element().map(|made| (element, made)));
    all.extend(of_job().map(|made| (job, made)));
    all.extend(of_task().map(|made| (task, made)));
    for resource in [definition, requirements] {
        let delete = |resource_key| Command::DeleteResource {
            resource_key,
            delete_history: true,
        };
        all.push((resource, Box::new(delete)));
    }
    all
}

fn of_instance(target: Key) -> [Made; 3] {
    [
        Box::new(|process_instance_key| Command::CancelProcessInstance {
            process_instance_key,
        }),
        Box::new(|process_instance_key| {
            Command::ModifyProcessInstance(ModifyProcessInstance {
                process_instance_key,
                ..ModifyProcessInstance::default()
            })
        }),
        Box::new(move |process_instance_key| {
            Command::MigrateProcessInstance(MigrateProcessInstance {
                process_instance_key,
                target_process_definition_key: target,
                mapping_instructions: Vec::new(),
            })
        }),
    ]
}

fn of_element() -> [Made; 2] {
    [
        Box::new(|element_instance_key| Command::SetVariables {
            element_instance_key,
            variables: Document::new(),
            local: false,
        }),
        Box::new(|key| {
            Command::ActivateAdHoc(ActivateAdHoc {
                ad_hoc_sub_process_instance_key: key,
                elements: Vec::new(),
                cancel_remaining_instances: false,
            })
        }),
    ]
}

fn fail(job_key: Key) -> Command {
    Command::FailJob(FailJob {
        job_key,
        retries: 0,
        retry_back_off: 0,
        error_message: "secret".into(),
        variables: Document::new(),
    })
}

fn of_job() -> [Made; 4] {
    [
        Box::new(|job_key| Command::CompleteJob {
            job_key,
            variables: Document::new(),
            result: None,
        }),
        Box::new(fail),
        Box::new(|job_key| {
            Command::ThrowError(ThrowError {
                job_key,
                error_code: "E".into(),
                error_message: String::new(),
                variables: Document::new(),
            })
        }),
        Box::new(|job_key| Command::UpdateJob {
            job_key,
            retries: Some(1),
            timeout: None,
            kind: UpdateJobKind::Retries,
        }),
    ]
}

fn of_task() -> [Made; 3] {
    [
        Box::new(|user_task_key| {
            Command::AssignUserTask(AssignUserTask {
                user_task_key,
                assignee: "bert".into(),
                action: "".into(),
                claim: true,
            })
        }),
        Box::new(|user_task_key| {
            Command::UpdateUserTask(UpdateUserTask {
                user_task_key,
                action: "".into(),
                changes: Corrections::default(),
            })
        }),
        Box::new(|user_task_key| {
            Command::CompleteUserTask(CompleteUserTask {
                user_task_key,
                action: "".into(),
                variables: Document::new(),
            })
        }),
    ]
}

#[test]
fn keys_of_another_tenant_are_answered_like_unknown_keys() {
    let mut rig = checking(1);
    let of_nothing = Key::new(1, 4_000_000);
    for (key, command) in commands(&mut rig) {
        let nothing = refused(&mut rig, "bert", "globex", command(of_nothing));
        assert_eq!(nothing.0, RejectionType::NotFound, "{:?}", command(key));
        let foreign = refused(&mut rig, "bert", "globex", command(key));
        assert_eq!(foreign.0, nothing.0);
        // It names the requested key, and nothing else.
        let expected = nothing.1.replace(&of_nothing.to_string(), &key.to_string());
        assert_eq!(foreign.1, expected);
    }
    rig.claims = is("anna");
    let cancel = Command::CancelProcessInstance {
        process_instance_key: rig.instance_of("order"),
    };
    rig.send(cancel).unwrap();
}

#[test]
fn an_incident_of_another_tenant_is_not_found() {
    let mut rig = checking(1);
    inside(&mut rig, "acme", |rig| {
        rig.deploy(process("order"));
        rig.create("order", "{}");
        rig.tenant = TenantId::default();
        let command = fail(last(rig, "JOB", "CREATED"));
        rig.send(command).unwrap();
    });
    let resolve = |incident_key| Command::ResolveIncident { incident_key };
    let key = last(&rig, "INCIDENT", "CREATED");
    let foreign = refused(&mut rig, "bert", "globex", resolve(key));
    let of_nothing = Key::new(1, 4_000_000);
    let nothing = refused(&mut rig, "bert", "globex", resolve(of_nothing));
    let expected = nothing.1.replace(&of_nothing.to_string(), &key.to_string());
    assert_eq!(foreign, (RejectionType::NotFound, expected));
}

#[test]
fn definitions_named_by_key_must_belong_to_the_named_tenant() {
    let mut rig = checking(1);
    commands(&mut rig);
    let definition = last(&rig, "PROCESS", "CREATED");
    let decision = last(&rig, "DECISION", "CREATED");
    let of_nothing = Key::new(1, 4_000_000);
    let started = |key| {
        CreateProcessInstance {
            process: ProcessRef::Key(key),
            ..Rig::creation("", "{}")
        }
        .into_command()
    };
    let by_key: [(Key, &dyn Fn(Key) -> Command); 3] = [
        (definition, &started),
        (definition, &|key| evaluate_conditions(Some(key))),
        (decision, &|key| evaluate(DecisionRef::Key(key))),
    ];
    for (key, command) in by_key {
        let nothing = refused(&mut rig, "bert", "globex", command(of_nothing));
        let foreign = refused(&mut rig, "bert", "globex", command(key));
        let expected = nothing.1.replace(&of_nothing.to_string(), &key.to_string());
        assert_eq!(foreign, (RejectionType::NotFound, expected));
    }
    by(
        &mut rig,
        "anna",
        "acme",
        evaluate(DecisionRef::Key(decision)),
    )
    .unwrap();
}

#[test]
fn a_cluster_variable_of_another_tenant_is_not_found() {
    let mut rig = checking(1);
    let create = Command::CreateClusterVariable(variable("acme"));
    by(&mut rig, "anna", "acme", create).unwrap();
    let update = Command::UpdateClusterVariable(variable("acme"));
    let delete = Command::DeleteClusterVariable {
        name: "limit".into(),
        tenant: Some(TenantId::new("acme")),
    };
    for command in [update.clone(), delete.clone()] {
        assert_eq!(
            refused(&mut rig, "bert", "globex", command).0,
            RejectionType::NotFound
        );
    }
    by(&mut rig, "anna", "acme", update).unwrap();
    by(&mut rig, "anna", "acme", delete).unwrap();
}

#[test]
fn callers_without_grants_learn_no_names_of_another_tenant() {
    let mut rig = checking_also(1, true);
    for (key, command) in commands(&mut rig) {
        let (kind, text) = refused(&mut rig, "bert", "globex", command(key));
        assert_eq!(kind, RejectionType::NotFound, "{text}");
    }
    let definition = last(&rig, "PROCESS", "CREATED");
    let by_key = CreateProcessInstance {
        process: ProcessRef::Key(definition),
        ..Rig::creation("", "{}")
    };
    for command in [by_key.into_command(), evaluate_conditions(Some(definition))] {
        let (kind, text) = refused(&mut rig, "bert", "globex", command);
        assert_eq!(kind, RejectionType::NotFound, "{text}");
    }
    // In the own tenant, the error names the missing permission.
    inside(&mut rig, "globex", |rig| rig.deploy(process("own")));
    let (kind, text) = refused(&mut rig, "bert", "globex", create("own"));
    assert_eq!(kind, RejectionType::Forbidden);
    assert!(text.contains("[*, own]"), "{text}");
}

fn activation(tenants: Tenants, max_jobs: u32) -> Command {
    Command::ActivateJobs(ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: 1,
        max_jobs,
        fetch_variables: Vec::new(),
        tenants,
    })
}

fn taken(rig: &mut Rig, name: &str, tenants: Tenants) -> Vec<String> {
    let answer = by(rig, name, "", activation(tenants, 10)).unwrap();
    let Response::JobsActivated { jobs, .. } = answer else {
        panic!("{answer:?}");
    };
    rig.advance(MINUTE);
    jobs.iter().map(|job| job.tenant.to_string()).collect()
}

/// A job of the same type waits for each of the tenants acme, globex and `<default>`.
fn waiting_jobs() -> Rig {
    let mut rig = checking(1);
    for tenant in ["acme", "globex", ""] {
        inside(&mut rig, tenant, |rig| {
            rig.deploy(process("order"));
            rig.create("order", "{}");
        });
    }
    rig
}

#[test]
fn a_worker_that_names_a_tenant_it_is_not_assigned_to_gets_nothing_at_all() {
    let mut rig = waiting_jobs();
    for asked in [&["globex"][..], &["acme", "globex"], &[]] {
        let activation = activation(Tenants::provided(asked.iter().copied()), 10);
        let (kind, text) = refused(&mut rig, "anna", "", activation);
        assert_eq!(kind, RejectionType::Unauthorized, "{asked:?}");
        assert!(
            text.contains("the caller is assigned to '[acme]'"),
            "{text}"
        );
    }
    assert_eq!(
        taken(&mut rig, "anna", Tenants::provided(["acme"])),
        ["acme"]
    );
}

#[test]
fn a_worker_gets_the_jobs_of_the_tenants_that_it_is_assigned_to_at_that_moment() {
    let mut rig = waiting_jobs();
    let assigned = || Tenants::chosen(TenantFilter::Assigned, []);
    assert_eq!(taken(&mut rig, "anna", assigned()), ["acme"]);
    assign(&mut rig, "globex", "anna");
    assert_eq!(taken(&mut rig, "anna", assigned()), ["acme", "globex"]);
    unassign(&mut rig, "acme", "anna");
    assert_eq!(taken(&mut rig, "anna", assigned()), ["globex"]);
    unassign(&mut rig, "globex", "anna");
    assert_eq!(taken(&mut rig, "anna", assigned()), [""; 0]);
    let batches = rig
        .events("JOB_BATCH")
        .map(|r| r.field("tenantIds").to_string());
    let expected = [r#"["acme"]"#, r#"["acme","globex"]"#, r#"["globex"]"#];
    assert_eq!(batches.collect::<Vec<_>>(), expected);
}

#[test]
fn assigned_tenants_take_turns_in_polls() {
    let mut rig = waiting_jobs();
    assign(&mut rig, "globex", "anna");
    for _ in 0..2 {
        inside(&mut rig, "acme", |rig| rig.create("order", "{}"));
    }
    let mut turns = Vec::new();
    for _ in 0..4 {
        let one = activation(Tenants::chosen(TenantFilter::Assigned, []), 1);
        let answer = by(&mut rig, "anna", "", one).unwrap();
        let Response::JobsActivated { jobs, .. } = answer else {
            panic!("{answer:?}");
        };
        turns.push(jobs[0].tenant.to_string());
    }
    assert_eq!(turns, ["acme", "globex", "acme", "acme"]);
}

#[test]
fn a_job_is_announced_with_its_tenant() {
    let rig = waiting_jobs();
    assert_eq!(rig.announced, ["work of acme", "work of globex", "work"]);
}

#[test]
fn a_record_of_jobs_names_no_tenants_without_jobs_in_it() {
    let mut rig = waiting_jobs();
    let others: Vec<String> = (0..50).map(|n| format!("other-{n}")).collect();
    for tenant in &others {
        send(&mut rig, IdentityCommand::CreateTenant(new(tenant))).unwrap();
        assign(&mut rig, tenant, "anna");
    }
    assign(&mut rig, "globex", "anna");
    let assigned = || Tenants::chosen(TenantFilter::Assigned, []);
    assert_eq!(taken(&mut rig, "anna", assigned()), ["acme", "globex"]);
    assert_eq!(taken(&mut rig, "bert", assigned()), ["globex"]);
    // Jobs are pushed one by one.
    rig.streams.claims = is("anna");
    for tenants in [assigned(), Tenants::provided(["acme", "globex"])] {
        rig.streams.tenants = tenants;
        rig.streams.open("work", 2);
        assert_eq!(rig.push_waiting("work").len(), 2);
        rig.advance(2 * MINUTE);
    }
    let batches = rig.events("JOB_BATCH").map(|r| {
        (
            r.field("tenantFilter").clone(),
            r.field("tenantIds").clone(),
        )
    });
    let (assigned, provided) = (json!("ASSIGNED"), json!("PROVIDED"));
    let of = |filter: &serde_json::Value, ids: &[&str]| (filter.clone(), json!(ids));
    let expected = [
        of(&assigned, &["acme", "globex"]),
        of(&assigned, &["globex"]),
        of(&assigned, &["acme"]),
        of(&assigned, &["globex"]),
        of(&provided, &["acme"]),
        of(&provided, &["globex"]),
    ];
    assert_eq!(batches.collect::<Vec<_>>(), expected);
}

#[test]
fn a_stream_opens_for_any_tenant_and_gets_the_jobs_of_those_its_client_is_assigned_to() {
    let mut rig = waiting_jobs();
    rig.streams.claims = is("anna");
    rig.streams.open("work", 100);
    let push = |rig: &mut Rig| {
        let pushed = rig.push_waiting("work");
        let tenants = pushed.iter().map(|job| job.tenant.to_string());
        tenants.collect::<Vec<_>>()
    };
    let begin = |rig: &mut Rig, tenant: &str| {
        inside(rig, tenant, |rig| rig.create("order", "{}"));
        rig.streams.take().len()
    };
    rig.streams.tenants = Tenants::provided(["globex"]);
    assert_eq!(push(&mut rig), [""; 0]);
    assert_eq!(begin(&mut rig, "globex"), 0);
    rig.streams.tenants = Tenants::provided(["acme", "globex"]);
    assert_eq!(push(&mut rig), ["acme"]);
    assert_eq!(begin(&mut rig, "acme"), 1);
    // The waiting ones of globex, and a new one.
    rig.streams.tenants = Tenants::chosen(TenantFilter::Assigned, []);
    assign(&mut rig, "globex", "anna");
    assert_eq!(push(&mut rig), ["globex", "globex"]);
    assert_eq!(begin(&mut rig, "globex"), 1);
    unassign(&mut rig, "globex", "anna");
    assert_eq!(begin(&mut rig, "globex"), 0);
    assert_eq!(begin(&mut rig, ""), 0);
}

#[test]
fn a_correlation_neither_reaches_nor_reveals_another_tenant() {
    let waits = Bpmn::process("waits")
        .start("s")
        .catch_message("c", "m", "=key")
        .end("e");
    let mut rig = checking(2);
    let nothing = by(&mut rig, "bert", "globex", correlate()).unwrap_err();
    inside(&mut rig, "acme", |rig| {
        rig.deploy(waits);
        rig.create("waits", r#"{"key":"k"}"#);
    });
    let foreign = by(&mut rig, "bert", "globex", correlate()).unwrap_err();
    assert_eq!(foreign, nothing);
    by(&mut rig, "bert", "globex", publish()).unwrap();
    assert_eq!(rig.open_instances().len(), 1);
    by(&mut rig, "anna", "acme", correlate()).unwrap();
    assert_eq!(rig.open_instances().len(), 0);
}

#[test]
fn a_signal_of_a_client_reaches_its_tenant_on_every_partition() {
    let waits = Bpmn::process("waits")
        .start("s")
        .catch_signal("c", "go")
        .end("e");
    let mut rig = checking(2);
    for tenant in ["acme", "globex"] {
        inside(&mut rig, tenant, |rig| {
            rig.deploy(waits.clone());
            for partition in [1, 2] {
                let request = rig.send_to(partition, create("waits"));
                rig.answer(request).unwrap().unwrap();
            }
        });
    }
    by(&mut rig, "bert", "globex", broadcast()).unwrap();
    let open = rig.open_instances();
    assert_eq!(open.len(), 2);
    for instance in open {
        let state = &mut rig.engine(instance.partition().unwrap()).state;
        let definition = state.elements.get(instance).unwrap().process_definition_key;
        assert_eq!(
            state.processes.get(definition).unwrap().tenant.as_str(),
            "acme"
        );
    }
}

#[test]
fn conditions_are_evaluated_for_the_tenant_that_is_named() {
    let starts = |id| {
        Bpmn::process(id)
            .start_condition("s", "=amount < 10")
            .end("e")
    };
    let mut rig = checking(1);
    for (tenant, id) in [("acme", "of-acme"), ("globex", "of-globex")] {
        inside(&mut rig, tenant, |rig| rig.deploy(starts(id)));
    }
    let answer = by(&mut rig, "bert", "globex", evaluate_conditions(None)).unwrap();
    let Response::ConditionalsEvaluated(evaluated) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(evaluated.started.len(), 1);
    let began = rig
        .events("PROCESS_INSTANCE")
        .filter(|r| r.intent == "ELEMENT_ACTIVATING")
        .find(|r| r.element() == "of-globex");
    assert!(began.is_some());
}

#[test]
fn no_instance_is_migrated_into_another_tenant() {
    let mut rig = checking(1);
    inside(&mut rig, "acme", |rig| rig.deploy(process("order")));
    let of_acme = last(&rig, "PROCESS", "CREATED");
    let own = inside(&mut rig, "globex", |rig| {
        rig.deploy(process("order"));
        rig.create("order", "{}")
    });
    let migrate = |target| {
        Command::MigrateProcessInstance(MigrateProcessInstance {
            process_instance_key: own,
            target_process_definition_key: target,
            mapping_instructions: vec![MappingInstruction {
                source_element_id: "t".into(),
                target_element_id: "t".into(),
            }],
        })
    };
    // Members of both tenants are refused, too.
    for name in ["bert", "anna"] {
        if name == "anna" {
            assign(&mut rig, "globex", "anna");
        }
        let of_nothing = Key::new(1, 4_000_000);
        let nothing = refused(&mut rig, name, "globex", migrate(of_nothing));
        let foreign = refused(&mut rig, name, "globex", migrate(of_acme));
        let expected = nothing
            .1
            .replace(&of_nothing.to_string(), &of_acme.to_string());
        assert_eq!(foreign, (RejectionType::NotFound, expected));
    }
}

#[test]
fn a_batch_operation_finds_nothing_at_the_keys_of_another_tenant() {
    let mut rig = checking(1);
    let create_one = |rig: &mut Rig| {
        rig.deploy(process("order"));
        rig.create("order", "{}")
    };
    let foreign = inside(&mut rig, "acme", create_one);
    let own = inside(&mut rig, "globex", create_one);
    let create = Command::Batch(BatchCommand::Create(Box::new(CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: "{}".into(),
        plan: BatchPlan::None,
        follow_up: None,
    })));
    let answer = by(&mut rig, "bert", "", create).unwrap();
    let Response::BatchOperationCreated { key, .. } = answer else {
        panic!("{answer:?}");
    };
    let of_nothing = Key::new(1, 4_000_000);
    let item = |process_instance_key| BatchOperationItem {
        item_key: process_instance_key,
        process_instance_key,
        root_process_instance_key: process_instance_key,
    };
    let items = vec![item(foreign), item(own), item(of_nothing)];
    let add = AddBatchItems {
        batch_operation_key: key,
        resources: Vec::new(),
        items,
        after: Key::NONE,
        last: true,
    };
    rig.send(Command::Batch(BatchCommand::Add(add))).unwrap();
    assert_eq!(rig.open_instances(), [foreign]);
    let failed = rig
        .events("BATCH_OPERATION_ITEM")
        .filter(|r| r.intent == "FAILED")
        .map(|r| r.text("errorMessage").to_string());
    let failed: Vec<String> = failed.collect();
    assert_eq!(failed.len(), 2);
    let expected = failed[1].replace(&of_nothing.to_string(), &foreign.to_string());
    assert_eq!(failed[0], expected);
}

#[test]
fn internal_commands_work_for_every_tenant() {
    let mut rig = checking(1);
    inside(&mut rig, "acme", |rig| {
        rig.deploy(
            Bpmn::process("waits")
                .start("s")
                .catch_duration("c", "PT1M")
                .end("e"),
        );
        rig.create("waits", "{}");
    });
    rig.claims = is("bert");
    rig.advance(MINUTE);
    assert_eq!(rig.open_instances().len(), 0);
}
