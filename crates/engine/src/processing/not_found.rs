//! What a command is answered whose key names nothing. The router asks here as well: a key whose partition does not exist is
//! a key that was not found, and clients shall read the same text whoever found it out.

use skep_protocol::Rejection;
use skep_protocol::command::Command;

use super::{
    ad_hoc, banning, batch_operation, incident_commands, job, process_instance, user_task, variable,
};

/// The refusal of a command by key; `None` for commands that are not bound to a partition by a key.
pub fn key_not_found(command: &Command) -> Option<Rejection> {
    Some(match command {
        Command::CancelProcessInstance {
            process_instance_key,
        } => process_instance::cancel::not_found(*process_instance_key),
        Command::MigrateProcessInstance(migrate) => {
            process_instance::migration::not_found(migrate.process_instance_key)
        }
        Command::ModifyProcessInstance(modify) => {
            process_instance::modify::not_found(modify.process_instance_key)
        }
        Command::CompleteJob { job_key, .. } => job::not_found("COMPLETE", "complete", *job_key),
        Command::FailJob(fail) => job::not_found("FAIL", "fail", fail.job_key),
        Command::ThrowError(error) => {
            job::not_found("THROW_ERROR", "throw an error for", error.job_key)
        }
        Command::UpdateJob { job_key, kind, .. } => {
            let (intent, verb) = job::update::words_of(*kind);
            job::not_found(intent, verb, *job_key)
        }
        Command::BanInstance {
            process_instance_key,
        } => banning::not_found(*process_instance_key),
        Command::ResolveIncident { incident_key } => incident_commands::not_found(*incident_key),
        Command::SetVariables {
            element_instance_key,
            ..
        } => variable::not_found(*element_instance_key),
        Command::ActivateAdHoc(command) => {
            ad_hoc::not_found(command.ad_hoc_sub_process_instance_key)
        }
        Command::AssignUserTask(assign) => {
            let (intent, verb) = user_task::assign::words_of(assign);
            user_task::not_found(intent, verb, assign.user_task_key)
        }
        Command::UpdateUserTask(update) => {
            user_task::not_found("UPDATE", "update", update.user_task_key)
        }
        Command::CompleteUserTask(complete) => {
            user_task::not_found("COMPLETE", "complete", complete.user_task_key)
        }
        Command::Batch(command) => return batch_operation::key_not_found(command),
        Command::CreateGlobalListener(_)
        | Command::UpdateGlobalListener(_)
        | Command::DeleteGlobalListener { .. }
        | Command::Deploy(_)
        | Command::DeleteResource { .. }
        | Command::CreateProcessInstance(_)
        | Command::ActivateJobs(_)
        | Command::PublishMessage(_)
        | Command::CorrelateMessage(_)
        | Command::BroadcastSignal(_)
        | Command::EvaluateConditionals(_)
        | Command::CreateClusterVariable(_)
        | Command::UpdateClusterVariable(_)
        | Command::DeleteClusterVariable { .. }
        | Command::PinClock { .. }
        | Command::ResetClock
        | Command::ChangeExporting { .. }
        | Command::EvaluateExpression { .. }
        | Command::EvaluateDecision(_)
        | Command::ListIncidents { .. } => return None,
    })
}
