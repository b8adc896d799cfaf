//! Answers shared between pages (`skep-consistency: shared`). Many browsers that show the same page repeat the same question;
//! it is asked once.
//!
//! - An answer is shared for [`FRESH`], or less if the caller wants so. Equal questions that arrive while it is being asked
//!   wait for it.
//! - Questions are equal if the requests are, and the callers see the same: all callers if there is nothing to check, else
//!   the same caller. They are asked under the same directory of users and permissions: a change of permissions invalidates
//!   all answers.
//! - Together they take at most a fifth of a core ([`Budget`]). Beyond that a caller gets the last answer, with its `age`, or
//!   waits.
//!
//! Everything that is kept is bounded: [`MAX_QUESTIONS`], [`MAX_BYTES`], and [`KEPT`].

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AGE, CACHE_CONTROL};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_identity::Directory;
use skep_metrics::Counter;
use skep_protocol::Failure;
use skep_protocol::origin::Claims;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::RestBody;
use super::super::problem::Problem;
use super::CONSISTENCY;

/// How long an answer counts as fresh.
pub const FRESH: Duration = Duration::from_secs(5);
/// How long it is kept in case no new one can be had.
const KEPT: Duration = Duration::from_secs(60);
const MAX_QUESTIONS: usize = 1_000;
const MAX_BYTES: usize = 16 << 20;
/// Maximum size of a kept question, and of an answer together with its question.
const MAX_QUESTION: usize = 64 << 10;
const MAX_ONE: usize = 1 << 20;
/// Questions that the stores work on at a time.
const AT_A_TIME: usize = 2;
/// How long a question waits for its turn where there is no answer yet.
const PATIENCE: Duration = Duration::from_secs(5);

/// The age of an answer that the caller accepts: [`FRESH`], or less if `cache-control: max-age` says so (RFC 9111, section
/// 5.2.1.1). `None`: the caller wants an answer of its own.
pub fn accepted_age(headers: &HeaderMap) -> Option<Duration> {
    let consistency = headers.get(&CONSISTENCY)?;
    if consistency != "shared" {
        return None;
    }
    let lists = headers.get_all(CACHE_CONTROL).into_iter();
    let directives = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    let ages = directives.filter_map(|directive| {
        let seconds = directive.trim().strip_prefix("max-age=")?;
        seconds.parse().ok().map(Duration::from_secs)
    });
    Some(ages.min().unwrap_or(FRESH).min(FRESH))
}

/// A request, as far as the answer depends on it.
#[derive(Clone, PartialEq)]
pub struct Question {
    pub method: http::Method,
    /// With its query.
    pub path: String,
    pub body: Bytes,
    /// The caller whose permissions narrow the answer. `None`: all callers see the same.
    pub whose: Option<Claims>,
}

impl Eq for Question {}

impl Hash for Question {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.method, &self.path, &self.body).hash(state);
        if let Some(Claims::User(principal) | Claims::Client(principal)) = &self.whose {
            principal.id.hash(state);
        }
    }
}

impl Question {
    fn bytes(&self) -> usize {
        let whose = self.whose.as_ref().map_or(0, Claims::weight);
        size_of::<Question>() + self.path.len() + self.body.len() + whose
    }
}

/// An answer that was given, and when it was asked for.
#[derive(Clone)]
struct Given {
    asked: Instant,
    headers: HeaderMap,
    body: Bytes,
}

impl Given {
    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.asked)
    }

    fn response(self, now: Instant) -> Response<RestBody> {
        let age = HeaderValue::from(self.age(now).as_secs());
        let mut response = Response::new(RestBody::from(self.body));
        *response.headers_mut() = self.headers;
        response.headers_mut().insert(AGE, age);
        response
    }
}

/// A question, as long as it is being asked or its answer is kept.
struct Slot {
    /// The directory for which the answer is valid. It is not kept alive, but its address stays reserved, so that no other one gets it.
    directory: Weak<Directory>,
    /// Held by the caller that asks the stores.
    asking: tokio::sync::Mutex<()>,
    given: Mutex<Option<Given>>,
}

impl Slot {
    fn within(&self, age: Duration, now: Instant) -> Option<Given> {
        let given = self.given.lock();
        given.as_ref().filter(|it| it.age(now) < age).cloned()
    }

    fn bytes(&self) -> usize {
        let given = self.given.lock();
        given.as_ref().map_or(0, |it| it.body.len())
    }

    fn asked(&self) -> Option<Instant> {
        self.given.lock().as_ref().map(|it| it.asked)
    }
}

/// Searches by where their answer came from.
#[derive(Clone, Debug, Default)]
pub struct SharedCounts {
    /// The stores were asked.
    pub asked: Counter,
    /// Another caller had asked within the accepted age, or was asking.
    pub fresh: Counter,
    /// It was older: shared searches had taken their part of the machine.
    pub kept: Counter,
    /// There was none.
    pub refused: Counter,
}

/// See the [module](self).
pub struct SharedAnswers {
    slots: Mutex<FxHashMap<Question, Arc<Slot>>>,
    turns: Arc<Semaphore>,
    budget: Arc<Mutex<Budget>>,
    /// How many threads a question may keep busy.
    parallel: u32,
    counts: SharedCounts,
}

impl SharedAnswers {
    /// For stores of so many partitions, which are asked side by side.
    pub fn new(partitions: u32, counts: SharedCounts) -> SharedAnswers {
        let cores = std::thread::available_parallelism().map_or(1, |it| it.get());
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        SharedAnswers {
            slots: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_A_TIME)),
            budget: Arc::new(Mutex::new(Budget::new(Instant::now()))),
            parallel: partitions.clamp(1, cores),
            counts,
        }
    }

    /// Answers from the kept answer, or by asking: `ask` gets the measure of the time that the stores take.
    ///
    /// # Errors
    /// Those of `ask`, and `ResourceExhausted` if shared questions have used up their part of the machine and this one has no answer yet.
    pub async fn answer<F>(
        &self,
        question: Question,
        accepted: Duration,
        directory: &Arc<Directory>,
        ask: impl FnOnce(Spending) -> F,
    ) -> Result<Response<RestBody>, Problem>
    where
        F: Future<Output = Result<Response<RestBody>, Problem>>,
    {
        let slot = self.slot(&question, directory);
        let fresh = |now| {
            let given = slot.within(accepted, now)?;
            self.counts.fresh.inc();
            Some(given.response(now))
        };
        if let Some(response) = fresh(Instant::now()) {
            return Ok(response);
        }
        let last = || {
            let now = Instant::now();
            let Some(given) = slot.within(KEPT, now) else {
                self.counts.refused.inc();
                return Err(Problem::from(exhausted()));
            };
            self.counts.kept.inc();
            Ok(given.response(now))
        };
        // Failures are not shared: without a limit, everyone in the queue would wait for all failures before.
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let Ok(_asking) = tokio::time::timeout_at(deadline, slot.asking.lock()).await else {
            return last();
        };
        if let Some(response) = fresh(Instant::now()) {
            return Ok(response);
        }
        let Some(turn) = self.turn(&slot, deadline).await else {
            return last();
        };
        self.counts.asked.inc();
        let asked = Instant::now();
        let response = ask(self.spending(turn)).await?;
        self.keep(&slot, &question, asked, &response);
        Ok(response)
    }

    fn slot(&self, question: &Question, directory: &Arc<Directory>) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        let is_same =
            |slot: &&Arc<Slot>| std::ptr::eq(slot.directory.as_ptr(), Arc::as_ptr(directory));
        if let Some(slot) = slots.get(question).filter(is_same) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot {
            directory: Arc::downgrade(directory),
            asking: tokio::sync::Mutex::default(),
            given: Mutex::default(),
        });
        let bytes = question.bytes();
        if bytes <= MAX_QUESTION {
            make_room(&mut slots, MAX_QUESTIONS - 1, MAX_BYTES - bytes);
            slots.insert(question.clone(), Arc::clone(&slot));
        }
        slot
    }

    /// The turn to ask the stores. `None`: not now, because there is an older answer or the time is over.
    async fn turn(
        &self,
        slot: &Slot,
        deadline: tokio::time::Instant,
    ) -> Option<OwnedSemaphorePermit> {
        let wait = self.budget.lock().wait(Instant::now());
        if !wait.is_zero() && slot.within(KEPT, Instant::now()).is_some() {
            return None;
        }
        let turn = tokio::time::timeout_at(deadline, Arc::clone(&self.turns).acquire_owned());
        let turn = turn.await.ok()?.ok()?;
        loop {
            let wait = self.budget.lock().wait(Instant::now());
            if wait.is_zero() {
                return Some(turn);
            }
            if tokio::time::Instant::now() + wait > deadline {
                return None;
            }
            tokio::time::sleep(wait).await;
        }
    }

    fn spending(&self, turn: OwnedSemaphorePermit) -> Spending {
        Spending {
            budget: Arc::clone(&self.budget),
            parallel: self.parallel,
            since: None,
            _turn: turn,
        }
    }

    fn keep(
        &self,
        slot: &Slot,
        question: &Question,
        asked: Instant,
        response: &Response<RestBody>,
    ) {
        let RestBody::Whole(Some(body)) = response.body() else {
            return;
        };
        let is_short = question.bytes() + body.len() <= MAX_ONE;
        if response.status() != StatusCode::OK || !is_short {
            return;
        }
        *slot.given.lock() = Some(Given {
            asked,
            headers: response.headers().clone(),
            body: body.clone(),
        });
        make_room(&mut self.slots.lock(), MAX_QUESTIONS, MAX_BYTES);
    }
}

/// Forgets answers that are too old, and then the oldest ones until this much is left.
fn make_room(slots: &mut FxHashMap<Question, Arc<Slot>>, questions: usize, bytes: usize) {
    let now = Instant::now();
    // Slots are held only by callers that are asking.
    slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.within(KEPT, now).is_some());
    let size = |(question, slot): (&Question, &Arc<Slot>)| question.bytes() + slot.bytes();
    let mut left: usize = slots.iter().map(size).sum();
    if slots.len() <= questions && left <= bytes {
        return;
    }
    let mut by_age: Vec<_> = slots
        .iter()
        .map(|(question, slot)| (slot.asked(), question.clone()))
        .collect();
    // Those that are being asked come last.
    by_age.sort_by_key(|(asked, _)| (asked.is_none(), *asked));
    for (_, question) in by_age {
        if slots.len() <= questions && left <= bytes {
            return;
        }
        if let Some(slot) = slots.remove(&question) {
            left = left.saturating_sub(question.bytes() + slot.bytes());
        }
    }
}

fn exhausted() -> Failure {
    Failure::ResourceExhausted(
        "Shared searches (skep-consistency: shared) use up their share of the server, and this search has no earlier answer. Send it \
         again later, or without the header."
            .to_string(),
    )
}

/// Books the time from its start to its drop, regardless of the outcome.
pub struct Spending {
    budget: Arc<Mutex<Budget>>,
    parallel: u32,
    since: Option<Instant>,
    _turn: OwnedSemaphorePermit,
}

impl Spending {
    /// The stores are asked from now on.
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
    }
}

impl Drop for Spending {
    fn drop(&mut self) {
        if let Some(since) = self.since {
            self.budget.lock().spend(since.elapsed() * self.parallel);
        }
    }
}

/// The time that shared questions may take: [`Budget::PART`] of the elapsed time, and the saved time.
///
/// Time is measured from question to answer, and counts for each partition that is asked at the same time. If other queries
/// keep the stores busy, that is longer than the stores' own work, so shared questions take the less, the more others ask.
struct Budget {
    /// Nanoseconds; overdrawn time is paid back first.
    left: i128,
    at: Instant,
}

impl Budget {
    /// The denominator of the share of a core.
    const PART: u32 = 5;
    /// Maximum saved time.
    const SAVED: Duration = Duration::from_secs(1);

    fn new(now: Instant) -> Budget {
        Budget {
            left: Budget::SAVED.as_nanos().cast_signed(),
            at: now,
        }
    }

    /// How long until a question may be asked.
    fn wait(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at);
        self.at = self.at.max(now);
        let earned = (passed / Budget::PART).as_nanos().cast_signed();
        self.left = (self.left + earned).min(Budget::SAVED.as_nanos().cast_signed());
        if self.left > 0 {
            return Duration::ZERO;
        }
        let lacking = u64::try_from(1 - self.left).unwrap_or(u64::MAX);
        Duration::from_nanos(lacking).saturating_mul(Budget::PART)
    }

    fn spend(&mut self, took: Duration) {
        self.left -= took.as_nanos().cast_signed();
    }
}

#[cfg(test)]
mod tests;
