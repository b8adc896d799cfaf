//! A gateway with a minimal engine: instances of `jobs` jobs in sequence, nothing is kept.

mod grpc;
mod rest;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use tokio::{net::TcpListener, sync::Notify};

#[derive(Default)]
pub struct Engine {
    jobs_per_instance: i64,
    instances: AtomicI64,
    waiting: Mutex<VecDeque<i64>>,
    awaited: Mutex<HashMap<i64, Arc<Notify>>>,
    arrived: Notify,
    completed: AtomicU64,
    /// Creations are answered only while this is false.
    pub stalled: AtomicBool,
    pub unstalled: Notify,
    /// Notified of every creation that arrives during a stall.
    pub stalling: Notify,
    /// Every n-th creation is refused, every n-th job is pushed twice (0: none).
    pub refuse_every: AtomicI64,
    pub repeat_every: AtomicI64,
    /// Number of searches so far: every third succeeds.
    pub searches: AtomicI64,
}

/// Instance keys start here; the job keys of an instance are `key * 100 + n`.
const FIRST: i64 = 2_251_799_813_685_249;

impl Engine {
    pub fn new(jobs_per_instance: i64) -> Arc<Self> {
        Arc::new(Self {
            jobs_per_instance,
            ..Self::default()
        })
    }

    fn find(&self) -> bool {
        self.searches.fetch_add(1, Ordering::SeqCst) % 3 == 2
    }

    /// `None` if it is refused.
    async fn create(&self) -> Option<i64> {
        while self.stalled.load(Ordering::SeqCst) {
            let unstalled = self.unstalled.notified();
            self.stalling.notify_one();
            if self.stalled.load(Ordering::SeqCst) {
                unstalled.await;
            }
        }
        let number = self.instances.fetch_add(1, Ordering::SeqCst);
        let every = self.refuse_every.load(Ordering::SeqCst);
        if every > 0 && number % every == every - 1 {
            return None;
        }
        let instance = FIRST + number;
        if self.jobs_per_instance > 0 {
            self.offer((instance - FIRST) * 100);
        }
        Some(instance)
    }

    async fn ended(&self, instance: i64) {
        if self.jobs_per_instance == 0 {
            return;
        }
        let notify = Arc::new(Notify::new());
        self.awaited
            .lock()
            .unwrap()
            .insert(instance, notify.clone());
        notify.notified().await;
    }

    fn offer(&self, job: i64) {
        let every = self.repeat_every.load(Ordering::SeqCst);
        let twice = every > 0 && (job / 100) % every == every - 1;
        let mut waiting = self.waiting.lock().unwrap();
        waiting.push_back(job);
        if twice {
            waiting.push_back(job);
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    async fn take(&self) -> i64 {
        loop {
            let arrived = self.arrived.notified();
            if let Some(job) = self.waiting.lock().unwrap().pop_front() {
                return job;
            }
            arrived.await;
        }
    }

    fn take_now(&self) -> Option<i64> {
        self.waiting.lock().unwrap().pop_front()
    }

    fn complete(&self, job: i64) {
        if job % 100 + 1 < self.jobs_per_instance {
            return self.offer(job + 1);
        }
        self.completed.fetch_add(1, Ordering::SeqCst);
        if let Some(notify) = self.awaited.lock().unwrap().remove(&instance_of(job)) {
            notify.notify_one();
        }
    }
}

fn instance_of(job: i64) -> i64 {
    FIRST + job / 100
}

/// Addresses of REST and gRPC.
pub async fn serve(engine: &Arc<Engine>) -> (String, String) {
    let rest = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = (
        rest.local_addr().unwrap().to_string(),
        grpc.local_addr().unwrap().to_string(),
    );
    rest::serve(rest, engine.clone());
    grpc::serve(grpc, engine.clone());
    addresses
}
