//! The same work over REST and over gRPC.

use super::{Experiment, invariants, step};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "rest-vs-grpc",
    about: "a node of one core is saturated by HTTP/1.1, HTTP/2 and gRPC in turn; then 150 instances/s",
    plan,
};

const HTTP1: &str = "http-1.1";
const HTTP2: &str = "http-2";
const GRPC: &str = "grpc";

/// Other work on the machine changes slowly: in this order it is much the same in both slices of a pair. Each round has two pairs.
const TURNS: [(&str, Wire); 6] = [
    (HTTP2, Wire::Http2),
    (GRPC, Wire::Grpc),
    (HTTP1, Wire::Http1),
    (HTTP1, Wire::Http1),
    (GRPC, Wire::Grpc),
    (HTTP2, Wire::Http2),
];

/// Instances per second that every installation must manage.
const FEW: f64 = 150.0;

fn plan(full: bool) -> Plan {
    let (rounds, long) = if full { (5, 20.0) } else { (2, 8.0) };
    let mut steps = Vec::new();
    for (name, wire) in (0..rounds).flat_map(|_| TURNS) {
        steps.push(step(name, 0.0, Action::Saturate(wire)));
        steps.push(step("turn", long, Action::StopLoad));
    }
    steps.extend([
        step("workers", 0.0, Action::Workers(true)),
        step("few", 3.0, Action::Load(Rate::PerSecond(FEW))),
        step("end", long * 1.5, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "REST costs no more than gRPC: over HTTP/2 as many instances are completed with as little CPU, and over HTTP/1.1 only \
                     slightly fewer."
            .into(),
        nodes: Nodes {
            cores: Some(1),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let mean = |series: &str, wire: &str| {
        let mean = Measure::of(series).take(Take::Mean);
        mean.between(wire, "turn").skip(2.0)
    };
    let completed = |wire| mean("completed-per-s", wire);
    let cores = |wire| mean("node0.cores", wire);
    // CPU ÷ instances over this wire, divided by the same over gRPC.
    let cost = |wire| {
        let by_grpc = completed(GRPC).over(cores(GRPC));
        cores(wire).paired_with(completed(wire).over(by_grpc))
    };
    let mut criteria = vec![
        Criterion::new(
            "HTTP/2 ÷ gRPC: instances completed",
            completed(HTTP2).paired_with(completed(GRPC)),
            Limit::AtLeast(1.0),
            "×",
        )
        .timed(),
        Criterion::new(
            "HTTP/2 ÷ gRPC: CPU of an instance",
            cost(HTTP2),
            Limit::AtMost(1.0),
            "×",
        )
        .timed()
        .post("2 ×"),
        Criterion::new(
            "HTTP/1.1 ÷ gRPC: instances completed",
            completed(HTTP1).paired_with(completed(GRPC)),
            Limit::AtLeast(0.6),
            "×",
        )
        .timed()
        .post("0.30 ×"),
        Criterion::new(
            "refused",
            Measure::of("refused-total").take(Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
    ];
    criteria.extend(at_150());
    criteria.extend(invariants());
    criteria
}

fn at_150() -> [Criterion; 3] {
    let few = |series: &str| {
        let few = Measure::of(series).take(Take::Median);
        few.between("few", "end").skip(2.0)
    };
    [
        Criterion::new(
            "150/s: p99 of a creation",
            few("create-p99-ms"),
            Limit::AtMost(5.0),
            "ms",
        )
        .flushes(2.0)
        .timed(),
        Criterion::new(
            "150/s: p99 of an instance, its job included",
            few("instance-p99-ms"),
            Limit::AtMost(10.0),
            "ms",
        )
        .flushes(4.0)
        .timed()
        .post("250 ms"),
        Criterion::new(
            "memory of workers, starters and ledger at 150/s",
            few("tool-memory-mib"),
            Limit::AtMost(128.0),
            "MiB",
        ),
    ]
}
