//! A job is with one worker at a time: assignments of jobs to workers, read from the log on any node that knows it to be committed.

use std::collections::BTreeSet;

use skep_protocol::batch::BatchReader;
use skep_protocol::intent::{JobBatchIntent, JobIntent};
use skep_protocol::record::RecordType;
use skep_protocol::value::JobBatchValue;
use skep_protocol::{Key, ValueType};

#[derive(Debug, Default)]
pub struct Jobs {
    /// The log was read up to this entry.
    read: u64,
    with_workers: BTreeSet<Key>,
    pub handed_out: u64,
}

impl Jobs {
    /// Handles a committed entry; all nodes report it, and the first report counts.
    pub fn committed(&mut self, index: u64, payload: &[u8]) {
        if index <= self.read {
            return;
        }
        assert_eq!(index, self.read + 1, "no node told of the entries before");
        self.read = index;
        if payload.is_empty() {
            return;
        }
        for record in BatchReader::new(payload).expect("a batch") {
            let record = record.expect("a record");
            if record.record_type != RecordType::Event {
                continue;
            }
            if record.value_type == ValueType::JobBatch
                && record.intent == JobBatchIntent::Activated as u8
            {
                for key in record.value::<JobBatchValue>().expect("jobs").job_keys {
                    let is_free = self.with_workers.insert(key);
                    assert!(is_free, "job {key:?} went to two workers (entry {index})");
                    self.handed_out += 1;
                }
            }
            let stays = [
                JobIntent::RetriesUpdated,
                JobIntent::TimeoutUpdated,
                JobIntent::Updated,
            ];
            if record.value_type == ValueType::Job
                && !stays.iter().any(|intent| record.intent == *intent as u8)
            {
                self.with_workers.remove(&record.key);
            }
        }
    }
}
