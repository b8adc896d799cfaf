//! M: the sustainable number of instances per second of the nodes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use skep_load::{Clients, LoadArgs};

use super::deployed::{Deletion, Deployed};
use super::process;
use crate::plan::SATURATED;
use crate::probes::{Nodes, Seen};

/// Time for which the nodes are saturated.
const LONG: Duration = Duration::from_secs(9);

const EXPORTED: &str = "zeebe_exporter_last_exported_position";
const STEP: Duration = Duration::from_millis(250);
/// Exporters that have exported nothing for this long have caught up.
const STILL: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures M by running instances in a closed loop. Exporters defer some of their work while the nodes are busy, so the time that they
/// need afterwards counts as well.
pub async fn maximum(
    args: LoadArgs,
    clients: &Clients,
    nodes: Vec<Seen>,
    id: &str,
    deletion: Option<&Deletion>,
) -> anyhow::Result<f64> {
    let process = process(&format!("{id}-maximum"));
    let deployed = Deployed::new(args, process, deletion).await?;
    let live = deployed.live();
    let begin = Instant::now();
    let running = live.saturate(clients, SATURATED)?;
    tokio::time::sleep(LONG).await;
    let completed = live.ledger().totals.1;
    let loaded = begin.elapsed();
    running.end().await?;
    let put_off = tokio::task::spawn_blocking(move || until_exported(&nodes)).await?;
    let deleted = deployed.delete().await;
    deleted.context("deleting what was deployed")?;
    let seconds = (loaded + put_off).as_secs_f64();
    anyhow::ensure!(completed > 0, "no instance completed in {seconds:.0} s");
    Ok(crate::probes::float(completed) / seconds)
}

/// Waits until nothing more is exported. Returns how long exporting continued.
fn until_exported(nodes: &[Seen]) -> Duration {
    let begin = Instant::now();
    let (mut last, mut grew) = (None, begin);
    let mut probe = Nodes::default();
    while grew.elapsed() < STILL && begin.elapsed() < PATIENCE {
        let mut values = BTreeMap::new();
        probe.look(nodes, &mut values);
        let exported = values.get(EXPORTED).copied();
        if exported.is_some() && exported != last {
            (last, grew) = (exported, Instant::now());
        }
        std::thread::sleep(STEP);
    }
    grew.saturating_duration_since(begin)
}
