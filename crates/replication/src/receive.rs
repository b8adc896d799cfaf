//! Messages from other members, and snapshots on their way to them.

use bytes::Bytes;
use raft::{SnapshotStatus, StateRole};
use skep_storage::log::EntryId;

use crate::convert::from_wire;
use crate::error::GroupError;
use crate::group::Group;
use crate::message::{Kind, Message};
use crate::output::Event;
use crate::snapshot::{Outgoing, SnapshotSource, Transfer};

impl Group {
    /// Takes a message from another member. Invalid messages are dropped; Raft repeats what matters.
    pub fn receive(&mut self, from: u64, mut message: Message) {
        if message.group != self.config.group
            || message.to != self.config.node
            || from == self.config.node
            || from == 0
            || self.is_restoring()
        {
            return;
        }
        message.from = from;
        let answers = self.is_woken_by(&message);
        self.record_answer(&message);
        match message.kind {
            Kind::Hibernate => self.receive_hibernate(&message),
            Kind::SnapshotChunk => self.receive_chunk(message),
            Kind::SnapshotAck => self.receive_ack(&message),
            Kind::Resignation => self.leader_resigns(&message),
            _ => {
                if let Some(message) = from_wire(message) {
                    self.step(message);
                }
            }
        }
        if answers {
            self.raft.ping();
        }
    }

    /// Passes a message to the library, unless it would make it panic in its current state.
    pub(crate) fn step(&mut self, message: raft::eraftpb::Message) {
        use raft::eraftpb::MessageType;
        let last = self.last_index();
        let current = message.term == self.raft.raft.term;
        match message.get_msg_type() {
            MessageType::MsgHeartbeat if message.commit > last => {
                if message.term >= self.raft.raft.term {
                    self.failed = Some(GroupError::LostEntries {
                        group: self.config.group,
                        expected: message.commit,
                        last,
                        remedy: self.remedy(),
                    });
                }
                return;
            }
            // A member cannot have more of our log than we have: its committed entries are missing here. A member that has restarted may
            // hear the answer to a message that it sent before it stopped.
            MessageType::MsgAppendResponse
                if current && !message.reject && message.index > last =>
            {
                if self.raft.raft.state == StateRole::Leader {
                    self.failed = Some(GroupError::LostEntries {
                        group: self.config.group,
                        expected: message.index,
                        last,
                        remedy: self.remedy(),
                    });
                }
                return;
            }
            MessageType::MsgAppend if message.term >= self.raft.raft.term => {
                if let Some((index, theirs, ours)) = self.contradicted_by(&message) {
                    self.failed = Some(GroupError::CommittedElsewhere {
                        group: self.config.group,
                        leader: message.from,
                        index,
                        theirs,
                        ours,
                    });
                    return;
                }
            }
            _ => {}
        }
        // The library answers with an error only for messages that it ignores.
        let _ = self.raft.step(message);
        self.draw_timeout();
    }

    /// A committed entry that differs from the leader's, with the terms of both: one of the two members has lost data.
    fn contradicted_by(&self, append: &raft::eraftpb::Message) -> Option<(u64, u64, u64)> {
        let committed = self.raft.raft.raft_log.committed;
        let entries = append.entries.iter().map(|entry| (entry.index, entry.term));
        let mut known = std::iter::once((append.index, append.log_term))
            .chain(entries)
            .take_while(|(index, _)| *index <= committed);
        known.find_map(|(index, theirs)| {
            let ours = self.term_at(index)?;
            (ours != theirs).then_some((index, theirs, ours))
        })
    }

    /// Answers [`Event::ProduceSnapshot`]: the chunks of a checkpoint that contains everything up to `id`, or more. The follower's log
    /// begins after `id`: if an exporter there needs older entries than the state does, the follower gets those of our log too.
    pub fn offer_snapshot(&mut self, to: u64, id: EntryId, source: Box<dyn SnapshotSource>) {
        if !self.asked.remove(&to) {
            return;
        }
        self.transfers += 1;
        self.outgoing
            .insert(to, Outgoing::new(self.transfers, id, source));
        self.raft.store().desk.borrow_mut().offered.insert(to, id);
        // The library asks again when it hears from the follower.
    }

    /// Answers [`Event::ProduceSnapshot`] when there is no snapshot to offer now. It is requested again later.
    pub fn refuse_snapshot(&mut self, to: u64) {
        self.drop_transfer(to);
    }

    /// The library has decided to send the snapshot on offer.
    pub(crate) fn start_sending(&mut self, to: u64) {
        if let Some(outgoing) = self.outgoing.get_mut(&to) {
            outgoing.started = true;
        } else {
            self.raft.report_snapshot(to, SnapshotStatus::Failure);
        }
    }

    fn drop_transfer(&mut self, to: u64) {
        self.asked.remove(&to);
        self.outgoing.remove(&to);
        let mut desk = self.raft.store().desk.borrow_mut();
        desk.offered.remove(&to);
        desk.wanted.remove(&to);
    }

    pub(crate) fn drop_outgoing(&mut self) {
        self.asked.clear();
        self.outgoing.clear();
        let mut desk = self.raft.store().desk.borrow_mut();
        desk.offered.clear();
        desk.wanted.clear();
    }

    fn fail_transfer(&mut self, to: u64) {
        self.drop_transfer(to);
        self.raft.report_snapshot(to, SnapshotStatus::Failure);
    }

    fn send_chunk(&mut self, to: u64, transfer: u64, id: EntryId, chunk: (u64, Bytes, bool)) {
        let (number, bytes, last) = chunk;
        let mut message = self.message(Kind::SnapshotChunk, to);
        message.index = id.index;
        message.log_term = id.term;
        message.commit = transfer;
        message.hint = number;
        message.payload = bytes;
        message.last = last;
        if last {
            let mut members = Vec::new();
            self.members().encode_into(&mut members);
            message.context = members.into();
        }
        self.messages.push(message);
    }

    /// Asks for snapshots that followers need, and sends what the windows allow.
    pub(crate) fn feed_snapshots(&mut self) {
        // A follower with an offer waits for it. An offer that compaction has overtaken is withdrawn.
        let wanted: Vec<u64> = {
            let mut desk = self.raft.store().desk.borrow_mut();
            let wanted = std::mem::take(&mut desk.wanted).into_iter();
            wanted.filter(|to| !desk.offered.contains_key(to)).collect()
        };
        for to in wanted {
            self.outgoing.remove(&to);
            if self.asked.insert(to) {
                self.events.push(Event::ProduceSnapshot { to });
            }
        }
        let receivers: Vec<u64> = self.outgoing.keys().copied().collect();
        for to in receivers {
            while let Some(outgoing) = self.outgoing.get_mut(&to) {
                let (transfer, id) = (outgoing.transfer, outgoing.id);
                match outgoing.advance(self.config.max_inflight_chunks) {
                    Transfer::Send {
                        number,
                        bytes,
                        last,
                    } => self.send_chunk(to, transfer, id, (number, bytes, last)),
                    Transfer::Wait => break,
                    Transfer::Failed => self.fail_transfer(to),
                }
            }
        }
    }

    pub(crate) fn tick_snapshots(&mut self) {
        let receivers: Vec<u64> = self.outgoing.keys().copied().collect();
        for to in receivers {
            let Some(outgoing) = self.outgoing.get_mut(&to) else {
                continue;
            };
            let (transfer, id) = (outgoing.transfer, outgoing.id);
            match outgoing.tick(self.config.election_ticks) {
                Some(Some(chunks)) => {
                    for chunk in chunks {
                        self.send_chunk(to, transfer, id, chunk);
                    }
                }
                Some(None) => self.fail_transfer(to),
                None => {}
            }
        }
    }

    fn receive_ack(&mut self, message: &Message) {
        let Some(outgoing) = self.outgoing.get_mut(&message.from) else {
            return;
        };
        if outgoing.transfer != message.commit || message.term != self.raft.raft.term {
            return;
        }
        if message.reject {
            self.fail_transfer(message.from);
        } else if outgoing.acknowledged(message.hint) {
            self.drop_transfer(message.from);
            self.raft
                .report_snapshot(message.from, SnapshotStatus::Finish);
        }
    }
}
