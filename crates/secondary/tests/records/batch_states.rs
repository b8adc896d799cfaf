//! Batch operations that are suspended, resumed and cancelled, and whose items are chosen, in any order: the searchable state equals that
//! of the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use skep_engine::state::BatchPhase;
use skep_protocol::command::{AddBatchItems, BatchCommand, Command, CreateBatchOperation};
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};
use skep_protocol::{Key, Response};
use skep_query::entities::{BATCH_OPERATION, BATCH_OPERATION_ITEM, BATCH_OPERATION_REQUEST};

use skep_random::Random;
use skep_testkit::rig::Rig;
use skep_testkit::stores::Filled;

const PARTITIONS: u32 = 2;
const FILTER: &str = r#"{"state":"ACTIVE"}"#;

struct Story {
    rig: Rig,
    random: Random,
    operations: Vec<Key>,
    /// The last key chosen, by operation and partition.
    chosen: BTreeMap<(Key, u32), Key>,
}

impl Story {
    fn new(seed: u64) -> Story {
        let mut rig = Rig::with_partitions(PARTITIONS);
        rig.record_batches();
        // Deferred work is visible halfway.
        rig.interrupted = true;
        Story {
            rig,
            random: Random(seed),
            operations: Vec::new(),
            chosen: BTreeMap::new(),
        }
    }

    fn send(&mut self, command: BatchCommand) -> Option<Response> {
        let request = self.rig.send_to(1, Command::Batch(command));
        self.rig.answer(request)?.ok()
    }

    fn step(&mut self) {
        let count = self.operations.len() as u64;
        if count == 0 || (count < 3 && self.random.below(6) == 0) {
            let command = CreateBatchOperation {
                kind: BatchOperationType::CancelProcessInstance,
                filter: FILTER.into(),
                plan: BatchPlan::None,
                follow_up: None,
            };
            let created = self.send(BatchCommand::Create(Box::new(command)));
            if let Some(Response::BatchOperationCreated { key, .. }) = created {
                self.operations.push(key);
            }
            return;
        }
        let batch_operation_key = self.operations[self.random.below(count) as usize];
        match self.random.below(12) {
            0..=2 => drop(self.send(BatchCommand::Suspend {
                batch_operation_key,
            })),
            3..=5 => drop(self.send(BatchCommand::Resume {
                batch_operation_key,
            })),
            6 if self.random.below(4) == 0 => {
                self.send(BatchCommand::Cancel {
                    batch_operation_key,
                });
            }
            6..=9 => self.choose(batch_operation_key),
            _ => drop(self.rig.run_work()),
        }
    }

    /// Plays the broker that has found more items, none of which exists any more when its turn comes.
    fn choose(&mut self, batch_operation_key: Key) {
        let partition = 1 + self.random.below(PARTITIONS.into()) as u32;
        let chosen = self.chosen.entry((batch_operation_key, partition));
        let chosen = chosen.or_insert(Key::NONE);
        let after = *chosen;
        let first = after.0.max(Key::new(partition, 0).0);
        let items = (1..=1 + self.random.below(3) as i64).map(|n| BatchOperationItem {
            item_key: Key(first + n),
            process_instance_key: Key(first + n),
            root_process_instance_key: Key(first + n),
        });
        let items: Vec<BatchOperationItem> = items.collect();
        *chosen = items.last().map_or(after, |item| item.item_key);
        let add = AddBatchItems {
            batch_operation_key,
            resources: Vec::new(),
            items,
            after,
            last: self.random.below(2) == 0,
        };
        let add = Command::Batch(BatchCommand::Add(add));
        self.rig.send_to(partition, add);
    }

    /// The state of an operation on the partition that created it.
    fn state(&mut self, key: Key) -> String {
        let operations = &mut self.rig.engine(1).state.batch_operations;
        if let Some(row) = operations.get(key) {
            let state = match row.phase {
                _ if row.suspended => "SUSPENDED",
                BatchPhase::Choosing | BatchPhase::Failed => "CREATED",
                BatchPhase::Executing | BatchPhase::Done | BatchPhase::Ended => "ACTIVE",
            };
            return state.to_string();
        }
        let ended = self.rig.events("BATCH_OPERATION_LIFECYCLE_MANAGEMENT");
        let ended = ended.filter(|r| r.partition == 1 && *r.field("batchOperationKey") == key.0);
        let ended = ended
            .filter(|r| ["COMPLETED", "CANCELED", "FAILED"].contains(&r.intent))
            .last();
        ended.expect("it has ended").intent.to_string()
    }

    fn compare(&mut self, store: &Filled, seed: u64) {
        for key in self.operations.clone() {
            let state = self.state(key);
            let filter = format!(r#"{{"batchOperationKey": "{key}"}}"#);
            let row = store.one(&BATCH_OPERATION, &filter);
            assert_eq!(row["state"], *state, "seed {seed}, {key}");
            assert_eq!(
                row["endDate"].is_null(),
                ["CREATED", "ACTIVE", "SUSPENDED"].contains(&&*state)
            );
            // It has one row of a request, which stays what it was.
            let request = store.one(&BATCH_OPERATION_REQUEST, &filter);
            assert_eq!(request["filter"].to_string(), FILTER, "seed {seed}, {key}");
            let waiting = format!(r#"{{"batchOperationKey": "{key}", "state": "ACTIVE"}}"#);
            let waiting = store.find(&BATCH_OPERATION_ITEM, &waiting).len();
            let chunks = &mut self.rig.engine(1).state.batch_operations;
            let left: u64 = chunks.get(key).map_or(0, |row| {
                row.progress.total - row.progress.completed - row.progress.failed
            });
            if chunks.get(key).is_some() {
                assert_eq!(waiting as u64, left, "seed {seed}, {key}: items");
            }
        }
    }
}

#[test]
fn an_operation_has_the_state_that_the_engine_has() {
    skep_sim::each(super::BACKEND.seeds(), |seed| {
        // In some runs everything is merged in memory, in others each batch is stored separately.
        let window = [0, 5, 10_000][(seed % 3) as usize];
        let store = Filled::new(super::BACKEND, 1, Duration::from_millis(window));
        let mut story = Story::new(seed);
        for n in 0..40 {
            story.step();
            skep_testkit::stores::follow(&mut story.rig, &store);
            if n % 4 == 3 {
                story.compare(&store, seed);
            }
        }
    });
}
