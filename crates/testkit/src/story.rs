//! The story of a random process: the same for the same seed.

use skep_model::builder::{Bpmn, random};
use skep_protocol::Key;
use skep_random::Random;

use crate::rig::{IntoCommand, Rig, decision};

/// Number of steps after which most of the possible events have happened.
pub const STEPS: usize = 30;

/// A random process and its participants.
pub struct Story {
    pub rig: Rig,
    random: Random,
}

impl Story {
    pub fn new(seed: u64) -> Story {
        let mut source = Random(seed);
        let mut rig = Rig::new();
        rig.record_batches();
        rig.deploy(
            Bpmn::process("called")
                .start("cs")
                .service_task("cjob", "job")
                .end("ce"),
        );
        rig.deployed(vec![("decided.dmn", decision("file", "decided", "a + 1"))]);
        let size = 4 + source.below(30) as usize;
        rig.deploy(random("random", seed, size));
        Story {
            rig,
            random: source,
        }
    }

    /// Performs one more step.
    pub fn step(&mut self) {
        step(&mut self.rig, &mut self.random);
    }
}

fn step(rig: &mut Rig, random: &mut Random) {
    let b = random.below(4);
    match random.below(9) {
        0 | 1 => {
            let variables = format!(r#"{{"a":{},"b":{b}}}"#, random.below(4));
            rig.send_to(1, Rig::creation("random", &variables).into_command());
        }
        2..=4 => {
            for job in rig.jobs("job") {
                if rig.engine(1).state.jobs.get(job.key).is_none() {
                    continue;
                }
                match random.below(8) {
                    0 => rig.fail(&job, random.below(2) as i32, 0),
                    1 if !job.kind.is_listener() => rig.throw(&job, "error", r#"{"thrown":1}"#),
                    1 | 2 => {}
                    _ => rig.complete(&job, &format!(r#"{{"b":{b}}}"#)),
                }
            }
        }
        5 => {
            rig.publish("message", "key", 0, r#"{"m":1}"#);
        }
        6 => rig.advance(1 + 30_000 * random.below(5) as i64),
        7 => {
            for incident in rig.incidents() {
                let _ = rig.resolve(incident.key);
            }
            let created = rig.events("USER_TASK").filter(|r| r.intent == "CREATED");
            let tasks: Vec<Key> = created.map(|record| record.key).collect();
            for task in tasks {
                rig.send_async(match random.below(3) {
                    0 => Rig::assignment(task, "bert", false),
                    _ => Rig::completion(task, r#"{"b":3}"#),
                });
            }
        }
        _ => {
            if let Some(key) = rig.open_instances().first() {
                let _ = rig.cancel(*key);
            }
        }
    }
}
