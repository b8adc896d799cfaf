//! Settings of a broker, with the defaults of docs/configuration.md where a key exists.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use skep_engine::IdentityConfig;
use skep_transport::{Layout, TlsFiles};

use crate::backup::BackupConfig;
use crate::flow_control::{FlowControlConfig, WriteConfig};

/// Settings that only the engine uses.
#[derive(Clone, Copy, Debug)]
pub struct EngineSettings {
    /// `camunda.processing.engine.max-process-depth`.
    pub max_process_depth: u32,
    /// `skep.engine.max-element-instances`.
    pub max_element_instances: u32,
    /// `camunda.expression.timeout`: the budget of one evaluation of an expression.
    pub expression_timeout: Duration,
    /// `camunda.security.*`, as far as the engine needs it.
    pub identity: IdentityConfig,
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            max_process_depth: 1000,
            max_element_instances: 2_000_000,
            expression_timeout: Duration::from_millis(100),
            identity: IdentityConfig::default(),
        }
    }
}

/// The broker's address in the answer to `Topology`.
#[derive(Clone, Debug)]
pub struct Advertised {
    pub host: String,
    pub port: u16,
}

/// Node numbers are leased, this node's and those of the others.
#[derive(Clone, Copy, Debug)]
pub struct NodeLease {
    /// The data of this number is elsewhere: the node founds no cluster, and is added to one as a new member.
    pub joins: bool,
}

#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `camunda.cluster.node-id`.
    pub node_id: u32,
    /// `camunda.cluster.partition-count`.
    pub partitions: u32,
    /// `camunda.data.primary-storage.directory`.
    pub directory: PathBuf,
    /// `camunda.data.snapshot-period`: a checkpoint at least this often while there is something new.
    pub snapshot_period: Duration,
    /// A checkpoint is also stored after this many bytes of log, so recovery reads about that much at most.
    pub snapshot_log_bytes: u64,
    /// `camunda.data.primary-storage.log-stream.log-segment-size`.
    pub log_segment_bytes: u64,
    /// Rows of all partitions together keep to about this many bytes of memory
    /// (`camunda.data.primary-storage.rocks-db.memory-limit`); cold ones are read back on demand.
    pub state_memory_bytes: usize,
    /// `camunda.processing.flow-control.request.*`.
    pub flow_control: FlowControlConfig,
    /// `camunda.processing.flow-control.write.*`.
    pub write_limit: WriteConfig,
    /// `camunda.data.primary-storage.disk.*`.
    pub disk: DiskConfig,
    /// `camunda.processing.scheduled-tasks-check-interval`: job timeouts and message expiry are checked at least this
    /// often; timers are exact.
    pub check_interval: Duration,
    /// Seconds between attempts to deliver commands to other partitions (`engine.distribution.redistribution-interval`).
    pub retry_interval: Duration,
    /// How long a poll for jobs waits for the answer of one partition, however short the poll itself is. A poll that gave
    /// up at once would activate jobs that no worker gets whenever the partition is slower than the poll.
    pub poll_answer_timeout: Duration,
    /// `camunda.api.long-polling.probe-timeout`: a waiting activation also looks for jobs at this interval, besides being woken.
    pub probe_interval: Duration,
    /// Further settings of the engine.
    pub engine: EngineSettings,
    /// `camunda.api.grpc.max-message-size`: a job that is larger gets an incident.
    pub max_message_size: usize,
    pub advertised: Advertised,
    /// `camunda.data.secondary-storage.*`; `None` for type `none`.
    pub secondary_storage: Option<skep_secondary::Config>,
    /// `camunda.data.exporters.*`: exporters other than secondary storage.
    pub exporters: Vec<skep_exporting::ExporterConfig>,
    /// `camunda.data.export.distribution-interval`: interval at which exporter positions are recorded.
    pub export_interval: Duration,
    /// `camunda.cluster.cluster-id`; if absent, a new id is created and kept.
    pub cluster_id: Option<String>,
    /// `camunda.data.primary-storage.backup.*`; `None`: no backup store.
    pub backup: Option<BackupConfig>,
    /// The other nodes; `None` for a single node.
    pub cluster: Option<ClusterConfig>,
    /// `camunda.cluster.node-id-provider.type` S3: numbers move between processes.
    pub lease: Option<NodeLease>,
}

impl BrokerConfig {
    /// The interval between ticks of a replica. The election timeout is 20 ticks.
    pub fn tick(&self) -> Duration {
        self.election_timeout() / ELECTION_TICKS
    }

    /// For a single node, the election timeout that other nodes would use.
    pub fn election_timeout(&self) -> Duration {
        let election = self.cluster.as_ref().map(|c| c.election_timeout);
        election.unwrap_or(Duration::from_secs(2))
    }

    /// Whether this node has neither partitions nor data.
    pub fn is_gateway(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.gateway)
    }

    pub fn layout(&self) -> Layout {
        let cluster = self.cluster.as_ref();
        Layout {
            size: cluster.map_or(1, |cluster| cluster.size),
            replication_factor: cluster.map_or(1, |cluster| cluster.replication_factor),
            partitions: self.partitions,
        }
    }
}

/// Minimum number of ticks until a follower that hears nothing stands for election; at most twice as many.
const ELECTION_TICKS: u32 = 20;

/// How often a node gives away a leadership at most: each change of a leader costs its clients some milliseconds.
pub const REBALANCE_PACE: Duration = Duration::from_secs(5);

/// One node of several.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Whether this node is a gateway: it has neither partitions nor data, and a number from [`skep_cluster::FIRST_GATEWAY`] on.
    pub gateway: bool,
    /// `camunda.cluster.size`.
    pub size: u32,
    /// `camunda.cluster.replication-factor`.
    pub replication_factor: u32,
    /// `camunda.cluster.network.internal-api.host` and `.port`.
    pub listen: SocketAddr,
    /// The address for other nodes: `camunda.cluster.network.internal-api.advertised-host` and `.advertised-port`.
    pub advertised: String,
    /// `camunda.cluster.initial-contact-points`.
    pub contact_points: Vec<String>,
    /// `camunda.cluster.raft.election-timeout`: a leader that has been silent for this long, or at most twice as long, is replaced.
    pub election_timeout: Duration,
    /// A node gives away one leadership per this time at most, and looks at the loads of all nodes as often: [`REBALANCE_PACE`], in tests
    /// less. Whole seconds.
    pub rebalance_pace: Duration,
    /// `camunda.cluster.network.transport-layer-security.cluster.*`.
    pub tls: Option<TlsFiles>,
}

#[derive(Clone, Debug)]
pub struct DiskConfig {
    pub monitoring_enabled: bool,
    pub monitoring_interval: Duration,
    /// `free-space.processing`: below this, new work is refused.
    pub processing: u64,
    /// `free-space.replication`: below this, the node accepts no more entries from other leaders.
    pub replication: u64,
}

impl Default for DiskConfig {
    fn default() -> Self {
        DiskConfig {
            monitoring_enabled: true,
            monitoring_interval: Duration::from_secs(1),
            processing: 2 << 30,
            replication: 1 << 30,
        }
    }
}

impl Default for BrokerConfig {
    fn default() -> Self {
        BrokerConfig {
            node_id: 0,
            partitions: 1,
            directory: PathBuf::from("data"),
            snapshot_period: Duration::from_secs(300),
            snapshot_log_bytes: 256 << 20,
            log_segment_bytes: 128 << 20,
            state_memory_bytes: 512 << 20,
            flow_control: FlowControlConfig::default(),
            write_limit: WriteConfig::default(),
            disk: DiskConfig::default(),
            check_interval: Duration::from_secs(1),
            probe_interval: Duration::from_secs(10),
            retry_interval: Duration::from_secs(10),
            poll_answer_timeout: Duration::from_secs(10),
            engine: EngineSettings::default(),
            max_message_size: 4 << 20,
            advertised: Advertised {
                host: "localhost".to_string(),
                port: 26501,
            },
            secondary_storage: Some(skep_secondary::Config::default()),
            exporters: Vec::new(),
            export_interval: Duration::from_secs(15),
            cluster_id: None,
            backup: None,
            cluster: None,
            lease: None,
        }
    }
}
