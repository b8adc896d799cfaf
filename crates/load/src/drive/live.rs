//! Load under external control: starters and workers come and go while one ledger records
//! everything.

use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use skep_client::{Deployed, Deployment, Transport};

use super::slice::{Collector, Habits, Plan, Slice};
use crate::{
    args::{HttpArg, JobsArg, LoadArgs, TransportArg},
    ledger::{Audit, Ledger},
    process::Process,
    rate::Rate,
};

/// Interval at which outstanding answers are checked for.
const STEP: Duration = Duration::from_millis(20);

/// Connections of a flood: the server limits the requests under way on each.
const FLOOD_CONNECTIONS: u32 = 4;

/// Jobs that a hung worker takes.
const HUNG_JOBS: u32 = 32;
/// Time after which others get these jobs.
const HUNG_TIMEOUT: Duration = Duration::from_secs(5);

/// A deployed process, and the ledger of its instances.
pub struct Live {
    plan: Arc<Plan>,
    transport: Transport,
    deployment: Deployment,
    collector: Arc<Collector>,
}

/// How starters and workers reach the nodes.
#[derive(Clone, Debug)]
pub struct Clients {
    pub wire: Wire,
    /// Addresses of this wire, separated by commas.
    pub addresses: String,
    /// Connections to each address, in addition to those of job streams.
    pub connections: u32,
    /// How workers get jobs.
    pub jobs: JobsArg,
    /// Workers for each address.
    pub workers: u32,
}

/// The interface of the nodes that clients use.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    Rest(HttpArg),
    Grpc,
}

/// Running starters or workers.
pub struct Running {
    slice: Slice,
    collector: Arc<Collector>,
    /// How long to wait for answers to creations.
    patience: Duration,
}

impl Live {
    /// Deploys the process.
    ///
    /// # Errors
    /// Contradicting arguments, a server that cannot be reached, a process that cannot be deployed.
    pub async fn deploy(args: LoadArgs, process: Process) -> anyhow::Result<Self> {
        args.check()?;
        let transport = args.transport.into();
        let deployment = super::deploy(&args, transport, &process).await?;
        let plan = Arc::new(Plan {
            variables: crate::process::variables(args.payload),
            process,
            args,
            habits: Habits {
                own_writes: true,
                ..Habits::default()
            },
        });
        let collector = Arc::new(Collector::new(&plan));
        collector.ledger().begin_window(Instant::now());
        Ok(Self {
            plan,
            transport,
            deployment,
            collector,
        })
    }

    /// Starts an audit: every key is remembered, and refusals that contain these words are counted.
    pub fn audit(&self, words: &[String]) {
        self.ledger().audit = Some(Box::new(Audit::with_words(words)));
    }

    /// Starts this many instances per second.
    ///
    /// # Errors
    /// A rate that is not above 0 or too high, and threads that cannot be started.
    pub fn start(&self, clients: &Clients, rate: f64) -> anyhow::Result<Running> {
        self.start_at(clients, Rate::try_from(rate)?, Duration::ZERO)
    }

    /// Starts instances at a rate that grows or falls evenly for this time, and then stays.
    ///
    /// # Errors
    /// A rate that is not above 0 or too high, and threads that cannot be started.
    pub fn ramp(
        &self,
        clients: &Clients,
        (from, to): (f64, f64),
        time: Duration,
    ) -> anyhow::Result<Running> {
        self.start_at(clients, Rate::ramp(from, to)?, time)
    }

    fn start_at(&self, clients: &Clients, rate: Rate, time: Duration) -> anyhow::Result<Running> {
        if let Some(audit) = &mut self.ledger().audit {
            audit.begin_gaps();
        }
        self.run(clients, |args, _| {
            args.rate = Some(rate);
            args.warmup = Duration::ZERO;
            args.duration = time;
            args.workers = 0;
        })
    }

    /// The same, but refused starts are given up, latency counts from the sending of a start, and
    /// `in_flight` limits the creations under way.
    ///
    /// # Errors
    /// A rate that is not above 0 or too high, and threads that cannot be started.
    pub fn flood(&self, clients: &Clients, rate: f64, in_flight: u32) -> anyhow::Result<Running> {
        let constant = Rate::try_from(rate)?;
        if let Some(audit) = &mut self.ledger().audit {
            audit.begin_gaps();
        }
        self.run(clients, |args, habits| {
            args.rate = Some(constant);
            args.workers = 0;
            args.max_in_flight = in_flight;
            args.connections = args.connections.max(FLOOD_CONNECTIONS);
            habits.gives_up = true;
        })
    }

    /// Works the jobs.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn work(&self, clients: &Clients) -> anyhow::Result<Running> {
        self.run(clients, |args, _| {
            args.rate = None;
            args.concurrency = 0;
        })
    }

    /// A worker that takes jobs until it is full, and never finishes one. The ledger does not know
    /// its jobs.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn hang(&self, clients: &Clients) -> anyhow::Result<Running> {
        self.run(clients, |args, habits| {
            args.rate = None;
            args.concurrency = 0;
            args.workers = 1;
            args.max_jobs = HUNG_JOBS;
            args.job_timeout = HUNG_TIMEOUT;
            habits.hangs = true;
        })
    }

    /// Keeps this many instances under way, and works their jobs.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn saturate(&self, clients: &Clients, instances: u32) -> anyhow::Result<Running> {
        self.run(clients, |args, _| {
            args.rate = None;
            args.concurrency = instances;
        })
    }

    fn run(
        &self,
        clients: &Clients,
        change: impl FnOnce(&mut LoadArgs, &mut Habits),
    ) -> anyhow::Result<Running> {
        let (mut args, mut habits) = (self.plan.args.clone(), self.plan.habits);
        let addresses = Some(clients.addresses.clone());
        match clients.wire {
            Wire::Rest(http) => {
                (args.transport, args.http) = (TransportArg::Rest, http);
                args.rest_address = addresses;
            }
            Wire::Grpc => {
                args.transport = TransportArg::Grpc;
                args.grpc_address = addresses;
            }
        }
        args.connections = clients.connections;
        args.jobs = clients.jobs;
        args.workers = clients.workers;
        change(&mut args, &mut habits);
        let transport = args.transport.into();
        let patience = match args.lanes() {
            0 => Duration::ZERO,
            _ => args.request_timeout,
        };
        let plan = Arc::new(Plan {
            args,
            process: self.plan.process.clone(),
            variables: self.plan.variables.clone(),
            habits,
        });
        Ok(Running {
            slice: Slice::start(&plan, &self.collector, transport)?,
            collector: Arc::clone(&self.collector),
            patience,
        })
    }

    /// The keys of what was deployed.
    pub fn process_keys(&self) -> impl Iterator<Item = i64> {
        let items = self.deployment.items.iter();
        items.filter_map(|item| match item {
            Deployed::Process { key, .. } => Some(*key),
            _ => None,
        })
    }

    /// Deletes the deployed process.
    ///
    /// # Errors
    /// The server refuses the deletion or cannot be reached.
    pub async fn delete(&self) -> anyhow::Result<()> {
        let client = super::client(&self.plan.args, self.transport)?;
        for key in self.process_keys() {
            client.delete_resource(key).await?;
        }
        Ok(())
    }

    /// The ledger so far.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.collector.ledger()
    }
}

impl Running {
    /// Ends them, once all sent requests are answered.
    ///
    /// # Errors
    /// One of their threads failed.
    pub async fn end(self) -> anyhow::Result<()> {
        self.slice.stop_starting();
        let end = Instant::now() + self.patience;
        while Instant::now() < end && !self.collector.is_answered() {
            tokio::time::sleep(STEP).await;
        }
        self.slice.end().await
    }
}
