//! No message to a gRPC client exceeds the limit: a job that is too large gets an incident, and the others are delivered.

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use skep_protocol::{ActivatedJob, Command};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::fake::{KEY, Running, job, start_with};

const LIMIT: usize = 100_000;

async fn gateway() -> (Running, GatewayClient<Channel>) {
    let gateway = start_with(|config| config.max_message_size = LIMIT).await;
    let client = GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects")
        .max_decoding_message_size(LIMIT);
    (gateway, client)
}

fn of_size(n: i64, bytes: usize) -> ActivatedJob {
    ActivatedJob {
        variables: format!(r#"{{"x":"{}"}}"#, "y".repeat(bytes)),
        ..job(n)
    }
}

async fn activate(client: &mut GatewayClient<Channel>) -> Result<Vec<i64>, Status> {
    let request = pb::ActivateJobsRequest {
        r#type: "pay".into(),
        worker: "w".into(),
        timeout: 1000,
        max_jobs_to_activate: 10,
        request_timeout: -1,
        ..Default::default()
    };
    let mut stream = client.activate_jobs(request).await?.into_inner();
    let mut keys = Vec::new();
    while let Some(message) = stream.message().await? {
        keys.extend(message.jobs.iter().map(|job| job.key - KEY.0));
    }
    Ok(keys)
}

/// Asserts that the job was failed without retries, with a message that names it.
fn assert_refused(gateway: &Running, n: i64) {
    let Command::FailJob(fail) = gateway.broker.last().command else {
        panic!("{:?}", gateway.broker.last())
    };
    assert_eq!((fail.job_key.0 - KEY.0, fail.retries), (n, 0));
    let key = fail.job_key.to_string();
    assert!(fail.error_message.contains(&key), "{}", fail.error_message);
}

#[tokio::test]
async fn the_jobs_beside_it_are_activated() {
    let (gateway, mut client) = gateway().await;
    *gateway.broker.jobs.lock() = vec![of_size(1, 10), of_size(2, LIMIT), of_size(3, 10)];
    assert_eq!(activate(&mut client).await.expect("answers"), [1, 3]);
    assert_refused(&gateway, 2);
}

#[tokio::test]
async fn a_single_oversized_job_is_refused_with_its_size() {
    let (gateway, mut client) = gateway().await;
    *gateway.broker.jobs.lock() = vec![of_size(2, LIMIT)];
    let refused = activate(&mut client).await.expect_err("is refused");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    for said in [KEY.0 + 2, LIMIT as i64] {
        assert!(refused.message().contains(&said.to_string()), "{refused:?}");
    }
    assert_refused(&gateway, 2);
}

#[tokio::test]
async fn small_jobs_before_a_large_one_go_in_a_separate_message() {
    let (_gateway, mut client) = {
        let (gateway, client) = gateway().await;
        *gateway.broker.jobs.lock() = (0..6).map(|n| of_size(n, 40_000)).collect();
        gateway.broker.jobs.lock().push(of_size(6, LIMIT - 1000));
        (gateway, client)
    };
    assert_eq!(
        activate(&mut client).await.expect("answers"),
        [0, 1, 2, 3, 4, 5, 6]
    );
}

#[tokio::test]
async fn a_stream_continues_with_the_next_job() {
    let (gateway, mut client) = gateway().await;
    let request = pb::StreamActivatedJobsRequest {
        r#type: "pay".into(),
        timeout: 1000,
        ..Default::default()
    };
    let mut stream = client
        .stream_activated_jobs(request)
        .await
        .expect("opens")
        .into_inner();
    let jobs = gateway.broker.streams.lock()[0].jobs.clone();
    jobs.send(of_size(1, LIMIT)).await.expect("open");
    jobs.send(of_size(2, 10)).await.expect("open");
    let next = stream.message().await.expect("no error").expect("a job");
    assert_eq!(next.key - KEY.0, 2);
    assert_refused(&gateway, 1);
}
