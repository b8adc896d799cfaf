//! Metrics of the gateways, under the names of the reference (and `skep_request_stage_seconds`, our own).
//!
//! Handles are resolved once per route, rpc and request type; an observation is then a few atomic additions.

pub(crate) mod broker_requests;
mod families;
mod logins;
mod long_polling;
pub(crate) mod served;
mod topology;

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelValue;
use skep_metrics::{Counter, Declared, Gauge, Histogram, Registry};
use skep_service::{Broker, Timings};

use families::{
    GatewayFamilies, LoginFamilies, ProtocolLabels, PushLabels, ResultLabels, StageLabels,
};

use crate::rest::SharedCounts;

pub use broker_requests::BrokerRequests;
pub use long_polling::{LongPolls, QueuedPoll};
pub use served::{GrpcCalls, HttpRequests};

/// The front end that a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[allow(non_camel_case_types)]
pub enum Protocol {
    rest,
    grpc,
}

/// Stages in which a request spends its time, in their order. Their sum is the request's latency from its head being read to
/// its answer being written to the connection's buffer.
pub const STAGES: [&str; 10] = [
    "authentication",
    "gateway_queue",
    "decode",
    "route",
    "inbox_wait",
    "evaluation",
    "append",
    "fsync",
    "commit",
    "response",
];

/// Nanoseconds that a request spends in the gateway on its way to the broker.
#[derive(Clone, Copy, Debug, Default)]
pub struct GatewayTimings {
    /// Checking credentials. Those that the connection has shown before take no time of their own.
    pub authentication: u64,
    pub queue: u64,
    pub decode: u64,
}

/// All metrics of the gateways. Make one, give it to the gateway, [`register`](GatewayMetrics::register) it once.
#[derive(Debug)]
pub struct GatewayMetrics {
    pub http: HttpRequests,
    pub grpc: GrpcCalls,
    pub broker_requests: BrokerRequests,
    pub long_polls: LongPolls,
    pub job_streams: JobStreams,
    families: GatewayFamilies,
    logins: LoginFamilies,
    stage_handles: [[Histogram; STAGES.len()]; 2],
}

/// Job streams as the gateway sees them.
#[derive(Debug)]
pub struct JobStreams {
    /// Open streams of clients. Streams are not aggregated, so this is the number of streams as well.
    pub clients: Gauge,
    streams: Gauge,
    pushed: Counter,
}

impl JobStreams {
    pub fn opened(&self) {
        self.clients.inc();
        self.streams.inc();
    }

    pub fn closed(&self) {
        self.clients.dec();
        self.streams.dec();
    }

    /// Jobs were written to the connection of a client.
    pub fn pushed(&self, jobs: u64) {
        self.pushed.inc_by(jobs);
    }
}

impl Default for GatewayMetrics {
    fn default() -> Self {
        GatewayMetrics::new()
    }
}

impl GatewayMetrics {
    pub fn new() -> GatewayMetrics {
        let families = GatewayFamilies::default();
        let stages = &families.stages;
        let handles = |protocol| STAGES.map(|stage| stages.of(StageLabels { protocol, stage }));
        let stage_handles = [handles(Protocol::rest), handles(Protocol::grpc)];
        let job_streams = JobStreams {
            clients: families.stream_clients.clone(),
            streams: families.streams.clone(),
            pushed: families.pushes.of(PushLabels { status: "success" }),
        };
        let long_polls = LongPolls::default();
        let polls = long_polls.clone();
        families.queued.read_from(move || polls.by_label());
        let logins = LoginFamilies::default();
        logins::begin(&logins);
        GatewayMetrics {
            http: HttpRequests::new(&families),
            grpc: GrpcCalls::new(&families),
            broker_requests: BrokerRequests::new(&families),
            long_polls,
            job_streams,
            families,
            logins,
            stage_handles,
        }
    }

    /// All declarations.
    pub fn declared() -> impl Iterator<Item = &'static Declared> {
        let all = GatewayFamilies::DECLARED.iter();
        all.chain(LoginFamilies::DECLARED)
    }

    /// Reads the topology for the metrics from this broker. Only the first call has an effect.
    pub fn read_topology_from(&self, broker: &Arc<dyn Broker>) {
        topology::read_from(&self.families, &self.logins, broker);
    }

    /// How many slots new work has in this front end.
    pub fn slots_of(&self, protocol: Protocol) -> Gauge {
        self.families.slots.of(ProtocolLabels { protocol })
    }

    /// Counters of shared searches.
    pub fn shared_searches(&self) -> SharedCounts {
        let of = |result| self.families.shared.of(ResultLabels { result });
        SharedCounts {
            asked: of("asked"),
            fresh: of("fresh"),
            kept: of("kept"),
            refused: of("refused"),
        }
    }

    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        self.families.register(registry);
        self.logins.register(registry);
    }

    /// Of each stage, over all protocols: how many requests had it, and nanoseconds in it.
    pub fn stage_totals(&self) -> [(&'static str, u64, u64); STAGES.len()] {
        let [rest, grpc] = &self.stage_handles;
        let both = rest.iter().zip(grpc);
        let mut totals = both.map(|(a, b)| (a.count() + b.count(), a.sum().wrapping_add(b.sum())));
        STAGES.map(|stage| {
            let (count, sum) = totals.next().unwrap_or_default();
            (stage, count, sum)
        })
    }

    /// Records one answered request. The time in `total_ns` beyond the stages before is the way back: waking the connection,
    /// writing the answer.
    pub fn observe_stages(
        &self,
        protocol: Protocol,
        gateway: &GatewayTimings,
        broker: &Timings,
        total_ns: u64,
    ) {
        let GatewayTimings {
            authentication,
            queue,
            decode,
        } = *gateway;
        let Timings {
            route,
            inbox_wait,
            evaluation,
            append,
            fsync,
            commit,
            // A part of the response's time.
            wake: _,
        } = *broker;
        let before = [
            authentication,
            queue,
            decode,
            route,
            inbox_wait,
            evaluation,
            append,
            fsync,
            commit,
        ];
        let sum: u64 = before.iter().fold(0, |sum, ns| sum.saturating_add(*ns));
        let response = total_ns.saturating_sub(sum);
        let [rest, grpc] = &self.stage_handles;
        let timers = match protocol {
            Protocol::rest => rest,
            Protocol::grpc => grpc,
        };
        for (timer, ns) in timers.iter().zip(before.into_iter().chain([response])) {
            timer.observe(ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_add_up_to_the_latency() {
        let metrics = GatewayMetrics::new();
        let broker = Timings {
            route: 1,
            inbox_wait: 20,
            evaluation: 30,
            append: 40,
            fsync: 500,
            commit: 60,
            wake: 70,
        };
        let gateway = GatewayTimings {
            authentication: 100,
            queue: 7,
            decode: 8,
        };
        metrics.observe_stages(Protocol::rest, &gateway, &broker, 1000);
        let sums = metrics.stage_handles[0].iter().map(Histogram::sum);
        assert_eq!(
            sums.collect::<Vec<_>>(),
            [100, 7, 8, 1, 20, 30, 40, 500, 60, 234]
        );
    }

    #[test]
    fn every_metric_has_its_documented_name() {
        let metrics = GatewayMetrics::new();
        metrics.http.observe(0, 200, 1000);
        metrics.grpc.observe(0, 0, 1000, 1);
        metrics
            .long_polls
            .queue("t", Protocol::rest)
            .keep_for_test();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for name in [
            "http_server_requests_seconds_max{method=\"GET\"",
            "http_server_requests_seconds_count{method=\"GET\",uri=\"/v2/topology\"",
            "grpc_server_processing_duration_seconds_count{service=\"gateway_protocol.Gateway\"",
            "grpc_server_requests_received_messages_total{",
            "grpc_server_responses_sent_messages_total{",
            "zeebe_long_polling_queued_current{type=\"t\",protocol=\"rest\"} 1",
            "zeebe_gateway_job_stream_clients 0",
            "zeebe_gateway_job_stream_push_total{status=\"success\"} 0",
            "skep_request_stage_seconds_count{protocol=\"grpc\",stage=\"fsync\"} 0",
        ] {
            assert!(text.contains(name), "{name} not in\n{text}");
        }
    }
}
