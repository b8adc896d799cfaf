//! A private disk of a node: a file system in memory, in a mount namespace of the node alone. It ends with the node.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Node, SharedGuard};
use crate::guard::Undo;

/// As in `HELD`, with a mount before the server starts.
const MOUNT: &str =
    r#"read -r _ && mount -t tmpfs -o "size=$1m" none "$2" && shift 2 && exec "$@" </dev/null"#;

/// The file that fills the disk.
const FILLER: &str = "filled-by-skep-chaos";

/// The flags of `unshare` with which this machine permits mounts; found by trying.
fn permitted() -> Option<Vec<&'static str>> {
    let as_root = vec!["--mount"];
    let as_user = vec!["--mount", "--user", "--map-root-user"];
    [as_root, as_user].into_iter().find(|flags| {
        let tried = Command::new("unshare")
            .args(flags)
            .args(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "/tmp"])
            .output();
        tried.is_ok_and(|output| output.status.success())
    })
}

/// Whether nodes can have disks of their own here.
pub fn mounts_are_permitted() -> bool {
    permitted().is_some()
}

/// The command prefix of a server with a private disk.
pub(super) fn shell(directory: &Path, mib: u64) -> io::Result<Vec<String>> {
    let flags = permitted().ok_or_else(|| {
        io::Error::other("this machine does not let a file system be mounted (`unshare --mount`)")
    })?;
    let mut words = vec!["unshare".to_string()];
    words.extend(flags.iter().map(ToString::to_string));
    words.extend(["sh", "-c", MOUNT, "skep-chaos", &mib.to_string()].map(ToString::to_string));
    words.push(directory.display().to_string());
    Ok(words)
}

/// The command prefix that delays each flush of a program. The process id stays the same.
pub(super) fn late(delay: Duration) -> Vec<String> {
    let inject = format!(
        "inject=fsync,fdatasync:delay_exit={}",
        delay.as_micros().max(1)
    );
    let words = "strace -D -f -qq --seccomp-bpf -o /dev/null -e trace=fsync,fdatasync -e";
    let words = words.split(' ').map(ToString::to_string);
    words.chain([inject]).collect()
}

/// Whether [`late`] works here; found by trying.
pub(super) fn flushes_can_be_late() -> bool {
    let words = late(Duration::from_millis(1));
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let tried = Command::new(program).args(arguments).arg("true").output();
    tried.is_ok_and(|output| output.status.success())
}

/// The node's directory, as seen in its own namespace.
fn seen(node: &Node) -> Option<PathBuf> {
    let process = node.process()?;
    let inner = node.data.strip_prefix("/").ok()?;
    Some(
        Path::new("/proc")
            .join(process.pid.to_string())
            .join("root")
            .join(inner),
    )
}

fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail * stat.f_frsize)
}

pub(super) fn fill(node: &Node, leave: u64, guard: &SharedGuard) -> io::Result<()> {
    let root = seen(node).ok_or_else(|| io::Error::other("the node is not up"))?;
    let path = root.join(FILLER);
    guard.with(|guard| guard.push(Undo::Remove(path.clone())))?;
    let mut file = File::create(&path)?;
    let block = vec![1; 1 << 20];
    while free_bytes(&root)? > leave {
        match file.write_all(&block) {
            Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
            written => written?,
        }
    }
    match free_bytes(&root)? {
        free if free <= leave => Ok(()),
        free => Err(io::Error::other(format!(
            "{} MiB are still free",
            free >> 20
        ))),
    }
}

pub(super) fn free(nodes: &[Node]) -> io::Result<usize> {
    let mut count = 0;
    for root in nodes.iter().filter_map(seen) {
        let path = root.join(FILLER);
        if path.exists() {
            std::fs::remove_file(path)?;
            count += 1;
        }
    }
    Ok(count)
}
