//! The version of the protocol between nodes that a command's records require.
//!
//! A record that an older node does not know stops its replicas, because it reads what the leader has written. So a command
//! that leads to such records waits until every node has the version, and is refused meanwhile.

use super::{BatchCommand, Command, Request};
use crate::origin::Claims;
use crate::value::BatchOperationType;

/// Users and their permissions, signals of tenants and of callers whose permissions are checked, more and fewer partitions,
/// checks of deployments.
const SECOND: u32 = 2;
/// Sessions of browsers that the cluster keeps.
const THIRD: u32 = 3;
/// What users of the web interface keep, and migrations, which may move the correlation key of the message that has started an instance.
const FOURTH: u32 = 4;

impl Request {
    /// Nodes of an earlier version do not know the command, or its records. A new command is of the newest version.
    pub fn since(&self) -> u32 {
        let is_checked = || !matches!(self.claims, Claims::Anonymous | Claims::Internal);
        match &self.command {
            Command::Identity(_) | Command::ScaleUp { .. } | Command::CheckDeployment(_) => SECOND,
            Command::Session(_) => THIRD,
            Command::Kept(_) | Command::MigrateProcessInstance(_) => FOURTH,
            Command::Batch(BatchCommand::Create(create))
                if create.kind == BatchOperationType::MigrateProcessInstance =>
            {
                FOURTH
            }
            // It may have events that wait for signals.
            Command::Deploy(_) if !self.tenant.is_default() => SECOND,
            Command::BroadcastSignal(_) if is_checked() || !self.tenant.is_default() => SECOND,
            Command::Deploy(_)
            | Command::DeleteResource { .. }
            | Command::CreateProcessInstance(_)
            | Command::CancelProcessInstance { .. }
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

impl Request {
    /// What nodes of version 7 of the protocol get instead; `None`: the request as it is. They check what it deletes at the gateway only.
    pub fn before_version_8(&self) -> Option<Request> {
        let Command::Batch(BatchCommand::DeleteHistoryOf(of)) = &self.command else {
            return None;
        };
        let mut earlier = self.clone();
        earlier.command = Command::Batch(BatchCommand::DeleteHistory(of.deletion.clone()));
        Some(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{
        BroadcastSignal, CreateBatchOperation, Deploy, Draft, KeptCommand, MigrateProcessInstance,
        SessionCommand,
    };
    use crate::document::Document;
    use crate::key::Key;
    use crate::tenant::TenantId;
    use crate::value::BatchPlan;

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

    #[test]
    fn a_migration_waits_for_nodes_that_know_moved_correlation_keys() {
        let one = Command::MigrateProcessInstance(MigrateProcessInstance {
            process_instance_key: Key(1),
            target_process_definition_key: Key(2),
            mapping_instructions: Vec::new(),
        });
        assert_eq!(Request::internal(one).since(), 4);
        let batch = |kind| {
            let create = CreateBatchOperation {
                kind,
                filter: "{}".into(),
                plan: BatchPlan::None,
                follow_up: None,
            };
            Request::internal(Command::Batch(BatchCommand::Create(Box::new(create))))
        };
        let migrate = BatchOperationType::MigrateProcessInstance;
        for kind in BatchOperationType::ALL {
            let expected = if kind == migrate { 4 } else { 1 };
            assert_eq!(batch(kind).since(), expected, "{kind:?}");
        }
    }
}
