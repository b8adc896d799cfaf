//! JOB_BATCH ACTIVATE: jobs go to workers, on request or pushed into open streams. Oldest first.

use std::sync::Arc;

use skep_model::ElementKind;
use skep_protocol::command::ActivateJobs;
use skep_protocol::document::write_json_object;
use skep_protocol::intent::JobBatchIntent;
use skep_protocol::value::JobBatchValue;
use skep_protocol::{ActivatedJob, Key, RejectionType, Response};

use crate::effects::Reservation;
use crate::processing::{Context, Outcome, reject};
use crate::state::JobState;

/// Variables of one answer may take so many bytes (the default of max-message-size, less room for the rest).
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024 - 64 * 1024;

/// A client asks for jobs.
pub(crate) fn process(cx: &mut Context<'_>, command: &ActivateJobs) -> Outcome {
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
    let keys: Vec<Key> = cx
        .state
        .jobs
        .activatable(&command.job_type)
        .take(command.max_jobs as usize)
        .collect();
    let deadline = cx.now.saturating_add(command.timeout);
    let mut jobs = Vec::with_capacity(keys.len());
    let (mut bytes, mut truncated) = (0, false);
    for key in keys {
        let Some(job) = activated(cx, key, &command.worker, deadline, &command.fetch_variables)
        else {
            continue;
        };
        bytes += job.variables.len() + job.custom_headers.len() + 256;
        if bytes > MAX_BATCH_BYTES && !jobs.is_empty() {
            truncated = true;
            break;
        }
        jobs.push(job);
    }
    if !jobs.is_empty() {
        let job_keys = jobs.iter().map(|job: &ActivatedJob| job.key).collect();
        let value = JobBatchValue {
            job_type: command.job_type.clone(),
            worker: command.worker.clone(),
            timeout: command.timeout,
            deadline,
            max_jobs_to_activate: command.max_jobs,
            job_keys,
            truncated,
        };
        let key = cx.next_key();
        cx.event(key, JobBatchIntent::Activated, &value);
    }
    Ok(Some(Response::JobsActivated { jobs, truncated }))
}

/// Offers the jobs that this command made activatable to the open streams; what no stream takes is announced.
pub(crate) fn push_new(cx: &mut Context<'_>) {
    let mut new_jobs = std::mem::take(cx.new_jobs);
    for key in new_jobs.drain(..) {
        // There may be older ones, left over from a time without credit: they go first.
        while let Some(job) = cx.state.jobs.get(key) {
            if job.state != JobState::Activatable {
                break;
            }
            let job_type = job.job_type.clone();
            let Some(reservation) = cx.streams.reserve(&job_type) else {
                if !cx.effects.jobs_available.contains(&job_type) {
                    cx.effects.jobs_available.push(job_type);
                }
                break;
            };
            let oldest = cx.state.jobs.activatable(&job_type).next().unwrap_or(key);
            if !push(cx, oldest, &reservation) {
                break;
            }
        }
    }
    *cx.new_jobs = new_jobs;
}

/// Pushes up to `limit` waiting jobs of a type into streams that have room again.
pub(crate) fn push_waiting(cx: &mut Context<'_>, job_type: &str, limit: usize) -> usize {
    let mut pushed = 0;
    while pushed < limit {
        let Some(oldest) = cx.state.jobs.activatable(job_type).next() else {
            break;
        };
        let Some(reservation) = cx.streams.reserve(job_type) else {
            break;
        };
        if !push(cx, oldest, &reservation) {
            break;
        }
        pushed += 1;
    }
    pushed
}

/// `false` when the job cannot be read; the state then has a fault and the partition stops.
fn push(cx: &mut Context<'_>, key: Key, to: &Reservation) -> bool {
    let deadline = cx.now.saturating_add(to.timeout);
    let Some(job) = activated(cx, key, &to.worker, deadline, &to.fetch_variables) else {
        return false;
    };
    let value = JobBatchValue {
        job_type: job.job_type.clone(),
        worker: to.worker.clone(),
        timeout: to.timeout,
        deadline,
        max_jobs_to_activate: 1,
        job_keys: vec![key],
        truncated: false,
    };
    let batch_key = cx.next_key();
    cx.event(batch_key, JobBatchIntent::Activated, &value);
    cx.effects.pushes.push((to.stream, job));
    true
}

/// What the worker gets to see.
fn activated(
    cx: &mut Context<'_>,
    key: Key,
    worker: &Arc<str>,
    deadline: i64,
    fetch_variables: &[Arc<str>],
) -> Option<ActivatedJob> {
    let job = cx.state.jobs.get(key)?.clone();
    let process = cx.process(job.process_definition_key)?;
    let element = process.graph.elements.get(job.element as usize)?;
    let custom_headers = match &element.kind {
        ElementKind::ServiceTask(definition) => definition.headers_json.clone(),
        _ => Arc::from("{}"),
    };
    let found = cx
        .state
        .elements
        .visible_variables(job.element_instance_key, fetch_variables);
    let mut variables = String::with_capacity(
        2 + found
            .iter()
            .map(|(n, v)| n.len() + v.len() + 4)
            .sum::<usize>(),
    );
    write_json_object(found.iter().map(|(n, v)| (&**n, &**v)), &mut variables);
    let tags = cx
        .state
        .elements
        .get(job.process_instance_key)
        .and_then(|row| row.extra.as_ref())
        .map(|extra| extra.tags.clone())
        .unwrap_or_default();
    Some(ActivatedJob {
        key,
        job_type: job.job_type,
        process_instance_key: job.process_instance_key,
        root_process_instance_key: job.root_process_instance_key,
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
        tags: tags.into(),
    })
}
