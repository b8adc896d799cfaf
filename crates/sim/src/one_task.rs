//! What measurements of the engine share: start, one service task, end, and a worker that takes every job.

use std::sync::Arc;
use std::time::Duration;

use skep_engine::state::table::EmptyStore;
use skep_engine::state::{State, VariableNames};
use skep_engine::{Engine, EngineConfig, JobStreams, Reservation};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    Command, CreateProcessInstance, Deploy, ProcessRef, Request, Resource,
};
use skep_protocol::origin::Claims;
use skep_protocol::{Document, Key, Tenants};

/// The id of the process, where one is enough.
pub const PROCESS: &str = "one-task";

/// Variables as an order has them.
pub const VARIABLES: &str = r#"{"orderId":"A-1","amount":12.5}"#;

/// An engine on an empty store.
///
/// # Panics
/// Never: an empty store opens.
#[must_use]
pub fn engine() -> Engine {
    let state = State::open(1, Arc::new(EmptyStore)).expect("an empty store opens");
    Engine::new(EngineConfig::default(), state, 1)
}

/// Deploys the process with this id.
#[must_use]
pub fn deployment(process: &str) -> Request {
    let bpmn = Bpmn::process(process).start("start");
    let xml = bpmn.service_task("task", "work").end("end").xml();
    let resource = Resource {
        name: format!("{process}.bpmn"),
        content: xml.into(),
    };
    let resources = vec![resource];
    Request::internal(Command::Deploy(Deploy { resources }))
}

/// Creates an instance with these variables, a JSON object.
///
/// # Panics
/// When they are none.
#[must_use]
pub fn creation(process: &str, variables: &str) -> Request {
    let create = Command::CreateProcessInstance(CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: process.into(),
            version: -1,
        },
        variables: Document::parse(variables).expect("a JSON object"),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result: None,
    });
    Request::internal(create)
}

/// Completes the job of an instance, which ends with it.
#[must_use]
pub fn completion(job_key: Key) -> Request {
    let complete = Command::CompleteJob {
        job_key,
        variables: Document::new(),
        result: None,
    };
    Request::internal(complete)
}

/// A worker with room for every job.
#[derive(Debug)]
pub struct Worker {
    name: Arc<str>,
    all: VariableNames,
}

impl Default for Worker {
    fn default() -> Worker {
        Worker {
            name: "worker".into(),
            all: VariableNames::all(),
        }
    }
}

impl JobStreams for Worker {
    fn reserve(
        &mut self,
        _job_type: &str,
        _may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Reservation> {
        Some(Reservation {
            stream: 1,
            worker: self.name.clone(),
            timeout: 60_000,
            fetch_variables: self.all.clone(),
            tenants: Tenants::default(),
        })
    }

    fn release(&mut self, _reservation: Reservation) {}
}

/// CPU time that the calling thread has used: other work on the machine does not count.
///
/// # Panics
/// On other systems than Linux.
#[must_use]
pub fn cpu_time() -> Duration {
    cpu_time_in("/proc/thread-self/schedstat")
}

/// CPU time that the thread of this name, of this process, has used.
///
/// # Panics
/// When there is none, and on other systems than Linux.
#[must_use]
pub fn cpu_time_of(thread: &str) -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let found = tasks.flatten().find(|task| {
        let name = std::fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.trim() == thread)
    });
    cpu_time_in(found.expect("the thread").path().join("schedstat"))
}

fn cpu_time_in(schedstat: impl AsRef<std::path::Path>) -> Duration {
    let text = std::fs::read_to_string(schedstat).expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}
