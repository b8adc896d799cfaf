//! The directory of identity on nodes without a replica of partition 1: they ask its leader ten times per second whether it has changed,
//! and fetch all of it if so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use tokio::runtime::Handle;

use super::Cluster;
use super::wire::NodeMessage;
use crate::directory_view::HOME;

const PACE: Duration = Duration::from_millis(100);

/// A directory in transit between nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeDirectory {
    /// The directory's number at the node that sends it.
    pub number: u64,
    pub rows: Vec<(Key, Entry)>,
}

/// Polls for as long as this node exists.
pub(super) fn keep_following(cluster: &Arc<Cluster>, runtime: &Handle) {
    let cluster = Arc::downgrade(cluster);
    runtime.spawn(async move {
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            let Some(cluster) = cluster.upgrade() else {
                return;
            };
            cluster.confirm_directory();
            cluster.ask_for_directory();
        }
    });
}

impl Cluster {
    /// Notes that the directory is current: this node leads partition 1, or hears its leader.
    fn confirm_directory(&self) {
        let leader = self.leader_of(HOME);
        let is_present = |leader| leader == self.node() || self.is_present(leader);
        if let Some(local) = self.local()
            && leader.is_some_and(is_present)
        {
            local.directory.confirm(Instant::now());
        }
    }

    fn ask_for_directory(&self) {
        let Some(local) = self.local() else {
            return;
        };
        if local.partition(HOME).is_some() {
            return;
        }
        if let Some(leader) = self.leader_of(HOME) {
            let of_leader = *self.peers.followed.lock();
            let known = of_leader.filter(|(node, _)| *node == leader);
            let known = known.map(|(_, number)| number);
            self.send(leader, &NodeMessage::DirectoryWanted { known });
        }
    }

    /// Answers another node's request; sends nothing if that node is up to date.
    pub(super) fn send_directory(&self, node: u32, known: Option<u64>) {
        let Some(local) = self.local() else {
            return;
        };
        let number = local.directory.number();
        if known != Some(number) {
            let rows = local.directory.get().rows();
            let whole = WholeDirectory { number, rows };
            self.send(node, &NodeMessage::DirectoryIs(Box::new(whole)));
        }
    }

    pub(super) fn directory_is(&self, node: u32, whole: WholeDirectory) {
        let Some(local) = self.local() else {
            return;
        };
        let mut directory = Directory::default();
        for (key, entry) in &whole.rows {
            directory.add(*key, entry);
        }
        local.directory.receive(directory);
        *self.peers.followed.lock() = Some((node, whole.number));
    }
}
