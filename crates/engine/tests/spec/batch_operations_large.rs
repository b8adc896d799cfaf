//! Batch operations with many items, and many batch operations: on an engine without the rig, which compares states after each command.

use std::sync::Arc;

use skep_engine::batch_operation::MAX_UNFINISHED;
use skep_engine::state::State;
use skep_engine::{Effects, Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::{BatchOperationItem, BatchOperationType, BatchPlan};
use skep_protocol::{Key, Rejection, Response};
use skep_testkit::rig::*;

struct Lone {
    engine: Engine,
    follower: Engine,
    store: MemoryStore,
}

impl Lone {
    fn new() -> Lone {
        let store = MemoryStore::default();
        let engine = |store: &MemoryStore| {
            let state = State::open(1, Arc::new(store.clone())).unwrap();
            Engine::new(config(1, 1), state, 1)
        };
        Lone {
            engine: engine(&store),
            follower: engine(&store),
            store,
        }
    }

    /// Commits the written records. Returns their number, and the effects to carry out.
    fn commit(&mut self) -> (usize, Effects) {
        let records = self.engine.batch_len();
        let (batch, effects) = self.engine.take_batch();
        if let Some(batch) = batch {
            self.follower.apply(&batch).unwrap();
        }
        (records, effects)
    }

    fn send(&mut self, command: Command) -> Result<Response, Rejection> {
        self.engine
            .process(START, Some(1), &Request::internal(command), &mut NoStreams);
        let (_, effects) = self.commit();
        let (_, answer) = effects.responses.into_iter().next().expect("an answer");
        answer
    }

    fn work(&mut self) -> usize {
        self.engine.run_work(START, &mut NoStreams);
        self.commit().0
    }

    fn instance(&mut self) -> Key {
        match self.send(Rig::creation("p", "{}").into_command()) {
            Ok(Response::ProcessInstanceCreated(created)) => created.process_instance_key,
            other => panic!("no instance: {other:?}"),
        }
    }

    fn batch(&mut self) -> Result<Key, Rejection> {
        let command = CreateBatchOperation {
            kind: BatchOperationType::CancelProcessInstance,
            filter: "{}".into(),
            plan: BatchPlan::None,
            follow_up: None,
        };
        self.send(Command::Batch(BatchCommand::Create(Box::new(command))))
            .map(|answer| match answer {
                Response::BatchOperationCreated { key, .. } => key,
                other => panic!("no batch operation: {other:?}"),
            })
    }

    /// The follower takes over from its stored state, as after a crash of the leader.
    fn restart(&mut self) {
        let mut pending = Pending::default();
        self.follower.state.checkpoint(&mut pending);
        self.store.write(pending);
        let state = State::open(1, Arc::new(self.store.clone())).unwrap();
        let position = self.follower.next_position();
        self.engine = Engine::new(config(1, 1), state, position);
    }
}

fn deployed() -> Lone {
    let mut lone = Lone::new();
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e");
    let resources = vec![Resource {
        name: "p.bpmn".into(),
        content: bpmn.xml().into(),
    }];
    lone.send(Command::Deploy(Deploy { resources })).unwrap();
    lone
}

fn choose(lone: &mut Lone, key: Key, items: &[Key]) {
    for (n, page) in items.chunks(1_000).enumerate() {
        let items_of = |key: &Key| BatchOperationItem {
            item_key: *key,
            process_instance_key: *key,
            root_process_instance_key: *key,
        };
        lone.send(Command::Batch(BatchCommand::Add(AddBatchItems {
            batch_operation_key: key,
            items: page.iter().map(items_of).collect(),
            after: (n * 1_000)
                .checked_sub(1)
                .map_or(Key::NONE, |last| items[last]),
            last: (n + 1) * 1_000 >= items.len(),
        })))
        .unwrap();
    }
}

#[test]
fn other_work_proceeds_beside_ten_thousand_items() {
    let mut lone = deployed();
    // One in four exists; the others fail, and take as much work.
    let some = |n: u64| match n % 4 {
        0 => None,
        _ => Some(Key::new(1, 1_000_000 + n)),
    };
    let keys: Vec<Key> = (0..10_000)
        .map(|n| some(n).unwrap_or_else(|| lone.instance()))
        .collect();
    let key = lone.batch().unwrap();
    choose(&mut lone, key, &keys);
    let (mut turns, mut others) = (0, Vec::new());
    while lone.engine.has_work() {
        let records = lone.work();
        assert!(records < 5_000, "one turn wrote {records} records");
        // A command of another client arrives in between and is carried out at once.
        others.push(lone.instance());
        turns += 1;
    }
    assert!(turns > 20, "{turns} turns");
    assert_eq!(lone.engine.state.elements.table.len(), 2 * others.len());
    assert!(lone.engine.state.batch_operations.is_empty());
    assert!(lone.engine.state.dump() == lone.follower.state.dump());
}

#[test]
fn a_batch_operation_continues_after_a_restart() {
    let mut lone = deployed();
    let keys: Vec<Key> = (0..450).map(|_| lone.instance()).collect();
    let key = lone.batch().unwrap();
    lone.restart();
    let to_choose: Vec<Key> = lone.engine.state.batch_operations.to_choose().collect();
    assert_eq!(
        to_choose,
        [key],
        "what has no items yet is looked for again"
    );
    choose(&mut lone, key, &keys);
    let mut restarts = 0;
    while lone.engine.has_work() {
        lone.engine.set_turn_steps(25);
        lone.work();
        lone.restart();
        restarts += 1;
    }
    assert!(restarts > 10, "{restarts} restarts");
    assert_eq!(lone.engine.state.elements.table.len(), 0);
    assert!(lone.engine.state.batch_operations.is_empty());
    assert_eq!(lone.engine.state.batch_operations.chunks.len(), 0);
}

#[test]
fn unfinished_operations_have_a_limit() {
    let mut lone = Lone::new();
    let first = lone.batch().unwrap();
    for _ in 1..MAX_UNFINISHED {
        lone.batch().unwrap();
    }
    let (kind, why) = rejected(lone.batch().map(|_| Response::Empty));
    assert_eq!(kind, "INVALID_STATE");
    assert!(why.contains("have not ended yet. Wait for them"), "{why}");
    lone.send(Command::Batch(BatchCommand::Cancel {
        batch_operation_key: first,
    }))
    .unwrap();
    lone.batch().unwrap();
}
