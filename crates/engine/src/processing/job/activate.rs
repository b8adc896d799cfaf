//! JOB_BATCH ACTIVATE: workers receive jobs, on request or pushed into open streams. Oldest first.

mod for_caller;
mod places;
mod rounds;
mod turns;

use std::sync::Arc;

use skep_model::Element;
use skep_protocol::command::ActivateJobs;
use skep_protocol::document::write_json_object;
use skep_protocol::intent::JobBatchIntent;
use skep_protocol::user_task::UserTaskProperties;
use skep_protocol::value::{ErrorType, JobBatchValue, JobKind};
use skep_protocol::{ActivatedJob, Key, Rejection, RejectionType, Response, TenantId, Tenants};

pub(crate) use self::places::Places;
pub(crate) use self::rounds::Rounds;
use self::turns::Turn;
pub(crate) use self::turns::Turns;
use crate::effects::{Pushed, Reservation};
use crate::processing::bpmn::{Problem, Subject, incidents};
use crate::processing::user_task::listener;
use crate::processing::{Context, Outcome, authorization, reject};
use crate::state::{Job, JobState, VariableNames};

/// Maximum bytes of the jobs in one answer: those of a message, minus the data around the jobs.
fn max_batch_bytes(cx: &Context<'_>) -> usize {
    let message = cx.config.max_message_size;
    message - message / 64
}

/// Refuses a request that lacks a field.
fn check(command: &ActivateJobs) -> Result<(), Rejection> {
    let invalid = |what: &str, value: String| {
        reject(
            RejectionType::InvalidArgument,
            "ACTIVATE",
            format!("Expected to activate job batch with {what}, but {value}"),
        )
    };
    if command.job_type.is_empty() {
        return Err(invalid("type to be present", "it was blank".to_string()));
    }
    if command.timeout < 1 {
        return Err(invalid(
            "timeout to be greater than zero",
            format!("it was '{}'", command.timeout),
        ));
    }
    if command.max_jobs < 1 {
        return Err(invalid(
            "max jobs to activate to be greater than zero",
            "it was '0'".to_string(),
        ));
    }
    Ok(())
}

/// Activates jobs for a client's request.
pub(crate) fn process(cx: &mut Context<'_>, command: &ActivateJobs) -> Outcome {
    check(command)?;
    let deadline = cx.now.saturating_add(command.timeout);
    let (max_jobs, max_bytes) = (command.max_jobs as usize, max_batch_bytes(cx));
    let names = command.fetch_variables.iter().cloned().collect();
    let mut jobs: Vec<ActivatedJob> = Vec::new();
    let (mut bytes, mut truncated) = (0, false);
    let mut tenants = authorization::tenants(cx, &command.tenants, &command.job_type)?;
    let turn = Turn::begin(cx, command, &mut tenants);
    // Of all tenants together: a worker may name a thousand.
    let mut to_examine = cx.config.max_looked_at;
    let mut last_tenant = None;
    for tenant in &tenants {
        if truncated || jobs.len() >= max_jobs || to_examine == 0 {
            break;
        }
        let mut look = for_caller::Look::begin(cx, command, tenant);
        // Jobs that are too large are no longer activatable afterwards: the next round sees the jobs after them.
        let (mut seen, mut again) = (0, true);
        while std::mem::take(&mut again) && !truncated {
            let keys = look.find(cx, seen, max_jobs - jobs.len(), &mut to_examine);
            for key in keys {
                match offer(cx, key, &command.worker, deadline, &names) {
                    Offer::Job(_, size) if bytes + size > max_bytes && !jobs.is_empty() => {
                        truncated = true;
                        break;
                    }
                    Offer::Job(job, size) => {
                        bytes += size;
                        jobs.push(*job);
                        seen += 1;
                    }
                    Offer::Refused => again = true,
                    Offer::Unreadable => seen += 1,
                }
            }
        }
        look.end(cx, jobs.last().filter(|_| truncated));
        last_tenant = Some(tenant);
    }
    // Where it stopped among jobs that the caller may not take, the next poll begins with the next tenant and comes back to the rest.
    let stopped = last_tenant.filter(|_| to_examine == 0);
    turn.end(cx, stopped.or(jobs.last().map(|job| &job.tenant)));
    if !jobs.is_empty() {
        let job_keys = jobs.iter().map(|job| job.key).collect();
        let value = JobBatchValue {
            job_type: command.job_type.clone(),
            worker: command.worker.clone(),
            timeout: command.timeout,
            deadline,
            max_jobs_to_activate: command.max_jobs,
            job_keys,
            truncated,
            tenants: command.tenants.recorded(jobs.iter().map(|job| &job.tenant)),
        };
        let key = cx.next_key();
        cx.event(key, JobBatchIntent::Activated, &value);
    }
    Ok(Some(Response::JobsActivated { jobs, truncated }))
}

/// Offers new activatable jobs to the open streams, as many as fit into one turn. Those that no stream takes are announced by type and
/// tenant.
pub(crate) fn push_new(cx: &mut Context<'_>) {
    if authorization::asks(cx) {
        return for_caller::push_new(cx);
    }
    let mut new_jobs = std::mem::take(cx.new_jobs);
    let (mut pushed_bytes, mut done) = (0, 0);
    for key in &new_jobs {
        // The rest follows in the next turn (see `Engine::has_work`).
        if pushed_bytes >= MAX_PUSHED_BYTES {
            break;
        }
        done += 1;
        // Older jobs may be waiting since a time without credit: they go first.
        while let Some(job) = cx.state.jobs.get(*key) {
            if job.state != JobState::Activatable {
                break;
            }
            let (job_type, tenant) = (job.job_type.clone(), job.tenant());
            let mut may = |_: &_, asked: &Tenants| asked.contains(&tenant);
            let Some(reservation) = cx.streams.reserve(&job_type, &mut may) else {
                cx.effects.job_available(job_type, tenant);
                break;
            };
            match push_oldest(cx, &job_type, &tenant, reservation) {
                Some(bytes) => pushed_bytes += bytes,
                None => break,
            }
        }
    }
    new_jobs.drain(..done);
    *cx.new_jobs = new_jobs;
}

/// Maximum bytes of jobs that one turn pushes. Only the last job may exceed it.
const MAX_PUSHED_BYTES: usize = 4 << 20;

/// Pushes up to `limit` waiting jobs of a type into streams that have room again.
pub(crate) fn push_waiting(cx: &mut Context<'_>, job_type: &str, limit: usize) -> Pushed {
    if authorization::asks(cx) {
        return for_caller::push_waiting(cx, job_type, limit);
    }
    let (mut jobs, mut bytes) = (0, 0);
    let mut tenants = cx.state.jobs.tenants_waiting(job_type);
    while jobs < limit && bytes < MAX_PUSHED_BYTES {
        // Tenants take turns, so that none waits for the end of another one's backlog.
        tenants.retain(|tenant| {
            let waits = oldest(cx, job_type, tenant).is_some();
            let mut may = |_: &_, asked: &Tenants| asked.contains(tenant);
            let reserved = waits.then(|| cx.streams.reserve(job_type, &mut may));
            let pushed = reserved
                .flatten()
                .and_then(|to| push_oldest(cx, job_type, tenant, to));
            jobs += usize::from(pushed.is_some());
            bytes += pushed.unwrap_or_default();
            pushed.is_some()
        });
        if tenants.is_empty() {
            return Pushed { jobs, more: false };
        }
    }
    Pushed { jobs, more: true }
}

/// Continues to push waiting jobs of a type of which one turn could not examine all.
pub(crate) fn continue_pushing(cx: &mut Context<'_>) {
    for_caller::continue_search(cx, PUSHED_PER_TURN);
}

/// Maximum number of jobs that a turn of [`continue_pushing`] pushes.
const PUSHED_PER_TURN: usize = 64;

fn oldest(cx: &Context<'_>, job_type: &str, tenant: &TenantId) -> Option<Key> {
    cx.state.jobs.activatable(job_type, tenant).next()
}

/// Pushes the oldest waiting job that can be sent, and returns its bytes. `None` if there is none, or if a job cannot be
/// read; the state then has a fault and the partition stops.
fn push_oldest(
    cx: &mut Context<'_>,
    job_type: &str,
    tenant: &TenantId,
    to: Reservation,
) -> Option<usize> {
    while let Some(key) = oldest(cx, job_type, tenant) {
        match push(cx, key, &to) {
            Sent::Bytes(bytes) => return Some(bytes),
            Sent::Refused => continue,
            Sent::Unreadable => break,
        }
    }
    cx.streams.release(to);
    None
}

/// Outcome of pushing a job.
enum Sent {
    Bytes(usize),
    /// As [`Offer::Refused`].
    Refused,
    Unreadable,
}

/// Pushes this job.
fn push(cx: &mut Context<'_>, key: Key, to: &Reservation) -> Sent {
    let deadline = cx.now.saturating_add(to.timeout);
    let (job, bytes) = match offer(cx, key, &to.worker, deadline, &to.fetch_variables) {
        Offer::Job(job, bytes) => (*job, bytes),
        Offer::Refused => return Sent::Refused,
        Offer::Unreadable => return Sent::Unreadable,
    };
    let value = JobBatchValue {
        job_type: job.job_type.clone(),
        worker: to.worker.clone(),
        timeout: to.timeout,
        deadline,
        max_jobs_to_activate: 1,
        job_keys: vec![key],
        truncated: false,
        tenants: Tenants::only(to.tenant_filter, job.tenant.clone()),
    };
    let batch_key = cx.next_key();
    cx.event(batch_key, JobBatchIntent::Activated, &value);
    cx.effects.pushes.push((to.stream, job));
    Sent::Bytes(bytes)
}

enum Offer {
    /// A job, and its bytes in a message.
    Job(Box<ActivatedJob>, usize),
    /// The job is too large for a message and now has an incident.
    Refused,
    Unreadable,
}

/// Bytes of a job besides its texts.
const JOB_OVERHEAD: usize = 256;

/// Prepares a job as the worker receives it.
fn offer(
    cx: &mut Context<'_>,
    key: Key,
    worker: &Arc<str>,
    deadline: i64,
    fetch_variables: &VariableNames,
) -> Offer {
    let Some(job) = cx.state.jobs.get(key).cloned() else {
        return Offer::Unreadable;
    };
    if !cx.begin_work_of(job.process_instance_key) {
        return Offer::Unreadable;
    }
    let Some(process) = cx.process(job.process_definition_key) else {
        return Offer::Unreadable;
    };
    let Some(element) = process.graph.elements.get(job.element as usize) else {
        return Offer::Unreadable;
    };
    let custom_headers = headers_of(&job, element);
    let kind = job.kind();
    let user_task = matches!(kind, JobKind::TaskListener(_))
        .then(|| Box::new(UserTaskProperties::from_headers(&custom_headers)));
    let elements = &mut cx.state.elements;
    let mut found = elements.visible_variables(job.element_instance_key, fetch_variables);
    if let JobKind::TaskListener(_) = kind {
        listener::show_variables(cx, job.element_instance_key, fetch_variables, &mut found);
    }
    let lengths = found.iter().map(|(n, v)| n.len() + v.len() + 4);
    let variables_bytes = 2 + lengths.sum::<usize>();
    let tenant = job.tenant();
    let texts = [&job.job_type, worker, &process.bpmn_process_id, &element.id];
    let size = JOB_OVERHEAD
        + variables_bytes
        + custom_headers.len()
        + texts.iter().map(|text| text.len()).sum::<usize>()
        + user_task.as_ref().map_or(0, |task| task.text_bytes())
        + tenant.weight();
    if size > max_batch_bytes(cx) {
        return refuse_too_large(cx, key, job.element_instance_key, size);
    }
    let mut variables = String::with_capacity(variables_bytes);
    write_json_object(found.iter().map(|(n, v)| (&**n, &**v)), &mut variables);
    let (tags, business_id) = names_of(cx, job.process_instance_key);
    let job = ActivatedJob {
        key,
        root_process_instance_key: job.root_process_instance_key(),
        job_type: job.job_type,
        process_instance_key: job.process_instance_key,
        bpmn_process_id: process.bpmn_process_id.clone(),
        process_definition_version: process.version,
        process_definition_key: process.key,
        element_id: element.id.clone(),
        element_instance_key: job.element_instance_key,
        custom_headers,
        worker: worker.clone(),
        retries: job.retries,
        deadline,
        variables,
        tags,
        business_id,
        kind,
        user_task,
        tenant,
    };
    Offer::Job(Box::new(job), size)
}

/// The custom headers as JSON text: the job's own, or else those of its element.
fn headers_of(job: &Job, element: &Element) -> Arc<str> {
    let headers = job.headers().or_else(|| element.headers_json());
    headers.map_or_else(|| Arc::from("{}"), Arc::clone)
}

/// Tags and business id of a process instance.
fn names_of(cx: &mut Context<'_>, process_instance: Key) -> (Arc<[String]>, Option<Arc<str>>) {
    let process = cx.state.elements.get(process_instance);
    let extra = process.and_then(|row| row.extra.as_ref());
    extra.map_or_else(Default::default, |extra| {
        let business_id = extra.business_id.as_deref().map(Arc::from);
        (extra.tags.as_slice().into(), business_id)
    })
}

/// Raises the incident of a job that no message can hold.
fn refuse_too_large(
    cx: &mut Context<'_>,
    key: Key,
    element_instance_key: Key,
    size: usize,
) -> Offer {
    let Some(el) = Subject::load(cx, element_instance_key) else {
        return Offer::Unreadable;
    };
    let message = format!(
        "Expected to activate job with key '{key}', but with the variables that its worker fetches it has {size} bytes, \
         more than the {} that fit into a message. Let the worker fetch fewer variables or make them smaller, then \
         resolve the incident.",
        max_batch_bytes(cx)
    );
    let problem = Problem::new(ErrorType::MessageSizeExceeded, message);
    incidents::raise_for_job(cx, &el, problem, key);
    Offer::Refused
}
