//! Flags that several commands share.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use skep_client::{Client, ClientConfig, Transport};

use crate::cli;
use crate::config::{self, ConfigError, Given, Loaded, node_ids, node_number, source};

/// Configuration file that is read if it exists.
const DEFAULT_FILE: &str = "config/application.yaml";

/// Where the settings of a server come from. Flags win over the environment, the environment over files.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// YAML file with settings, read after config/application.yaml; may be given several times, the last one wins.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// A setting of docs/configuration.md; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Role of the node: a broker has partitions and serves clients; a gateway only serves clients of the cluster at its contact points
    /// [default: broker].
    #[arg(long, value_parser = ["broker", "gateway"])]
    role: Option<String>,
    /// Directory of all data [default: data].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// Number of partitions of a new data directory; `skep cluster apply` adds more later [default: 1].
    #[arg(long)]
    partitions: Option<u32>,
    /// Listen address of all three interfaces; 0.0.0.0 accepts connections from other machines [default: 127.0.0.1].
    #[arg(long)]
    address: Option<IpAddr>,
    /// Port of REST; 0 picks a free port [default: 8080].
    #[arg(long, value_name = "PORT")]
    rest_port: Option<u16>,
    /// Port of gRPC; 0 picks a free port [default: 26500].
    #[arg(long, value_name = "PORT")]
    grpc_port: Option<u16>,
    /// Port of health, metrics and management; 0 picks a free port [default: 9600].
    #[arg(long, value_name = "PORT")]
    management_port: Option<u16>,
    /// Log level, also by module as in info,skep_broker=debug [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Format of log lines [default: text].
    #[arg(long, value_parser = ["text", "json"])]
    log_format: Option<String>,
}

impl ConfigArgs {
    /// Resolves all given settings.
    ///
    /// # Errors
    /// All problems of the configuration.
    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let mut documents = Vec::new();
        let mut problems = Vec::new();
        let default = Path::new(DEFAULT_FILE);
        let files = default
            .exists()
            .then_some(default)
            .into_iter()
            .chain(self.config.iter().map(PathBuf::as_path));
        for file in files {
            match source::file(file) {
                Ok(found) => documents.extend(found),
                Err(problem) => problems.push(problem),
            }
        }
        // Names that are not Unicode are not settings.
        let variables = std::env::vars_os()
            .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
        let mut outside = source::environment(variables);
        outside.extend(self.flags(&mut problems));
        let mut given = config::select(documents, &mut outside);
        given.extend(outside);
        problems.extend(config::fill(&mut given, &|name| std::env::var(name).ok()));
        match node_number::given(&given, node_number::hostname()) {
            Ok(number) => given.extend(number),
            Err(problem) => problems.push(problem),
        }
        problems.extend(node_ids::conflict(&given));
        match config::resolve(&given) {
            Ok(mut loaded) if problems.is_empty() => {
                loaded.advertise(node_number::hostname());
                Ok(loaded)
            }
            Ok(_) => Err(ConfigError(problems)),
            Err(ConfigError(more)) => {
                problems.extend(more);
                Err(ConfigError(problems))
            }
        }
    }

    fn flags(&self, problems: &mut Vec<String>) -> Vec<Given> {
        let mut given = Vec::new();
        for text in &self.set {
            match text.split_once('=') {
                Some((name, value)) => given.push(Given::flag("--set", name.trim(), value)),
                None => problems.push(format!("--set '{text}': expected NAME=VALUE")),
            }
        }
        let mut flag = |flag: &str, name: &str, value: Option<String>| {
            given.extend(value.map(|value| Given::flag(flag, name, value)));
        };
        let mode = self.role.as_deref().map(|role| match role {
            "gateway" => "gateway",
            _ => "all-in-one",
        });
        flag("--role", "camunda.mode", mode.map(str::to_string));
        let text = |value: &Option<u16>| value.map(|value| value.to_string());
        let data = self.data.as_ref().map(|path| path.display().to_string());
        flag("--data", "camunda.data.primary-storage.directory", data);
        let partitions = self.partitions.map(|count| count.to_string());
        flag(
            "--partitions",
            "camunda.cluster.partition-count",
            partitions,
        );
        for name in [
            "server.address",
            "camunda.api.grpc.address",
            "management.server.address",
        ] {
            let address = self.address.map(|address| address.to_string());
            flag("--address", name, address);
        }
        flag("--rest-port", "server.port", text(&self.rest_port));
        flag(
            "--grpc-port",
            "camunda.api.grpc.port",
            text(&self.grpc_port),
        );
        let port = text(&self.management_port);
        flag("--management-port", "management.server.port", port);
        flag("--log-level", "skep.log.level", self.log_level.clone());
        flag("--log-format", "skep.log.format", self.log_format.clone());
        given
    }
}

/// How a command reaches a server.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Address of the server, or several, separated by commas: REST, or gRPC with --transport grpc.
    #[arg(long, env = "SKEP_ADDRESS", value_name = "URL")]
    address: Option<String>,
    /// Interface to use.
    #[arg(long, default_value = "rest", value_parser = ["rest", "grpc"])]
    transport: String,
    /// Maximum time to wait for a response, as in 500ms, 20s or 5m; a number without a unit is in seconds.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = cli::given::patience)]
    timeout: Duration,
}

impl ServerArgs {
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The address of REST, if REST is used.
    pub fn rest_address(&self) -> Option<&str> {
        let address = self.address.as_deref().unwrap_or("http://localhost:8080");
        (self.transport == "rest").then_some(address)
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        let (transport, default, port) = match self.transport.as_str() {
            "grpc" => (Transport::Grpc, "http://localhost:26500", 26500),
            _ => (Transport::Rest, "http://localhost:8080", 8080),
        };
        let address = self.address.as_deref().unwrap_or(default);
        let address = &cli::fetch::one_of(address, port).await?;
        let mut config = ClientConfig::new(address);
        config.request_timeout = self.timeout();
        config.authorities = cli::fetch::authorities().map(Into::into);
        config.authorization = cli::login::at(address)?;
        Ok(Client::new(transport, config)?)
    }
}
