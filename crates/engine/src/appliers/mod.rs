//! Appliers: event in, state change out. One file per value type.
//!
//! The leader applies each event as it emits it; followers and recovery apply the same events from the log. An applier that
//! has been released is never edited: a change gets a new body version and a new applier beside the old one.

mod ad_hoc;
mod clock;
mod command_distribution;
mod compensation_subscription;
mod continuation;
mod definitions;
mod error;
mod global_listener;
mod incident;
mod job;
mod job_batch;
mod message;
mod message_start_event_subscription;
mod message_subscription;
mod multi_instance;
mod process;
mod process_event;
mod process_instance;
mod process_instance_batch;
mod process_instance_creation;
mod process_message_subscription;
mod replay;
mod signal;
mod signal_subscription;
mod timer;
mod user_task;
mod variable;
mod variable_document;
mod variable_element;

use skep_protocol::ValueType;
use skep_protocol::batch::BatchReader;
use skep_protocol::intent::Intent;
use skep_protocol::key::Key;
use skep_protocol::record::{DecodeError, Record, RecordType};
use skep_protocol::value::*;

use crate::state::State;

/// Changes the state as an event of this value type says.
pub(crate) trait Apply<V: RecordValue> {
    fn apply(&mut self, key: Key, intent: V::Intent, value: &V, timestamp: i64);
}

/// Value types whose events tell of a change but make none.
macro_rules! without_effect {
    ($($value:ty),+) => {$(
        impl Apply<$value> for State {
            fn apply(
                &mut self,
                _key: Key,
                _intent: <$value as RecordValue>::Intent,
                _value: &$value,
                _timestamp: i64,
            ) {
            }
        }
    )+};
}

without_effect!(
    DecisionEvaluationValue,
    DeploymentValue,
    EscalationValue,
    MessageCorrelationValue,
    ProcessInstanceResultValue,
    ResourceDeletionValue,
    RuntimeInstructionValue
);

/// Applies the records of a batch. Commands and rejections change nothing.
pub(crate) fn apply_batch(
    state: &mut State,
    reader: &mut BatchReader<'_>,
) -> Result<(), DecodeError> {
    while let Some(record) = reader.next() {
        let record = record?;
        if record.record_type == RecordType::Event && !replay::apply(state, &record, reader)? {
            apply_record(state, &record)?;
        }
    }
    Ok(())
}

fn apply_record(state: &mut State, record: &Record<'_>) -> Result<(), DecodeError> {
    fn go<V: RecordValue>(state: &mut State, record: &Record<'_>) -> Result<(), DecodeError>
    where
        State: Apply<V>,
    {
        let intent = V::Intent::from_id(record.intent).ok_or(DecodeError::Unknown {
            what: "intent",
            id: record.intent,
            at: 0,
        })?;
        let value: V = record.value()?;
        state.observe_key(record.key);
        state.apply(record.key, intent, &value, record.timestamp);
        Ok(())
    }
    match record.value_type {
        ValueType::Job => go::<JobValue>(state, record),
        ValueType::Deployment => go::<DeploymentValue>(state, record),
        ValueType::ProcessInstance => go::<ProcessInstanceValue>(state, record),
        ValueType::Incident => go::<IncidentValue>(state, record),
        ValueType::Message => go::<MessageValue>(state, record),
        ValueType::MessageSubscription => go::<MessageSubscriptionValue>(state, record),
        ValueType::ProcessMessageSubscription => {
            go::<ProcessMessageSubscriptionValue>(state, record)
        }
        ValueType::JobBatch => go::<JobBatchValue>(state, record),
        ValueType::Timer => go::<TimerValue>(state, record),
        ValueType::MessageStartEventSubscription => {
            go::<MessageStartEventSubscriptionValue>(state, record)
        }
        ValueType::Variable => go::<VariableValue>(state, record),
        ValueType::VariableDocument => go::<VariableDocumentValue>(state, record),
        ValueType::ProcessInstanceCreation => go::<ProcessInstanceCreationValue>(state, record),
        ValueType::Error => go::<ErrorValue>(state, record),
        ValueType::ProcessInstanceResult => go::<ProcessInstanceResultValue>(state, record),
        ValueType::Process => go::<ProcessValue>(state, record),
        ValueType::ProcessEvent => go::<ProcessEventValue>(state, record),
        ValueType::ResourceDeletion => go::<ResourceDeletionValue>(state, record),
        ValueType::SignalSubscription => go::<SignalSubscriptionValue>(state, record),
        ValueType::Signal => go::<SignalValue>(state, record),
        ValueType::Escalation => go::<EscalationValue>(state, record),
        ValueType::CommandDistribution => go::<CommandDistributionValue>(state, record),
        ValueType::MessageCorrelation => go::<MessageCorrelationValue>(state, record),
        ValueType::ProcessInstanceBatch => go::<ProcessInstanceBatchValue>(state, record),
        ValueType::GlobalListener => go::<GlobalListenerValue>(state, record),
        ValueType::UserTask => go::<UserTaskValue>(state, record),
        ValueType::CompensationSubscription => go::<CompensationSubscriptionValue>(state, record),
        ValueType::Clock => go::<ClockValue>(state, record),
        ValueType::Continuation => go::<ContinuationValue>(state, record),
        ValueType::AdHocSubProcessInstruction => {
            go::<AdHocSubProcessInstructionValue>(state, record)
        }
        ValueType::MultiInstance => go::<MultiInstanceValue>(state, record),
        ValueType::VariableElement => go::<VariableElementValue>(state, record),
        ValueType::RuntimeInstruction => go::<RuntimeInstructionValue>(state, record),
        ValueType::Decision => go::<DecisionValue>(state, record),
        ValueType::DecisionRequirements => go::<DecisionRequirementsValue>(state, record),
        ValueType::DecisionEvaluation => go::<DecisionEvaluationValue>(state, record),
        ValueType::Form => go::<FormValue>(state, record),
        ValueType::Resource => go::<ResourceValue>(state, record),
        // Evaluations are answered, not recorded as events.
        ValueType::Expression => Ok(()),
    }
}
