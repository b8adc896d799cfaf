//! Guarantees of a worker: bounded memory, back-off, reconnection, a clean stop.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::fake::{self, Fault, Script, WIRES};
use skep_client::{
    Client, Delivery, Error, Finished, Job, Outcome, RetryPolicy, Transport, Worker,
    WorkerObserver, WorkerSummary,
};
use tokio::sync::{Notify, Semaphore};

fn quick() -> RetryPolicy {
    RetryPolicy {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(4),
        max_attempts: 10,
    }
}

/// Counts jobs, and notifies when enough were finished.
#[derive(Default)]
struct Watch {
    received: AtomicU64,
    finished: AtomicU64,
    interrupted: AtomicU64,
    held: AtomicI64,
    enough: AtomicU64,
    done: Notify,
}

impl Watch {
    fn until_finished(count: u64) -> Arc<Self> {
        let watch = Self::default();
        watch.enough.store(count, Ordering::SeqCst);
        Arc::new(watch)
    }
}

impl WorkerObserver for Watch {
    fn received(&self, _job: &Job) {
        self.received.fetch_add(1, Ordering::SeqCst);
        self.held.fetch_add(1, Ordering::SeqCst);
    }

    fn finished(&self, _finished: &Finished<'_>) {
        self.held.fetch_sub(1, Ordering::SeqCst);
        let finished = self.finished.fetch_add(1, Ordering::SeqCst) + 1;
        if finished == self.enough.load(Ordering::SeqCst) {
            self.done.notify_one();
        }
    }

    fn interrupted(&self, _error: &Error) {
        self.interrupted.fetch_add(1, Ordering::SeqCst);
    }
}

async fn complete_all(client: Client, watch: &Arc<Watch>, delivery: Delivery) -> WorkerSummary {
    Worker::builder(client, "t")
        .max_jobs(10)
        .delivery(delivery)
        .poll_pause(Duration::from_millis(1))
        .retry(quick())
        .observer(watch.clone())
        .build(async |_job| Outcome::complete())
        .run_until(watch.done.notified())
        .await
}

#[tokio::test]
async fn a_worker_flooded_with_jobs_never_holds_more_than_its_bound() {
    const BOUND: usize = 16;
    for wire in WIRES {
        // JSON is slow to write and read in an unoptimized build.
        let jobs = match wire.0 {
            Transport::Grpc => 100_000,
            Transport::Rest => 20_000,
        };
        let script = Script::with_jobs(jobs);
        let client = fake::client(&script, wire).await;
        let watch = Watch::until_finished(jobs);
        let ahead = Arc::new(AtomicU64::new(0));
        // The first handlers wait until the bound is reached: no more jobs may arrive meanwhile.
        let gate = Arc::new(Semaphore::new(0));
        let summary = Worker::builder(client, "t")
            .max_jobs(BOUND)
            .observer(watch.clone())
            .build(async |_job| {
                let received = watch.received.load(Ordering::SeqCst);
                if received == BOUND as u64 {
                    gate.add_permits(Semaphore::MAX_PERMITS / 2);
                }
                let held = watch.held.load(Ordering::SeqCst);
                assert!(held <= BOUND as i64, "holds {held}");
                let sent_ahead = script.yielded.load(Ordering::SeqCst) - received;
                ahead.fetch_max(sent_ahead, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                Outcome::Leave
            })
            .run_until(watch.done.notified())
            .await;
        assert_eq!(summary.received, jobs, "{wire:?}");
        assert!(summary.most_held <= BOUND, "{wire:?}: {summary:?}");
        if wire.0 == Transport::Grpc {
            // The window is 64 KiB and a job takes over 100 bytes; the server buffers a little.
            let ahead = ahead.load(Ordering::SeqCst);
            assert!(ahead < 2_000, "the server ran {ahead} jobs ahead");
        }
    }
}

#[tokio::test]
async fn pushed_and_polled_jobs_are_completed_once_each() {
    for wire in WIRES {
        for delivery in [Delivery::Push, Delivery::Poll, Delivery::PushAndPoll] {
            let script = Script::with_jobs(60);
            let client = fake::client(&script, wire).await;
            // The fake answers a poll with more jobs than requested: the excess is discarded, and in this test never offered again.
            let watch = Watch::until_finished(if delivery == Delivery::Push { 60 } else { 20 });
            let summary = complete_all(client, &watch, delivery).await;
            assert_eq!(summary.unreported, 0, "{wire:?} {delivery:?}");
            assert!(summary.most_held <= 10, "{wire:?} {delivery:?} {summary:?}");
            let completed = script.completed.lock().unwrap();
            let distinct: BTreeSet<_> = completed.iter().collect();
            assert_eq!(distinct.len(), completed.len(), "{wire:?} {delivery:?}");
            assert!(completed.len() >= 20, "{wire:?} {delivery:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_is_opened_again() {
    for wire in WIRES {
        let script = Script::with_jobs(50);
        script.jobs_per_stream.store(10, Ordering::SeqCst);
        script.fail_next([Fault::Unavailable]);
        let client = fake::client(&script, wire).await;
        let watch = Watch::until_finished(50);
        let summary = complete_all(client, &watch, Delivery::Push).await;
        assert_eq!(summary.acknowledged, 50, "{wire:?}");
        assert!(script.streams.load(Ordering::SeqCst) >= 5, "{wire:?}");
        assert!(watch.interrupted.load(Ordering::SeqCst) >= 5, "{wire:?}");
    }
}

/// Opens the stream before the faults begin, so that they affect only completions.
struct FaultsAfterFirstJob(Arc<Watch>, Arc<Script>, Mutex<Vec<Fault>>);

impl WorkerObserver for FaultsAfterFirstJob {
    fn received(&self, job: &Job) {
        self.1.fail_next(self.2.lock().unwrap().drain(..));
        self.0.received(job);
    }

    fn finished(&self, finished: &Finished<'_>) {
        assert!(finished.result.is_ok(), "{finished:?}");
        self.0.finished(finished);
    }
}

#[tokio::test]
async fn completions_are_tried_again_under_back_pressure_and_after_lost_answers() {
    for wire in WIRES {
        let script = Script::with_jobs(1);
        let mut config = fake::config(&script, wire).await;
        config.request_timeout = Duration::from_millis(100);
        let client = Client::new(wire.0, config).unwrap();
        let watch = Watch::until_finished(1);
        // NOT_FOUND after a lost answer means that the first attempt succeeded.
        let faults = vec![
            Fault::Exhausted,
            Fault::Unavailable,
            Fault::Silence,
            Fault::NotFound,
        ];
        let observer = FaultsAfterFirstJob(watch.clone(), script.clone(), Mutex::new(faults));
        let summary = Worker::builder(client, "t")
            .retry(quick())
            .observer(Arc::new(observer))
            .build(async |_job| Outcome::complete())
            .run_until(watch.done.notified())
            .await;
        assert_eq!(summary.acknowledged, 1, "{wire:?}");
        assert!(script.faults.lock().unwrap().is_empty(), "{wire:?}");
    }
}

#[tokio::test]
async fn a_failed_job_loses_one_retry() {
    for wire in WIRES {
        let script = Script::with_jobs(1);
        let client = fake::client(&script, wire).await;
        let watch = Watch::until_finished(1);
        Worker::builder(client, "t")
            .observer(watch.clone())
            .build(async |_job| Outcome::fail("no card"))
            .run_until(watch.done.notified())
            .await;
        assert_eq!(*script.failed.lock().unwrap(), [(1, 2)], "{wire:?}");
    }
}

#[tokio::test]
async fn a_stopping_worker_finishes_the_jobs_it_has() {
    for wire in WIRES {
        let script = Script::with_jobs(1_000);
        let client = fake::client(&script, wire).await;
        let stop = Notify::new();
        let gate = Semaphore::new(0);
        let started = AtomicU64::new(0);
        let summary = Worker::builder(client, "t")
            .max_jobs(8)
            .build(async |_job| {
                if started.fetch_add(1, Ordering::SeqCst) == 7 {
                    stop.notify_one();
                    gate.add_permits(8);
                }
                gate.acquire().await.unwrap().forget();
                Outcome::complete()
            })
            .run_until(stop.notified())
            .await;
        assert_eq!(summary.abandoned, 0);
        assert_eq!(summary.acknowledged, summary.received, "{wire:?}");
        let completed = script.completed.lock().unwrap().len() as u64;
        assert_eq!(completed, summary.received, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_that_outlast_the_grace_period_are_abandoned() {
    let script = Script::with_jobs(3);
    let client = fake::client(&script, WIRES[2]).await;
    let stop = Notify::new();
    let started = AtomicU64::new(0);
    let summary = Worker::builder(client, "t")
        .grace(Duration::from_secs(1))
        .build(async |_job| {
            if started.fetch_add(1, Ordering::SeqCst) == 2 {
                stop.notify_one();
            }
            std::future::pending().await
        })
        .run_until(stop.notified())
        .await;
    assert_eq!(summary.abandoned, 3);
}

#[tokio::test]
async fn a_stopped_worker_closes_its_stream_at_once() {
    for wire in WIRES {
        let script = Script::with_jobs(1);
        let client = fake::client(&script, wire).await;
        let watch = Watch::until_finished(1);
        let worker = complete_all(client.clone(), &watch, Delivery::Push);
        assert_eq!(worker.await.acknowledged, 1);
        // The server has nothing to send, so that only the closing itself can notify it.
        script.stream_closed.notified().await;
    }
}
