//! Threads beside those of the partitions. One compiles deployments before they reach their partition: a model of some megabytes takes as
//! long as thousands of commands. The other carries out clients' long evaluations.

mod callers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, unbounded};
use skep_engine::Prepared;
use skep_protocol::Failure;
use skep_service::{Answer, Timings};

use self::callers::{Callers, Counted, MAX_OF_CALLER};
use crate::flow_control::{InboxCapacity, MAX_WAITING_BYTES};
use crate::partition::{ClientRequest, Inbox, LongEvaluation, STACK_BYTES, Work};

/// Maximum number of long evaluations that wait on a node.
const MAX_EVALUATIONS: usize = 32;

/// A long evaluation, counted while it waits.
type Waiting = (Box<LongEvaluation>, Counted);

/// Passes messages to partitions, the long ones through its thread. Deployments keep their order relative to each other; other messages
/// overtake them.
pub struct Preparation {
    /// The channel is unbounded: clients' commands have their place in the inbox, and other partitions send one deployment at a time.
    jobs: Sender<(Work, Inbox)>,
    evaluations: Sender<Waiting>,
    callers: Callers,
    /// Capacity for the bytes of long evaluations: they must not fill the inboxes of partitions.
    capacity: Arc<InboxCapacity>,
}

impl Preparation {
    /// The threads end when this is dropped.
    pub fn start() -> std::io::Result<Preparation> {
        let (jobs, incoming) = unbounded();
        spawn("preparation", move || prepare_all(&incoming))?;
        let (evaluations, asked) = bounded(MAX_EVALUATIONS);
        spawn("evaluation", move || evaluate_all(&asked))?;
        Ok(Preparation {
            jobs,
            evaluations,
            callers: Callers::default(),
            capacity: Arc::default(),
        })
    }

    /// Carries out the evaluation after earlier ones.
    pub fn evaluate(&self, mut evaluation: Box<LongEvaluation>) {
        let Some(inbox_permit) = self.capacity.take(evaluation.request.request.weight()) else {
            let reason = format!(
                "Slow evaluations with more than {} MiB of data, the maximum, are waiting on this node. Nothing was done; send the \
                 request again after a pause.",
                MAX_WAITING_BYTES >> 20
            );
            return fail(evaluation.request, Failure::ResourceExhausted(reason));
        };
        evaluation.request.inbox_permit = inbox_permit;
        let request = &evaluation.request.request;
        let Some(counted) = self.callers.count(&request.claims, request.peer) else {
            let reason = format!(
                "{MAX_OF_CALLER} slow evaluations of this caller, the maximum, are waiting on this node. Nothing was done; send the request \
                 again after a pause."
            );
            return fail(evaluation.request, Failure::ResourceExhausted(reason));
        };
        let sent = self.evaluations.try_send((evaluation, counted));
        let Err(TrySendError::Full((refused, _)) | TrySendError::Disconnected((refused, _))) = sent
        else {
            return;
        };
        let reason = format!(
            "{MAX_EVALUATIONS} slow evaluations, the maximum, are waiting on this node. Nothing was done; send the request again after a \
             pause."
        );
        fail(refused.request, Failure::ResourceExhausted(reason));
    }

    /// Passes work on to a partition. `ring`: whether to wake it.
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
        // A panic is a bug. It will recur in the partition, which knows how to handle it.
        let _ = catch_unwind(AssertUnwindSafe(|| prepare(&mut work)));
        inbox.send(work);
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name(name.to_string());
    thread.stack_size(STACK_BYTES).spawn(run)?;
    Ok(())
}

fn evaluate_all(asked: &Receiver<Waiting>) {
    for (asked, counted) in asked {
        drop(counted);
        let LongEvaluation {
            evaluation,
            mut request,
            inbox,
        } = *asked;
        // The client is gone: the partition drops the request.
        if request.responder.is_abandoned() {
            inbox.send(Work::Request(request));
            continue;
        }
        let partition_is_spared = AssertUnwindSafe(|| evaluation.carry_out());
        match catch_unwind(partition_is_spared) {
            Ok(prepared) => {
                request.prepared = Some(Box::new(prepared));
                inbox.send(Work::Request(request));
            }
            Err(_) => {
                let reason = "The evaluation failed because of a bug in Skep. Nothing has changed. Please report the bug with its \
                              location from the node's log";
                fail(request, Failure::Internal(reason.to_string()));
            }
        }
    }
}

fn fail(request: ClientRequest, failure: Failure) {
    let answer = Answer {
        result: Err(failure),
        timings: Timings::default(),
    };
    // A client that is gone needs no answer.
    let _ = request.responder.send(answer);
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
        // The client is gone: the partition drops the request.
        Work::Request(it) if it.responder.is_abandoned() => {}
        Work::Request(it) => it.prepared = Prepared::of_command(&it.request.command).map(Box::new),
        Work::Remote { command, prepared } => *prepared = Prepared::of_sent(command).map(Box::new),
        Work::Yield { .. } | Work::Chosen { .. } | Work::StreamHasRoom(_) => {}
    }
}
