//! CPU limits of nodes: a quota of CPU time, in a control group for the node alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SharedGuard;
use crate::guard::{Process, Undo};

const ROOT: &str = "/sys/fs/cgroup";

/// The period of a quota. With the usual 100 ms, a node with half a core would pause for 50 ms, and latencies would measure that.
const PERIOD_US: u32 = 10_000;

/// The control group of one process.
#[derive(Debug)]
pub(super) struct Quota {
    group: PathBuf,
    process: Process,
}

/// The directory below which groups are created, and whether it is of version 2.
fn hierarchy() -> (PathBuf, bool) {
    let root = Path::new(ROOT);
    let second = root.join("cgroup.controllers").exists();
    (
        if second {
            root.into()
        } else {
            root.join("cpu")
        },
        second,
    )
}

/// Whether nodes can be limited here; found by trying.
pub(super) fn is_permitted() -> bool {
    let group = hierarchy()
        .0
        .join(format!("skep-chaos-{}-try", std::process::id()));
    if fs::create_dir(&group).is_err() {
        return false;
    }
    let limited = limit(&group, 0.5);
    // The group is empty.
    let removed = fs::remove_dir(&group);
    limited.is_ok() && removed.is_ok()
}

fn limit(group: &Path, cores: f64) -> io::Result<()> {
    let quota = (f64::from(PERIOD_US) * cores).round();
    if hierarchy().1 {
        return fs::write(group.join("cpu.max"), format!("{quota} {PERIOD_US}"));
    }
    fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
    fs::write(group.join("cpu.cfs_quota_us"), quota.to_string())
}

impl Quota {
    /// Limits the process with all its threads to this many cores from now on.
    pub(super) fn set(
        before: Option<Quota>,
        process: Process,
        cores: f64,
        guard: &SharedGuard,
    ) -> io::Result<Quota> {
        let quota = match before {
            Some(quota) if quota.process == process => quota,
            _ => Quota::new(process, guard)?,
        };
        limit(&quota.group, cores)?;
        Ok(quota)
    }

    fn new(process: Process, guard: &SharedGuard) -> io::Result<Quota> {
        let group = hierarchy().0;
        let name = format!("skep-chaos-{}-{}", std::process::id(), process.pid);
        let group = group.join(name);
        guard.with(|guard| guard.push(Undo::Ungroup(group.clone())))?;
        fs::create_dir(&group)?;
        fs::write(group.join("cgroup.procs"), process.pid.to_string())?;
        Ok(Quota { group, process })
    }
}
