//! Tenants are isolated from each other: definitions, calls and messages stay within one.

use serde_json::json;
use skep_engine::{EngineConfig, IdentityConfig};
use skep_model::builder::Bpmn;
use skep_protocol::command::{ActivateJobs, BroadcastSignal, Command, IdentityCommand};
use skep_protocol::origin::Claims;
use skep_protocol::permission::PermissionType;
use skep_protocol::value::EntityType;
use skep_protocol::{Document, Key, Response, TenantId, Tenants};

use super::authorization::{is, on_process};
use super::identity::{self, member, new, user};
use skep_testkit::rig::*;

fn as_tenant<T>(rig: &mut Rig, tenant: &str, work: impl FnOnce(&mut Rig) -> T) -> T {
    rig.tenant = TenantId::new(tenant);
    // Without checks clients reach the default tenant only.
    let client = std::mem::replace(&mut rig.claims, Claims::Internal);
    let result = work(rig);
    (rig.tenant, rig.claims) = (TenantId::default(), client);
    result
}

fn process(job_type: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", job_type)
        .end("e")
}

fn version_of(rig: &mut Rig, instance: Key) -> (Key, i32) {
    let state = &mut rig.engine(1).state;
    let definition = state.elements.get(instance).unwrap().process_definition_key;
    (definition, state.processes.get(definition).unwrap().version)
}

#[test]
fn each_tenant_has_its_own_definitions_and_versions() {
    let mut rig = Rig::with(process("work"));
    rig.deploy(process("work-2"));
    as_tenant(&mut rig, "acme", |rig| rig.deploy(process("work-acme")));
    let own = rig.create("p", "{}");
    let of_acme = as_tenant(&mut rig, "acme", |rig| rig.create("p", "{}"));
    assert_eq!(version_of(&mut rig, own).1, 2);
    assert_eq!(version_of(&mut rig, of_acme).1, 1);
    let job = as_tenant(&mut rig, "acme", |rig| rig.job("work-acme"));
    assert_eq!(job.process_instance_key, of_acme);
    let tenants = |value_type: &str, key: Key| {
        let records = rig.events(value_type).filter(move |r| r.instance() == key);
        let mut tenants: Vec<_> = records.map(|r| r.text("tenantId").to_string()).collect();
        tenants.dedup();
        tenants
    };
    for value_type in ["PROCESS_INSTANCE", "JOB"] {
        assert_eq!(tenants(value_type, own), ["<default>"]);
        assert_eq!(tenants(value_type, of_acme), ["acme"]);
    }
    let deployed = rig.events("PROCESS").map(|r| r.field("tenantId").clone());
    assert_eq!(
        deployed.collect::<Vec<_>>(),
        [json!("<default>"), json!("<default>"), json!("acme")]
    );
}

#[test]
fn processes_of_another_tenant_are_not_found() {
    let mut rig = Rig::new();
    as_tenant(&mut rig, "acme", |rig| rig.deploy(process("work")));
    let created = rig.send(Rig::creation("p", "{}").into_command());
    assert_eq!(rejected(created).0, "NOT_FOUND");
}

#[test]
fn a_process_calls_those_of_its_tenant() {
    let caller = Bpmn::process("caller")
        .start("s")
        .call_activity("call", "p")
        .end("e");
    let mut rig = Rig::with(process("work"));
    rig.deploy(caller.clone());
    as_tenant(&mut rig, "acme", |rig| {
        rig.deploy(process("work-acme"));
        rig.deploy(caller);
        rig.create("caller", "{}");
    });
    assert!(rig.jobs("work").is_empty());
    as_tenant(&mut rig, "acme", |rig| rig.work("work-acme", "{}"));
    rig.assert_nothing_left();
}

#[test]
fn a_message_reaches_instances_of_its_tenant() {
    let waits = || {
        Bpmn::process("waits")
            .start("s")
            .catch_message("catch", "m", "=key")
            .end("e")
    };
    let mut rig = Rig::with_partitions(2);
    for tenant in ["", "acme"] {
        as_tenant(&mut rig, tenant, |rig| rig.deploy(waits()));
    }
    let own = rig.create("waits", r#"{"key":"k"}"#);
    let of_acme = as_tenant(&mut rig, "acme", |rig| {
        rig.create("waits", r#"{"key":"k"}"#)
    });
    as_tenant(&mut rig, "acme", |rig| rig.publish("m", "k", 0, "{}"));
    assert!(rig.is_running(own));
    assert!(!rig.is_running(of_acme));
    // A buffered message waits for an instance of its tenant, and message ids are per tenant.
    for tenant in ["acme", "globex"] {
        as_tenant(&mut rig, tenant, |rig| {
            let mut message = Rig::message("m", "k", MINUTE, "{}");
            message.message_id = "id".into();
            let command = skep_protocol::Command::PublishMessage(message);
            assert!(rig.send(command).is_ok(), "{tenant}");
        });
    }
    assert!(rig.is_running(own));
    let next = as_tenant(&mut rig, "acme", |rig| {
        rig.create("waits", r#"{"key":"k"}"#)
    });
    assert!(!rig.is_running(next));
}

#[test]
fn a_message_starts_processes_of_its_tenant() {
    let starts = Bpmn::process("starts").start_message("s", "m").end("e");
    let mut rig = Rig::new();
    for tenant in ["", "acme"] {
        as_tenant(&mut rig, tenant, |rig| rig.deploy(starts.clone()));
    }
    as_tenant(&mut rig, "acme", |rig| rig.publish("m", "k", 0, "{}"));
    let began = rig
        .events("PROCESS_INSTANCE")
        .filter(|r| r.intent == "ELEMENT_ACTIVATING" && r.element() == "starts");
    let tenants: Vec<_> = began.map(|r| r.text("tenantId")).collect();
    assert_eq!(tenants, ["acme"]);
}

fn waits_for_signal() -> Bpmn {
    Bpmn::process("waits")
        .start("s")
        .catch_signal("catch", "go")
        .end("e")
}

fn broadcast(rig: &mut Rig) {
    let signal = BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    };
    rig.send(Command::BroadcastSignal(signal)).unwrap();
}

/// An instance on each partition waits for the signal, for the default tenant and for acme.
fn waiting_on_both_partitions() -> (Rig, [Key; 2], [Key; 2]) {
    let mut rig = Rig::with_partitions(2);
    let created = |rig: &mut Rig| {
        rig.deploy(waits_for_signal());
        [1, 2].map(|partition| {
            let request = rig.send_to(partition, Rig::creation("waits", "{}").into_command());
            match rig.answer(request) {
                Some(Ok(Response::ProcessInstanceCreated(created))) => created.process_instance_key,
                other => panic!("{other:?}"),
            }
        })
    };
    let own = created(&mut rig);
    let of_acme = as_tenant(&mut rig, "acme", created);
    (rig, own, of_acme)
}

#[test]
fn a_signal_reaches_instances_of_its_tenant_on_all_partitions() {
    let (mut rig, own, of_acme) = waiting_on_both_partitions();
    as_tenant(&mut rig, "acme", broadcast);
    assert!(own.iter().all(|key| rig.is_running(*key)));
    assert!(!of_acme.iter().any(|key| rig.is_running(*key)));
    let broadcasted = rig.events("SIGNAL").map(|r| r.text("tenantId"));
    assert_eq!(broadcasted.collect::<Vec<_>>(), ["acme", "acme"]);
    let waiting = rig
        .events("SIGNAL_SUBSCRIPTION")
        .map(|r| r.text("tenantId"));
    let of_acme = waiting.filter(|tenant| *tenant == "acme").count();
    assert_eq!(of_acme, 4, "two were created, and two deleted");
    broadcast(&mut rig);
    assert!(!own.iter().any(|key| rig.is_running(*key)));
}

#[test]
fn a_signal_that_an_instance_throws_stays_with_its_tenant() {
    let (mut rig, own, of_acme) = waiting_on_both_partitions();
    as_tenant(&mut rig, "acme", |rig| {
        rig.deploy(Bpmn::process("throws").start("s").end_signal("e", "go"));
        rig.create("throws", "{}");
    });
    assert!(own.iter().all(|key| rig.is_running(*key)));
    assert!(!of_acme.iter().any(|key| rig.is_running(*key)));
}

#[test]
fn a_signal_starts_processes_of_its_tenant() {
    let starts = Bpmn::process("starts").start_signal("s", "go").end("e");
    let mut rig = Rig::new();
    for tenant in ["", "acme"] {
        as_tenant(&mut rig, tenant, |rig| rig.deploy(starts.clone()));
    }
    as_tenant(&mut rig, "acme", broadcast);
    let began = rig
        .events("PROCESS_INSTANCE")
        .filter(|r| r.intent == "ELEMENT_ACTIVATING" && r.element() == "starts");
    let tenants: Vec<_> = began.map(|r| r.text("tenantId")).collect();
    assert_eq!(tenants, ["acme"]);
}

#[test]
fn a_signal_that_goes_to_many_stays_with_its_tenant_in_later_turns() {
    let mut rig = Rig::new();
    for tenant in ["", "acme"] {
        as_tenant(&mut rig, tenant, |rig| {
            rig.deploy(waits_for_signal());
            for _ in 0..30 {
                rig.create("waits", "{}");
            }
        });
    }
    rig.turn_steps(1);
    as_tenant(&mut rig, "acme", broadcast);
    let went_on = rig.events("SIGNAL").filter(|r| r.intent == "CONTINUED");
    assert_eq!(went_on.count(), 1);
    assert_eq!(rig.open_instances().len(), 30);
}

#[test]
fn instances_of_other_tenants_are_out_of_reach_after_checks_are_disabled() {
    let (mut rig, own, of_acme) = same_job_type();
    let cancel = |process_instance_key| Command::CancelProcessInstance {
        process_instance_key,
    };
    let of_nothing = Key::new(1, 4711);
    let text = |rig: &mut Rig, key: Key| {
        let (kind, text) = rejected(rig.send(cancel(key)));
        (kind, text.replace(&key.to_string(), "KEY"))
    };
    let nothing = text(&mut rig, of_nothing);
    assert_eq!(nothing.0, "NOT_FOUND");
    assert_eq!(text(&mut rig, of_acme), nothing);
    rig.send(cancel(own)).unwrap();
    // The engine's internal commands still work.
    as_tenant(&mut rig, "acme", |rig| rig.send(cancel(of_acme)).unwrap());
}

/// A rig where both tenants have an instance with a job of the same type: the instance of the default tenant first.
fn same_job_type() -> (Rig, Key, Key) {
    let mut rig = Rig::with(process("work"));
    let own = rig.create("p", "{}");
    let of_acme = as_tenant(&mut rig, "acme", |rig| {
        rig.deploy(process("work"));
        rig.create("p", "{}")
    });
    (rig, own, of_acme)
}

#[test]
fn a_worker_gets_jobs_of_the_tenants_that_it_names() {
    let (mut rig, own, of_acme) = same_job_type();
    let mut taken = |tenants: &[&str]| {
        let command = Command::ActivateJobs(ActivateJobs {
            job_type: "work".into(),
            worker: "w".into(),
            timeout: 1,
            max_jobs: 10,
            fetch_variables: Vec::new(),
            tenants: Tenants::provided(tenants.iter().copied()),
        });
        let Ok(Response::JobsActivated { jobs, .. }) = rig.send(command) else {
            panic!("jobs are activated");
        };
        // They are available again for the next worker.
        rig.advance(MINUTE);
        let jobs = jobs.into_iter();
        jobs.map(|job| (job.process_instance_key, job.tenant.to_string()))
            .collect::<Vec<_>>()
    };
    let (own, of_acme) = (
        (own, "<default>".to_string()),
        (of_acme, "acme".to_string()),
    );
    assert_eq!(taken(&[]), std::slice::from_ref(&own));
    assert_eq!(taken(&["acme"]), std::slice::from_ref(&of_acme));
    assert_eq!(taken(&["acme", "<default>"]), [own, of_acme]);
    assert_eq!(taken(&["globex"]), []);
    let batches = rig
        .events("JOB_BATCH")
        .map(|r| r.field("tenantIds").clone());
    assert_eq!(
        batches.collect::<Vec<_>>(),
        [
            json!(["<default>"]),
            json!(["acme"]),
            json!(["<default>", "acme"])
        ]
    );
}

/// The tenants of the jobs that a poll of a caller who is not checked gets.
fn polled(rig: &mut Rig, max_jobs: u32, tenants: &[&str]) -> Vec<String> {
    let command = Command::ActivateJobs(ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: MINUTE,
        max_jobs,
        fetch_variables: Vec::new(),
        tenants: Tenants::provided(tenants.iter().copied()),
    });
    let Ok(Response::JobsActivated { jobs, .. }) = rig.send(command) else {
        panic!("jobs are activated");
    };
    jobs.iter().map(|job| job.tenant.to_string()).collect()
}

#[test]
fn a_tenant_gets_jobs_from_the_second_poll_on_whatever_backlog_another_one_has() {
    let (mut rig, ..) = same_job_type();
    for _ in 0..9 {
        rig.create("p", "{}");
    }
    let both = ["<default>", "acme"];
    assert_eq!(polled(&mut rig, 2, &both), ["<default>", "<default>"]);
    assert_eq!(polled(&mut rig, 2, &both), ["acme", "<default>"]);
    // Without jobs of the other tenant, a poll takes those that there are.
    assert_eq!(polled(&mut rig, 2, &both), ["<default>", "<default>"]);
    as_tenant(&mut rig, "acme", |rig| rig.create("p", "{}"));
    assert_eq!(polled(&mut rig, 2, &both), ["acme", "<default>"]);
    assert_eq!(polled(&mut rig, 9, &both), ["<default>"; 4]);
}

#[test]
fn polls_of_other_tenants_do_not_move_the_turn() {
    let (mut rig, ..) = same_job_type();
    as_tenant(&mut rig, "globex", |rig| rig.deploy(process("work")));
    for tenant in ["", "acme", "globex"] {
        for _ in 0..4 {
            as_tenant(&mut rig, tenant, |rig| rig.create("p", "{}"));
        }
    }
    let (all, two) = (["<default>", "acme", "globex"], ["acme", "globex"]);
    let mut turns = Vec::new();
    for _ in 0..4 {
        turns.push([polled(&mut rig, 1, &all), polled(&mut rig, 1, &two)].concat());
    }
    let expected = [
        ["<default>", "acme"],
        ["acme", "globex"],
        ["globex", "acme"],
        ["<default>", "globex"],
    ];
    assert_eq!(turns, expected);
}

/// A thousand tenants with jobs that the caller may not take would hold the partition for seconds.
#[test]
fn a_poll_examines_no_more_jobs_of_many_tenants_than_of_one_and_the_next_begins_with_the_next_tenant()
 {
    let mut rig = Rig::with_configs(1, |partition| EngineConfig {
        partition,
        identity: IdentityConfig {
            authorizations: true,
            tenant_checks: true,
            ..IdentityConfig::default()
        },
        max_looked_at: 5,
        ..EngineConfig::default()
    });
    rig.claims = Claims::Internal;
    identity::send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    for tenant in ["acme", "globex"] {
        identity::send(&mut rig, IdentityCommand::CreateTenant(new(tenant))).unwrap();
        let anna = member(tenant, EntityType::User, "anna");
        identity::send(&mut rig, IdentityCommand::AddToTenant(anna)).unwrap();
    }
    on_process(
        &mut rig,
        "anna",
        "may",
        &[PermissionType::UpdateProcessInstance],
    );
    for (tenant, id, instances) in [("acme", "mayNot", 12), ("globex", "may", 1)] {
        as_tenant(&mut rig, tenant, |rig| {
            rig.deploy(
                Bpmn::process(id)
                    .start("s")
                    .service_task("t", "work")
                    .end("e"),
            );
            for _ in 0..instances {
                rig.create(id, "{}");
            }
        });
    }
    rig.claims = is("anna");
    let both = ["acme", "globex"];
    let none: [&str; 0] = [];
    assert_eq!(
        polled(&mut rig, 9, &both),
        none,
        "five of acme were examined"
    );
    assert_eq!(polled(&mut rig, 9, &both), ["globex"]);
}

#[test]
fn a_job_that_no_stream_takes_is_announced_with_its_tenant() {
    let (mut rig, ..) = same_job_type();
    assert_eq!(rig.announced, ["work", "work of acme"]);
    rig.announced.clear();
    rig.streams.open("work", 1);
    as_tenant(&mut rig, "acme", |rig| rig.create("p", "{}"));
    assert_eq!(rig.announced, ["work of acme"], "the stream is another's");
}

#[test]
fn jobs_of_a_tenant_are_pushed_to_its_streams_and_no_others() {
    let (mut rig, own, of_acme) = same_job_type();
    rig.streams.tenants = Tenants::provided(["acme"]);
    rig.streams.open("work", 9);
    let push = |rig: &mut Rig| {
        let pushed = rig.push_waiting("work");
        let pushed = pushed.iter().map(|job| job.process_instance_key);
        pushed.collect::<Vec<_>>()
    };
    assert_eq!(push(&mut rig), [of_acme]);
    // No more jobs for this tenant; a new instance has its job pushed at once.
    assert_eq!(push(&mut rig), []);
    let next = as_tenant(&mut rig, "acme", |rig| rig.create("p", "{}"));
    let pushed = rig.streams.take();
    assert_eq!(pushed[0].process_instance_key, next);
    rig.create("p", "{}");
    assert!(rig.streams.take().is_empty());
    rig.streams.tenants = Tenants::default();
    assert_eq!(push(&mut rig)[0], own);
}
