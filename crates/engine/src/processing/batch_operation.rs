//! Batch operations: one command for many instances or decisions.
//!
//! An operation is created on one partition and distributed to all. Each partition chooses its own items: the engine cannot
//! search, so the broker queries secondary storage and returns the items as commands ([`choose`]). Items are carried out a
//! few at a time, alternating with other commands ([`execute`]). The partition that created the operation receives the
//! progress of all parts and ends it ([`parts`]). All of this is stored in rows, so a restart continues where it stopped.

pub(crate) mod choose;
pub(crate) mod execute;
pub(crate) mod history;
pub(crate) mod parts;
pub(crate) mod turns;

use skep_protocol::command::{BatchCommand, CreateBatchOperation};
use skep_protocol::intent::BatchOperationIntent as Intent;
use skep_protocol::origin::Origin;
use skep_protocol::value::{
    BatchOperationCreationValue, BatchOperationError, BatchOperationLifecycleManagementValue,
    BatchOperationType,
};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::deployment::distribution;
use super::{Context, Outcome, reject};
use crate::remote::Distributed;

/// Maximum number of unfinished operations in a cluster: each takes memory on every partition.
pub const MAX_UNFINISHED: usize = 1_000;
/// Maximum bytes of a filter: more than the keys that one query accepts.
pub const MAX_FILTER_BYTES: usize = 256 << 10;

pub(crate) fn process(cx: &mut Context<'_>, command: &BatchCommand) -> Outcome {
    use BatchCommand::{Cancel, Resume, Suspend};
    match command {
        BatchCommand::Create(command) => create(cx, command),
        Cancel {
            batch_operation_key: key,
        } => cancel(cx, *key),
        Suspend {
            batch_operation_key: key,
        } => suspend(cx, *key),
        Resume {
            batch_operation_key: key,
        } => resume(cx, *key),
        BatchCommand::Add(command) => choose::add(cx, command),
        BatchCommand::Fail {
            batch_operation_key: key,
            message,
        } => choose::fail(cx, *key, message),
        BatchCommand::DeleteHistory(value) => history::delete(cx, value),
        BatchCommand::DeleteHistoryOf(of) => history::delete(cx, &of.deletion),
    }
}

fn create(cx: &mut Context<'_>, command: &CreateBatchOperation) -> Outcome {
    let (key, command, kind) = made(cx, command)?;
    let answer = Response::BatchOperationCreated { key, kind };
    let distribution_key = cx.next_key();
    Ok(distribution::start(cx, distribution_key, command, answer))
}

/// Creates the operation of another command, which has its own answer.
pub(crate) fn begin(
    cx: &mut Context<'_>,
    command: &CreateBatchOperation,
) -> Result<Key, Rejection> {
    let (key, command, _) = made(cx, command)?;
    let distribution_key = cx.next_key();
    distribution::spread(cx, distribution_key, command);
    Ok(key)
}

/// Creates the operation here, and the command that creates it on the other partitions.
fn made(
    cx: &mut Context<'_>,
    command: &CreateBatchOperation,
) -> Result<(Key, Distributed, BatchOperationType), Rejection> {
    check(cx, command)?;
    let key = cx.new_key();
    let value = BatchOperationCreationValue {
        kind: command.kind,
        entity_filter: command.filter.clone(),
        plan: command.plan.clone(),
        partition_ids: cx.config.routing.partitions().collect(),
        claims: cx.origin.claims.clone(),
        follow_up: command.follow_up.clone(),
    };
    created(cx, key, &value);
    let distributed = Distributed::BatchOperation {
        key,
        value: Box::new(value),
    };
    Ok((key, distributed, command.kind))
}

fn check(cx: &Context<'_>, command: &CreateBatchOperation) -> Result<(), Rejection> {
    let refuse = |kind, why: String| {
        let kind_name = command.kind.as_str();
        Err(reject(
            kind,
            "CREATE",
            format!("Expected to create a batch operation of type '{kind_name}', but {why}"),
        ))
    };
    if command.filter.is_empty() {
        let why = "it has no filter that chooses its items";
        return refuse(RejectionType::InvalidArgument, why.to_string());
    }
    let bytes = command.filter.len();
    if bytes > MAX_FILTER_BYTES {
        let why = format!(
            "its filter has {bytes} bytes, more than {MAX_FILTER_BYTES}. Choose by other fields, or in several operations"
        );
        return refuse(RejectionType::InvalidArgument, why);
    }
    if cx.state.batch_operations.len() >= MAX_UNFINISHED {
        let why = format!(
            "{MAX_UNFINISHED} batch operations have not ended yet. Wait for them, or cancel some"
        );
        return refuse(RejectionType::InvalidState, why);
    }
    Ok(())
}

/// Begins the operation on this partition.
pub(crate) fn created(cx: &mut Context<'_>, key: Key, value: &BatchOperationCreationValue) {
    cx.event(key, Intent::Created, value);
    cx.effects.to_choose.push(key);
}

fn cancel(cx: &mut Context<'_>, key: Key) -> Outcome {
    known(cx, key, "CANCEL", "cancel")?;
    Ok(everywhere(cx, key, Intent::Canceled))
}

fn suspend(cx: &mut Context<'_>, key: Key) -> Outcome {
    if known(cx, key, "SUSPEND", "suspend")? {
        let why = "it is suspended already";
        return Err(wrong_state(key, "SUSPEND", "suspend", why));
    }
    Ok(everywhere(cx, key, Intent::Suspended))
}

fn resume(cx: &mut Context<'_>, key: Key) -> Outcome {
    if !known(cx, key, "RESUME", "resume")? {
        let why = "it is not suspended";
        return Err(wrong_state(key, "RESUME", "resume", why));
    }
    Ok(everywhere(cx, key, Intent::Resumed))
}

/// Whether the operation is suspended. Refuses if it does not exist.
fn known(
    cx: &mut Context<'_>,
    key: Key,
    intent: &'static str,
    verb: &str,
) -> Result<bool, Rejection> {
    let row = cx.state.batch_operations.get(key);
    row.map(|row| row.suspended)
        .ok_or_else(|| not_found(key, intent, verb))
}

fn not_found(key: Key, intent: &'static str, verb: &str) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!(
            "Expected to {verb} a batch operation with key '{key}', but no such batch operation was found, or it has ended"
        ),
    )
}

fn wrong_state(key: Key, intent: &'static str, verb: &str, why: &str) -> Rejection {
    reject(
        RejectionType::InvalidState,
        intent,
        format!("Expected to {verb} a batch operation with key '{key}', but {why}"),
    )
}

/// Writes the event here and on the other partitions. The answer waits for all of them.
fn everywhere(cx: &mut Context<'_>, key: Key, event: Intent) -> Option<Response> {
    managed(cx, key, event, &[]);
    let command = Distributed::ManageBatchOperation {
        key,
        event: event as u8,
        errors: Vec::new(),
    };
    let distribution_key = cx.next_key();
    distribution::start(cx, distribution_key, command, Response::Empty)
}

/// Suspends, resumes or ends the operation as a whole.
pub(crate) fn managed(
    cx: &mut Context<'_>,
    key: Key,
    event: Intent,
    errors: &[BatchOperationError],
) {
    let Some(row) = cx.state.batch_operations.get(key) else {
        return;
    };
    let follow_up = row.value.follow_up.clone();
    let value = BatchOperationLifecycleManagementValue {
        batch_operation_key: key,
        errors: errors.to_vec(),
    };
    let own = match event {
        Intent::Completed | Intent::Failed => key,
        _ => cx.next_key(),
    };
    cx.event(own, event, &value);
    match event {
        Intent::Resumed => cx.effects.to_choose.push(key),
        // After an error the items chosen are incomplete, so the follow-up does not run.
        Intent::Completed if errors.is_empty() => {
            if let Some(deletion) = follow_up {
                history::follow(cx, &deletion);
            }
        }
        _ => {}
    }
}

/// The origin of the commands that an operation executes: its own, with the claims of its creator.
fn origin_of(key: Key, value: &BatchOperationCreationValue) -> Origin {
    Origin {
        operation_reference: None,
        batch_operation_reference: key,
        claims: value.claims.clone(),
    }
}
