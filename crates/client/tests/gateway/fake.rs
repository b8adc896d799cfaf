//! A gateway controlled by a test, over REST (HTTP/1.1 and HTTP/2) and gRPC.

mod grpc;
mod rest;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
};

use futures_util::Stream;
use skep_client::{Client, ClientConfig, HttpVersion, Transport};
use tokio::{net::TcpListener, sync::Notify};

/// The ways to reach the fake.
pub const WIRES: [(Transport, HttpVersion); 3] = [
    (Transport::Rest, HttpVersion::Http1),
    (Transport::Rest, HttpVersion::Http2),
    (Transport::Grpc, HttpVersion::Http2),
];

/// A fault that the fake answers with instead of carrying out a call.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    Exhausted,
    Unavailable,
    NotFound,
    /// The connection is kept but no answer ever comes.
    Silence,
}

/// Settings of the fake, and its observations.
#[derive(Default)]
pub struct Script {
    /// Jobs pushed on each stream before it ends (0: it never ends).
    pub jobs_per_stream: AtomicU64,
    /// Number of jobs to push in total.
    pub jobs: AtomicU64,
    /// Jobs taken from the fake by its HTTP server.
    pub yielded: AtomicU64,
    pub streams: AtomicU64,
    /// Notified when a stream is gone from the server's side.
    pub stream_closed: Arc<Notify>,
    pub completed: Mutex<Vec<i64>>,
    pub failed: Mutex<Vec<(i64, i64)>>,
    pub bodies: Mutex<Vec<String>>,
    /// Faults for the next calls, in order.
    pub faults: Mutex<VecDeque<Fault>>,
}

impl Script {
    pub fn with_jobs(jobs: u64) -> Arc<Self> {
        Arc::new(Self {
            jobs: AtomicU64::new(jobs),
            ..Self::default()
        })
    }

    pub fn fail_next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().extend(faults);
    }

    fn next_fault(&self) -> Option<Fault> {
        self.faults.lock().unwrap().pop_front()
    }

    /// The key of the next job to push, from 1.
    fn next_job(&self) -> Option<i64> {
        let taken = self
            .yielded
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |sent| {
                (sent < self.jobs.load(Ordering::SeqCst)).then_some(sent + 1)
            });
        taken.ok().map(|before| i64::try_from(before + 1).unwrap())
    }
}

/// Variables of every job.
pub fn variables() -> String {
    format!(r#"{{"text":"{}","number":1.50}}"#, "x".repeat(64))
}

/// Starts the fake for one wire; it lives as long as the test.
pub async fn client(script: &Arc<Script>, wire: (Transport, HttpVersion)) -> Client {
    Client::new(wire.0, config(script, wire).await).unwrap()
}

pub async fn config(script: &Arc<Script>, wire: (Transport, HttpVersion)) -> ClientConfig {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    match wire.0 {
        Transport::Rest => rest::serve(listener, script.clone()),
        Transport::Grpc => grpc::serve(listener, script.clone()),
    }
    let mut config = ClientConfig::new(address);
    config.http_version = wire.1;
    config
}

/// Notifies when it is dropped.
struct Closed(Arc<Notify>);

impl Closed {
    /// A stream that holds this value and never yields anything.
    fn and_silence<T>(self) -> impl Stream<Item = T> {
        futures_util::stream::poll_fn(move |_| {
            let _held = &self;
            Poll::Pending
        })
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
