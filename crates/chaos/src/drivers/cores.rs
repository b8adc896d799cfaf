//! CPU cores: if nodes have dedicated cores, everything else of the run uses the others.

use std::io;
use std::process::Command;

use crate::plan::Nodes;

/// The cores on which this program may run.
fn allowed() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    numbers(list.unwrap_or_default())
}

/// `0-2,5` is 0, 1, 2 and 5.
fn numbers(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

fn list(cores: &[usize]) -> String {
    let cores = cores.iter().map(ToString::to_string);
    cores.collect::<Vec<String>>().join(",")
}

/// What the clients of nodes with a quota need at least.
const OF_CLIENTS: f64 = 0.5;

/// The number of cores dedicated to all nodes together.
fn of_nodes(nodes: &Nodes) -> Option<usize> {
    let count = usize::try_from(nodes.all()).unwrap_or(usize::MAX);
    Some(nodes.cores?.saturating_mul(count))
}

/// The quotas of all nodes together.
fn of_quotas(nodes: &Nodes) -> Option<f64> {
    Some(nodes.quota? * f64::from(nodes.all()))
}

/// Whether enough is left for the clients: one core of dedicated ones, half a core beside quotas.
pub(super) fn suffice(nodes: &Nodes) -> bool {
    let all = allowed().len();
    let machine = f64::from(u32::try_from(all).unwrap_or(u32::MAX));
    of_nodes(nodes).is_none_or(|needed| needed < all)
        && of_quotas(nodes).is_none_or(|needed| needed + OF_CLIENTS <= machine)
}

/// The command prefix that confines a node to its own cores.
pub(super) fn words(nodes: &Nodes, number: u32) -> Vec<String> {
    match of_node(nodes, number) {
        None => Vec::new(),
        Some(list) => vec!["taskset".into(), "--cpu-list".into(), list],
    }
}

/// The cores dedicated to a node, as a list.
pub(super) fn of_node(nodes: &Nodes, number: u32) -> Option<String> {
    let cores = nodes.cores?;
    let first = usize::try_from(number)
        .unwrap_or(usize::MAX)
        .saturating_mul(cores);
    let own: Vec<usize> = allowed().into_iter().skip(first).take(cores).collect();
    Some(list(&own))
}

/// Confines this program to the cores that nodes leave, until dropped.
#[derive(Debug)]
pub(crate) struct Confined {
    /// The cores it ran on before, if it was moved.
    before: Option<Vec<usize>>,
}

impl Confined {
    /// Must be created after the nodes have started, so that they see all cores.
    ///
    /// # Errors
    /// The machine does not permit it.
    pub(crate) fn beside(nodes: &Nodes) -> io::Result<Self> {
        let Some(taken) = of_nodes(nodes) else {
            return Ok(Self { before: None });
        };
        let before = allowed();
        run_on(before.get(taken..).unwrap_or_default())?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(cores) = &self.before {
            // It ran there before.
            let _ = run_on(cores);
        }
    }
}

/// Moves all threads of this program to these cores.
fn run_on(cores: &[usize]) -> io::Result<()> {
    let own = std::process::id().to_string();
    let done = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", &list(cores), &own])
        .output()?;
    if done.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("taskset: {}", why.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_first_cores_and_leave_at_least_one() {
        assert_eq!(numbers("\t0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(numbers(""), [0; 0]);
        assert_eq!(list(&[0, 5]), "0,5");
        let nodes = |count, cores| Nodes {
            count,
            cores,
            ..Nodes::default()
        };
        let all = allowed();
        assert!(!all.is_empty());
        assert!(suffice(&nodes(9, None)));
        assert!(!suffice(&nodes(1, Some(all.len()))));
        let with_quota = |count, spare, quota| Nodes {
            count,
            spare,
            quota: Some(quota),
            ..Nodes::default()
        };
        let machine = f64::from(u32::try_from(all.len()).unwrap());
        assert!(suffice(&with_quota(1, 0, machine - OF_CLIENTS)));
        assert!(!suffice(&with_quota(1, 0, machine)));
        assert!(!suffice(&with_quota(1, 1, machine / 2.0)));
        let first = words(&nodes(1, Some(1)), 0);
        assert_eq!(first.last(), Some(&all[0].to_string()));
        assert_eq!(words(&nodes(1, None), 0), [""; 0]);
    }
}
