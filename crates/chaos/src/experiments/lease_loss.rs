//! Processes that lease their node numbers are stopped, killed and paused, and the bucket with the leases is away.

use super::{Experiment, invariants, step, wait};
use crate::plan::{
    Action, BucketState, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Who,
};

pub const EXPERIMENT: Experiment = Experiment {
    name: "lease-loss",
    about: "a process with a leased node number is stopped, killed and paused while another waits; then the bucket is away",
    plan,
};

const MEMBERS: u32 = 3;
const LEADER: Who = Who::LeaderOf(1);
/// Instances per second.
const RATE: f64 = 60.0;
/// Duration of a lease in seconds, the default of the setting; after a fifth more others take the number.
const LEASE: f64 = 15.0;
/// Long enough for the number of a process that stands still to be taken.
const STANDS_STILL: f64 = 30.0;
/// Far longer than a lease.
const AWAY: f64 = 30.0;
/// Renewals are sent every third of a lease.
const RENEWED: f64 = LEASE / 3.0 + 3.0;
/// Invariants with another form here. A process that stood still for longer than the timeout of a job may have sent the job on before it
/// ended, and it ends by itself.
const OTHERWISE: [&str; 2] = ["ledger.repeated", "nodes-died"];

/// How often everything is repeated.
struct Rounds {
    rounds: u32,
    /// In each round, processes that stand still one after the other: what has most ways to go wrong.
    pauses: u32,
}

const QUICK: Rounds = Rounds {
    rounds: 1,
    pauses: 1,
};
/// About half an hour.
const FULL: Rounds = Rounds {
    rounds: 5,
    pauses: 4,
};

fn plan(full: bool) -> Plan {
    let Rounds { rounds, pauses } = if full { FULL } else { QUICK };
    let mut steps = vec![
        step("workers", 0.0, Action::Workers(true)),
        step("base", 0.0, Action::Load(Rate::PerSecond(RATE))),
    ];
    for _ in 0..rounds {
        steps.extend(beside_another("term", Action::Stop(LEADER)));
        steps.push(owned("after-term"));
        steps.extend(beside_another("kill", Action::Kill(LEADER)));
        steps.push(owned("after-kill"));
        for _ in 0..pauses {
            steps.extend(beside_another("pause", Action::Pause(LEADER)));
            steps.push(step("resume", STANDS_STILL, Action::Resume));
            steps.push(owned("after-resume"));
        }
        steps.extend([
            wait("rate", Until::RateIs(0.95), 60.0),
            step("away", 5.0, Action::Bucket(BucketState::Away)),
            step("back", AWAY, Action::Bucket(BucketState::Serves)),
            step("renewed", RENEWED, still_owned()),
        ]);
    }
    steps.push(step("end", 5.0, Action::StopLoad));
    let held = invariants().into_iter();
    let held = held.filter(|it| !OTHERWISE.contains(&it.measure.of.as_str()));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "The number of a process that ends is taken by the next one within seconds. A process that stood still ends when it \
                     goes on, if its number was taken, and never do two act with one number. While the bucket is away nothing happens."
            .into(),
        nodes: Nodes {
            count: MEMBERS,
            partitions: MEMBERS,
            spare: 1,
            leases: true,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 90.0,
        criteria: criteria(rounds * pauses).into_iter().chain(held).collect(),
    }
}

/// A fault while a further process waits for a number.
fn beside_another(name: &str, fault: Action) -> [Step; 3] {
    [
        wait("rate", Until::RateIs(0.95), 60.0),
        step("another", 1.0, Action::Start),
        step(name, 5.0, fault),
    ]
}

fn still_owned() -> Action {
    Action::Wait {
        until: Until::Owned,
        limit_s: 10.0,
    }
}

fn owned(name: &str) -> Step {
    wait(name, Until::Owned, 120.0)
}

/// `pauses`: of the whole run.
fn criteria(pauses: u32) -> Vec<Criterion> {
    let within = |name, wait: &str, limit| {
        let seconds = Measure::of(&format!("{wait}.seconds"));
        Criterion::new(name, seconds, Limit::AtMost(limit), "s").timed()
    };
    let died = || Measure::of("nodes-died");
    let all = f64::from(pauses);
    let mut criteria = vec![
        within("SIGTERM: the next process serves after", "after-term", 5.0),
        within("kill -9: the next process serves after", "after-kill", 25.0).post("127 s"),
        within(
            "SIGSTOP: the next process serves after SIGCONT",
            "after-resume",
            25.0,
        ),
        Criterion::new(
            "processes that act with one number at a time",
            Measure::of("owners-at-once"),
            Limit::AtMost(1.0),
            "",
        ),
        Criterion::new(
            "processes that stood still and ended when they went on",
            died().between("resume", "away"),
            Limit::AtLeast(all),
            "",
        ),
        Criterion::new(
            "processes that ended by themselves, these included",
            died(),
            Limit::AtMost(all),
            "",
        ),
        Criterion::new(
            "longest time without creations in a partition",
            Measure::of("create-gap-ms"),
            Limit::AtMost(8000.0),
            "ms",
        )
        .timed(),
    ];
    criteria.extend(without_bucket());
    criteria
}

fn without_bucket() -> Vec<Criterion> {
    let during = |of: &str, take| Measure::of(of).take(take).between("away", "back");
    vec![
        Criterion::new(
            "the bucket is away: age of the oldest lease",
            during("lease-age-s", Take::Max).across(Take::Min),
            Limit::AtLeast(LEASE + 3.0),
            "s",
        ),
        Criterion::new(
            "the bucket is away: processes that ended",
            during("nodes-died", Take::Growth),
            Limit::AtMost(0.0),
            "",
        ),
        Criterion::new(
            "the bucket is away: numbers in use",
            during("owners", Take::Median).across(Take::Min),
            Limit::AtLeast(f64::from(MEMBERS)),
            "",
        ),
        Criterion::new(
            "the bucket is away: creations ÷ rate",
            during("created-per-s", Take::Mean)
                .across(Take::Min)
                .over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "the bucket is back: age of the oldest lease",
            Measure::of("lease-age-s")
                .between("renewed", "end")
                .across(Take::Min),
            Limit::AtMost(RENEWED),
            "s",
        ),
    ]
}
