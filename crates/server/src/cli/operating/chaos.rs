//! `skep chaos`: breaks a cluster on purpose and judges a hypothesis.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use skep_chaos::drivers::{
    Allowed, Engine, Kubernetes, Launcher, Need, Others, Refused, check_against, data_of_nodes,
};
use skep_chaos::{Options, Plan, Report, experiments, guard, judge, report};
use skep_client::Authorization;

use crate::cli::near::nearest;
use crate::cli::{Usage, fetch, login};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ChaosArgs {
    #[command(subcommand)]
    command: Option<ChaosCommand>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Subcommand)]
enum ChaosCommand {
    /// List the experiments, their durations, and which of them this machine can run.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the plan of an experiment as YAML, to copy and change.
    Show {
        /// Name of the experiment.
        name: String,
        /// Print the plan of a full run.
        #[arg(long)]
        full: bool,
        /// Print it with the faults of this seed.
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
    /// Judge a run again and print its report, or those of two runs side by side.
    Report {
        /// One or two directories with a report.
        #[arg(required = true, num_args = 1..=2, value_name = "DIRECTORY")]
        directories: Vec<PathBuf>,
        /// Output format.
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Undo what a run that is gone has left; started by each run.
    #[command(hide = true)]
    Guard {
        /// Then it is undone in any case.
        seconds: u64,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Html,
    Json,
}

#[derive(Args)]
struct RunArgs {
    /// Names of experiments, or files with plans (FILE.yaml).
    #[arg(required = true, value_name = "EXPERIMENT", num_args = 1..)]
    what: Vec<String>,
    /// Run for as long as the published chaos day, instead of some minutes.
    #[arg(long)]
    full: bool,
    /// Inject the faults at other times and into other leaders: the same ones for the same number.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Directory for the report, samples, events and logs; with several experiments, each has its own below it [default: chaos-NAME-TIME].
    #[arg(long, value_name = "DIRECTORY")]
    report: Option<PathBuf>,
    /// Judge speed even if the machine has other work.
    #[arg(long)]
    noisy: bool,
    /// Kind of nodes: `process`, processes on this machine, `container`, containers on it, or `kubernetes`, the pods of an existing cluster.
    #[arg(long, value_name = "DRIVER", default_value = "process", value_parser = driver)]
    driver: Driver,
    /// Network of the nodes: `loopback`, with proxies where a plan cuts or slows a way, or `namespace`, a network of the run's own, as root.
    #[arg(long, value_name = "NETWORK", value_enum, default_value = "loopback")]
    net: Net,
    /// Program of the container engine, or `kubectl` [default: docker, or podman if that answers and docker does not].
    #[arg(long, value_name = "PROGRAM")]
    engine: Option<String>,
    /// Image of the containers, or of the pod that tries whether ways can be cut [default: skep with the version of this program; the
    /// brokers' own].
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    #[command(flatten)]
    others: OthersArgs,
    #[command(flatten)]
    pods: PodsArgs,
}

/// An existing cluster that only gets load.
#[derive(Args)]
struct OthersArgs {
    /// An existing cluster: it gets load, and no faults are injected. The address of its REST API: a host, HOST:PORT, or a URL as
    /// https://HOST:PORT.
    #[arg(long, value_name = "ADDRESS")]
    against: Option<String>,
    /// With --against: address of its gRPC API, if that is not port 26500 of the same host.
    #[arg(long, value_name = "ADDRESS", requires = "against")]
    grpc_address: Option<String>,
    /// With --against: address of its management port, if that is not port 9600 of the same host.
    #[arg(long, value_name = "ADDRESS", requires = "against")]
    management_address: Option<String>,
}

/// Which pods, and what may be done to them.
#[derive(Args)]
struct PodsArgs {
    /// Context of `kubectl`, for the driver `kubernetes`.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the pods.
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Labels of the brokers' pods, by default `app.kubernetes.io/component=broker`.
    #[arg(long, value_name = "LABELS")]
    selector: Option<String>,
    /// Faults that are allowed, separated by commas: `kill`, `limit`, `cut`; and `majority`, to hit more than a minority of the brokers at
    /// once.
    #[arg(long, value_name = "FAULTS", value_delimiter = ',')]
    allow: Vec<Allowed>,
    /// Do not ask for the namespace again before faults are injected.
    #[arg(long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Net {
    Loopback,
    Namespace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Process,
    Container,
    Kubernetes,
}

fn driver(name: &str) -> Result<Driver, String> {
    match name {
        "process" => Ok(Driver::Process),
        "container" => Ok(Driver::Container),
        "kubernetes" => Ok(Driver::Kubernetes),
        _ => Err("the drivers are `process`, `container` and `kubernetes`".into()),
    }
}

/// The engine that runs the nodes in containers, if they are to be in some.
fn engine(args: &RunArgs) -> anyhow::Result<Option<Engine>> {
    let image = args.image.as_deref();
    let own = concat!("skep:", env!("CARGO_PKG_VERSION"));
    let starts = args.driver == Driver::Container || args.net == Net::Namespace;
    if args.others.against.is_some() && starts {
        let text = "--against loads nodes that are there: omit --driver container and --net namespace, which are about nodes that a run starts";
        return Err(Usage(text.into()).into());
    }
    match args.driver {
        Driver::Container | Driver::Kubernetes if args.net == Net::Namespace => {
            let text = "containers and pods have a network already: --net namespace needs --driver process";
            Err(Usage(text.into()).into())
        }
        Driver::Container => {
            let program = args.engine.as_deref();
            Ok(Some(Engine::new(program, image.unwrap_or(own))))
        }
        Driver::Process if args.engine.is_some() || image.is_some() => {
            let text = "--engine and --image are about containers and pods: add --driver container or --driver kubernetes";
            Err(Usage(text.into()).into())
        }
        Driver::Process | Driver::Kubernetes => Ok(None),
    }
}

/// Labels of the brokers' pods, as the Helm chart has them.
const BROKERS: &str = "app.kubernetes.io/component=broker";

/// The pods that get the load, if they are to be used.
fn pods(args: &RunArgs) -> anyhow::Result<Option<Kubernetes>> {
    let given = &args.pods;
    if args.driver != Driver::Kubernetes {
        let named = [&given.context, &given.namespace, &given.selector];
        if named.into_iter().any(Option::is_some) || !given.allow.is_empty() || given.yes {
            let text = "--context, --namespace, --selector, --allow and --yes are about pods: add --driver kubernetes";
            return Err(Usage(text.into()).into());
        }
        return Ok(None);
    }
    if args.others.against.is_some() {
        let text = "--driver kubernetes finds the cluster by its pods: omit --against";
        return Err(Usage(text.into()).into());
    }
    let (Some(context), Some(namespace)) = (&given.context, &given.namespace) else {
        let text =
            "--driver kubernetes needs --context and --namespace, so that no other cluster is hit";
        return Err(Usage(text.into()).into());
    };
    let kubectl = args.engine.as_deref().unwrap_or("kubectl");
    Ok(Some(Kubernetes {
        kubectl: kubectl.into(),
        context: context.clone(),
        namespace: namespace.clone(),
        selector: given
            .selector
            .clone()
            .unwrap_or_else(|| BROKERS.to_string()),
        image: args.image.clone(),
        allow: given.allow.iter().copied().collect(),
        login: login::words(),
    }))
}

/// The cluster of others that gets the load, if one does.
fn others(args: &OthersArgs) -> Result<Option<Others>, Usage> {
    let Some(against) = &args.against else {
        return Ok(None);
    };
    let (grpc, management) = (&args.grpc_address, &args.management_address);
    let others = Others::at(against, grpc.as_deref(), management.as_deref());
    let others = others.map_err(|why| Usage(why.to_string()))?;
    Ok(Some(Others {
        authorities: fetch::authorities().map(Into::into),
        ..others
    }))
}

/// The login at a cluster of others. Nodes that a run starts get none: they require what the plan says.
fn authorization(args: &RunArgs, others: Option<&Others>) -> Result<Option<Authorization>, Usage> {
    match others {
        Some(others) => login::at(&others.rest),
        // Over ports of this machine.
        None if args.driver == Driver::Kubernetes => login::at("http://127.0.0.1"),
        None => Ok(None),
    }
}

/// Whoever injects faults into a cluster of others types its namespace again.
fn confirm(pods: &Kubernetes, yes: bool, typed: impl BufRead) -> anyhow::Result<()> {
    if yes || pods.allow.is_empty() {
        return Ok(());
    }
    let (context, namespace) = (&pods.context, &pods.namespace);
    complain!(
        "Faults will be injected into the namespace {namespace} of {context}. Type the namespace to go on:"
    );
    // Longer than any name.
    let mut line = String::new();
    typed.take(1_024).read_line(&mut line)?;
    if line.trim() == namespace {
        return Ok(());
    }
    let text = format!("{namespace} was not typed, and nothing was done; --yes does not ask");
    Err(Usage(text).into())
}

pub fn run(args: ChaosArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        None => run_all(&args.run),
        Some(ChaosCommand::List { json }) => list(json),
        Some(ChaosCommand::Show { name, full, seed }) => {
            let experiment = experiments::find(&name).ok_or_else(|| unknown(&name))?;
            crate::cli::print(&seeded((experiment.plan)(full), seed).to_yaml())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(ChaosCommand::Report {
            directories,
            format,
        }) => draw(&directories, format),
        Some(ChaosCommand::Guard { seconds }) => {
            guard::serve(std::io::stdin(), Duration::from_secs(seconds))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn unknown(name: &str) -> Usage {
    let known = || experiments::ALL.iter().map(|it| it.name);
    let expected = match nearest(name, known()) {
        Some(near) => format!("did you mean {near}? `skep chaos list` lists all"),
        None => {
            let all: Vec<&str> = known().collect();
            format!("expected one of {}", all.join(", "))
        }
    };
    Usage(format!(
        "there is no experiment {name}; {expected}, or give a file that ends in .yaml"
    ))
}

fn list(as_json: bool) -> anyhow::Result<ExitCode> {
    let mut rows = vec![["NAME", "QUICK", "FULL", "NODES", "HERE"].map(String::from)];
    let mut all = Vec::new();
    for experiment in experiments::ALL {
        let (quick, full) = ((experiment.plan)(false), (experiment.plan)(true));
        let missing = skep_chaos::drivers::missing(&quick);
        let needs = skep_chaos::drivers::needs(&quick);
        let needs: Vec<&str> = needs.into_iter().map(Need::name).collect();
        rows.push([
            experiment.name.into(),
            minutes(&quick),
            minutes(&full),
            quick.nodes.count.to_string(),
            match missing {
                None => "yes".into(),
                Some(_) => format!("no: needs {}", needs.join(", ")),
            },
        ]);
        all.push(json!({
            "name": experiment.name,
            "hypothesis": quick.hypothesis,
            "quickSeconds": quick.lengths().1,
            "fullSeconds": full.lengths().1,
            "nodes": quick.nodes.count,
            "needs": needs,
            "here": missing.is_none(),
            "why": missing,
        }));
    }
    if as_json {
        crate::cli::print(&format!("{:#}\n", json!({ "experiments": all })))?
    } else {
        let about = experiments::ALL.iter().map(|it| it.about);
        crate::cli::print(&described(&crate::cli::table(&rows), about))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The table with a text below each row, within 80 columns.
fn described<'a>(table: &str, texts: impl Iterator<Item = &'a str>) -> String {
    let mut lines = table.lines();
    let heading = lines.next().unwrap_or_default();
    let mut page = format!("{heading}\n");
    for (line, text) in lines.zip(texts) {
        let text = report::wrapped_at(text, 76).replace('\n', "\n    ");
        page.push_str(&format!("{line}\n    {text}\n"));
    }
    page
}

/// The duration without any waiting; starting and measuring the machine take some seconds more.
fn minutes(plan: &Plan) -> String {
    let seconds = plan.lengths().1;
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

fn draw(directories: &[PathBuf], format: Format) -> anyhow::Result<ExitCode> {
    let reports = directories.iter().map(|it| Report::read(it));
    let reports = reports.collect::<anyhow::Result<Vec<Report>>>()?;
    let text = match (format, reports.as_slice()) {
        (Format::Text, [one, two]) => report::side_by_side(one, two),
        (Format::Text, reports) => reports.iter().map(Report::to_text).collect(),
        (Format::Html, reports) => report::page(&reports.iter().collect::<Vec<_>>()),
        (Format::Json, [one]) => one.to_json()?,
        (Format::Json, reports) => format!("{:#}\n", serde_json::to_value(reports)?),
    };
    crate::cli::print(&text)?;
    Ok(ExitCode::from(judge::worst(
        reports.iter().map(|report| report.outcome.exit_code()),
    )))
}

fn run_all(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let plans = args.what.iter();
    let plans = plans.map(|what| Ok(seeded(plan(what, args.full)?, args.seed)));
    // All are read before the first one runs.
    let plans = plans.collect::<anyhow::Result<Vec<Plan>>>()?;
    let others = others(&args.others)?;
    let how = How {
        engine: engine(args)?,
        pods: pods(args)?,
        authorization: authorization(args, others.as_ref())?,
        others,
    };
    check(&plans, args, &how)?;
    if let Some(pods) = &how.pods {
        confirm(pods, args.pods.yes, std::io::stdin().lock())?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut codes = Vec::new();
    let several = plans.len() > 1;
    for plan in plans {
        let name = plan.name.clone();
        match runtime.block_on(one(plan, args, (several, how.clone()))) {
            Ok(Ran::Judged(code)) => codes.push(code),
            Ok(Ran::Interrupted) => {
                codes.push(judge::NOT_RUN);
                break;
            }
            // Nothing was judged, and the next one may be.
            Err(why) => {
                complain!("{name}: NOT RUN");
                let _ = crate::cli::report(&why);
                codes.push(judge::NOT_RUN);
            }
        }
    }
    Ok(ExitCode::from(judge::worst(codes)))
}

/// Checks all plans, and where their reports go, before the first one runs.
fn check(plans: &[Plan], args: &RunArgs, how: &How) -> Result<(), Usage> {
    let refused = |why: Refused| Usage(why.to_string());
    let mut directories = BTreeSet::new();
    for plan in plans {
        if let Some(pods) = &how.pods {
            pods.check(plan).map_err(refused)?;
        }
        if let Some(others) = &how.others {
            check_against(plan, others).map_err(refused)?;
        }
        let Some(report) = &args.report else {
            continue;
        };
        let directory = below(report, plan, plans.len() > 1);
        if Report::is_in(&directory) || !directories.insert(directory.clone()) {
            return Err(Usage(format!(
                "{} has a report already, or gets that of another plan with the same name; name another directory with --report",
                directory.display()
            )));
        }
        let data = data_of_nodes(&directory);
        if how.pods.is_none() && how.others.is_none() && data.exists() {
            return Err(Usage(format!(
                "{} exists, and would be deleted with the nodes of the run; name another directory with --report",
                data.display()
            )));
        }
    }
    Ok(())
}

/// Where the report of a plan goes: with several plans, each has its own directory.
fn below(report: &Path, plan: &Plan, several: bool) -> PathBuf {
    if several {
        report.join(&plan.name)
    } else {
        report.to_path_buf()
    }
}

/// The plan as the seed varies it, if there is one.
fn seeded(plan: Plan, seed: Option<u64>) -> Plan {
    match seed {
        None => plan,
        Some(seed) => plan.seeded(seed),
    }
}

fn plan(what: &str, full: bool) -> anyhow::Result<Plan> {
    if let Some(experiment) = experiments::find(what) {
        return Ok((experiment.plan)(full));
    }
    let path = Path::new(what);
    if path
        .extension()
        .is_none_or(|it| it != "yaml" && it != "yml")
    {
        return Err(unknown(what).into());
    }
    if full {
        return Err(Usage("a plan from a file has no full form: omit --full".into()).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| what.to_string())?;
    let plan = Plan::from_yaml(&text);
    plan.map_err(|why| Usage(format!("{what}: {why}")).into())
}

/// By what the nodes are reached.
#[derive(Clone)]
struct How {
    engine: Option<Engine>,
    pods: Option<Kubernetes>,
    others: Option<Others>,
    authorization: Option<Authorization>,
}

/// How a run has ended.
enum Ran {
    /// With this exit code.
    Judged(u8),
    /// By a signal.
    Interrupted,
}

/// Runs a plan.
async fn one(plan: Plan, args: &RunArgs, (several, how): (bool, How)) -> anyhow::Result<Ran> {
    let program = std::env::current_exe().context("the path of this program")?;
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    let directory = match &args.report {
        None => PathBuf::from(format!("chaos-{}-{now}", plan.name)),
        Some(directory) => below(directory, &plan, several),
    };
    let words = std::env::args().skip(1);
    let command = ["skep".to_string()].into_iter().chain(words);
    let options = Options {
        guard: ["chaos", "guard"].iter().fold(
            vec![program.display().to_string()],
            |mut line, word| {
                line.push((*word).into());
                line
            },
        ),
        delete: [program.display().to_string(), "delete".into()]
            .into_iter()
            .chain(login::words())
            .chain(fetch::words())
            .collect(),
        launcher: Launcher {
            program,
            engine: how.engine,
            namespaces: args.net == Net::Namespace,
        },
        directory: directory.clone(),
        against: how.others,
        pods: how.pods,
        authorization: how.authorization,
        noisy: args.noisy,
        command: command.collect::<Vec<_>>().join(" "),
    };
    complain!("{}: {}", plan.name, plan.hypothesis);
    let show = |event: &skep_chaos::record::Event| {
        if let Some(line) = report::time_line(event) {
            complain!("{line}");
        }
    };
    let run = skep_chaos::run(plan, options, &show);
    let report = tokio::select! {
        report = run => report?,
        () = crate::cli::interrupted() => {
            // The guard undoes the rest, now that its input ends.
            let directory = directory.display();
            complain!("interrupted; the injected faults are being undone, and {directory} has no report");
            return Ok(Ran::Interrupted);
        }
    };
    crate::cli::print(&report.to_text())?;
    complain!(
        "{} has the report with plots, report.html",
        directory.display()
    );
    Ok(Ran::Judged(report.outcome.exit_code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_in_a_cluster_of_others_need_its_namespace_typed_again() {
        let mut pods = Kubernetes {
            kubectl: "kubectl".into(),
            context: "test".into(),
            namespace: "orders".into(),
            selector: "a=b".into(),
            image: None,
            allow: [Allowed::Kill].into(),
            login: Vec::new(),
        };
        assert!(confirm(&pods, false, &b"orders\n"[..]).is_ok());
        assert!(confirm(&pods, true, &b""[..]).is_ok());
        for typed in [&b""[..], b"y\n", b"order\n"] {
            let refused = confirm(&pods, false, typed).unwrap_err().to_string();
            assert!(refused.contains("nothing was done"), "{refused}");
        }
        pods.allow.clear();
        assert!(confirm(&pods, false, &b""[..]).is_ok(), "load alone");
    }
}
