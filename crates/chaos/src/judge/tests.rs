//! Verdicts on recorded samples: held, refuted, and not measured.

use std::collections::BTreeMap;

use super::*;
use crate::experiments;
use crate::record::{Event, Sample};

fn sample(at: f64, name: &str, value: f64) -> Sample {
    Sample {
        at,
        values: BTreeMap::from([(name.to_string(), value)]),
    }
}

fn event(at: f64, kind: Kind, step: &str) -> Event {
    Event {
        at,
        kind,
        step: step.into(),
        text: "said".into(),
    }
}

/// Twice base, then fault; the latency is 1, 2, 3 … ms at 1, 2, 3 … s.
fn record() -> Record {
    let steps = [
        (0.0, "base"),
        (4.0, "fault"),
        (8.0, "base"),
        (12.0, "fault"),
    ];
    let latency = (1..=16_u8).map(|at| sample(f64::from(at), "p99", f64::from(at)));
    let quiet = [sample(0.0, NOISY, 0.0)];
    Record {
        samples: quiet.into_iter().chain(latency).collect(),
        events: steps.map(|(at, step)| event(at, Kind::Begin, step)).into(),
    }
}

fn judged(criterion: Criterion, record: &Record) -> Verdict {
    verdict(&criterion, record, record.last(NOISY) != Some(0.0))
}

fn at_most(measure: Measure, limit: f64) -> Criterion {
    Criterion::new("c", measure, Limit::AtMost(limit), "ms")
}

fn value(measure: &Measure) -> f64 {
    Measured::of(measure, &record()).unwrap().value()
}

#[test]
fn a_measure_is_taken_of_each_window_and_across_them() {
    let base = Measure::of("p99").between("base", "fault");
    assert_eq!(value(&base), 12.0, "the larger one of 4 and 12");
    assert_eq!(value(&base.clone().across(Take::Min)), 4.0);
    let mean = base.clone().take(Take::Mean);
    assert_eq!(value(&mean.clone().across(Take::Min)), 2.5);
    assert_eq!(value(&mean.skip(2.0).across(Take::Min)), 3.5);
    assert_eq!(value(&base.clone().take(Take::Growth)), 3.0);
    assert_eq!(value(&Measure::of("p99").take(Take::Median)), 8.0);
    assert_eq!(value(&Measure::of("p99").take(Take::P99)), 16.0);
    let fault = Measure::of("p99").between("fault", "base");
    assert_eq!(
        value(&fault.clone()),
        16.0,
        "the last one ends with the run"
    );
    assert_eq!(value(&fault.over(base.across(Take::Min))), 4.0);
}

/// Slices A B B A A B, each of 10 s.
fn slices(of_a: [f64; 3], of_b: [f64; 3]) -> Record {
    let mut record = Record::default();
    let ([a1, a2, a3], [b1, b2, b3]) = (of_a, of_b);
    let order = [
        ("a", a1),
        ("b", b1),
        ("b", b2),
        ("a", a2),
        ("a", a3),
        ("b", b3),
    ];
    for (number, (step, value)) in (0_u8..).zip(order) {
        let at = f64::from(number) * 10.0;
        record.events.push(event(at, Kind::Begin, step));
        record.events.push(event(at + 9.0, Kind::Begin, "turn"));
        record.samples.push(sample(at + 5.0, "rate", value));
    }
    record.samples.push(sample(0.0, NOISY, 0.0));
    record
}

#[test]
fn a_ratio_of_two_settings_is_the_median_over_pairs_with_an_interval() {
    let of = |step: &str| Measure::of("rate").take(Take::Mean).between(step, "turn");
    let ratio = of("a").paired_with(of("b"));
    // The machine is half as fast during the last pair.
    let record = slices([100.0, 120.0, 50.0], [100.0, 100.0, 50.0]);
    let judged_of = |record: &Record| judged(at_most(ratio.clone(), 1.0), record);
    let Verdict::Held(finding) = judged_of(&record) else {
        panic!("{:?}", judged_of(&record));
    };
    let interval = finding.interval().unwrap();
    assert_eq!(
        (finding.measured(), interval.low, interval.high),
        (1.0, 1.0, 1.2)
    );
    let unpaired = Measured::of(&of("a").across(Take::Min).over(of("b")), &record).unwrap();
    assert_eq!(unpaired.value(), 0.5);
    let slower = slices([110.0, 120.0, 55.0], [100.0, 100.0, 50.0]);
    assert!(matches!(judged_of(&slower), Verdict::Refuted(_)));
    let mut short = record.clone();
    short.events.retain(|event| event.at < 50.0);
    let why = Measured::of(&ratio, &short).unwrap_err().to_string();
    assert!(why.contains("there are 3 and 2"), "{why}");
    short.events.retain(|event| event.at < 40.0);
    let why = Measured::of(&ratio, &short).unwrap_err().to_string();
    assert!(why.contains("2 pairs of rate were measured"), "{why}");
    let nothing = slices([1.0; 3], [0.0; 3]);
    assert!(Measured::of(&ratio, &nothing).is_err());
}

/// Beside a compiler, one run of the same build is REFUTED and the next one HELD.
#[test]
fn pairs_that_differ_too_much_around_the_limit_are_not_judged() {
    let of = |step: &str| Measure::of("rate").take(Take::Mean).between(step, "turn");
    let at_least = |limit, ratios| {
        let ratio = of("a").paired_with(of("b"));
        let criterion = Criterion::new("c", ratio, Limit::AtLeast(limit), "×");
        judged(criterion, &slices(ratios, [1.0; 3]))
    };
    for ratios in [[0.80, 0.89, 1.37], [0.80, 1.00, 1.37]] {
        let said = at_least(0.95, ratios);
        assert!(
            matches!(&said, Verdict::NotRun(why) if why.contains("between 0.80 and 1.37")),
            "{said:?}"
        );
    }
    let all_below = at_least(1.40, [0.80, 0.89, 1.37]);
    assert!(matches!(all_below, Verdict::Refuted(_)), "{all_below:?}");
    let all_above = at_least(0.75, [0.80, 0.89, 1.37]);
    assert!(matches!(all_above, Verdict::Held(_)), "{all_above:?}");
    let close = at_least(0.95, [0.90, 0.94, 1.00]);
    assert!(matches!(close, Verdict::Refuted(_)), "{close:?}");
}

#[test]
fn a_slope_is_the_hourly_median_over_pairs() {
    let mut record = Record::default();
    for second in 0..1_000 {
        // One MiB in a hundred seconds, and a few outliers.
        let odd = if second % 50 == 7 { 500.0 } else { 0.0 };
        let at = f64::from(second);
        record.samples.push(sample(at, "rss", at / 100.0 + odd));
    }
    let slope = Measured::of(&Measure::of("rss").take(Take::Slope), &record).unwrap();
    assert!((slope.value() - 36.0).abs() < 0.01, "{}", slope.value());
    let one = Record {
        samples: vec![sample(0.0, "rss", 1.0)],
        ..Record::default()
    };
    assert!(Measured::of(&Measure::of("rss").take(Take::Slope), &one).is_err());
}

#[test]
fn limits_are_inclusive_and_grow_with_slow_flushes() {
    let held = judged(at_most(Measure::of("p99"), 16.0), &record());
    assert!(matches!(held, Verdict::Held(it) if it.measured() == 16.0));
    let refuted = judged(at_most(Measure::of("p99"), 15.9), &record());
    assert!(matches!(refuted, Verdict::Refuted(_)));
    let on_disk = at_most(Measure::of("p99"), 15.0).flushes(2.0);
    let unknown = judged(on_disk.clone(), &record());
    assert!(matches!(unknown, Verdict::NotRun(_)), "{unknown:?}");
    let mut slow = record();
    slow.samples.push(sample(0.0, FLUSH_MS, 0.5));
    assert!(
        matches!(judged(on_disk, &slow), Verdict::Held(it) if it.limit() == Limit::AtMost(16.0))
    );
}

#[test]
fn a_criterion_without_measurements_counts_as_not_run() {
    let mut lame = record();
    lame.samples
        .retain(|sample| !(9.0..=12.0).contains(&sample.at));
    lame.samples.push(sample(20.0, "zero", 0.0));
    for (measure, why) in [
        (Measure::of("none"), "none was not measured"),
        (
            Measure::of("p99").between("never", "base"),
            "the step never did not begin",
        ),
        (
            Measure::of("p99").between("base", "fault"),
            "p99 was not measured between 8.0 s and 12.0 s",
        ),
        (
            Measure::of("p99").over(Measure::of("none")),
            "none was not measured",
        ),
        (
            Measure::of("p99").over(Measure::of("zero")),
            "divided by zero",
        ),
        (
            Measure::of("zero").take(Take::Growth),
            "zero was not measured",
        ),
    ] {
        let verdict = judged(at_most(measure, 1e9), &lame);
        assert!(
            matches!(&verdict, Verdict::NotRun(said) if said.contains(why)),
            "{verdict:?}"
        );
    }
}

/// A cause that nobody names within half a minute is not one that was not looked for.
#[test]
fn what_did_not_come_within_the_limit_is_refuted_though_nobody_waited_for_it() {
    let mut record = record();
    let waited = format!("named.seconds{AT_LEAST}");
    record.samples.push(sample(3.0, "named.seconds", 1.0));
    record.samples.push(sample(9.0, &waited, 30.0));
    let named = || Measure::of("named.seconds");
    let refuted = judged(at_most(named(), 5.0), &record);
    assert!(matches!(refuted, Verdict::Refuted(it) if it.measured() == 30.0));
    record
        .samples
        .retain(|it| !it.values.contains_key("named.seconds"));
    for unknown in [
        at_most(named(), 60.0),
        at_most(named().over(Measure::of("p99")), 1.0),
    ] {
        let said = judged(unknown, &record);
        assert!(matches!(&said, Verdict::NotRun(_)), "{said:?}");
    }
}

#[test]
fn a_criterion_whose_precondition_does_not_hold_counts_as_not_run() {
    let of = |measure, least| {
        let criterion = at_most(Measure::of("p99"), 99.0);
        criterion.provided(measure, Limit::AtLeast(least), "clients were the limit")
    };
    let met = judged(of(Measure::of("p99"), 16.0), &record());
    assert!(matches!(met, Verdict::Held(_)), "{met:?}");
    let unmet = judged(of(Measure::of("p99"), 16.5), &record());
    let said = "clients were the limit: p99 is 16, not ≥ 16.5";
    assert_eq!(unmet, Verdict::NotRun(said.into()));
    let unknown = judged(of(Measure::of("none"), 1.0), &record());
    assert!(
        matches!(&unknown, Verdict::NotRun(why) if why.contains("none was not measured")),
        "{unknown:?}"
    );
}

#[test]
fn speed_is_not_judged_on_a_noisy_machine_and_counts_are() {
    let mut noisy = record();
    noisy.samples.push(sample(0.0, NOISY, 1.0));
    let criterion = at_most(Measure::of("p99"), 1.0);
    assert!(matches!(
        judged(criterion.clone(), &noisy),
        Verdict::Refuted(_)
    ));
    let timed = judged(criterion.clone().timed(), &noisy);
    assert!(matches!(timed, Verdict::NotRun(why) if why.contains("noisy (measured 16 ms)")));
    noisy
        .samples
        .retain(|sample| !sample.values.contains_key(NOISY));
    let unknown = judged(criterion.timed(), &noisy);
    assert!(matches!(unknown, Verdict::NotRun(_)), "nobody looked");
}

#[test]
fn refuted_takes_precedence_over_not_run_and_that_over_held() {
    let held = at_most(Measure::of("p99"), 99.0);
    let refuted = at_most(Measure::of("p99"), 1.0);
    let missing = at_most(Measure::of("none"), 1.0);
    let optional = Criterion {
        optional: true,
        ..missing.clone()
    };
    let mut unbitten = record();
    unbitten.events.push(event(5.0, Kind::Unbitten, "fault"));
    let of = |criteria: &[&Criterion], record: &Record| {
        let judged = criteria.iter().map(|criterion| Judged {
            criterion: (*criterion).clone(),
            verdict: judged((*criterion).clone(), record),
        });
        outcome(&judged.collect::<Vec<_>>(), record).exit_code()
    };
    assert_eq!(of(&[&held], &record()), 0);
    assert_eq!(of(&[&held, &optional], &record()), 0);
    assert_eq!(of(&[&held, &missing], &record()), 3);
    assert_eq!(of(&[&missing, &refuted], &record()), 1);
    assert_eq!(of(&[&held], &unbitten), 3);
    assert_eq!(of(&[&held, &refuted], &unbitten), 1);
    assert_eq!(of(&[], &record()), 3);
    assert_eq!(of(&[&optional], &record()), 3);
    assert_eq!(
        (worst([0, 3, 1]), worst([0, 3]), worst([0]), worst([])),
        (1, 3, 0, 0)
    );
}

/// Adds every series that a measure needs, with one value in each of its windows.
fn fed(measure: &Measure, value: f64, record: &mut Record) {
    let steps = record.events.iter();
    let moments: Vec<f64> = match &measure.window {
        None => vec![0.0],
        Some(window) => steps
            .filter(|event| event.step == window.from)
            .map(|event| event.at + window.skip_s + 0.1)
            .collect(),
    };
    for at in moments {
        const LATER: f64 = 0.1;
        // A growth and a slope need two values; divided again, the slope must not exceed the limit.
        let (first, second) = match measure.take {
            Take::Growth => (0.0, value),
            Take::Slope => (0.0, value * LATER / 3_600.0 * (1.0 - 1e-9)),
            Take::Max | Take::Min | Take::Mean | Take::Median | Take::P99 => (value, value),
        };
        record.samples.push(sample(at, &measure.of, first));
        record.samples.push(sample(at + LATER, &measure.of, second));
    }
    if let Some(other) = &measure.over {
        fed(other, 1.0, record);
    }
}

/// A run of the plan that has measured nothing but its machine; each step takes 100 s.
fn began(plan: &Plan) -> Record {
    let mut record = Record::default();
    for (number, step) in (0_u32..).zip(&plan.steps) {
        let at = f64::from(number) * 100.0;
        record.events.push(event(at, Kind::Begin, &step.name));
    }
    record.samples.push(sample(0.0, FLUSH_MS, 0.0));
    record.samples.push(sample(0.0, NOISY, 0.0));
    record
}

#[test]
fn the_shares_behind_a_service_are_not_judged_where_connections_may_last_longer() {
    let plan = (experiments::find("gateway-skew").unwrap().plan)(false);
    let mut all = plan.criteria.iter();
    let criterion = all.find(|it| it.name.starts_with("a service's address"));
    let criterion = criterion.unwrap();
    let with = |foreign: f64| {
        let mut record = began(&plan);
        fed(&criterion.measure, 5.0, &mut record);
        record.samples.push(sample(0.0, FOREIGN_SETTINGS, foreign));
        judged(criterion.clone(), &record)
    };
    assert!(matches!(with(0.0), Verdict::Refuted(_)));
    let said = with(1.0);
    assert!(
        matches!(&said, Verdict::NotRun(why) if why.starts_with("the cluster may keep connections")),
        "{said:?}"
    );
}

/// Checks each criterion: samples for which it must be REFUTED, samples for which it is HELD, and none at all.
#[test]
fn every_criterion_of_every_experiment_can_be_refuted() {
    for experiment in experiments::ALL {
        for plan in [false, true].map(experiment.plan) {
            every_criterion_can_be_refuted(&plan);
        }
    }
}

fn every_criterion_can_be_refuted(plan: &Plan) {
    for criterion in &plan.criteria {
        let empty = began(plan);
        let (good, bad) = match criterion.limit {
            Limit::AtMost(most) => (most, most + 1.0),
            Limit::AtLeast(least) => (least, least - 1.0),
        };
        let with = |value| {
            let mut record = empty.clone();
            fed(&criterion.measure, value, &mut record);
            for provided in &criterion.provided {
                let (Limit::AtMost(met) | Limit::AtLeast(met)) = provided.limit;
                fed(&provided.measure, met, &mut record);
            }
            judged(criterion.clone(), &record)
        };
        let name = format!("{}: {}", plan.name, criterion.name);
        assert!(
            matches!(with(good), Verdict::Held(_)),
            "{name}: {:?}",
            with(good)
        );
        assert!(
            matches!(with(bad), Verdict::Refuted(_)),
            "{name}: {:?}",
            with(bad)
        );
        let none = judged(criterion.clone(), &empty);
        assert!(matches!(none, Verdict::NotRun(_)), "{name}: {none:?}");
    }
}
