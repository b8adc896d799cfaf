//! Typed settings of a server, with their defaults.

mod field;
mod secondary;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skep_broker::{BrokerConfig, ClusterConfig, REBALANCE_PACE, TlsFiles};
use skep_cluster::MAX_GATEWAYS;
use skep_documents::config::Kind;
use skep_documents::{StoreConfig, Stores};
use skep_exporting::{Trust, Verify};
use skep_gateway::GatewayConfig;
use skep_secondary::{Documents, DocumentsSettings, Rdbms};
use skep_tls::Certificate;

use super::backup::Backup;
use super::documents;
use super::node_ids::NodeIds;
use super::security::Security;
use super::tls::{PortTls, Ports, StoreSettings};

pub use self::field::Field;

#[derive(Clone, Copy, Debug)]
pub struct Listen {
    pub address: IpAddr,
    pub port: u16,
}

impl Listen {
    /// Reachable from the same machine only, since there is no login.
    fn local(port: u16) -> Listen {
        Listen {
            address: Ipv4Addr::LOCALHOST.into(),
            port,
        }
    }

    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The role of this process in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Has partitions and serves clients.
    AllInOne,
    /// Serves clients, and has no data.
    Gateway,
}

/// Export of spans.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// Address of an OTLP/HTTP collector; `None`: no spans.
    pub endpoint: Option<String>,
    /// Share of the requests that are traced.
    pub ratio: f64,
}

/// The kind of secondary storage, which serves searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondaryStorage {
    /// A SQLite file beside each partition.
    Embedded,
    /// A PostgreSQL database.
    Rdbms,
    /// Indices of a search server.
    Elasticsearch,
    Opensearch,
    /// Nowhere: searches are refused.
    None,
}

/// A search server as secondary storage.
#[derive(Clone, Debug)]
pub struct SearchServer {
    pub url: String,
    /// Takes precedence over `url`.
    pub urls: Vec<String>,
    pub username: Option<String>,
    pub password: Option<String>,
    /// Path of a file; empty: the trust store of the machine.
    pub certificates: String,
    pub verify_hostname: bool,
    pub index_prefix: String,
    pub number_of_shards: u32,
    pub number_of_replicas: u32,
}

impl Default for SearchServer {
    fn default() -> Self {
        SearchServer {
            url: "http://localhost:9200".to_string(),
            urls: Vec::new(),
            username: None,
            password: None,
            certificates: String::new(),
            verify_hostname: true,
            index_prefix: String::new(),
            number_of_shards: 1,
            number_of_replicas: 0,
        }
    }
}

impl SearchServer {
    /// `key` begins the names of these settings.
    fn settings(&self, key: &'static str) -> DocumentsSettings {
        DocumentsSettings {
            urls: if self.urls.is_empty() {
                vec![self.url.clone()]
            } else {
                self.urls.clone()
            },
            username: self.username.clone().unwrap_or_default(),
            password: self.password.clone().unwrap_or_default(),
            trust: Trust {
                certificates: (!self.certificates.is_empty())
                    .then(|| self.certificates.clone().into()),
                verify: if self.verify_hostname {
                    Verify::ChainAndName
                } else {
                    Verify::Chain
                },
                identity: None,
            },
            index_prefix: self.index_prefix.clone(),
            number_of_shards: self.number_of_shards,
            number_of_replicas: self.number_of_replicas,
            ..DocumentsSettings::new(key)
        }
    }
}

/// Settings of a node in a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    pub size: u32,
    pub replication_factor: u32,
    pub contact_points: Vec<String>,
    /// Whether the node's number was taken from its host name.
    pub node_id_from_hostname: bool,
    /// Settings of a leased number.
    pub node_ids: NodeIds,
    /// What the orchestrator calls this node's specification; empty: readiness waits for no copies.
    pub revision: String,
    pub election_timeout: Duration,
    /// The host given to other nodes, if it differs from that for clients.
    pub advertised_host: Option<String>,
    /// Zero: the port that it listens on.
    pub advertised_port: u16,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        ClusterSettings {
            size: 1,
            replication_factor: 1,
            contact_points: Vec::new(),
            node_id_from_hostname: false,
            node_ids: NodeIds::default(),
            revision: String::new(),
            election_timeout: Duration::from_secs(1),
            advertised_host: None,
            advertised_port: 0,
        }
    }
}

impl ClusterSettings {
    /// Contradictory settings, each with its keys.
    fn contradictions(&self, node: u32) -> Vec<String> {
        let (size, copies) = (self.size, self.replication_factor);
        let mut found = Vec::new();
        if size == 1 {
            if copies != 1 {
                found.push(format!(
                    "camunda.cluster.replication-factor is {copies}, but there is one node: camunda.cluster.size"
                ));
            }
            return found;
        }
        if copies > size {
            found.push(format!(
                "camunda.cluster.replication-factor is {copies} and camunda.cluster.size is {size}: there cannot be more copies than nodes"
            ));
        }
        if node >= size {
            found.push(format!(
                "camunda.cluster.node-id is {node}, but the {size} nodes (camunda.cluster.size) have the numbers 0 to {}",
                size - 1
            ));
        }
        found.extend(self.without_contact_points());
        found
    }

    fn contradictions_of_gateway(&self, node: u32) -> Vec<String> {
        let too_great = (node >= MAX_GATEWAYS).then(|| {
            format!(
                "camunda.cluster.node-id is {node}, but gateways have the numbers 0 to {}",
                MAX_GATEWAYS - 1
            )
        });
        too_great
            .into_iter()
            .chain(self.without_contact_points())
            .collect()
    }

    fn without_contact_points(&self) -> Option<String> {
        self.contact_points.is_empty().then(|| {
            "camunda.cluster.initial-contact-points is empty: name the nodes of the cluster, each as host:port of its internal API"
                .to_string()
        })
    }
}

/// TLS between nodes: paths of files.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    pub enabled: bool,
    pub certificate_chain: String,
    pub private_key: String,
    pub key_store: StoreSettings,
    pub authority: String,
}

impl TlsSettings {
    fn contradiction(&self) -> Option<String> {
        let pem = [&self.certificate_chain, &self.private_key];
        let named = pem.iter().filter(|path| !path.is_empty()).count();
        match (self.key_store.path.is_empty(), named) {
            _ if !self.enabled => None,
            (true, 2) | (false, 0) => None,
            (true, _) => Some(
                "camunda.cluster.network.transport-layer-security.cluster.enabled is true, but neither .key-store.file-path nor both of \
                 .certificate-chain-path and .certificate-private-key-path beside it are set"
                    .to_string(),
            ),
            (false, _) => Some(
                "camunda.cluster.network.transport-layer-security.cluster names a key store (.key-store.file-path) and files in PEM format \
                 (.certificate-chain-path): give one of the two"
                    .to_string(),
            ),
        }
    }

    fn files(&self) -> Option<TlsFiles> {
        let authority = (!self.authority.is_empty()).then(|| PathBuf::from(&self.authority));
        let certificate = if self.key_store.path.is_empty() {
            Certificate::Pem {
                chain: PathBuf::from(&self.certificate_chain),
                private_key: PathBuf::from(&self.private_key),
            }
        } else {
            Certificate::KeyStore(self.key_store.named())
        };
        self.enabled.then_some(TlsFiles {
            certificate,
            authority,
        })
    }
}

/// TLS of each port for clients.
#[derive(Clone, Debug, Default)]
pub struct PortsTls {
    pub rest: PortTls,
    pub grpc: PortTls,
    pub management: PortTls,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    pub broker: BrokerConfig,
    pub backup: Backup,
    pub secondary_storage: SecondaryStorage,
    pub secondary: skep_secondary::Config,
    pub rdbms: skep_secondary::RdbmsSettings,
    pub elasticsearch: SearchServer,
    pub opensearch: SearchServer,
    /// The configured stores; none: the ones that every server has.
    pub document_stores: Vec<StoreConfig>,
    /// The store used unless a request names one. Empty: the first one.
    pub default_document_store: Option<String>,
    pub documents_at_a_time: usize,
    pub gateway: GatewayConfig,
    pub security: Security,
    pub rest: Listen,
    pub grpc: Listen,
    pub management: Listen,
    pub tls: PortsTls,
    pub base_path: String,
    pub ui: skep_ui::Settings,
    pub max_file_size: usize,
    pub cluster: ClusterSettings,
    /// The port for other nodes.
    pub internal: Listen,
    pub internal_tls: TlsSettings,
    pub clock_controlled: bool,
    pub log_level: String,
    pub log_format: LogFormat,
    pub trace: TraceSettings,
    pub worker_threads: usize,
    /// Ten times this number is added to every port.
    pub port_offset: u16,
    /// Limits the size of requests, in addition to the limits of the interfaces.
    pub network_message_size: usize,
    /// Zero: no limit on pings of clients.
    pub min_ping_interval: Duration,
}

/// The default of `camunda.cluster.network.max-message-size`.
const NETWORK_MESSAGE_SIZE: usize = 4 << 20;

impl Default for Settings {
    fn default() -> Self {
        let gateway = GatewayConfig::default();
        Settings {
            mode: Mode::AllInOne,
            broker: BrokerConfig::default(),
            backup: Backup::default(),
            secondary_storage: SecondaryStorage::Embedded,
            secondary: skep_secondary::Config::default(),
            rdbms: skep_secondary::RdbmsSettings {
                auto_ddl: true,
                ..Default::default()
            },
            elasticsearch: SearchServer::default(),
            opensearch: SearchServer::default(),
            document_stores: Vec::new(),
            default_document_store: None,
            documents_at_a_time: skep_documents::Config::default().at_a_time,
            security: Security::default(),
            rest: Listen::local(8080),
            grpc: Listen::local(26500),
            management: Listen::local(9600),
            tls: PortsTls::default(),
            base_path: "/actuator".to_string(),
            ui: skep_ui::Settings::default(),
            max_file_size: gateway.multipart.max_size,
            gateway,
            cluster: ClusterSettings::default(),
            internal: Listen::local(26502),
            internal_tls: TlsSettings::default(),
            clock_controlled: false,
            log_level: "info".to_string(),
            log_format: LogFormat::Text,
            trace: TraceSettings {
                endpoint: None,
                ratio: 1.0,
            },
            worker_threads: std::thread::available_parallelism().map_or(2, usize::from),
            port_offset: 0,
            network_message_size: NETWORK_MESSAGE_SIZE,
            min_ping_interval: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// The configuration of the gateways.
    pub fn gateway_config(&self) -> GatewayConfig {
        let mut config = self.gateway.clone();
        config.rest_addr = self.rest.socket();
        config.grpc_addr = self.grpc.socket();
        config.worker_threads = self.worker_threads;
        // A single file makes up most of its request.
        config.multipart.max_size = config.multipart.max_size.min(self.max_file_size);
        config.max_message_size = self.largest_request();
        if self.network_message_size < NETWORK_MESSAGE_SIZE {
            config.multipart.max_size = config.multipart.max_size.min(self.network_message_size);
        }
        config.counts_jobs = self.secondary_storage != SecondaryStorage::None;
        config.security = self.security.gateway();
        let interval = self.min_ping_interval;
        config.min_ping_interval = (!interval.is_zero()).then_some(interval);
        let largest = config.max_message_size.max(config.multipart.max_size);
        config.max_buffered_bytes = config.max_buffered_bytes.max(largest);
        config
    }

    /// Bytes of the largest request of a client that is no deployment.
    pub fn largest_request(&self) -> usize {
        self.gateway.max_message_size.min(self.network_message_size)
    }

    /// The TLS of all ports.
    ///
    /// # Errors
    /// Unusable files, each with its setting.
    pub fn port_tls(&self) -> Result<Ports, Vec<String>> {
        Ports::open(&self.tls.rest, &self.tls.grpc, &self.tls.management)
    }

    /// The certificate that this node presents to other nodes.
    pub fn cluster_certificate(&self) -> Option<Certificate> {
        let files = self.internal_tls.files();
        files.map(|files| files.certificate)
    }

    /// The configured document stores, or those of every server.
    fn document_stores_here(&self) -> Vec<StoreConfig> {
        if self.document_stores.is_empty() {
            return documents::of_every_server(&self.broker.directory);
        }
        self.document_stores.clone()
    }

    /// Opens the document stores.
    ///
    /// # Errors
    /// Their settings are invalid.
    pub fn documents(&self) -> Result<Stores, String> {
        let mut config = skep_documents::Config {
            stores: self.document_stores_here(),
            default: self
                .default_document_store
                .clone()
                .filter(|id| !id.is_empty()),
            at_a_time: self.documents_at_a_time,
            is_one_of_several: self.is_one_of_several(),
        };
        let free = self.broker.disk.processing;
        for store in &mut config.stores {
            if let Kind::Local(local) = &mut store.kind {
                local.reserve = if self.broker.disk.monitoring_enabled {
                    free
                } else {
                    0
                };
            }
        }
        Stores::open(&config, Arc::new(jiff::Timestamp::now))
    }

    /// Adds the offset to every port but 0, which selects a free one.
    pub fn shift_ports(&mut self) -> Result<(), String> {
        let offset = u32::from(self.port_offset) * 10;
        for port in [
            &mut self.rest.port,
            &mut self.grpc.port,
            &mut self.management.port,
            &mut self.broker.advertised.port,
            &mut self.internal.port,
            &mut self.cluster.advertised_port,
        ] {
            if *port != 0 {
                *port = u16::try_from(u32::from(*port) + offset).map_err(|_| {
                    format!(
                        "camunda.cluster.network.port-offset = {}: port {port} plus ten times the offset is above 65535",
                        self.port_offset
                    )
                })?;
            }
        }
        Ok(())
    }

    /// The configuration of the broker.
    pub fn broker_config(&self) -> BrokerConfig {
        let mut config = self.broker.clone();
        config.max_message_size = self.gateway.max_message_size;
        config.engine.identity = self.security.identity();
        config.secondary_storage = self.secondary_config();
        config.backup = self.backup.config();
        if let Some(backup) = &mut config.backup {
            let stores = self.document_stores_here();
            backup.documents = documents::in_backups(&stores, self.is_one_of_several());
        }
        config.cluster = self.is_one_of_several().then(|| self.cluster_config());
        if self.is_gateway() {
            config.node_id += skep_cluster::FIRST_GATEWAY;
            // A gateway writes nothing.
            config.disk.monitoring_enabled = false;
        }
        config
    }

    pub fn is_gateway(&self) -> bool {
        self.mode == Mode::Gateway
    }

    /// The port for other nodes, if there are any and every caller of that port is trusted.
    pub fn internal_without_tls(&self) -> Option<SocketAddr> {
        let listens = self.is_one_of_several() && !self.internal_tls.enabled;
        listens.then(|| self.internal.socket())
    }

    /// Whether there are other nodes.
    pub fn is_one_of_several(&self) -> bool {
        self.cluster.size > 1 || self.is_gateway()
    }

    fn cluster_config(&self) -> ClusterConfig {
        let cluster = self.cluster.clone();
        let host = self.cluster.advertised_host.as_ref();
        let host = host.unwrap_or(&self.broker.advertised.host);
        let port = match self.cluster.advertised_port {
            0 => self.internal.port,
            port => port,
        };
        ClusterConfig {
            gateway: self.is_gateway(),
            size: cluster.size,
            replication_factor: cluster.replication_factor,
            listen: self.internal.socket(),
            advertised: format!("{host}:{port}"),
            contact_points: cluster.contact_points,
            election_timeout: cluster.election_timeout,
            rebalance_pace: REBALANCE_PACE,
            tls: self.internal_tls.files(),
        }
    }

    /// Why the database or search server cannot be used.
    fn of_database(&self) -> Option<String> {
        let storage = self.secondary_storage;
        if matches!(storage, SecondaryStorage::Embedded | SecondaryStorage::None) {
            return None;
        }
        if storage == SecondaryStorage::Rdbms && self.rdbms.url.is_empty() {
            let missing = "camunda.data.secondary-storage.type is rdbms, but camunda.data.secondary-storage.rdbms.url is not set";
            return Some(missing.to_string());
        }
        match storage {
            SecondaryStorage::Rdbms => Rdbms::new(&self.rdbms).err().map(|error| error.to_string()),
            _ => Documents::new(self.search_server())
                .err()
                .map(|error| error.to_string()),
        }
    }

    /// Contradictory settings, each with its keys.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        let disk = &self.broker.disk;
        if disk.monitoring_enabled && disk.replication >= disk.processing {
            found.push(
                "camunda.data.primary-storage.disk.free-space.replication must be less than \
                 camunda.data.primary-storage.disk.free-space.processing"
                    .to_string(),
            );
        }
        if let Err(reason) = self.broker.flow_control.check() {
            found.push(format!("camunda.processing.flow-control.request: {reason}"));
        }
        if self.broker.flow_control.tenant_share < 1.0 && !self.security.tenant_checks {
            found.push(
                "skep.tenants.in-flight-share is less than 1, and without camunda.security.multi-tenancy.checks-enabled all requests are \
                 those of one tenant, which would get no more than its share"
                    .to_string(),
            );
        }
        let election = self.cluster.election_timeout;
        found.extend(self.security.impatience(election));
        found.extend(self.of_database());
        found.extend(self.documents().err());
        found.extend(self.backup.contradictions());
        let node = self.broker.node_id;
        found.extend(match self.mode {
            Mode::AllInOne => self.cluster.contradictions(node),
            Mode::Gateway => self.cluster.contradictions_of_gateway(node),
        });
        found.extend(self.cluster.node_ids.contradictions(self));
        found.extend(self.internal_tls.contradiction());
        let (rest, grpc) = (self.rest.address, self.grpc.address);
        found.extend(
            self.security
                .contradictions(&[("server.address", rest), ("camunda.api.grpc.address", grpc)]),
        );
        let mut ports = vec![
            ("server.port", self.rest),
            ("camunda.api.grpc.port", self.grpc),
            ("management.server.port", self.management),
        ];
        if self.is_one_of_several() {
            ports.push(("camunda.cluster.network.internal-api.port", self.internal));
        }
        for (i, (name, listen)) in ports.iter().enumerate() {
            for (other_name, other) in ports.iter().skip(i + 1) {
                if listen.port == other.port && listen.port != 0 {
                    found.push(format!(
                        "{name} and {other_name} are both {}: each interface needs its own port",
                        listen.port
                    ));
                }
            }
        }
        found
    }
}
