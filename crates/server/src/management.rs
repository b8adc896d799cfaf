//! The management port: health, metrics and operator actions. Operators protect it by network, or by the login of the API
//! (`skep.management.authentication`).

#![allow(
    clippy::result_large_err,
    reason = "an early answer is returned as an error; operators do not ask so often that its size matters"
)]

mod backups;
mod banning;
mod clock;
mod cluster;
mod exporters;
mod flow_control;
mod health;
mod history;
mod incidents;
mod info;
mod job_streams;
mod leases;
mod loggers;
mod metrics_text;
mod nodes;
mod over_rest;
mod partitions;
mod profile;
mod reply;
mod rollout;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::{HeaderValue, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::registry::Registry;
use serde_json::json;
use skep_broker::Broker;
use skep_broker::partition::Report;
use skep_gateway::door::visitor::Visitor;
use skep_gateway::door::{Head, host, is_forged};
use skep_gateway::{Denial, Guard};
use skep_protocol::grants;
use skep_tls::{ServerTls, Socket};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use self::health::Group;
use self::reply::{Answer, Handled, Incoming, allow, bad_request, message, ok, respond};
pub use self::rollout::Rollout;
use crate::agreement::Agreement;
use crate::config::{Effective, ManagementLogin};
use crate::lease::Standing;
use crate::logs::Logs;
use crate::monitor::Monitor;
use crate::node_metrics::NodeMetrics;
use crate::process::ProcessMetrics;
use crate::throttling::Throttling;

/// Maximum number of connections; further ones wait.
const MAX_CONNECTIONS: usize = 64;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time in which a client takes nothing of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// State of the management port, available from the start.
pub struct Management {
    base_path: String,
    login: ManagementLogin,
    clock_controlled: bool,
    effective: Vec<Effective>,
    logs: Arc<Logs>,
    started: OnceLock<Started>,
    stopping: AtomicBool,
    room: over_rest::Room,
}

/// State that is available once the broker runs.
struct Started {
    broker: Arc<Broker>,
    registry: Registry,
    process: ProcessMetrics,
    node: NodeMetrics,
    agreement: Arc<Agreement>,
    /// Present where the port asks for a login.
    guard: Option<Guard>,
    rollout: Arc<Rollout>,
}

/// Parts of the server for the management port alone.
#[derive(Default)]
pub struct ForOperators {
    pub monitor: Arc<Monitor>,
    pub agreement: Arc<Agreement>,
    pub guard: Option<Guard>,
    pub throttling: Arc<Throttling>,
    pub rollout: Arc<Rollout>,
}

impl Management {
    pub fn new(
        (base_path, login): (String, ManagementLogin),
        clock_controlled: bool,
        effective: Vec<Effective>,
        logs: Arc<Logs>,
    ) -> Arc<Management> {
        Arc::new(Management {
            base_path,
            login,
            clock_controlled,
            effective,
            logs,
            started: OnceLock::new(),
            stopping: AtomicBool::new(false),
            room: over_rest::Room::default(),
        })
    }

    /// Marks the server as started.
    pub fn started(
        &self,
        broker: Arc<Broker>,
        registry: Registry,
        process: ProcessMetrics,
        node: NodeMetrics,
        for_operators: ForOperators,
    ) {
        let ForOperators {
            monitor,
            agreement,
            guard,
            throttling,
            rollout,
        } = for_operators;
        let of_node = (throttling, node.leased());
        nodes::answer_for(&broker, monitor, Arc::clone(&agreement), of_node);
        // The server starts only once.
        let _ = self.started.set(Started {
            broker,
            registry,
            process,
            node,
            agreement,
            guard,
            rollout,
        });
    }

    /// Marks the server as stopping, hence not ready.
    pub fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether its copies have caught up since the start, if that is asked for.
    fn has_caught_up(&self) -> bool {
        let started = self.started.get();
        started.is_some_and(|started| !started.rollout.waits())
    }

    fn broker(&self) -> Option<&Broker> {
        self.started.get().map(|started| &*started.broker)
    }

    fn lease(&self) -> Option<Standing> {
        self.started.get()?.node.lease()
    }

    /// The security settings in which other nodes differ from this one.
    fn differences(&self) -> Vec<String> {
        let started = self.started.get();
        started.map_or_else(Vec::new, |started| started.agreement.differences())
    }

    fn running(&self) -> Result<&Started, Answer> {
        self.started.get().ok_or_else(|| {
            message(
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is starting: it recovers its data; try again later",
            )
        })
    }

    async fn handle(&self, request: Request<Incoming>, visitor: &Visitor) -> Answer {
        if let Some(fault) = host::fault(request.version(), request.headers()) {
            return bad_request(fault);
        }
        let answer = self.route(request, visitor).await;
        answer.unwrap_or_else(|answer| answer)
    }

    /// Asks for the login and the permission of whoever wants more than health and metrics.
    async fn admit(&self, parts: &Parts, visitor: &Visitor) -> Result<(), Answer> {
        match self.login {
            ManagementLogin::None => return Ok(()),
            ManagementLogin::Api => {}
        }
        let head = head(parts, visitor);
        let permissions = if [Method::GET, Method::HEAD].contains(&parts.method) {
            grants![System: Read]
        } else {
            grants![System: Update]
        };
        let Some(guard) = &self.running()?.guard else {
            return Err(message(
                StatusCode::SERVICE_UNAVAILABLE,
                "the login cannot be checked; try again later",
            ));
        };
        guard.admit(&head, permissions).await.map_err(denied)
    }

    async fn route(&self, request: Request<Incoming>, visitor: &Visitor) -> Handled {
        let (parts, body) = request.into_parts();
        // Any page that a browser on this machine opens can send requests to this port, which has no login by default.
        if is_forged(&head(&parts, visitor)) {
            return Err(message(
                StatusCode::FORBIDDEN,
                "the request comes from a page of another site, and was not carried out",
            ));
        }
        let (method, path, query) = (&parts.method, parts.uri.path(), parts.uri.query());
        let get = || allow(method, &[Method::GET, Method::HEAD]);
        let root = match path {
            "/ready" => Some(Group::Readiness),
            "/startup" => Some(Group::Startup),
            "/health" => Some(Group::Status),
            _ => None,
        };
        if let Some(group) = root {
            get()?;
            return Ok(health::group(self, group));
        }
        if path == "/debug/pprof/flamegraph" {
            self.admit(&parts, visitor).await?;
            return profile::flame_graph(method, query).await;
        }
        let below = path
            .strip_prefix(self.base_path.as_str())
            .filter(|below| below.is_empty() || below.starts_with('/'));
        let Some(below) = below else {
            return Err(unknown(path));
        };
        let segments: Vec<&str> = below.split('/').filter(|s| !s.is_empty()).collect();
        if !matches!(segments.as_slice(), ["health", ..] | ["prometheus"]) {
            self.admit(&parts, visitor).await?;
        }
        self.endpoint(&segments, &parts, body).await
    }

    /// Answers a request for the endpoint at these segments below the base path.
    async fn endpoint(&self, segments: &[&str], parts: &Parts, body: Incoming) -> Handled {
        let (method, path, query) = (&parts.method, parts.uri.path(), parts.uri.query());
        let get = || allow(method, &[Method::GET, Method::HEAD]);
        match segments {
            [] => {
                get()?;
                Ok(self.index())
            }
            ["health"] => {
                get()?;
                Ok(health::all(self))
            }
            ["health", group] => {
                get()?;
                let group = Group::named(group).ok_or_else(|| unknown(path))?;
                Ok(health::group(self, group))
            }
            ["prometheus"] => {
                get()?;
                self.metrics(&parts.headers)
            }
            ["info"] => {
                get()?;
                Ok(info::info())
            }
            ["configprops"] => {
                get()?;
                Ok(info::properties(&self.effective))
            }
            ["loggers"] => loggers::handle(&self.logs, method, None, body).await,
            ["loggers", name] => loggers::handle(&self.logs, method, Some(name), body).await,
            ["flamegraph"] => profile::flame_graph(method, query).await,
            ["partitions"] => {
                get()?;
                Ok(partitions::all(&self.running()?.broker))
            }
            ["partitions", operation] => {
                let operation = partitions::Operation::named(operation)?;
                allow(method, &[Method::POST])?;
                partitions::act(&self.running()?.broker, operation).await
            }
            ["clock", rest @ ..] if rest.len() <= 1 => {
                let broker = &self.running()?.broker;
                let operation = rest.first().copied();
                clock::handle(broker, self.clock_controlled, method, operation, body).await
            }
            ["flowControl"] => flow_control::handle(&self.running()?.broker, method, body).await,
            ["jobstreams", rest @ ..] if rest.len() <= 1 => {
                get()?;
                job_streams::handle(&self.running()?.broker, rest.first().copied())
            }
            ["banning", rest @ ..] if rest.len() <= 1 => {
                let broker = &self.running()?.broker;
                banning::handle(broker, method, rest.first().copied()).await
            }
            ["incidents"] => {
                get()?;
                incidents::list(&self.running()?.broker, query).await
            }
            [name @ ("nodes" | "exporters" | "leases")] => {
                get()?;
                Ok(nodes::list(&self.running()?.broker, name).await)
            }
            ["exporters", id, rest @ ..] if rest.len() <= 1 => {
                let broker = &self.running()?.broker;
                let what = (*id, rest.first().copied());
                exporters::change(broker, method, what, query, body).await
            }
            ["exporting", operation @ ("pause" | "resume")] => {
                allow(method, &[Method::POST])?;
                let soft = reply::query(query, "soft") == Some("true");
                let phase = exporters::phase(operation, soft);
                Ok(exporters::set_phase(&self.running()?.broker, phase).await)
            }
            ["cluster", path @ ..] => {
                cluster::handle(&self.running()?.broker, method, path, query, body).await
            }
            ["rebalance"] => cluster::rebalance(&self.running()?.broker, method),
            ["backupRuntime" | "backups", path @ ..] => {
                backups::handle(&self.running()?.broker, method, path, body).await
            }
            ["backupHistory", ids @ ..] => history::handle(self, (method, ids, query), body).await,
            [name @ ("usage-metrics" | "upgradeReadiness"), ..] => Err(message(
                StatusCode::NOT_IMPLEMENTED,
                format!("{name} is not supported by this version of Skep"),
            )),
            _ => Err(unknown(path)),
        }
    }

    fn index(&self) -> Answer {
        let names = [
            "health",
            "prometheus",
            "partitions",
            "nodes",
            "leases",
            "clock",
            "loggers",
            "flowControl",
            "jobstreams",
            "banning",
            "cluster",
            "backupRuntime",
            "exporters",
            "info",
            "configprops",
            "flamegraph",
        ];
        let links: serde_json::Map<String, serde_json::Value> = names
            .iter()
            .map(|name| {
                let href = format!("{}/{name}", self.base_path);
                (
                    name.to_string(),
                    json!({ "href": href, "templated": false }),
                )
            })
            .collect();
        ok(&json!({ "_links": links }))
    }

    fn metrics(&self, headers: &HeaderMap) -> Handled {
        let started = self.running()?;
        started.broker.refresh_metrics();
        started.process.refresh();
        started.node.refresh(&started.broker);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &started.registry)
            .map_err(|e| message(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
        let (content_type, text) = metrics_text::negotiated(headers, text);
        Ok(respond(StatusCode::OK, content_type, text))
    }
}

fn head<'r>(parts: &'r Parts, visitor: &'r Visitor) -> Head<'r> {
    Head {
        method: &parts.method,
        authority: parts.uri.authority(),
        headers: &parts.headers,
        visitor,
    }
}

fn denied(denial: Denial) -> Answer {
    let mut answer = message(denial.status, denial.text);
    if let Some(challenge) = denial.challenge {
        let headers = answer.headers_mut();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    answer
}

fn unknown(path: &str) -> Answer {
    message(
        StatusCode::NOT_FOUND,
        format!("there is nothing at {path}; /actuator lists the paths"),
    )
}

/// Makes the partitions look at the clock again.
fn wake(broker: &Broker) {
    for partition in broker.partitions() {
        partition.inbox.send(Report::Wake);
    }
}

/// Serves in the background until the process ends; returns the address that was bound.
///
/// # Errors
/// The address cannot be bound; the error says what to do.
pub async fn listen(
    address: SocketAddr,
    tls: Option<ServerTls>,
    management: Arc<Management>,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await.map_err(|e| {
        let text = format!(
            "The management interface cannot listen on {address}: {e}. Stop what uses the port, or choose another one."
        );
        std::io::Error::new(e.kind(), text)
    })?;
    let bound = listener.local_addr()?;
    if let Some(tls) = &tls {
        tokio::spawn(tls.clone().watch());
    }
    tokio::spawn(accept(listener, tls, management));
    Ok(bound)
}

async fn accept(listener: TcpListener, tls: Option<ServerTls>, management: Arc<Management>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let management = management.clone();
        let socket = match &tls {
            Some(tls) => tls.accept(stream),
            None => Socket::from(stream),
        };
        let mut socket = TimeoutStream::new(socket);
        // A client that takes no answers must not keep others, such as probes, from connecting.
        socket.set_write_timeout(Some(WRITE_TIMEOUT));
        tokio::spawn(async move {
            let socket = pin!(socket);
            let visitor = Arc::new(Visitor::new(peer.ip()));
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let request = request.map(Incoming::Arriving);
                let (management, visitor) = (management.clone(), Arc::clone(&visitor));
                async move { Ok::<_, Infallible>(management.handle(request, &visitor).await) }
            });
            // A broken connection is its client's problem.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(socket), service)
                .await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests;
