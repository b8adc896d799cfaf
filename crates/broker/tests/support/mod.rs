//! A broker in a temporary directory, with the requests that tests send.
#![allow(dead_code)] // Every test file uses its part.

pub mod exporter;

use skep_protocol::origin::Claims;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_broker::clock::Clock;
use skep_broker::{Broker, BrokerConfig};
use skep_model::builder::Bpmn;
use skep_protocol::command::{
    ActivateJobs, AwaitResult, Command, CreateProcessInstance, Deploy, ProcessRef, PublishMessage,
    Request, Resource,
};
use skep_protocol::{Document, Failure, Key, Response};
use skep_service::Broker as _;

/// Generous, so that other work on the machine or a slow disk is no reason to fail.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub struct Rig {
    pub broker: Arc<Broker>,
    pub clock: Arc<Clock>,
    pub directory: Arc<tempfile::TempDir>,
}

impl Rig {
    pub async fn new(change: impl FnOnce(&mut BrokerConfig)) -> Rig {
        Rig::open(Arc::new(tempfile::tempdir().unwrap()), change).await
    }

    pub async fn open(
        directory: Arc<tempfile::TempDir>,
        change: impl FnOnce(&mut BrokerConfig),
    ) -> Rig {
        let clock = Arc::new(Clock::default());
        let mut config = config(directory.path());
        change(&mut config);
        let broker = Broker::open(config, clock.clone()).unwrap();
        while !broker.is_ready() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Rig {
            broker,
            clock,
            directory,
        }
    }

    /// Stops the broker and opens it again over the same data.
    pub async fn restart(self, change: impl FnOnce(&mut BrokerConfig)) -> Rig {
        let Rig {
            broker, directory, ..
        } = self;
        tokio::task::spawn_blocking(move || broker.stop())
            .await
            .unwrap();
        Rig::open(directory, change).await
    }

    pub async fn send(&self, command: Command) -> Result<Response, Failure> {
        self.broker.execute(Request::internal(command)).await.result
    }

    pub async fn deploy(&self, process: &Bpmn) {
        let resource = Resource {
            name: "test.bpmn".into(),
            content: process.clone().xml().into(),
        };
        let deploy = Command::Deploy(Deploy {
            resources: vec![resource],
        });
        // The replicas may be about to elect a leader.
        let began = Instant::now();
        loop {
            match self.send(deploy.clone()).await {
                Err(Failure::Unavailable(_)) if began.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                deployed => return drop(deployed.unwrap()),
            }
        }
    }

    pub async fn create(&self, id: &str, variables: &str) -> Result<Key, Failure> {
        match self.send(create(id, variables, None)).await? {
            Response::ProcessInstanceCreated(created) => Ok(created.process_instance_key),
            other => panic!("{other:?}"),
        }
    }

    pub async fn complete(&self, job_key: Key) -> Result<Response, Failure> {
        self.send(Command::CompleteJob {
            job_key,
            variables: Document::new(),
            result: None,
        })
        .await
    }

    pub async fn activate(
        &self,
        max_jobs: u32,
        wait: Duration,
    ) -> Vec<skep_protocol::ActivatedJob> {
        self.broker
            .activate_jobs(jobs(max_jobs), Claims::Internal, wait)
            .await
            .unwrap()
    }
}

fn config(directory: &Path) -> BrokerConfig {
    BrokerConfig {
        directory: directory.to_path_buf(),
        check_interval: Duration::from_millis(20),
        retry_interval: Duration::from_millis(50),
        poll_answer_timeout: PATIENCE,
        ..BrokerConfig::default()
    }
}

pub fn one_task() -> Bpmn {
    Bpmn::process("one-task")
        .start("start")
        .service_task("task", "work")
        .end("end")
}

pub fn create(id: &str, variables: &str, await_result: Option<AwaitResult>) -> Command {
    Command::CreateProcessInstance(CreateProcessInstance {
        process: ProcessRef::Id {
            bpmn_process_id: id.into(),
            version: -1,
        },
        variables: Document::parse(variables).unwrap(),
        start_instructions: vec![],
        terminate_after: vec![],
        tags: vec![],
        business_id: None,
        await_result,
    })
}

pub fn publish(name: &str, correlation_key: &str, variables: &str) -> Command {
    Command::PublishMessage(PublishMessage {
        name: name.into(),
        correlation_key: correlation_key.into(),
        time_to_live: 60_000,
        message_id: "".into(),
        variables: Document::parse(variables).unwrap(),
    })
}

pub fn jobs(max_jobs: u32) -> ActivateJobs {
    ActivateJobs {
        job_type: "work".into(),
        worker: "test".into(),
        timeout: 60_000,
        max_jobs,
        fetch_variables: vec![],
        tenants: skep_protocol::Tenants::default(),
    }
}
