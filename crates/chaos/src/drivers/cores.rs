//! Cores: where nodes have cores of their own, what else the run does is done on the others.

use std::io;
use std::process::Command;

use crate::plan::Nodes;

/// How many cores all nodes together have for themselves.
fn of_nodes(nodes: &Nodes) -> Option<usize> {
    let count = usize::try_from(nodes.count).unwrap_or(usize::MAX);
    Some(nodes.cores?.saturating_mul(count))
}

fn of_machine() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether at least one is left for the clients.
pub(super) fn suffice(nodes: &Nodes) -> bool {
    of_nodes(nodes).is_none_or(|needed| needed < of_machine())
}

/// This program runs on the cores that nodes leave, until it goes out of scope.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Where it ran before.
    before: Option<String>,
}

impl Confined {
    /// # Errors
    /// The machine does not let it.
    pub(crate) fn beside(nodes: &Nodes) -> io::Result<Self> {
        let Some(taken) = of_nodes(nodes) else {
            return Ok(Self { before: None });
        };
        let status = std::fs::read_to_string("/proc/self/status")?;
        let mut lines = status.lines();
        let before = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let before = before.map(|list| list.trim().to_string());
        run_on(&format!("{taken}-{}", of_machine() - 1))?;
        Ok(Self { before })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(list) = &self.before {
            // It was there before.
            let _ = run_on(list);
        }
    }
}

/// All threads of this program.
fn run_on(list: &str) -> io::Result<()> {
    let own = std::process::id().to_string();
    let done = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", list, &own])
        .output()?;
    if done.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("taskset: {}", why.trim())))
}
