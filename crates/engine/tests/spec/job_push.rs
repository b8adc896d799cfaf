//! Jobs are pushed into streams with credit, oldest first; the others wait and are announced.

use skep_model::builder::Bpmn;
use skep_protocol::Key;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

#[test]
fn a_new_job_is_pushed_into_a_stream_with_room() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 1);
    let instance = rig.create("p", r#"{"a":1}"#);
    let jobs = rig.streams.take();
    assert_eq!(jobs.len(), 1);
    assert_eq!(
        (&*jobs[0].worker, &*jobs[0].variables),
        ("streamer", r#"{"a":1}"#)
    );
    assert_eq!(jobs[0].deadline, START + MINUTE);
    assert!(rig.announced.is_empty());
    assert!(rig.jobs("work").is_empty());
    rig.complete(&jobs[0], "{}");
    rig.assert_completed(instance);
}

#[test]
fn without_room_jobs_wait_and_are_announced_once_per_batch() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 1);
    for _ in 0..3 {
        rig.create("p", "{}");
    }
    assert_eq!(rig.streams.take().len(), 1);
    assert_eq!(rig.announced, ["work", "work"]);
    assert_eq!(rig.jobs("work").len(), 2);
}

#[test]
fn new_room_takes_the_oldest_waiting_jobs() {
    let mut rig = Rig::with(process());
    let instances: Vec<Key> = (0..4).map(|_| rig.create("p", "{}")).collect();
    rig.streams.open("work", 3);
    let now = rig.now;
    let pushed = rig.partitions[0]
        .engine
        .push_waiting_jobs(now, "work", 2, &mut rig.streams);
    rig.settle(1);
    assert_eq!(pushed.jobs, 2, "the caller's limit");
    let of: Vec<Key> = rig
        .streams
        .take()
        .iter()
        .map(|j| j.process_instance_key)
        .collect();
    assert_eq!(of, instances[..2]);
    // One credit is left: the next new job causes the oldest to be pushed, not itself.
    rig.announced.clear();
    let newest = rig.create("p", "{}");
    let of: Vec<Key> = rig
        .streams
        .take()
        .iter()
        .map(|j| j.process_instance_key)
        .collect();
    assert_eq!(of, [instances[2]]);
    assert_eq!(
        rig.announced,
        ["work"],
        "somebody may want the one that waits"
    );
    let waiting: Vec<Key> = rig
        .jobs("work")
        .iter()
        .map(|j| j.process_instance_key)
        .collect();
    assert_eq!(waiting, [instances[3], newest]);
}

#[test]
fn nothing_is_written_when_no_job_waits() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 3);
    let (now, before) = (rig.now, rig.seen.len());
    assert_eq!(
        rig.partitions[0]
            .engine
            .push_waiting_jobs(now, "work", 9, &mut rig.streams)
            .jobs,
        0
    );
    rig.settle(1);
    assert_eq!(rig.seen.len(), before);
}

#[test]
fn a_job_that_did_not_reach_its_worker_goes_back_at_once() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 1);
    rig.create("p", "{}");
    let job = rig.streams.take().remove(0);
    rig.streams.open("work", 1);
    let now = rig.now;
    rig.partitions[0]
        .engine
        .yield_job(now, job.key, job.deadline, &mut rig.streams);
    rig.settle(1);
    let again = rig.streams.take().remove(0);
    assert_eq!((again.key, again.retries), (job.key, job.retries));
    assert_eq!(rig.intents("JOB"), ["CREATED", "YIELDED"]);
}

#[test]
fn a_job_that_was_activated_again_is_not_taken_back() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 1);
    rig.create("p", "{}");
    let job = rig.streams.take().remove(0);
    rig.advance(MINUTE + 1);
    let again = rig.job("work");
    let now = rig.now;
    rig.partitions[0]
        .engine
        .yield_job(now, job.key, job.deadline, &mut rig.streams);
    rig.settle(1);
    assert!(
        rig.jobs("work").is_empty(),
        "{again:?} stays with its worker"
    );
}

#[test]
fn a_timed_out_job_is_pushed_again() {
    let mut rig = Rig::with(process());
    rig.streams.open("work", 2);
    rig.create("p", "{}");
    rig.advance(MINUTE + 1);
    assert_eq!(rig.streams.take().len(), 2);
}
