//! Cores: where nodes have cores of their own, what else the run does is done on the others.

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

/// How many cores all nodes together have for themselves.
fn of_nodes(nodes: &Nodes) -> Option<usize> {
    let count = usize::try_from(nodes.count).unwrap_or(usize::MAX);
    Some(nodes.cores?.saturating_mul(count))
}

/// Whether at least one is left for the clients.
pub(super) fn suffice(nodes: &Nodes) -> bool {
    of_nodes(nodes).is_none_or(|needed| needed < allowed().len())
}

/// The words before a program that let a node run on its own cores only.
pub(super) fn words(nodes: &Nodes, number: u32) -> Vec<String> {
    let Some(cores) = nodes.cores else {
        return Vec::new();
    };
    let first = usize::try_from(number)
        .unwrap_or(usize::MAX)
        .saturating_mul(cores);
    let own: Vec<usize> = allowed().into_iter().skip(first).take(cores).collect();
    vec!["taskset".into(), "--cpu-list".into(), list(&own)]
}

/// This program runs on the cores that nodes leave, until it goes out of scope.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Where it ran before, if it is somewhere else now.
    before: Option<Vec<usize>>,
}

impl Confined {
    /// Nodes are started before, so that they know which cores there are.
    ///
    /// # Errors
    /// The machine does not let it.
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
            // It was there before.
            let _ = run_on(cores);
        }
    }
}

/// All threads of this program.
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
        let first = words(&nodes(1, Some(1)), 0);
        assert_eq!(first.last(), Some(&all[0].to_string()));
        assert_eq!(words(&nodes(1, None), 0), [""; 0]);
    }
}
