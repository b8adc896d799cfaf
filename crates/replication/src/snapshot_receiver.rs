//! Receives a snapshot from the leader, part by part.
//!
//! A part is acknowledged once the owner has taken it; until the owner can take the next one, the leader holds it back. The library learns
//! of the snapshot only when all parts were taken, so a snapshot that finds no disk space can be given up until then.

use bytes::Bytes;
use skep_storage::log::EntryId;

use crate::convert::MAX_NUMBER;
use crate::entries::raft_snapshot;
use crate::group::Group;
use crate::members::Members;
use crate::message::{Kind, Message};
use crate::output::{Event, Part};

/// One transfer among those of all leaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Transfer {
    from: u64,
    term: u64,
    number: u64,
    id: EntryId,
}

/// The snapshot that is being received.
#[derive(Debug)]
struct Incoming {
    transfer: Transfer,
    arrival: u64,
    /// The number of the part that comes next.
    next: u64,
    /// Number of parts that the owner has taken.
    taken: u64,
    /// The members that came with the last part, once that is here.
    members: Option<Bytes>,
}

/// The snapshot that is being received, and earlier ones.
#[derive(Debug, Default)]
pub(crate) struct SnapshotReceiver {
    incoming: Option<Incoming>,
    /// A transfer that was given up: only its first part would make it begin again.
    abandoned: Option<Transfer>,
    /// Number of snapshots whose first part has arrived so far.
    arrivals: u64,
}

impl SnapshotReceiver {
    pub(crate) fn is_under_way(&self) -> bool {
        self.incoming.is_some()
    }

    /// A part of a snapshot has arrived.
    fn take_in(&mut self, transfer: Transfer, message: &Message) -> Answer {
        match &self.incoming {
            Some(incoming) if incoming.transfer == transfer => {}
            // All of it has arrived. Whoever offers it again is notified when it is installed.
            Some(incoming) if incoming.members.is_some() => return Answer::None,
            _ if message.hint == 0 => {
                self.arrivals += 1;
                self.incoming = Some(Incoming {
                    transfer,
                    arrival: self.arrivals,
                    next: 0,
                    taken: 0,
                    members: None,
                });
            }
            _ if self.abandoned == Some(transfer) => return Answer::None,
            // The chunks before this one were lost in a restart.
            _ => return Answer::Reject,
        }
        let Some(incoming) = &mut self.incoming else {
            return Answer::None;
        };
        if message.hint != incoming.next {
            return Answer::Taken(incoming.taken);
        }
        incoming.next += 1;
        incoming.members = message.last.then(|| message.context.clone());
        Answer::Owner(Part {
            arrival: incoming.arrival,
            number: message.hint,
        })
    }
}

/// How to answer a part.
enum Answer {
    None,
    /// The sender must start over.
    Reject,
    /// This many parts were taken.
    Taken(u64),
    /// The owner gets it.
    Owner(Part),
}

impl Group {
    pub(crate) fn receive_chunk(&mut self, message: Message) {
        // Chunks of an old leader would only delay the new one's.
        let sensible = message.term >= self.raft.raft.term
            && message.term < MAX_NUMBER
            && (1..MAX_NUMBER).contains(&message.index)
            && (1..=message.term).contains(&message.log_term);
        if !sensible {
            return;
        }
        let transfer = Transfer {
            from: message.from,
            term: message.term,
            number: message.commit,
            id: EntryId {
                index: message.index,
                term: message.log_term,
            },
        };
        match self.snapshot_receiver.take_in(transfer, &message) {
            Answer::None => {}
            Answer::Reject => self.acknowledge(transfer, 0, true),
            Answer::Taken(next) => self.acknowledge(transfer, next, false),
            Answer::Owner(part) => self.events.push(Event::SnapshotChunk {
                id: transfer.id,
                part,
                last: message.last,
                bytes: message.payload,
            }),
        }
    }

    /// The owner has taken the parts of a snapshot up to this one: more may come, or it is to be installed. Calls for a snapshot that is no
    /// longer being received are ignored.
    pub fn snapshot_taken(&mut self, part: Part) {
        let incoming = self.snapshot_receiver.incoming.as_mut();
        let Some(incoming) = incoming.filter(|i| i.arrival == part.arrival) else {
            return;
        };
        incoming.taken = incoming.taken.max(part.number + 1).min(incoming.next);
        let (transfer, taken) = (incoming.transfer, incoming.taken);
        let is_all = taken == incoming.next;
        if let Some(members) = incoming.members.take_if(|_| is_all) {
            self.snapshot_receiver = SnapshotReceiver {
                arrivals: self.snapshot_receiver.arrivals,
                ..SnapshotReceiver::default()
            };
            self.restore(transfer, members);
        }
        self.acknowledge(transfer, taken, false);
    }

    /// The owner cannot take the snapshot of this part, for lack of space, and has dropped what had arrived: the member stays as it was.
    /// The leader offers it again by itself: at once if parts of it were taken, otherwise periodically.
    pub fn abandon_snapshot(&mut self, part: Part) {
        let is_this = |incoming: &mut Incoming| incoming.arrival == part.arrival;
        let Some(incoming) = self.snapshot_receiver.incoming.take_if(is_this) else {
            return;
        };
        self.snapshot_receiver.abandoned = Some(incoming.transfer);
        if incoming.taken > 0 {
            self.acknowledge(incoming.transfer, 0, true);
        }
    }

    /// Forgets a snapshot whose entries came through the log: its leader was replaced half-way, and the next leader had the entries. Nobody
    /// sends the remaining parts, and a member that waits for parts does not hibernate.
    pub(crate) fn forget_overtaken_snapshot(&mut self) {
        let delivered = self.delivered;
        // A snapshot that has arrived completely ends when its last part is taken.
        let is_overtaken = |incoming: &mut Incoming| {
            incoming.transfer.id.index <= delivered && incoming.members.is_none()
        };
        let incoming = &mut self.snapshot_receiver.incoming;
        if incoming.take_if(is_overtaken).is_some() {
            self.events.push(Event::DiscardSnapshot);
        }
    }

    fn acknowledge(&mut self, transfer: Transfer, next: u64, reject: bool) {
        let mut answer = self.message(Kind::SnapshotAck, transfer.from);
        answer.term = transfer.term;
        answer.index = transfer.id.index;
        answer.log_term = transfer.id.term;
        answer.commit = transfer.number;
        answer.hint = next;
        answer.reject = reject;
        self.messages.push(answer);
    }

    /// All chunks were taken: let the library decide whether the snapshot is needed.
    fn restore(&mut self, transfer: Transfer, members: Bytes) {
        // They may be newer than the snapshot: the changes in between are skipped when they arrive.
        let Ok(members) = Members::decode(members) else {
            self.events.push(Event::DiscardSnapshot);
            return;
        };
        let mut step = raft::eraftpb::Message::default();
        step.set_msg_type(raft::eraftpb::MessageType::MsgSnapshot);
        step.from = transfer.from;
        step.to = self.config.node;
        step.term = transfer.term;
        step.set_snapshot(raft_snapshot(transfer.id, &members.conf_state()));
        self.snapshot_members = Some(members);
        self.step(step);
        let taken = self
            .raft
            .snap()
            .is_some_and(|snapshot| snapshot.get_metadata().index == transfer.id.index);
        if !taken {
            self.snapshot_members = None;
            self.events.push(Event::DiscardSnapshot);
        }
    }
}
