//! Appliers: event in, state change out. One file per value type.
//!
//! The leader applies each event as it emits it; followers and recovery apply the same events from the log. An applier that
//! has been released is never edited: a change gets a new body version and a new applier beside the old one.

// State mutators are visible only in this module: a processor that called one would not compile.
#[path = "state/mod.rs"]
pub mod state;

mod cluster;
mod events;
mod instances;
mod replay;
mod resources;
#[cfg(test)]
mod rows_on_their_way;
mod tasks;
pub(crate) mod window;

use skep_protocol::ValueType;
use skep_protocol::batch::{BatchReader, BatchWriter};
use skep_protocol::header_view::HeaderView;
use skep_protocol::intent::Intent;
use skep_protocol::key::Key;
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{
    AdHocSubProcessInstructionValue, ClockValue, ClusterVariableValue, CommandDistributionValue,
    CompensationSubscriptionValue, ConditionCheckValue, ConditionalEvaluationValue,
    ConditionalSubscriptionValue, ContinuationValue, DecisionEvaluationValue,
    DecisionRequirementsValue, DecisionValue, DeploymentValue, ErrorValue, EscalationValue,
    ExportingValue, FormValue, GlobalListenerValue, HistoryDeletionValue, IncidentValue,
    JobBatchValue, JobValue, KeptValue, MessageCorrelationValue,
    MessageStartEventSubscriptionValue, MessageSubscriptionValue, MessageValue, MultiInstanceValue,
    ProcessEventValue, ProcessInstanceBatchValue, ProcessInstanceCreationValue,
    ProcessInstanceMigrationValue, ProcessInstanceModificationValue, ProcessInstanceResultValue,
    ProcessInstanceValue, ProcessMessageSubscriptionValue, ProcessValue, RecordValue,
    ResourceDeletionValue, ResourceValue, RoutingValue, RuntimeInstructionValue, ScaleValue,
    SessionValue, SignalSubscriptionValue, SignalValue, TimerValue, UserTaskValue,
    VariableDocumentValue, VariableElementValue, VariableValue,
};

use self::cluster::{batch_operation, identity};
use self::instances::process_instance;
use self::tasks::{job, user_task};
use crate::state::State;

/// Applies the events of one value type to the state.
trait Apply<V: RecordValue> {
    fn apply(&mut self, key: Key, intent: V::Intent, value: &V, timestamp: i64);

    /// Applies an event written by an earlier version whose meaning differs from what [`Apply::apply`] does now, with the
    /// applier of that version. `false`: the event still means what it meant, so the current applier handles it.
    fn apply_earlier(&mut self, _record: &Record<'_>) -> Result<bool, DecodeError> {
        Ok(false)
    }
}

/// An event that a processor can emit.
pub(crate) trait Event: RecordValue {
    /// Writes the event and applies it. This is the only way for a processor to change the state.
    fn emit(
        &self,
        out: &mut BatchWriter,
        state: &mut State,
        key: Key,
        intent: Self::Intent,
        timestamp: i64,
    );
}

impl<V: RecordValue> Event for V
where
    State: Apply<V>,
{
    #[inline]
    fn emit(
        &self,
        out: &mut BatchWriter,
        state: &mut State,
        key: Key,
        intent: V::Intent,
        timestamp: i64,
    ) {
        out.event(key, intent, self);
        state.observe_key(key);
        state.apply(key, intent, self, timestamp);
    }
}

/// Value types whose events report a change but do not make one.
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
    HistoryDeletionValue,
    MessageCorrelationValue,
    ProcessInstanceResultValue,
    RuntimeInstructionValue
);

/// Applies the records of a batch. Commands and rejections change nothing.
pub(crate) fn apply_batch(
    state: &mut State,
    reader: &mut BatchReader<'_>,
) -> Result<(), DecodeError> {
    while !reader.is_at_end() {
        apply_next(state, reader, |_, _| false)?;
    }
    Ok(())
}

/// Applies the next record, and possibly some that follow it, unless it is an event to be skipped.
#[inline(always)]
fn apply_next(
    state: &mut State,
    reader: &mut BatchReader<'_>,
    is_passed_over: impl FnOnce(&mut State, &HeaderView<'_>) -> bool,
) -> Result<(), DecodeError> {
    let offset = reader.offset();
    let next = reader
        .header_view()
        .filter(|(header_view, _)| header_view.is_event());
    let Some((event, ahead)) = next else {
        return reader.next().map_or(Ok(()), |other| other.map(drop));
    };
    reader.pass(ahead);
    if is_passed_over(state, &event) || replay::apply(state, &event, reader).is_some() {
        return Ok(());
    }
    apply_record(state, &reader.event(&event, offset)?)
}

fn go<V: RecordValue>(state: &mut State, record: &Record<'_>) -> Result<(), DecodeError>
where
    State: Apply<V>,
{
    let intent = V::Intent::from_id(record.intent).ok_or(DecodeError::Unknown {
        what: "intent",
        id: record.intent,
        at: 0,
    })?;
    if record.version != V::VERSION && state.apply_earlier(record)? {
        state.observe_key(record.key);
        return Ok(());
    }
    let value: V = record.value()?;
    state.observe_key(record.key);
    state.apply(record.key, intent, &value, record.timestamp);
    Ok(())
}

fn apply_record(state: &mut State, record: &Record<'_>) -> Result<(), DecodeError> {
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
        ValueType::ConditionalSubscription => go::<ConditionalSubscriptionValue>(state, record),
        ValueType::ConditionalEvaluation => go::<ConditionalEvaluationValue>(state, record),
        ValueType::ClusterVariable => go::<ClusterVariableValue>(state, record),
        ValueType::ConditionCheck => go::<ConditionCheckValue>(state, record),
        ValueType::Escalation => go::<EscalationValue>(state, record),
        ValueType::CommandDistribution => go::<CommandDistributionValue>(state, record),
        ValueType::MessageCorrelation => go::<MessageCorrelationValue>(state, record),
        ValueType::ProcessInstanceBatch => go::<ProcessInstanceBatchValue>(state, record),
        ValueType::GlobalListener => go::<GlobalListenerValue>(state, record),
        ValueType::UserTask => go::<UserTaskValue>(state, record),
        ValueType::ProcessInstanceMigration => go::<ProcessInstanceMigrationValue>(state, record),
        ValueType::CompensationSubscription => go::<CompensationSubscriptionValue>(state, record),
        ValueType::Clock => go::<ClockValue>(state, record),
        ValueType::Exporting => go::<ExportingValue>(state, record),
        ValueType::Continuation => go::<ContinuationValue>(state, record),
        ValueType::AdHocSubProcessInstruction => {
            go::<AdHocSubProcessInstructionValue>(state, record)
        }
        ValueType::MultiInstance => go::<MultiInstanceValue>(state, record),
        ValueType::ProcessInstanceModification => {
            go::<ProcessInstanceModificationValue>(state, record)
        }
        ValueType::VariableElement => go::<VariableElementValue>(state, record),
        ValueType::RuntimeInstruction => go::<RuntimeInstructionValue>(state, record),
        ValueType::Decision => go::<DecisionValue>(state, record),
        ValueType::DecisionRequirements => go::<DecisionRequirementsValue>(state, record),
        ValueType::DecisionEvaluation => go::<DecisionEvaluationValue>(state, record),
        ValueType::Form => go::<FormValue>(state, record),
        ValueType::Resource => go::<ResourceValue>(state, record),
        _ => apply_of_operators(state, record),
    }
}

/// Applies events of operator and administrator actions.
fn apply_of_operators(state: &mut State, record: &Record<'_>) -> Result<(), DecodeError> {
    match record.value_type {
        ValueType::BatchOperationCreation
        | ValueType::BatchOperationChunk
        | ValueType::BatchOperationInitialization
        | ValueType::BatchOperationExecution
        | ValueType::BatchOperationItem
        | ValueType::BatchOperationPartitionLifecycle
        | ValueType::BatchOperationLifecycleManagement => batch_operation::apply(state, record),
        ValueType::User
        | ValueType::Group
        | ValueType::Role
        | ValueType::Tenant
        | ValueType::MappingRule
        | ValueType::Authorization
        | ValueType::IdentitySetup => identity::apply(state, record),
        ValueType::HistoryDeletion => go::<HistoryDeletionValue>(state, record),
        ValueType::Scale => go::<ScaleValue>(state, record),
        ValueType::Session => go::<SessionValue>(state, record),
        ValueType::Kept => go::<KeptValue>(state, record),
        ValueType::Routing => go::<RoutingValue>(state, record),
        // Evaluations are answered, not recorded as events.
        ValueType::Expression => Ok(()),
        other => {
            debug_assert!(false, "{other:?} has an applier");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde::{Deserialize, Serialize};
    use skep_protocol::intent::ClockIntent;

    use super::*;
    use crate::state::table::EmptyStore;

    /// A clock in seconds, as in its second version. In the first version `PINNED 5` meant five milliseconds.
    #[derive(Serialize, Deserialize)]
    struct Seconds(i64);

    /// The released first version.
    #[derive(Serialize, Deserialize)]
    struct Millis(i64);

    impl RecordValue for Millis {
        const VALUE_TYPE: ValueType = ValueType::Clock;
        type Intent = ClockIntent;
    }

    impl RecordValue for Seconds {
        const VALUE_TYPE: ValueType = ValueType::Clock;
        const VERSION: u8 = 2;
        type Intent = ClockIntent;
    }

    impl Apply<Seconds> for State {
        fn apply(&mut self, _: Key, _: ClockIntent, value: &Seconds, _: i64) {
            self.counters.pinned_clock = Some(value.0 * 1000);
        }

        fn apply_earlier(&mut self, record: &Record<'_>) -> Result<bool, DecodeError> {
            if record.version != 1 {
                return Ok(false);
            }
            let Millis(time) = record.value()?;
            self.counters.pinned_clock = Some(time);
            Ok(true)
        }
    }

    #[test]
    fn an_event_of_an_earlier_version_is_applied_as_that_version_did() {
        let mut out = BatchWriter::new(1);
        out.event(Key::new(1, 3), ClockIntent::Pinned, &Millis(5));
        out.event(Key::new(1, 4), ClockIntent::Pinned, &Seconds(5));
        let batch = out.take().unwrap();
        let mut state = State::open(1, Arc::new(EmptyStore)).unwrap();
        let mut clocks = Vec::new();
        for record in BatchReader::new(&batch).unwrap() {
            go::<Seconds>(&mut state, &record.unwrap()).unwrap();
            clocks.push(state.counters.pinned_clock);
        }
        assert_eq!(clocks, [Some(5), Some(5000)]);
        assert_eq!(state.next_key(), Key::new(1, 5));
    }
}
