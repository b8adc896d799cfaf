//! Acknowledged means durable: the real binary is killed (`kill -9`) again and again under load, and every command that it
//! had acknowledged must still be there.
//!
//! `SKEP_CRASH_ROUNDS=200 cargo test -p skep --test crash` kills more often than the default.

mod support;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skep_client::{ActivateJobs, Client, Code, CreateInstance, Error, Resource};
use support::Server;

const ONE_TASK: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
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

/// What the clients know.
#[derive(Default)]
struct Ledger {
    /// Creations that were acknowledged.
    created: HashSet<i64>,
    /// Jobs whose completion was acknowledged.
    completed: HashSet<i64>,
    /// Jobs whose completion was sent and not answered: done or not, both are right.
    in_doubt: HashSet<i64>,
    /// The instance of each job seen.
    instance_of: HashMap<i64, i64>,
}

type Shared = Arc<Mutex<Ledger>>;

async fn create(client: Client, ledger: Shared) {
    let request =
        CreateInstance::latest("one-task").variables(r#"{"orderId":"A-17","amount":42.5}"#);
    loop {
        match client.create_instance(&request).await {
            Ok(instance) => {
                let new = ledger
                    .lock()
                    .unwrap()
                    .created
                    .insert(instance.process_instance_key);
                assert!(new, "key {} was given twice", instance.process_instance_key);
            }
            Err(error) if error.code() == Some(Code::ResourceExhausted) => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            Err(Error::Refused(problem)) if !Error::Refused(problem.clone()).is_ambiguous() => {
                panic!("refused: {problem}")
            }
            Err(_) => return,
        }
    }
}

async fn work(client: Client, ledger: Shared) {
    let request = ActivateJobs {
        timeout: Duration::from_millis(500),
        long_poll: Some(Duration::from_millis(200)),
        ..ActivateJobs::new("work", 16)
    };
    loop {
        let Ok(jobs) = client.activate_jobs(&request).await else {
            return;
        };
        for job in jobs {
            {
                let mut ledger = ledger.lock().unwrap();
                assert!(
                    !ledger.completed.contains(&job.key),
                    "job {} came back after its completion",
                    job.key
                );
                ledger.instance_of.insert(job.key, job.process_instance_key);
                ledger.in_doubt.insert(job.key);
            }
            match client.complete_job(job.key, None).await {
                Ok(()) => {
                    let mut ledger = ledger.lock().unwrap();
                    ledger.in_doubt.remove(&job.key);
                    ledger.completed.insert(job.key);
                }
                // Timed out and completed by another worker, or a completion whose answer was lost.
                Err(error) if error.code() == Some(Code::NotFound) => {}
                Err(_) => return,
            }
        }
    }
}

fn rounds() -> u64 {
    let set = std::env::var("SKEP_CRASH_ROUNDS").ok();
    set.and_then(|n| n.parse().ok()).unwrap_or(24)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_command_survives_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let ledger: Shared = Arc::default();
    for round in 0..rounds() {
        // Two partitions, and checkpoints in some of the rounds, so that recovery starts from either.
        let mut server = Server::start(data.path(), &["--partitions", "2"]).await;
        let client = server.client();
        if round == 0 {
            let resource = Resource {
                name: "one-task.bpmn".into(),
                content: ONE_TASK.into(),
            };
            client.deploy(&[resource], None).await.unwrap();
        }
        let tasks: Vec<_> = (0..6)
            .map(|n| {
                let (client, ledger) = (server.client(), ledger.clone());
                if n % 2 == 0 {
                    tokio::spawn(create(client, ledger))
                } else {
                    tokio::spawn(work(client, ledger))
                }
            })
            .collect();
        // Different moments within start-up, steady work and group commits.
        tokio::time::sleep(Duration::from_millis(20 + (round * 37) % 180)).await;
        if round % 5 == 4 {
            take_checkpoint(&server);
        }
        server.kill();
        for task in tasks {
            task.await.unwrap();
        }
    }

    let server = Server::start(data.path(), &["--partitions", "2"]).await;
    drain(&server.client(), &ledger).await;
    let ledger = ledger.lock().unwrap();
    let finished: HashSet<i64> = ledger.instance_of.values().copied().collect();
    let lost: Vec<_> = ledger.created.difference(&finished).collect();
    assert!(
        lost.is_empty(),
        "{} acknowledged instances are lost: {lost:?}",
        lost.len()
    );
    assert!(
        ledger.created.len() > 100,
        "only {} instances were created",
        ledger.created.len()
    );
    println!(
        "{} kills, {} acknowledged instances, {} acknowledged completions, nothing lost",
        rounds(),
        ledger.created.len(),
        ledger.completed.len()
    );
}

fn take_checkpoint(server: &Server) {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", server.management)) else {
        return;
    };
    let request = "POST /actuator/partitions/takeSnapshot HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                   content-length: 0\r\n\r\n";
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read(&mut [0; 64]);
}

/// Works off what is left, until no job has come for longer than a job's time-out.
async fn drain(client: &Client, ledger: &Shared) {
    let request = ActivateJobs {
        timeout: Duration::from_secs(60),
        long_poll: Some(Duration::from_secs(3)),
        ..ActivateJobs::new("work", 100)
    };
    loop {
        let jobs = client.activate_jobs(&request).await.unwrap();
        if jobs.is_empty() {
            return;
        }
        for job in jobs {
            assert!(
                !ledger.lock().unwrap().completed.contains(&job.key),
                "job {} came back after its completion was acknowledged",
                job.key
            );
            client.complete_job(job.key, None).await.unwrap();
            let mut ledger = ledger.lock().unwrap();
            ledger.instance_of.insert(job.key, job.process_instance_key);
            ledger.completed.insert(job.key);
        }
    }
}
