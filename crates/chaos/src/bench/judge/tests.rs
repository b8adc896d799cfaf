//! Recorded throughputs: a build that is slower by a tenth is caught, the same build is not, and inconclusive data is NOT RUN.

use super::*;
use crate::bench::Figures;
use crate::judge::median;

/// Two turns each of the same build on a machine with two cores, in instances per second.
const SAME: [(f64, f64); 10] = [
    (6120.0, 6055.0),
    (6087.0, 6172.0),
    (5990.0, 6101.0),
    (6204.0, 6066.0),
    (6093.0, 6088.0),
    (6011.0, 6150.0),
    (6145.0, 6079.0),
    (6068.0, 5947.0),
    (6132.0, 6120.0),
    (6049.0, 6110.0),
];

fn pairs(throughputs: &[(f64, f64)], share: f64) -> Vec<Pair> {
    let figures = |throughput: f64| Figures {
        throughput,
        create_p99_ms: 1e4 / throughput,
        cpu_us_per_instance: 1e6 / throughput,
        written_kib_per_instance: 0.0,
        peak_rss_mib: 80.0,
        start_ms: 100.0,
    };
    let pairs = throughputs.iter().map(|(this, other)| Pair {
        this: figures(this * share),
        other: figures(*other),
    });
    pairs.collect()
}

fn judged(throughputs: &[(f64, f64)], share: f64) -> Verdict {
    Verdicts::of(&pairs(throughputs, share), None).verdict
}

#[test]
fn a_build_that_is_slower_by_a_tenth_is_caught_and_the_same_build_is_not() {
    assert_eq!(judged(&SAME, 1.0), Verdict::Held);
    assert_eq!(judged(&SAME, 1.1), Verdict::Held, "a faster one");
    assert_eq!(judged(&SAME, 0.97), Verdict::Held, "less than a tenth");
    for share in [0.9, 0.8, 0.5] {
        assert_eq!(judged(&SAME, share), Verdict::Refuted, "{share}");
    }
    let codes = [Verdict::Held, Verdict::Refuted, Verdict::NotRun("".into())];
    assert_eq!(codes.map(|verdict| verdict.exit_code()), [0, 1, 3]);
}

#[test]
fn noisy_or_inconclusive_comparisons_count_as_not_run() {
    let noise = Some("somebody compiles".to_string());
    for share in [1.0, 0.5] {
        let noisy = Verdicts::of(&pairs(&SAME, share), noise.clone()).verdict;
        assert!(matches!(noisy, Verdict::NotRun(why) if why.contains("somebody compiles")));
    }
    let wild = [(6000.0, 9000.0), (6000.0, 4500.0), (6000.0, 6000.0)];
    assert!(matches!(judged(&wild, 1.0), Verdict::NotRun(why) if why.contains("--pairs")));
    assert!(matches!(judged(&[], 1.0), Verdict::NotRun(_)));
}

#[test]
fn the_interval_of_the_median_is_reproducible() {
    let interval_of = |values: &[f64]| Interval::of(values).unwrap();
    let same = interval_of(&[1.0; 10]);
    assert_eq!((same.low, same.median, same.high), (1.0, 1.0, 1.0));
    let values: Vec<f64> = (1..=11_u8).map(f64::from).collect();
    let found = interval_of(&values);
    assert_eq!(found, interval_of(&values));
    assert_eq!(found.median, 6.0);
    assert!((2.0..=4.0).contains(&found.low), "{found:?}");
    assert!((8.0..=10.0).contains(&found.high), "{found:?}");
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn every_figure_has_a_ratio_of_its_own() {
    let verdicts = Verdicts::of(&pairs(&SAME, 0.5), None);
    let of = |key: &str| verdicts.ratios.get(key).map(|it| it.median);
    assert!(of("cpu-per-instance").is_some_and(|ratio| ratio > 1.9));
    assert!(of("create-p99").is_some_and(|ratio| ratio > 1.9));
    assert_eq!(of("start"), Some(1.0));
    assert_eq!(of("written-per-instance"), None, "the other wrote nothing");
}
