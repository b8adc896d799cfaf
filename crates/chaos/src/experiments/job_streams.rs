//! Jobs are pushed to workers, one of which hangs.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, Criterion, Delivery, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "job-streams",
    about: "workers get jobs by polling and from job streams, in turn, and from job streams beside a worker that hangs",
    plan,
};

/// Seconds after which the jobs of the hung worker have timed out and are done by others.
const TIMED_OUT: f64 = 10.0;

const LOAD: Action = Action::Load(Rate::OfMaximum(0.3));

fn ended() -> Step {
    wait("ended", Until::OpenAtMost(0.0), 60.0)
}

/// Slices in the order A B B A: workers poll, and get jobs from streams.
fn pairs(full: bool) -> Vec<Step> {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 8.0) };
    let ways = [("polled", Delivery::Poll), ("streamed", Delivery::Push)];
    let mut steps = Vec::new();
    for pair in 0..pairs {
        let mut both = ways;
        if pair % 2 == 1 {
            both.reverse();
        }
        for (name, delivery) in both {
            steps.extend([
                step("delivery", 0.0, Action::Delivery(delivery)),
                step("slice-workers", 0.0, Action::Workers(true)),
                step(name, 1.0, LOAD),
                step("slice-end", long, Action::StopLoad),
                ended(),
                step("away", 0.0, Action::Workers(false)),
            ]);
        }
    }
    steps
}

fn plan(full: bool) -> Plan {
    let long = if full { 120.0 } else { 20.0 };
    let mut steps = pairs(full);
    steps.extend([
        step("push", 0.0, Action::Delivery(Delivery::Push)),
        step("streams", 0.0, Action::Workers(true)),
        // Counters are read each second: they are read once before the load and once after it.
        step("pushed", 2.5, LOAD),
        step("pushed-end", long, Action::StopLoad),
        ended(),
        step("hang", 2.5, Action::HungWorker(true)),
        step("beside", 1.0, LOAD),
        step("end", TIMED_OUT + long, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "With job streams each job is pushed once and completed once, workers hardly poll, and neither creations nor commits are \
                     delayed. A worker that hangs keeps the jobs that it holds until they time out, and no others."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(long).into_iter().chain(invariants()).collect(),
    }
}

fn median(of: &str, from: &str, to: &str, skip: f64) -> Measure {
    let median = Measure::of(of).take(Take::Median);
    median.between(from, to).skip(skip)
}

fn criteria(long: f64) -> Vec<Criterion> {
    let growth = |of| {
        let growth = Measure::of(of).take(Take::Growth);
        growth.between("streams", "hang")
    };
    let mut criteria = vec![
        Criterion::new(
            "pushes ÷ jobs",
            growth("zeebe_broker_jobs_pushed_count_total").over(growth("jobs-created")),
            Limit::AtMost(1.001),
            "×",
        )
        .post("4.3"),
        Criterion::new(
            "completions of jobs ÷ completed instances",
            growth("jobs-completed").over(growth("completed-total")),
            Limit::AtMost(1.001),
            "×",
        ),
        Criterion::new(
            "polls beside the streams",
            growth("job-polls"),
            // One in ten seconds, and one at the start.
            Limit::AtMost((long / 10.0).ceil() + 1.0),
            "",
        ),
    ];
    criteria.extend(delayed());
    criteria.extend(beside_hung_worker());
    criteria
}

/// What the streams must not delay.
fn delayed() -> [Criterion; 2] {
    let delays = [("creations", "create-p99-ms"), ("commits", "commit-p99-ms")];
    delays.map(|(what, series)| {
        let of = |slice| median(series, slice, "slice-end", 2.0);
        Criterion::new(
            &format!("{what}: p99 with streams ÷ p99 with polls"),
            of("streamed").paired_with(of("polled")),
            Limit::AtMost(1.2),
            "×",
        )
        .timed()
    })
}

fn beside_hung_worker() -> Vec<Criterion> {
    let completed = Measure::of("completed-per-s").take(Take::Mean);
    let completed = completed.between("beside", "end").skip(TIMED_OUT);
    let timed_out = |from| {
        let timed_out = Measure::of("jobs-timed-out").take(Take::Growth);
        timed_out.between(from, "end")
    };
    vec![
        Criterion::new(
            "jobs that timed out at the hung worker",
            timed_out("hang"),
            Limit::AtLeast(1.0),
            "",
        ),
        Criterion::new(
            "jobs that timed out there later, again or anew",
            timed_out("beside").skip(TIMED_OUT),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "beside a hung worker: completed ÷ created",
            completed.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.99),
            "×",
        ),
        Criterion::new(
            "beside a hung worker: p99 of instances ÷ p99 without it",
            median("instance-p99-ms", "beside", "end", TIMED_OUT).over(median(
                "instance-p99-ms",
                "pushed",
                "pushed-end",
                2.0,
            )),
            Limit::AtMost(1.2),
            "×",
        )
        .timed(),
    ]
}
