//! Members without network, clocks and disks: messages are delivered in rounds.
#![allow(dead_code, reason = "not every test needs all of it")]

use skep_replication::{
    EntryId, Event, Group, GroupConfig, LogEvidence, Message, Output, RecoveredLog, Role,
};
use skep_storage::StorageError;
use skep_storage::log::{Entry, Frame, Recovered};

/// A log that is never read from, because everything fits into the cache.
pub struct NoLog;

impl skep_replication::EntrySource for NoLog {
    fn read(&self, from: u64, _to: u64, _max: usize) -> Result<Vec<Entry>, StorageError> {
        Err(StorageError::Compacted {
            index: from,
            first: from + 1,
        })
    }
}

pub fn group(node: u64) -> Group {
    let recovered = RecoveredLog {
        log: Recovered::default(),
        checkpoint: EntryId::default(),
        source: Box::new(NoLog),
        evidence: LogEvidence::default(),
    };
    Group::open(GroupConfig::new(7, node, vec![1, 2, 3]), recovered).unwrap()
}

/// Polls, and confirms all appends at once.
pub fn drive(group: &mut Group) -> (Vec<Message>, Vec<Event>, Vec<Frame>) {
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut out = Output::default();
        group.poll(&mut out).unwrap();
        if out.is_empty() {
            return all;
        }
        for append in out.appends {
            all.2.extend(append.frames);
            group.persisted(append.number);
        }
        all.0.append(&mut out.messages);
        all.1.append(&mut out.events);
    }
}

/// Three members without faults, once one leads. Also returns all messages sent.
pub fn elected() -> (Vec<Group>, Vec<Message>) {
    let mut groups: Vec<Group> = (1..=3).map(group).collect();
    let mut sent = Vec::new();
    for _ in 0..100 {
        for group in &mut groups {
            group.tick();
        }
        settle(&mut groups, &mut sent);
        if groups
            .iter()
            .any(|group| matches!(group.role(), Role::Leader { .. }))
        {
            return (groups, sent);
        }
    }
    panic!("nobody was elected");
}

/// Members exchange messages until there are no more.
pub fn settle(groups: &mut [Group], sent: &mut Vec<Message>) {
    while round(groups, sent) {}
}

/// Polls all members, then delivers their messages. Returns false if there were none.
pub fn round(groups: &mut [Group], sent: &mut Vec<Message>) -> bool {
    let messages: Vec<Message> = groups.iter_mut().flat_map(|group| drive(group).0).collect();
    let any = !messages.is_empty();
    for message in messages {
        let (from, to) = (message.from(), message.to() as usize);
        let bytes = message.encode();
        groups[to - 1].receive(from, Message::decode(bytes).unwrap());
        sent.push(message);
    }
    any
}
