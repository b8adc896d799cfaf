//! One stretch of load over one transport: threads with starters and workers.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use skep_client::{Client, ClientConfig, Transport};
use tokio::sync::{Notify, watch};

use super::{lane, seek, works};
use crate::{
    args::{LoadArgs, to_usize},
    ledger::{Ledger, Wake},
    pace::{Pacer, Schedule},
    process::Process,
    rate::Rate,
};

/// Parameters common to all slices of a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) args: LoadArgs,
    pub(super) process: Process,
    pub(super) variables: String,
    pub(super) habits: Habits,
}

/// The differences from `skep load`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Habits {
    /// Open loop: refused starts are not sent again, and latency counts from the sending of a
    /// start.
    pub(super) gives_up: bool,
    /// With `find`: every second instance is searched for once, by a search that waits for its
    /// caller's writes.
    pub(super) own_writes: bool,
    /// Workers never finish a job, and their jobs are not noted.
    pub(super) hangs: bool,
}

/// Collects the observations of all threads of a transport.
#[derive(Debug)]
pub(super) struct Collector {
    ledger: Mutex<Ledger>,
    lanes: Box<[Notify]>,
    /// Creations sent and not answered.
    creating: AtomicUsize,
}

impl Collector {
    pub(super) fn new(plan: &Plan) -> Self {
        let jobs = (!plan.args.await_completion).then_some(plan.process.jobs_per_instance);
        Self {
            ledger: Mutex::new(Ledger::new(jobs)),
            lanes: (0..plan.args.lanes()).map(|_| Notify::new()).collect(),
            creating: AtomicUsize::new(0),
        }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a creation until the guard is dropped.
    pub(super) fn creating(&self) -> Creating<'_> {
        self.creating.fetch_add(1, Ordering::SeqCst);
        Creating(self)
    }

    /// Whether nothing is under way any more.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_answered() && self.ledger().open() == 0
    }

    /// Whether all sent creations are answered.
    pub(super) fn is_answered(&self) -> bool {
        self.creating.load(Ordering::SeqCst) == 0
    }

    pub(super) fn lane(&self, lane: u32) -> Option<&Notify> {
        self.lanes.get(to_usize(lane))
    }

    pub(super) fn wake(&self, lane: Wake) {
        if let Some(notify) = lane.and_then(|lane| self.lane(lane)) {
            notify.notify_one();
        }
    }
}

/// A creation under way.
pub(super) struct Creating<'a>(&'a Collector);

impl Drop for Creating<'_> {
    fn drop(&mut self) {
        self.0.creating.fetch_sub(1, Ordering::Relaxed);
    }
}

/// State shared by the threads of a slice.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Arc<Plan>,
    pub(super) collector: Arc<Collector>,
    pub(super) transport: Transport,
    pub(super) configs: Vec<ClientConfig>,
    pub(super) pacer: Option<Arc<Pacer>>,
    pub(super) starting: AtomicBool,
    pub(super) stop: watch::Sender<bool>,
    /// The last created instance, for the task that searches for it.
    pub(super) newest: watch::Sender<Option<seek::Created>>,
}

impl Shared {
    /// One client for each address.
    fn clients(&self) -> anyhow::Result<Vec<Client>> {
        let configs = self.configs.iter().cloned();
        let clients = configs.map(|config| Ok(Client::new(self.transport, config)?));
        clients.collect()
    }

    pub(super) async fn stopped(&self) {
        // an error would mean that the sender, which is here, is gone
        let _ = self.stop.subscribe().wait_for(|stopped| *stopped).await;
    }
}

/// A slice under way.
pub(super) struct Slice {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Slice {
    /// Starts the threads.
    pub(super) fn start(
        plan: &Arc<Plan>,
        collector: &Arc<Collector>,
        transport: Transport,
    ) -> anyhow::Result<Self> {
        let args = &plan.args;
        let schedule = |rate: &Rate| Schedule {
            // the workers' streams get a moment to open
            begin: Instant::now() + Duration::from_millis(100),
            legs: rate.legs(args.warmup, args.per_slice()),
            last: rate.last(),
        };
        let shared = Arc::new(Shared {
            plan: Arc::clone(plan),
            collector: Arc::clone(collector),
            transport,
            configs: plan.args.client_configs(transport),
            pacer: args.rate.as_ref().map(|rate| Pacer::new(schedule(rate))),
            starting: AtomicBool::new(true),
            stop: watch::channel(false).0,
            newest: watch::channel(None).0,
        });
        if let Some(pacer) = &shared.pacer {
            pacer.run();
        }
        let threads = (0..plan.args.threads)
            .map(|number| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("load-{number}"))
                    .spawn(move || thread(&shared, number))
            })
            .collect::<Result<_, _>>()
            .context("starting the threads of the load generator")?;
        Ok(Self { shared, threads })
    }

    /// Starts no more instances; notes the starts that were due and not sent.
    pub(super) fn stop_starting(&self) {
        self.shared.starting.store(false, Ordering::SeqCst);
        if let Some(pacer) = &self.shared.pacer {
            let now = Instant::now();
            let mut ledger = self.shared.collector.ledger();
            for due in pacer.stop() {
                ledger.unsent(due, now);
            }
        }
    }

    /// Stops the workers and ends the threads.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        self.shared.stop.send_replace(true);
        let threads = std::mem::take(&mut self.threads);
        tokio::task::spawn_blocking(move || {
            for thread in threads {
                match thread.join() {
                    Ok(result) => result?,
                    Err(_) => anyhow::bail!("a thread of the load generator panicked"),
                }
            }
            Ok(())
        })
        .await?
    }
}

/// After an error nobody ends it: it must not go on loading what may be another server by then.
impl Drop for Slice {
    fn drop(&mut self) {
        self.shared.starting.store(false, Ordering::SeqCst);
        if let Some(pacer) = &self.shared.pacer {
            // Starts that were due and not sent count no more.
            let _ = pacer.stop();
        }
        self.shared.stop.send_replace(true);
    }
}

/// One thread: a runtime of its own, so that nothing in it crosses threads.
fn thread(shared: &Arc<Shared>, number: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let clients = shared.clients()?;
        let args = &shared.plan.args;
        let mut workers = tokio::task::JoinSet::new();
        for job_type in &shared.plan.process.job_types {
            for worker in (0..args.workers).filter(|worker| worker % args.threads == number) {
                for client in &clients {
                    let (shared, client) = (Arc::clone(shared), client.clone());
                    workers.spawn(works::run(shared, client, job_type.clone(), worker));
                }
            }
        }
        for lane in (0..args.lanes()).filter(|lane| lane % args.threads == number) {
            tokio::spawn(lane::run(Arc::clone(shared), clients.clone(), lane));
        }
        if args.find && number == 0 {
            tokio::spawn(seek::run(Arc::clone(shared)));
        }
        shared.stopped().await;
        while workers.join_next().await.is_some() {}
        // lanes still waiting for an answer end with the runtime
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{named, variables};

    #[test]
    fn a_slice_that_is_dropped_ends_its_threads() {
        let args = LoadArgs {
            rest_address: Some("127.0.0.1:1".into()),
            rate: Some(Rate::try_from(10.0).unwrap()),
            workers: 0,
            ..LoadArgs::default()
        };
        let plan = Arc::new(Plan {
            process: named("p".into(), "p", 1),
            variables: variables(args.payload),
            habits: Habits::default(),
            args,
        });
        let collector = Arc::new(Collector::new(&plan));
        let transport = plan.args.transport.into();
        let slice = Slice::start(&plan, &collector, transport).unwrap();
        let shared = Arc::clone(&slice.shared);
        drop(slice);
        let end = Instant::now() + Duration::from_secs(60);
        while Arc::strong_count(&shared) > 1 {
            assert!(Instant::now() < end, "a thread goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
