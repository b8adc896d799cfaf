//! `skep serve`: wiring of broker, gateways and management.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use prometheus_client::registry::Registry;
use skep_broker::clock::Clock;
use skep_broker::{Broker, NodeLease, OpenError, STOP_LIMIT};
use skep_documents::Stores;
use skep_gateway::{Gateway, GatewayMetrics, SpanListener};

use crate::agreement::Agreement;
use crate::args::ConfigArgs;
use crate::backup_directory;
use crate::config::tls::{PortTls, Ports};
use crate::config::{ConfigError, Loaded, ManagementLogin, Settings};
use crate::errors::Coded;
use crate::exposure::{self, Listening};
use crate::identity;
use crate::interface::ForBrowsers;
use crate::lease::{self, Lease};
use crate::logs::Logs;
use crate::management::{self, ForOperators, Management, Rollout};
use crate::memory;
use crate::monitor::Monitor;
use crate::node_metrics::NodeMetrics;
use crate::notify;
use crate::otlp::Exporter;
use crate::process::ProcessMetrics;
use crate::throttling::Throttling;

/// After the gateways have stopped, the broker gets its own limit, with which it says what hangs, and this long beyond it. Without a last
/// checkpoint nothing is lost: the next start replays a little more of the log.
const BEYOND: Duration = Duration::from_secs(10);

const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Args)]
pub struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let loaded = args.config.load()?;
    let settings = &loaded.settings;
    let logs = Logs::init(&settings.log_level, settings.log_format)
        .map_err(|reason| anyhow::anyhow!("the log cannot be set up: {reason}"))?;
    for warning in &loaded.warnings {
        tracing::warn!(code = "CONFIGURATION", "configuration: {warning}");
    }
    // For occasional work: accepting connections, management. Requests are served by threads of the gateways.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the server's threads cannot be started")?;
    let served = runtime.block_on(serve(loaded, logs, started));
    // Remaining work (a profile, an operator's request) ends with the process.
    runtime.shutdown_background();
    served
}

async fn serve(loaded: Loaded, logs: Arc<Logs>, started: Instant) -> anyhow::Result<()> {
    let Loaded {
        mut settings,
        effective,
        ..
    } = loaded;
    let stop = Signals::listen().context("signals cannot be received")?;
    let management = Management::new(
        (settings.base_path.clone(), settings.security.management),
        settings.clock_controlled,
        effective,
        logs,
    );
    let tls = settings.port_tls().map_err(ConfigError)?;
    // First, so that probes are answered during recovery.
    let management_addr = management::listen(
        settings.management.socket(),
        tls.management.clone(),
        management.clone(),
    )
    .await
    .map_err(cannot_listen)?;
    ports_are_free(&settings).await?;
    let stopped_early = |signal| {
        tracing::info!(signal, "stopped before the node was up");
        Ok(())
    };
    let lease = tokio::select! {
        lease = lease_number(&mut settings) => lease?,
        signal = stop.received() => return stopped_early(signal),
    };
    // A node of a new cluster waits for the others, however long they take. Its number is not given back before: until the process has
    // ended, its directory may still be written to.
    let broker = tokio::select! {
        broker = open_broker(&settings) => broker?,
        signal = stop.received() => return stopped_early(signal),
    };
    if let Some(lease) = &lease {
        lease.joined();
    }
    let mut registry = Registry::default();
    broker.metrics().register(&mut registry);
    let gateway_metrics = Arc::new(GatewayMetrics::new());
    gateway_metrics.register(&mut registry);
    let process = ProcessMetrics::register(&mut registry, started);
    let throttling = Throttling::start();
    let node = node_metrics(&mut registry, &settings, &tls, (&lease, &throttling));
    let tls = skep_gateway::Tls {
        rest: tls.rest,
        grpc: tls.grpc,
    };
    let gateway = bind_gateway(&settings, &broker, tls, (&management, &gateway_metrics)).await?;
    let (rest, grpc) = (gateway.rest_addr(), gateway.grpc_addr());
    if !settings.is_gateway() {
        identity::begin(broker.clone(), settings.security.initial.clone()).await?;
    }
    let for_operators = for_operators(&settings, &broker, &gateway, gateway_metrics, throttling);
    management.started(broker.clone(), registry, process, node, for_operators);

    say_started(&settings, started, rest, grpc, management_addr);
    notify::ready();
    gateway.serve(shutdown(stop, management)).await;
    if stop_broker(broker).await?
        && let Some(lease) = lease
    {
        lease.leave().await;
    }
    tracing::info!("stopped");
    Ok(())
}

fn node_metrics(
    registry: &mut Registry,
    settings: &Settings,
    ports: &Ports,
    (lease, throttling): (&Option<Arc<Lease>>, &Arc<Throttling>),
) -> NodeMetrics {
    let certificate = settings.cluster_certificate();
    let (lease, throttling) = (lease.clone(), Arc::clone(throttling));
    NodeMetrics::register(registry, ports, certificate.as_ref(), lease, throttling)
}

/// Starts the sources of the management port, and the guard that asks its callers for the login of the API, where settings say so.
fn for_operators(
    settings: &Settings,
    broker: &Arc<Broker>,
    gateway: &Gateway,
    metrics: Arc<GatewayMetrics>,
    throttling: Arc<Throttling>,
) -> ForOperators {
    let guard = match settings.security.management {
        ManagementLogin::None => None,
        ManagementLogin::Api => Some(gateway.guard()),
    };
    let revision = Some(settings.cluster.revision.as_str());
    let revision = revision.filter(|revision| !revision.is_empty() && !settings.is_gateway());
    let (directory, node) = (&settings.broker.directory, settings.broker.node_id);
    ForOperators {
        rollout: Rollout::start(revision, directory, node, broker),
        monitor: Monitor::start(broker.clone(), metrics),
        agreement: Agreement::start(&settings.security, broker),
        throttling,
        guard,
    }
}

/// Binds the ports for clients.
async fn bind_gateway(
    settings: &Settings,
    broker: &Arc<Broker>,
    tls: skep_gateway::Tls,
    (management, metrics): (&Arc<Management>, &Arc<GatewayMetrics>),
) -> anyhow::Result<Gateway> {
    let mut config = settings.gateway_config();
    config.tls = tls;
    config.hooks.operators = Some(management.clone());
    let exporter = Exporter::start(&settings.trace).map_err(|e| ConfigError(vec![e]))?;
    config.spans = exporter.map(|exporter| exporter as Arc<dyn SpanListener>);
    let interface = skep_ui::Interface::new(&settings.ui, settings.security.access());
    config.hooks.pages = Some(Arc::new(ForBrowsers(interface)));
    let documents = settings.documents().map_err(|e| ConfigError(vec![e]))?;
    let documents = Arc::new(documents);
    tokio::spawn(sweep(documents.clone()));
    let metrics = metrics.clone();
    let gateway = Gateway::bind(config, broker.clone(), broker.clone(), documents, metrics);
    Ok(gateway.await.map_err(cannot_listen)?)
}

/// Waits for this node's number, if it is leased, and applies it to the settings.
async fn lease_number(settings: &mut Settings) -> Result<Option<Arc<Lease>>, Coded> {
    if !settings.cluster.node_ids.is_leased() {
        return Ok(None);
    }
    let lease = lease::take(settings).await?;
    settings.broker.node_id = lease.number.node;
    settings
        .broker
        .directory
        .clone_from(&lease.number.directory);
    settings.broker.lease = Some(NodeLease {
        joins: lease.number.joins,
    });
    Ok(Some(Arc::new(lease)))
}

/// Returns when the server is asked to stop.
async fn shutdown(stop: Signals, management: Arc<Management>) {
    let signal = stop.received().await;
    tracing::info!(signal, "stopping; a second signal ends the process at once");
    management.stopping();
    notify::stopping();
    tokio::spawn(async move {
        stop.received().await;
        tracing::warn!("stopped at once; the next start replays the log after the last checkpoint");
        std::process::exit(1);
    });
}

/// Removes expired documents now and then, for as long as the server runs.
async fn sweep(documents: Arc<Stores>) {
    let mut now_and_then = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        now_and_then.tick().await;
        if let Err(reason) = documents.sweep().await {
            tracing::warn!(
                code = "DOCUMENT_STORE",
                "expired documents cannot be deleted: {reason}"
            );
        }
    }
}

/// Stops the broker. Returns false if parts of it may still be running.
async fn stop_broker(broker: Arc<Broker>) -> anyhow::Result<bool> {
    let stopped = tokio::task::spawn_blocking(move || broker.stop());
    let stopped = tokio::time::timeout(STOP_LIMIT + BEYOND, stopped).await;
    match stopped {
        Ok(has_stopped) => Ok(has_stopped?),
        Err(_) => {
            tracing::warn!(
                "the node takes too long to stop; the next start replays the log after the last checkpoint"
            );
            Ok(false)
        }
    }
}

/// Announces the server's addresses: to the user on standard output, to operators in the log.
fn say_started(
    settings: &Settings,
    started: Instant,
    rest: SocketAddr,
    grpc: SocketAddr,
    management_addr: SocketAddr,
) {
    println!(
        "Skep {} is up after {} ms.",
        env!("CARGO_PKG_VERSION"),
        started.elapsed().as_millis()
    );
    let scheme = |tls: &PortTls| if tls.is_on() { "https" } else { "http" };
    let rest_scheme = scheme(&settings.tls.rest);
    if skep_ui::version() != "none" {
        println!("  browser     {rest_scheme}://{rest}/ui/");
    }
    println!("  REST        {rest_scheme}://{rest}/v2");
    if settings.tls.grpc.is_on() {
        println!("  gRPC        https://{grpc}")
    } else {
        println!("  gRPC        {grpc}")
    }
    println!(
        "  management  {}://{management_addr}{}/health",
        scheme(&settings.tls.management),
        settings.base_path
    );
    if !settings.is_gateway() {
        println!("  data        {}", settings.broker.directory.display());
    }
    let address = flag("--address", (rest_scheme, rest), 8080);
    let management_scheme = scheme(&settings.tls.management);
    let management = flag("--management", (management_scheme, management_addr), 9600);
    println!("{}", next_steps(&address, &management));
    // A gateway has neither.
    let is_gateway = settings.is_gateway();
    let data = (!is_gateway).then(|| settings.broker.directory.display());
    tracing::info!(
        %rest,
        %grpc,
        management = %management_addr,
        data = data.map(tracing::field::display),
        partitions = (!is_gateway).then_some(settings.broker.partitions),
        "started"
    );
    let listening = Listening {
        rest,
        grpc,
        management: management_addr,
    };
    for warning in exposure::warnings(settings, &listening) {
        tracing::warn!("{warning}");
    }
    let state = settings.broker.state_memory_bytes as u64;
    if let Some(warning) = memory::warning(state).filter(|_| !is_gateway) {
        tracing::warn!("{warning}");
    }
    let backup = settings.backup.config().filter(|_| !is_gateway);
    if let Some(reason) = backup.and_then(|backup| backup_directory::unusable(&backup.location)) {
        tracing::warn!(
            code = "BACKUP_FAILED",
            "backups cannot be stored (camunda.data.primary-storage.backup.filesystem.base-path): {reason}"
        );
    }
}

/// Checked before the data directory is created, so that a server that does not start leaves none. The gateways bind their ports later.
async fn ports_are_free(settings: &Settings) -> Result<(), Coded> {
    let wanted = settings.gateway_config();
    for (what, address) in [("REST", wanted.rest_addr), ("gRPC", wanted.grpc_addr)] {
        skep_gateway::listen(what, address)
            .await
            .map_err(cannot_listen)?;
    }
    Ok(())
}

/// A port that cannot be bound; the error says which and why.
fn cannot_listen(error: impl std::fmt::Display) -> Coded {
    Coded::new("CANNOT_LISTEN", error.to_string())
}

/// Turns huge pages off: pages of 2 MiB would be partly used, so they take more memory and save no time at full load (see "Secondary
/// storage on and off" in docs/history/performance.md).
fn without_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "memory stays in huge pages");
    }
}

async fn open_broker(settings: &Settings) -> anyhow::Result<Arc<Broker>> {
    let config = settings.broker_config();
    without_huge_pages();
    let clock = Arc::new(Clock::default());
    let opened = tokio::task::spawn_blocking(move || Broker::open(config, clock)).await?;
    opened.map_err(|error| match error {
        OpenError::InUse { .. } => {
            let text = format!(
                "{error}. Another skep serve uses it: stop that one, or choose another directory with --data"
            );
            Coded::new("DATA_IN_USE", text).into()
        }
        error => anyhow::Error::new(error).context("the server cannot start"),
    })
}

/// A flag for an address, with a space before it; empty if that is the default.
fn flag(name: &str, (scheme, at): (&str, SocketAddr), default_port: u16) -> String {
    match (at.ip(), at.port()) {
        // Certificates are issued for names.
        (ip, port) if scheme == "https" && (ip.is_loopback() || ip.is_unspecified()) => {
            format!(" {name} https://localhost:{port}")
        }
        (ip, port) if port == default_port && (ip.is_loopback() || ip.is_unspecified()) => {
            String::new()
        }
        (ip, port) if ip.is_unspecified() => format!(" {name} http://localhost:{port}"),
        _ => format!(" {name} {scheme}://{at}"),
    }
}

fn next_steps(address: &str, management: &str) -> String {
    let skep = std::env::args()
        .next()
        .unwrap_or_else(|| "skep".to_string());
    format!(
        "\nWhat to do next, in another terminal:\n\
         \x20 {skep} deploy examples/first-process.bpmn{address}\n\
         \x20 {skep} start order --variables '{{\"orderId\": \"o-1\", \"amount\": 99}}'{address}\n\
         \x20 {skep} status{address}{management}\n\
         Workers in Python, JavaScript and Java: examples/README.md. Settings: {skep} config, docs/configuration.md."
    )
}

/// The signals that ask a server to stop.
struct Signals(tokio::sync::Mutex<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>);

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        Ok(Signals(tokio::sync::Mutex::new(signals)))
    }

    async fn received(&self) -> &'static str {
        let (terminate, interrupt) = &mut *self.0.lock().await;
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    }
}
