//! A partition at a standstill for a backup: nothing is evaluated, and nobody waits for long.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use skep_broker::partition::Report;
use support::{Rig, one_task};

/// Time after which a partition continues by itself.
const LIMIT: Duration = Duration::from_secs(1);

async fn ask<T: Send + 'static>(
    rig: &Rig,
    report: impl FnOnce(crossbeam_channel::Sender<T>) -> Report,
) -> T {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    rig.broker.partitions()[0].inbox.send(report(sender));
    let answer = tokio::task::spawn_blocking(move || receiver.recv());
    answer.await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_at_a_standstill_evaluates_nothing_until_it_resumes() {
    let rig = Arc::new(Rig::new(|_| {}).await);
    rig.deploy(&one_task()).await;
    let over = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn({
        let (rig, over) = (rig.clone(), over.clone());
        async move {
            while !over.load(Ordering::Relaxed) {
                rig.create("one-task", "{}").await.unwrap();
            }
        }
    });
    let mut looked = 0;
    while looked < 5 {
        let began = Instant::now();
        let first = ask(&rig, Report::StandStill).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let second = ask(&rig, Report::StandStill).await.unwrap();
        let in_time = began.elapsed() < LIMIT;
        let stood = ask(&rig, Report::GoOn).await;
        // On a machine that stalled for a second the partition has continued by itself.
        if in_time {
            assert_eq!(first, second);
            looked += 1;
        }
        assert!(stood || began.elapsed() >= LIMIT);
        rig.create("one-task", "{}").await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    load.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_resumes_unaided_and_reports_it() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    let cut = ask(&rig, Report::StandStill).await.unwrap();
    rig.create("one-task", "{}").await.unwrap();
    assert!(!ask(&rig, Report::GoOn).await);
    let later = ask(&rig, Report::StandStill).await.unwrap();
    assert!(later.index > cut.index && later.last_key > cut.last_key);
    assert!(ask(&rig, Report::GoOn).await);
    assert!(!ask(&rig, Report::GoOn).await, "it does not stand still");
}
