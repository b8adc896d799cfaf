//! Carries out the steps of a plan, one after another by the clock.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skep_load::Running;
use skep_testbed::Slowness;

use super::offered::Offered;
use super::readers::Readers;
use super::sampler::Sampler;
use super::{Stage, audit, lock};
use crate::drivers::{
    Change, Cluster, are_even, change_way, end, have_partitions, lead_nothing, owners, start_again,
};
use crate::http::{Kept, Rest};
use crate::judge::AT_LEAST;
use crate::plan::{Action, Plan, Rate, Request, SATURATED, Stall, Step, Through, Until, Wire};
use crate::probes::float;
use crate::record::{Event, Kind, Record};

/// Interval between two checks of a condition.
const LOOK: Duration = Duration::from_millis(10);
/// Time limit of a plan's request.
const ANSWER: Duration = Duration::from_secs(20);
/// Time over which rates are measured.
const SECOND: Duration = Duration::from_secs(1);
/// Creations under way at once in a flood: more than a partition accepts.
pub(super) const FLOOD: u32 = 2048;
const MIB: u64 = 1 << 20;

/// The current load.
#[derive(Default)]
struct Loads {
    starters: Option<Running>,
    workers: Option<Running>,
    hung: Option<Running>,
}

/// Carries out all steps, lets instances end, and asks the nodes for the results.
pub(super) async fn carry_out(
    plan: &Plan,
    stage: Arc<Stage>,
    process_id: &str,
    show: &(dyn Fn(&Event) + Sync),
) -> anyhow::Result<Record> {
    let sampler = Sampler::start(&stage);
    let readers = plan
        .has_readers()
        .then(|| Readers::start(&stage, process_id));
    let mut loads = Loads::default();
    for step in &plan.steps {
        tokio::time::sleep(Duration::from_secs_f64(step.after_s)).await;
        stage.note(Kind::Begin, step, step.action.to_string(), show);
        match act(step, &stage, &mut loads).await {
            Ok(said) => stage.note(Kind::Done, step, said, show),
            Err(why) => {
                stage.note(Kind::Unbitten, step, format!("{why:#}"), show);
                if lock(&stage.cluster).is_foreign() {
                    // A cluster of others is not left in a state that nobody has planned.
                    if let Err(why) = on_cluster(&stage, Cluster::heal).await {
                        let text = format!("{why:#}; the guard restores the ways at the end");
                        stage.note(Kind::Unbitten, step, text, show);
                    }
                    break;
                }
            }
        }
    }
    *lock(&stage.rate) = None;
    if let Some(starters) = loads.starters.take() {
        starters.end().await?;
    }
    if let Some(hung) = loads.hung.take() {
        hung.end().await?;
    }
    if loads.workers.is_none() {
        loads.workers = Some(stage.work()?);
    }
    audit::drain(&stage, process_id, Duration::from_secs_f64(plan.drain_s)).await?;
    if let Some(workers) = loads.workers.take() {
        workers.end().await?;
    }
    if let Some(readers) = readers {
        readers.end().await;
    }
    sampler.end().await;
    audit::ask_every_node(&stage, process_id).await?;
    let record = std::mem::take(&mut *lock(&stage.record));
    Ok(record)
}

/// Carries out a step. Returns the text to report once it is done.
async fn act(step: &Step, stage: &Arc<Stage>, loads: &mut Loads) -> anyhow::Result<String> {
    let said = String::new();
    match &step.action {
        Action::Load(_) | Action::Flood(_) | Action::Ramp { .. } => {
            return load(&step.action, stage, loads).await;
        }
        Action::Saturate(wire) => saturate((*wire, SATURATED), stage, loads).await?,
        Action::SaturateWith { wire, instances } => {
            saturate((*wire, *instances), stage, loads).await?;
        }
        Action::StopLoad => {
            *lock(&stage.rate) = None;
            if let Some(starters) = loads.starters.take() {
                starters.end().await?;
            }
        }
        Action::Workers(true) if loads.workers.is_none() => {
            loads.workers = Some(stage.work()?);
        }
        Action::Workers(true) => {}
        Action::Workers(false) => {
            if let Some(workers) = loads.workers.take() {
                workers.end().await?;
            }
        }
        Action::Delivery(delivery) => lock(&stage.reach).delivery = *delivery,
        Action::Through(through) => return choose(through, stage).await,
        Action::HungWorker(true) => {
            let hung = stage.live.hang(&stage.clients(Wire::Grpc)?)?;
            if let Some(before) = loads.hung.replace(hung) {
                before.end().await?;
            }
        }
        Action::HungWorker(false) => {
            if let Some(hung) = loads.hung.take() {
                hung.end().await?;
            }
        }
        Action::Backup { limit_s } => return back_up(step, *limit_s, stage).await,
        Action::Restore { limit_s } => {
            let works = loads.starters.is_some() && loads.workers.is_some();
            return restore(step, *limit_s, works, stage).await;
        }
        Action::Request(request) => return ask(step, request, stage).await,
        Action::Wait { until, limit_s } => return wait(step, until, *limit_s, stage).await,
        fault => {
            let fault = fault.clone();
            return beside_others(stage, move |cluster| break_it(&fault, cluster)).await;
        }
    }
    Ok(said)
}

/// Sets the nodes of clients that start from now on.
async fn choose(through: &Through, stage: &Arc<Stage>) -> anyhow::Result<String> {
    let through = match through {
        Through::Who(who) => {
            let who = *who;
            let node = on_cluster(stage, move |cluster| cluster.find(who)).await?;
            Through::Nodes(vec![node])
        }
        others => others.clone(),
    };
    let chosen = through.to_string();
    lock(&stage.reach).through = through;
    Ok(chosen)
}

/// Starts the load of an action in place of the one before.
async fn load(action: &Action, stage: &Arc<Stage>, loads: &mut Loads) -> anyhow::Result<String> {
    let clients = stage.clients(Wire::Http2)?;
    let constant = |rate: Rate| anyhow::Ok(Offered::constant(per_second(rate, stage)?));
    let live = &stage.live;
    let (starters, offered) = match action {
        Action::Load(rate) => {
            let offered = constant(*rate)?;
            (live.start(&clients, offered.to)?, offered)
        }
        Action::Flood(rate) => {
            let offered = constant(*rate)?;
            (live.flood(&clients, offered.to, FLOOD)?, offered)
        }
        Action::Ramp { from, to, over_s } => {
            let (from, to) = (per_second(*from, stage)?, per_second(*to, stage)?);
            let time = Duration::from_secs_f64(*over_s);
            let starters = live.ramp(&clients, (from, to), time)?;
            (starters, Offered::ramp(from, to, time))
        }
        _ => anyhow::bail!("{action} is no load"),
    };
    if let Some(before) = loads.starters.replace(starters) {
        before.end().await?;
    }
    *lock(&stage.rate) = Some(offered);
    Ok(offered.to_string())
}

/// Keeps so many instances under way in place of the load before.
async fn saturate(
    (wire, instances): (Wire, u32),
    stage: &Arc<Stage>,
    loads: &mut Loads,
) -> anyhow::Result<()> {
    let saturated = stage.live.saturate(&stage.clients(wire)?, instances)?;
    if let Some(before) = loads.starters.replace(saturated) {
        before.end().await?;
    }
    *lock(&stage.rate) = None;
    Ok(())
}

fn per_second(rate: Rate, stage: &Stage) -> anyhow::Result<f64> {
    let rate = match rate {
        Rate::PerSecond(rate) => rate,
        Rate::OfMaximum(share) => {
            let maximum = stage.maximum;
            share * maximum.ok_or_else(|| anyhow::anyhow!("M was not measured"))?
        }
    };
    Ok(rate)
}

/// Changes the cluster by blocking calls.
async fn on_cluster<T: Send + 'static>(
    stage: &Arc<Stage>,
    work: impl FnOnce(&mut Cluster) -> io::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    beside_others(stage, move |cluster| work(&mut lock(cluster))).await
}

/// The same by calls that take minutes, and lock the cluster only when they need it.
async fn beside_others<T: Send + 'static>(
    stage: &Arc<Stage>,
    work: impl FnOnce(&Mutex<Cluster>) -> io::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let stage = Arc::clone(stage);
    let done = tokio::task::spawn_blocking(move || work(&stage.cluster));
    Ok(done.await??)
}

/// Describes how many things were changed; an error if there were none.
fn some(count: usize, noun: &str, what: &str) -> io::Result<String> {
    match count {
        0 => Err(io::Error::other(format!(
            "there is no {noun} that is {what}"
        ))),
        1 => Ok(format!("1 {noun}")),
        count => Ok(format!("{count} {noun}s")),
    }
}

fn break_it(fault: &Action, cluster: &Mutex<Cluster>) -> io::Result<String> {
    match fault {
        Action::Kill(who) | Action::Stop(who) => {
            let number = lock(cluster).find(*who)?;
            end(cluster, number, matches!(fault, Action::Stop(_)))?;
            Ok(format!("node {number}"))
        }
        Action::Start => some(start_again(cluster)?, "node", "down"),
        Action::Slow {
            way,
            delay_ms,
            kib_per_s,
            stall,
        } => {
            let slowness = slowness(*delay_ms, *kib_per_s, *stall);
            change_way(cluster, *way, Change::Slow(slowness)).map(at_the_end)
        }
        Action::Cut(way) => change_way(cluster, *way, Change::Cut).map(at_the_end),
        other => change_one(other, &mut lock(cluster)),
    }
}

/// The node at the end of a way.
fn at_the_end(node: Option<u32>) -> String {
    node.map_or_else(String::new, |node| format!("node {node}"))
}

/// Carries out actions on one node.
fn change_one(action: &Action, cluster: &mut Cluster) -> io::Result<String> {
    let node = match action {
        Action::Pause(who) => {
            let number = cluster.find(*who)?;
            cluster.pause(number)?;
            number
        }
        Action::Replace(who) => {
            let number = cluster.find(*who)?;
            cluster.replace(number)?;
            number
        }
        Action::Fill { who, leave_mib } => {
            let number = cluster.find(*who)?;
            cluster.fill(number, leave_mib * MIB)?;
            number
        }
        Action::FailDisk { who, how } => {
            let number = cluster.find(*who)?;
            cluster.fail_disk(number, *how)?;
            number
        }
        Action::Limit { who, cores } => {
            let number = cluster.find(*who)?;
            cluster.limit(number, *cores)?;
            number
        }
        Action::Memory { node, mib } => {
            cluster.confine(*node, *mib)?;
            *node
        }
        Action::Settings { node, settings } => {
            cluster.set(*node, settings)?;
            *node
        }
        Action::Disk { node, late_ms } => {
            cluster.flush_late(*node, Duration::from_secs_f64(late_ms / 1e3))?;
            *node
        }
        other => return change_all(other, cluster),
    };
    Ok(format!("node {node}"))
}

/// The plan has been checked: numbers fit.
fn slowness(delay_ms: f64, kib_per_s: Option<f64>, stall: Option<Stall>) -> Slowness {
    let time = |millis: f64| Duration::from_secs_f64(millis / 1e3);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a million KiB, and above 0"
    )]
    let bytes_per_second = (kib_per_s.unwrap_or(0.0) * 1024.0) as u32;
    Slowness {
        delay: time(delay_ms),
        bytes_per_second,
        stall: stall
            .map(|it| (time(it.for_ms), time(it.every_ms)))
            .unwrap_or_default(),
    }
}

/// Carries out actions on the cluster as a whole.
fn change_all(action: &Action, cluster: &mut Cluster) -> io::Result<String> {
    match action {
        Action::Scale { partitions, nodes } => cluster.scale(*partitions, *nodes)?,
        Action::CancelChange => return cluster.cancel_change(),
        Action::Hog(cores) => return cluster.hog(*cores),
        Action::Store(state) => cluster.set_store(*state)?,
        Action::Issuer(state) => cluster.set_issuer(*state)?,
        Action::Bucket(state) => cluster.set_bucket(*state)?,
        Action::Heal => cluster.heal()?,
        Action::Erase => return some(cluster.erase()?, "node", "there"),
        Action::Resume => return some(cluster.resume()?, "node", "paused"),
        Action::MendDisks => return some(cluster.mend_disks()?, "disk", "faulty"),
        Action::Free => return some(cluster.free()?, "disk", "filled"),
        // Actions on a node, or on the clients.
        Action::Kill(_)
        | Action::Stop(_)
        | Action::Start
        | Action::Pause(_)
        | Action::Replace(_)
        | Action::Fill { .. }
        | Action::Limit { .. }
        | Action::Memory { .. }
        | Action::Settings { .. }
        | Action::Disk { .. }
        | Action::FailDisk { .. }
        | Action::Slow { .. }
        | Action::Cut(_)
        | Action::Load(_)
        | Action::Ramp { .. }
        | Action::Flood(_)
        | Action::Saturate(_)
        | Action::SaturateWith { .. }
        | Action::StopLoad
        | Action::Workers(_)
        | Action::Delivery(_)
        | Action::HungWorker(_)
        | Action::Through(_)
        | Action::Backup { .. }
        | Action::Restore { .. }
        | Action::Request(_)
        | Action::Wait { .. } => {}
    }
    Ok(String::new())
}

async fn back_up(step: &Step, limit_s: f64, stage: &Arc<Stage>) -> anyhow::Result<String> {
    let backups = lock(&stage.cluster).backups()?;
    let (created, _) = stage.live.ledger().totals;
    let begin = Instant::now();
    let limit = Duration::from_secs_f64(limit_s);
    let bytes = tokio::task::spawn_blocking(move || backups.take(limit)).await??;
    let seconds = begin.elapsed().as_secs_f64();
    let (name, kib) = (&step.name, float(bytes) / 1024.0);
    stage.note_value(format!("{name}.seconds"), seconds);
    if created > 0 {
        let each = kib / float(created);
        stage.note_value(format!("{name}.kib-per-instance"), each);
    }
    Ok(format!("{kib:.0} KiB after {seconds:.2} s"))
}

/// `works`: there are starters and workers, so instances can be completed.
async fn restore(
    step: &Step,
    limit_s: f64,
    works: bool,
    stage: &Arc<Stage>,
) -> anyhow::Result<String> {
    let completed = || stage.live.ledger().totals.1;
    let (begin, before) = (Instant::now(), completed());
    let limit = Duration::from_secs_f64(limit_s);
    let restoring = on_cluster(stage, Cluster::restore).await?;
    tokio::task::spawn_blocking(move || restoring.wait(limit)).await??;
    let copied = begin.elapsed().as_secs_f64();
    beside_others(stage, start_again).await?;
    while works && completed() == before {
        anyhow::ensure!(
            begin.elapsed() < limit,
            "no instance was completed within {limit_s} s"
        );
        tokio::time::sleep(LOOK).await;
    }
    let (name, seconds) = (&step.name, begin.elapsed().as_secs_f64());
    stage.note_values(BTreeMap::from([
        (format!("{name}.copied-seconds"), copied),
        (format!("{name}.seconds"), seconds),
    ]));
    Ok(format!(
        "after {seconds:.2} s, {copied:.2} of them for the data"
    ))
}

async fn ask(step: &Step, request: &Request, stage: &Arc<Stage>) -> anyhow::Result<String> {
    let begin = Instant::now();
    let answer = answer(request, stage).await??;
    let millis = begin.elapsed().as_secs_f64() * 1e3;
    let name = &step.name;
    stage.note_values(BTreeMap::from([
        (
            format!("{name}.right"),
            f64::from(u8::from(answer.is_right(request))),
        ),
        (format!("{name}.ms"), millis),
    ]));
    let without = if answer.says(request) {
        String::new()
    } else {
        format!(" and does not say {:?}", request.says)
    };
    Ok(format!("{}{without} after {millis:.0} ms", answer.status))
}

/// Answer of a node.
struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn says(&self, request: &Request) -> bool {
        self.body.contains(&request.says)
    }

    fn is_right(&self, request: &Request) -> bool {
        self.status == request.status && self.says(request)
    }
}

/// The API that a request goes to.
fn asked_of(request: &Request, stage: &Stage) -> Option<Rest> {
    let cluster = lock(&stage.cluster);
    let mut nodes = cluster.nodes().iter().zip(cluster.rests());
    let (node, rest) = nodes.find(|(node, _)| node.number == request.node)?;
    if !request.management {
        return Some(rest);
    }
    Some(cluster.management(node))
}

async fn answer(request: &Request, stage: &Arc<Stage>) -> anyhow::Result<io::Result<Answer>> {
    let rest = asked_of(request, stage);
    let rest = rest.ok_or_else(|| anyhow::anyhow!("there is no node {}", request.node))?;
    let request = request.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let (method, path) = (&request.method, &request.path);
        let (status, body) = rest.ask(method, path, &request.body, ANSWER)?;
        Ok(Answer { status, body })
    });
    Ok(asked.await?)
}

async fn wait(
    step: &Step,
    until: &Until,
    limit_s: f64,
    stage: &Arc<Stage>,
) -> anyhow::Result<String> {
    let begin = Instant::now();
    let limit = Duration::from_secs_f64(limit_s);
    let name = &step.name;
    let mut seen = Watched::begin(stage);
    if let Until::OpenAtMost(_) = until {
        note_backlog(name, stage, seen.open);
    }
    while !seen.holds(until, stage).await? {
        let waited = begin.elapsed();
        if waited >= limit {
            let least = format!("{name}.seconds{AT_LEAST}");
            stage.note_value(least, waited.as_secs_f64());
            anyhow::bail!("it did not come within {limit_s} s that {until}");
        }
        tokio::time::sleep(LOOK).await;
    }
    let seconds = begin.elapsed().as_secs_f64();
    stage.note_value(format!("{name}.seconds"), seconds);
    Ok(format!("after {seconds:.2} s"))
}

fn note_backlog(name: &str, stage: &Stage, backlog: f64) {
    stage.note_value(format!("{name}.backlog"), backlog);
    let spare = stage
        .maximum
        .map(|maximum| maximum - stage.rate().unwrap_or(0.0));
    if let Some(spare) = spare.filter(|spare| *spare > 0.0) {
        stage.note_value(format!("{name}.ideal-seconds"), backlog / spare);
    }
}

/// State of the clients when the wait began.
struct Watched {
    created: u64,
    open: f64,
    /// Samples of the last second: time, created and completed instances.
    second: VecDeque<(Instant, u64, u64)>,
    /// Connections to all nodes but gateways, once they were asked.
    nodes: Vec<Kept>,
}

fn every_broker(stage: &Stage) -> Vec<Kept> {
    let rests = lock(&stage.cluster).rests_of_brokers();
    rests.into_iter().map(Kept::to).collect()
}

impl Watched {
    fn begin(stage: &Stage) -> Self {
        let ledger = stage.live.ledger();
        let (created, completed) = ledger.totals;
        Self {
            created,
            open: float(u64::try_from(ledger.open()).unwrap_or(u64::MAX)),
            second: VecDeque::from([(Instant::now(), created, completed)]),
            nodes: Vec::new(),
        }
    }

    /// Instances created and completed per second, over the last second; `None` until the first second is over.
    fn per_second(&mut self, now: (Instant, u64, u64)) -> Option<(f64, f64)> {
        let mut over = None;
        while let Some(look) = self.second.front() {
            if now.0.saturating_duration_since(look.0) < SECOND {
                break;
            }
            over = self.second.pop_front();
        }
        self.second.push_back(now);
        let (at, created, completed) = over?;
        self.second.push_front((at, created, completed));
        let seconds = now.0.saturating_duration_since(at).as_secs_f64();
        Some((
            float(now.1 - created) / seconds,
            float(now.2 - completed) / seconds,
        ))
    }

    async fn holds(&mut self, until: &Until, stage: &Arc<Stage>) -> anyhow::Result<bool> {
        let ((created, completed), open) = {
            let ledger = stage.live.ledger();
            (ledger.totals, ledger.open())
        };
        Ok(match until {
            Until::Created(count) => created - self.created >= *count,
            Until::OpenAtMost(most) => float(u64::try_from(open).unwrap_or(u64::MAX)) <= *most,
            Until::RateIs(share) | Until::CompletionIs(share) => {
                let wanted = stage.rate().unwrap_or(0.0) * share;
                let rates = self.per_second((Instant::now(), created, completed));
                rates.is_some_and(|(creations, completions)| match until {
                    Until::RateIs(_) => creations >= wanted,
                    _ => completions >= wanted,
                })
            }
            Until::Answer(request) => {
                let answer = answer(request, stage).await?;
                answer.is_ok_and(|answer| answer.is_right(request))
            }
            Until::Log { node, says } => {
                let (node, says) = (*node, says.clone());
                on_cluster(stage, move |cluster| cluster.has_said(node, &says)).await?
            }
            Until::Status { who, says } => {
                let (who, says) = (*who, says.clone());
                let asked = on_cluster(stage, move |cluster| cluster.status_of(who)).await?;
                let answer = tokio::task::spawn_blocking(move || asked.answer()).await??;
                answer.contains(&says)
            }
            Until::Partitions(count) => {
                let count = *count;
                let members = lock(&stage.cluster).management_of_members();
                tokio::task::spawn_blocking(move || have_partitions(&members, count)).await?
            }
            Until::Owned => {
                let (started, members) = {
                    let cluster = lock(&stage.cluster);
                    (cluster.management_of_started(), cluster.members())
                };
                let owners = tokio::task::spawn_blocking(move || owners(&started)).await?;
                members.is_some_and(|members| owners.len() >= members)
            }
            Until::Relieved => {
                let faulty = lock(&stage.cluster).faulty();
                anyhow::ensure!(!faulty.is_empty(), "no disk fails");
                tokio::task::spawn_blocking(move || lead_nothing(&faulty)).await?
            }
            Until::Even => {
                let members = lock(&stage.cluster).members();
                let mut nodes = match std::mem::take(&mut self.nodes) {
                    nodes if nodes.is_empty() => every_broker(stage),
                    nodes => nodes,
                };
                let asked = tokio::task::spawn_blocking(move || {
                    let are_even = are_even(&mut nodes, members);
                    (are_even, nodes)
                });
                let (are_even, nodes) = asked.await?;
                self.nodes = nodes;
                are_even
            }
        })
    }
}
