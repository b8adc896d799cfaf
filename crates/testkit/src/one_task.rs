//! Instances that wait for a job, as exported in many tests.

use bytes::Bytes;
use skep_model::builder::Bpmn;

use crate::rig::Rig;

/// A rig that has a process "p", which waits for a job of the type "work".
pub fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
    rig
}

pub fn create(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        rig.create("p", r#"{"a":[1,2]}"#);
    }
}

/// The record batches of this many instances with these variables: the same each time.
pub fn written(instances: usize, variables: &str) -> Vec<Bytes> {
    let mut rig = self::rig();
    for _ in 0..instances {
        rig.create("p", variables);
    }
    let batches = std::mem::take(&mut rig.batches);
    batches.into_iter().map(|(_, batch)| batch.into()).collect()
}
