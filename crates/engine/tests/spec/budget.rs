//! One command does not block the partition: work beyond its budget continues in later batches, and work that can never fit causes an
//! incident.

use skep_engine::{EngineConfig, TurnTime};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_testkit::rig::*;

/// A process with a parallel gateway that leads to this many service tasks.
fn wide(id: &str, tasks: usize, task: impl Fn(Bpmn, usize) -> Bpmn) -> Bpmn {
    let mut bpmn = Bpmn::process(id).start("s").parallel("fork");
    for i in 0..tasks {
        bpmn = task(bpmn.from("fork"), i);
        bpmn = bpmn.end(format!("e{i}"));
    }
    bpmn
}

fn plain(bpmn: Bpmn, i: usize) -> Bpmn {
    bpmn.service_task(format!("t{i}"), "work")
}

fn small() -> Bpmn {
    Bpmn::process("small").start("s").end("e")
}

#[test]
fn a_wide_fork_lets_others_have_their_turn() {
    let mut rig = Rig::with(wide("p", 3000, plain));
    rig.deploy(small());
    rig.interrupted = true;
    rig.create("p", "{}");
    let jobs = rig.intents("JOB").len();
    assert!((1..3000).contains(&jobs), "{jobs} jobs in the first batch");
    let other = rig.create("small", "{}");
    assert_eq!(rig.completed(other), ["s", "e", "small"]);
    let mut turns = 0;
    while rig.run_work() {
        turns += 1;
    }
    assert!(turns > 2);
    assert_eq!(
        rig.jobs("work").len() + rig.jobs("work").len() + rig.jobs("work").len(),
        3000
    );
}

/// A turn ends in time whatever its steps do. Each reading of the clock takes 100 ns here, and there is one per eight steps.
#[test]
fn a_turn_ends_in_time() {
    thread_local! {
        static NOW: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    let clock = || NOW.replace(NOW.get() + 100);
    let mut rig = Rig::with_configs(1, |id| EngineConfig {
        turn_time: Some(TurnTime { most: 500, clock }),
        ..config(id, 1)
    });
    rig.deploy(wide("p", 3000, plain));
    rig.interrupted = true;
    rig.create("p", "{}");
    let mut turns = 1;
    let mut before = rig.intents("JOB").len();
    while rig.run_work() {
        let now = rig.intents("JOB").len();
        assert!(now - before <= 48, "{} tasks in a turn", now - before);
        before = now;
        turns += 1;
    }
    assert!(turns > 60, "{turns} turns");
    assert_eq!(before, 3000);
}

#[test]
fn remaining_work_survives_a_restart() {
    let mut rig = Rig::with(wide("p", 3000, plain));
    rig.interrupted = true;
    let instance = rig.create("p", "{}");
    loop {
        rig.change_leader(1);
        if !rig.run_work() {
            break;
        }
    }
    assert_eq!(rig.intents("JOB").len(), 3000);
    rig.cancel(instance).unwrap();
    while rig.run_work() {
        rig.change_leader(1);
    }
    rig.assert_terminated(instance);
}

#[test]
fn cancelling_many_also_ends_tokens_that_move_meanwhile() {
    let mut rig = Rig::with(wide("p", 3000, |bpmn, i| {
        plain(bpmn, i).service_task(format!("u{i}"), "next")
    }));
    let instance = rig.create("p", "{}");
    let jobs = rig.jobs("work");
    rig.interrupted = true;
    rig.cancel(instance).unwrap();
    let last = jobs.last().unwrap();
    rig.complete(last, "{}");
    while rig.run_work() {}
    rig.interrupted = false;
    assert!(rig.jobs("next").is_empty());
    rig.assert_terminated(instance);
}

#[test]
fn a_step_of_a_continuation_counts_once_when_its_element_is_gone() {
    let mut rig = Rig::with(wide("p", 3000, plain));
    rig.interrupted = true;
    let instance = rig.create("p", "{}");
    rig.cancel(instance).unwrap();
    while rig.run_work() {}
    rig.interrupted = false;
    rig.settle(1);
    rig.assert_terminated(instance);
}

/// Sizes of the batches that are written while `act` runs.
fn batches(rig: &mut Rig, act: impl FnOnce(&mut Rig)) -> Vec<usize> {
    rig.record_batches();
    rig.batches.clear();
    act(rig);
    rig.batches.iter().map(|(_, batch)| batch.len()).collect()
}

#[test]
fn large_variables_times_many_mappings_are_many_batches() {
    let mut rig = Rig::with(wide("p", 40, |bpmn, i| {
        plain(bpmn, i).input("=large", "local")
    }));
    let large = "x".repeat(1_000_000);
    let sizes = batches(&mut rig, |rig| {
        rig.create("p", &format!(r#"{{"large":"{large}"}}"#));
    });
    assert!(sizes.len() >= 20, "{} batches", sizes.len());
    let largest = sizes.iter().max().unwrap();
    assert!(*largest < 4_000_000, "{largest} bytes");
    assert_eq!(rig.intents("JOB").len(), 40);
}

#[test]
fn a_process_that_calls_itself_with_large_variables_is_stopped_by_its_depth() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .call_activity("again", "p")
        .end("e");
    let mut rig = Rig::with(bpmn);
    let large = "x".repeat(600_000);
    let mut instance = None;
    let sizes = batches(&mut rig, |rig| {
        instance = Some(rig.create("p", &format!(r#"{{"large":"{large}"}}"#)));
    });
    assert!(*sizes.iter().max().unwrap() < 4_000_000);
    assert_eq!(rig.incident().kind, "CALLED_ELEMENT_ERROR");
    rig.cancel(instance.unwrap()).unwrap();
    rig.assert_terminated(instance.unwrap());
}

#[test]
fn mappings_whose_results_are_too_large_are_an_incident() {
    let mut bpmn = Bpmn::process("p").start("s").service_task("t", "work");
    for i in 0..8 {
        bpmn = bpmn.input("=for i in 1..20 return large", &format!("v{i}"));
    }
    let mut rig = Rig::with(bpmn.end("e"));
    let large = "x".repeat(300_000);
    let sizes = batches(&mut rig, |rig| {
        rig.create("p", &format!(r#"{{"large":"{large}"}}"#));
    });
    assert!(*sizes.iter().max().unwrap() < 4_000_000);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "t")
    );
    assert!(incident.message.contains("bytes"), "{}", incident.message);
}

#[test]
fn variables_that_are_too_large_for_a_called_process_are_an_incident() {
    let mut rig = Rig::new();
    rig.deploy(Bpmn::process("child").start("s").end("e"));
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("t", "work")
        .call_activity("call", "child")
        .end("e");
    rig.deploy(bpmn);
    let instance = rig.create("p", "{}");
    let large = "x".repeat(2_000_000);
    for i in 0..10 {
        rig.set_variables(instance, &format!(r#"{{"v{i}":"{large}"}}"#), false);
    }
    let activate = ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: MINUTE,
        max_jobs: 1,
        fetch_variables: vec!["none".into()],
        tenants: skep_protocol::Tenants::default(),
    };
    let job = match rig.send(Command::ActivateJobs(activate)).unwrap() {
        skep_protocol::Response::JobsActivated { mut jobs, .. } => jobs.remove(0),
        other => panic!("{other:?}"),
    };
    rig.complete(&job, "{}");
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.element),
        ("IO_MAPPING_ERROR", "call")
    );
    for i in 0..10 {
        rig.set_variables(instance, &format!(r#"{{"v{i}":0}}"#), false);
    }
    rig.resolve(incident.key).unwrap();
    rig.assert_completed(instance);
}

/// Instances of twelve processes wait for a message.
fn many_that_catch(rig: &mut Rig) {
    for i in 0..12 {
        let bpmn = Bpmn::process(format!("p{i}"))
            .start("s")
            .catch_message("catch", "m", "=\"k\"")
            .end("e");
        rig.deploy(bpmn);
        rig.create(&format!("p{i}"), "{}");
    }
}

#[test]
fn a_large_message_for_many_processes_goes_out_in_turns() {
    let mut rig = Rig::new();
    many_that_catch(&mut rig);
    let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(600_000));
    let sizes = batches(&mut rig, |rig| {
        rig.publish("m", "k", 0, &large);
    });
    assert!(*sizes.iter().max().unwrap() < 4_000_000);
    assert_eq!(rig.open_instances(), []);
    assert_eq!(rig.intents("MESSAGE"), ["PUBLISHED", "EXPIRED"]);
}

#[test]
fn a_message_that_goes_out_in_turns_does_not_expire_in_between() {
    let mut rig = Rig::new();
    many_that_catch(&mut rig);
    rig.interrupted = true;
    let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(600_000));
    rig.publish("m", "k", 0, &large);
    assert!(!rig.open_instances().is_empty());
    let now = rig.now;
    rig.partitions[0]
        .engine
        .run_due(now, false, &mut rig.streams);
    rig.interrupted = false;
    rig.settle(1);
    assert_eq!(rig.open_instances(), []);
}

#[test]
fn large_messages_that_end_at_once_are_many_batches() {
    let mut rig = Rig::with(small());
    let large = format!(r#"{{"large":"{}"}}"#, "x".repeat(600_000));
    for i in 0..12 {
        rig.publish("m", &i.to_string(), MINUTE, &large);
    }
    let sizes = batches(&mut rig, |rig| rig.advance(2 * MINUTE));
    assert!(*sizes.iter().max().unwrap() < 4_000_000);
    assert_eq!(rig.intents("MESSAGE").len(), 24);
}

#[test]
fn pushed_jobs_with_large_variables_leave_in_turns() {
    let mut rig = Rig::with(wide("p", 20, plain));
    rig.streams.open("work", 100);
    rig.interrupted = true;
    rig.create("p", &format!(r#"{{"large":"{}"}}"#, "x".repeat(1_000_000)));
    let first = rig.streams.take().len();
    assert!((1..8).contains(&first), "{first} jobs in the first turn");
    let mut pushed = first;
    while rig.run_work() {
        let jobs = rig.streams.take().len();
        assert!(jobs < 8, "{jobs} jobs in one turn");
        pushed += jobs;
    }
    assert_eq!(pushed, 20);
}

#[test]
fn the_expressions_of_one_element_share_the_budget_of_one() {
    let costly = "=count(for i in 1..20000 return i ** 2)";
    let with = |mappings: usize| {
        let mut bpmn = Bpmn::process("p").start("s").service_task("t", "work");
        for i in 0..mappings {
            bpmn = bpmn.input(costly, &format!("v{i}"));
        }
        let mut rig = Rig::with(bpmn.end("e"));
        rig.create("p", "{}");
        rig
    };
    assert_eq!(with(1).intents("JOB"), ["CREATED"]);
    let rig = with(60);
    assert_eq!(rig.intents("JOB"), Vec::<&str>::new());
    let incident = rig.incident();
    assert_eq!(incident.kind, "IO_MAPPING_ERROR");
    assert!(
        incident.message.contains("together"),
        "{}",
        incident.message
    );
}
