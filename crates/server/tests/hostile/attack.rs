//! Clients that deploy and start hostile models, handle their jobs badly, and cancel instances midway.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skep_client::{
    ActivateJobs, Client, CreateInstance, Deployed, Error, FailJob, Message, Resource, ThrowError,
};
use tokio::task::JoinSet;

use super::dice::Dice;
use super::models;
use super::support::Server;

/// Number of concurrent attacks.
const DEPLOYERS: usize = 3;
/// Maximum number of attacks with live instances. Beyond it the oldest are cancelled, as an operator would.
const ALIVE: usize = 12;

/// Counters of the attackers, over restarts of the server.
#[derive(Clone)]
pub struct Attackers(Arc<Shared>);

struct Shared {
    seed: u64,
    kept: PathBuf,
    next: AtomicU64,
    ended: AtomicBool,
    alive: Mutex<VecDeque<Alive>>,
    /// The last attacks, for the report.
    recent: Mutex<VecDeque<String>>,
    deployed: AtomicU64,
    refused: AtomicU64,
    started: AtomicU64,
    finished: AtomicU64,
}

struct Alive {
    definition: i64,
    instances: Vec<i64>,
}

/// Running attacks.
pub struct Attacks {
    tasks: JoinSet<()>,
    attackers: Attackers,
}

impl Attacks {
    /// Prevents new attacks, and aborts those that wait for an answer.
    pub async fn end(mut self) {
        self.attackers.0.ended.store(true, Ordering::Relaxed);
        self.tasks.shutdown().await;
    }
}

impl Attackers {
    pub fn new(seed: u64, kept: PathBuf) -> Attackers {
        Attackers(Arc::new(Shared {
            seed,
            kept,
            next: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            alive: Mutex::default(),
            recent: Mutex::default(),
            deployed: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            started: AtomicU64::new(0),
            finished: AtomicU64::new(0),
        }))
    }

    pub fn start(&self, server: &Server) -> Attacks {
        self.0.ended.store(false, Ordering::Relaxed);
        let mut tasks = JoinSet::new();
        for deployer in 0..DEPLOYERS {
            let client = match deployer % 2 {
                0 => server.client(),
                _ => server.rest_client(),
            };
            tasks.spawn(self.clone().deploy_and_start(client));
        }
        tasks.spawn(self.clone().work(server.client()));
        tasks.spawn(self.clone().publish(server.client()));
        Attacks {
            tasks,
            attackers: self.clone(),
        }
    }

    pub fn summary(&self) -> String {
        let shared = &self.0;
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        format!(
            "{} attacks: {} deployed, {} refused; {} instances started, {} jobs finished",
            count(&shared.next),
            count(&shared.deployed),
            count(&shared.refused),
            count(&shared.started),
            count(&shared.finished),
        )
    }

    /// Whether at least some of the models could be deployed and started.
    pub fn attacked(&self) -> bool {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        count(&self.0.deployed) * 3 > count(&self.0.refused) && count(&self.0.started) > 0
    }

    /// The last attacks, and the directory with all of them.
    pub fn report(&self) -> String {
        let recent = self.0.recent.lock().unwrap();
        let lines: Vec<_> = recent.iter().map(String::as_str).collect();
        format!(
            "SKEP_SEED={}; models and the server's log are in {}; the last attacks:\n{}",
            self.0.seed,
            self.0.kept.display(),
            lines.join("\n")
        )
    }

    fn is_running(&self) -> bool {
        !self.0.ended.load(Ordering::Relaxed)
    }

    fn note(&self, line: String) {
        let mut recent = self.0.recent.lock().unwrap();
        recent.push_back(line);
        if recent.len() > 12 {
            recent.pop_front();
        }
    }

    async fn deploy_and_start(self, client: Client) {
        while self.is_running() {
            let n = self.0.next.fetch_add(1, Ordering::Relaxed);
            let mut dice = Dice::of(self.0.seed, n);
            let xml = models::file(&mut dice, n);
            let _ = std::fs::write(self.0.kept.join(format!("{n}.bpmn")), &xml);
            let resource = Resource {
                name: format!("hostile-{n}.bpmn"),
                content: xml.into(),
            };
            let definition = match client.deploy(&[resource], None).await {
                Ok(deployment) => deployment.items.iter().find_map(|item| match item {
                    Deployed::Process { id, key, .. } if *id == models::id(n) => Some(*key),
                    _ => None,
                }),
                Err(error) => {
                    self.0.refused.fetch_add(1, Ordering::Relaxed);
                    self.note(format!("{n}: refused: {}", shortened(&error)));
                    continue;
                }
            };
            let Some(definition) = definition else {
                continue;
            };
            self.0.deployed.fetch_add(1, Ordering::Relaxed);
            let instances = self
                .start_instances(&client, &mut dice, n, definition)
                .await;
            self.0.alive.lock().unwrap().push_back(Alive {
                definition,
                instances,
            });
            self.cancel_the_oldest(&client).await;
        }
    }

    async fn start_instances(
        &self,
        client: &Client,
        dice: &mut Dice,
        n: u64,
        definition: i64,
    ) -> Vec<i64> {
        let mut instances = Vec::new();
        for _ in 0..=dice.below(4) {
            let variables = models::variables(dice);
            let bytes = variables.len();
            let create = CreateInstance::by_key(definition).variables(variables);
            self.note(format!("{n}: start with {bytes} bytes of variables"));
            let created = if dice.one_in(3) {
                let result =
                    client.create_instance_with_result(&create, Duration::from_millis(500), &[]);
                result.await.map(|result| result.instance)
            } else {
                client.create_instance(&create).await
            };
            match created {
                Ok(instance) => {
                    self.0.started.fetch_add(1, Ordering::Relaxed);
                    instances.push(instance.process_instance_key);
                }
                Err(error) => self.note(format!("{n}: not started: {}", shortened(&error))),
            }
        }
        instances
    }

    /// Also deletes the definition, so that recursive calls cannot continue.
    async fn cancel_the_oldest(&self, client: &Client) {
        let oldest = {
            let mut alive = self.0.alive.lock().unwrap();
            if alive.len() <= ALIVE {
                return;
            }
            alive.pop_front()
        };
        let Some(oldest) = oldest else { return };
        for instance in oldest.instances {
            let _ = client.cancel_instance(instance).await;
        }
        let _ = client.delete_resource(oldest.definition).await;
    }

    /// A worker that completes, fails and throws at random, sometimes with large variables.
    async fn work(self, client: Client) {
        let mut dice = Dice::of(self.0.seed, u64::MAX);
        while self.is_running() {
            let mut request = ActivateJobs::new(models::JOB, 1 + dice.below(60) as i32);
            request.long_poll = Some(Duration::from_millis(200));
            request.timeout = Duration::from_millis(dice.size(20_000));
            let Ok(jobs) = client.activate_jobs(&request).await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            for job in jobs {
                let done = match dice.below(6) {
                    0 => {
                        let failure = FailJob {
                            retries: dice.below(3) as i32,
                            ..FailJob::default()
                        };
                        client.fail_job(job.key, &failure).await
                    }
                    1 => {
                        let error = ThrowError {
                            code: "hostile-error".into(),
                            ..ThrowError::default()
                        };
                        client.throw_error(job.key, &error).await
                    }
                    2 => {
                        let variables = models::variables(&mut dice);
                        client.complete_job(job.key, Some(&variables)).await
                    }
                    _ => client.complete_job(job.key, None).await,
                };
                self.0
                    .finished
                    .fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
            }
        }
    }

    async fn publish(self, client: Client) {
        let mut dice = Dice::of(self.0.seed, u64::MAX - 1);
        while self.is_running() {
            let message = Message {
                name: models::MESSAGE.into(),
                correlation_key: "key".into(),
                time_to_live: Duration::from_millis(dice.size(5000)),
                message_id: None,
                variables: Some(models::variables(&mut dice)),
                tenant_id: None,
            };
            let _ = client.publish_message(&message).await;
            tokio::time::sleep(Duration::from_millis(dice.size(300))).await;
        }
    }
}

fn shortened(error: &Error) -> String {
    error.to_string().chars().take(200).collect()
}
