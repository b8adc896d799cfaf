//! The first partition as the keeper of browser sessions: a real engine, which several gateways can share, like nodes of a cluster.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use parking_lot::Mutex;
use skep_protocol::command::SessionCommand;
use skep_protocol::origin::Claims;
use skep_protocol::{Command, Failure, Response};
use skep_testkit::rig::Rig;

pub struct Keeper {
    rig: Mutex<Rig>,
    /// Milliseconds by which its clock is ahead.
    ahead: Mutex<i64>,
    /// Whether the partition has no leader.
    is_away: AtomicBool,
    /// Whether the partition loses its leader once it has carried out a command.
    is_moving: AtomicBool,
    /// Whether a node of the cluster has an earlier version.
    is_mixed: AtomicBool,
    asked: AtomicUsize,
}

impl Default for Keeper {
    fn default() -> Keeper {
        let mut rig = Rig::new();
        rig.claims = Claims::Internal;
        Keeper {
            rig: Mutex::new(rig),
            ahead: Mutex::default(),
            is_away: AtomicBool::default(),
            is_moving: AtomicBool::default(),
            is_mixed: AtomicBool::default(),
            asked: AtomicUsize::default(),
        }
    }
}

impl Keeper {
    pub fn ask(&self, command: &SessionCommand) -> Result<Response, Failure> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) {
            let text = "Partition 1 has no leader.";
            return Err(Failure::Unavailable(text.to_string()));
        }
        let mut rig = self.rig.lock();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap().as_millis()).unwrap();
        rig.now = now + *self.ahead.lock();
        let answer = rig.send(Command::Session(command.clone()));
        if self.is_moving.load(Ordering::Relaxed) {
            let text =
                "Partition 1 did not answer. The command may or may not have been carried out.";
            return Err(Failure::Aborted(text.to_string()));
        }
        Ok(answer?)
    }

    /// Number of commands received.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn advance(&self, seconds: i64) {
        *self.ahead.lock() += seconds * 1000;
    }

    pub fn is_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }

    pub fn is_moving(&self, is_moving: bool) {
        self.is_moving.store(is_moving, Ordering::Relaxed);
    }

    pub fn is_mixed(&self, is_mixed: bool) {
        self.is_mixed.store(is_mixed, Ordering::Relaxed);
    }

    pub fn knows(&self) -> bool {
        !self.is_mixed.load(Ordering::Relaxed)
    }

    /// Number of sessions.
    pub fn count(&self) -> usize {
        self.rig.lock().engine(1).state.sessions.all().len()
    }

    /// Everything that would be on disk.
    pub fn disk(&self) -> Vec<u8> {
        let dump = self.rig.lock().engine(1).state.dump();
        dump.into_values().flatten().collect()
    }
}
