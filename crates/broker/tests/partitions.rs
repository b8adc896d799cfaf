//! Several partitions on one node: distribution, routing and restarts.

mod support;

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use skep_model::builder::Bpmn;
use skep_protocol::command::{
    AwaitResult, Command, CreateProcessInstance, FailJob, ProcessRef, Request, ThrowError,
    UpdateJobKind,
};
use skep_protocol::{Failure, Key, RejectionType, Response};
use skep_service::{Broker as _, PartitionHealth};
use support::{Rig, create, one_task, publish};

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_answered_when_every_partition_has_it() {
    let rig = Rig::new(|config| config.partitions = 3).await;
    rig.deploy(&one_task()).await;
    let mut partitions = HashSet::new();
    for _ in 0..9 {
        let key = rig.create("one-task", "{}").await.unwrap();
        partitions.insert(key.partition().unwrap());
    }
    assert_eq!(partitions, HashSet::from([1, 2, 3]), "creations go round");
}

/// It decides about users and permissions itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_directory_of_a_node_alone_is_always_current() {
    let rig = Rig::new(|_| {}).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(rig.broker.directory_age(), Duration::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_with_a_key_go_to_the_partition_that_made_it() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    for _ in 0..4 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let jobs = rig.activate(10, Duration::ZERO).await;
    assert_eq!(jobs.len(), 4, "one poll asks all partitions");
    for job in jobs {
        rig.complete(job.key).await.unwrap();
    }
    let unknown = rig.complete(Key::new(2, 999)).await;
    assert!(matches!(unknown, Err(Failure::Rejected(_))), "{unknown:?}");
}

/// One command of every operation on an entity given by its key.
fn commands_by_key(key: Key) -> Vec<Command> {
    let variables = skep_protocol::Document::new;
    let update = |kind| Command::UpdateJob {
        job_key: key,
        retries: Some(1),
        timeout: None,
        kind,
    };
    vec![
        Command::CancelProcessInstance {
            process_instance_key: key,
        },
        Command::CompleteJob {
            job_key: key,
            variables: variables(),
            result: None,
        },
        Command::FailJob(FailJob {
            job_key: key,
            retries: 1,
            retry_back_off: 0,
            error_message: String::new(),
            variables: variables(),
        }),
        Command::ThrowError(ThrowError {
            job_key: key,
            error_code: "code".to_string(),
            error_message: String::new(),
            variables: variables(),
        }),
        update(UpdateJobKind::Retries),
        update(UpdateJobKind::Timeout),
        update(UpdateJobKind::Both),
        Command::ResolveIncident { incident_key: key },
        Command::SetVariables {
            element_instance_key: key,
            variables: variables(),
            local: false,
        },
        Command::DeleteResource {
            resource_key: key,
            delete_history: false,
        },
        Command::CreateProcessInstance(CreateProcessInstance {
            process: ProcessRef::Key(key),
            variables: variables(),
            start_instructions: vec![],
            terminate_after: vec![],
            tags: vec![],
            business_id: None,
            await_result: None,
        }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_whose_partition_does_not_exist_is_a_key_that_was_not_found() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    let answers = async |key: Key| {
        let mut answers = Vec::new();
        for command in commands_by_key(key) {
            let rejection = match rig.send(command).await {
                Err(Failure::Rejected(rejection)) => rejection,
                other => panic!("{key}: {other:?}"),
            };
            assert_eq!(rejection.kind, RejectionType::NotFound, "{rejection}");
            let text = rejection.to_string();
            assert!(text.contains(&key.to_string()), "{text}");
            answers.push(text.replace(&key.to_string(), "KEY"));
        }
        answers
    };
    // The engine's answers for a key that it could have created but did not.
    let expected = answers(Key::new(2, 999)).await;
    for nobodys in [Key::new(3, 1), Key::new(4095, 1), Key(42), Key(i64::MAX)] {
        assert_eq!(answers(nobodys).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_reach_instances_on_other_partitions() {
    let rig = Rig::new(|config| config.partitions = 3).await;
    let process = Bpmn::process("waits")
        .start("s")
        .catch_message("paid", "payment", "=orderId")
        .end("e");
    rig.deploy(&process).await;
    let mut waiting = Vec::new();
    for n in 0..12 {
        let order = format!("order-{n}");
        let command = create(
            "waits",
            &format!("{{\"orderId\":\"{order}\"}}"),
            Some(AwaitResult {
                fetch_variables: vec![],
            }),
        );
        waiting.push(rig.broker_reply(command));
        // Published before or after the subscription is opened: both are correlated.
        rig.send(publish("payment", &order, "{\"paid\":true}"))
            .await
            .unwrap();
    }
    for reply in waiting {
        match reply.await.result.unwrap() {
            Response::ProcessInstanceResult { variables, .. } => {
                assert!(variables.contains("\"paid\":true"))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_everything_is_there_with_and_without_a_checkpoint() {
    let mut rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    let mut instances = HashSet::new();
    for round in 0..3 {
        for _ in 0..10 {
            let key = rig.create("one-task", "{\"a\": 1.50}").await.unwrap();
            assert!(instances.insert(key), "round {round}: key {key} again");
        }
        rig = rig.restart(|config| config.partitions = 2).await;
    }
    let jobs = rig.activate(100, Duration::ZERO).await;
    assert_eq!(jobs.len(), 30);
    assert!(
        jobs.iter().all(|job| job.variables == "{\"a\":1.50}"),
        "variables keep their text"
    );
    for job in jobs {
        assert!(instances.remove(&job.process_instance_key));
        rig.complete(job.key).await.unwrap();
    }
    let rig = rig.restart(|config| config.partitions = 2).await;
    assert!(rig.activate(100, Duration::ZERO).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_evicted_are_read_back() {
    let rig = Rig::new(|config| {
        config.state_memory_bytes = 0;
        config.snapshot_period = Duration::from_millis(1);
    })
    .await;
    rig.deploy(&one_task()).await;
    for n in 0..200 {
        rig.create("one-task", &format!("{{\"n\":{n}}}"))
            .await
            .unwrap();
    }
    let status = rig.broker.partitions()[0].status.clone();
    let resident = || {
        status
            .state_bytes
            .load(std::sync::atomic::Ordering::Relaxed)
    };
    // The second check after a checkpoint evicts rows that were not used since the first.
    while status
        .checkpoint_position
        .load(std::sync::atomic::Ordering::Relaxed)
        == 0
        || resident() > 50_000
    {
        rig.send(Command::ResetClock).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let jobs = rig.activate(200, Duration::ZERO).await;
    assert_eq!(jobs.len(), 200);
    for job in jobs {
        rig.complete(job.key).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_partitions_and_the_owner_of_a_directory_are_fixed() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    let config = |partitions| skep_broker::BrokerConfig {
        partitions,
        directory: rig.directory.path().to_path_buf(),
        ..Default::default()
    };
    let second = skep_broker::Broker::open(config(2), rig.clock.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(second.contains("in use by another process"), "{second}");
    let Rig {
        broker,
        directory,
        clock,
    } = rig;
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
    let config = skep_broker::BrokerConfig {
        partitions: 3,
        directory: directory.path().to_path_buf(),
        ..Default::default()
    };
    // The lock is released with the stopped broker.
    let broker = skep_broker::Broker::open(config, clock).unwrap();
    assert_eq!(broker.routing().count(), 2);
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
}

impl Rig {
    fn broker_reply(&self, command: Command) -> skep_service::Reply {
        skep_service::Broker::execute(&*self.broker, Request::internal(command))
    }
}

/// Inverts byte 100 of every segment.
fn damage(log: &std::path::Path) {
    for file in std::fs::read_dir(log).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100] ^= 0xff;
        std::fs::write(path, bytes).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_stops_its_partition_and_the_others_keep_working() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    for _ in 0..4 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let directory = rig.directory.clone();
    let Rig { broker, .. } = rig;
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
    damage(&directory.path().join("partitions/2/log"));
    let rig = Rig::open(directory.clone(), |config| config.partitions = 2).await;
    let health = |n: usize| rig.broker.partitions()[n].status.health();
    assert_eq!(health(0), PartitionHealth::Healthy);
    assert_eq!(health(1), PartitionHealth::Dead);
    for _ in 0..3 {
        let key = rig.create("one-task", "{}").await.unwrap();
        assert_eq!(key.partition(), Some(1), "creations pass over it");
    }
    let failure = rig.complete(Key::new(2, 1)).await.unwrap_err().to_string();
    assert!(
        failure.contains("Partition 2") && failure.contains("offset"),
        "{failure}"
    );
    let Rig { broker, clock, .. } = rig;
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
    damage(&directory.path().join("partitions/1/log"));
    let config = skep_broker::BrokerConfig {
        partitions: 2,
        directory: directory.path().to_path_buf(),
        ..Default::default()
    };
    let error = skep_broker::Broker::open(config, clock).err().unwrap();
    assert!(error.to_string().contains("offset"), "{error}");
}

/// Long before the partition would check for due work by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_is_due_when_it_is_set_fires_at_once() {
    let rig = Rig::new(|config| config.check_interval = Duration::from_secs(3600)).await;
    let mut process = Bpmn::process("quick").start("s");
    for n in 0..5 {
        process = process.catch_duration(format!("timer-{n}"), "PT0S");
    }
    rig.deploy(&process.end("e")).await;
    let wait = Some(AwaitResult {
        fetch_variables: vec![],
    });
    let ended = rig.send(create("quick", "{}", wait));
    let ended = tokio::time::timeout(Duration::from_secs(180), ended).await;
    assert!(matches!(
        ended.expect("it ends").unwrap(),
        Response::ProcessInstanceResult { .. }
    ));
}

/// Long before a checkpoint would be due by time or by the length of the log.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_fill_the_memory_lead_to_a_checkpoint_and_leave() {
    let limit = 1 << 20;
    let rig = Rig::new(|config| config.state_memory_bytes = limit).await;
    rig.deploy(&one_task()).await;
    let variables = format!("{{\"x\":\"{}\"}}", "y".repeat(20_000));
    for _ in 0..100 {
        rig.create("one-task", &variables).await.unwrap();
    }
    let status = &rig.broker.partitions()[0].status;
    let load = |value: &std::sync::atomic::AtomicUsize| value.load(Ordering::Relaxed);
    let deadline = std::time::Instant::now() + Duration::from_secs(180);
    while status.checkpoint_index.load(Ordering::Relaxed) == 0 || load(&status.state_bytes) > limit
    {
        assert!(
            std::time::Instant::now() < deadline,
            "{} bytes of rows in memory",
            load(&status.state_bytes)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for job in rig.activate(100, Duration::ZERO).await {
        assert!(job.variables.len() > 20_000, "a cold row is read back");
    }
}
