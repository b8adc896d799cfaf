//! A run: prepares machine and cluster, carries out the steps by the clock while probes sample, and undoes everything.

mod audit;
mod deployed;
mod maximum;
mod offered;
mod reach;
mod readers;
mod sampler;
mod steps;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use skep_client::Authorization;
use skep_load::args::{HttpArg, JobsArg};
use skep_load::process::{Process, named};
use skep_load::{Clients, Live, LoadArgs, Running};

use crate::drivers::{
    Cluster, Confined, Kubernetes, Launcher, Others, PATIENCE, SharedGuard, are_even,
    check_against, data_of_nodes, missing,
};
use crate::guard::Guard;
use crate::http::{Kept, Rest};
use crate::judge::{FLUSH_MS, FOREIGN_SETTINGS, NOISY};
use crate::plan::{self, Plan, Step, Wire};
use crate::probes::{Calibration, Seen, calibrate, float};
use crate::record::{Event, Kind, Record, Sample};
use crate::report::{About, Report};
use deployed::{Deletion, Deployed};
use offered::Offered;
use reach::Reach;

/// Time limit for the nodes' first start.
const READY: Duration = Duration::from_secs(120);

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `skep` program of the nodes, and the engine that runs it in containers, if one does.
    pub launcher: Launcher,
    /// The command that calls [`crate::guard::serve`]; its time limit in seconds is appended.
    pub guard: Vec<String>,
    /// The command that deletes resources of a foreign cluster (`skep delete`, with its login); `--address URL` and keys are appended.
    pub delete: Vec<String>,
    /// Directory for the report, the logs and, during the run, the nodes' data. Must not contain a report already.
    pub directory: PathBuf,
    /// A foreign cluster: load is put on it, and nothing is broken.
    pub against: Option<Others>,
    /// The pods of a foreign cluster, and the faults that are allowed there.
    pub pods: Option<Kubernetes>,
    /// Credentials for a foreign cluster.
    pub authorization: Option<Authorization>,
    /// Judge speed even on a machine that has other work.
    pub noisy: bool,
    /// The command line, for the report.
    pub command: String,
}

impl Options {
    /// Whether the run does not start its nodes.
    fn is_foreign(&self) -> bool {
        self.against.is_some() || self.pods.is_some()
    }

    /// The file with the authorities that clients trust.
    fn authorities(&self) -> Option<PathBuf> {
        self.against.as_ref()?.authorities.clone()
    }
}

/// State shared by all parts of a run.
pub(crate) struct Stage {
    cluster: Arc<Mutex<Cluster>>,
    live: Arc<Live>,
    record: Arc<Mutex<Record>>,
    begin: Instant,
    /// The current rate.
    rate: Mutex<Option<Offered>>,
    reach: Mutex<Reach>,
    /// M, where it was measured.
    maximum: Option<f64>,
}

pub(crate) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Records values that are measured once.
    fn note_values(&self, values: BTreeMap<String, f64>) {
        let at = self.now();
        lock(&self.record).samples.push(Sample { at, values });
    }

    fn note_value(&self, name: String, value: f64) {
        self.note_values(BTreeMap::from([(name, value)]));
    }

    /// Records what is known before the first step. `foreign` is the number of settings that the cluster may have otherwise.
    fn note_beforehand(&self, foreign: usize) {
        let foreign = float(u64::try_from(foreign).unwrap_or(u64::MAX));
        self.note_value(FOREIGN_SETTINGS.into(), foreign);
        if let Some(maximum) = self.maximum {
            self.note_value("machine.maximum-per-s".into(), maximum);
            // Waiting time of the last request in a full flood.
            let queue = f64::from(steps::FLOOD) / maximum * 1000.0;
            self.note_value("machine.queue-ms".into(), queue);
        }
    }

    fn note(&self, kind: Kind, step: &Step, text: String, show: &dyn Fn(&Event)) {
        let event = Event {
            at: self.now(),
            kind,
            step: step.name.clone(),
            text,
        };
        show(&event);
        lock(&self.record).events.push(event);
    }

    /// Starts workers, which reach the nodes over their ways.
    fn work(&self) -> anyhow::Result<Running> {
        let clients = lock(&self.reach).workers(&lock(&self.cluster))?;
        self.live.work(&clients)
    }

    /// Starters over this wire, and workers that come with them.
    fn clients(&self, wire: Wire) -> io::Result<Clients> {
        lock(&self.reach).clients(wire, &lock(&self.cluster))
    }

    /// Instances per second that are offered now.
    fn rate(&self) -> Option<f64> {
        let offered = *lock(&self.rate);
        offered.map(|offered| offered.at(Instant::now()))
    }
}

/// Runs a plan and judges it; `show` is informed of events as they happen. Measurements go to the directory named in the options. A step
/// that fails, a cluster that does not serve and a process that cannot be deployed are results, not errors.
///
/// # Errors
/// The directory cannot be written to, the machine cannot be measured, the guard cannot be started, or not everything could be undone.
pub async fn run(
    plan: Plan,
    options: Options,
    show: &(dyn Fn(&Event) + Sync),
) -> anyhow::Result<Report> {
    let directory = prepare(&plan, &options)?;
    if let Some(why) = lack(&plan, &options).await? {
        let report = not_run(plan, &options, &why);
        report.write(&directory)?;
        return Ok(report);
    }
    let calibration = calibrate(&directory).context("measuring the machine")?;
    let guard = start_guard(&plan, &options)?;
    let guarded = guard.clone();
    let ran = on_stage(&plan, &options, &directory, guard, calibration, show).await;
    // Even after a failure, and before anybody is informed of it.
    let undone = tokio::task::spawn_blocking(move || guarded.with(Guard::end)).await?;
    let (mut record, maximum) = ran.unwrap_or_else(|why| (unbitten(&format!("{why:#}")), None));
    let noise = calibration.noise();
    let values = BTreeMap::from([
        (FLUSH_MS.to_string(), calibration.flush_p99_ms),
        ("machine.idle-before".to_string(), calibration.idle),
        (NOISY.to_string(), f64::from(u8::from(noise.is_some()))),
    ]);
    record.samples.insert(0, Sample { at: 0.0, values });
    let about = About::new(&options.command, noise, options.noisy, maximum);
    let report = Report::new(plan, record, about);
    report.write(&directory)?;
    undone.context("undoing what the run did")?;
    Ok(report)
}

/// What the machine, or the cluster of others, lacks for this plan and its nodes.
async fn lack(plan: &Plan, options: &Options) -> anyhow::Result<Option<String>> {
    if let Some(pods) = options.pods.clone() {
        let plan = plan.clone();
        // While `kubectl` is waited for, signals are heeded.
        return Ok(tokio::task::spawn_blocking(move || pods.lack(&plan)).await?);
    }
    let missing = || missing(plan).map(String::from);
    Ok(options.launcher.lack(plan).or_else(missing))
}

/// The report of a plan that was not run.
fn not_run(plan: Plan, options: &Options, why: &str) -> Report {
    let about = About::new(&options.command, None, options.noisy, None);
    Report::new(plan, unbitten(why), about)
}

/// The record of a run without any step.
fn unbitten(why: &str) -> Record {
    Record {
        events: vec![of_no_step(0.0, Kind::Unbitten, why.into())],
        ..Record::default()
    }
}

/// What was measured until an error.
fn broken_off(measured: &Mutex<Record>, why: &anyhow::Error) -> Record {
    let mut record = std::mem::take(&mut *lock(measured));
    let at = record.samples.last().map_or(0.0, |sample| sample.at);
    let text = format!("the run broke off: {why:#}");
    record.events.push(of_no_step(at, Kind::Unbitten, text));
    record
}

fn of_no_step(at: f64, kind: Kind, text: String) -> Event {
    Event {
        at,
        kind,
        step: String::new(),
        text,
    }
}

fn prepare(plan: &Plan, options: &Options) -> anyhow::Result<PathBuf> {
    if let Some(others) = &options.against {
        check_against(plan, others)?;
    }
    if let Some(pods) = &options.pods {
        pods.check(plan)?;
    }
    let directory = &options.directory;
    let named = || format!("the directory of the report, {}", directory.display());
    std::fs::create_dir_all(directory).with_context(named)?;
    anyhow::ensure!(
        !Report::is_in(directory),
        "{} has a report already; name another directory with --report",
        directory.display()
    );
    let data = data_of_nodes(directory);
    anyhow::ensure!(
        options.is_foreign() || !data.exists(),
        "{} exists, and would be deleted with the nodes of the run; name another directory with --report",
        data.display()
    );
    directory.canonicalize().with_context(named)
}

fn start_guard(plan: &Plan, options: &Options) -> anyhow::Result<SharedGuard> {
    let (longest, _) = plan.lengths();
    // Twice the maximum duration: a run that takes longer is stuck.
    let seconds = longest * 2.0 + 600.0;
    let mut command = options.guard.clone();
    command.push(format!("{seconds:.0}"));
    let guard = Guard::start(&command).context("starting the guard process")?;
    Ok(SharedGuard::new(guard))
}

/// The nodes: those of others, or new ones.
fn cluster(
    plan: &Plan,
    options: &Options,
    directory: &Path,
    guard: SharedGuard,
) -> anyhow::Result<Cluster> {
    let launcher = &options.launcher;
    if let Some(pods) = &options.pods {
        let found = Cluster::in_kubernetes(pods, plan, launcher, directory, &guard);
        let found = found.context("reaching the pods")?;
        return Ok(found.logged_in(options.authorization.clone()));
    }
    if let Some(others) = &options.against {
        let cluster = Cluster::of_others(others).context("reaching the cluster")?;
        return Ok(cluster.logged_in(options.authorization.clone()));
    }
    let network = plan.network();
    let started = Cluster::start(&plan.nodes, network, launcher, directory.into(), guard);
    started.context("starting the nodes")
}

/// The settings of the plan that the cluster may have otherwise.
fn foreign_settings<'p>(plan: &'p Plan, options: &Options) -> Vec<&'p str> {
    if !options.is_foreign() {
        return Vec::new();
    }
    plan.nodes.settings.keys().map(String::as_str).collect()
}

/// Differences from the plan, since the cluster is another one.
fn differences(foreign: &[&str]) -> Option<String> {
    (!foreign.is_empty()).then(|| {
        format!(
            "the cluster has its own settings, and not those of the plan ({})",
            foreign.join(", ")
        )
    })
}

async fn on_stage(
    plan: &Plan,
    options: &Options,
    directory: &Path,
    guard: SharedGuard,
    calibration: Calibration,
    show: &(dyn Fn(&Event) + Sync),
) -> anyhow::Result<(Record, Option<f64>)> {
    let deletion = Deletion::at(options, &guard);
    let cluster = attached(plan, options, directory, guard).await?;
    let _confined = Confined::beside(&plan.nodes).context("cores of the clients")?;
    let addresses = cluster.rest_addresses().join(",");
    let load = LoadArgs {
        authorization: cluster.authorization(),
        authorities: options.authorities(),
        ..load(&addresses)
    };
    let cluster = Arc::new(Mutex::new(cluster));
    wait_until_ready(&cluster, directory, options.against.is_some()).await?;
    if let Some(why) = unfit(&cluster, plan).await? {
        return Ok((unbitten(&why), None));
    }
    let silent = without_metrics(&cluster).await?;
    let id = format!("{}-{}", plan.name, std::process::id());
    let maximum = if plan.needs_maximum() {
        let measured = measure_maximum(&cluster, load.clone(), &id, deletion.as_ref()).await;
        Some(measured.context("measuring M")?)
    } else {
        None
    };
    let args = LoadArgs {
        find: plan.looks_for_instances(),
        ..load
    };
    let deployed = Deployed::new(args, process(&id), deletion.as_ref()).await?;
    deployed.live().audit(&plan.words);
    let stage = Stage {
        cluster,
        live: deployed.live(),
        record: Arc::default(),
        begin: Instant::now(),
        rate: Mutex::new(None),
        reach: Mutex::default(),
        maximum,
    };
    let foreign = foreign_settings(plan, options);
    stage.note_beforehand(foreign.len());
    let described = Some(described(calibration, maximum));
    let said = described.into_iter().chain(differences(&foreign));
    for text in said.chain(silent) {
        show(&of_no_step(0.0, Kind::Note, text));
    }
    let measured = Arc::clone(&stage.record);
    let ran = steps::carry_out(plan, Arc::new(stage), &process(&id).process_id, show).await;
    let deleted = deployed.delete().await;
    let mut record = ran.unwrap_or_else(|why| broken_off(&measured, &why));
    if let Err(why) = deleted {
        let at = record.events.last().map_or(0.0, |event| event.at);
        let text = format!("what was deployed is still there, and the guard deletes it: {why:#}");
        let event = of_no_step(at, Kind::Note, text);
        show(&event);
        record.events.push(event);
    }
    Ok((record, maximum))
}

/// The cluster, made by [`cluster`]. While `kubectl` is waited for, signals are heeded.
async fn attached(
    plan: &Plan,
    options: &Options,
    directory: &Path,
    guard: SharedGuard,
) -> anyhow::Result<Cluster> {
    if options.pods.is_none() {
        return cluster(plan, options, directory, guard);
    }
    let (plan, options) = (plan.clone(), options.clone());
    let directory = directory.to_path_buf();
    let made = move || cluster(&plan, &options, &directory, guard);
    tokio::task::spawn_blocking(made).await?
}

async fn unfit(cluster: &Arc<Mutex<Cluster>>, plan: &Plan) -> anyhow::Result<Option<String>> {
    let (cluster, plan) = (Arc::clone(cluster), plan.clone());
    let why = tokio::task::spawn_blocking(move || lock(&cluster).unfit(&plan));
    Ok(why.await??)
}

async fn measure_maximum(
    cluster: &Mutex<Cluster>,
    load: LoadArgs,
    id: &str,
    deletion: Option<&Deletion>,
) -> anyhow::Result<f64> {
    let nodes = {
        let cluster = lock(cluster);
        let nodes = cluster.nodes().iter();
        nodes.map(|node| Seen::of(&cluster, node)).collect()
    };
    let clients = Reach::default().clients(Wire::Http2, &lock(cluster))?;
    maximum::maximum(load, &clients, nodes, id, deletion).await
}

fn described(calibration: Calibration, maximum: Option<f64>) -> String {
    let maximum = maximum.map_or_else(String::new, |it| format!(", M {it:.0} instances/s"));
    format!(
        "machine: {:.0} % idle, flush p99 {:.2} ms{maximum}",
        calibration.idle * 100.0,
        calibration.flush_p99_ms
    )
}

/// The process that instances run: one task, with names unique to this run.
fn process(id: &str) -> Process {
    let name = format!("skep-chaos-{id}");
    named(name.clone(), &name, 1)
}

fn load(addresses: &str) -> LoadArgs {
    LoadArgs {
        rest_address: Some(addresses.into()),
        http: HttpArg::Two,
        jobs: JobsArg::Push,
        concurrency: plan::SATURATED,
        workers: 1,
        // A job in flight to a node or worker that has ended must return soon.
        job_timeout: Duration::from_secs(15),
        request_timeout: Duration::from_secs(15),
        ..LoadArgs::default()
    }
}

/// Why a foreign cluster does not let the run in: it requires a login, is not trusted, is none, or does not answer.
async fn denied(cluster: &Arc<Mutex<Cluster>>) -> anyhow::Result<Option<io::Error>> {
    let cluster = Arc::clone(cluster);
    let asked = tokio::task::spawn_blocking(move || {
        let cluster = lock(&cluster);
        if !cluster.is_foreign() {
            return None;
        }
        cluster.topology().err()
    });
    Ok(asked.await?)
}

/// Says that a foreign cluster gives no metrics, if so: otherwise one would wonder why so much is NOT RUN.
async fn without_metrics(cluster: &Arc<Mutex<Cluster>>) -> anyhow::Result<Option<String>> {
    let cluster = Arc::clone(cluster);
    let asked = tokio::task::spawn_blocking(move || {
        let ports: Vec<Rest> = {
            let cluster = lock(&cluster);
            let nodes = cluster.nodes().iter().filter(|_| cluster.is_foreign());
            nodes.map(|node| cluster.management(node)).collect()
        };
        ports.iter().find_map(|port| {
            let answer = port.ask("GET", "/actuator/prometheus", "", PATIENCE);
            let why = match answer {
                Ok((200, _)) => return None,
                Ok((status, _)) => format!("{}: {status}", port.address),
                Err(why) => why.to_string(),
            };
            Some(format!(
                "the management port gives no metrics ({why}): what depends on them is NOT RUN"
            ))
        })
    });
    Ok(asked.await?)
}

/// `is_up`: somebody else has started the cluster, and nobody is about to.
async fn wait_until_ready(
    cluster: &Arc<Mutex<Cluster>>,
    directory: &Path,
    is_up: bool,
) -> anyhow::Result<()> {
    match denied(cluster).await? {
        Some(why) if why.kind() == io::ErrorKind::PermissionDenied => anyhow::bail!(
            "{why}: the cluster requires a login; give that of a user who may deploy, start and search processes, as for other commands (--user)"
        ),
        Some(why) if is_up || why.kind() == io::ErrorKind::InvalidData => {
            let at = lock(cluster).rest_addresses().join(", ");
            return Err(anyhow::Error::new(why).context(format!("no cluster answers at {at}")));
        }
        _ => {}
    }
    let end = Instant::now() + READY;
    loop {
        let (rests, members, died) = {
            let mut cluster = lock(cluster);
            (
                cluster.rests_of_brokers(),
                cluster.members(),
                cluster.died(),
            )
        };
        let are_ready = move || {
            let nodes = rests.into_iter().map(Kept::to);
            are_even(&mut nodes.collect::<Vec<Kept>>(), members)
        };
        if tokio::task::spawn_blocking(are_ready).await? {
            return Ok(());
        }
        anyhow::ensure!(
            died.nodes == 0,
            "a node ended while it started; {} has the logs",
            directory.display()
        );
        anyhow::ensure!(
            Instant::now() < end,
            "the cluster does not serve {} s after its start",
            READY.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;
    use crate::http::fake;

    /// An error at the end of a day must not throw the day away.
    #[test]
    fn a_run_that_broke_off_keeps_what_it_has_measured_and_is_not_run() {
        let plan = (experiments::find("worker-outage").unwrap().plan)(false);
        let sample = |at: f64| Sample {
            at,
            values: BTreeMap::from([("nodes-died".to_string(), 0.0)]),
        };
        let measured = Mutex::new(Record {
            samples: vec![sample(1.0), sample(2.0)],
            ..Record::default()
        });
        let record = broken_off(&measured, &anyhow::anyhow!("a thread failed"));
        assert_eq!(record.samples.len(), 2);
        let about = About::new("skep chaos worker-outage", None, true, None);
        let report = Report::new(plan, record, about);
        assert_eq!(report.outcome.exit_code(), 3);
        let said = report.to_text();
        let headline = "worker-outage: NOT RUN (the run broke off: a thread failed)";
        assert!(said.starts_with(headline), "{said}");
    }

    #[tokio::test]
    async fn a_foreign_cluster_that_is_not_there_is_not_waited_for() {
        let closed = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        };
        let others = Others::at(&closed, None, None).unwrap();
        let cluster = Arc::new(Mutex::new(Cluster::of_others(&others).unwrap()));
        let began = Instant::now();
        let refused = wait_until_ready(&cluster, Path::new(""), true).await;
        let said = format!("{:#}", refused.unwrap_err());
        let expected = format!("no cluster answers at {closed}: ");
        assert!(said.starts_with(&expected), "{said}");
        assert!(began.elapsed() < READY / 2, "{said}");
    }

    #[test]
    fn a_foreign_cluster_without_metrics_is_said_to_have_none() {
        let silent = |management: &str| {
            let others = Others::at("127.0.0.1", None, Some(management)).unwrap();
            let cluster = Arc::new(Mutex::new(Cluster::of_others(&others).unwrap()));
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(without_metrics(&cluster)).unwrap()
        };
        let address = fake::serve(1, |_, _| "up 1\n".into());
        assert_eq!(silent(&address), None);
        // Nobody listens there any more.
        let closed = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().to_string()
        };
        let said = silent(&closed).unwrap();
        assert!(said.contains(&closed) && said.contains("NOT RUN"), "{said}");
    }

    #[test]
    fn the_settings_of_a_plan_are_foreign_to_a_cluster_that_the_run_has_not_started() {
        let plan = (experiments::find("gateway-skew").unwrap().plan)(false);
        let mut options = Options {
            launcher: Launcher::of("skep".into()),
            guard: Vec::new(),
            delete: Vec::new(),
            directory: PathBuf::new(),
            against: None,
            pods: None,
            authorization: None,
            noisy: false,
            command: String::new(),
        };
        assert_eq!(foreign_settings(&plan, &options), [""; 0]);
        options.against = Others::at("example.org", None, None).ok();
        let foreign = foreign_settings(&plan, &options);
        assert_eq!(foreign, ["skep.api.max-connection-age"]);
    }
}
