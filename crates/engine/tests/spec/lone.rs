//! An engine and its follower without the rig, which compares states after each command: for tests with very many commands.

use std::sync::Arc;

use skep_engine::state::State;
use skep_engine::{Effects, Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::value::{BatchOperationType, BatchPlan};
use skep_protocol::{Key, Rejection, Response};
use skep_testkit::rig::*;

pub struct Lone {
    pub engine: Engine,
    pub follower: Engine,
    store: MemoryStore,
}

impl Lone {
    pub fn new() -> Lone {
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
    pub fn commit(&mut self) -> (usize, Effects) {
        let records = self.engine.batch_len();
        let (batch, effects) = self.engine.take_batch();
        if let Some(batch) = batch {
            self.follower.apply(&batch).unwrap();
        }
        (records, effects)
    }

    pub fn send(&mut self, command: Command) -> Result<Response, Rejection> {
        self.engine
            .process(START, Some(1), &Request::internal(command), &mut NoStreams);
        let (_, effects) = self.commit();
        let (_, answer) = effects.responses.into_iter().next().expect("an answer");
        answer
    }

    pub fn work(&mut self) -> usize {
        self.engine.run_work(START, &mut NoStreams);
        self.commit().0
    }

    pub fn instance(&mut self) -> Key {
        match self.send(Rig::creation("p", "{}").into_command()) {
            Ok(Response::ProcessInstanceCreated(created)) => created.process_instance_key,
            other => panic!("no instance: {other:?}"),
        }
    }

    pub fn batch(&mut self) -> Result<Key, Rejection> {
        self.batch_of(BatchOperationType::CancelProcessInstance, BatchPlan::None)
    }

    pub fn batch_of(
        &mut self,
        kind: BatchOperationType,
        plan: BatchPlan,
    ) -> Result<Key, Rejection> {
        let command = CreateBatchOperation {
            kind,
            filter: "{}".into(),
            plan,
            follow_up: None,
        };
        self.send(Command::Batch(BatchCommand::Create(Box::new(command))))
            .map(|answer| match answer {
                Response::BatchOperationCreated { key, .. } => key,
                other => panic!("no batch operation: {other:?}"),
            })
    }

    pub fn deploy(&mut self, bpmn: Bpmn) {
        let resources = vec![Resource {
            name: "p.bpmn".into(),
            content: bpmn.xml().into(),
        }];
        self.send(Command::Deploy(Deploy { resources })).unwrap();
    }

    /// The follower takes over from its stored state, as after a crash of the leader.
    pub fn restart(&mut self) {
        let mut pending = Pending::default();
        self.follower.state.checkpoint(&mut pending);
        self.store.write(pending);
        let state = State::open(1, Arc::new(self.store.clone())).unwrap();
        let position = self.follower.next_position();
        self.engine = Engine::new(config(1, 1), state, position);
    }
}

/// With the process `p`, whose instances wait for a job.
pub fn deployed() -> Lone {
    let mut lone = Lone::new();
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e");
    lone.deploy(bpmn);
    lone
}
