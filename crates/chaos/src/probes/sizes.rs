//! What nodes keep for the instances that live: their log, and their state in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Seen, float};

const KIB: f64 = 1024.0;
const LIVE: &str = "skep_element_instances";
const STATE: &str = "skep_state_resident_bytes";

/// Adds the size of all logs, and both sizes ÷ live element instances, as all nodes count them.
pub(super) fn note(nodes: &[Seen], values: &mut BTreeMap<String, f64>) {
    let logs = nodes
        .iter()
        .map(|node| log_bytes(node.data.as_deref()?).ok());
    // Without one of them the others would say nothing.
    let log: Option<u64> = logs.sum();
    let log = log.filter(|_| !nodes.is_empty()).map(float);
    if let Some(log) = log {
        values.insert("log-mib".into(), log / (KIB * KIB));
    }
    let value = |name: &str| values.get(name).copied();
    let Some(live) = value(LIVE).filter(|live| *live > 0.0) else {
        return;
    };
    let state = value(STATE);
    for (name, bytes) in [("log-kib-per-live", log), ("state-kib-per-live", state)] {
        if let Some(bytes) = bytes {
            values.insert(name.into(), bytes / KIB / live);
        }
    }
}

/// The segments of the logs of all partitions of a node.
fn log_bytes(data: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for partition in std::fs::read_dir(data.join("partitions"))? {
        let path = partition?.path();
        let log = path.join("log");
        // `1.given-up` is no partition.
        if path.extension().is_some() || !log.is_dir() {
            continue;
        }
        for segment in std::fs::read_dir(log)? {
            // One may be deleted meanwhile.
            bytes += segment?.metadata().map_or(0, |segment| segment.len());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::http::Rest;

    fn seen(data: Option<PathBuf>) -> Seen {
        Seen {
            number: 0,
            pid: None,
            management: Rest::open(""),
            quota: None,
            log: PathBuf::new(),
            data,
        }
    }

    #[test]
    fn sizes_are_divided_by_what_lives() {
        let directory = tempfile::tempdir().unwrap();
        for (partition, bytes) in [("1", 3 << 20), ("2", 1 << 20)] {
            let partition = directory.path().join("partitions").join(partition);
            std::fs::create_dir_all(partition.join("log")).unwrap();
            std::fs::write(partition.join("log/0"), vec![0; bytes]).unwrap();
            std::fs::write(partition.join("query.sqlite"), "not a log").unwrap();
        }
        let node = seen(Some(directory.path().to_path_buf()));
        let mut values = BTreeMap::from([(STATE.to_string(), 2048.0)]);
        note(std::slice::from_ref(&node), &mut values);
        assert_eq!(values.get("log-mib"), Some(&4.0));
        assert_eq!(values.get("log-kib-per-live"), None, "nothing lives");
        values.insert(LIVE.into(), 2.0);
        note(std::slice::from_ref(&node), &mut values);
        assert_eq!(values.get("log-kib-per-live"), Some(&2048.0));
        assert_eq!(values.get("state-kib-per-live"), Some(&1.0));
        let elsewhere = seen(None);
        let mut values = BTreeMap::new();
        note(&[node, elsewhere], &mut values);
        assert!(values.is_empty(), "a log that nobody sees here");
    }
}
