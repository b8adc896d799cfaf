//! When the leader advertises its commit index.
//!
//! Each entry also carries the commit index at the time when it is sent. While more entries are on their way, a separate
//! message for each commit would double the messages and their answers, and tell the followers nothing that the next entry
//! does not. So only the last commit is advertised by a message of its own.

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
