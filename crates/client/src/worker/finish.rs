//! Reports the outcome of a job.

use std::time::{Duration, Instant};

use super::builder::WorkerBuilder;
use crate::{Backoff, Code, Error, FailJob, ThrowError};

/// A handler's outcome for its job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The work is done; variables are a JSON object as text.
    Complete(Option<String>),
    /// The work failed; the job keeps `retries`, or one fewer than before when `None`.
    Fail {
        /// Retries left.
        retries: Option<i32>,
        /// The error message.
        message: String,
        /// How long until the job may be activated again.
        back_off: Duration,
    },
    /// A BPMN error for the process to catch.
    Throw(ThrowError),
    /// The handler reports, or the job shall time out.
    Leave,
}

impl Outcome {
    /// Done, without variables.
    pub fn complete() -> Self {
        Self::Complete(None)
    }

    /// Done, with variables: a JSON object as text.
    pub fn complete_with(variables: impl Into<String>) -> Self {
        Self::Complete(Some(variables.into()))
    }

    /// Failed, one retry fewer, no pause.
    pub fn fail(message: impl Into<String>) -> Self {
        Self::Fail {
            retries: None,
            message: message.into(),
            back_off: Duration::ZERO,
        }
    }

    fn kind(&self) -> OutcomeKind {
        match self {
            Self::Complete(_) => OutcomeKind::Completed,
            Self::Fail { .. } => OutcomeKind::Failed,
            Self::Throw(_) => OutcomeKind::Thrown,
            Self::Leave => OutcomeKind::Left,
        }
    }
}

/// The kind of an [`Outcome`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// Completed.
    Completed,
    /// Failed.
    Failed,
    /// A BPMN error was thrown.
    Thrown,
    /// Nothing was reported.
    Left,
}

/// The end of a job at a worker.
#[derive(Debug)]
pub struct Finished<'a> {
    /// The job.
    pub job_key: i64,
    /// Its process instance.
    pub process_instance_key: i64,
    /// The kind of outcome that the handler returned.
    pub kind: OutcomeKind,
    /// When the job arrived.
    pub received: Instant,
    /// When the handler had ended and reporting began.
    pub handled: Instant,
    /// Attempts to report.
    pub attempts: u32,
    /// Whether the report was acknowledged. `NOT_FOUND` means that the job is no longer there:
    /// cancelled, or timed out and finished by another worker.
    pub result: Result<(), &'a Error>,
}

/// Facts about a job that remain once its handler has taken it.
pub(super) struct Ticket {
    pub(super) key: i64,
    pub(super) process_instance_key: i64,
    pub(super) retries: i32,
    pub(super) received: Instant,
}

/// Reports an outcome, trying again while that may help and the job is still assigned.
pub(super) async fn report(
    settings: &WorkerBuilder,
    ticket: &Ticket,
    outcome: Outcome,
) -> Result<(), Error> {
    let handled = Instant::now();
    let kind = outcome.kind();
    let assigned_until = ticket.received + settings.timeout;
    let mut backoff = Backoff::new(settings.retry.clone());
    let mut uncertain = false;
    let (attempts, result) = loop {
        let attempts = backoff.attempts() + 1;
        match send(settings, ticket, &outcome).await {
            Ok(()) => break (attempts, Ok(())),
            // an earlier attempt whose answer was lost has done it
            Err(error) if uncertain && error.code() == Some(Code::NotFound) => {
                break (attempts, Ok(()));
            }
            Err(error) => {
                let again = error.is_retryable() || error.is_ambiguous();
                if !again || attempts >= settings.retry.max_attempts {
                    break (attempts, Err(error));
                }
                uncertain |= error.is_ambiguous();
                let pause = backoff.next_pause();
                if Instant::now() + pause >= assigned_until {
                    break (attempts, Err(error));
                }
                tokio::time::sleep(pause).await;
            }
        }
    };
    settings.observer.finished(&Finished {
        job_key: ticket.key,
        process_instance_key: ticket.process_instance_key,
        kind,
        received: ticket.received,
        handled,
        attempts,
        result: result.as_ref().copied(),
    });
    result
}

async fn send(settings: &WorkerBuilder, ticket: &Ticket, outcome: &Outcome) -> Result<(), Error> {
    let client = &settings.client;
    match outcome {
        Outcome::Complete(variables) => client.complete_job(ticket.key, variables.as_deref()).await,
        Outcome::Fail {
            retries,
            message,
            back_off,
        } => {
            let failure = FailJob {
                retries: retries.unwrap_or_else(|| (ticket.retries - 1).max(0)),
                message: message.clone(),
                back_off: *back_off,
                variables: None,
            };
            client.fail_job(ticket.key, &failure).await
        }
        Outcome::Throw(error) => client.throw_error(ticket.key, error).await,
        Outcome::Leave => Ok(()),
    }
}
