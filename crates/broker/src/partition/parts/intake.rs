//! Work that has arrived and was not evaluated yet: the inbox, and work that waits for capacity.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::partition::inbox::Incoming;
use crate::partition::message::{ClientRequest, Message, Report, Work};

pub struct Intake {
    inbox: Incoming,
    /// Work that waits for room.
    backlog: VecDeque<Work>,
    /// The job types of which a [`Work::StreamHasRoom`] is in the backlog. One serves all streams of a type: clients may open any number of
    /// streams, and each such work looks at all waiting jobs of the type.
    with_room: FxHashSet<Arc<str>>,
    /// Requests about correlation keys that are about to move to another partition. They are among the requests in flight, which are limited.
    frozen: VecDeque<ClientRequest>,
}

impl Intake {
    pub fn new(inbox: Incoming) -> Intake {
        Intake {
            inbox,
            backlog: VecDeque::new(),
            with_room: FxHashSet::default(),
            frozen: VecDeque::new(),
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
        self.backlog.is_empty() && self.frozen.is_empty() && self.inbox.is_empty()
    }

    /// Puts work behind all work that waits for room.
    pub fn waits(&mut self, work: Work) {
        if let Work::StreamHasRoom(job_type) = &work
            && !self.with_room.insert(Arc::clone(job_type))
        {
            return;
        }
        self.backlog.push_back(work);
    }

    /// Takes the oldest work that waits for room.
    pub fn next_waiting(&mut self) -> Option<Work> {
        let work = self.backlog.pop_front()?;
        if let Work::StreamHasRoom(job_type) = &work {
            self.with_room.remove(job_type);
        }
        Some(work)
    }

    /// Takes all work that waits for room.
    pub fn take_waiting(&mut self) -> VecDeque<Work> {
        self.with_room.clear();
        std::mem::take(&mut self.backlog)
    }

    /// Keeps a request until its correlation key has moved.
    pub fn freeze(&mut self, request: ClientRequest) {
        self.frozen.push_back(request);
    }

    /// The oldest request about a correlation key that is about to move.
    pub fn frozen(&self) -> Option<&ClientRequest> {
        self.frozen.front()
    }

    pub fn take_frozen(&mut self) -> VecDeque<ClientRequest> {
        std::mem::take(&mut self.frozen)
    }

    pub fn waiting(&self) -> usize {
        self.backlog.len()
    }

    /// Removes the work of clients that are gone. Returns how many there were.
    pub fn forget_abandoned(&mut self) -> usize {
        let before = self.backlog.len() + self.frozen.len();
        self.backlog.retain(|work| !work.is_abandoned());
        self.frozen.retain(|it| !it.responder.is_abandoned());
        before - self.backlog.len() - self.frozen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Intake, Work};
    use crate::partition::inbox::inbox;

    #[test]
    fn work_for_streams_with_room_waits_once_for_each_job_type() {
        let (_inbox, incoming) = inbox();
        let mut intake = Intake::new(incoming);
        let has_room = |job_type: &str| Work::StreamHasRoom(job_type.into());
        for _ in 0..2_000 {
            intake.waits(has_room("work"));
            intake.waits(has_room("other"));
        }
        assert_eq!(intake.waiting(), 2);
        let next = intake.next_waiting();
        assert!(matches!(next, Some(Work::StreamHasRoom(it)) if &*it == "work"));
        // Room that comes while jobs are pushed is used too.
        intake.waits(has_room("work"));
        assert_eq!(intake.waiting(), 2);
        assert_eq!(intake.take_waiting().len(), 2);
        intake.waits(has_room("work"));
        assert_eq!(intake.waiting(), 1);
    }
}
