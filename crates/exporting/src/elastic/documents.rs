//! Converts records to documents, and collects them in the body of a bulk request.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};
use skep_engine::RecordNames;
use skep_protocol::ValueType;
use skep_protocol::batch::BatchReader;
use skep_protocol::json::render;
use skep_protocol::record::{DecodeError, Record};

use super::settings::SearchSettings;
use super::templates;
use crate::metrics::Tally;

/// Number of documents per value type, which is the sequence of the last one. The key is the ID of the type.
pub type Sequences = BTreeMap<u8, u64>;

/// Number of bits in a sequence below the partition ID.
const SEQUENCE_BITS: u32 = 51;

/// Documents that have not been sent yet.
pub struct Documents {
    settings: Arc<SearchSettings>,
    partition: u32,
    names: RecordNames,
    sequences: Sequences,
    body: Vec<u8>,
    /// End offset of each document in the body.
    ends: Vec<usize>,
    /// Value types of the documents.
    value_types: BTreeMap<u8, ValueType>,
}

impl Documents {
    pub fn new(settings: Arc<SearchSettings>, partition: u32, sequences: Sequences) -> Documents {
        let names = RecordNames::new(partition).with_broker_version(&settings.broker_version);
        Documents {
            settings,
            partition,
            names,
            sequences,
            body: Vec::new(),
            ends: Vec::new(),
            value_types: BTreeMap::new(),
        }
    }

    pub fn names(&mut self) -> &mut RecordNames {
        &mut self.names
    }

    /// The sequences of the last documents taken in.
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// The body of a bulk request with these documents.
    pub fn bulk(&self, which: Range<usize>) -> Vec<u8> {
        let end_of = |count: usize| match count.checked_sub(1) {
            Some(last) => self.ends.get(last).copied().unwrap_or(self.body.len()),
            None => 0,
        };
        let bytes = self.body.get(end_of(which.start)..end_of(which.end));
        bytes.unwrap_or_default().to_vec()
    }

    /// The id of a document.
    pub fn id(&self, at: usize) -> Option<String> {
        let body = self.bulk(at..at + 1);
        let action = body.split(|byte| *byte == b'\n').next()?;
        let action: Value = serde_json::from_slice(action).ok()?;
        Some(action.get("index")?.get("_id")?.as_str()?.to_string())
    }

    pub fn value_types(&self) -> Vec<ValueType> {
        self.value_types.values().copied().collect()
    }

    pub fn clear(&mut self) {
        self.body.clear();
        self.ends.clear();
        self.value_types.clear();
    }

    /// Takes in and counts the records of an entry. If the entry cannot be read, none of its records are kept. Without `tally`,
    /// records are only used to learn names.
    pub fn take(
        &mut self,
        payload: &[u8],
        tally: Option<&mut Tally>,
    ) -> Result<(u64, i64), DecodeError> {
        let (bytes, count) = (self.body.len(), self.ends.len());
        let sequences = self.sequences.clone();
        let taken = self.records(payload, tally);
        if taken.is_err() {
            self.body.truncate(bytes);
            self.ends.truncate(count);
            self.sequences = sequences;
        }
        taken
    }

    fn records(
        &mut self,
        payload: &[u8],
        mut tally: Option<&mut Tally>,
    ) -> Result<(u64, i64), DecodeError> {
        let mut records = BatchReader::new(payload)?;
        let timestamp = records.timestamp();
        // The creation record describes the instance, but comes after the instance's first records.
        for record in records.clone() {
            self.names.learn(&record?);
        }
        for record in records.by_ref() {
            let record = record?;
            let Some(tally) = &mut tally else {
                continue;
            };
            let wanted = self.settings.wants(record.record_type, record.value_type)
                && !self.settings.skip.contains(&record.position);
            tally.record(record.value_type, wanted);
            if wanted {
                self.add(&record)?;
            }
        }
        self.names.batch_ends();
        Ok((records.position().saturating_sub(1), timestamp))
    }

    fn add(&mut self, record: &Record<'_>) -> Result<(), DecodeError> {
        let mut document = render(record, &self.names)?;
        let id = record.value_type as u8;
        let number = self.sequences.entry(id).or_default();
        *number += 1;
        let sequence = (u64::from(self.partition) << SEQUENCE_BITS) + *number;
        if let Value::Object(fields) = &mut document {
            fields.insert("sequence".to_string(), json!(sequence));
        }
        let index = templates::index_name(&self.settings, record.value_type, record.timestamp);
        let action = json!({"index": {
            "_index": index,
            "_id": format!("{}-{}", self.partition, record.position),
            "routing": self.partition.to_string(),
        }});
        for line in [action, document] {
            self.body.extend_from_slice(line.to_string().as_bytes());
            self.body.push(b'\n');
        }
        self.ends.push(self.body.len());
        self.value_types.insert(id, record.value_type);
        Ok(())
    }
}
