//! Leases of node numbers, as the processes that have them report them.

use std::collections::BTreeMap;

use super::float;
use crate::drivers::leased_numbers;

/// Notes how many numbers have an owner that acts, how many owners a number has at most, and the age of the oldest lease. `metrics` are
/// those of each process that answered; nothing is noted if none of them has a leased number.
pub(super) fn note<'a>(
    metrics: impl Iterator<Item = &'a String>,
    values: &mut BTreeMap<String, f64>,
) {
    let mut owners: BTreeMap<u32, u64> = BTreeMap::new();
    let mut oldest = 0.0_f64;
    for (number, age) in metrics.flat_map(|text| leased_numbers(text)) {
        *owners.entry(number).or_default() += 1;
        oldest = oldest.max(age);
    }
    let Some(most) = owners.values().max() else {
        return;
    };
    values.insert("owners-at-once".into(), float(*most));
    let numbers = u64::try_from(owners.len()).unwrap_or(u64::MAX);
    values.insert("owners".into(), float(numbers));
    values.insert("lease-age-s".into(), oldest);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each lease: the number and its age.
    fn noted(leases: &[[u32; 2]]) -> BTreeMap<String, f64> {
        let metrics = leases
            .iter()
            .map(|[number, age]| format!("skep_lease_age_seconds{{node=\"{number}\"}} {age}\n"));
        let metrics: Vec<String> = metrics.collect();
        let mut values = BTreeMap::new();
        note(metrics.iter(), &mut values);
        values
    }

    #[test]
    fn two_owners_of_a_number_are_seen() {
        let of = |values: &BTreeMap<String, f64>, name: &str| values.get(name).copied();
        let sound = noted(&[[0, 1], [1, 4], [2, 2]]);
        assert_eq!(of(&sound, "owners"), Some(3.0));
        assert_eq!(of(&sound, "owners-at-once"), Some(1.0));
        assert_eq!(of(&sound, "lease-age-s"), Some(4.0));
        let unsound = noted(&[[0, 1], [1, 4], [1, 19]]);
        assert_eq!(of(&unsound, "owners"), Some(2.0));
        assert_eq!(of(&unsound, "owners-at-once"), Some(2.0));
        assert!(noted(&[]).is_empty());
    }
}
