//! The environment shared by the parts of a partition: settings, the published status, the outgoing queues.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use skep_engine::EngineConfig;
use skep_storage::space::{SpaceProbe, StatvfsProbe};

use super::background::Background;
use super::effect_sink::EffectSink;
use crate::clock::Clock;
use crate::config::BrokerConfig;
use crate::metrics::PartitionMetrics;
use crate::partition::inbox::Inbox;
use crate::partition::status::PartitionStatus;

pub struct Environment {
    pub config: BrokerConfig,
    pub engine_config: EngineConfig,
    pub status: Arc<PartitionStatus>,
    pub metrics: Arc<PartitionMetrics>,
    /// The partition's own inbox.
    pub inbox: Inbox,
    pub effect_sink: Arc<dyn EffectSink>,
    pub clock: Arc<Clock>,
    pub background: Box<dyn Background>,
    pub opened: Instant,
}

impl Environment {
    pub fn partition(&self) -> u32 {
        self.status.partition
    }

    /// Whether the partition may have replicas on other nodes.
    pub fn has_others(&self) -> bool {
        self.config.cluster.is_some()
    }

    pub fn directory(&self) -> PathBuf {
        let partition = self.partition().to_string();
        self.config.directory.join("partitions").join(partition)
    }

    /// Bytes of rows that this partition may keep in memory.
    pub fn memory_share(&self) -> usize {
        self.config.state_memory_bytes / self.engine_config.routing.count() as usize
    }

    /// Below this many free bytes, the node accepts no entries from other replicas.
    pub fn stays_free(&self) -> u64 {
        let disk = &self.config.disk;
        if disk.monitoring_enabled {
            disk.replication
        } else {
            0
        }
    }

    /// Free bytes on the disk; if that is unknown, the disk counts as having space.
    pub fn free_bytes(&self) -> u64 {
        let probe = StatvfsProbe::new(self.directory());
        probe.free_bytes().unwrap_or(u64::MAX)
    }
}
