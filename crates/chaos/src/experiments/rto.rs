//! All disks of three nodes are lost, and the cluster comes back from its backup.

use super::{Experiment, invariants, step, wait};
use crate::plan::{Action, Criterion, Limit, Measure, Nodes, Plan, Rate, Step, Take, Until, Wire};

pub const EXPERIMENT: Experiment = Experiment {
    name: "rto",
    about: "three nodes lose all their disks and are restored from a backup, after more and more instances",
    plan,
};

/// A point at which the disks are lost.
struct Point {
    /// Instances ended until then.
    instances: u32,
    /// Maximum number of seconds until an instance is completed again.
    limit: f64,
    post: Option<&'static str>,
}

const fn point(instances: u32, limit: f64, post: Option<&'static str>) -> Point {
    Point {
        instances,
        limit,
        post,
    }
}

const QUICK: [Point; 2] = [point(6_000, 8.0, Some("318")), point(45_000, 9.0, None)];
const FULL: [Point; 5] = [
    point(6_000, 8.0, Some("318")),
    point(15_000, 8.0, None),
    point(45_000, 9.0, None),
    point(90_000, 11.0, None),
    point(180_000, 15.0, Some("1482")),
];
/// Instances per second while the cluster recovers, as in the post, and while a backup is taken.
const RATE: f64 = 50.0;
const BUSY: f64 = 150.0;
/// Backups one after another: a single one may be over before there are enough samples.
const BACKUPS: usize = 10;

fn plan(full: bool) -> Plan {
    let points: &[Point] = if full { &FULL } else { &QUICK };
    let mut steps = vec![step("workers", 0.0, Action::Workers(true))];
    let mut before = 0;
    for Point { instances, .. } in points {
        steps.extend(cycle(*instances, instances - before));
        before = *instances;
    }
    steps.push(step("base", 1.0, Action::Load(Rate::PerSecond(BUSY))));
    // After as much time without a backup.
    steps.push(step("busy", 10.0, backup()));
    steps.extend((1..BACKUPS).map(|_| step("again", 0.0, backup())));
    steps.push(step("end", 0.0, Action::StopLoad));
    Plan {
        name: EXPERIMENT.name.into(),
        hypothesis: "A cluster that has lost all its disks works again within seconds, however many instances it has seen, and has \
                     everything that was acknowledged before the backup."
            .into(),
        nodes: Nodes {
            count: 3,
            partitions: 3,
            backups: true,
            ..Nodes::default()
        },
        words: Vec::new(),
        steps,
        drain_s: 60.0,
        criteria: criteria(points).into_iter().chain(invariants()).collect(),
    }
}

fn backup() -> Action {
    Action::Backup { limit_s: 120.0 }
}

/// Steps: some more instances, a backup, and recovery from it.
fn cycle(instances: u32, more: u32) -> Vec<Step> {
    let name = |what: &str| format!("{what}-{instances}");
    vec![
        step(&name("fill"), 0.0, Action::Saturate(Wire::Http2)),
        wait(&name("filled"), Until::Created(u64::from(more)), 600.0),
        step(&name("quiet"), 0.0, Action::StopLoad),
        wait(&name("ended"), Until::OpenAtMost(0.0), 60.0),
        step(&name("backup"), 0.0, backup()),
        step(&name("loss"), 0.0, Action::Erase),
        step(&name("load"), 0.0, Action::Load(Rate::PerSecond(RATE))),
        step(&name("restore"), 0.0, Action::Restore { limit_s: 180.0 }),
        wait(&name("full"), Until::CompletionIs(0.95), 60.0),
    ]
}

fn criteria(points: &[Point]) -> Vec<Criterion> {
    let timed =
        |name: &str, measure, limit, unit| Criterion::new(name, measure, limit, unit).timed();
    let restored = |instances: u32| Measure::of(&format!("restore-{instances}.seconds"));
    let mut criteria = Vec::new();
    for point in points {
        let name = format!("an instance is completed again, after {}", point.instances);
        let mut criterion = timed(
            &name,
            restored(point.instances),
            Limit::AtMost(point.limit),
            "s",
        );
        criterion.post = point.post.map(String::from);
        criteria.push(criterion);
    }
    if let [first, .., last] = points {
        let (first, last) = (first.instances, last.instances);
        criteria.push(
            timed(
                "the same, the last ÷ the first",
                restored(last).over(restored(first)),
                Limit::AtMost(2.0),
                "×",
            )
            .post("4.7"),
        );
        let size = Measure::of(&format!("backup-{last}.kib-per-instance"));
        criteria.push(
            Criterion::new(
                "a backup, for each instance",
                size,
                Limit::AtMost(2.0),
                "KiB",
            )
            .post("130 KB"),
        );
    }
    criteria.extend(while_backups_are_taken());
    criteria
}

fn while_backups_are_taken() -> [Criterion; 2] {
    let created = Measure::of("created-per-s").take(Take::Mean);
    let p99 = |from, to, skip| {
        let p99 = Measure::of("create-p99-ms").take(Take::Median);
        p99.between(from, to).skip(skip)
    };
    [
        Criterion::new(
            "creations ÷ rate while backups are taken",
            created
                .between("busy", "end")
                .over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "p99 of creations while backups are taken ÷ p99 before",
            p99("busy", "end", 0.0).over(p99("base", "busy", 2.0)),
            Limit::AtMost(1.2),
            "×",
        )
        .timed(),
    ]
}
