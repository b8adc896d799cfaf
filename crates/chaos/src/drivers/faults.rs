//! Faults of the disk of a running node: `strace` attaches to the node and injects them into its system calls. They end with `strace`.

use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::node::{HELD, begin, spawned};
use super::{Node, SharedGuard};
use crate::guard::{Process, Ticket, Undo};
use crate::plan::DiskFault;

/// Time limit for `strace` to attach to all threads, and to let go of them.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);
/// Calls that write to the log or flush it. `write` is not among them: it also wakes threads.
const WRITES: &str = "pwrite64,fdatasync,fsync";
/// Calls that ask for the free space.
const SPACE: &str = "statfs,fstatfs";
/// Longer than any experiment.
const FOR_EVER_US: u64 = 3_600_000_000;

/// A node whose disk fails.
#[derive(Debug)]
pub(super) struct Faulty {
    pub(super) node: u32,
    tracer: Child,
    process: Process,
    ticket: Ticket,
}

/// The arguments of `strace` for this fault of a process.
fn arguments(pid: i32, fault: DiskFault) -> Vec<String> {
    let (calls, injected) = match fault {
        DiskFault::Errors => (WRITES, "error=EIO".to_string()),
        DiskFault::Hangs => (WRITES, format!("delay_enter={FOR_EVER_US}")),
        // What a client of NFS reports when the server no longer knows the directory.
        DiskFault::SpaceUnknown => (SPACE, "error=ESTALE".to_string()),
    };
    let traced = format!("trace={calls}");
    let injection = format!("inject={calls}:{injected}");
    let words = ["-f", "-qq", "-o", "/dev/null", "-p"].map(String::from);
    let more = [pid.to_string(), "-e".into(), traced, "-e".into(), injection];
    words.into_iter().chain(more).collect()
}

/// Whether all threads of a process are traced by this one.
fn is_traced(pid: i32, tracer: u32) -> io::Result<bool> {
    let wanted = tracer.to_string();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let Ok(status) = std::fs::read_to_string(thread?.path().join("status")) else {
            continue;
        };
        let mut lines = status.lines();
        let by = lines.find_map(|line| line.strip_prefix("TracerPid:"));
        if by.map(str::trim) != Some(&*wanted) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Waits until the tracer has attached.
fn attached(pid: i32, tracer: &mut Child) -> io::Result<()> {
    let end = Instant::now() + LIMIT;
    while !is_traced(pid, tracer.id())? {
        if let Some(status) = tracer.try_wait()? {
            return Err(io::Error::other(format!(
                "strace ended with {status} and did not attach"
            )));
        }
        if Instant::now() >= end {
            return Err(io::Error::other("strace does not attach"));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

impl Faulty {
    /// Makes the disk of a node fail. Once this returns, all its threads are affected.
    ///
    /// # Errors
    /// The node is down, or `strace` cannot attach to it; the guard then ends it with the run.
    pub(super) fn begin(node: &Node, fault: DiskFault, guard: &SharedGuard) -> io::Result<Self> {
        let down = || io::Error::other(format!("node {} is not up", node.number));
        let pid = node.process().ok_or_else(down)?.pid;
        let held = ["sh", "-c", HELD, "skep-chaos", "strace"].map(String::from);
        let arguments = arguments(pid, fault);
        let nowhere = File::options().write(true).open("/dev/null")?;
        let mut tracer = spawned(held.iter().chain(&arguments), nowhere)?;
        let process = Process::of(tracer.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(Undo::Kill(process)))?;
        begin(&mut tracer)?;
        attached(pid, &mut tracer)?;
        Ok(Self {
            node: node.number,
            tracer,
            process,
            ticket,
        })
    }

    /// Makes the disk work again.
    ///
    /// # Errors
    /// `strace` does not end, or the guard is gone.
    pub(super) fn end(mut self, guard: &SharedGuard) -> io::Result<()> {
        // It lets go of the node first. If the node has ended, it has ended too.
        self.process.signal("TERM");
        let end = Instant::now() + LIMIT;
        while self.tracer.try_wait()?.is_none() {
            if Instant::now() >= end {
                return Err(io::Error::other(format!(
                    "strace does not let go of node {}",
                    self.node
                )));
            }
            std::thread::sleep(PAUSE);
        }
        guard.with(|guard| guard.pop(self.ticket))
    }
}

/// Whether `strace` may attach to a running program here; found by trying.
pub(super) fn can_be_injected() -> bool {
    let Ok(mut program) = quiet("sleep", &["60".into()]) else {
        return false;
    };
    let pid = i32::try_from(program.id()).unwrap_or(0);
    let tracer = quiet("strace", &arguments(pid, DiskFault::SpaceUnknown));
    let can = tracer.is_ok_and(|mut tracer| {
        let can = attached(pid, &mut tracer).is_ok();
        ended(&mut tracer);
        can
    });
    ended(&mut program);
    can
}

fn quiet(program: &str, arguments: &[String]) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Ends a program that nothing depends on.
fn ended(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_injected_into_calls_on_disks_alone() {
        let of = |fault| arguments(7, fault).join(" ");
        assert_eq!(
            of(DiskFault::Errors),
            "-f -qq -o /dev/null -p 7 -e trace=pwrite64,fdatasync,fsync -e inject=pwrite64,fdatasync,fsync:error=EIO"
        );
        assert!(of(DiskFault::Hangs).ends_with(":delay_enter=3600000000"));
        assert!(of(DiskFault::SpaceUnknown).ends_with("inject=statfs,fstatfs:error=ESTALE"));
    }

    #[test]
    fn a_program_that_nobody_traces_is_not_taken_for_a_traced_one() {
        let mut program = quiet("sleep", &["60".into()]).unwrap();
        let pid = i32::try_from(program.id()).unwrap();
        assert!(!is_traced(pid, std::process::id()).unwrap());
        // A tracer that ends without having attached is an error.
        let mut tracer = quiet("true", &[]).unwrap();
        let why = attached(pid, &mut tracer).unwrap_err().to_string();
        assert!(why.contains("did not attach"), "{why}");
        ended(&mut program);
        assert!(is_traced(pid, 1).is_err(), "it is gone");
    }
}
