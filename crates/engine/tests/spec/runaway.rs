//! A model that never waits must not stop the partition.

use std::sync::Arc;

use skep_engine::state::{State, table::EmptyStore};
use skep_engine::{Engine, EngineConfig, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::Response;
use skep_protocol::command::{Command, Deploy, Request, Resource};
use skep_testkit::rig::*;

/// Deployment refuses a loop of elements that never wait, but accepts one through a sub-process, whose content may wait.
fn endless() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .exclusive("again")
        .sub_process("sub", |sub| sub.start("s2").end("e2"))
        .exclusive("done?")
        .when("=go")
        .end("e")
        .from("done?")
        .otherwise()
        .to("again")
}

#[test]
fn an_endless_loop_becomes_an_incident_that_a_variable_ends() {
    let mut rig = Rig::with(endless());
    let instance = rig.create("p", r#"{"go":false}"#);
    let incident = rig.incident();
    assert_eq!(incident.kind, "UNKNOWN");
    rig.set_variables(instance, r#"{"go":true}"#, false);
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents(), []);
    rig.assert_completed(instance);
}

/// Loops that deployment accepts, since elements in them may wait.
#[test]
fn an_endless_loop_through_decisions_or_calls_becomes_an_incident() {
    let through: [fn(Bpmn) -> Bpmn; 2] = [
        |p| p.decision("x", "d", "r"),
        |p| p.call_activity("x", "called"),
    ];
    for make in through {
        let bpmn = make(Bpmn::process("p").start("s").exclusive("again"));
        let bpmn = bpmn.exclusive("done?").when("=go").end("e");
        let bpmn = bpmn.from("done?").otherwise().to("again");
        let mut rig = Rig::with(bpmn);
        let called = Bpmn::process("called").start("cs").end("ce").xml();
        let files = vec![
            ("d.dmn", decision("rules", "d", "1")),
            ("called.bpmn", called),
        ];
        rig.deploy_files(files).expect("both deploy");
        let instance = rig.create("p", r#"{"go":false}"#);
        let incident = rig.incident();
        assert_eq!(incident.kind, "UNKNOWN");
        rig.set_variables(instance, r#"{"go":true}"#, false);
        rig.resolve(incident.key).unwrap();
        rig.assert_completed(instance);
    }
}

#[test]
fn an_endless_loop_can_be_cancelled() {
    let mut rig = Rig::with(endless());
    let instance = rig.create("p", r#"{"go":false}"#);
    let incident = rig.incident();
    rig.resolve(incident.key).unwrap();
    assert_eq!(rig.incidents().len(), 1);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_gateway_that_had_chosen_chooses_again() {
    // The loop comes to its end at the gateway itself, which must not take all its flows.
    for length in 0..10 {
        let mut bpmn = Bpmn::process("p").start("s");
        for i in 0..length {
            bpmn = bpmn.task(format!("t{i}"));
        }
        let bpmn = bpmn
            .exclusive("again")
            .sub_process("sub", |sub| sub.start("s2").end("e2"))
            .exclusive("done?")
            .when("=go")
            .service_task("end", "end")
            .end("e")
            .from("done?")
            .otherwise()
            .to("again");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", r#"{"go":false}"#);
        let incident = rig.incident();
        rig.set_variables(instance, r#"{"go":true}"#, false);
        rig.resolve(incident.key).unwrap();
        rig.work("end", "{}");
        rig.assert_completed(instance);
    }
}

/// A rig with a maximum number of element instances per process instance.
fn bounded(most: u32) -> Rig {
    Rig::with_configs(1, |partition| EngineConfig {
        max_element_instances: most,
        ..config(partition, 1)
    })
}

#[test]
fn concurrent_element_instances_of_a_process_instance_are_limited() {
    for sequential in [false, true] {
        let mut rig = bounded(20);
        let each = |sub: Bpmn| sub.start("s2").service_task("work", "work").end("e2");
        let process = Bpmn::process("p").start("s").sub_process("sub", each);
        let process = process.for_each("=for i in 1..30 return i", "item");
        let process = if sequential {
            process.sequential()
        } else {
            process
        };
        rig.deploy(process.end("e"));
        let instance = rig.create("p", "{}");
        let mut incidents = 0;
        while rig.is_running(instance) {
            // Elements about to be activated in existing ones get an incident.
            let count = rig.engine(1).state.elements.count_of(instance);
            assert!(count <= 2 * 20 + 1, "{count} element instances");
            for incident in rig.incidents() {
                assert_eq!(incident.kind, "UNKNOWN");
                assert!(
                    incident.message.contains("20 element instances"),
                    "{}",
                    incident.message
                );
                incidents += 1;
            }
            for job in rig.jobs("work") {
                rig.complete(&job, "{}");
            }
            rig.resolve_all();
        }
        assert_eq!(incidents > 0, !sequential);
        let work = rig.completed(instance);
        assert_eq!(work.iter().filter(|id| *id == "work").count(), 30);
        rig.assert_completed(instance);
    }
}

#[test]
fn one_that_has_too_many_can_be_cancelled() {
    let mut rig = bounded(20);
    let mut process = Bpmn::process("p").start("s").parallel("fork");
    for branch in 0..40 {
        process = process
            .from("fork")
            .service_task(format!("t{branch}"), "work");
    }
    rig.deploy(process);
    let instance = rig.create("p", "{}");
    assert_eq!(rig.incidents().len(), 20);
    rig.cancel(instance).unwrap();
    rig.assert_terminated(instance);
}

#[test]
fn a_process_that_doubles_without_end_is_stopped_by_incidents_and_can_be_cancelled() {
    // Each instance calls two more. The rig inspects all rows after each turn, which would take too long here.
    let bpmn = Bpmn::process("p")
        .start("s")
        .parallel("fork")
        .call_activity("one", "p")
        .end("e")
        .from("fork")
        .call_activity("two", "p")
        .end("e2");
    let state = State::open(1, Arc::new(EmptyStore)).unwrap();
    let config = EngineConfig {
        max_process_depth: 1000,
        ..config(1, 1)
    };
    let mut engine = Engine::new(config, state, 1);
    let run = |engine: &mut Engine, command: Command| {
        engine.process(START, Some(1), &Request::internal(command), &mut NoStreams);
        let mut answer = engine.take_batch().1.responses.pop();
        while engine.has_work() {
            engine.run_work(START, &mut NoStreams);
            let (batch, effects) = engine.take_batch();
            assert!(batch.unwrap().len() < 4 << 20);
            answer = answer.or(effects.responses.into_iter().next());
        }
        answer.unwrap().1.unwrap()
    };
    let resources = vec![Resource {
        name: "p.bpmn".into(),
        content: bpmn.xml().into(),
    }];
    run(&mut engine, Command::Deploy(Deploy { resources }));
    let created = run(&mut engine, Rig::creation("p", "{}").into_command());
    let Response::ProcessInstanceCreated(created) = created else {
        panic!("{created:?}");
    };
    assert!(engine.state.incidents.table.len() > 10_000);
    assert!(engine.state.elements.table.len() < 1_000_000);
    let process_instance_key = created.process_instance_key;
    run(
        &mut engine,
        Command::CancelProcessInstance {
            process_instance_key,
        },
    );
    assert_eq!(engine.state.elements.table.len(), 0);
    assert_eq!(engine.state.incidents.table.len(), 0);
}

#[test]
fn a_signal_that_was_thrown_is_not_thrown_again_when_its_incident_is_resolved() {
    // The loop comes to its end at each of its steps once.
    for length in 0..12 {
        let mut bpmn = Bpmn::process("p").start("s");
        for i in 0..length {
            bpmn = bpmn.task(format!("t{i}"));
        }
        let bpmn = bpmn
            .exclusive("again")
            .sub_process("sub", |sub| {
                sub.start("s2").throw_signal("throw", "go").end("e2")
            })
            .exclusive("done?")
            .when("=go")
            .end("e")
            .from("done?")
            .otherwise()
            .to("again");
        let mut rig = Rig::with(bpmn);
        let instance = rig.create("p", r#"{"go":false}"#);
        let incident = rig.incident();
        rig.set_variables(instance, r#"{"go":true}"#, false);
        rig.resolve(incident.key).unwrap();
        rig.assert_completed(instance);
        let thrown = rig.intents("SIGNAL").into_iter();
        let completed = rig.completed(instance);
        let completed = completed.iter().filter(|element| *element == "throw");
        assert_eq!(
            thrown.filter(|intent| *intent == "BROADCASTED").count(),
            completed.count(),
            "after {length} tasks"
        );
    }
}
