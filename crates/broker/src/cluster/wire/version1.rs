//! Messages between nodes as version 1 of the protocol encodes them, for a cluster that is upgraded node by node.
//!
//! Version 1 has no business id of an activated job, no caller of a job stream, and no internal caller: it does not check that one, and
//! calls it anonymous. Its answers do not say how long the command waited. The rest is unchanged.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use skep_engine::Sent;
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::origin::{Claims, Origin};
use skep_protocol::record;
use skep_protocol::user_task::UserTaskProperties;
use skep_protocol::value::JobKind;
use skep_protocol::{ActivatedJob, Failure, Key, Response, TenantId};

use super::NodeMessage;

/// Indices of variants with a different encoding: of [`NodeMessage`], of `Result` and of [`Response`].
const ANSWER: u32 = 1;
const OPEN_STREAM: u32 = 7;
const PUSH: u32 = 9;
const OK: u32 = 0;
const JOBS_ACTIVATED: u32 = 4;

/// The element that waits for a job.
#[derive(Serialize, Deserialize)]
struct JobElement {
    key: Key,
    job_type: Arc<str>,
    process_instance_key: Key,
    root_process_instance_key: Key,
    bpmn_process_id: Arc<str>,
    process_definition_version: i32,
    process_definition_key: Key,
    element_id: Arc<str>,
    element_instance_key: Key,
}

/// A job without its business id. In the encoding, its fields follow those of its element.
#[derive(Serialize, Deserialize)]
struct Job<'a> {
    element: JobElement,
    custom_headers: Arc<str>,
    worker: Arc<str>,
    retries: i32,
    deadline: i64,
    variables: Cow<'a, str>,
    tags: Arc<[String]>,
    kind: JobKind,
    user_task: Cow<'a, Option<Box<UserTaskProperties>>>,
    tenant: TenantId,
}

impl<'a> From<&'a ActivatedJob> for Job<'a> {
    fn from(job: &'a ActivatedJob) -> Job<'a> {
        Job {
            element: JobElement {
                key: job.key,
                job_type: job.job_type.clone(),
                process_instance_key: job.process_instance_key,
                root_process_instance_key: job.root_process_instance_key,
                bpmn_process_id: job.bpmn_process_id.clone(),
                process_definition_version: job.process_definition_version,
                process_definition_key: job.process_definition_key,
                element_id: job.element_id.clone(),
                element_instance_key: job.element_instance_key,
            },
            custom_headers: job.custom_headers.clone(),
            worker: job.worker.clone(),
            retries: job.retries,
            deadline: job.deadline,
            variables: Cow::Borrowed(&job.variables),
            tags: job.tags.clone(),
            kind: job.kind,
            user_task: Cow::Borrowed(&job.user_task),
            tenant: job.tenant.clone(),
        }
    }
}

impl From<Job<'_>> for ActivatedJob {
    fn from(job: Job<'_>) -> ActivatedJob {
        let element = job.element;
        ActivatedJob {
            key: element.key,
            job_type: element.job_type,
            process_instance_key: element.process_instance_key,
            root_process_instance_key: element.root_process_instance_key,
            bpmn_process_id: element.bpmn_process_id,
            process_definition_version: element.process_definition_version,
            process_definition_key: element.process_definition_key,
            element_id: element.element_id,
            element_instance_key: element.element_instance_key,
            custom_headers: job.custom_headers,
            worker: job.worker,
            retries: job.retries,
            deadline: job.deadline,
            variables: job.variables.into_owned(),
            tags: job.tags,
            business_id: None,
            kind: job.kind,
            user_task: job.user_task.into_owned(),
            tenant: job.tenant,
        }
    }
}

/// `None`: version 1 does not know the message.
pub(super) fn encode(message: &NodeMessage) -> Option<Bytes> {
    let bytes = match message {
        NodeMessage::Answer {
            id,
            result: Ok(Response::JobsActivated { jobs, truncated }),
            committed,
            waited: _,
        } => {
            let jobs: Vec<Job<'_>> = jobs.iter().map(Job::from).collect();
            record::encode(&(
                (ANSWER, id, OK),
                (JOBS_ACTIVATED, jobs, truncated),
                committed,
            ))
        }
        NodeMessage::Answer {
            id,
            result,
            committed,
            waited: _,
        } => record::encode(&(ANSWER, id, result, committed)),
        NodeMessage::Push { stream, job } => record::encode(&(PUSH, stream, Job::from(&**job))),
        NodeMessage::OpenStream { stream, spec, .. } => {
            record::encode(&(OPEN_STREAM, stream, spec))
        }
        NodeMessage::Request {
            id,
            partition,
            request,
        } if request.claims == Claims::Internal => record::encode(&NodeMessage::Request {
            id: *id,
            partition: *partition,
            request: Request {
                claims: Claims::Anonymous,
                ..request.clone()
            },
        }),
        NodeMessage::Remote {
            partition,
            command,
            forwarded,
        } if is_internal(command) => record::encode(&NodeMessage::Remote {
            partition: *partition,
            command: anonymous(command),
            forwarded: *forwarded,
        }),
        NodeMessage::Position { .. }
        | NodeMessage::PositionIs { .. }
        | NodeMessage::DirectoryWanted { .. }
        | NodeMessage::DirectoryIs(_)
        | NodeMessage::ForwardedGiveBack { .. } => return None,
        message => record::encode(message),
    };
    Some(bytes.into())
}

fn is_internal(command: &Sent) -> bool {
    let origin = command.origin.as_ref();
    origin.is_some_and(|origin| origin.claims == Claims::Internal)
}

fn anonymous(command: &Sent) -> Box<Sent> {
    let anonymous = |origin: &Origin| Origin {
        claims: Claims::Anonymous,
        ..origin.clone()
    };
    Box::new(Sent {
        origin: command.origin.as_deref().map(anonymous).map(Box::new),
        command: command.command.clone(),
    })
}

pub(super) fn decode(bytes: &[u8]) -> Option<NodeMessage> {
    let message = match record::decode(bytes).ok()? {
        ANSWER => match record::decode(bytes).ok()? {
            (ANSWER, id, OK, JOBS_ACTIVATED) => {
                let _: u64 = id;
                let ((_, id, _), (_, jobs, truncated), committed) =
                    record::decode::<Jobs>(bytes).ok()?;
                let jobs = jobs.into_iter().map(ActivatedJob::from).collect();
                NodeMessage::Answer {
                    id,
                    result: Ok(Response::JobsActivated { jobs, truncated }),
                    committed,
                    waited: 0,
                }
            }
            _ => {
                let (_, id, result, committed): Answer = record::decode(bytes).ok()?;
                NodeMessage::Answer {
                    id,
                    result,
                    committed,
                    waited: 0,
                }
            }
        },
        PUSH => {
            let (_, stream, job): (u32, u64, Job<'static>) = record::decode(bytes).ok()?;
            NodeMessage::Push {
                stream,
                job: Box::new(job.into()),
            }
        }
        OPEN_STREAM => {
            let (_, stream, spec): (u32, u64, ActivateJobs) = record::decode(bytes).ok()?;
            NodeMessage::OpenStream {
                stream,
                spec,
                claims: Claims::Anonymous,
            }
        }
        _ => record::decode(bytes).ok()?,
    };
    Some(message)
}

/// An answer without jobs.
type Answer = (u32, u64, Result<Response, Failure>, u64);
/// An answer with jobs.
type Jobs = ((u32, u64, u32), (u32, Vec<Job<'static>>, bool), u64);
