//! A run: deploy, then slices of load, each warmed up, measured and drained.

mod lane;
mod live;
mod measure;
mod seek;
mod slice;
mod works;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use skep_client::{Client, Deployment, RetryPolicy, Transport};
use tokio::sync::watch;

use crate::{
    args::LoadArgs,
    process::{self, Process},
    progress::Progress,
    report::{Report, SliceResult},
};
use measure::Measurement;
use slice::{Collector, Habits, Plan, Slice};

pub use live::{Clients, Live, Running, Wire};
pub use measure::MAX_SAMPLES;

/// Runs the load.
///
/// # Errors
/// See [`crate::run`].
pub async fn run(args: &LoadArgs) -> anyhow::Result<Report> {
    args.check()?;
    let process = match &args.process {
        Some(path) => process::from_file(path, args.jobs_per_instance)?,
        None => match args.scenario {
            Some(scenario) => scenario.process(),
            None => process::built_in(args.tasks),
        },
    };
    let transports = args.transports();
    for transport in &transports {
        deploy(args, *transport, &process).await?;
    }
    let plan = Arc::new(Plan {
        variables: process::variables(args.payload),
        process,
        args: args.clone(),
        habits: Habits::default(),
    });
    let mut measurements: Vec<_> = transports
        .iter()
        .map(|transport| Measurement::new(&plan, *transport))
        .collect();
    let order = order(
        measurements.len(),
        if args.compare { args.slices } else { 1 },
    );
    let rounds = u32::try_from(order.len()).unwrap_or(u32::MAX);
    let per_slice = args.per_slice();
    let progress = Progress::new((args.warmup + per_slice) * rounds);
    let begin = std::time::Instant::now();
    let interrupt = Interrupt::listen();
    let mut slices: Vec<SliceResult> = Vec::new();
    for index in order {
        if interrupt.came() {
            break;
        }
        if let Some(measurement) = measurements.get_mut(index) {
            let slice = measurement.slice(per_slice, begin, &progress, &interrupt);
            slices.push(slice.await?);
        }
    }
    progress.end();
    let results = measurements.into_iter().map(Measurement::result).collect();
    Ok(Report::new(args, &plan.process, results, slices))
}

/// Ctrl-C: measuring ends early, and the results so far are reported. A second one kills.
struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    fn listen() -> Self {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                sender.send_replace(true);
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(130);
                }
            }
        });
        Self(receiver)
    }

    fn came(&self) -> bool {
        *self.0.borrow()
    }

    /// Sleeps until `due` or an interrupt.
    async fn sleep_until(&self, due: std::time::Instant) {
        let mut receiver = self.0.clone();
        let interrupted = async {
            if receiver.wait_for(|came| *came).await.is_err() {
                // signals are not available on this machine
                std::future::pending::<()>().await;
            }
        };
        let _ = tokio::time::timeout_at(due.into(), interrupted).await;
    }
}

/// The transport of each slice: 0 1 1 0 0 1 …, so that a drift of the machine affects both alike.
fn order(transports: usize, slices: u32) -> Vec<usize> {
    (0..slices)
        .flat_map(|round| {
            let forward: Vec<usize> = (0..transports).collect();
            if round % 2 == 0 {
                forward
            } else {
                forward.into_iter().rev().collect()
            }
        })
        .collect()
}

/// A client of the first address.
fn client(args: &LoadArgs, transport: Transport) -> anyhow::Result<Client> {
    let config = args.client_configs(transport).into_iter().next();
    Ok(Client::new(
        transport,
        config.context("there is no address")?,
    )?)
}

/// Deploys over each transport in turn: an unchanged resource makes no new version.
async fn deploy(
    args: &LoadArgs,
    transport: Transport,
    process: &Process,
) -> anyhow::Result<Deployment> {
    let client = client(args, transport)?;
    let policy = RetryPolicy {
        initial: Duration::from_millis(100),
        max: Duration::from_secs(1),
        max_attempts: 12,
    };
    let deployment = policy
        .run(|| client.deploy(&process.resources, None))
        .await
        .with_context(|| format!("deploying {}", process.process_id))?;
    anyhow::ensure!(
        deployment.process_ids().any(|id| id == process.process_id),
        "the server did not deploy the process {:?}",
        process.process_id
    );
    Ok(deployment)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn slices_alternate_in_mirrored_pairs() {
        assert_eq!(order(1, 1), [0]);
        assert_eq!(order(2, 3), [0, 1, 1, 0, 0, 1]);
    }
}
