//! The path of a request that both front ends share: to the broker and back, with its time accounted for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use http::HeaderMap;
use pin_project_lite::pin_project;
use skep_documents::Stores;
use skep_identity::Directory;
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Failure, Response, TenantFilter};
use skep_query::Storage;
use skep_service::{Broker, JobReceiver, Reply, Timings};
use tokio::time::Timeout;

use crate::admission::Gate;
use crate::check::Tenancy;
use crate::config::GatewayConfig;
use crate::door::passwords::Passwords;
use crate::door::{Door, Head, Refused, is_forged};
use crate::metrics::broker_requests::{self, RequestKind};
use crate::metrics::{GatewayMetrics, GatewayTimings, Protocol};
use crate::open_requests::{OpenPermit, OpenRequests};
use crate::rest::SharedAnswers;
use crate::stop::{Stop, Stopper, stop_signal};
use crate::trace::{RequestSpan, TraceParent};

/// One front end: the objects that its connections share.
pub struct FrontEnd {
    pub protocol: Protocol,
    pub config: Arc<GatewayConfig>,
    pub broker: Arc<dyn Broker>,
    /// Executes searches.
    pub storage: Arc<dyn Storage>,
    pub documents: Arc<Stores>,
    pub passwords: Arc<Passwords>,
    pub door: Arc<Door>,
    pub metrics: Arc<GatewayMetrics>,
    pub gate: Gate,
    /// Answers shared by requests for the same page.
    pub shared: SharedAnswers,
    /// Counts the streams of all front ends.
    pub job_streams: OpenRequests,
    /// Counts the waiting activations of all front ends.
    pub long_polls: OpenRequests,
    pub stop: Stop,
}

pin_project! {
    /// A request that the broker has, and its pending answer. It does not hold the request, which would make the future of
    /// each call larger.
    pub struct Sent {
        kind: RequestKind,
        at: Instant,
        timeout: Duration,
        #[pin]
        reply: Timeout<Reply>,
    }
}

impl Future for Sent {
    type Output = BrokerAnswer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BrokerAnswer> {
        let this = self.project();
        let (result, timings) = match ready!(this.reply.poll(cx)) {
            Ok(answer) => (answer.result, answer.timings),
            Err(_) => (Err(no_answer(*this.timeout)), Timings::default()),
        };
        Poll::Ready(BrokerAnswer {
            kind: *this.kind,
            took: ns(this.at.elapsed()),
            result,
            timings,
        })
    }
}

/// Outcome of a request, for [`FrontEnd::answered`].
#[must_use]
pub struct BrokerAnswer {
    kind: RequestKind,
    /// In nanoseconds.
    took: u64,
    result: Result<Response, Failure>,
    timings: Timings,
}

/// Records where a request spends its time in the gateway.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    started: Instant,
    mark: Instant,
    gateway: GatewayTimings,
    parent: Option<TraceParent>,
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        let now = Instant::now();
        Stopwatch {
            started: now,
            mark: now,
            gateway: GatewayTimings::default(),
            parent: None,
        }
    }

    /// The caller's span, if there is a listener for spans.
    pub fn of_call(headers: &HeaderMap, config: &GatewayConfig) -> Stopwatch {
        let mut watch = Stopwatch::start();
        if config.spans.is_some() {
            watch.parent = TraceParent::of(headers);
        }
        watch
    }

    /// This much of the time since the last call was spent checking the caller's credentials.
    pub fn authenticated(&mut self, took: Duration) {
        self.gateway.authentication += ns(took);
        self.mark += took;
    }

    /// The time since the last call was spent waiting for a slot or for budget.
    pub fn queued(&mut self) {
        let now = Instant::now();
        self.gateway.queue += ns(now - self.mark);
        self.mark = now;
    }

    /// The time since the last call was spent receiving and decoding.
    pub fn decoded(&mut self) {
        let now = Instant::now();
        self.gateway.decode += ns(now - self.mark);
        self.mark = now;
    }

    pub fn total_ns(&self) -> u64 {
        ns(self.started.elapsed())
    }

    fn span(
        &self,
        protocol: Protocol,
        kind: RequestKind,
        broker: &Timings,
        failure: Option<&'static str>,
    ) -> RequestSpan {
        RequestSpan {
            protocol,
            request_type: kind.name(),
            started: self.started,
            duration: self.started.elapsed(),
            stages: [
                self.gateway.authentication,
                self.gateway.queue,
                self.gateway.decode,
                broker.route,
                broker.inbox_wait,
                broker.evaluation,
                broker.append,
                broker.fsync,
                broker.commit,
                0,
            ],
            failure,
            parent: self.parent,
        }
    }
}

impl FrontEnd {
    /// Authenticates the caller.
    ///
    /// # Errors
    /// The caller is not authenticated.
    pub async fn enter(&self, head: &Head<'_>, watch: &mut Stopwatch) -> Result<Claims, Refused> {
        match self.door.at_once(head, || self.directory()) {
            // Reading the clock would cost as much as this did.
            Ok(Some(claims)) => Ok(claims),
            Ok(None) => {
                // Boxed: rarely needed state must not enlarge the future of each request.
                let (checked, took) = Box::pin(self.check(head)).await;
                watch.authenticated(took);
                checked
            }
            Err(refused) => {
                self.refused(&refused);
                Err(refused)
            }
        }
    }

    /// Checks the credentials of a caller who is not known at once. Returns the time that it took, too.
    pub async fn check(&self, head: &Head<'_>) -> (Result<Claims, Refused>, Duration) {
        let begun = Instant::now();
        let checked = match self.directory() {
            Ok(directory) => self.door.check(head, &directory).await,
            Err(refused) => Err(refused),
        };
        if let Err(refused) = &checked {
            self.refused(refused);
        }
        (checked, begun.elapsed())
    }

    /// Lets everybody in but pages of other sites.
    ///
    /// # Errors
    /// A page of another site has sent the request.
    pub fn is_own(&self, head: &Head<'_>) -> Result<(), Refused> {
        if is_forged(head) {
            self.refused(&Refused::Forged);
            return Err(Refused::Forged);
        }
        Ok(())
    }

    /// The directory that callers are looked up in.
    ///
    /// # Errors
    /// It may lack changes that are older than the settings allow.
    pub fn directory(&self) -> Result<Arc<Directory>, Refused> {
        if let Some(max) = self.config.security.max_view_age {
            let age = self.broker.directory_age();
            if age > max {
                let time = match age {
                    Duration::MAX => "since it started".to_string(),
                    age => format!("for {} s", age.as_secs()),
                };
                return Err(Refused::Cannot(Failure::Unavailable(format!(
                    "This node has not heard the leader of partition 1 {time}, so its users and permissions may be outdated \
                     (skep.security.max-view-age: {} s). Send the request to another node, or again later.",
                    max.as_secs()
                ))));
            }
        }
        Ok(self.broker.directory())
    }

    /// Records that a caller was not authenticated: in the metrics always, in the log at intervals.
    pub fn refused(&self, refused: &Refused) {
        self.door.refusals.note(refused);
        self.metrics.refused(self.protocol, refused);
    }

    /// Hands the request to the broker, right after its decoding or its wait for a slot: the clock was read then, and reading it costs as
    /// much as a small allocation. The answer comes within `timeout`, or is a failure.
    pub fn send(&self, request: Request, timeout: Duration, watch: &Stopwatch) -> Sent {
        let kind = RequestKind::of(&request.command);
        let at = watch.mark;
        let reply = self.broker.execute(request);
        let reply = match at.checked_add(timeout) {
            Some(deadline) => tokio::time::timeout_at(deadline.into(), reply),
            None => tokio::time::timeout(timeout, reply),
        };
        Sent {
            kind,
            at,
            timeout,
            reply,
        }
    }

    /// Records the answer to a request that was sent.
    pub fn answered(
        &self,
        answer: BrokerAnswer,
        watch: &Stopwatch,
    ) -> (Result<Response, Failure>, Timings) {
        let BrokerAnswer {
            kind,
            took,
            result,
            timings,
        } = answer;
        let metrics = &self.metrics.broker_requests;
        metrics.observe(kind, &result, took);
        if let Some(listener) = &self.config.spans {
            let failure = result.as_ref().err().map(broker_requests::error_name);
            listener.answered(&watch.span(self.protocol, kind, &timings, failure));
        }
        (result, timings)
    }

    /// Sends a request that waits longer than for its commit, and books its answer: it is also answered when the gateway
    /// stops.
    pub async fn execute_waiting(
        &self,
        request: Request,
        timeout: Duration,
        watch: &Stopwatch,
    ) -> (Result<Response, Failure>, Timings) {
        let sent = self.send(request, timeout, watch);
        let (kind, at) = (sent.kind, sent.at);
        tokio::select! {
            biased;
            answer = sent => self.answered(answer, watch),
            () = self.stop.clone().stopped() => {
                let result = Err(Failure::Unavailable(STOPPING.to_string()));
                let metrics = &self.metrics.broker_requests;
                metrics.observe(kind, &result, ns(at.elapsed()));
                (result, Timings::default())
            }
        }
    }

    /// Records an answered command. Returns the nanoseconds that it took.
    pub fn book(&self, watch: &Stopwatch, timings: &Timings) -> u64 {
        let now = Instant::now();
        let total = ns(now - watch.started);
        let waiting_jobs = || self.broker.waiting_jobs();
        self.gate.answered(timings, now, waiting_jobs);
        let metrics = &self.metrics;
        metrics.observe_stages(self.protocol, &watch.gateway, timings, total);
        total
    }

    /// Activates jobs, waiting up to `wait` for the first. Empty when there are none or when the gateway stops. The caller
    /// of this function returns jobs that do not reach the client.
    ///
    /// # Errors
    /// Those of the broker, and [`Failure::ResourceExhausted`] if there are no jobs and too many requests wait: after an empty
    /// answer a worker would ask again at once, after an error it pauses.
    pub async fn activate(
        &self,
        command: ActivateJobs,
        claims: Claims,
        wait: Duration,
    ) -> Result<Vec<ActivatedJob>, Failure> {
        let kind = RequestKind::ACTIVATE_JOBS;
        let sent = Instant::now();
        let place = (!wait.is_zero()).then(|| self.long_polls.open(&claims));
        let place = place.transpose();
        // Jobs that are there already need no place.
        let wait = place.as_ref().map_or(Duration::ZERO, |_| wait);
        let _queued = (!wait.is_zero()).then(|| {
            self.metrics
                .long_polls
                .queue(command.job_type.clone(), self.protocol)
        });
        let result = tokio::select! {
            biased;
            result = self.broker.activate_jobs(command, claims, wait) => result,
            () = self.stop.clone().stopped() => Ok(Vec::new()),
        };
        let result = match (result, place) {
            (Ok(jobs), Err(refusal)) if jobs.is_empty() => Err(refusal),
            (result, _) => result,
        };
        let outcome = result
            .as_ref()
            .map(|_| Response::Empty)
            .map_err(Clone::clone);
        let metrics = &self.metrics.broker_requests;
        metrics.observe(kind, &outcome, ns(sent.elapsed()));
        result
    }

    /// How long an activation waits: 0 takes the default, less turns waiting off.
    pub fn long_poll(&self, request_timeout_ms: i64) -> Duration {
        let long_polling = &self.config.long_polling;
        if !long_polling.enabled || request_timeout_ms < 0 {
            return Duration::ZERO;
        }
        crate::check::millis(request_timeout_ms).unwrap_or(long_polling.timeout)
    }

    /// How long a creation waits for the end of its instance: the client's time, or the default for 0 and less.
    pub fn await_timeout(&self, request_timeout_ms: i64) -> Duration {
        crate::check::millis(request_timeout_ms).unwrap_or(self.config.request_timeout)
    }

    /// Records in the log, at intervals, that a stream will get nothing of a tenant that it names.
    fn note_foreign_tenants(&self, spec: &ActivateJobs, claims: &Claims) {
        let (Claims::User(caller) | Claims::Client(caller)) = claims else {
            return;
        };
        let directory = self.broker.directory();
        let is_named = spec.tenants.filter == TenantFilter::Provided;
        // A node that has just started knows no assignments.
        if self.config.security.tenancy == Tenancy::Off || !is_named || directory.is_empty() {
            return;
        }
        let Some(grants) = self.door.sights.of(&directory, claims) else {
            return;
        };
        let mut named = spec.tenants.iter();
        if let Some(foreign) = named.find(|tenant| !grants.tenants().contains(tenant)) {
            self.door.foreign_tenants.note(&caller.id, &foreign);
        }
    }

    /// Opens a job stream that counts itself.
    ///
    /// # Errors
    /// [`Failure::ResourceExhausted`] if too many are open.
    pub fn open_job_stream(
        &self,
        mut spec: ActivateJobs,
        claims: Claims,
    ) -> Result<JobStream, Failure> {
        let permit = self.job_streams.open(&claims)?;
        self.note_foreign_tenants(&spec, &claims);
        spec.max_jobs = self.config.job_stream_credit.max(1);
        self.metrics.job_streams.opened();
        let (end, ended) = stop_signal();
        let stopped = self.stop.clone().stopped();
        let credentials_changed = credentials_changed(Arc::clone(&self.broker), &claims);
        Ok(JobStream {
            receiver: self.broker.open_job_stream(spec, claims),
            metrics: Arc::clone(&self.metrics),
            stopped: Box::pin(async move {
                tokio::select! {
                    () = stopped => {}
                    () = ended.stopped() => {}
                    () = credentials_changed => {}
                }
            }),
            end: Arc::new(end),
            _permit: permit,
        })
    }
}

/// Interval between two checks of the credentials with which a job stream was opened.
const CREDENTIALS: Duration = Duration::from_secs(1);

/// Completes when the password of the user has changed, or the user is gone: a user created later with the same name is another one. Never
/// completes for callers who are not managed here.
fn credentials_changed(
    broker: Arc<dyn Broker>,
    claims: &Claims,
) -> impl Future<Output = ()> + Send + use<> {
    let name = match claims {
        Claims::User(principal) => Some(Arc::clone(&principal.id)),
        Claims::Anonymous | Claims::Internal | Claims::Client(_) => None,
    };
    let hash = move |directory: &Directory, name: &str| {
        let user = directory.user(name);
        user.map(|user| user.password.clone())
    };
    let opened_with = name.and_then(|name| {
        let hash = hash(&broker.directory(), &name)?;
        Some((name, hash))
    });
    async move {
        let Some((name, opened_with)) = opened_with else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(CREDENTIALS).await;
            let directory = broker.directory();
            // A node that has just joined knows no users yet.
            if !directory.is_empty() && hash(&directory, &name).as_ref() != Some(&opened_with) {
                return;
            }
        }
    }
}

const STOPPING: &str = "The server is stopping and no longer waits for the result of this request. Its work may have begun; if so, it \
    continues after the restart. Check for it before sending the request again.";

fn no_answer(timeout: Duration) -> Failure {
    Failure::DeadlineExceeded(format!(
        "The broker did not answer within {} ms; the request may or may not have been carried out. Read the state before \
         sending it again.",
        timeout.as_millis()
    ))
}

/// An open job stream of a client; ends when the broker closes it, its connection is old or the gateway stops.
pub struct JobStream {
    end: Arc<Stopper>,
    receiver: Box<dyn JobReceiver>,
    metrics: Arc<GatewayMetrics>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    _permit: OpenPermit,
}

impl JobStream {
    /// Ends the stream. It goes with the response to the connection, which knows when it is old.
    pub fn end(&self) -> Arc<Stopper> {
        Arc::clone(&self.end)
    }

    /// Takes the next job; only called when the connection has room for it, as taking it asks for another.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ActivatedJob>> {
        match self.receiver.poll_recv(cx) {
            Poll::Pending => self.stopped.as_mut().poll(cx).map(|()| None),
            Poll::Ready(Some(job)) => {
                self.metrics.job_streams.pushed(1);
                Poll::Ready(Some(job))
            }
            Poll::Ready(None) => Poll::Ready(None),
        }
    }
}

impl Drop for JobStream {
    fn drop(&mut self) {
        self.metrics.job_streams.closed();
    }
}
