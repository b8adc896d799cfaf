//! Measuring one transport over its slices.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use skep_client::Transport;

use super::{Collector, Interrupt, Plan, Slice};
use crate::{
    progress::Progress,
    report::{MachineUse, Sample, SliceResult, TransportResult, millis},
    server::{self, Counters, Usage},
};

/// Maximum number of samples kept per transport.
pub const MAX_SAMPLES: u32 = 7_200;
/// Interval at which the end of the drain is checked.
const DRAIN_STEP: Duration = Duration::from_millis(20);

/// Measurements of one transport so far.
pub(super) struct Measurement {
    plan: Arc<Plan>,
    transport: Transport,
    collector: Arc<Collector>,
    measured: Duration,
    samples: Vec<Sample>,
    server: MachineUse,
    tool_cpu: f64,
    oldest_waiting: Duration,
    open_at_end: u64,
    counters: Option<Counters>,
}

/// Readings at the edges of the measured time.
struct Reading {
    at: Instant,
    server: Option<Usage>,
    tool: Option<Usage>,
    totals: (u64, u64),
}

impl Measurement {
    pub(super) fn new(plan: &Arc<Plan>, transport: Transport) -> Self {
        Self {
            plan: Arc::clone(plan),
            transport,
            collector: Arc::new(Collector::new(plan)),
            measured: Duration::ZERO,
            samples: Vec::new(),
            server: MachineUse::default(),
            tool_cpu: 0.0,
            oldest_waiting: Duration::ZERO,
            open_at_end: 0,
            counters: None,
        }
    }

    fn read(&self) -> Reading {
        let pid = self.plan.args.pid.map(|pid| pid.to_string());
        Reading {
            at: Instant::now(),
            server: pid.and_then(|pid| server::usage(&pid)),
            tool: server::usage("self"),
            totals: self.collector.ledger().totals,
        }
    }

    /// Warms up, measures for `length`, drains.
    pub(super) async fn slice(
        &mut self,
        length: Duration,
        run_begin: Instant,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> anyhow::Result<SliceResult> {
        let plan = Arc::clone(&self.plan);
        let slice = Slice::start(&plan, &self.collector, self.transport)?;
        progress.phase("warming up");
        self.idle(plan.args.warmup, interrupt).await;
        let management = plan.args.management();
        let counters = server::counters(&management).await;
        self.collector.ledger().take_interval();
        let first = self.read();
        self.collector.ledger().begin_window(first.at);
        let last = self
            .sample(length, &first, run_begin, progress, interrupt)
            .await;
        self.collector.ledger().end_window(last.at);
        slice.stop_starting();
        progress.phase("waiting for open instances");
        self.drain().await;
        slice.end().await?;
        let abandoned = self.collector.ledger().abandon_open();
        self.open_at_end += abandoned;
        if let (Some(before), Some(after)) = (counters, server::counters(&management).await) {
            let all = self.counters.get_or_insert_default();
            for (name, grown) in server::growth(&before, &after) {
                *all.entry(name).or_default() += grown;
            }
        }
        Ok(self.account(&first, &last))
    }

    /// Lets time pass, sweeping lost instances away.
    async fn idle(&self, length: Duration, interrupt: &Interrupt) {
        let end = Instant::now() + length;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || interrupt.came() {
                return;
            }
            let step = left.min(Duration::from_secs(1));
            interrupt.sleep_until(Instant::now() + step).await;
            self.sweep();
        }
    }

    /// How long the longest-waiting job has been waiting.
    fn sweep(&self) -> Duration {
        let now = Instant::now();
        let timeout = self.plan.args.instance_timeout;
        let (oldest, freed) = self.collector.ledger().sweep(now, timeout);
        for lane in freed {
            self.collector.wake(Some(lane));
        }
        oldest.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Takes a sample each second (less often in very long runs) until the time is over.
    async fn sample(
        &mut self,
        length: Duration,
        first: &Reading,
        run_begin: Instant,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Reading {
        let step = (self.plan.args.duration / MAX_SAMPLES)
            .max(Duration::from_secs(1))
            .min(length / 4);
        let end = first.at + length;
        let mut due = first.at;
        let (mut at, mut totals) = (first.at, first.totals);
        let mut cpu = first.server;
        loop {
            due = (due + step).min(end);
            interrupt.sleep_until(due).await;
            let waiting = self.sweep();
            let now = self.read();
            let seconds = now.at.saturating_duration_since(at).as_secs_f64();
            let (open, latency) = {
                let mut ledger = self.collector.ledger();
                (ledger.open(), ledger.take_interval())
            };
            let sample = Sample {
                at_seconds: now.at.saturating_duration_since(run_begin).as_secs_f64(),
                started_per_second: rate(now.totals.0 - totals.0, seconds),
                completed_per_second: rate(now.totals.1 - totals.1, seconds),
                create_p50_ms: millis(latency.create_p50),
                create_p99_ms: millis(latency.create_p99),
                instance_p50_ms: millis(latency.instance_p50),
                instance_p99_ms: millis(latency.instance_p99),
                open: u64::try_from(open).unwrap_or(u64::MAX),
                oldest_waiting_ms: waiting.as_secs_f64() * 1e3,
                server_cores: now.server.zip(cpu).map(|(now, before)| {
                    (now.cpu_seconds - before.cpu_seconds) / seconds.max(1e-9)
                }),
                server_rss_bytes: now.server.map(|usage| usage.rss_bytes),
            };
            progress.sample(self.transport, &sample, run_begin.elapsed());
            self.oldest_waiting = self.oldest_waiting.max(waiting);
            if let Some(usage) = now.server {
                self.server.rss_max_bytes = self.server.rss_max_bytes.max(usage.rss_bytes);
            }
            self.samples.push(sample);
            (at, totals, cpu) = (now.at, now.totals, now.server);
            if now.at >= end || interrupt.came() {
                return now;
            }
        }
    }

    async fn drain(&self) {
        let end = Instant::now() + self.plan.args.drain;
        // One of several programs: others finish what is open.
        if self.plan.args.workers == 0 || self.plan.args.lanes() == 0 {
            return;
        }
        while Instant::now() < end && !self.collector.is_quiet() {
            tokio::time::sleep(DRAIN_STEP).await;
            self.sweep();
        }
    }

    fn account(&mut self, first: &Reading, last: &Reading) -> SliceResult {
        let measured = last.at.saturating_duration_since(first.at);
        let cpu = |before: Option<Usage>, after: Option<Usage>| {
            before
                .zip(after)
                .map(|(before, after)| after.cpu_seconds - before.cpu_seconds)
        };
        let server_cpu = cpu(first.server, last.server);
        self.measured += measured;
        self.tool_cpu += cpu(first.tool, last.tool).unwrap_or(0.0);
        if let Some(seconds) = server_cpu {
            self.server.cpu_seconds += seconds;
        }
        if let Some(usage) = last.server {
            self.server.rss_bytes = usage.rss_bytes;
        }
        SliceResult {
            transport: self.transport.into(),
            seconds: measured.as_secs_f64(),
            completed: last.totals.1 - first.totals.1,
            server_cpu_seconds: server_cpu,
        }
    }

    pub(super) fn result(self) -> TransportResult {
        let ledger = self.collector.ledger();
        TransportResult::new(
            self.transport,
            self.measured,
            &ledger,
            self.samples,
            self.plan.args.pid.map(|_| self.server),
            self.tool_cpu,
            self.oldest_waiting,
            self.open_at_end,
            self.counters,
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn rate(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds.max(1e-9)
}
