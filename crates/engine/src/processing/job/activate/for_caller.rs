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
use super::rounds::{Round, Stretch, stretches};
use super::{MAX_PUSHED_BYTES, Sent, push};
use crate::effects::{Pushed, Reservation};
use crate::processing::authorization::grants_of_caller;
use crate::processing::{Context, authorization};
use crate::state::{Job, JobState};

const TAKE: Permission = grants![ProcessDefinition: UpdateProcessInstance][0];

/// The name of the caller whose command is processed.
pub(super) fn caller(cx: &Context<'_>) -> Option<Arc<str>> {
    match &cx.origin.claims {
        Claims::Anonymous | Claims::Internal => None,
        Claims::User(principal) | Claims::Client(principal) => Some(Arc::clone(&principal.id)),
    }
}

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
        let limited = grants.zip(caller(cx)).map(|(grants, caller)| {
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
    /// stopped before it had examined all: then this one continues behind it, up to the newest job, and from the oldest on. Examines at
    /// most `to_examine` jobs, and counts them.
    pub fn find(
        &mut self,
        cx: &Context<'_>,
        seen: usize,
        most: usize,
        to_examine: &mut usize,
    ) -> Vec<Key> {
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
            .take(*to_examine)
            .inspect(|(key, _)| {
                looked_at += 1;
                last = Some(*key);
            })
            .filter(|(_, definition)| may_take(*definition))
            .map(|(key, _)| key)
            .skip(seen)
            .take(most)
            .collect();
        *to_examine = to_examine.saturating_sub(looked_at);
        // A poll that begins at the oldest job and finds enough leaves no place: jobs that come back are offered first.
        let goes_around = begin.is_some() && found.len() == most;
        if *to_examine == 0 || goes_around {
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
            None => {
                let tenant = job.tenant();
                cx.effects.job_available(job.job_type, tenant);
            }
        }
    }
    new_jobs.drain(..done);
    *cx.new_jobs = new_jobs;
}

/// Pushes up to `limit` waiting jobs of a type into streams that have room again: the oldest, unless the last search stopped before it had
/// examined all.
pub(super) fn push_waiting(cx: &mut Context<'_>, job_type: &str, limit: usize) -> Pushed {
    let tenants = cx.state.jobs.tenants_waiting(job_type);
    let jobs = &cx.state.jobs;
    let waiting = tenants.iter().map(|it| jobs.waiting_of(job_type, it)).sum();
    let round = cx.volatile.rounds.take(job_type).unwrap_or_default();
    let mut search = Search::new(job_type, limit, waiting, round);
    search.run(cx, tenants)
}

/// Continues a search that has not yet examined all waiting jobs of its type.
pub(super) fn continue_search(cx: &mut Context<'_>, limit: usize) {
    if let Some((job_type, round)) = cx.volatile.rounds.take_pending() {
        let tenants = cx.state.jobs.tenants_waiting(&job_type);
        Search::new(&job_type, limit, round.left, round).run(cx, tenants);
    }
}

/// One turn of a search for waiting jobs of a type that its streams may have.
struct Search<'a> {
    job_type: &'a str,
    limit: usize,
    /// Whether the last search stopped before it had examined all.
    continues: bool,
    round: Round,
    looked_at: usize,
    pushed: usize,
    bytes: usize,
    /// No stream has room for jobs of these processes.
    without_room: FxHashSet<Key>,
}

/// Outcome of examining a part of the waiting jobs.
enum Examined {
    /// All of them.
    All,
    /// As many as a turn may examine.
    Enough,
    /// As many as a turn may push were found.
    Filled,
    /// No stream has credit.
    NoCredit,
}

impl<'a> Search<'a> {
    fn new(job_type: &'a str, limit: usize, left: usize, round: Round) -> Search<'a> {
        Search {
            job_type,
            limit,
            continues: round.after.is_some(),
            round: Round { left, ..round },
            looked_at: 0,
            pushed: 0,
            bytes: 0,
            without_room: FxHashSet::default(),
        }
    }

    fn run(&mut self, cx: &mut Context<'_>, tenants: Vec<TenantId>) -> Pushed {
        let mut end = Examined::All;
        for stretch in stretches(tenants, self.round.after.as_ref()) {
            end = self.examine(cx, &stretch);
            if !matches!(end, Examined::All) {
                break;
            }
        }
        let round = match end {
            Examined::All => Round::default(),
            Examined::Enough => self.rest(),
            // The next turn or search continues here if this one did not begin at the oldest job: those jobs would be examined again.
            Examined::Filled if self.continues => self.rest(),
            Examined::NoCredit if self.continues => Round {
                left: 0,
                ..self.round.clone()
            },
            Examined::Filled | Examined::NoCredit => Round::default(),
        };
        cx.volatile.rounds.put(self.job_type, round);
        Pushed {
            jobs: self.pushed,
            more: matches!(end, Examined::Filled),
        }
    }

    /// The search after this turn.
    fn rest(&self) -> Round {
        Round {
            left: self.round.left.saturating_sub(self.looked_at),
            ..self.round.clone()
        }
    }

    fn examine(&mut self, cx: &mut Context<'_>, stretch: &Stretch) -> Examined {
        let mut after = stretch.after;
        let end = loop {
            let most = cx.config.max_looked_at.saturating_sub(self.looked_at);
            let (jobs, mut last) = (&cx.state.jobs, after);
            let next = jobs
                .activatable_after(self.job_type, &stretch.tenant, after)
                .take_while(|(key, _)| stretch.upto.is_none_or(|upto| *key <= upto))
                .take(most)
                .inspect(|(key, _)| {
                    self.looked_at += 1;
                    last = Some(*key);
                })
                .find(|(_, definition)| !self.without_room.contains(definition));
            let Some((key, definition)) = next else {
                after = last;
                break if self.looked_at >= cx.config.max_looked_at {
                    Examined::Enough
                } else {
                    Examined::All
                };
            };
            if let Some(end) = self.offer(cx, key, definition) {
                break end;
            }
            after = Some(key);
        };
        if let Some(key) = after {
            self.round.after = Some((stretch.tenant.clone(), key));
        }
        end
    }

    /// Offers a job to the streams. `Some`: the turn ends.
    fn offer(&mut self, cx: &mut Context<'_>, key: Key, definition: Key) -> Option<Examined> {
        if self.pushed >= self.limit || self.bytes >= MAX_PUSHED_BYTES {
            return Some(Examined::Filled);
        }
        let job = activatable(cx, key)?;
        let Some(to) = reserve(cx, &job) else {
            self.without_room.insert(definition);
            // Most clients may have all jobs: without this, each credit would cost a look at all that wait.
            return (!cx.streams.has_credit(self.job_type)).then_some(Examined::NoCredit);
        };
        if let Some(size) = pushed(cx, key, to) {
            self.pushed += 1;
            self.bytes += size;
        }
        None
    }
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
