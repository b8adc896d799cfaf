//! The result of a run: figures, and their presentation.

mod html;
pub mod plot;
mod text;

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use skep_client::Transport;

use crate::{
    args::{LoadArgs, TransportArg},
    ledger::{Counts, Latency, Ledger},
    process::Process,
    server::Counters,
};

/// Results of a run. Serializes as the JSON report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of the load generator.
    pub version: &'static str,
    /// The arguments.
    pub settings: LoadArgs,
    /// BPMN process id.
    pub process_id: String,
    /// Jobs per instance.
    pub jobs_per_instance: u32,
    /// One result per transport.
    pub results: Vec<TransportResult>,
    /// The slices in the order in which they ran.
    pub slices: Vec<SliceResult>,
    /// REST against gRPC.
    pub comparison: Option<Comparison>,
}

/// Figures over the measured time of one transport.
#[derive(Debug, Clone, Serialize)]
pub struct TransportResult {
    /// The transport.
    pub transport: TransportArg,
    /// The measured time.
    pub measured_seconds: f64,
    /// Completed instances per second.
    pub completed_per_second: f64,
    /// Started instances per second.
    pub started_per_second: f64,
    /// Counts.
    pub counts: Counts,
    /// Start due until creation acknowledged.
    pub create: LatencySummary,
    /// Start due until the last job's completion was acknowledged.
    pub instance: LatencySummary,
    /// Each job: it may run until its completion was acknowledged.
    pub job: LatencySummary,
    /// Each job: it may run until a worker has it.
    pub job_delivery: LatencySummary,
    /// Each job: completion sent until acknowledged.
    pub job_completion: LatencySummary,
    /// Creation acknowledged until a search finds the instance, of those that were looked for (`--find`).
    pub found: LatencySummary,
    /// The longest that a job waited for a worker, as seen at the samples.
    pub oldest_waiting_job_ms: f64,
    /// Instances that had not completed when the drain ended.
    pub open_at_end: u64,
    /// The server's use of the machine.
    pub server: Option<MachineUse>,
    /// The load generator's CPU time per instance, in microseconds.
    pub tool_cpu_us_per_instance: f64,
    /// Growth of the server's own counters, warm-up excluded, drain included.
    pub server_counters: Option<Counters>,
    /// Error messages and how often they came (whole run).
    pub messages: BTreeMap<String, u64>,
    /// One per second.
    pub samples: Vec<Sample>,
}

/// CPU and memory of the server.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct MachineUse {
    /// CPU time in the measured time.
    pub cpu_seconds: f64,
    /// CPU milliseconds per 1000 completed instances.
    pub cpu_ms_per_1000_instances: f64,
    /// Resident memory at the end.
    pub rss_bytes: u64,
    /// The most seen.
    pub rss_max_bytes: u64,
}

/// Percentiles in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LatencySummary {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Largest.
    pub max_ms: f64,
    /// `[quantile, milliseconds]` pairs for a plot.
    pub curve: Vec<(f64, f64)>,
}

/// Observations of one interval.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// Since the beginning of the run.
    pub at_seconds: f64,
    /// Instances started per second.
    pub started_per_second: f64,
    /// Instances completed per second.
    pub completed_per_second: f64,
    /// Median of creation.
    pub create_p50_ms: f64,
    /// 99th percentile of creation.
    pub create_p99_ms: f64,
    /// Median of the instance.
    pub instance_p50_ms: f64,
    /// 99th percentile of the instance.
    pub instance_p99_ms: f64,
    /// Instances under way.
    pub open: u64,
    /// For how long the longest-waiting job has been waiting for a worker.
    pub oldest_waiting_ms: f64,
    /// Cores that the server used.
    pub server_cores: Option<f64>,
    /// Resident memory of the server.
    pub server_rss_bytes: Option<u64>,
}

/// One slice.
#[derive(Debug, Clone, Serialize)]
pub struct SliceResult {
    /// The transport.
    pub transport: TransportArg,
    /// The measured time.
    pub seconds: f64,
    /// Instances completed in it.
    pub completed: u64,
    /// The server's CPU time in it.
    pub server_cpu_seconds: Option<f64>,
}

/// REST divided by gRPC.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Completed instances per second.
    pub throughput: Ratio,
    /// Server CPU per instance.
    pub server_cpu_per_instance: Option<Ratio>,
    /// 99th percentile of creation.
    pub create_p99: f64,
    /// 99th percentile of the instance.
    pub instance_p99: f64,
}

/// REST by gRPC over pairs of neighbouring slices.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Ratio {
    /// Mean over the pairs of neighbouring slices.
    pub overall: f64,
    /// Smallest of the pairs.
    pub min: f64,
    /// Largest of the pairs.
    pub max: f64,
}

impl From<TransportArg> for Transport {
    fn from(transport: TransportArg) -> Self {
        match transport {
            TransportArg::Rest => Self::Rest,
            TransportArg::Grpc => Self::Grpc,
        }
    }
}

impl From<Transport> for TransportArg {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Rest => Self::Rest,
            Transport::Grpc => Self::Grpc,
        }
    }
}

/// The display name of a transport.
pub fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Rest => "REST",
        Transport::Grpc => "gRPC",
    }
}

impl TransportArg {
    fn name(self) -> &'static str {
        match self {
            Self::Rest => "REST",
            Self::Grpc => "gRPC",
        }
    }
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "latencies are below 2^53 µs")]
pub(crate) fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

impl LatencySummary {
    fn new(latency: &Latency) -> Self {
        let histogram = latency.histogram();
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| millis(histogram.value_at_quantile(quantile));
        // 0, 0.5, 0.75, … halfway to 1 with each step, four points to a step
        let curve = (0..=60_i32)
            .map(|step| 1.0 - 0.5_f64.powf(f64::from(step) / 4.0))
            .take_while(|quantile| (1.0 - quantile) * float(histogram.len()) >= 1.0)
            .map(|quantile| (quantile, at(quantile)))
            .collect();
        Self {
            count: histogram.len(),
            mean_ms: histogram.mean() / 1e3,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: millis(histogram.max()),
            curve,
        }
    }
}

impl TransportResult {
    #[expect(
        clippy::too_many_arguments,
        reason = "called once, to put together what a run found"
    )]
    pub(crate) fn new(
        transport: Transport,
        measured: Duration,
        ledger: &Ledger,
        samples: Vec<Sample>,
        server: Option<MachineUse>,
        tool_cpu: f64,
        oldest_waiting: Duration,
        open_at_end: u64,
        server_counters: Option<Counters>,
    ) -> Self {
        let counts = ledger.counts.clone();
        let seconds = measured.as_secs_f64().max(1e-9);
        let completed = float(counts.completed).max(1.0);
        Self {
            transport: transport.into(),
            measured_seconds: seconds,
            completed_per_second: float(counts.completed) / seconds,
            started_per_second: float(counts.started) / seconds,
            create: LatencySummary::new(&ledger.create),
            instance: LatencySummary::new(&ledger.instance),
            job: LatencySummary::new(&ledger.job),
            job_delivery: LatencySummary::new(&ledger.delivery),
            job_completion: LatencySummary::new(&ledger.completion),
            found: LatencySummary::new(&ledger.found),
            oldest_waiting_job_ms: oldest_waiting.as_secs_f64() * 1e3,
            open_at_end,
            server: server.map(|server| MachineUse {
                cpu_ms_per_1000_instances: server.cpu_seconds * 1e6 / completed,
                ..server
            }),
            tool_cpu_us_per_instance: tool_cpu * 1e6 / completed,
            server_counters,
            messages: ledger.messages.clone(),
            samples,
            counts,
        }
    }
}

impl Report {
    pub(crate) fn new(
        args: &LoadArgs,
        process: &Process,
        results: Vec<TransportResult>,
        slices: Vec<SliceResult>,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            settings: args.clone(),
            process_id: process.process_id.clone(),
            jobs_per_instance: process.jobs_per_instance,
            comparison: Comparison::new(&results, &slices),
            results,
            slices,
        }
    }
}

impl Comparison {
    fn new(results: &[TransportResult], slices: &[SliceResult]) -> Option<Self> {
        let [rest, grpc] = results else {
            return None;
        };
        // a slice in which nothing completed has no CPU per instance
        let some = |slice: &SliceResult| (slice.completed > 0).then(|| float(slice.completed));
        let throughput = |slice: &SliceResult| Some(some(slice)? / slice.seconds);
        let cpu = |slice: &SliceResult| Some(slice.server_cpu_seconds? / some(slice)?);
        Some(Self {
            throughput: Ratio::new(slices, throughput)?,
            server_cpu_per_instance: Ratio::new(slices, cpu),
            create_p99: rest.create.p99_ms / grpc.create.p99_ms,
            instance_p99: rest.instance.p99_ms / grpc.instance.p99_ms,
        })
    }
}

impl Ratio {
    /// The mean of the pairs' ratios, which weighs all pairs alike, and their range.
    fn new(slices: &[SliceResult], value: impl Fn(&SliceResult) -> Option<f64>) -> Option<Self> {
        let mut pairs = Vec::new();
        for pair in slices.chunks_exact(2) {
            let of = |transport| value(pair.iter().find(|s| s.transport == transport)?);
            let pair = of(TransportArg::Rest).zip(of(TransportArg::Grpc));
            pairs.extend(pair.map(|(rest, grpc)| rest / grpc));
        }
        let count = f64::from(u32::try_from(pairs.len()).ok()?);
        if pairs.is_empty() {
            return None;
        }
        Some(Self {
            overall: pairs.iter().sum::<f64>() / count,
            min: pairs.iter().copied().fold(f64::INFINITY, f64::min),
            max: pairs.iter().copied().fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(transport: TransportArg, completed: u64) -> SliceResult {
        SliceResult {
            transport,
            seconds: 2.0,
            completed,
            server_cpu_seconds: None,
        }
    }

    #[test]
    fn a_ratio_is_taken_between_neighbouring_slices_in_either_order() {
        use TransportArg::{Grpc, Rest};
        let slices = [
            slice(Rest, 90),
            slice(Grpc, 100),
            slice(Grpc, 200),
            slice(Rest, 220),
            slice(Rest, 0),
            slice(Grpc, 100),
        ];
        let some = |s: &SliceResult| (s.completed > 0).then(|| float(s.completed));
        let ratio = Ratio::new(&slices, some).unwrap();
        assert!(
            (ratio.overall - 1.0).abs() < 1e-9,
            "the last pair is no pair"
        );
        assert!((ratio.min - 0.9).abs() < 1e-9);
        assert!((ratio.max - 1.1).abs() < 1e-9);
        assert!(Ratio::new(&slices, |s| s.server_cpu_seconds).is_none());
    }
}
