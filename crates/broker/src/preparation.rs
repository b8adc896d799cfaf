//! A thread that compiles deployments before they reach the partition: a model of some megabytes takes as long as thousands
//! of commands.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, unbounded};
use skep_engine::Prepared;

use crate::partition::{Inbox, STACK_BYTES, Work};

/// Hands messages to partitions, those that take long by way of its thread. Deployments keep their order among each other;
/// others overtake them.
pub struct Preparation {
    /// Without a bound of its own: commands of clients have their place in the inbox, and other partitions send one
    /// deployment at a time.
    jobs: Sender<(Work, Inbox)>,
}

impl Preparation {
    /// The thread ends when this is dropped.
    pub fn start() -> std::io::Result<Preparation> {
        let (jobs, incoming) = unbounded();
        std::thread::Builder::new()
            .name("preparation".to_string())
            .stack_size(STACK_BYTES)
            .spawn(move || prepare_all(&incoming))?;
        Ok(Preparation { jobs })
    }

    /// `ring`: the partition is to be woken.
    pub fn hand_on(&self, work: Work, inbox: &Inbox, ring: bool) {
        if is_for(&work) {
            // The thread lives as long as this sender.
            let _ = self.jobs.send((work, inbox.clone()));
        } else if ring {
            inbox.send(work);
        } else {
            inbox.put(work);
        }
    }
}

fn prepare_all(incoming: &Receiver<(Work, Inbox)>) {
    for (mut work, inbox) in incoming {
        // A panic is a bug. The partition meets it again, and knows what to do about it.
        let _ = catch_unwind(AssertUnwindSafe(|| prepare(&mut work)));
        inbox.send(work);
    }
}

fn is_for(work: &Work) -> bool {
    match work {
        Work::Request(it) => Prepared::is_for(&it.request.command),
        Work::Remote { command, .. } => Prepared::is_for_sent(command),
        Work::Yield { .. } | Work::Chosen { .. } | Work::StreamHasRoom(_) => false,
    }
}

fn prepare(work: &mut Work) {
    match work {
        // Nobody waits for it any more: the partition forgets it.
        Work::Request(it) if it.responder.is_abandoned() => {}
        Work::Request(it) => it.prepared = Prepared::of_command(&it.request.command).map(Box::new),
        Work::Remote { command, prepared } => *prepared = Prepared::of_sent(command).map(Box::new),
        Work::Yield { .. } | Work::Chosen { .. } | Work::StreamHasRoom(_) => {}
    }
}
