//! The memory that the kernel lets this process use (limits of control groups, as of a container), and whether the settings fit into it.

use std::fs;

use crate::control_group::{self, Groups};

const MIB: u64 = 1 << 20;
/// What a busy node needs besides its state; see docs/how-to/containers.md.
const REST: u64 = 256 * MIB;
/// Control groups of version 1 without a limit show a number above this.
const UNLIMITED: u64 = 1 << 60;

/// The warning for the start, if a node with this much memory for its state may be killed for using too much.
pub fn warning(state: u64) -> Option<String> {
    let groups = control_group::of_this_process("memory")?;
    warning_of(limit(&groups)?, state)
}

fn warning_of(limit: u64, state: u64) -> Option<String> {
    let needed = state.saturating_add(REST);
    if limit >= needed {
        return None;
    }
    let fitting = limit.saturating_sub(REST).max(limit / 8).max(MIB);
    Some(format!(
        "this process may use {} MiB of memory, but its state alone {} MiB (camunda.data.primary-storage.rocks-db.memory-limit) and \
         everything else about {} MiB: with many live instances the kernel would kill it. Set memory-limit to {}MB, or give the process \
         {} MiB",
        limit / MIB,
        state / MIB,
        REST / MIB,
        fitting / MIB,
        needed / MIB
    ))
}

/// The least limit of the groups of a process.
fn limit(groups: &Groups) -> Option<u64> {
    let file = if groups.unified {
        "memory.max"
    } else {
        "memory.limit_in_bytes"
    };
    let directories = groups.directories.iter();
    let texts = directories.filter_map(|group| fs::read_to_string(group.join(file)).ok());
    let limits = texts.filter_map(|text| text.trim().parse::<u64>().ok());
    limits.filter(|bytes| *bytes < UNLIMITED).min()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::control_group::{groups, tests::written};

    fn limit_in(text: &str, root: &Path) -> Option<u64> {
        limit(&groups(text, root, "memory")?)
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_above_counts() {
        let second = written(&[
            ("a/memory.max", "1073741824\n"),
            ("a/b/memory.max", "max\n"),
        ]);
        assert_eq!(limit_in("0::/a/b\n", second.path()), Some(1 << 30));
        assert_eq!(limit_in("0::/\n", second.path()), None);
        let first = written(&[
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/pod/memory.limit_in_bytes", "268435456\n"),
            ("cpu/pod/cpu.shares", "2\n"),
        ]);
        let groups = "4:cpu,cpuacct:/pod\n3:memory:/pod\n0::/\n";
        assert_eq!(limit_in(groups, first.path()), Some(256 << 20));
        assert_eq!(limit_in("3:memory:/\n", first.path()), None);
        assert_eq!(limit_in("nonsense", first.path()), None);
    }

    #[test]
    fn a_node_that_may_need_more_than_there_is_says_what_to_set() {
        assert_eq!(warning_of(768 << 20, 512 << 20), None);
        let warning = warning_of(512 << 20, 512 << 20).unwrap();
        assert!(
            warning.contains("may use 512 MiB")
                && warning.contains("Set memory-limit to 256MB, or give the process 768 MiB"),
            "{warning}"
        );
        let warning = warning_of(256 << 20, 512 << 20).unwrap();
        assert!(warning.contains("Set memory-limit to 32MB"), "{warning}");
    }
}
