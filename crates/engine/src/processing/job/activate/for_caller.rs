//! Jobs for callers that may only take those of some processes. Other jobs are skipped and stay for callers that may take
//! them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use skep_identity::Grants;
use skep_protocol::command::ActivateJobs;
use skep_protocol::origin::Claims;
use skep_protocol::permission::Permission;
use skep_protocol::{ActivatedJob, Key, TenantId, Tenants, grants};

use super::places::PolledJobs;
use super::{MAX_PUSHED_BYTES, Sent, push};
use crate::effects::{Pushed, Reservation};
use crate::processing::authorization::grants_of_caller;
use crate::processing::{Context, authorization};
use crate::state::{Job, JobState};

const TAKE: Permission = grants![ProcessDefinition: UpdateProcessInstance][0];

/// The search of one poll for waiting jobs that its caller may take.
pub(super) struct Look<'a> {
    command: &'a ActivateJobs,
    tenant: &'a TenantId,
    /// `None`: the caller may take all jobs.
    limited: Option<Limited>,
}

struct Limited {
    grants: Arc<Grants>,
    jobs: PolledJobs,
    /// The job after which it begins; `None`: at the oldest one.
    begin: Option<Key>,
    /// The job after which the next poll begins.
    end: Option<Key>,
}

impl<'a> Look<'a> {
    pub fn begin(
        cx: &mut Context<'_>,
        command: &'a ActivateJobs,
        tenant: &'a TenantId,
    ) -> Look<'a> {
        let grants = grants_of_caller(cx).filter(|grants| !grants.allows_any(TAKE));
        let caller = match &cx.origin.claims {
            Claims::Anonymous | Claims::Internal => None,
            Claims::User(principal) | Claims::Client(principal) => Some(Arc::clone(&principal.id)),
        };
        let limited = grants.zip(caller).map(|(grants, caller)| {
            let jobs = PolledJobs {
                caller,
                job_type: Arc::clone(&command.job_type),
                tenant: tenant.clone(),
            };
            let directory = &cx.state.identity.directory;
            let begin = cx.volatile.places.get(directory, &jobs);
            Limited {
                grants,
                jobs,
                begin,
                end: begin,
            }
        });
        Look {
            command,
            tenant,
            limited,
        }
    }

    /// Returns up to `most` waiting jobs that the caller may take, skipping the first `seen`. They are the oldest, unless the last poll
    /// stopped before it had examined all: then this one continues behind it, up to the newest job, and from the oldest on.
    pub fn find(&mut self, cx: &Context<'_>, seen: usize, most: usize) -> Vec<Key> {
        let (job_type, tenant) = (&self.command.job_type, self.tenant);
        let jobs = &cx.state.jobs;
        let Some(limited) = &mut self.limited else {
            let waiting = jobs.activatable(job_type, tenant);
            return waiting.skip(seen).take(most).collect();
        };
        // Few definitions have many jobs: each is checked once.
        let (processes, mut known) = (&cx.state.processes, FxHashMap::default());
        let grants = &limited.grants;
        let mut may_take = |definition| {
            *known.entry(definition).or_insert_with(|| {
                let process = processes.get(definition);
                process.is_some_and(|process| grants.allows(TAKE, &process.bpmn_process_id))
            })
        };
        let begin = limited.begin;
        let before = begin.into_iter().flat_map(move |begin| {
            let oldest = jobs.activatable_after(job_type, tenant, None);
            oldest.take_while(move |(key, _)| *key <= begin)
        });
        let waiting = jobs.activatable_after(job_type, tenant, begin);
        let (mut looked_at, mut last) = (0, None);
        let found: Vec<Key> = waiting
            .chain(before)
            .take(cx.config.max_looked_at)
            .inspect(|(key, _)| {
                looked_at += 1;
                last = Some(*key);
            })
            .filter(|(_, definition)| may_take(*definition))
            .map(|(key, _)| key)
            .skip(seen)
            .take(most)
            .collect();
        // A poll that begins at the oldest job and finds enough leaves no place: jobs that come back are offered first.
        let goes_around = begin.is_some() && found.len() == most;
        if looked_at >= cx.config.max_looked_at || goes_around {
            limited.end = last.or(limited.end);
        } else {
            limited.end = None;
        }
        found
    }

    /// Remembers where the next poll begins. `last`: the last job that had room in the answer, if others had none.
    pub fn end(self, cx: &mut Context<'_>, last: Option<&ActivatedJob>) {
        if let Some(Limited { jobs, end, .. }) = self.limited {
            let end = end.map(|end| last.map_or(end, |job| job.key));
            cx.volatile.places.set(jobs, end);
        }
    }
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
                .take(cx.config.max_looked_at - looked_at)
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
