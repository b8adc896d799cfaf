//! Memory limits of nodes: a control group for the node alone, without swap. The kernel counts the files that it caches for the node, and
//! drops them first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SharedGuard;
use crate::guard::{Process, Undo};

const ROOT: &str = "/sys/fs/cgroup";

/// The directory below which groups are created, and whether it is of version 2.
fn hierarchy() -> (PathBuf, bool) {
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").exists() {
        (root.into(), true)
    } else {
        (root.join("memory"), false)
    }
}

/// Whether nodes can be limited here; found by trying.
pub(super) fn is_permitted() -> bool {
    let group = hierarchy()
        .0
        .join(format!("skep-chaos-{}-memory", std::process::id()));
    if fs::create_dir(&group).is_err() {
        return false;
    }
    let limited = limit(&group, 64);
    // The group is empty.
    let removed = fs::remove_dir(&group);
    limited.is_ok() && removed.is_ok()
}

fn limit(group: &Path, mib: u64) -> io::Result<()> {
    let bytes = (mib << 20).to_string();
    if hierarchy().1 {
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

/// Limits the process, which has not begun its work, to this much memory.
pub(super) fn confine(process: Process, mib: u64, guard: &SharedGuard) -> io::Result<()> {
    let name = format!("skep-chaos-{}-{}-memory", std::process::id(), process.pid);
    let group = hierarchy().0.join(name);
    guard.with(|guard| guard.push(Undo::Ungroup(group.clone())))?;
    fs::create_dir(&group)?;
    limit(&group, mib)?;
    fs::write(group.join("cgroup.procs"), process.pid.to_string())
}
