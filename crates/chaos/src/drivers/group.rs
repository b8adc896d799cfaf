//! Control groups: each node with a limit of CPU time or memory has a group for itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SharedGuard;
use crate::guard::{Process, Undo};

const ROOT: &str = "/sys/fs/cgroup";

/// The period of a quota. With the usual 100 ms, a node with half a core would pause for 50 ms, and latencies would measure that.
const PERIOD_US: u32 = 10_000;

/// A limit of a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// This many cores, possibly a fraction: a quota of CPU time.
    Cores(f64),
    /// This much memory, without swap. The kernel counts the files that it caches for the node, and drops them first.
    Memory { mib: u64 },
}

/// Whether control groups are of version 2, where one group has all kinds of limits.
fn are_unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

impl Limit {
    /// The directory below which groups with this kind of limit are created.
    fn root(self) -> PathBuf {
        let root = Path::new(ROOT);
        match self {
            _ if are_unified() => root.into(),
            Self::Cores(_) => root.join("cpu"),
            Self::Memory { .. } => root.join("memory"),
        }
    }

    /// Whether nodes can be limited like this here; found by trying.
    pub(super) fn is_permitted(self) -> bool {
        let group = self
            .root()
            .join(format!("skep-chaos-{}-try", std::process::id()));
        if fs::create_dir(&group).is_err() {
            return false;
        }
        let limited = self.write(&group);
        // The group is empty.
        let removed = fs::remove_dir(&group);
        limited.is_ok() && removed.is_ok()
    }

    fn write(self, group: &Path) -> io::Result<()> {
        match self {
            Self::Cores(cores) => write_quota(group, cores),
            Self::Memory { mib } => write_memory(group, mib << 20),
        }
    }
}

fn write_quota(group: &Path, cores: f64) -> io::Result<()> {
    let quota = (f64::from(PERIOD_US) * cores).round();
    if are_unified() {
        return fs::write(group.join("cpu.max"), format!("{quota} {PERIOD_US}"));
    }
    fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
    fs::write(group.join("cpu.cfs_quota_us"), quota.to_string())
}

fn write_memory(group: &Path, bytes: u64) -> io::Result<()> {
    let bytes = bytes.to_string();
    if are_unified() {
        fs::write(group.join("memory.max"), bytes)?;
        return fs::write(group.join("memory.swap.max"), "0");
    }
    fs::write(group.join("memory.limit_in_bytes"), &bytes)?;
    // Exists only where the kernel counts swap.
    let with_swap = group.join("memory.memsw.limit_in_bytes");
    if with_swap.exists() {
        fs::write(with_swap, bytes)?;
    }
    Ok(())
}

/// The control groups of one process: one, or, with version 1, one for each kind of limit.
#[derive(Debug)]
pub(super) struct Group {
    process: Process,
    created: Vec<PathBuf>,
}

impl Group {
    pub(super) fn of(process: Process) -> Self {
        Self {
            process,
            created: Vec::new(),
        }
    }

    /// Whether it is a group of this process.
    pub(super) fn is_of(&self, process: Process) -> bool {
        self.process == process
    }

    /// Limits the process with all its threads from now on.
    pub(super) fn set(&mut self, limit: Limit, guard: &SharedGuard) -> io::Result<()> {
        let pid = self.process.pid;
        let name = format!(
            "skep-chaos-{}-{}",
            std::process::id(),
            self.process.unique()
        );
        let group = limit.root().join(name);
        if self.created.contains(&group) {
            return limit.write(&group);
        }
        guard.with(|guard| guard.push(Undo::Ungroup(group.clone())))?;
        fs::create_dir(&group)?;
        limit.write(&group)?;
        fs::write(group.join("cgroup.procs"), pid.to_string())?;
        self.created.push(group);
        Ok(())
    }
}
