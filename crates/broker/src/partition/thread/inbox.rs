//! What reaches a partition: work, and reports that must not wait behind work.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::Message;

/// The sending half of a partition's inbox.
///
/// The channels have no bound of their own: clients' commands have their [`Place`](crate::flow_control::Place) before they
/// get here, and the rest is the partition's own work.
#[derive(Clone, Debug)]
pub struct Inbox {
    reports: Sender<Message>,
    work: Sender<Message>,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct Incoming {
    reports: Receiver<Message>,
    work: Receiver<Message>,
}

pub(super) fn inbox() -> (Inbox, Incoming) {
    let (reports, reports_in) = unbounded();
    let (work, work_in) = unbounded();
    let incoming = Incoming {
        reports: reports_in,
        work: work_in,
    };
    (Inbox { reports, work }, incoming)
}

impl Inbox {
    /// An inbox that nobody reads.
    pub(super) fn closed() -> Inbox {
        inbox().0
    }

    pub fn send(&self, message: Message) {
        let to = match &message {
            Message::Log(_)
            | Message::CheckpointDone { .. }
            | Message::TakeSnapshot(_)
            | Message::Wake
            | Message::Stop => &self.reports,
            _ => &self.work,
        };
        // A stopped partition drops its messages; dropped responders tell their clients.
        let _ = to.send(message);
    }
}

impl Incoming {
    pub fn report(&self) -> Option<Message> {
        self.reports.try_recv().ok()
    }

    pub fn has_report(&self) -> bool {
        !self.reports.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.work.is_empty()
    }

    pub fn work(&self) -> Option<Message> {
        self.work.try_recv().ok()
    }

    /// Waits for whatever comes first. The partition holds a sender of its own: there is always somebody to wait for.
    pub fn wait(&self, time: Duration) -> Option<Message> {
        crossbeam_channel::select_biased! {
            recv(self.reports) -> message => message.ok(),
            recv(self.work) -> message => message.ok(),
            default(time) => None,
        }
    }
}
