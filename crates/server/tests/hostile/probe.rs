//! An honest client among the attackers: it starts and completes a tiny process, and checks the server's health.

use std::fmt;
use std::time::{Duration, Instant};

use skep_client::{ActivateJobs, Client, ClientConfig, Code, CreateInstance, Error, Resource};
use skep_model::builder::Bpmn;

use super::Bounds;
use super::attack::Attackers;
use super::support::Server;
use super::watch;

const PROBE: &str = "probe";

/// Refusals for back-pressure are valid answers, but not permanently.
const REFUSED_AT_MOST: u32 = 5;

pub async fn deploy(client: &Client) {
    let xml = Bpmn::process(PROBE)
        .start("start")
        .service_task("work", PROBE)
        .end("end")
        .xml();
    let resource = Resource {
        name: "probe.bpmn".into(),
        content: xml.into(),
    };
    client.deploy(&[resource], None).await.unwrap();
}

/// Observations of the probe.
#[derive(Debug, Default)]
pub struct Seen {
    rounds: u64,
    refusals: u64,
    slowest: Duration,
    slowest_call: &'static str,
    rss_mib: u64,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "  {} probes, slowest answer {:?} ({}), {} refusals, at most {} MiB",
            self.rounds, self.slowest, self.slowest_call, self.refusals, self.rss_mib
        )
    }
}

/// Probes for a while.
///
/// # Panics
/// When an answer takes longer than its bound, a partition is not healthy, or the server takes too much memory.
pub async fn watch(server: &Server, bounds: Bounds, time: Duration, attackers: &Attackers) -> Seen {
    let config = ClientConfig {
        request_timeout: bounds.answer,
        ..server.grpc_config()
    };
    let mut probe = Probe {
        client: Client::grpc(config).expect("a client"),
        bounds,
        attackers,
        seen: Seen::default(),
    };
    let started = Instant::now();
    while started.elapsed() < time || probe.seen.rounds == 0 {
        probe.round().await;
        probe.look(server);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    probe.seen
}

struct Probe<'a> {
    client: Client,
    bounds: Bounds,
    attackers: &'a Attackers,
    seen: Seen,
}

impl Probe<'_> {
    async fn round(&mut self) {
        let client = self.client.clone();
        let create = CreateInstance::latest(PROBE).variables(r#"{"a":1}"#);
        self.call("create", async || client.create_instance(&create).await)
            .await;
        let mut request = ActivateJobs::new(PROBE, 10);
        request.long_poll = Some(self.bounds.answer);
        let jobs = self
            .call("activate", async || client.activate_jobs(&request).await)
            .await;
        self.expect(!jobs.is_empty(), || {
            "the probe's job did not come".to_string()
        });
        for job in jobs {
            self.call("complete", async || {
                client.complete_job(job.key, None).await
            })
            .await;
        }
        self.seen.rounds += 1;
    }

    /// One call, repeated while it is refused for back-pressure.
    async fn call<T>(&mut self, what: &'static str, make: impl AsyncFn() -> Result<T, Error>) -> T {
        let first = Instant::now();
        loop {
            let started = Instant::now();
            let answer = make().await;
            let took = started.elapsed();
            if took > self.seen.slowest {
                (self.seen.slowest, self.seen.slowest_call) = (took, what);
            }
            self.expect(took <= self.bounds.answer, || {
                format!("'{what}' took {took:?}")
            });
            match answer {
                Ok(answer) => return answer,
                Err(Error::Refused(problem)) if problem.code == Code::ResourceExhausted => {
                    self.seen.refusals += 1;
                    let waited = first.elapsed();
                    self.expect(waited < self.bounds.answer * REFUSED_AT_MOST, || {
                        format!("'{what}' was refused for {waited:?}: {problem}")
                    });
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                // The server aborts an activation after 10 s, and its jobs are returned; the probe has its own limit.
                Err(Error::Refused(problem))
                    if problem.code == Code::DeadlineExceeded
                        && what == "activate"
                        && first.elapsed() <= self.bounds.answer => {}
                Err(error) => self.fail(&format!("'{what}' failed: {error}")),
            }
        }
    }

    fn look(&mut self, server: &Server) {
        let rss = watch::rss_mib(server.id());
        self.seen.rss_mib = self.seen.rss_mib.max(rss);
        let bound = self.bounds.rss_mib;
        self.expect(rss <= bound, || {
            format!("the server has {rss} MiB; {bound} are allowed")
        });
        let health = server.management("GET", "/actuator/health");
        let up = matches!(&health, Some((200, _)));
        self.expect(up, || format!("the server is not healthy: {health:?}"));
    }

    fn expect(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(&what());
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{what}\n{}\n{}", self.seen, self.attackers.report());
    }
}
