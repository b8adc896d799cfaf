//! The same work over REST and over gRPC.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Take, Until, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "rest-vs-grpc",
    about: "a node of one core gets 150 instances/s, then is saturated by HTTP/1.1, HTTP/2 and gRPC in turn",
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
    let (rounds, long, few) = if full {
        (5, 20.0, 100.0)
    } else {
        (2, 8.0, 40.0)
    };
    // First, since clients remember every instance, and the memory that few instances need is judged.
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("few", 3.0, Action::Load(Rate::PerSecond(FEW))),
        step("end", few, Action::StopLoad),
        wait("ended", Until::OpenAtMost(0.0), 60.0),
        step("away", 0.0, Action::Workers(false)),
    ];
    for (name, wire) in (0..rounds).flat_map(|_| TURNS) {
        steps.push(step(name, 0.0, Action::Saturate(wire)));
        steps.push(step("turn", long, Action::StopLoad));
    }
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "REST costs no more than gRPC: over HTTP/2 as many instances are completed with as little CPU, and over HTTP/1.1 only \
                     slightly fewer. It stays so, in little memory, and metrics say where the time goes."
            .into(),
        nodes: Nodes {
            cores: Some(1),
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(few),
    }
}

/// `few_s`: seconds with few instances.
fn criteria(few_s: f64) -> Vec<Criterion> {
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
            // Clients count from 0, and a growth would begin with the first sample, a second later.
            Measure::of("refused-total"),
            Limit::AtMost(0.0),
            "",
        ),
    ];
    criteria.extend(at_150());
    criteria.push(last_fifth(few_s / 5.0));
    criteria.extend(stages());
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
            Limit::AtMost(64.0),
            "MiB",
        )
        .post("34 restarts of workers"),
    ]
}

/// A server can be fast at first and slow down over time.
fn last_fifth(fifth_s: f64) -> Criterion {
    let completed = |skip_s| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed
            .between("few", "end")
            .skip(skip_s)
            .lasting(fifth_s)
    };
    Criterion::new(
        "150/s: instances completed in the last fifth ÷ in the first",
        // The first seconds are those in which the load begins.
        completed(4.0 * fifth_s).over(completed(2.0)),
        Limit::AtLeast(0.99),
        "×",
    )
    .timed()
}

/// The nodes' account of where commands spend their time is complete, and counts nothing twice.
fn stages() -> [Criterion; 2] {
    let limits = [
        ("not less", Limit::AtLeast(0.95)),
        ("not more", Limit::AtMost(1.05)),
    ];
    limits.map(|(words, limit)| {
        let few = |series: &str| {
            let few = Measure::of(series).take(Take::Growth);
            few.between("few", "end").skip(2.0)
        };
        Criterion::new(
            &format!("150/s: time in all stages of commands ÷ their time, {words}"),
            few("rest-stage-seconds").over(few("rest-seconds")),
            limit,
            "×",
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::judge::{Verdict, judge};
    use crate::record::{Record, Sample};

    /// 241 creations were refused in the first second of a run, and the criterion was HELD.
    #[test]
    fn refusals_before_the_first_sample_count() {
        let plan = plan(false);
        let refused = |at| Sample {
            at,
            values: BTreeMap::from([("refused-total".to_string(), 241.0)]),
        };
        let record = Record {
            samples: vec![refused(1.0), refused(2.0)],
            ..Record::default()
        };
        let judged = judge(&plan, &record, true);
        let refused = judged.iter().find(|it| it.criterion.name == "refused");
        assert!(refused.is_some_and(|it| matches!(it.verdict, Verdict::Refuted(_))));
    }

    /// A million instances of saturated slices, all of which the ledger remembers, once counted as memory of clients at 150/s.
    #[test]
    fn the_memory_of_clients_is_measured_before_they_saturate_the_node() {
        let plan = plan(false);
        let first = |is: fn(&Action) -> bool| plan.steps.iter().position(|it| is(&it.action));
        let few = first(|it| matches!(it, Action::Load(_)));
        let saturated = first(|it| matches!(it, Action::Saturate(_)));
        let order = few.zip(saturated);
        assert!(order.is_some_and(|(few, saturated)| few < saturated));
    }
}
