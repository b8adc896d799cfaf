//! Nodes of a cluster in one process, over real connections.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_broker::clock::Clock;
use skep_broker::{Broker, BrokerConfig, ClusterConfig, OpenError};
use skep_protocol::command::Command;
use skep_protocol::{Failure, Key, Response};
use skep_service::{Broker as _, PartitionRole};
use tempfile::TempDir;

use crate::support::{Rig, jobs};

pub const DEADLINE: Duration = Duration::from_secs(60);

pub struct Nodes {
    pub ports: Vec<SocketAddr>,
    pub directories: Vec<Arc<TempDir>>,
    pub partitions: u32,
    /// Nodes that begin the cluster.
    pub founders: u32,
}

impl Nodes {
    pub fn new(size: usize, partitions: u32) -> Nodes {
        let any = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let held: Vec<TcpListener> = (0..size).map(|_| any()).collect();
        Nodes {
            ports: held.iter().map(|l| l.local_addr().unwrap()).collect(),
            directories: held
                .iter()
                .map(|_| Arc::new(tempfile::tempdir().unwrap()))
                .collect(),
            partitions,
            founders: size as u32,
        }
    }

    /// Of these nodes some begin the cluster.
    pub fn with_founders(size: usize, founders: u32, partitions: u32) -> Nodes {
        Nodes {
            founders,
            ..Nodes::new(size, partitions)
        }
    }

    pub fn config(&self, node: usize) -> BrokerConfig {
        let size = self.founders;
        BrokerConfig {
            node_id: node as u32,
            partitions: self.partitions,
            directory: self.directories[node].path().to_path_buf(),
            check_interval: Duration::from_millis(20),
            retry_interval: Duration::from_millis(100),
            cluster: Some(ClusterConfig {
                size,
                replication_factor: size,
                listen: self.ports[node],
                advertised: self.ports[node].to_string(),
                contact_points: self.ports.iter().map(ToString::to_string).collect(),
                election_timeout: Duration::from_millis(600),
            }),
            ..BrokerConfig::default()
        }
    }

    pub fn opening(&self, node: usize) -> std::thread::JoinHandle<Result<Arc<Broker>, OpenError>> {
        let config = self.config(node);
        std::thread::spawn(move || Broker::open(config, Arc::new(Clock::default())))
    }

    pub async fn open(&self, node: usize) -> Rig {
        let opening = self.opening(node);
        self.rig(node, opening).await
    }

    pub async fn rig(
        &self,
        node: usize,
        opening: std::thread::JoinHandle<Result<Arc<Broker>, OpenError>>,
    ) -> Rig {
        wait_until("the node to open", || opening.is_finished()).await;
        Rig {
            broker: opening.join().unwrap().unwrap(),
            clock: Arc::default(),
            directory: self.directories[node].clone(),
        }
    }

    /// All of them, started at about the same time, with a leader for every partition.
    pub async fn all(&self) -> Vec<Rig> {
        let opening: Vec<_> = (0..self.founders as usize)
            .map(|node| self.opening(node))
            .collect();
        let mut rigs = Vec::new();
        for (node, opening) in opening.into_iter().enumerate() {
            rigs.push(self.rig(node, opening).await);
        }
        for rig in &rigs {
            wait_until("leaders", || knows_all_leaders(rig)).await;
        }
        rigs
    }
}

pub async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "waited for {what} in vain");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Every partition is led by a node that this one reaches.
pub fn knows_all_leaders(rig: &Rig) -> bool {
    let topology = rig.broker.topology();
    (1..=topology.partitions_count).all(|partition| leader(&topology, partition).is_some())
}

/// Its own replicas know their leaders.
pub fn reaches_all_leaders(rig: &Rig) -> bool {
    let mut partitions = rig.broker.partitions().into_iter();
    partitions.all(|partition| partition.status.leader().is_some())
}

pub fn leader(topology: &skep_service::Topology, partition: u32) -> Option<usize> {
    let leads = |broker: &&skep_service::BrokerInfo| {
        let mut partitions = broker.partitions.iter();
        partitions.any(|p| p.partition_id == partition && p.role == PartitionRole::Leader)
    };
    let broker = topology.brokers.iter().find(leads)?;
    usize::try_from(broker.node_id).ok()
}

pub async fn stop(rig: Rig) {
    let broker = rig.broker.clone();
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
}

/// Sends until it was taken: refusals that say that nothing was done, and nothing else, are tried again.
pub async fn insist(rig: &Rig, command: Command) -> Result<Response, Failure> {
    let began = Instant::now();
    loop {
        match rig.send(command.clone()).await {
            Err(Failure::Unavailable(_)) if began.elapsed() < DEADLINE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other,
        }
    }
}

/// Each of these instances has a job.
pub async fn all_are_there(rig: &Rig, mut created: HashSet<Key>) {
    let began = Instant::now();
    while !created.is_empty() {
        let left = created.len();
        assert!(began.elapsed() < DEADLINE, "{left} instances are lost");
        let found = rig
            .broker
            .activate_jobs(jobs(100), Duration::from_millis(50));
        for job in found.await.unwrap_or_default() {
            created.remove(&job.process_instance_key);
        }
    }
}
