//! Deletion from the store by age, entity by entity.

use std::time::{Duration, Instant};

use skep_model::builder::Bpmn;
use skep_protocol::Document;
use skep_protocol::command::{Command, DecisionRef, EvaluateDecision};
use skep_query::{Entity, Leaves, entities};
use skep_secondary::{AuditConfig, Config};

use skep_testkit::rig::{Rig, decision};
use skep_testkit::stores::{Filled, rig};

fn count(store: &Filled, entity: &'static Entity) -> usize {
    store.find(entity, "{}").len()
}

/// More instances than are deleted at a time, with rows of many entities; one of them stays open.
fn story(rig: &mut Rig) {
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .user_task("task")
            .service_task("job", "work")
            .catch_message("message", "m", "=\"k\"")
            .end("end"),
    );
    rig.deployed(vec![("a.dmn", decision("file", "d", "1"))]);
    let _ = rig.send(Command::EvaluateDecision(EvaluateDecision {
        decision: DecisionRef::Id("d".into()),
        variables: Document::parse("{}").unwrap(),
    }));
    for n in 0..3 {
        rig.create("p", r#"{"a": 1}"#);
        let tasks = rig.events("USER_TASK").filter(|r| r.intent == "CREATED");
        let task = tasks.last().unwrap().key;
        rig.assign(task, "anna", "").unwrap();
        rig.complete_task(task, "{}").unwrap();
        let job = rig.job("work");
        if n == 0 {
            rig.fail(&job, 0, 0);
            rig.set_retries(job.key, 1).unwrap();
            rig.resolve(rig.incident().key).unwrap();
            rig.work("work", "{}");
        } else {
            rig.complete(&job, "{}");
        }
        if n < 2 {
            rig.publish("m", "k", 0, "{}");
        }
    }
    rig.create("p", "{}");
    for _ in 0..250 {
        let instance = rig.create("p", "{}");
        rig.cancel(instance).unwrap();
    }
}

#[test]
fn ended_instances_expire_with_all_their_entities() {
    let (mut rig, kept) = rig(super::BACKEND);
    let mut audit = AuditConfig::default();
    audit.unknown.categories = audit.user.categories.clone();
    let short = Filled::with(
        super::BACKEND,
        1,
        Config {
            window: Duration::from_millis(5),
            history_ttl: Duration::from_secs(1),
            audit,
            ..Config::default()
        },
    );
    story(&mut rig);
    let batches = std::mem::take(&mut rig.batches);
    kept.follow(&batches);
    short.follow(&batches);
    assert_eq!(count(&kept, &entities::PROCESS_INSTANCE), 254);
    let open: Vec<String> = rig
        .open_instances()
        .iter()
        .map(|key| key.to_string())
        .collect();
    assert_eq!(open.len(), 2);
    let of_open = |store: &Filled, entity: &'static Entity| {
        let rows = store.find(entity, "{}").into_iter();
        let instance =
            |row: &serde_json::Value| row["processInstanceKey"].as_str().map(String::from);
        rows.filter(|row| instance(row).is_some_and(|key| open.contains(&key)))
            .count()
    };
    let is_gone = |entity: &'static Entity| match entity.leaves {
        Leaves::WithInstance => count(&short, entity) == of_open(&kept, entity),
        Leaves::At(_) => count(&short, entity) == 0,
        Leaves::WithInstanceOrAt(_) => count(&short, entity) == of_open(&kept, entity),
        Leaves::Never | Leaves::LaterAt(..) | Leaves::When(_) => {
            count(&short, entity) == count(&kept, entity)
        }
    };
    let deadline = Instant::now() + Duration::from_secs(600);
    loop {
        let left = entities::ALL.into_iter().find(|entity| !is_gone(entity));
        let Some(left) = left else { break };
        assert!(Instant::now() < deadline, "{}", left.title);
        std::thread::sleep(Duration::from_millis(20));
    }
    // The story contained rows of each of these entities.
    for entity in [
        &entities::USER_TASK,
        &entities::JOB,
        &entities::INCIDENT,
        &entities::VARIABLE,
        &entities::MESSAGE_SUBSCRIPTION,
        &entities::DECISION_INSTANCE,
        &entities::JOB_STATISTICS,
        &entities::ELEMENT_DURATION,
        &entities::USAGE,
    ] {
        assert!(count(&kept, entity) > 0, "{}", entity.title);
    }
}
