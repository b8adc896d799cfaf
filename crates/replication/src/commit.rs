//! When followers hear what is committed.
//!
//! An entry tells on its way what was committed before it. While more are on their way, a message of its own for each commit would double
//! the messages, and their answers, and tell nobody anything that the next entry does not: only the last commit is told by itself.

use raft::StateRole;

use crate::group::Group;

impl Group {
    /// As leader: tells the others what is committed, if no entry will.
    pub(crate) fn tell_commit(&mut self) {
        let log = &self.raft.raft.raft_log;
        let committed = log.committed;
        let is_last = committed == log.last_index();
        if is_last && committed > self.told_commit && self.raft.raft.state == StateRole::Leader {
            self.told_commit = committed;
            self.raft.raft.bcast_append();
        }
    }
}
