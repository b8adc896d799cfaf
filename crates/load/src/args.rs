//! The arguments of `skep load`.

use std::{path::PathBuf, time::Duration};

use crate::{rate::Rate, scenario::Scenario};
use clap::{Args, ValueEnum};
use serde::{Serialize, Serializer};
use skep_client::{Authorization, ClientConfig, Delivery, HttpVersion, Transport};

/// Start process instances, work on their jobs, and report the performance that users would see.
#[derive(Debug, Clone, Args, Serialize)]
pub struct LoadArgs {
    /// Authorities to trust for https; the command line has one flag for all commands.
    #[arg(skip)]
    pub authorities: Option<PathBuf>,
    /// Interface to use.
    #[arg(long, value_enum, default_value = "rest")]
    pub transport: TransportArg,

    /// Measure REST and gRPC side by side, in alternating slices of one run.
    #[arg(long)]
    pub compare: bool,

    /// Slices per interface with --compare; --duration is divided among them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub slices: u32,

    /// HTTP version of REST: 1 (what most clients use) or 2 (clear text, prior knowledge).
    #[arg(long, value_enum, default_value = "1")]
    pub http: HttpArg,

    /// Host of the server; the default ports apply unless the addresses below say otherwise.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", value_parser = host)]
    pub address: String,

    /// Address of REST (HOST:8080), or several, separated by commas; if one fails, the next is used.
    #[arg(long, value_name = "HOST:PORT")]
    pub rest_address: Option<String>,

    /// Address of gRPC (HOST:26500), or several as above.
    #[arg(long, value_name = "HOST:PORT")]
    pub grpc_address: Option<String>,

    /// Address of the management port (HOST:9600); its metrics are used if it answers.
    #[arg(long, value_name = "HOST:PORT")]
    pub management_address: Option<String>,

    /// Value of the authorization header, for example "Bearer TOKEN".
    #[arg(long, env = "SKEP_AUTHORIZATION", hide_env_values = true)]
    #[serde(skip)]
    pub authorization: Option<Authorization>,

    /// Open loop: start this many instances per second, regardless of how the server responds; 50..300 grows evenly during the
    /// measurement, and 50,150,300 are steps of equal length.
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "concurrency")]
    pub rate: Option<Rate>,

    /// Closed loop: keep this many instances in progress (0: only work on the jobs of instances that others start).
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub concurrency: u32,

    /// Open loop: maximum number of creation requests in flight; later ones wait, and their wait counts as latency.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_in_flight: u32,

    /// Duration of the measurement, for example 30s or 10m.
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub duration: Duration,

    /// Duration of the warm-up before the measurement (with --compare: before each slice).
    #[arg(long, default_value = "3s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub warmup: Duration,

    /// Maximum time to wait at the end for instances in progress.
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub drain: Duration,

    /// Time after which an instance counts as lost (its completion is still noticed).
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub instance_timeout: Duration,

    /// Client-side limit of a request.
    #[arg(long, default_value = "20s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub request_timeout: Duration,

    /// Size of each instance's variables, in bytes of JSON.
    #[arg(long, default_value_t = 0, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(0..=4_000_000))]
    pub payload: u64,

    /// BPMN file to deploy and start, instead of the built-in process.
    #[arg(long, value_name = "FILE")]
    pub process: Option<PathBuf>,

    /// Scenario that each instance runs, instead of service tasks in sequence.
    #[arg(long, value_enum, conflicts_with_all = ["process", "tasks"])]
    pub scenario: Option<Scenario>,

    /// With --process: number of jobs per instance; the number of its service tasks if not given.
    #[arg(long, value_name = "N", requires = "process")]
    pub jobs_per_instance: Option<u32>,

    /// Service tasks in sequence in the built-in process.
    #[arg(long, default_value_t = 1, conflicts_with = "process", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub tasks: u32,

    /// Create instances with awaitCompletion: the response comes when the instance ends.
    #[arg(long)]
    pub await_completion: bool,

    /// Search for created instances, one at a time over REST, and report how long it takes until a search that does not wait
    /// (skep-consistency: eventual) finds them.
    #[arg(long, conflicts_with = "await_completion")]
    pub find: bool,

    /// How workers get jobs.
    #[arg(long, value_enum, default_value = "push")]
    pub jobs: JobsArg,

    /// Workers per job type (0: only start instances).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub workers: u32,

    /// Maximum number of jobs that one worker holds.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_jobs: u32,

    /// How long a worker handles a job, in milliseconds.
    #[arg(long, default_value_t = 0, value_name = "MS")]
    pub handle_ms: u64,

    /// Time for which a job is assigned to its worker.
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "TIME")]
    #[serde(serialize_with = "seconds")]
    pub job_timeout: Duration,

    /// Threads of the load generator, each with its own connections.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,

    /// HTTP/2 connections per thread, in addition to one per job stream.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// Process id of the server on this machine, to report its CPU and memory.
    #[arg(long)]
    pub pid: Option<u32>,

    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the report as one self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl Default for LoadArgs {
    /// The defaults of `skep load` without flags.
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: LoadArgs,
        }
        <Line as clap::Parser>::parse_from(["load"]).args
    }
}

/// `--transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportArg {
    /// REST v2.
    Rest,
    /// gRPC.
    Grpc,
}

/// `--http`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
pub enum HttpArg {
    /// HTTP/1.1.
    #[value(name = "1")]
    #[serde(rename = "1")]
    One,
    /// HTTP/2.
    #[value(name = "2")]
    #[serde(rename = "2")]
    Two,
}

/// `--jobs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobsArg {
    /// Job streams.
    Push,
    /// Long polling.
    Poll,
}

impl JobsArg {
    pub(crate) fn delivery(self) -> Delivery {
        match self {
            Self::Push => Delivery::Push,
            Self::Poll => Delivery::Poll,
        }
    }
}

impl LoadArgs {
    /// The interfaces to measure.
    pub(crate) fn transports(&self) -> Vec<Transport> {
        match (self.compare, self.transport) {
            (true, _) => vec![Transport::Rest, Transport::Grpc],
            (false, transport) => vec![transport.into()],
        }
    }

    /// One client configuration for each address.
    pub(crate) fn client_configs(&self, transport: Transport) -> Vec<ClientConfig> {
        let addresses = match transport {
            Transport::Rest => self.at(self.rest_address.as_ref(), 8080),
            Transport::Grpc => self.at(self.grpc_address.as_ref(), 26500),
        };
        let each = addresses.split(',').map(str::trim);
        each.map(|address| self.client_config(transport, address))
            .collect()
    }

    fn client_config(&self, transport: Transport, address: &str) -> ClientConfig {
        let mut config = ClientConfig::new(address);
        config.authorities.clone_from(&self.authorities);
        config.http_version = match self.http {
            HttpArg::One => HttpVersion::Http1,
            HttpArg::Two => HttpVersion::Http2,
        };
        config.connections = match (transport, self.http) {
            // HTTP/1.1: keep a connection for every request that may be in flight
            (Transport::Rest, HttpArg::One) => to_usize(self.lanes() + self.jobs_held()),
            _ => to_usize(self.connections),
        };
        config.authorization.clone_from(&self.authorization);
        config.request_timeout = self.request_timeout;
        config
    }

    /// The first REST address.
    pub(crate) fn rest(&self) -> String {
        let all = self.at(self.rest_address.as_ref(), 8080);
        let first = all.split(',').next();
        first.map(str::trim).unwrap_or_default().to_string()
    }

    pub(crate) fn management(&self) -> String {
        self.at(self.management_address.as_ref(), 9600)
    }

    fn at(&self, address: Option<&String>, port: u16) -> String {
        address
            .cloned()
            .unwrap_or_else(|| format!("{}:{port}", self.address))
    }

    /// Maximum number of creation requests in flight.
    pub(crate) fn lanes(&self) -> u32 {
        match &self.rate {
            Some(_) => self.max_in_flight,
            None => self.concurrency,
        }
    }

    /// Duration of the measurement in each slice.
    pub(crate) fn per_slice(&self) -> Duration {
        if self.compare {
            self.duration / self.slices
        } else {
            self.duration
        }
    }

    fn jobs_held(&self) -> u32 {
        self.workers.saturating_mul(self.max_jobs)
    }

    /// Rejects contradictory arguments.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.duration >= Duration::from_millis(100),
            "--duration must be at least 100ms"
        );
        anyhow::ensure!(
            self.lanes() + self.workers > 0,
            "--concurrency 0 starts no instances and --workers 0 works on no jobs: that is no load"
        );
        if let Some(pid) = self.pid {
            anyhow::ensure!(
                crate::server::usage(&pid.to_string()).is_some(),
                "--pid {pid}: no such process in /proc; give the process id of the server"
            );
        }
        Ok(())
    }
}

pub(crate) fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Parses `500ms`, `30s`, `10m`, `1h`, or a number of seconds.
///
/// # Errors
/// Anything else.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, scale) = if let Some(number) = text.strip_suffix("ms") {
        (number, 0.001)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60.0)
    } else if let Some(number) = text.strip_suffix('h') {
        (number, 3600.0)
    } else {
        (text, 1.0)
    };
    number
        .trim()
        .parse::<f64>()
        .ok()
        .and_then(|value| Duration::try_from_secs_f64(value * scale).ok())
        .ok_or_else(|| format!("{text:?} is not a time; write for example 500ms, 30s, 10m"))
}

/// Parses a host name or an address: ports have flags of their own.
fn host(text: &str) -> Result<String, String> {
    let is_bracketed = text.starts_with('[') && text.ends_with(']');
    if text.is_empty() || text.contains('/') || (text.contains(':') && !is_bracketed) {
        return Err(
            "give only the host ([::1] in brackets), and HOST:PORT to --rest-address, --grpc-address and --management-address"
                .to_string(),
        );
    }
    Ok(text.to_string())
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        for bad in ["", "s", "-1s", "1d", "infs"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn several_addresses_are_a_client_each() {
        let args = LoadArgs {
            rest_address: Some("a:1, b:2".into()),
            ..LoadArgs::default()
        };
        let addresses = |transport| {
            let configs = args.client_configs(transport).into_iter();
            configs.map(|config| config.address).collect::<Vec<_>>()
        };
        assert_eq!(addresses(Transport::Rest), ["a:1", "b:2"]);
        assert_eq!(addresses(Transport::Grpc), ["127.0.0.1:26500"]);
        assert_eq!(args.rest(), "a:1");
    }

    #[test]
    fn a_host_is_given_without_its_port() {
        for good in ["127.0.0.1", "skep.example", "[::1]"] {
            assert_eq!(host(good), Ok(good.to_string()));
        }
        for bad in ["", "localhost:8080", "http://localhost", "::1"] {
            assert!(
                host(bad).is_err_and(|why| why.contains("--rest-address")),
                "{bad:?}"
            );
        }
    }
}
