//! Back-pressure: what is refused, with which words, and what never is.

mod support;

use std::time::Duration;

use skep_broker::flow_control::{Algorithm, Fixed, FlowControlConfig};
use skep_protocol::Failure;
use skep_protocol::service::Broker as _;
use support::{Rig, create, one_task};

fn fixed(limit: u32) -> FlowControlConfig {
    FlowControlConfig {
        algorithm: Algorithm::Fixed,
        fixed: Fixed { limit },
        ..FlowControlConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_creations_are_refused_and_completions_are_not() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    for _ in 0..20 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let jobs = rig.activate(20, Duration::ZERO).await;
    let status = rig.broker.partitions()[0].status.clone();
    status.limit.reconfigure(&fixed(2));
    // Nothing is processed, so nothing is answered: places stay taken.
    status
        .processing_paused
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let mut accepted = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..5 {
        let mut reply = rig.broker.execute(create("one-task", "{}", None).into());
        match reply.take_arrived_or_pending().await {
            Some(answer) => refused.push(answer.result.unwrap_err()),
            None => accepted.push(reply),
        }
    }
    assert_eq!((accepted.len(), refused.len()), (2, 3));
    for failure in refused {
        let Failure::ResourceExhausted(text) = failure else {
            panic!("{failure:?}")
        };
        assert!(
            text.contains("Partition 1") && text.contains("its limit now"),
            "{text}"
        );
    }
    let completions: Vec<_> = jobs
        .iter()
        .map(|job| {
            let variables = skep_protocol::Document::new();
            let command = skep_protocol::Command::CompleteJob {
                job_key: job.key,
                variables,
            };
            rig.broker.execute(command.into())
        })
        .collect();
    status
        .processing_paused
        .store(false, std::sync::atomic::Ordering::Relaxed);
    // Wakes the partition.
    rig.broker.partitions()[0]
        .inbox
        .send(skep_broker::partition::Message::TakeSnapshot(None));
    for reply in completions {
        reply.await.result.unwrap();
    }
    for reply in accepted {
        reply.await.result.unwrap();
    }
}

trait Look {
    async fn take_arrived_or_pending(&mut self) -> Option<skep_protocol::service::Answer>;
}

impl Look for skep_protocol::service::Reply {
    /// The answer if it is there already.
    async fn take_arrived_or_pending(&mut self) -> Option<skep_protocol::service::Answer> {
        tokio::time::timeout(Duration::from_millis(50), self)
            .await
            .ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_nearly_full_disk_new_work_is_refused_and_jobs_are_completed() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let jobs = rig.activate(1, Duration::ZERO).await;
    // No disk has so much room.
    let rig = rig
        .restart(|config| config.disk.processing = u64::MAX / 2)
        .await;
    let failure = rig.create("one-task", "{}").await.unwrap_err();
    let Failure::ResourceExhausted(text) = failure else {
        panic!("{failure:?}")
    };
    assert!(text.contains("MiB are free on the disk"), "{text}");
    rig.complete(jobs[0].key).await.unwrap();
    let rig = rig.restart(|_| {}).await;
    rig.create("one-task", "{}").await.unwrap();
}
