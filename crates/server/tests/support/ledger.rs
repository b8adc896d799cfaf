//! Clients that remember acknowledged work, and the final checks.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skep_client::{ActivateJobs, Client, Code, CreateInstance, Error, Job, Resource};
use tokio::task::JoinHandle;

use super::{PATIENCE, Server};

pub const ONE_TASK: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"
    targetNamespace="t">
  <bpmn:process id="one-task" isExecutable="true">
    <bpmn:startEvent id="start"><bpmn:outgoing>a</bpmn:outgoing></bpmn:startEvent>
    <bpmn:serviceTask id="task">
      <bpmn:extensionElements><zeebe:taskDefinition type="work"/></bpmn:extensionElements>
      <bpmn:incoming>a</bpmn:incoming><bpmn:outgoing>b</bpmn:outgoing>
    </bpmn:serviceTask>
    <bpmn:endEvent id="end"><bpmn:incoming>b</bpmn:incoming></bpmn:endEvent>
    <bpmn:sequenceFlow id="a" sourceRef="start" targetRef="task"/>
    <bpmn:sequenceFlow id="b" sourceRef="task" targetRef="end"/>
  </bpmn:process>
</bpmn:definitions>"#;

pub async fn deploy_one_task(client: &Client) {
    let resource = Resource {
        name: "one-task.bpmn".into(),
        content: ONE_TASK.into(),
    };
    // A new cluster may have no leader yet, or a different one a moment later. Deploying the same model again has no effect.
    let end = Instant::now() + PATIENCE;
    loop {
        match client.deploy(std::slice::from_ref(&resource), None).await {
            Err(error)
                if matches!(error.code(), Some(Code::Unavailable | Code::Aborted))
                    && Instant::now() < end =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            deployed => return drop(deployed.unwrap()),
        }
    }
}

/// Knowledge of the clients.
#[derive(Default)]
pub struct Ledger {
    /// Acknowledged creations.
    pub created: HashSet<i64>,
    /// Jobs with acknowledged completion, and the number of completions before.
    pub completed: HashMap<i64, usize>,
    /// The instance of each job seen.
    pub instance_of: HashMap<i64, i64>,
    /// The last refusal of each kind.
    pub refusals: HashMap<Code, String>,
}

#[derive(Clone, Default)]
pub struct Shared(pub Arc<Mutex<Ledger>>);

impl Ledger {
    pub fn complete(&mut self, job: &Job) {
        self.instance_of.insert(job.key, job.process_instance_key);
        let before = self.completed.len();
        self.completed.entry(job.key).or_insert(before);
    }

    /// Acknowledged instances without any job seen.
    fn missing(&self) -> Vec<i64> {
        let seen: HashSet<i64> = self.instance_of.values().copied().collect();
        self.created.difference(&seen).copied().collect()
    }

    /// Asserts that no job comes back after its completion. `known` is the number of completions when the jobs were requested: answers to
    /// an activation and to a later completion may overtake each other.
    fn expect_open(&self, job: &Job, known: usize) {
        let completed = self.completed.get(&job.key);
        assert!(
            completed.is_none_or(|number| *number >= known),
            "job {} came back after its completion",
            job.key
        );
    }
}

impl Shared {
    pub fn with<R>(&self, look: impl FnOnce(&mut Ledger) -> R) -> R {
        look(&mut self.0.lock().unwrap())
    }

    pub fn created(&self) -> usize {
        self.with(|ledger| ledger.created.len())
    }

    pub fn completed(&self) -> usize {
        self.with(|ledger| ledger.completed.len())
    }

    #[allow(dead_code)] // Not every test file looks at refusals.
    pub fn refusal(&self, code: Code) -> Option<String> {
        self.with(|ledger| ledger.refusals.get(&code).cloned())
    }
}

/// Clients that load one run of a server. They end when it no longer answers.
pub struct Load(Vec<JoinHandle<()>>);

impl Load {
    /// Half of the `clients` create instances with these variables, the others complete jobs.
    pub fn start(server: &Server, ledger: &Shared, clients: usize, variables: &str) -> Load {
        let tasks = (0..clients).map(|n| {
            let (client, ledger) = (server.client(), ledger.clone());
            if n % 2 == 0 {
                tokio::spawn(create(client, ledger, variables.to_string()))
            } else {
                tokio::spawn(work(client, ledger))
            }
        });
        Load(tasks.collect())
    }

    /// All `clients` create instances.
    #[allow(dead_code)] // Not every test file fills a disk.
    pub fn creations(server: &Server, ledger: &Shared, clients: usize, variables: &str) -> Load {
        let tasks = (0..clients).map(|_| {
            tokio::spawn(create(
                server.client(),
                ledger.clone(),
                variables.to_string(),
            ))
        });
        Load(tasks.collect())
    }

    /// Waits until the clients have seen that the server is gone.
    pub async fn end(self) {
        for task in self.0 {
            task.await.unwrap();
        }
    }

    /// Stops the clients while the server is running. The outcome of their open requests is unknown.
    #[allow(dead_code)] // Crash tests take the server away instead.
    pub async fn stop(self) {
        for task in self.0 {
            task.abort();
            if let Err(error) = task.await {
                assert!(error.is_cancelled(), "{error}");
            }
        }
    }
}

async fn create(client: Client, ledger: Shared, variables: String) {
    let request = CreateInstance::latest("one-task").variables(variables);
    loop {
        match client.create_instance(&request).await {
            Ok(instance) => {
                let key = instance.process_instance_key;
                let new = ledger.with(|ledger| ledger.created.insert(key));
                assert!(new, "key {key} was given twice");
            }
            Err(error) if error.code() == Some(Code::ResourceExhausted) => {
                note(&ledger, &error);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Err(error) if error.is_ambiguous() || error.is_retryable() => {
                note(&ledger, &error);
                if error.code() != Some(Code::DeadlineExceeded) {
                    return;
                }
            }
            Err(error) => panic!("refused: {error}"),
        }
    }
}

fn note(ledger: &Shared, error: &Error) {
    if let Error::Refused(problem) = error {
        ledger.with(|ledger| ledger.refusals.insert(problem.code, problem.detail.clone()));
    }
}

async fn work(client: Client, ledger: Shared) {
    let request = ActivateJobs {
        timeout: Duration::from_millis(500),
        long_poll: Some(Duration::from_millis(200)),
        ..ActivateJobs::new("work", 16)
    };
    loop {
        let known = ledger.completed();
        let Ok(jobs) = client.activate_jobs(&request).await else {
            return;
        };
        for job in jobs {
            ledger.with(|ledger| {
                ledger.expect_open(&job, known);
                ledger.instance_of.insert(job.key, job.process_instance_key);
            });
            match client.complete_job(job.key, None).await {
                Ok(()) => ledger.with(|ledger| ledger.complete(&job)),
                // Timed out and completed by another worker, or a completion whose answer was lost.
                Err(error) if error.code() == Some(Code::NotFound) => {}
                Err(error) => return note(&ledger, &error),
            }
        }
    }
}

/// Completes the remaining jobs, until each acknowledged instance has had its job and no other job has come for longer than a job's
/// time-out. A slow disk only takes longer.
pub async fn drain(client: &Client, ledger: &Shared) {
    let request = ActivateJobs {
        timeout: PATIENCE,
        long_poll: Some(Duration::from_secs(3)),
        ..ActivateJobs::new("work", 100)
    };
    let mut last = Instant::now();
    let began = last;
    loop {
        assert!(
            began.elapsed() < PATIENCE * 3,
            "jobs come without end: {} of {} completed",
            ledger.completed(),
            ledger.created()
        );
        let known = ledger.completed();
        let jobs = client.activate_jobs(&request).await;
        let jobs = jobs.unwrap_or_else(|error| expect_doubt(&error));
        if jobs.is_empty()
            && (ledger.with(|ledger| ledger.missing().is_empty()) || last.elapsed() > PATIENCE)
        {
            return;
        }
        for job in jobs {
            last = Instant::now();
            ledger.with(|ledger| ledger.expect_open(&job, known));
            match client.complete_job(job.key, None).await {
                Ok(()) => ledger.with(|ledger| ledger.complete(&job)),
                // The instance has had its job.
                Err(error) => {
                    expect_doubt::<()>(&error);
                    let instance = job.process_instance_key;
                    ledger.with(|ledger| ledger.instance_of.insert(job.key, instance));
                }
            }
        }
    }
}

/// The server was too slow to answer, or lost the connection with the node that would: returns nothing.
fn expect_doubt<T: Default>(error: &Error) -> T {
    let doubt = matches!(error, Error::Timeout(_))
        || matches!(
            error.code(),
            Some(Code::DeadlineExceeded | Code::Unavailable | Code::Aborted)
        );
    assert!(doubt, "refused: {error}");
    T::default()
}

/// Asserts that each acknowledged instance has had its job, and that no job with an acknowledged completion comes again.
pub async fn expect_everything_acknowledged(server: &Server, ledger: &Shared) {
    drain(&server.client(), ledger).await;
    ledger.with(|ledger| {
        let lost = ledger.missing();
        assert!(
            lost.is_empty(),
            "{} of {} acknowledged instances are lost: {lost:?}",
            lost.len(),
            ledger.created.len()
        );
    });
}
