//! A state that only replays a log keeps no indices over jobs; they are built at its promotion.

use std::sync::Arc;

use skep_engine::Engine;
use skep_engine::state::State;
use skep_model::builder::Bpmn;
use skep_protocol::Key;

use skep_testkit::rig::*;

/// A partition with jobs in every state, and the batches that led to it.
fn leader() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("task", "work")
            .end("e"),
    );
    for _ in 0..4 {
        rig.create("p", "{}");
    }
    let jobs = rig.jobs("work");
    rig.fail(&jobs[0], 1, MINUTE);
    rig.fail(&jobs[1], 0, 0);
    rig.complete(&jobs[2], "{}");
    let banned = rig.create("p", "{}");
    rig.create("p", "{}");
    rig.ban(banned).unwrap();
    rig
}

/// Content of the indices: waiting jobs, activated ones, those backing off, and the next due date.
fn indices(engine: &Engine) -> (Vec<Key>, Vec<Key>, Vec<Key>, Option<i64>) {
    let jobs = &engine.state.jobs;
    let far = i64::MAX - 1;
    (
        jobs.activatable("work", &skep_protocol::TenantId::default())
            .collect(),
        jobs.timed_out(far).collect(),
        jobs.backed_off(far).collect(),
        engine.next_due(),
    )
}

#[test]
fn the_indices_are_those_of_the_leader() {
    let rig = leader();
    let leader = &rig.partitions[0].engine;
    let expected = indices(leader);
    assert_eq!(
        (expected.0.len(), expected.1.len(), expected.2.len()),
        (1, 1, 1)
    );
    for stored in [0, 3, rig.batches.len()] {
        let store = MemoryStore::default();
        let open = |position| {
            let state = State::open_to_replay(1, Arc::new(store.clone())).unwrap();
            Engine::new(config(1, 1), state, position)
        };
        let mut follower = open(1);
        for (n, (_, batch)) in rig.batches.iter().enumerate() {
            if n == stored {
                let mut pending = Pending::default();
                follower.state.checkpoint(&mut pending);
                store.write(pending);
                follower = open(follower.next_position());
            }
            follower.apply(batch).unwrap();
        }
        follower.promote().unwrap();
        assert_eq!(
            indices(&follower),
            expected,
            "{stored} batches in the store"
        );
        assert!(follower.state.dump() == leader.state.dump());
        // A second promotion changes nothing.
        follower.promote().unwrap();
        assert_eq!(indices(&follower), expected);
    }
}
