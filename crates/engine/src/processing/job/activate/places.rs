//! Where the polls of callers who may not take all jobs continue to look for some.
//!
//! A poll examines a limited number of jobs. If each poll began at the oldest one, a caller would never get a job that waits behind so many
//! of other processes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_identity::Directory;
use skep_protocol::{Key, TenantId};

/// Maximum number of remembered places.
const MAX_PLACES: usize = 1_000;

/// The waiting jobs that a caller polls.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct PolledJobs {
    /// The caller's name. A place is a hint: it does no harm that a user and a client of the same name share it.
    pub caller: Arc<str>,
    pub job_type: Arc<str>,
    pub tenant: TenantId,
}

/// The places where the next polls begin. They are not state: a new leader begins at the oldest jobs.
#[derive(Debug, Default)]
pub struct Places {
    /// Version of the directory. Another one may permit jobs that were passed over.
    version: u64,
    /// The last job that was examined.
    after: FxHashMap<PolledJobs, Key>,
}

impl Places {
    /// The job after which the next poll begins. `None`: at the oldest one.
    pub fn get(&mut self, directory: &Directory, of: &PolledJobs) -> Option<Key> {
        if self.version != directory.version() {
            self.version = directory.version();
            self.after.clear();
        }
        self.after.get(of).copied()
    }

    pub fn set(&mut self, of: PolledJobs, after: Option<Key>) {
        let Some(after) = after else {
            self.after.remove(&of);
            return;
        };
        if self.after.len() >= MAX_PLACES && !self.after.contains_key(&of) {
            self.after.clear();
        }
        self.after.insert(of, after);
    }
}

#[cfg(test)]
mod tests {
    use skep_identity::Directory;
    use skep_protocol::{Key, TenantId};

    use super::{MAX_PLACES, Places, PolledJobs};

    fn of(n: usize) -> PolledJobs {
        PolledJobs {
            caller: format!("caller-{n}").into(),
            job_type: "work".into(),
            tenant: TenantId::default(),
        }
    }

    #[test]
    fn a_limited_number_of_places_is_remembered() {
        let (mut places, directory) = (Places::default(), Directory::default());
        for n in 0..MAX_PLACES {
            places.set(of(n), Some(Key(n as i64)));
        }
        places.set(of(0), Some(Key(7)));
        assert_eq!(places.get(&directory, &of(0)), Some(Key(7)));
        assert_eq!(places.get(&directory, &of(1)), Some(Key(1)));
        places.set(of(1), None);
        assert_eq!(places.get(&directory, &of(1)), None);
        for n in MAX_PLACES..=MAX_PLACES + 1 {
            places.set(of(n), Some(Key(n as i64)));
        }
        assert_eq!(places.after.len(), 1);
    }
}
