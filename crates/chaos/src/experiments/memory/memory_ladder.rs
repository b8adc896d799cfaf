//! A node gets less and less memory.

use crate::experiments::{Experiment, invariants, ready, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "memory-ladder",
    about: "a saturated node with secondary storage gets 512, 256 and 128 MiB of memory, each beside 1024, and a node with little load gets 64",
    plan,
};

const MOST: u64 = 1024;
const LESS: [(u64, &str); 3] = [(512, "mib-512"), (256, "mib-256"), (128, "mib-128")];

/// Enough for a node with little to do.
const LEAST: u64 = 64;
const FEW: f64 = 30.0;

/// The node says when it starts that it may need more than it gets.
fn said(mib: u64) -> Step {
    let says = format!("this process may use {mib} MiB of memory");
    wait("too-little", Until::Log { node: 0, says }, 10.0)
}

/// The step with most memory beside one with less.
fn beside(name: &str) -> String {
    format!("most-beside-{name}")
}

/// Slices in the order A B B A: most memory, and less.
fn compared((less, name): (u64, &str), (pairs, long): (u32, f64)) -> Vec<Step> {
    let rung = |mib: u64, name: &str| {
        let mut rung = vec![step("again", 2.0, Action::Memory { node: 0, mib }), ready()];
        if mib < MOST {
            rung.push(said(mib));
        }
        rung.push(step(name, 0.0, Action::Saturate(Wire::Grpc)));
        rung.push(step("turn", long, Action::StopLoad));
        rung
    };
    let mut steps = Vec::new();
    for pair in 0..pairs {
        let most_first = pair % 2 == 0;
        for is_most in [most_first, !most_first] {
            steps.extend(if is_most {
                rung(MOST, &beside(name))
            } else {
                rung(less, name)
            });
        }
    }
    steps
}

fn plan(full: bool) -> Plan {
    let (pairs, long) = if full { (10, 30.0) } else { (3, 9.0) };
    let rungs = LESS.into_iter();
    let mut steps: Vec<Step> = rungs
        .flat_map(|less| compared(less, (pairs, long)))
        .collect();
    let mib = LEAST;
    steps.extend([
        step("again", 2.0, Action::Memory { node: 0, mib }),
        ready(),
        said(mib),
        step("workers", 0.0, Action::Workers(true)),
        step("least", 0.0, Action::Load(Rate::PerSecond(FEW))),
        step("end", long, Action::StopLoad),
    ]);
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A node with little memory works as fast as one with much: 128 MiB suffice, secondary storage included. One \
                     that has less than it may need says so when it starts."
            .into(),
        nodes: Nodes::default(),
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria(),
    }
}

fn criteria() -> Vec<Criterion> {
    let completed = |name: &str| {
        let completed = Measure::of("completed-per-s").take(Take::Mean);
        completed.between(name, "turn").skip(3.0)
    };
    let less = LESS.into_iter().map(|(mib, name)| {
        Criterion::new(
            &format!("{mib} ÷ {MOST} MiB: instances completed"),
            completed(name).paired_with(completed(&beside(name))),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed()
        .post("2 GiB are needed")
    });
    let completed = Measure::of("completed-per-s").take(Take::Mean);
    let completed = completed.between("least", "end").skip(2.0);
    let others = [
        Criterion::new(
            &format!("{LEAST} MiB, {FEW}/s: completed ÷ created"),
            completed.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "a node that may need more memory says so, after it is ready, within",
            Measure::of("too-little.seconds"),
            Limit::AtMost(5.0),
            "s",
        ),
    ];
    less.chain(others).chain(invariants()).collect()
}
