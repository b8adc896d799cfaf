//! Messages to a partition: work, and reports that must not wait behind work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::message::{Message, Report};

/// The sending half of a partition's inbox.
///
/// The channels have no bound of their own: clients' commands have their [`InboxPermit`](crate::flow_control::InboxPermit) before they
/// get here, and the rest is the partition's own work.
#[derive(Clone, Debug)]
pub struct Inbox {
    reports: Sender<Report>,
    work: Sender<Message>,
    sleep: Arc<Sleep>,
}

/// The receiving half.
#[derive(Debug)]
pub struct Incoming {
    reports: Receiver<Report>,
    work: Receiver<Message>,
    sleep: Arc<Sleep>,
}

/// The partition's thread while it is idle. Waking it costs a system call and a context switch, so a sender with several messages should
/// send them all before waking it.
#[derive(Debug, Default)]
struct Sleep {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
    /// How often the thread has looked for messages.
    looks: AtomicU64,
}

impl Sleep {
    fn wake(&self) {
        // Either a thread that falls asleep after this sees the message, or the thread is seen asleep.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed)
            && self.asleep.swap(false, Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

pub fn inbox() -> (Inbox, Incoming) {
    let (reports, reports_in) = unbounded();
    let (work, work_in) = unbounded();
    let sleep = Arc::<Sleep>::default();
    let incoming = Incoming {
        reports: reports_in,
        work: work_in,
        sleep: sleep.clone(),
    };
    let inbox = Inbox {
        reports,
        work,
        sleep,
    };
    (inbox, incoming)
}

impl Inbox {
    /// An inbox without a reader.
    pub fn closed() -> Inbox {
        inbox().0
    }

    pub fn send(&self, message: impl Into<Message>) {
        self.put(message);
        self.sleep.wake();
    }

    /// Sends without waking the partition: must be followed by [`Inbox::ring`].
    pub fn put(&self, message: impl Into<Message>) {
        // A stopped partition drops its messages; dropped responders tell their clients.
        match message.into() {
            Message::Report(report) => drop(self.reports.send(report)),
            message @ (Message::Notice(_) | Message::Work(_)) => drop(self.work.send(message)),
        }
    }

    /// Wakes the partition if it sleeps.
    pub fn ring(&self) {
        self.sleep.wake();
    }

    /// How often the partition's thread has looked for messages; `None` while it sleeps, and nobody has woken it.
    pub fn looks(&self) -> Option<u64> {
        let is_asleep = self.sleep.asleep.load(Ordering::Relaxed);
        (!is_asleep).then(|| self.sleep.looks.load(Ordering::Relaxed))
    }
}

impl Incoming {
    pub fn report(&self) -> Option<Report> {
        self.sleep.looks.fetch_add(1, Ordering::Relaxed);
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

    fn next(&self) -> Option<Message> {
        self.report().map(Message::Report).or_else(|| self.work())
    }

    /// Waits for whatever comes first, at most this long; it may give up early. To be called by one thread only.
    pub fn wait(&self, time: Duration) -> Option<Message> {
        let sleep = &*self.sleep;
        let found = self.next();
        if found.is_some() || time.is_zero() {
            return found;
        }
        sleep.thread.get_or_init(std::thread::current);
        sleep.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let found = self.next();
        if found.is_none() {
            std::thread::park_timeout(time);
        }
        sleep.asleep.store(false, Ordering::Relaxed);
        found.or_else(|| self.next())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::Notice;
    use super::{Duration, Message, Report, inbox};

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn sending_wakes_the_partition_and_reports_come_before_work() {
        let (inbox, incoming) = inbox();
        let sender = inbox.clone();
        let partition = std::thread::spawn(move || {
            let mut seen = Vec::new();
            while seen.len() < 2000 {
                match incoming.wait(LONG) {
                    Some(Message::Notice(Notice::StreamClosed(id))) => seen.push(id),
                    Some(Message::Report(Report::Stop)) => return seen,
                    _ => {}
                }
            }
            seen
        });
        for id in 0..2000 {
            sender.send(Notice::StreamClosed(id));
            if id % 100 == 0 {
                // Lets the receiver fall asleep occasionally.
                std::thread::yield_now();
            }
        }
        assert!(partition.join().unwrap().into_iter().eq(0..2000));
        let (inbox, incoming) = super::inbox();
        inbox.send(Notice::StreamClosed(1));
        inbox.send(Report::Wake);
        assert!(matches!(
            incoming.wait(LONG),
            Some(Message::Report(Report::Wake))
        ));
        assert!(matches!(
            incoming.wait(LONG),
            Some(Message::Notice(Notice::StreamClosed(1)))
        ));
    }

    #[test]
    fn looks_are_counted_until_the_partition_sleeps() {
        let (inbox, incoming) = inbox();
        assert_eq!(inbox.looks(), Some(0));
        incoming.report();
        assert_eq!(inbox.looks(), Some(1));
        // It may give up early.
        let partition = std::thread::spawn(move || while incoming.wait(LONG).is_none() {});
        let began = Instant::now();
        while inbox.looks().is_some() {
            assert!(began.elapsed() < LONG, "it does not fall asleep");
            std::thread::yield_now();
        }
        inbox.send(Report::Wake);
        partition.join().unwrap();
        assert!(inbox.looks().is_some(), "somebody has woken it");
    }

    #[test]
    fn messages_put_without_waking_arrive_at_the_next_ring() {
        let (inbox, incoming) = inbox();
        let partition = std::thread::spawn(move || {
            let began = Instant::now();
            let mut count = 0;
            while count < 3 && began.elapsed() < LONG {
                count += usize::from(incoming.wait(LONG).is_some());
            }
            count
        });
        for id in 0..3 {
            inbox.put(Notice::StreamClosed(id));
        }
        inbox.ring();
        assert_eq!(partition.join().unwrap(), 3);
    }
}
