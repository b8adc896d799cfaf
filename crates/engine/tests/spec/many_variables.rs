//! A scope may have very many variables: finding one must not iterate over all. With 200,000 variables, linear searches would take many
//! minutes.

use std::sync::Arc;

use skep_engine::state::{State, table::EmptyStore};
use skep_engine::{Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::{ActivatedJob, Document, Key, Response};

use skep_testkit::rig::*;

const MANY: usize = 200_000;

/// A partition on its own: the rig inspects every record, which would take too long here.
struct Lone {
    leader: Engine,
    follower: Engine,
}

impl Lone {
    fn with(bpmn: Bpmn) -> Lone {
        let engine = || {
            let state = State::open(1, Arc::new(EmptyStore)).unwrap();
            Engine::new(config(1, 1), state, 1)
        };
        let mut lone = Lone {
            leader: engine(),
            follower: engine(),
        };
        let resources = vec![Resource {
            name: "p.bpmn".into(),
            content: bpmn.xml().into(),
        }];
        lone.send(Command::Deploy(Deploy { resources }));
        lone
    }

    fn evaluate(&mut self, expression: &str, variables: Document) -> String {
        let expression = expression.into();
        let command = Command::EvaluateExpression {
            expression,
            variables,
        };
        self.leader
            .process(START, Some(1), &Request::internal(command), &mut NoStreams);
        match self.leader.take_batch().1.responses.pop() {
            Some((_, Ok(Response::ExpressionEvaluated { result, warnings }))) => {
                assert_eq!(warnings.len(), 0);
                result
            }
            other => panic!("{other:?}"),
        }
    }

    /// The answer to this command, or to one that waited for it.
    fn send(&mut self, command: Command) -> Option<Response> {
        self.leader
            .process(START, Some(1), &Request::internal(command), &mut NoStreams);
        let mut answer = self.commit();
        while self.leader.has_work() {
            self.leader.run_work(START, &mut NoStreams);
            answer = self.commit().or(answer);
        }
        assert!(self.leader.state.dump() == self.follower.state.dump());
        answer
    }

    fn commit(&mut self) -> Option<Response> {
        let (batch, effects) = self.leader.take_batch();
        self.follower.apply(&batch.unwrap()).unwrap();
        let (_, answer) = effects.responses.into_iter().next_back()?;
        Some(answer.unwrap())
    }

    fn create(&mut self, variables: Document) -> Key {
        let mut creation = Rig::creation("p", "{}");
        creation.variables = variables;
        match self.send(creation.into_command()) {
            Some(Response::ProcessInstanceCreated(created)) => created.process_instance_key,
            other => panic!("{other:?}"),
        }
    }

    fn job(&mut self, job_type: &str, fetch_variables: Vec<Arc<str>>) -> ActivatedJob {
        let command = ActivateJobs {
            job_type: job_type.into(),
            worker: "w".into(),
            timeout: MINUTE,
            max_jobs: 1,
            fetch_variables,
            tenants: skep_protocol::Tenants::default(),
        };
        match self.send(Command::ActivateJobs(command)) {
            Some(Response::JobsActivated { mut jobs, .. }) => jobs.remove(0),
            other => panic!("{other:?}"),
        }
    }
}

fn name(i: usize) -> String {
    format!("v{i}")
}

/// `{"v0":…,"v1":…}`
fn document(value: &str) -> Document {
    let pairs: Vec<String> = (0..MANY).map(|i| format!("\"v{i}\":{value}")).collect();
    Document::parse(&format!("{{{}}}", pairs.join(","))).unwrap()
}

fn task(job_type: &str) -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", job_type)
        .end("e")
}

#[test]
fn they_are_created_and_fetched_by_a_long_list_of_names() {
    let mut lone = Lone::with(task("work"));
    lone.create(document("1"));
    // Half of the names exist, in another order than the variables.
    let names = (MANY / 2..MANY + MANY / 2).rev().map(|i| name(i).into());
    let job = lone.job("work", names.collect());
    let fetched = Document::parse(&job.variables).unwrap();
    let names: Vec<&str> = fetched.entries().iter().map(|(n, _)| &**n).collect();
    let expected: Vec<String> = (MANY / 2..MANY).map(name).collect();
    assert!(names == expected, "in the order of their creation");
}

#[test]
fn a_job_changes_all_of_them() {
    let mut lone = Lone::with(task("work"));
    let instance = lone.create(document("1"));
    let job = lone.job("work", Vec::new());
    let variables = document("2");
    lone.send(Command::FailJob(FailJob {
        job_key: job.key,
        retries: 1,
        retry_back_off: 0,
        error_message: String::new(),
        variables: variables.clone(),
    }));
    let job = lone.job("work", Vec::new());
    let fetched = Document::parse(&job.variables).unwrap();
    assert!(fetched.entries() == variables.entries(), "each hides one");
    lone.send(Command::SetVariables {
        element_instance_key: instance,
        variables: document("3"),
        local: false,
    });
    let row = lone.leader.state.elements.get(instance).unwrap();
    assert!(row.variables.get("v199999").unwrap().is("3"));
    assert_eq!(row.variables.iter().count(), MANY);
}

#[test]
fn they_go_into_a_called_process_and_come_back_with_the_result() {
    let child = Bpmn::process("child").start("s").end("e");
    let bpmn = Bpmn::process("p")
        .start("s")
        .call_activity("call", "child")
        .end("e");
    let mut lone = Lone::with(child);
    let resources = vec![Resource {
        name: "caller.bpmn".into(),
        content: bpmn.xml().into(),
    }];
    lone.send(Command::Deploy(Deploy { resources }));
    let mut creation = Rig::creation("p", "{}");
    creation.variables = document("1");
    creation.await_result = Some(AwaitResult {
        fetch_variables: (0..2 * MANY).map(name).collect(),
    });
    match lone.send(creation.into_command()) {
        Some(Response::ProcessInstanceResult { variables, .. }) => {
            let variables = Document::parse(&variables).unwrap();
            assert_eq!(variables.entries().len(), MANY);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn they_are_found_in_a_row_that_was_read_back() {
    let mut lone = Lone::with(task("work"));
    let instance = lone.create(document("1"));
    let store = MemoryStore::default();
    let mut pending = Pending::default();
    lone.leader.state.checkpoint(&mut pending);
    store.write(pending);
    let state = State::open(1, Arc::new(store)).unwrap();
    let mut engine = Engine::new(config(1, 1), state, lone.leader.next_position());
    let set = Command::SetVariables {
        element_instance_key: instance,
        variables: document("2"),
        local: false,
    };
    engine.process(START, None, &Request::internal(set), &mut NoStreams);
    let row = engine.state.elements.get(instance).unwrap();
    assert!(row.variables.iter().all(|v| v.is("2")));
}

/// Element ids in commands are looked up likewise.
#[test]
fn a_creation_names_very_many_elements() {
    let mut bpmn = Bpmn::process("p").start("s").parallel("fork");
    for i in 0..5_000 {
        bpmn = bpmn.from("fork").end(name(i));
    }
    let mut lone = Lone::with(bpmn);
    let mut creation = Rig::creation("p", "{}");
    creation.terminate_after = (0..MANY).map(|i| name(4_000 + i % 2_000)).collect();
    let created = lone.send(creation.into_command());
    assert!(matches!(created, Some(Response::ProcessInstanceCreated(_))));
}

#[test]
fn an_expression_asks_for_half_of_them() {
    let mut lone = Lone::with(task("work"));
    let names: Vec<String> = (MANY / 2..MANY).map(name).collect();
    let answer = lone.evaluate(&format!("=count([{}])", names.join(",")), document("1"));
    assert_eq!(answer, (MANY / 2).to_string());
}
