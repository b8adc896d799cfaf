//! A thread that compiles what is deployed, before it reaches the partition: a model of some megabytes takes as long as
//! thousands of commands.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, unbounded};
use skep_engine::Prepared;

use crate::partition::{Inbox, Message, STACK_BYTES};

/// Hands messages to partitions, those that take long by way of its thread. Deployments keep their order among each other;
/// others overtake them.
pub struct Preparation {
    /// Without a bound of its own: commands of clients have their place in the inbox, and other partitions send one
    /// deployment at a time.
    jobs: Sender<(Message, Inbox)>,
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
    pub fn hand_on(&self, message: Message, inbox: &Inbox, ring: bool) {
        if is_for(&message) {
            // The thread lives as long as this sender.
            let _ = self.jobs.send((message, inbox.clone()));
        } else if ring {
            inbox.send(message);
        } else {
            inbox.put(message);
        }
    }
}

fn prepare_all(incoming: &Receiver<(Message, Inbox)>) {
    for (message, inbox) in incoming {
        // A panic is a bug. The partition meets it again, and knows what to do about it.
        let prepared = catch_unwind(AssertUnwindSafe(|| prepared(&message)));
        inbox.send(match prepared.ok().flatten() {
            Some(prepared) => Message::Prepared {
                prepared,
                message: Box::new(message),
            },
            None => message,
        });
    }
}

fn is_for(message: &Message) -> bool {
    match message {
        Message::Request { request, .. } => Prepared::is_for(&request.command),
        Message::Remote(sent) => Prepared::is_for_sent(sent),
        _ => false,
    }
}

fn prepared(message: &Message) -> Option<Prepared> {
    match message {
        // Nobody waits for it any more: the partition forgets it.
        Message::Request { responder, .. } if responder.is_abandoned() => None,
        Message::Request { request, .. } => Prepared::of_command(&request.command),
        Message::Remote(sent) => Prepared::of_sent(sent),
        _ => None,
    }
}
