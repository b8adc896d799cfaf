//! When the leader advertises its commit index.
//!
//! An entry tells on its way what was committed before it. While more are on their way, a message of its own for each commit would double
//! the messages, and their answers, and tell nobody anything that the next entry does not: only the last commit is told by itself.

use raft::StateRole;

use crate::group::Group;

impl Group {
    /// As leader: advertises the commit index, if no entry will carry it.
    pub(crate) fn advertise_commit(&mut self) {
        let log = &self.raft.raft.raft_log;
        let committed = log.committed;
        let is_last = committed == log.last_index();
        if is_last
            && committed > self.advertised_commit
            && self.raft.raft.state == StateRole::Leader
        {
            self.advertised_commit = committed;
            self.raft.raft.bcast_append();
        }
    }
}
