//! What a connection is doing, for those who decide how long it may go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

use crate::config::GatewayConfig;
use crate::stop::Stop;

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
    /// A request head, or a frame, did not arrive in time.
    TooSlow,
    /// Nothing was asked for a long time.
    Idle,
}

/// Shared by a connection's bytes, its requests and the watch.
#[derive(Debug)]
pub struct Activity {
    ticks: Arc<Ticks>,
    /// Requests whose answer is not out.
    requests: AtomicU32,
    /// A head or a frame has begun and is not whole.
    partial: AtomicBool,
    /// When that began, or the last request ended, in ticks.
    since: AtomicU32,
    verdict: Mutex<Option<Verdict>>,
    judged: Notify,
}

impl Activity {
    /// A connection that has just been made: its first head must come soon.
    pub fn new(ticks: &Arc<Ticks>) -> Arc<Activity> {
        Arc::new(Activity {
            ticks: Arc::clone(ticks),
            requests: AtomicU32::new(0),
            partial: AtomicBool::new(true),
            since: AtomicU32::new(ticks.now()),
            verdict: Mutex::new(None),
            judged: Notify::new(),
        })
    }

    pub fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// Something has begun, or all that had begun is whole.
    pub fn partial(&self, partial: bool, began: bool) {
        let was = self.partial.load(Ordering::Relaxed);
        if was != partial || (partial && began) {
            self.since.store(self.ticks.now(), Ordering::Relaxed);
            self.partial.store(partial, Ordering::Relaxed);
        }
    }

    /// A request has come; it lasts until what is returned is dropped.
    pub fn request(self: &Arc<Self>) -> UnderWay {
        self.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }

    fn judge(&self, now: u32, limits: Limits) -> Option<Verdict> {
        let waited = now.wrapping_sub(self.since.load(Ordering::Relaxed));
        if self.partial.load(Ordering::Relaxed) {
            (waited > limits.head).then_some(Verdict::TooSlow)
        } else {
            (!self.is_busy() && waited > limits.idle).then_some(Verdict::Idle)
        }
    }

    /// Resolves when the connection has to go.
    pub async fn verdict(&self) -> Verdict {
        loop {
            let judged = self.judged.notified();
            if let Some(verdict) = *self.verdict.lock() {
                return verdict;
            }
            judged.await;
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

/// An answer's body; the request ends with it.
#[derive(Debug)]
pub struct LastingBody<B> {
    body: B,
    _request: UnderWay,
}

impl<B> LastingBody<B> {
    pub fn new(body: B, request: UnderWay) -> LastingBody<B> {
        LastingBody {
            body,
            _request: request,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for LastingBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// In ticks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    head: u32,
    idle: u32,
}

/// The open connections of a front end, looked at once a tick.
#[derive(Debug)]
pub struct Watch {
    pub ticks: Arc<Ticks>,
    connections: Mutex<Vec<Arc<Activity>>>,
    tick: Duration,
    limits: Limits,
    /// Places for further connections.
    room: Arc<Semaphore>,
}

impl Watch {
    pub fn new(config: &GatewayConfig, room: Arc<Semaphore>) -> Watch {
        let shorter = config.head_timeout.min(config.idle_timeout);
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
                idle: ticks(config.idle_timeout),
            },
            room,
        }
    }

    pub fn opened(&self) -> Arc<Activity> {
        let activity = Activity::new(&self.ticks);
        self.connections.lock().push(Arc::clone(&activity));
        activity
    }

    /// Looks after the connections until the gateway stops.
    pub async fn run(&self, stop: Stop) {
        let mut stopped = std::pin::pin!(stop.stopped());
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.tick) => self.look(),
                () = stopped.as_mut() => return,
            }
        }
    }

    fn look(&self) {
        let now = self.ticks.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut limits = self.limits;
        if self.room.available_permits() == 0 {
            // Others wait outside: who asks nothing gives his place away sooner.
            limits.idle = limits.idle.min(limits.head);
        }
        self.connections.lock().retain(|activity| {
            // Only this list holds it any more: the connection has ended.
            if Arc::strong_count(activity) == 1 {
                return false;
            }
            match activity.judge(now, limits) {
                Some(verdict) => {
                    *activity.verdict.lock() = Some(verdict);
                    activity.judged.notify_waiters();
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

    fn watch(room: usize) -> Watch {
        let config = GatewayConfig {
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(100),
            ..GatewayConfig::default()
        };
        Watch::new(&config, Arc::new(Semaphore::new(room)))
    }

    /// Ticks until the connection has to go, and why.
    fn ends(watch: &Watch, activity: &Activity) -> (u32, Verdict) {
        for tick in 1..1000 {
            watch.look();
            if let Some(verdict) = *activity.verdict.lock() {
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

    #[test]
    fn a_connection_that_has_ended_is_forgotten() {
        let watch = watch(1);
        drop(watch.opened());
        watch.look();
        assert!(watch.connections.lock().is_empty());
    }
}
