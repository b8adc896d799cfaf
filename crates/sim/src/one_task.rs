//! Shared parts of engine benchmarks: a process with start, one service task and end, and a worker that takes every job.

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
use skep_protocol::{Document, Key, TenantFilter, Tenants};

/// The process ID, for benchmarks with a single process.
pub const PROCESS: &str = "one-task";

/// Typical variables of an order.
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

/// Deploys a process with this ID.
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
/// If `variables` is not a JSON object.
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

/// Completes the job of an instance, which ends the instance.
#[must_use]
pub fn completion(job_key: Key) -> Request {
    let complete = Command::CompleteJob {
        job_key,
        variables: Document::new(),
        result: None,
    };
    Request::internal(complete)
}

/// A worker without a limit on jobs.
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
            tenant_filter: TenantFilter::default(),
        })
    }

    fn has_credit(&mut self, _job_type: &str) -> bool {
        true
    }

    fn release(&mut self, _reservation: Reservation) {}
}

/// CPU time used by the calling thread. Other load on the machine does not count.
///
/// # Panics
/// On systems other than Linux.
#[must_use]
pub fn cpu_time() -> Duration {
    cpu_time_in("/proc/thread-self/schedstat")
}

/// CPU time used by the thread with this name in this process.
///
/// # Panics
/// If there is no such thread, and on systems other than Linux.
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
