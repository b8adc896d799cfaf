//! The version of the protocol between nodes that came with what a command leads to.
//!
//! A record that an older node does not know stops its replicas, because it reads what the leader has written. So a command that leads to such
//! records waits until every node has the version, and is refused meanwhile.

use super::{Command, Request};
use crate::origin::Claims;

/// Users and what they may do, signals of tenants and of callers whose permissions are checked, more and fewer partitions.
const SECOND: u32 = 2;

impl Request {
    /// Nodes of an earlier version do not know the records to which it leads.
    pub fn since(&self) -> u32 {
        let is_checked = || !matches!(self.claims, Claims::Anonymous | Claims::Internal);
        match &self.command {
            Command::Identity(_) | Command::ScaleUp { .. } => SECOND,
            // It may have events that wait for signals.
            Command::Deploy(_) if !self.tenant.is_default() => SECOND,
            Command::BroadcastSignal(_) if is_checked() || !self.tenant.is_default() => SECOND,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{BroadcastSignal, Draft};
    use crate::document::Document;
    use crate::tenant::TenantId;

    #[test]
    fn what_came_later_is_known_by_its_version() {
        let signal = |claims| {
            let signal = Command::BroadcastSignal(BroadcastSignal {
                signal_name: "go".into(),
                variables: Document::default(),
            });
            Draft::from(signal).by(claims)
        };
        assert_eq!(signal(Claims::Anonymous).since(), 1);
        assert_eq!(signal(Claims::User(Default::default())).since(), 2);
        let of_tenant = Request {
            tenant: TenantId::new("t"),
            ..signal(Claims::Anonymous)
        };
        assert_eq!(of_tenant.since(), 2);
        let scaling = Command::ScaleUp { partitions: 2 };
        assert_eq!(Request::internal(scaling).since(), 2);
        assert_eq!(Request::internal(Command::ResetClock).since(), 1);
    }
}
