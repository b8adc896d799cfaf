//! Activation, streams, completion.

use std::time::Duration;

use skep_proto::gateway_protocol as pb;
use skep_protocol::{Command, Key};

use super::client;
use crate::fake::{KEY, job, start, start_with};

pub fn activation(request_timeout: i64) -> pb::ActivateJobsRequest {
    pb::ActivateJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        max_jobs_to_activate: 10,
        request_timeout,
        ..Default::default()
    }
}

#[tokio::test]
async fn jobs_are_activated_and_large_ones_are_spread_over_messages() {
    let gateway = start().await;
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(900_000));
    let with_variables = |n| skep_protocol::ActivatedJob {
        variables: large.clone(),
        ..job(n)
    };
    gateway
        .broker
        .jobs
        .lock()
        .extend((1..=4).map(with_variables));
    let mut stream = client(&gateway)
        .await
        .activate_jobs(activation(0))
        .await
        .expect("answers")
        .into_inner();
    let mut keys = Vec::new();
    let mut messages = 0;
    while let Some(message) = stream.message().await.expect("goes on") {
        messages += 1;
        keys.extend(message.jobs.iter().map(|j| j.key));
    }
    assert_eq!(keys, (1..=4).map(|n| KEY.0 + n).collect::<Vec<_>>());
    assert_eq!(messages, 2);
}

#[tokio::test]
async fn an_activated_job_has_all_its_fields() {
    let gateway = start().await;
    gateway.broker.jobs.lock().push(job(1));
    let mut stream = client(&gateway)
        .await
        .activate_jobs(activation(0))
        .await
        .expect("answers")
        .into_inner();
    let error = stream
        .message()
        .await
        .expect("goes on")
        .expect("a message")
        .jobs
        .remove(0);
    let expected = pb::ActivatedJob {
        key: KEY.0 + 1,
        r#type: "pay".into(),
        process_instance_key: KEY.0,
        bpmn_process_id: "order".into(),
        process_definition_version: 3,
        process_definition_key: KEY.0,
        element_id: "pay-task".into(),
        element_instance_key: KEY.0,
        custom_headers: r#"{"h":"1"}"#.into(),
        worker: "w".into(),
        retries: 3,
        deadline: 1_700_000_000_000,
        variables: r#"{"amount": 1.50}"#.into(),
        tenant_id: "<default>".into(),
        user_task: None,
        kind: pb::activated_job::JobKind::BpmnElement as i32,
        listener_event_type: pb::activated_job::ListenerEventType::Unspecified as i32,
        tags: vec![],
    };
    assert_eq!(error, expected);
}

#[tokio::test]
async fn the_request_timeout_of_an_activation_is_a_time_a_default_or_none() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    for timeout in [-1, 15] {
        let mut stream = client
            .activate_jobs(activation(timeout))
            .await
            .expect("answers")
            .into_inner();
        assert!(stream.message().await.expect("ends").is_none());
    }
    gateway.broker.jobs.lock().push(job(1));
    client.activate_jobs(activation(0)).await.expect("answers");
    let waits: Vec<_> = gateway
        .broker
        .activations
        .lock()
        .iter()
        .map(|a| a.1)
        .collect();
    assert_eq!(
        waits,
        [
            Duration::ZERO,
            Duration::from_millis(15),
            Duration::from_secs(10)
        ]
    );
}

#[tokio::test]
async fn jobs_are_streamed() {
    let gateway = start().await;
    let request = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        ..Default::default()
    };
    let mut stream = client(&gateway)
        .await
        .stream_activated_jobs(request)
        .await
        .expect("opens")
        .into_inner();
    let jobs = gateway.broker.streams.lock()[0].jobs.clone();
    for n in 1..=2 {
        jobs.send(job(n)).await.expect("open");
        assert_eq!(
            stream.message().await.expect("goes on").expect("a job").key,
            KEY.0 + n
        );
    }
    let opened = gateway.broker.streams.lock().pop().expect("a stream");
    drop(stream);
    assert!(opened.closed.await.is_err());
}

#[tokio::test]
async fn completions_share_the_slots_first_come_first_served() {
    let gateway = start_with(|config| {
        config.executor.max_pool_size_multiplier = 1;
        config.executor.requests_per_worker = 1;
    })
    .await;
    gateway.broker.hold();
    let client = client(&gateway).await;
    let calls: tokio::task::JoinSet<_> = (0..20)
        .map(|n| {
            let mut client = client.clone();
            async move {
                client
                    .complete_job(pb::CompleteJobRequest {
                        job_key: n,
                        ..Default::default()
                    })
                    .await
            }
        })
        .collect();
    let slots = std::thread::available_parallelism().map_or(1, usize::from);
    gateway.broker.until(|b| b.held() == slots).await;
    gateway.broker.release();
    assert!(calls.join_all().await.iter().all(Result::is_ok));
    assert_eq!(*gateway.broker.peak.lock(), slots);
    assert!(gateway.broker.requests.lock().iter().all(|r| matches!(
        r.command,
        Command::CompleteJob {
            job_key: Key(_),
            ..
        }
    )));
}
