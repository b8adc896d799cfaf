//! Projects records to changes of rows. Each entity has a file of its own.

mod audit_log;
mod batch_operation;
mod cluster_variable;
mod decision_definition;
mod decision_instance;
mod element_duration;
mod element_instance;
mod event_wait;
mod global_task_listener;
mod identity;
mod incident;
mod job;
mod job_statistics;
mod message_subscription;
mod process_definition;
mod process_instance;
mod resource;
mod start_timer;
mod usage;
mod user_task;
mod variable;

use std::sync::Arc;

use skep_protocol::batch::BatchReader;
use skep_protocol::intent::Intent;
use skep_protocol::record::{DecodeError, Record, RecordType};
use skep_protocol::value::RecordValue;
use skep_protocol::{Key, ValueType};
use skep_query::{Value, answer};

use crate::audit::Audit;
use crate::changes::Changes;
use crate::definitions::{Definitions, Location, StoredDefinitions};
use skep_exporting::Tally;

/// Collects the changes of rows that records cause.
pub struct Projection<'a> {
    pub changes: &'a mut Changes,
    pub definitions: &'a mut Definitions,
    pub stored: &'a dyn StoredDefinitions,
    /// The partition whose log is read.
    pub partition: u32,
    /// The command that caused the current record.
    pub cause: audit_log::Cause,
    pub audit: &'a Audit,
    /// Counts the processed records.
    pub tally: &'a mut Tally,
    /// Scratch buffer for composed texts.
    pub text: &'a mut String,
    /// See [`crate::Config::tenants`].
    pub tenants: bool,
}

impl Projection<'_> {
    /// Processes the records of one log entry. Returns the position of the last record and their timestamp.
    pub fn batch(&mut self, payload: &[u8]) -> Result<(u64, i64), DecodeError> {
        let mut reader = BatchReader::new(payload)?;
        let timestamp = reader.timestamp();
        for record in reader.by_ref() {
            let record = record?;
            let is_event = record.record_type == RecordType::Event;
            self.tally.record(record.value_type, is_event);
            if is_event {
                self.record(&record)?;
            }
            audit_log::record(self, &record)?;
        }
        Ok((reader.position().saturating_sub(1), timestamp))
    }

    /// Reads the body only if rows contain something from it.
    fn record(&mut self, record: &Record<'_>) -> Result<(), DecodeError> {
        match record.value_type {
            ValueType::ProcessInstance => process_instance::lifecycle(self, record),
            ValueType::ProcessInstanceCreation => process_instance::created(self, record),
            ValueType::Variable => variable::changed(self, record),
            ValueType::VariableElement => variable::element_changed(self, record),
            ValueType::Incident => incident::changed(self, record),
            ValueType::Job => job::changed(self, record),
            ValueType::JobBatch => job::activated(self, record),
            ValueType::UserTask => user_task::changed(self, record),
            ValueType::Process => process_definition::changed(self, record),
            ValueType::Decision => decision_definition::decision(self, record),
            ValueType::DecisionRequirements => decision_definition::requirements(self, record),
            ValueType::DecisionEvaluation => decision_instance::evaluated(self, record),
            ValueType::ProcessMessageSubscription => message_subscription::changed(self, record),
            ValueType::MessageStartEventSubscription => message_subscription::started(self, record),
            ValueType::Timer => event_wait::timer(self, record),
            ValueType::SignalSubscription => event_wait::signal(self, record),
            ValueType::ConditionalSubscription => event_wait::condition(self, record),
            ValueType::Form => resource::form(self, record),
            ValueType::Resource => resource::resource(self, record),
            ValueType::BatchOperationCreation => batch_operation::created(self, record),
            ValueType::BatchOperationChunk => batch_operation::chunk(self, record),
            ValueType::BatchOperationItem => batch_operation::item(self, record),
            ValueType::BatchOperationInitialization => batch_operation::initialized(self, record),
            ValueType::BatchOperationPartitionLifecycle => batch_operation::part(self, record),
            ValueType::BatchOperationLifecycleManagement => batch_operation::managed(self, record),
            ValueType::HistoryDeletion => batch_operation::history_deleted(self, record),
            ValueType::ClusterVariable => cluster_variable::changed(self, record),
            ValueType::GlobalListener => global_task_listener::changed(self, record),
            ValueType::User
            | ValueType::Group
            | ValueType::Role
            | ValueType::Tenant
            | ValueType::MappingRule
            | ValueType::Authorization => identity::changed(self, record),
            // Other records do not affect these entities.
            _ => Ok(()),
        }
    }

    fn location(&mut self, definition: Key, element: u32) -> Location {
        let found = self.definitions.get(definition, self.stored);
        Location::new(found, element, self.tenants)
    }
}

fn intent_of<V: RecordValue>(record: &Record<'_>) -> Result<V::Intent, DecodeError> {
    V::Intent::from_id(record.intent).ok_or(DecodeError::Unknown {
        what: "intent",
        id: record.intent,
        at: 0,
    })
}

fn key(key: Key) -> Value {
    key.some().map_or(Value::Null, |key| Value::Int(key.0))
}

/// A JSON array of texts.
fn json_list<T: AsRef<str>>(texts: &[T]) -> Value {
    let mut out = String::from("[");
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        answer::write_text(text.as_ref(), &mut out);
    }
    out.push(']');
    Value::text(&out)
}

/// A value with one of a few fixed texts, shared between rows.
pub fn word(text: &'static str) -> Value {
    use std::cell::RefCell;
    thread_local! {
        /// Keyed by the addresses of the static texts, which are faster to look up than their contents.
        static WORDS: RefCell<rustc_hash::FxHashMap<(usize, usize), Arc<str>>> = RefCell::default();
    }
    let location = (text.as_ptr().addr(), text.len());
    let known = |words: &mut rustc_hash::FxHashMap<_, Arc<str>>| {
        let word = words.entry(location).or_insert_with(|| text.into());
        word.clone()
    };
    Value::Text(WORDS.with_borrow_mut(known))
}
