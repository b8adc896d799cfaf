//! Holds messages for a partition until this node knows its leader: commands from other partitions, and jobs that did not reach their
//! worker. Without this, a command would be delayed by `BrokerConfig::retry_interval`, after which its sender repeats it, and a job by its
//! timeout; an election is much shorter.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_engine::Sent;
use skep_protocol::response::JobActivation;
use skep_service::PartitionRole;

use super::Cluster;
use super::wire::NodeMessage;

/// Maximum bytes of held commands. Commands beyond that are dropped, and repeated by their senders.
const MAX_BYTES: usize = 16 << 20;
/// Commands are delivered in batches of this size: the threads of partitions wait for the lock meanwhile.
const PORTION: usize = 256;
/// Minimum size at which a command is counted, in bytes.
const LEAST_BYTES: usize = 1 << 10;

/// How a command came here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Sent by a partition that is led here.
    Own,
    /// Sent by a node that took this one for the leader's. It is forwarded once.
    FromAnother,
    /// Already forwarded: it is either taken here or dropped, and repeated by its sender.
    SentOn,
}

#[derive(Debug)]
enum Parcel {
    Command(Box<Sent>),
    GivenBack(Vec<JobActivation>),
}

impl Parcel {
    fn size(&self, partition: u32) -> usize {
        match self {
            Parcel::Command(command) => {
                let message = NodeMessage::Remote {
                    partition,
                    command: command.clone(),
                    forwarded: false,
                };
                message.encode().len()
            }
            Parcel::GivenBack(jobs) => std::mem::size_of_val(jobs.as_slice()),
        }
    }
}

/// A message to the leader of a partition.
#[derive(Debug)]
struct Held {
    parcel: Parcel,
    way: Way,
}

/// A message that waits for a leader.
struct Queued {
    held: Held,
    bytes: usize,
    since: Instant,
}

/// By partition, in sending order: a subscription must not be closed before it was opened.
#[derive(Default)]
pub(super) struct HeldCommands {
    /// Avoids locking while nothing waits.
    count: AtomicUsize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    commands: BTreeMap<u32, VecDeque<Queued>>,
    bytes: usize,
}

impl HeldCommands {
    /// Delivers the command, after those that wait for the partition. `deliver` gives back what cannot be delivered now: that waits, and so
    /// does everything after it.
    fn send(
        &self,
        partition: u32,
        held: Held,
        size: impl FnOnce(&Parcel) -> usize,
        deliver: impl Fn(Held) -> Option<Held>,
    ) {
        let mut waits = Some(held);
        // It is encoded to be sent or measured, which takes a while if it is large: threads of other partitions need the lock.
        if !self.has_waiting(partition) {
            waits = waits.and_then(&deliver);
        }
        let Some(held) = waits else {
            return;
        };
        let bytes = size(&held.parcel).max(LEAST_BYTES);
        let mut waiting = self.waiting.lock();
        let mut waits = Some(held);
        if waiting.deliver(partition, &deliver) {
            waits = waits.and_then(&deliver);
        }
        if let Some(held) = waits {
            waiting.keep(partition, held, bytes);
        }
        self.count.store(waiting.count(), Ordering::Release);
    }

    fn has_waiting(&self, partition: u32) -> bool {
        let some = self.count.load(Ordering::Acquire) > 0;
        some && self.waiting.lock().commands.contains_key(&partition)
    }

    /// Delivers waiting messages that can be delivered, and drops those that have waited so long that their senders repeat them.
    fn look(&self, longest: Duration, deliver: impl Fn(u32, Held) -> Option<Held>) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let partitions: Vec<u32> = self.waiting.lock().commands.keys().copied().collect();
        for partition in partitions {
            loop {
                let mut waiting = self.waiting.lock();
                waiting.drop_older(partition, longest);
                let before = waiting.count();
                let all = waiting.deliver(partition, &|held| deliver(partition, held));
                let delivered = before - waiting.count();
                self.count.store(waiting.count(), Ordering::Release);
                if all || delivered < PORTION {
                    break;
                }
            }
        }
    }

    /// Drops everything, as after a purge.
    pub(super) fn clear(&self) {
        let mut waiting = self.waiting.lock();
        *waiting = Waiting::default();
        self.count.store(0, Ordering::Release);
    }
}

impl Waiting {
    fn count(&self) -> usize {
        self.commands.values().map(VecDeque::len).sum()
    }

    fn keep(&mut self, partition: u32, held: Held, bytes: usize) {
        if self.bytes + bytes <= MAX_BYTES {
            self.bytes += bytes;
            let commands = self.commands.entry(partition).or_default();
            let since = Instant::now();
            commands.push_back(Queued { held, bytes, since });
        }
    }

    /// Delivers at most one batch. True if nothing waits for the partition any more.
    fn deliver(&mut self, partition: u32, deliver: &impl Fn(Held) -> Option<Held>) -> bool {
        let Some(commands) = self.commands.get_mut(&partition) else {
            return true;
        };
        for _ in 0..PORTION {
            let Some(Queued { held, bytes, since }) = commands.pop_front() else {
                break;
            };
            if let Some(held) = deliver(held) {
                commands.push_front(Queued { held, bytes, since });
                return false;
            }
            self.bytes -= bytes;
        }
        let all = commands.is_empty();
        if all {
            self.commands.remove(&partition);
        }
        all
    }

    fn drop_older(&mut self, partition: u32, longest: Duration) {
        let Some(commands) = self.commands.get_mut(&partition) else {
            return;
        };
        while let Some(queued) = commands.pop_front_if(|it| it.since.elapsed() >= longest) {
            self.bytes -= queued.bytes;
        }
    }
}

impl Cluster {
    /// Sends a command to a partition that is led elsewhere. If it is lost, it is sent again.
    pub fn send_remote(&self, partition: u32, command: Sent) {
        let parcel = Parcel::Command(Box::new(command));
        let way = Way::Own;
        self.hand_on(partition, Held { parcel, way });
    }

    /// Gives back jobs that did not reach their worker, of any partitions.
    pub(crate) fn give_back(&self, jobs: impl IntoIterator<Item = JobActivation>) {
        let routing = self.local.known.routing();
        for job in jobs {
            if let Some(partition) = routing.home(job.key) {
                let parcel = Parcel::GivenBack(vec![job]);
                let way = Way::Own;
                self.hand_on(partition, Held { parcel, way });
            }
        }
    }

    /// Passes it to the partition's leader, as soon as there is one.
    fn hand_on(&self, partition: u32, held: Held) {
        let size = |parcel: &Parcel| parcel.size(partition);
        let deliver = |held| self.deliver(partition, held);
        self.exchanges.held.send(partition, held, size, deliver);
    }

    /// Delivers it, or gives it back if the leader is unknown or unreachable.
    fn deliver(&self, partition: u32, mut held: Held) -> Option<Held> {
        let Some(local) = self.local() else {
            return Some(held);
        };
        let handle = local.partition(partition);
        if let Some(handle) = handle.filter(|it| it.status.role() == PartitionRole::Leader) {
            match held.parcel {
                Parcel::Command(command) => local.remote_here(&handle, *command),
                Parcel::GivenBack(jobs) => local.give_back(partition, jobs),
            }
            return None;
        }
        let leader = match self.leader_of(partition) {
            // No leader is known, or this node is about to lead.
            None => return Some(held),
            Some(leader) if leader == self.node() => return Some(held),
            Some(leader) => leader,
        };
        if held.way == Way::SentOn {
            return None;
        }
        let forwarded = held.way != Way::Own;
        held.parcel = match held.parcel {
            Parcel::Command(command) => {
                let message = NodeMessage::Remote {
                    partition,
                    command,
                    forwarded,
                };
                if self.send(leader, &message) {
                    return None;
                }
                let NodeMessage::Remote { command, .. } = message else {
                    return None;
                };
                Parcel::Command(command)
            }
            Parcel::GivenBack(jobs) => {
                let back = jobs.clone();
                let message = if !forwarded {
                    NodeMessage::GiveBack {
                        partition,
                        jobs: back,
                    }
                } else {
                    NodeMessage::ForwardedGiveBack {
                        partition,
                        jobs: back,
                    }
                };
                if self.send(leader, &message) {
                    return None;
                }
                Parcel::GivenBack(jobs)
            }
        };
        Some(held)
    }

    /// To be called periodically: leaders become known meanwhile.
    pub(super) fn deliver_held(&self) {
        let deliver = |partition, held| self.deliver(partition, held);
        self.exchanges
            .held
            .look(self.config.retry_interval, deliver);
    }

    pub(super) fn remote_command(&self, partition: u32, command: Box<Sent>, forwarded: bool) {
        self.came(partition, Parcel::Command(command), forwarded);
    }

    pub(super) fn given_back(&self, partition: u32, jobs: Vec<JobActivation>, forwarded: bool) {
        self.came(partition, Parcel::GivenBack(jobs), forwarded);
    }

    /// Handles a message from another node.
    fn came(&self, partition: u32, parcel: Parcel, forwarded: bool) {
        let way = if forwarded {
            Way::SentOn
        } else {
            Way::FromAnother
        };
        self.hand_on(partition, Held { parcel, way });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use skep_engine::{RemoteCommand, Sent};
    use skep_protocol::Key;

    use super::{Held, HeldCommands, MAX_BYTES, PORTION, Parcel, Way};

    fn held(number: u32) -> Held {
        let command = RemoteCommand::AcknowledgeDistribution {
            distribution_key: Key::new(2, 7),
            partition: number,
        };
        Held {
            parcel: Parcel::Command(Box::new(Sent::from(command))),
            way: Way::Own,
        }
    }

    fn number(held: &Held) -> u32 {
        let Parcel::Command(command) = &held.parcel else {
            unreachable!("only commands are sent here")
        };
        match command.command {
            RemoteCommand::AcknowledgeDistribution { partition, .. } => partition,
            _ => unreachable!("no other is sent here"),
        }
    }

    #[test]
    fn commands_wait_for_a_leader_and_are_delivered_in_their_order() {
        let (commands, delivered) = (HeldCommands::default(), RefCell::new(Vec::new()));
        let has_leader = Cell::new(false);
        let deliver = |held: Held| {
            if !has_leader.get() {
                Some(held)
            } else {
                delivered.borrow_mut().push(number(&held));
                None
            }
        };
        let send = |n| commands.send(1, held(n), |_| 1, deliver);
        let look = || commands.look(Duration::MAX, |_, held| deliver(held));
        send(1);
        send(2);
        look();
        assert!(delivered.borrow().is_empty());
        has_leader.set(true);
        send(3);
        assert_eq!(*delivered.borrow(), [1, 2, 3]);
        has_leader.set(false);
        send(4);
        has_leader.set(true);
        look();
        send(5);
        assert_eq!(*delivered.borrow(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn commands_beyond_a_portion_are_delivered_next_and_in_order() {
        let (commands, delivered) = (HeldCommands::default(), RefCell::new(Vec::new()));
        let most = 3 * PORTION as u32;
        for n in 0..most {
            commands.send(1, held(n), |_| 1, Some);
        }
        let deliver = |held: Held| {
            delivered.borrow_mut().push(number(&held));
            None
        };
        commands.send(1, held(most), |_| 1, deliver);
        assert_eq!(delivered.borrow().len(), PORTION);
        commands.look(Duration::MAX, |_, held| deliver(held));
        assert_eq!(*delivered.borrow(), (0..=most).collect::<Vec<_>>());
    }

    #[test]
    fn others_can_send_while_a_command_is_measured_or_delivered() {
        let (commands, delivered) = (HeldCommands::default(), Cell::new(0));
        let is_free = || assert!(commands.waiting.try_lock().is_some());
        let size = |_: &Parcel| {
            is_free();
            1
        };
        for n in 0..3 {
            commands.send(1, held(n), size, Some);
        }
        // Of a partition for which nothing waits.
        let deliver = |_: Held| {
            is_free();
            delivered.set(delivered.get() + 1);
            None
        };
        commands.send(2, held(3), size, deliver);
        assert_eq!((commands.waiting.lock().count(), delivered.get()), (3, 1));
    }

    #[test]
    fn held_commands_are_bounded_and_expire() {
        let commands = HeldCommands::default();
        for n in 0..40 {
            commands.send(n % 3, held(n), |_| 1 << 20, Some);
        }
        assert_eq!(commands.waiting.lock().count(), MAX_BYTES >> 20);
        commands.look(Duration::ZERO, |_, held| Some(held));
        let waiting = commands.waiting.lock();
        assert_eq!((waiting.count(), waiting.bytes), (0, 0));
    }
}
