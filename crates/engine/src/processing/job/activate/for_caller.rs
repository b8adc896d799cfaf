//! Jobs for callers that may only take those of some processes. Other jobs are skipped and stay for callers that may take
//! them.

use rustc_hash::{FxHashMap, FxHashSet};
use skep_protocol::command::ActivateJobs;
use skep_protocol::permission::Permission;
use skep_protocol::{Key, TenantId, Tenants, grants};

use super::{MAX_PUSHED_BYTES, Sent, push};
use crate::effects::{Pushed, Reservation};
use crate::processing::authorization::grants_of_caller;
use crate::processing::{Context, authorization};
use crate::state::{Job, JobState};

const TAKE: Permission = grants![ProcessDefinition: UpdateProcessInstance][0];

/// Maximum number of waiting jobs that one request or one turn examines. A caller that may take none of the oldest jobs of
/// a type gets none.
const MAX_LOOKED_AT: usize = 50_000;

/// Returns up to `most` waiting jobs that the caller may take, oldest first, skipping the first `seen`.
pub(super) fn waiting(
    cx: &mut Context<'_>,
    command: &ActivateJobs,
    tenant: &TenantId,
    seen: usize,
    most: usize,
) -> Vec<Key> {
    let grants = grants_of_caller(cx).filter(|grants| !grants.allows_any(TAKE));
    let jobs = &cx.state.jobs;
    let Some(grants) = grants else {
        let waiting = jobs.activatable(&command.job_type, tenant);
        return waiting.skip(seen).take(most).collect();
    };
    // Few definitions have many jobs: each is checked once.
    let (processes, mut known) = (&cx.state.processes, FxHashMap::default());
    let mut may_take = |definition| {
        *known.entry(definition).or_insert_with(|| {
            let process = processes.get(definition);
            process.is_some_and(|process| grants.allows(TAKE, &process.bpmn_process_id))
        })
    };
    let waiting = jobs.activatable_after(&command.job_type, tenant, None);
    waiting
        .take(MAX_LOOKED_AT)
        .filter(|(_, definition)| may_take(*definition))
        .map(|(key, _)| key)
        .skip(seen)
        .take(most)
        .collect()
}

/// Offers new activatable jobs to streams whose clients may take them.
pub(super) fn push_new(cx: &mut Context<'_>) {
    let mut new_jobs = std::mem::take(cx.new_jobs);
    let (mut bytes, mut done) = (0, 0);
    for key in &new_jobs {
        if bytes >= MAX_PUSHED_BYTES {
            break;
        }
        done += 1;
        let Some(job) = activatable(cx, *key) else {
            continue;
        };
        match reserve(cx, &job) {
            Some(to) => bytes += pushed(cx, *key, to).unwrap_or_default(),
            None if !cx.effects.jobs_available.contains(&job.job_type) => {
                cx.effects.jobs_available.push(job.job_type);
            }
            None => {}
        }
    }
    new_jobs.drain(..done);
    *cx.new_jobs = new_jobs;
}

/// Pushes up to `limit` waiting jobs of a type into streams that have room again.
pub(super) fn push_waiting(cx: &mut Context<'_>, job_type: &str, limit: usize) -> Pushed {
    let (mut jobs, mut bytes) = (0, 0);
    for tenant in cx.state.jobs.tenants_waiting(job_type) {
        // No stream has room for jobs of these processes.
        let mut without_room = FxHashSet::default();
        let (mut last, mut looked_at) = (None, 0);
        loop {
            let behind = cx.state.jobs.activatable_after(job_type, &tenant, last);
            let next = behind
                .take(MAX_LOOKED_AT - looked_at)
                .inspect(|_| looked_at += 1)
                .find(|(_, definition)| !without_room.contains(definition));
            let Some((key, definition)) = next else {
                break;
            };
            last = Some(key);
            if jobs >= limit || bytes >= MAX_PUSHED_BYTES {
                return Pushed { jobs, more: true };
            }
            let Some(job) = activatable(cx, key) else {
                continue;
            };
            match reserve(cx, &job) {
                None => {
                    without_room.insert(definition);
                }
                Some(to) => {
                    if let Some(size) = pushed(cx, key, to) {
                        jobs += 1;
                        bytes += size;
                    }
                }
            }
        }
    }
    Pushed { jobs, more: false }
}

fn activatable(cx: &mut Context<'_>, key: Key) -> Option<Job> {
    let job = cx.state.jobs.get(key)?;
    (job.state == JobState::Activatable).then(|| job.clone())
}

/// Reserves room in a stream whose client may take the job at this moment.
fn reserve(cx: &mut Context<'_>, job: &Job) -> Option<Reservation> {
    let process = cx.state.processes.get(job.process_definition_key)?;
    let id = process.bpmn_process_id.clone();
    let directory = &cx.state.identity.directory;
    let callers = &mut cx.volatile.grants;
    let (tenant, config) = (job.tenant(), &cx.config.identity);
    let mut may = |claims: &_, asked: &Tenants| {
        let grants = callers.of(directory, claims);
        let grants = grants.as_deref();
        authorization::gets(config, grants, asked, &tenant)
            && (!config.authorizations || grants.is_none_or(|grants| grants.allows(TAKE, &id)))
    };
    cx.streams.reserve(&job.job_type, &mut may)
}

/// Pushes the job and returns its bytes. If it cannot be sent, the reservation is released.
fn pushed(cx: &mut Context<'_>, key: Key, to: Reservation) -> Option<usize> {
    match push(cx, key, &to) {
        Sent::Bytes(bytes) => Some(bytes),
        Sent::Refused | Sent::Unreadable => {
            cx.streams.release(to);
            None
        }
    }
}
