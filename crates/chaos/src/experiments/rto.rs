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
/// Seconds without a backup.
const CALM: f64 = 8.0;

fn plan(full: bool) -> Plan {
    let points: &[Point] = if full { &FULL } else { &QUICK };
    let mut steps = vec![step("workers", 0.0, Action::Workers(true))];
    let mut before = 0;
    for Point { instances, .. } in points {
        steps.extend(cycle(*instances, instances - before));
        before = *instances;
    }
    steps.push(step("base", 1.0, Action::Load(Rate::PerSecond(BUSY))));
    steps.extend(compared(if full { 10 } else { 3 }));
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

/// Slices in the order A B B A: without backups, and with one after another.
fn compared(pairs: u32) -> Vec<Step> {
    // Only begins or ends a slice: workers are running already.
    let mark = |name, after_s| step(name, after_s, Action::Workers(true));
    let mut steps = vec![mark("warm", 2.0)];
    for pair in 0..pairs {
        let calm_first = pair % 2 == 0;
        for is_calm in [calm_first, !calm_first] {
            if is_calm {
                steps.extend([mark("calm", 0.0), mark("slice-end", CALM)]);
            } else {
                steps.push(step("busy", 0.0, backup()));
                steps.extend((1..BACKUPS).map(|_| step("again", 0.0, backup())));
                steps.push(mark("slice-end", 0.0));
            }
        }
    }
    steps
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
    let slice = |series: &str, take, name| {
        let of = Measure::of(series).take(take);
        of.between(name, "slice-end")
    };
    let created = slice("created-per-s", Take::Mean, "busy").across(Take::Min);
    let p99 = |name| slice("create-p99-ms", Take::Median, name);
    [
        Criterion::new(
            "creations ÷ rate while backups are taken",
            created.over(Measure::of("offered-per-s")),
            Limit::AtLeast(0.95),
            "×",
        )
        .timed(),
        Criterion::new(
            "p99 of creations while backups are taken ÷ p99 without",
            p99("busy").paired_with(p99("calm")),
            Limit::AtMost(1.2),
            "×",
        )
        .timed(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One window before the backups and one with them differ as much by other work on the disk.
    #[test]
    fn latencies_with_and_without_backups_are_compared_in_pairs() {
        let plan = plan(false);
        let count = |name: &str| plan.steps.iter().filter(|it| it.name == name).count();
        assert!(count("busy") >= 3);
        assert_eq!(count("busy"), count("calm"));
        let p99 = plan.criteria.iter().find(|it| it.name.starts_with("p99"));
        assert!(p99.is_some_and(|it| it.measure.pairs));
    }
}
