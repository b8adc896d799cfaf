//! The cost of a request to the gateway: server CPU and latency over REST and gRPC, side by side.
//!
//! `cargo run --release -p skep-gateway --example cost [SECONDS [BYTES …]]`
//!
//! The broker is a thread that answers all new requests every 200 µs, like group commit. So only the edge and the way to another thread and
//! back are measured. The client runs in its own process; all protocols complete jobs with the same variables, in alternating slices, with
//! equally many requests in flight. Over HTTP/1.1 each of them has a connection; over HTTP/2 and gRPC they share one, or have one each as
//! well ("each"). The floor is the cost of HTTP/1.1 if the server only had to read and write.
//!
//! With `door` instead of the seconds it measures what it takes to know who calls, and nothing else.

mod door;
mod floor;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use skep_gateway::{Gateway, GatewayConfig, GatewayMetrics};
use skep_proto::gateway_protocol as pb;
use skep_protocol::command::{ActivateJobs, Request};
use skep_protocol::origin::Claims;
use skep_protocol::response::{JobActivation, Response};
use skep_protocol::{ActivatedJob, Failure};
use skep_service::{
    Answer, BoxFuture, Broker, JobReceiver, Reply, Responder, Timings, Topology, Wakes,
    reply_channel,
};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

/// Requests in flight, as for `skep load` in the tables.
const IN_FLIGHT: usize = 300;

/// Hands requests to the thread that answers them.
struct GroupCommit(std::sync::mpsc::Sender<(Request, Responder)>);

impl GroupCommit {
    fn start() -> GroupCommit {
        let (sender, requests) = std::sync::mpsc::channel::<(Request, Responder)>();
        std::thread::spawn(move || {
            let mut wakes = Wakes::default();
            while let Ok(first) = requests.recv() {
                std::thread::sleep(Duration::from_micros(200));
                for (_, responder) in std::iter::once(first).chain(requests.try_iter()) {
                    let answer = Answer {
                        result: Ok(Response::Empty),
                        timings: Timings::default(),
                    };
                    // A disconnected client does not want its answer.
                    let _ = responder.send_quietly(answer, &mut wakes);
                }
                wakes.give();
            }
        });
        GroupCommit(sender)
    }
}

struct NoJobs;

impl JobReceiver for NoJobs {
    fn poll_recv(&mut self, _: &mut Context<'_>) -> Poll<Option<ActivatedJob>> {
        Poll::Pending
    }
}

impl Broker for GroupCommit {
    fn waiting_jobs(&self) -> usize {
        0
    }

    fn execute(&self, request: Request) -> Reply {
        let (responder, reply) = reply_channel();
        let _ = self.0.send((request, responder));
        reply
    }

    fn is_known_everywhere(&self, _: &Request) -> bool {
        true
    }

    fn activate_jobs(
        &self,
        _: ActivateJobs,
        _: Claims,
        _: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn give_back(&self, _: Vec<JobActivation>) {}

    fn directory(&self) -> Arc<skep_identity::Directory> {
        Arc::default()
    }

    fn directory_age(&self) -> Duration {
        Duration::ZERO
    }

    fn open_job_stream(&self, _: ActivateJobs, _: Claims) -> Box<dyn JobReceiver> {
        Box::new(NoJobs)
    }

    fn work(&self) -> BoxFuture<'_, Arc<skep_service::Work>> {
        Box::pin(std::future::ready(Arc::default()))
    }

    fn node_states(&self) -> BoxFuture<'_, Arc<skep_service::NodeStates>> {
        Box::pin(std::future::ready(Arc::default()))
    }

    fn measured(&self, _: i64) -> BoxFuture<'_, Arc<skep_service::NodeStates>> {
        Box::pin(std::future::ready(Arc::default()))
    }

    fn topology(&self) -> Topology {
        Topology {
            cluster_id: String::new(),
            cluster_size: 1,
            partitions_count: 1,
            replication_factor: 1,
            gateway_version: String::new(),
            last_completed_change_id: String::new(),
            brokers: Arc::from([]),
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("client") => client(&args[2..]),
        Some("door") => door::measure(),
        seconds => {
            let numbers = |s: &String| s.parse().expect("a number");
            let sizes: Vec<usize> = args.iter().skip(2).map(numbers).collect();
            let usual = vec![60, 1 << 10, 8 << 10, 32 << 10];
            let sizes = if sizes.is_empty() { usual } else { sizes };
            server(seconds.and_then(|s| s.parse().ok()).unwrap_or(3), &sizes);
        }
    }
}

fn no_documents() -> skep_documents::Stores {
    let memory = skep_documents::MemoryStore::new(&Default::default());
    let opened =
        skep_documents::Stores::only("inmemory", Arc::new(memory), Arc::new(jiff::Timestamp::now));
    opened.expect("one store")
}

/// Nothing is searched here.
struct NoStorage;

impl skep_query::Storage for NoStorage {
    fn query(
        &self,
        _query: skep_query::Query,
        _consistency: skep_query::Consistency,
    ) -> skep_query::BoxFuture<'_, Result<(skep_query::Answer, u64), skep_query::QueryError>> {
        Box::pin(async { Err(skep_query::QueryError::Disabled) })
    }
}

fn server(seconds: u64, sizes: &[usize]) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = GatewayConfig {
        rest_addr: local,
        grpc_addr: local,
        ..GatewayConfig::default()
    };
    let broker: Arc<dyn Broker> = Arc::new(GroupCommit::start());
    let floor = floor::start(config.worker_threads, &broker);
    let gateway = runtime
        .block_on(Gateway::bind(
            config,
            broker,
            Arc::new(NoStorage),
            Arc::new(no_documents()),
            Arc::new(GatewayMetrics::new()),
        ))
        .expect("ports");
    let (rest, grpc) = (gateway.rest_addr(), gateway.grpc_addr());
    runtime.spawn(gateway.serve(std::future::pending()));

    println!(
        "{:>9} {:>10} {:>10} {:>12} {:>10} {:>10}",
        "variables", "protocol", "requests/s", "CPU us/req", "p50 us", "p99 us"
    );
    for bytes in sizes {
        for _round in 0..2 {
            for (protocol, addr) in [
                ("floor", floor),
                ("rest1", rest),
                ("rest2", rest),
                ("grpc", grpc),
                ("rest2-each", rest),
                ("grpc-each", grpc),
            ] {
                let before = cpu();
                let output = std::process::Command::new(std::env::current_exe().expect("my name"))
                    .args([
                        "client",
                        protocol,
                        &addr.to_string(),
                        &bytes.to_string(),
                        &seconds.to_string(),
                    ])
                    .output()
                    .expect("the client runs");
                let used = cpu() - before;
                let text = String::from_utf8_lossy(&output.stdout);
                let figures: Vec<f64> = text
                    .split_whitespace()
                    .filter_map(|w| w.parse().ok())
                    .collect();
                let [n, p50, p99] = figures[..] else {
                    panic!("{text}{}", String::from_utf8_lossy(&output.stderr))
                };
                println!(
                    "{bytes:>9} {protocol:>10} {:>10.0} {:>12.2} {p50:>10.0} {p99:>10.0}",
                    n / seconds as f64,
                    used.as_secs_f64() * 1e6 / n
                );
            }
        }
    }
}

/// User and system time of this process (Linux, 100 ticks a second).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

fn client(args: &[String]) {
    let [protocol, addr, bytes, seconds] = args else {
        panic!("client PROTOCOL ADDR BYTES SECONDS")
    };
    let addr: SocketAddr = addr.parse().expect("an address");
    let bytes: usize = bytes.parse().expect("bytes");
    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("seconds"));
    let variables = format!(
        r#"{{"orderId":12345,"customer":"c","note":"{}"}}"#,
        "x".repeat(bytes.saturating_sub(45))
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let tasks = LocalSet::new();
    let latencies = tasks.block_on(&runtime, async {
        match protocol.as_str() {
            "floor" | "rest1" => rest1(addr, &variables, end).await,
            "rest2" => rest2(addr, 1, &variables, end).await,
            "rest2-each" => rest2(addr, IN_FLIGHT, &variables, end).await,
            "grpc" => grpc(addr, 1, &variables, end).await,
            _ => grpc(addr, IN_FLIGHT, &variables, end).await,
        }
    });
    let mut latencies = latencies;
    latencies.sort_unstable();
    let at =
        |part: usize| latencies[(latencies.len() * part / 100).min(latencies.len() - 1)] / 1000;
    println!("{} {} {}", latencies.len(), at(50), at(99));
}

async fn connect(addr: SocketAddr) -> TokioIo<TcpStream> {
    let stream = TcpStream::connect(addr).await.expect("connects");
    stream.set_nodelay(true).expect("no delay");
    TokioIo::new(stream)
}

fn rest_request(addr: SocketAddr, variables: &str) -> hyper::Request<Full<Bytes>> {
    static KEY: AtomicU64 = AtomicU64::new(2251799813685249);
    let key = KEY.fetch_add(1, Ordering::Relaxed);
    hyper::Request::post(format!("http://{addr}/v2/jobs/{key}/completion"))
        .header("host", addr.to_string())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(format!(
            r#"{{"variables":{variables}}}"#
        ))))
        .expect("a request")
}

async fn rest1(addr: SocketAddr, variables: &str, end: Instant) -> Vec<u64> {
    let workers = (0..IN_FLIGHT).map(|_| {
        let variables = variables.to_string();
        spawn_local(async move {
            let (mut client, connection) = http1::handshake(connect(addr).await)
                .await
                .expect("shakes hands");
            tokio::spawn(connection);
            again_and_again(end, async || {
                let answer = client.send_request(rest_request(addr, &variables));
                let answer = answer.await.expect("answers");
                assert_eq!(answer.status(), 204);
                answer.into_body().collect().await.expect("ends");
                client.ready().await.expect("goes on");
            })
            .await
        })
    });
    gather(workers.collect()).await
}

async fn rest2(addr: SocketAddr, connections: usize, variables: &str, end: Instant) -> Vec<u64> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        let io = connect(addr).await;
        let (client, connection) = http2::handshake(TokioExecutor::new(), io)
            .await
            .expect("shakes hands");
        tokio::spawn(connection);
        clients.push(client);
    }
    let workers = (0..IN_FLIGHT).map(|n| {
        let (mut client, variables) = (clients[n % connections].clone(), variables.to_string());
        spawn_local(async move {
            again_and_again(end, async || {
                let answer = client.send_request(rest_request(addr, &variables));
                assert_eq!(answer.await.expect("answers").status(), 204);
            })
            .await
        })
    });
    gather(workers.collect()).await
}

async fn grpc(addr: SocketAddr, connections: usize, variables: &str, end: Instant) -> Vec<u64> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        let client = pb::gateway_client::GatewayClient::connect(format!("http://{addr}"));
        clients.push(client.await.expect("connects"));
    }
    let workers = (0..IN_FLIGHT).map(|n| {
        let (mut client, variables) = (clients[n % connections].clone(), variables.to_string());
        spawn_local(async move {
            again_and_again(end, async || {
                let request = pb::CompleteJobRequest {
                    job_key: 2251799813685249,
                    variables: variables.clone(),
                    result: None,
                };
                client.complete_job(request).await.expect("answers");
            })
            .await
        })
    });
    gather(workers.collect()).await
}

/// Sends one request after the other; returns the duration of each.
async fn again_and_again(end: Instant, mut request: impl AsyncFnMut()) -> Vec<u64> {
    let mut latencies = Vec::new();
    while Instant::now() < end {
        let sent = Instant::now();
        request().await;
        latencies.push(sent.elapsed().as_nanos() as u64);
    }
    latencies
}

async fn gather(workers: Vec<tokio::task::JoinHandle<Vec<u64>>>) -> Vec<u64> {
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await.expect("no panic"));
    }
    all
}
