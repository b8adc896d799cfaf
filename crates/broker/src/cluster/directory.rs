//! The directory of identity on nodes without a replica of partition 1, or with one that takes no entries because the disk is nearly full:
//! they ask its leader ten times per second whether it has changed, and fetch all of it if so, until their replica has caught up. A node that
//! has none yet asks any copy while there is no leader.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use skep_service::{Reply, reply_channel};
use tokio::runtime::Handle;

use super::Cluster;
use super::wire::NodeMessage;
use crate::directory_view::HOME;
use crate::local::Local;
use crate::partition::PartitionHandle;

const PACE: Duration = Duration::from_millis(100);
/// After a pause of the process, what it knows about the others is as old as the pause. Within this time it hears from them.
const AFTER_PAUSE: Duration = Duration::from_secs(1);
/// Longest time for which the answer to a change waits until this node goes by it, and the time between two looks.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(2);

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
        let mut pauses = Pauses::new(Instant::now());
        loop {
            pace.tick().await;
            let Some(cluster) = cluster.upgrade() else {
                return;
            };
            if pauses.is_over(Instant::now()) {
                cluster.confirm_directory();
            }
            cluster.ask_for_directory();
        }
    });
}

/// Recognizes that the process was paused.
struct Pauses {
    last: Instant,
    since: Option<Instant>,
}

impl Pauses {
    fn new(now: Instant) -> Pauses {
        Pauses {
            last: now,
            since: None,
        }
    }

    /// Called at each tick: whether the process has run long enough since its last pause.
    fn is_over(&mut self, now: Instant) -> bool {
        let since_last = now.saturating_duration_since(self.last);
        debug_assert!(now >= self.last, "ticks come in order");
        self.last = now;
        if since_last > AFTER_PAUSE {
            self.since = Some(now);
        }
        self.since
            .take_if(|since| now.saturating_duration_since(*since) > AFTER_PAUSE);
        self.since.is_none()
    }
}

impl Cluster {
    /// Notes since when the directory may have a gap: it was current when this node last heard the leader of partition 1, not as long as
    /// that one counts as present, which takes seconds to end.
    fn confirm_directory(&self) {
        let (Some(local), Some(leader)) = (self.local(), self.leader_of(HOME)) else {
            return;
        };
        let heard = if leader == self.node() {
            Some(Instant::now())
        } else {
            self.last_contact(leader)
        };
        if let Some(heard) = heard {
            local.directory.confirm(heard);
        }
    }

    /// The answer to a change of users or permissions, once this node goes by it: who creates a user here can log in as that user here.
    /// `before`: the number of the directory when the change was sent.
    pub(crate) fn answers_when_known(self: &Arc<Self>, reply: Reply, before: u64) -> Reply {
        let (Some(local), Some(runtime)) = (self.local(), self.runtime()) else {
            return reply;
        };
        // The leader knows it before it answers.
        if local.leads(HOME) {
            return reply;
        }
        let (responder, known) = reply_channel();
        // It is in doubt if this node stops meanwhile.
        responder.begins();
        let cluster = Arc::clone(self);
        runtime.spawn(async move {
            let answer = reply.await;
            if answer.result.is_ok() {
                cluster.learn_of_change(before).await;
            }
            let _ = responder.send(answer);
        });
        known
    }

    async fn learn_of_change(self: &Arc<Self>, before: u64) {
        let Some(local) = self.local() else {
            return;
        };
        if has_directory(local) {
            return self.apply_change(local).await;
        }
        let known = local.directory.number();
        // An update since then may be that of an earlier change. The leader sends a later one at once.
        let (unlike, longest) = if known == before {
            (before, KNOWN_WITHIN)
        } else {
            (known, PACE)
        };
        self.ask_for_directory();
        let until = Instant::now() + longest;
        while local.directory.number() == unlike && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the replica of this node has applied what the leader has committed.
    async fn apply_change(self: &Arc<Self>, local: &Local) {
        let Some(replica) = local.partition(HOME) else {
            return;
        };
        let until = Instant::now() + KNOWN_WITHIN;
        let (told, position) = tokio::sync::oneshot::channel();
        let known = move |entry: Option<u64>| {
            // Who waited may have given up.
            let _ = told.send(entry);
        };
        self.ask_position(HOME, Box::new(known));
        let position = tokio::time::timeout(KNOWN_WITHIN, position).await;
        let entry = position.ok().and_then(Result::ok).flatten().unwrap_or(0);
        let applied = || replica.status.applied.load(Ordering::Acquire);
        while applied() < entry && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn ask_for_directory(self: &Arc<Self>) {
        let Some(local) = self.local() else {
            return;
        };
        if let Some(replica) = taking_entries(local) {
            self.catch_up(local, &replica);
        }
        if has_directory(local) {
            return;
        }
        let leader = self.leader_of(HOME);
        let is_there = leader.is_some_and(|leader| self.is_present(leader));
        let asked = if is_there || !local.directory.get().is_empty() {
            leader
        } else {
            // What any copy of the first partition knows is better than nothing.
            let mut nodes = self.reached_nodes().into_iter();
            nodes.find(|node| self.peers.members.has_replica(*node, HOME))
        };
        if let Some(asked) = asked {
            let followed = *self.peers.followed.lock();
            let known = followed.filter(|(node, _)| *node == asked);
            let known = known.map(|(_, number)| number);
            self.send(asked, &NodeMessage::DirectoryWanted { known });
        }
    }

    /// The replica takes entries, perhaps again, and its directory may still be older than what this node has received.
    fn catch_up(self: &Arc<Self>, local: &Local, replica: &PartitionHandle) {
        if replica.leads() {
            return local.directory.leads();
        }
        local
            .directory
            .has_applied(replica.status.applied.load(Ordering::Acquire));
        if !local.directory.wants_position() {
            return;
        }
        let (cluster, received) = (Arc::downgrade(self), local.directory.number());
        let known = move |entry: Option<u64>| {
            if let Some(entry) = entry
                && let Some(cluster) = cluster.upgrade()
                && let Some(local) = cluster.local()
            {
                local.directory.is_as_new_at(received, entry);
            }
        };
        self.ask_position(HOME, Box::new(known));
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
        // A replica that has caught up since takes precedence.
        let Some(local) = self.local().filter(|local| !has_directory(local)) else {
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

/// Whether the node's own replica of partition 1 keeps the directory up to date.
fn has_directory(local: &Local) -> bool {
    taking_entries(local).is_some() && !local.directory.is_received()
}

/// The node's own replica of partition 1, unless it has no room for what is decided.
fn taking_entries(local: &Local) -> Option<Arc<PartitionHandle>> {
    let takes_entries = |replica: &PartitionHandle| {
        !local.disk.very_low.load(Ordering::Relaxed)
            && !replica.status.space.no_room.load(Ordering::Relaxed)
    };
    let replica = local.partition(HOME);
    replica.filter(|replica| replica.leads() || takes_entries(replica))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{AFTER_PAUSE, PACE, Pauses};

    #[test]
    fn after_a_pause_a_node_waits_until_it_has_heard_from_others() {
        let mut now = Instant::now();
        let mut pauses = Pauses::new(now);
        let mut tick = |time: Duration| {
            now += time;
            pauses.is_over(now)
        };
        assert!(tick(PACE));
        assert!(tick(AFTER_PAUSE), "it was only late");
        assert!(!tick(Duration::from_secs(4)));
        let waits = (0..20).take_while(|_| !tick(PACE)).count();
        assert_eq!(waits, 10);
        assert!(tick(PACE));
    }
}
