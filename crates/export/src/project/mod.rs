//! From records to changes of rows: one file per entity that is told of.

mod element_instance;
mod incident;
mod job;
mod process_definition;
mod process_instance;
mod variable;

use std::sync::Arc;

use skep_protocol::batch::BatchReader;
use skep_protocol::intent::Intent;
use skep_protocol::record::{DecodeError, Record, RecordType};
use skep_protocol::value::RecordValue;
use skep_protocol::{DEFAULT_TENANT, Key, ValueType};
use skep_query::Value;

use crate::changes::Changes;
use crate::definitions::{Definition, Definitions, StoredDefinitions};

/// Collects the changes that records make.
pub struct Projection<'a> {
    pub changes: &'a mut Changes,
    pub definitions: &'a mut Definitions,
    pub stored: &'a dyn StoredDefinitions,
}

impl Projection<'_> {
    /// Takes in the records of one entry of the log; answers with the position of the last of them and their time.
    pub fn batch(&mut self, payload: &[u8]) -> Result<(u64, i64), DecodeError> {
        let mut reader = BatchReader::new(payload)?;
        let timestamp = reader.timestamp();
        for record in reader.by_ref() {
            let record = record?;
            if record.record_type == RecordType::Event {
                self.record(&record)?;
            }
        }
        Ok((reader.position().saturating_sub(1), timestamp))
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), DecodeError> {
        match record.value_type {
            ValueType::ProcessInstance => {
                let value = record.value()?;
                process_instance::lifecycle(self, record, &value)?;
                element_instance::lifecycle(self, record, &value)
            }
            ValueType::ProcessInstanceCreation => {
                process_instance::created(self, record, &record.value()?)
            }
            ValueType::Variable => variable::changed(self, record, &record.value()?),
            ValueType::Incident => incident::changed(self, record, &record.value()?),
            ValueType::Job => job::changed(self, record, &record.value()?),
            ValueType::JobBatch => job::activated(self, record, &record.value()?),
            ValueType::Process => process_definition::changed(self, record, &record.value()?),
            // They tell of nothing that these entities show.
            _ => Ok(()),
        }
    }

    fn definition(&mut self, key: Key) -> Option<Arc<Definition>> {
        self.definitions.get(key, self.stored)
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

fn name(text: Option<&Arc<str>>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(text.clone()))
}

fn tenant() -> Value {
    thread_local! {
        static TENANT: Arc<str> = Arc::from(DEFAULT_TENANT);
    }
    Value::Text(TENANT.with(Arc::clone))
}

/// One of few fixed texts, shared.
fn word(text: &'static str) -> Value {
    use std::cell::RefCell;
    thread_local! {
        static WORDS: RefCell<rustc_hash::FxHashMap<&'static str, Arc<str>>> = RefCell::default();
    }
    Value::Text(
        WORDS.with_borrow_mut(|words| words.entry(text).or_insert_with(|| text.into()).clone()),
    )
}
