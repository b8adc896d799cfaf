//! A partition whose engine panics on purpose: at messages with this name, and at any work for instances of processes with this name.

use skep_protocol::origin::Claims;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_engine::state::State;
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    ActivateJobs, Command, CreateProcessInstance, Deploy, ProcessRef, PublishMessage, Request,
    Resource,
};
use skep_protocol::{Document, Failure, Key, RejectionType, Response};
use skep_service::{Broker as _, PartitionHealth};

use super::MAX_PANICS;
use crate::Broker;
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::partition::{PartitionHandle, Report};

const PANICS: &str = "panic";

/// Called before every command in tests of this crate.
pub fn may_panic(command: &Command) {
    if matches!(command, Command::PublishMessage(message) if &*message.name == PANICS) {
        panic!("the engine met a bug");
    }
}

/// Called whenever work for an instance begins.
pub fn may_fail(state: &mut State, instance: Key) {
    let row = state.elements.get(instance);
    let definition = row.map(|row| row.process_definition_key);
    let process = definition.and_then(|key| state.processes.get(key));
    if process.is_some_and(|process| process.bpmn_process_id.starts_with(PANICS)) {
        panic!("the engine met a bug in an instance");
    }
}

/// A process with a timer of one minute, then a job.
fn process(id: &str) -> Resource {
    let bpmn = Bpmn::process(id)
        .start("s")
        .catch_duration("timer", "PT1M")
        .service_task("task", "work")
        .end("e");
    Resource {
        name: format!("{id}.bpmn"),
        content: bpmn.xml().into(),
    }
}

/// A process that waits for a message.
fn listener(id: &str) -> Resource {
    let bpmn = Bpmn::process(id)
        .start("s")
        .catch_message("catch", "paid", "=key")
        .end("e");
    Resource {
        name: format!("{id}.bpmn"),
        content: bpmn.xml().into(),
    }
}

async fn create(broker: &Broker, id: &str) -> Key {
    match try_create(broker, id).await.unwrap() {
        Response::ProcessInstanceCreated(created) => created.process_instance_key,
        other => panic!("{other:?}"),
    }
}

async fn try_create(broker: &Broker, id: &str) -> Result<Response, Failure> {
    let command = CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: id.into(),
            version: -1,
        },
        variables: Document::parse(r#"{"key":"A"}"#).unwrap(),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    };
    let command = Command::CreateProcessInstance(command);
    ask(broker, command).await
}

async fn cancel(broker: &Broker, process_instance_key: Key) -> Failure {
    let command = Command::CancelProcessInstance {
        process_instance_key,
    };
    ask(broker, command).await.unwrap_err()
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !condition() {
        assert!(Instant::now() < deadline, "not so: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_panic_repeatedly_are_banned_and_the_partition_keeps_working() {
    const MANY: usize = MAX_PANICS + 5;
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory).await;
    let deploy = Command::Deploy(Deploy {
        resources: vec![process(PANICS), process("fine")],
    });
    ask(&broker, deploy).await.unwrap();
    let mut panicking = Vec::new();
    for _ in 0..MANY {
        panicking.push(create(&broker, PANICS).await);
    }
    let fine = create(&broker, "fine").await;
    broker.clock().add(61_000);
    let status = broker.partitions()[0].status.clone();
    until("all are banned", || status.banned().len() == MANY).await;
    let (key, reason) = status.banned()[0].clone();
    assert_eq!(
        (key, &*reason),
        (panicking[0], "the engine met a bug in an instance")
    );
    assert_eq!(
        status.health(),
        PartitionHealth::Healthy,
        "{:?}",
        status.failure()
    );
    let activation = ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: 60_000,
        max_jobs: 100,
        fetch_variables: vec![],
        tenants: skep_protocol::Tenants::default(),
    };
    let wait = Duration::from_secs(180);
    let jobs = broker
        .activate_jobs(activation, Claims::Internal, wait)
        .await
        .unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].process_instance_key, fine);

    // The engine tries to end an instance; one attempt is enough.
    let failure = loop {
        match cancel(&broker, panicking[0]).await {
            Failure::Aborted(_) | Failure::Unavailable(_) => {}
            failure => break failure,
        }
    };
    assert!(
        matches!(&failure, Failure::Internal(text) if text.contains("is banned")),
        "{failure:?}"
    );
    let failure = cancel(&broker, panicking[0]).await;
    assert!(
        matches!(&failure, Failure::Rejected(rejection) if rejection.kind == RejectionType::InvalidState),
        "{failure:?}"
    );
    broker.stop();
    drop(broker);
    let broker = open(&directory).await;
    let status = broker.partitions()[0].status.clone();
    until("they are still banned", || status.banned().len() == MANY).await;
    publish_for_sure(&broker, "after").await;
    assert_eq!(status.health(), PartitionHealth::Healthy);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_given_back_right_before_a_panic_goes_back() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory).await;
    let bpmn = Bpmn::process("job").start("s").service_task("task", "work");
    let resource = Resource {
        name: "job.bpmn".to_string(),
        content: bpmn.end("e").xml().into(),
    };
    let deploy = Command::Deploy(Deploy {
        resources: vec![resource],
    });
    ask(&broker, deploy).await.unwrap();
    create(&broker, "job").await;
    let activation = ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: 600_000,
        max_jobs: 1,
        fetch_variables: vec![],
        tenants: skep_protocol::Tenants::default(),
    };
    let activate = |wait| broker.activate_jobs(activation.clone(), Claims::Internal, wait);
    let job = activate(Duration::ZERO).await.unwrap()[0].activation();
    // Both are evaluated in one batch, which is lost.
    let partition = &broker.partitions()[0];
    let paused = &partition.status.processing_paused;
    paused.store(true, Ordering::Relaxed);
    broker.give_back(vec![job]);
    let panics = broker.execute(Request::internal(message(PANICS, "")));
    paused.store(false, Ordering::Relaxed);
    partition.inbox.send(Report::Wake);
    assert!(matches!(panics.await.result, Err(Failure::Internal(_))));
    let again = activate(Duration::from_secs(180)).await.unwrap();
    assert_eq!(again[0].key, job.key);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_another_partition_that_panics_bans_its_instance() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open_with(&directory, 2).await;
    let deploy = Command::Deploy(Deploy {
        resources: vec![listener("panic-at-message")],
    });
    ask(&broker, deploy).await.unwrap();
    // The acknowledgement of the subscription triggers the bug; without a ban it would be repeated until accepted. The panic that follows
    // may also undo the creation, if that was not committed: then another instance is created.
    let deadline = Instant::now() + Duration::from_secs(180);
    let banned = |partition: &Arc<PartitionHandle>| !partition.status.banned().is_empty();
    while !broker.partitions().iter().all(banned) {
        assert!(Instant::now() < deadline, "each partition bans an instance");
        let created = try_create(&broker, "panic-at-message").await;
        assert!(
            matches!(
                &created,
                Ok(_) | Err(Failure::Aborted(_) | Failure::Unavailable(_))
            ),
            "{created:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for partition in broker.partitions() {
        assert_eq!(partition.status.health(), PartitionHealth::Healthy);
    }
    publish_for_sure(&broker, "after").await;
}

fn message(name: &str, id: &str) -> Command {
    Command::PublishMessage(PublishMessage {
        name: name.into(),
        correlation_key: "key".into(),
        time_to_live: 600_000,
        message_id: id.into(),
        variables: Document::new(),
    })
}

async fn open(directory: &tempfile::TempDir) -> Arc<Broker> {
    open_with(directory, 1).await
}

async fn open_with(directory: &tempfile::TempDir, partitions: u32) -> Arc<Broker> {
    let config = BrokerConfig {
        partitions,
        retry_interval: Duration::from_millis(20),
        directory: directory.path().to_path_buf(),
        check_interval: Duration::from_millis(20),
        ..BrokerConfig::default()
    };
    let broker = Broker::open(config, Arc::new(Clock::default())).unwrap();
    while !broker.is_ready() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    broker
}

async fn ask(broker: &Broker, command: Command) -> Result<Response, Failure> {
    broker.execute(Request::internal(command)).await.result
}

async fn publish(broker: &Broker, name: &str, id: &str) -> Result<Response, Failure> {
    ask(broker, message(name, id)).await
}

/// Publishes until the partition answers definitely: a rebuild aborts requests that arrive in between.
async fn publish_for_sure(broker: &Broker, id: &str) {
    loop {
        match publish(broker, "fine", id).await {
            Ok(_) => return,
            // It was carried out, but the answer was lost.
            Err(Failure::Rejected(_)) => return,
            Err(Failure::Aborted(_) | Failure::Unavailable(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// A message id is accepted once while the message is buffered: an acknowledged one is refused the second time.
async fn is_there(broker: &Broker, id: &str) -> bool {
    matches!(
        publish(broker, "fine", id).await,
        Err(Failure::Rejected(rejection)) if rejection.kind == skep_protocol::RejectionType::AlreadyExists
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_the_command_and_not_the_partition() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory).await;
    publish_for_sure(&broker, "before").await;
    let failure = publish(&broker, PANICS, "").await.unwrap_err();
    assert!(
        matches!(&failure, Failure::Internal(text) if text.contains("the engine met a bug")),
        "{failure:?}"
    );
    assert!(is_there(&broker, "before").await);
    publish_for_sure(&broker, "after").await;
    broker.stop();
    drop(broker);
    let broker = open(&directory).await;
    assert!(is_there(&broker, "before").await && is_there(&broker, "after").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_around_a_panic_is_lost_while_checkpoints_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory).await;
    for round in 0..5 {
        let mut writers = Vec::new();
        for n in 0..20 {
            let broker = broker.clone();
            writers.push(tokio::spawn(async move {
                publish_for_sure(&broker, &format!("{round}-{n}")).await;
            }));
        }
        broker.partitions()[0]
            .inbox
            .send(Report::TakeSnapshot(None));
        let failure = publish(&broker, PANICS, "").await.unwrap_err();
        assert!(matches!(failure, Failure::Internal(_)), "{failure:?}");
        for writer in writers {
            writer.await.unwrap();
        }
    }
    for round in 0..5 {
        for n in 0..20 {
            assert!(is_there(&broker, &format!("{round}-{n}")).await);
        }
    }
    broker.stop();
    drop(broker);
    let broker = open(&directory).await;
    assert!(is_there(&broker, "4-19").await && is_there(&broker, "0-0").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_does_nothing_but_panic_stops_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory).await;
    for _ in 0..=MAX_PANICS {
        let failure = publish(&broker, PANICS, "").await.unwrap_err();
        assert!(matches!(failure, Failure::Internal(_)), "{failure:?}");
    }
    let deadline = Instant::now() + Duration::from_secs(180);
    while broker.partitions()[0].status.failure().is_none() {
        assert!(Instant::now() < deadline, "the thread does not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let failure = publish(&broker, "fine", "").await.unwrap_err();
    assert!(
        matches!(&failure, Failure::Unavailable(text)
            if text.starts_with("Partition 1 has stopped: the engine panicked more than 10 times")),
        "{failure:?}"
    );
}
