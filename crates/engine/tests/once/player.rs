//! The world around an instance: performs one action after another, in random order.

use skep_protocol::{ActivatedJob, Key};
use skep_random::Random;

use skep_testkit::rig::*;

/// More actions than any of the processes needs.
const MOST_ACTIONS: usize = 5_000;

/// Performs every action that the instance waits for, one at a time in random order, until the instance has ended.
pub fn play(rig: &mut Rig, random: &mut Random, instance: Key) {
    let mut jobs: Vec<ActivatedJob> = Vec::new();
    for _ in 0..MOST_ACTIONS {
        // Deferred work may wait while other commands arrive.
        rig.interrupted = random.below(2) == 0;
        for job_type in ["job", "error"] {
            for job in rig.jobs(job_type) {
                jobs.retain(|known| known.key != job.key);
                jobs.push(job);
            }
        }
        act(rig, random, &mut jobs);
        for _ in 0..random.below(4) {
            rig.run_work();
        }
        if !rig.is_running(instance) && rig.open_instances().is_empty() {
            break;
        }
    }
    rig.interrupted = false;
    rig.settle(1);
}

fn act(rig: &mut Rig, random: &mut Random, jobs: &mut Vec<ActivatedJob>) {
    let tasks = rig.waiting_user_tasks();
    let messages = rig.awaited_messages().len();
    let choices = jobs.len() + tasks.len() + messages;
    // Jobs are more likely than other actions. Time passes when nothing else is possible, and occasionally otherwise.
    if choices == 0 || random.below(12) == 0 {
        return rig.advance(MINUTE);
    }
    let choice = random.below(choices as u64) as usize;
    if choice < jobs.len() {
        let job = jobs.swap_remove(choice);
        return match &*job.job_type {
            "error" => rig.throw(&job, "error", "{}"),
            _ => rig.complete(&job, "{}"),
        };
    }
    match tasks.get(choice - jobs.len()) {
        Some(task) => {
            rig.send_async(Rig::completion(*task, "{}"));
        }
        None => {
            rig.publish("message", "key", 0, "{}");
        }
    }
}
