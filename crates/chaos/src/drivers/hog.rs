//! Programs that use CPU beside the nodes, and do nothing else.

use std::fs::File;
use std::io;
use std::process::Child;
use std::time::Duration;

use super::node::{HELD, begin, spawned};
use super::{Cluster, SharedGuard};
use crate::guard::{Process, Ticket, Undo};
use crate::program;

const SPIN: &str = "while :; do :; done";
/// Time limit for one to end.
const END: Duration = Duration::from_secs(10);

/// A running program.
#[derive(Debug)]
pub(super) struct Hog {
    child: Child,
    process: Process,
    ticket: Ticket,
}

impl Hog {
    fn start(guard: &SharedGuard) -> io::Result<Self> {
        let words = ["sh", "-c", HELD, "skep-chaos", "sh", "-c", SPIN].map(String::from);
        let nowhere = File::options().write(true).open("/dev/null")?;
        let mut child = spawned(words.iter(), nowhere)?;
        let process = Process::of(child.id()).ok_or(io::ErrorKind::NotFound)?;
        let ticket = guard.with(|guard| guard.push(Undo::Kill(process)))?;
        begin(&mut child)?;
        Ok(Self {
            child,
            process,
            ticket,
        })
    }

    fn end(mut self, guard: &SharedGuard) -> io::Result<()> {
        self.process.signal("KILL");
        if program::ended(&mut self.child, END)?.is_none() {
            return Err(io::Error::other("a program that uses CPU does not end"));
        }
        guard.with(|guard| guard.pop(self.ticket))
    }
}

impl Cluster {
    /// Lets this many programs each use as much of a core as they get, in place of those before. Returns how many there are.
    ///
    /// # Errors
    /// The cluster is a foreign one, or the programs cannot be started or ended.
    pub fn hog(&mut self, cores: u32) -> io::Result<String> {
        let guard = self.guard()?;
        let before = std::mem::take(&mut self.hogs);
        let all = before.len();
        let failed = before.into_iter().filter_map(|hog| hog.end(&guard).err());
        let failed: Vec<io::Error> = failed.collect();
        if let Some(why) = failed.first() {
            let count = failed.len();
            let text = format!("{count} of {all} programs before are not ended: {why}");
            return Err(io::Error::other(text));
        }
        for _ in 0..cores {
            self.hogs.push(Hog::start(&guard)?);
        }
        Ok(format!("{} running", self.hogs.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::guard::Guard;

    #[test]
    fn a_hog_runs_until_it_is_ended() {
        let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
        let hog = Hog::start(&guard).unwrap();
        let process = hog.process;
        let end = Instant::now() + Duration::from_secs(60);
        // It waits for no input any more.
        while process.state() != Some('R') {
            assert!(Instant::now() < end);
            std::thread::yield_now();
        }
        hog.end(&guard).unwrap();
        assert!(!process.is_alive());
    }
}
