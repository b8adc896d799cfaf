//! A checkpoint holds the rows as they were when it was captured, no matter when they are written.

use std::sync::Arc;

use skep_engine::state::State;
use skep_model::builder::Bpmn;
use skep_testkit::rig::*;

#[test]
fn a_large_row_is_stored_as_it_was_captured() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "t")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let [before, after] = ["a", "b"].map(|letter| format!(r#""{}""#, letter.repeat(200_000)));
    let instance = rig.create("p", &format!(r#"{{"large":{before}}}"#));
    let mut pending = Pending::default();
    rig.engine(1).state.checkpoint(&mut pending);
    rig.set_variables(instance, &format!(r#"{{"large":{after}}}"#), false);
    let store = MemoryStore::default();
    store.write(pending);
    let mut stored = State::open(1, Arc::new(store)).unwrap();
    let found = stored.elements.visible_variable(instance, "large").unwrap();
    assert_eq!(&*found, before);
}
