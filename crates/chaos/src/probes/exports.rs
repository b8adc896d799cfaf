//! How far exporters are behind.

use std::collections::BTreeMap;

use super::metric::{label, value};

const COMMITTED: &str = "zeebe_log_appender_last_committed_position{";
const EXPORTED: &str = "zeebe_exporter_last_exported_position{";

/// Committed records that the slowest exporter of any partition has not exported yet, from the metrics of all nodes; `None` without an
/// exporter.
pub(super) fn lag(texts: &[String]) -> Option<f64> {
    let mut committed: BTreeMap<&str, f64> = BTreeMap::new();
    let mut exported: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some((partition, position)) = label(line, "partition").zip(value(line)) else {
            continue;
        };
        let newest = if line.starts_with(COMMITTED) {
            committed.entry(partition).or_default()
        } else if line.starts_with(EXPORTED) {
            let exporter = label(line, "exporter").unwrap_or_default();
            exported.entry((partition, exporter)).or_default()
        } else {
            continue;
        };
        *newest = newest.max(position);
    }
    let lags = exported.iter().filter_map(|((partition, _), exported)| {
        // The metrics of two nodes are not of the same moment.
        let committed = committed.get(partition)?;
        Some((committed - exported).max(0.0))
    });
    lags.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_exporter_counts_where_it_has_exported_most() {
        let committed = |partition: u32, position: u32| {
            format!("{COMMITTED}partition=\"{partition}\"}} {position}\n")
        };
        let exported = |exporter: &str, partition: u32, position: u32| {
            format!("{EXPORTED}exporter=\"{exporter}\",partition=\"{partition}\"}} {position}\n")
        };
        let leader = committed(1, 100) + &exported("storage", 1, 90) + &exported("sink", 1, 70);
        // It has led partition 1 before.
        let other = committed(1, 60) + &exported("sink", 1, 40) + &committed(2, 50);
        let ahead = exported("storage", 2, 55);
        assert_eq!(lag(&[leader, other + &ahead]), Some(30.0));
        assert_eq!(lag(&[committed(2, 50) + &ahead]), Some(0.0));
        assert_eq!(lag(&[committed(1, 100)]), None, "nothing is exported");
    }
}
