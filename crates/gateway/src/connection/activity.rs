//! The activity of a connection, for the code that decides how long it may stay open.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::config::GatewayConfig;
use crate::stop::{Stop, Stopper};

/// Counts the time of a front end's connections in ticks: reading it costs nothing, so that it can be done with each read.
#[derive(Debug, Default)]
pub struct Ticks(AtomicU32);

impl Ticks {
    fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a connection has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A request head, or a frame, did not arrive in time, or answers are not taken.
    TooSlow,
    /// No request for a long time.
    Idle,
    /// It has reached the maximum age of a connection and its client speaks HTTP/2: requests in progress are finished.
    Old,
    /// The gateway stops.
    Stopping,
}

/// Shared by a connection's bytes, its requests and the watch.
#[derive(Debug)]
pub struct Activity {
    ticks: Arc<Ticks>,
    /// Requests whose answer is not out.
    requests: AtomicU32,
    /// Answers of which the client lets nothing, or nothing more, be sent: over HTTP/2 its windows are closed.
    untaken: AtomicU32,
    /// When some part of an answer was ready or taken last, in ticks.
    moved: AtomicU32,
    /// Whether a head or a frame has begun and is incomplete.
    partial: AtomicBool,
    /// When that began, or the last request ended, in ticks.
    since: AtomicU32,
    /// Its client speaks HTTP/2, where the end of a connection is agreed on.
    http2: AtomicBool,
    /// The next answer is the last one.
    leaving: AtomicBool,
    /// When it gets old, in ticks; `None`: never.
    old_at: Option<u32>,
    /// Whether an old connection was asked to close.
    asked_to_close: AtomicBool,
    /// Job streams on it, which end when it is old.
    streams: Mutex<Vec<Weak<Stopper>>>,
    /// Whether there is a verdict. Read in each turn of the connection, so it must cost nothing.
    judged: AtomicBool,
    judgement: Mutex<Judgement>,
}

#[derive(Debug, Default)]
struct Judgement {
    verdict: Option<Verdict>,
    /// The waker of the connection's task, to be woken by a verdict.
    connection: Option<Waker>,
}

impl Activity {
    /// A connection that has just been made: its first head must come soon. It gets old after this age, in ticks.
    fn new(ticks: &Arc<Ticks>, age: Option<u32>) -> Arc<Activity> {
        Arc::new(Activity {
            old_at: age.map(|age| ticks.now().wrapping_add(age)),
            asked_to_close: AtomicBool::new(false),
            streams: Mutex::default(),
            ticks: Arc::clone(ticks),
            requests: AtomicU32::new(0),
            untaken: AtomicU32::new(0),
            moved: AtomicU32::new(ticks.now()),
            partial: AtomicBool::new(true),
            since: AtomicU32::new(ticks.now()),
            http2: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            judged: AtomicBool::new(false),
            judgement: Mutex::default(),
        })
    }

    pub fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// The client has begun to speak HTTP/2.
    pub fn is_http2(&self) {
        self.http2.store(true, Ordering::Relaxed);
    }

    pub fn speaks_http2(&self) -> bool {
        self.http2.load(Ordering::Relaxed)
    }

    /// Marks the next answer as the last one.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// A part of an answer is ready for the client.
    fn is_ready(&self) {
        self.moved.store(self.ticks.now(), Ordering::Relaxed);
        self.untaken.fetch_add(1, Ordering::Relaxed);
    }

    /// The part is on its way, or nobody waits for it any more.
    fn is_taken(&self) {
        self.moved.store(self.ticks.now(), Ordering::Relaxed);
        self.untaken.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that something has begun, or that all that had begun is complete.
    pub fn partial(&self, partial: bool, began: bool) {
        let was = self.partial.load(Ordering::Relaxed);
        if was != partial || (partial && began) {
            self.since.store(self.ticks.now(), Ordering::Relaxed);
            self.partial.store(partial, Ordering::Relaxed);
        }
    }

    /// Registers a request; it lasts until the returned value is dropped.
    pub fn request(self: &Arc<Self>) -> UnderWay {
        self.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }

    /// Registers a job stream on this connection; it is ended when the connection is old.
    pub fn stream(&self, end: &Arc<Stopper>) {
        let mut streams = self.streams.lock();
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(end));
        // A stream that arrives late on an old connection must end, too.
        if self.asked_to_close.load(Ordering::Acquire) {
            end.stop();
        }
    }

    /// Tells an old connection to close: over HTTP/1.1 its next answer is the last one, HTTP/2 needs a verdict.
    fn close_if_old(&self, now: u32) {
        let is_old = self
            .old_at
            .is_some_and(|at| now.wrapping_sub(at) < u32::MAX / 2);
        let ready = is_old && !self.partial.load(Ordering::Relaxed);
        if !ready || self.asked_to_close.swap(true, Ordering::AcqRel) {
            return;
        }
        for stream in self.streams.lock().drain(..) {
            if let Some(stream) = stream.upgrade() {
                stream.stop();
            }
        }
        if self.speaks_http2() {
            self.pronounce(Verdict::Old)
        } else {
            self.leave()
        }
    }

    /// The connection has acted on its age, and may get another verdict.
    pub fn acted_on_age(&self) {
        let mut judgement = self.judgement.lock();
        if judgement.verdict == Some(Verdict::Old) {
            judgement.verdict = None;
            self.judged.store(false, Ordering::Release);
        }
    }

    fn judge(&self, now: u32, limits: Limits) -> Option<Verdict> {
        let stuck = now.wrapping_sub(self.moved.load(Ordering::Relaxed));
        if self.untaken.load(Ordering::Relaxed) > 0 && stuck > limits.untaken {
            return Some(Verdict::TooSlow);
        }
        let waited = now.wrapping_sub(self.since.load(Ordering::Relaxed));
        if self.partial.load(Ordering::Relaxed) {
            (waited > limits.head).then_some(Verdict::TooSlow)
        } else {
            (!self.is_busy() && waited > limits.idle).then_some(Verdict::Idle)
        }
    }

    /// Ready when the connection has to end. `asked` holds the waker that the caller registered last, which is for the same
    /// task at nearly every call.
    pub fn poll_verdict(&self, cx: &Context<'_>, asked: &mut Option<Waker>) -> Poll<Verdict> {
        let known = asked
            .as_ref()
            .is_some_and(|asked| asked.will_wake(cx.waker()));
        if !known {
            *asked = Some(cx.waker().clone());
            self.judgement.lock().connection = Some(cx.waker().clone());
        }
        if !self.judged.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        let verdict = self.judgement.lock().verdict;
        verdict.map_or(Poll::Pending, Poll::Ready)
    }

    fn pronounce(&self, verdict: Verdict) {
        let mut judgement = self.judgement.lock();
        judgement.verdict = Some(verdict);
        self.judged.store(true, Ordering::Release);
        if let Some(connection) = judgement.connection.take() {
            connection.wake();
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let activity = &self.0;
        activity
            .since
            .store(activity.ticks.now(), Ordering::Relaxed);
        activity.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Largest part of an answer that is handed over at once. The rest stays here and counts as not taken: hyper and h2 accept a
/// part of any size, however little of it the client lets be sent, and drop the body then.
const PIECE: usize = 64 << 10;

/// An answer's body; the request ends with it.
#[derive(Debug)]
pub struct LastingBody<B> {
    body: B,
    /// The rest of a part larger than [`PIECE`].
    rest: Bytes,
    request: Option<UnderWay>,
    /// Whether a part is ready, and the client has not let it be sent.
    is_untaken: bool,
}

impl<B> LastingBody<B> {
    pub fn new(body: B, request: Option<UnderWay>) -> LastingBody<B> {
        if let Some(UnderWay(activity)) = &request {
            activity.is_ready();
        }
        LastingBody {
            body,
            rest: Bytes::new(),
            is_untaken: request.is_some(),
            request,
        }
    }

    /// Leaves the first [`PIECE`] of a part, and keeps the others without copying them.
    fn split(&mut self, data: &mut Bytes) {
        if data.len() > PIECE {
            self.rest = data.split_off(PIECE);
            if self.rest.len() <= PIECE {
                // What h2 keeps of the last piece must not hold the memory of the whole answer.
                self.rest = Bytes::copy_from_slice(&self.rest);
            }
        }
    }

    fn is_ready(&mut self, is_ready: bool) {
        if let Some(UnderWay(activity)) = &self.request
            && self.is_untaken != is_ready
        {
            self.is_untaken = is_ready;
            if is_ready {
                activity.is_ready();
            } else {
                activity.is_taken();
            }
        }
    }
}

impl<B> Drop for LastingBody<B> {
    fn drop(&mut self) {
        self.is_ready(false);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for LastingBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        // Over HTTP/2 this is called once the client's windows are open.
        self.is_ready(false);
        let mut frame = if self.rest.is_empty() {
            std::pin::Pin::new(&mut self.body).poll_frame(cx)
        } else {
            Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))))
        };
        if let Poll::Ready(Some(Ok(frame))) = &mut frame
            && let Some(data) = frame.data_mut()
        {
            self.split(data);
        }
        self.is_ready(matches!(frame, Poll::Ready(Some(Ok(_)))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

/// In ticks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    head: u32,
    idle: u32,
    untaken: u32,
}

#[derive(Debug, Default)]
struct Connections {
    open: Vec<Arc<Activity>>,
    /// Connections that arrive now must end at once.
    stopping: bool,
}

/// The open connections of a front end, checked once per tick.
#[derive(Debug)]
pub struct Watch {
    pub ticks: Arc<Ticks>,
    connections: Mutex<Connections>,
    tick: Duration,
    limits: Limits,
    /// How old a connection may get, in ticks; `None`: any age.
    age: Option<u32>,
    /// Connections so far.
    opened: AtomicU32,
    /// Places for further connections.
    room: Arc<Semaphore>,
}

impl Watch {
    /// For connections up to this age; zero: no limit.
    pub fn new(config: &GatewayConfig, age: Duration, room: Arc<Semaphore>) -> Watch {
        let shorter = config.head_timeout.min(config.lifetime.idle);
        let age = (!age.is_zero()).then_some(age);
        let shorter = age.map_or(shorter, |age| age.min(shorter));
        let tick = (shorter / 8).clamp(Duration::from_millis(5), Duration::from_secs(1));
        let ticks = |time: Duration| {
            u32::try_from(time.as_nanos().div_ceil(tick.as_nanos())).unwrap_or(u32::MAX)
        };
        Watch {
            ticks: Arc::default(),
            connections: Mutex::default(),
            tick,
            limits: Limits {
                head: ticks(config.head_timeout),
                idle: ticks(config.lifetime.idle),
                untaken: ticks(config.body_timeout),
            },
            age: age.map(ticks),
            opened: AtomicU32::new(0),
            room,
        }
    }

    pub fn opened(&self) -> Arc<Activity> {
        let activity = Activity::new(&self.ticks, self.age.map(|age| self.spread(age)));
        let mut connections = self.connections.lock();
        if connections.stopping {
            activity.pronounce(Verdict::Stopping);
        } else {
            connections.open.push(Arc::clone(&activity));
        }
        drop(connections);
        activity
    }

    /// An age within a tenth of the wanted one, so that connections that were made together do not end together.
    fn spread(&self, age: u32) -> u32 {
        // Multiples of the golden ratio are spread evenly.
        let turn = self
            .opened
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9E37_79B9);
        let tenth = u64::from(age / 10);
        let more = (u64::from(turn) * (2 * tenth + 1)) >> 32;
        u32::try_from(u64::from(age) - tenth + more).unwrap_or(u32::MAX)
    }

    /// Checks the connections until the gateway stops, and then ends them.
    pub async fn run(&self, stop: Stop) {
        let mut stopped = std::pin::pin!(stop.stopped());
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.tick) => self.look(),
                () = stopped.as_mut() => break,
            }
        }
        let mut connections = self.connections.lock();
        connections.stopping = true;
        for activity in connections.open.drain(..) {
            activity.pronounce(Verdict::Stopping);
        }
    }

    fn look(&self) {
        let now = self.ticks.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut limits = self.limits;
        if self.room.available_permits() == 0 {
            // Other connections wait: an idle one loses its place sooner.
            limits.idle = limits.idle.min(limits.head);
        }
        self.connections.lock().open.retain(|activity| {
            // Only this list holds it any more: the connection has ended.
            if Arc::strong_count(activity) == 1 {
                return false;
            }
            activity.close_if_old(now);
            match activity.judge(now, limits) {
                Some(verdict) => {
                    activity.pronounce(verdict);
                    false
                }
                None => true,
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Lifetime;

    fn watch(room: usize) -> Watch {
        let config = GatewayConfig {
            head_timeout: Duration::from_secs(10),
            lifetime: Lifetime {
                idle: Duration::from_secs(100),
                ..Lifetime::default()
            },
            ..GatewayConfig::default()
        };
        Watch::new(&config, Duration::ZERO, Arc::new(Semaphore::new(room)))
    }

    /// Ticks until the connection must end, and the reason.
    fn ends(watch: &Watch, activity: &Activity) -> (u32, Verdict) {
        for tick in 1..1000 {
            watch.look();
            if let Some(verdict) = activity.judgement.lock().verdict {
                return (tick, verdict);
            }
        }
        panic!("never");
    }

    #[test]
    fn a_connection_that_says_nothing_goes_after_the_time_for_a_head() {
        let watch = watch(1);
        let connection = watch.opened();
        assert_eq!(ends(&watch, &connection), (11, Verdict::TooSlow));
    }

    #[test]
    fn bytes_of_the_same_head_gain_no_time_and_a_new_frame_does() {
        let watch = watch(1);
        let connection = watch.opened();
        (0..5).for_each(|_| watch.look());
        connection.partial(true, false);
        assert_eq!(ends(&watch, &connection), (6, Verdict::TooSlow));
        let connection = watch.opened();
        (0..5).for_each(|_| watch.look());
        connection.partial(true, true);
        assert_eq!(ends(&watch, &connection), (11, Verdict::TooSlow));
    }

    #[test]
    fn a_connection_whose_client_takes_no_answer_goes_after_the_time_for_a_body() {
        let watch = watch(1);
        let connection = watch.opened();
        connection.partial(false, false);
        let body = || http_body_util::Full::new(Bytes::from_static(b"answer"));
        let mut answers: Vec<_> = (0..2)
            .map(|_| LastingBody::new(body(), Some(connection.request())))
            .collect();
        (0..20).for_each(|_| watch.look());
        let mut cx = Context::from_waker(Waker::noop());
        let taken = std::pin::Pin::new(&mut answers[0]).poll_frame(&mut cx);
        assert!(taken.is_ready());
        drop(answers.remove(0));
        assert_eq!(ends(&watch, &connection), (31, Verdict::TooSlow));
        let connection = watch.opened();
        connection.partial(false, false);
        drop(LastingBody::new(body(), Some(connection.request())));
        assert_eq!(ends(&watch, &connection), (101, Verdict::Idle));
    }

    #[test]
    fn a_large_answer_is_handed_over_in_pieces_and_is_under_way_until_the_last_one() {
        let watch = watch(1);
        let mut cx = Context::from_waker(Waker::noop());
        for size in [0, 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 5] {
            let connection = watch.opened();
            connection.partial(false, false);
            let all: Bytes = (0..size).map(|n| (n / 7) as u8).collect();
            let whole = http_body_util::Full::new(all.clone());
            let mut body = LastingBody::new(whole, Some(connection.request()));
            let mut sent = Vec::new();
            while !body.is_end_stream() {
                let left = (size - sent.len()) as u64;
                assert_eq!(body.size_hint().exact(), Some(left));
                let frame = std::pin::Pin::new(&mut body).poll_frame(&mut cx);
                let Poll::Ready(Some(Ok(frame))) = frame else {
                    panic!("{size}: {frame:?}");
                };
                let piece = frame.into_data().unwrap();
                assert!(piece.len() <= PIECE);
                sent.extend_from_slice(&piece);
            }
            assert_eq!(sent, all);
        }
        let connection = watch.opened();
        connection.partial(false, false);
        let whole = http_body_util::Full::new(Bytes::from(vec![0_u8; 2 * PIECE]));
        let mut body = LastingBody::new(whole, Some(connection.request()));
        let taken = std::pin::Pin::new(&mut body).poll_frame(&mut cx);
        assert!(taken.is_ready());
        assert_eq!(ends(&watch, &connection), (31, Verdict::TooSlow));
    }

    #[test]
    fn a_request_under_way_may_take_any_time_and_idleness_begins_at_its_end() {
        let watch = watch(1);
        let connection = watch.opened();
        let request = connection.request();
        connection.partial(false, false);
        (0..500).for_each(|_| watch.look());
        drop(request);
        assert_eq!(ends(&watch, &connection), (101, Verdict::Idle));
    }

    #[test]
    fn idle_connections_make_room_sooner_when_others_wait() {
        let watch = watch(0);
        let connection = watch.opened();
        connection.partial(false, false);
        assert_eq!(ends(&watch, &connection), (11, Verdict::Idle));
    }

    #[tokio::test]
    async fn all_connections_learn_of_the_stop_including_late_ones() {
        let watch = watch(1);
        let open = watch.opened();
        let (stopper, stop) = crate::stop::stop_signal();
        stopper.stop();
        watch.run(stop).await;
        for connection in [open, watch.opened()] {
            let mut asked = None;
            let verdict = std::future::poll_fn(|cx| connection.poll_verdict(cx, &mut asked)).await;
            assert_eq!(verdict, Verdict::Stopping);
        }
    }

    #[test]
    fn an_old_connection_is_asked_to_end_once_and_watched_until_it_does() {
        let mut watch = watch(1);
        watch.age = Some(50);
        for http2 in [false, true] {
            let connection = watch.opened();
            connection.partial(false, false);
            if http2 {
                connection.is_http2();
            }
            let request = connection.request();
            let (end, _stream) = crate::stop::stop_signal();
            let end = Arc::new(end);
            connection.stream(&end);
            let old = |connection: &Activity| {
                if http2 {
                    connection.judgement.lock().verdict == Some(Verdict::Old)
                } else {
                    connection.is_leaving()
                }
            };
            let mut ticks = 0;
            while !old(&connection) {
                watch.look();
                ticks += 1;
            }
            assert!((45..=55).contains(&ticks), "{ticks}");
            assert!(connection.streams.lock().is_empty());
            connection.acted_on_age();
            drop(request);
            assert_eq!(ends(&watch, &connection), (101, Verdict::Idle));
        }
    }

    #[test]
    fn ages_differ_by_a_tenth_at_most() {
        let watch = watch(1);
        let ages: std::collections::BTreeSet<u32> = (0..1000).map(|_| watch.spread(300)).collect();
        assert!(ages.len() > 50, "{ages:?}");
        assert!(ages.iter().all(|age| (270..=330).contains(age)), "{ages:?}");
        assert_eq!(watch.spread(1), 1);
    }

    #[test]
    fn a_connection_that_has_ended_is_forgotten() {
        let watch = watch(1);
        drop(watch.opened());
        watch.look();
        assert!(watch.connections.lock().open.is_empty());
    }
}
