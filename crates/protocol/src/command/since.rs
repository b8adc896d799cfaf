//! The version of the protocol between nodes that a command's records require.
//!
//! A record that an older node does not know stops its replicas, because it reads what the leader has written. So a command
//! that leads to such records waits until every node has the version, and is refused meanwhile.

use super::{Command, Request};
use crate::origin::Claims;

/// Users and their permissions, signals of tenants and of callers whose permissions are checked, more and fewer partitions,
/// checks of deployments.
const SECOND: u32 = 2;
/// Sessions of browsers that the cluster keeps.
const THIRD: u32 = 3;
/// What users of the web interface keep.
const FOURTH: u32 = 4;

impl Request {
    /// Nodes of an earlier version do not know the command, or its records. A new command is of the newest version.
    pub fn since(&self) -> u32 {
        let is_checked = || !matches!(self.claims, Claims::Anonymous | Claims::Internal);
        match &self.command {
            Command::Identity(_) | Command::ScaleUp { .. } | Command::CheckDeployment(_) => SECOND,
            Command::Session(_) => THIRD,
            Command::Kept(_) => FOURTH,
            // It may have events that wait for signals.
            Command::Deploy(_) if !self.tenant.is_default() => SECOND,
            Command::BroadcastSignal(_) if is_checked() || !self.tenant.is_default() => SECOND,
            Command::Deploy(_)
            | Command::DeleteResource { .. }
            | Command::CreateProcessInstance(_)
            | Command::CancelProcessInstance { .. }
            | Command::MigrateProcessInstance(_)
            | Command::ModifyProcessInstance(_)
            | Command::BanInstance { .. }
            | Command::ActivateJobs(_)
            | Command::CompleteJob { .. }
            | Command::FailJob(_)
            | Command::ThrowError(_)
            | Command::UpdateJob { .. }
            | Command::PublishMessage(_)
            | Command::CorrelateMessage(_)
            | Command::BroadcastSignal(_)
            | Command::EvaluateConditionals(_)
            | Command::CreateClusterVariable(_)
            | Command::UpdateClusterVariable(_)
            | Command::DeleteClusterVariable { .. }
            | Command::ResolveIncident { .. }
            | Command::SetVariables { .. }
            | Command::ActivateAdHoc(_)
            | Command::AssignUserTask(_)
            | Command::UpdateUserTask(_)
            | Command::CompleteUserTask(_)
            | Command::CreateGlobalListener(_)
            | Command::UpdateGlobalListener(_)
            | Command::DeleteGlobalListener { .. }
            | Command::Batch(_)
            | Command::PinClock { .. }
            | Command::ResetClock
            | Command::ChangeExporting { .. }
            | Command::EvaluateExpression { .. }
            | Command::EvaluateDecision(_)
            | Command::ListIncidents { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{BroadcastSignal, Deploy, Draft, KeptCommand, SessionCommand};
    use crate::document::Document;
    use crate::tenant::TenantId;

    #[test]
    fn a_command_names_the_version_that_introduced_it() {
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
        let check = Command::CheckDeployment(Deploy {
            resources: Vec::new(),
        });
        assert_eq!(Request::internal(check).since(), 2);
        let session = Command::Session(SessionCommand::UseSession { id: [0; 32] });
        assert_eq!(Request::internal(session).since(), 3);
        let list = KeptCommand::ListKept {
            kind: Default::default(),
        };
        assert_eq!(Request::internal(Command::Kept(list)).since(), 4);
        assert_eq!(Request::internal(Command::ResetClock).since(), 1);
    }
}
