//! Ports of a pod on this machine, by `kubectl port-forward`. They stay the same when the pod is another one.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use super::Kubernetes;
use super::found::Found;
use crate::drivers::SharedGuard;
use crate::drivers::node::{HELD, begin, spawned};
use crate::guard::{Process, Ticket, Undo};
use crate::program;

/// Time limit for the ports to open, and for the program to end.
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// A running `kubectl port-forward`.
#[derive(Debug)]
pub(super) struct Forward {
    child: Child,
    process: Process,
    ticket: Ticket,
}

impl Forward {
    /// Forwards the ports of REST, gRPC and management to these local ones.
    pub(super) fn start(
        kubernetes: &Kubernetes,
        pod: &Found,
        local: [u16; 3],
        (log, guard): (&Path, &SharedGuard),
    ) -> io::Result<Self> {
        let [rest, grpc, _, management] = pod.ports;
        let remote = [rest, grpc, management];
        let pairs = local.iter().zip(remote);
        let pairs = pairs.map(|(local, remote)| format!("{local}:{remote}"));
        let words = ["sh", "-c", HELD, "skep-chaos", &kubernetes.kubectl];
        let words = words.iter().copied().chain(kubernetes.words());
        let forward = ["port-forward", "--address", "127.0.0.1"];
        let words = words.chain(forward).map(String::from);
        let words = words.chain([format!("pod/{}", pod.name)]).chain(pairs);
        let words: Vec<String> = words.collect();
        let log = File::options().create(true).append(true).open(log)?;
        let mut child = spawned(words.iter(), log)?;
        let process = Process::of(child.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(Undo::KillLast(process)))?;
        begin(&mut child)?;
        let mut forward = Self {
            child,
            process,
            ticket,
        };
        if let Err(why) = forward.opened(&pod.name, local) {
            // Another try needs the same ports.
            forward.end(guard)?;
            return Err(why);
        }
        Ok(forward)
    }

    /// Waits until the local ports take connections.
    fn opened(&mut self, pod: &str, local: [u16; 3]) -> io::Result<()> {
        let end = Instant::now() + LIMIT;
        let is_open = |port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        while !local.into_iter().all(is_open) {
            let why = match self.has_ended() {
                Some(status) => format!("kubectl ended with {status}, and kubectl.log says why"),
                None if Instant::now() >= end => format!("not within {} s", LIMIT.as_secs()),
                None => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            };
            return Err(io::Error::other(format!(
                "the ports of {pod} are not forwarded: {why}"
            )));
        }
        Ok(())
    }

    /// How it has ended by itself.
    pub(super) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it as if it had ended by itself.
    #[cfg(test)]
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it.
    pub(super) fn end(mut self, guard: &SharedGuard) -> io::Result<()> {
        self.process.signal("KILL");
        if program::ended(&mut self.child, LIMIT)?.is_none() {
            return Err(io::Error::other("kubectl port-forward does not end"));
        }
        guard.with(|guard| guard.pop(self.ticket))
    }
}
