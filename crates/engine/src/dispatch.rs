//! The processor of each command, one line each.

use skep_protocol::RejectionType;
use skep_protocol::command::{Command, Head};

use crate::processing::deployment::{create as deploy, delete_resource, distribution};
use crate::processing::message::{correlate, message_side, process_side, publish};
use crate::processing::process_instance::migration;
use crate::processing::{
    Context, Outcome, ad_hoc, authorization, banning, batch_operation, clock, cluster_variable,
    conditional_evaluation, decision, exporting, expression, global_listener, identity,
    incident_commands, job, kept, process_instance, scaling, session, signal, slots, user_task,
    variable,
};
use crate::remote::RemoteCommand;

/// Writes the header of a command, carries it out, and writes the rejection if it is refused.
pub(crate) fn carry_out(cx: &mut Context<'_>, command: &Command) -> Outcome {
    let Head {
        key,
        value_type,
        intent,
    } = command.record();
    cx.out.command(key, value_type, intent, &cx.origin);
    let written = cx.out.len();
    let intent_name = value_type.intent_name(intent);
    let outcome = authorization::check(cx, command, intent_name)
        .and_then(|()| cx.begin_command(command, intent_name))
        .and_then(|()| dispatch(cx, command));
    if let Err(rejection) = &outcome {
        let kind = rejection.kind;
        debug_assert!(
            cx.out.len() == written
                || !matches!(kind, RejectionType::Forbidden | RejectionType::Unauthorized),
            "a command without permission leaves only its rejection: {intent_name}"
        );
        let tenant = authorization::owner(cx, command);
        let of = (value_type, intent);
        cx.out.rejection_for(&tenant, key, of, rejection);
    }
    outcome
}

/// Carries out a command whose header has been written.
pub(crate) fn dispatch(cx: &mut Context<'_>, command: &Command) -> Outcome {
    match command {
        Command::Deploy(command) => deploy::process(cx, command),
        Command::CheckDeployment(command) => deploy::check(cx, command),
        Command::DeleteResource {
            resource_key,
            delete_history,
        } => delete_resource::process(cx, *resource_key, *delete_history),
        Command::CreateProcessInstance(command) => process_instance::create::process(cx, command),
        Command::CancelProcessInstance {
            process_instance_key,
        } => process_instance::cancel::process(cx, *process_instance_key),
        Command::MigrateProcessInstance(command) => migration::process(cx, command),
        Command::ModifyProcessInstance(command) => process_instance::modify::process(cx, command),
        Command::BanInstance {
            process_instance_key,
        } => banning::by_operator(cx, *process_instance_key),
        Command::ActivateJobs(command) => job::activate::process(cx, command),
        Command::CompleteJob {
            job_key,
            variables,
            result,
        } => job::complete::process(cx, *job_key, variables, result.as_deref()),
        Command::FailJob(command) => job::fail::process(cx, command),
        Command::ThrowError(command) => job::throw_error::process(cx, command),
        Command::UpdateJob {
            job_key,
            retries,
            timeout,
            kind,
        } => job::update::process(cx, *job_key, *retries, *timeout, *kind),
        Command::PublishMessage(command) => publish::process(cx, command),
        Command::CorrelateMessage(command) => correlate::process(cx, command),
        Command::BroadcastSignal(command) => signal::process(cx, command),
        Command::EvaluateConditionals(command) => conditional_evaluation::process(cx, command),
        Command::CreateClusterVariable(value) => cluster_variable::create(cx, value),
        Command::UpdateClusterVariable(value) => cluster_variable::update(cx, value),
        Command::DeleteClusterVariable { name, tenant } => {
            cluster_variable::delete(cx, name, tenant.as_ref())
        }
        Command::ResolveIncident { incident_key } => incident_commands::resolve(cx, *incident_key),
        Command::SetVariables {
            element_instance_key,
            variables,
            local,
        } => variable::update(cx, *element_instance_key, variables, *local),
        Command::ActivateAdHoc(command) => ad_hoc::activate(cx, command),
        Command::AssignUserTask(command) => user_task::assign::process(cx, command),
        Command::UpdateUserTask(command) => user_task::update::process(cx, command),
        Command::CompleteUserTask(command) => user_task::complete::process(cx, command),
        Command::CreateGlobalListener(listener) => global_listener::create(cx, listener),
        Command::UpdateGlobalListener(listener) => global_listener::update(cx, listener),
        Command::DeleteGlobalListener { id } => global_listener::delete(cx, id),
        Command::Identity(command) => identity::process(cx, command),
        Command::Session(command) => session::process(cx, command),
        Command::Kept(command) => kept::process(cx, command),
        Command::Batch(command) => batch_operation::process(cx, command),
        Command::PinClock { timestamp } => clock::pin(cx, *timestamp),
        Command::ResetClock => clock::reset(cx),
        Command::ChangeExporting { change, .. } => exporting::change(cx, change),
        Command::ScaleUp { partitions } => scaling::scale_up(cx, *partitions),
        Command::EvaluateDecision(command) => decision::process(cx, command),
        Command::ListIncidents { after, limit, .. } => incident_commands::list(cx, *after, *limit),
        Command::EvaluateExpression {
            expression,
            variables,
        } => expression::evaluate_for_client(cx, expression, variables),
    }
}

/// Like [`carry_out`], for a command of another partition, which cannot be refused.
pub(crate) fn dispatch_remote(cx: &mut Context<'_>, command: &RemoteCommand) {
    match command {
        RemoteCommand::OpenMessageSubscription(value) => message_side::open(cx, value),
        RemoteCommand::MessageSubscriptionOpened {
            element_instance_key,
            message_name,
            revision,
        } => {
            process_side::opened(cx, *element_instance_key, message_name, *revision);
        }
        RemoteCommand::CorrelateSubscription(command) => process_side::correlate(cx, command),
        RemoteCommand::MessageCorrelated {
            element_instance_key,
            message_name,
            message_key,
            closes,
        } => {
            let waited = (*element_instance_key, message_name);
            message_side::correlated(cx, waited, *message_key, *closes);
        }
        RemoteCommand::RejectCorrelation {
            element_instance_key,
            message_name,
            message_key,
            ..
        } => {
            message_side::rejected(cx, *element_instance_key, message_name, *message_key);
        }
        RemoteCommand::CloseMessageSubscription {
            element_instance_key: element,
            message_name,
            reply_to,
        } => message_side::close(cx, (*element, message_name), *reply_to, false),
        RemoteCommand::CloseMessageSubscriptionByKey {
            element_instance_key: element,
            message_name,
            reply_to,
            ..
        } => message_side::close(cx, (*element, message_name), *reply_to, true),
        RemoteCommand::MessageSubscriptionClosed {
            element_instance_key,
            message_name,
        } => {
            process_side::closed(cx, *element_instance_key, message_name);
        }
        RemoteCommand::BatchPart {
            batch_operation_key,
            partition,
            part,
        } => batch_operation::parts::receive_report(cx, *batch_operation_key, *partition, part),
        RemoteCommand::Distribute {
            distribution_key,
            origin,
            command,
        } => {
            distribution::receive(cx, *distribution_key, *origin, command);
        }
        RemoteCommand::AcknowledgeDistribution {
            distribution_key,
            partition,
        } => {
            distribution::acknowledge(cx, *distribution_key, *partition);
        }
        RemoteCommand::Scaling(command) => scaling::carry_out(cx, command),
        RemoteCommand::Routing(command) => slots::carry_out(cx, command),
        RemoteCommand::SentOn { command, .. } => dispatch_remote(cx, command),
    }
}
