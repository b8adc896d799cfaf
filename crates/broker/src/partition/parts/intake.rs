//! Work that has arrived and was not evaluated yet: the inbox, and work that waits for capacity.

use std::collections::VecDeque;
use std::time::Duration;

use crate::partition::inbox::Incoming;
use crate::partition::message::{Message, Report, Work};

pub struct Intake {
    inbox: Incoming,
    backlog: VecDeque<Work>,
}

impl Intake {
    pub fn new(inbox: Incoming) -> Intake {
        Intake {
            inbox,
            backlog: VecDeque::new(),
        }
    }

    pub fn report(&self) -> Option<Report> {
        self.inbox.report()
    }

    pub fn has_report(&self) -> bool {
        self.inbox.has_report()
    }

    /// The next message of the inbox that is not a report.
    pub fn message(&self) -> Option<Message> {
        self.inbox.work()
    }

    /// Waits for whatever comes first, at most this long; it may give up early.
    pub fn wait(&self, time: Duration) -> Option<Message> {
        self.inbox.wait(time)
    }

    /// Whether no work waits to be evaluated.
    pub fn is_empty(&self) -> bool {
        self.backlog.is_empty() && self.inbox.is_empty()
    }

    /// Work that waits for room.
    pub fn backlog(&mut self) -> &mut VecDeque<Work> {
        &mut self.backlog
    }

    pub fn waiting(&self) -> usize {
        self.backlog.len()
    }

    /// Removes the work of clients that are gone. Returns how many there were.
    pub fn forget_abandoned(&mut self) -> usize {
        let before = self.backlog.len();
        self.backlog.retain(|work| !work.is_abandoned());
        before - self.backlog.len()
    }
}
