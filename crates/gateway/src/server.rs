//! Both front ends: listening, serving, and stopping.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use skep_documents::Stores;
use skep_query::Storage;
use skep_service::{Broker, Post};
use tokio::net::TcpListener;

use crate::accept::{Listener, accept};
use crate::admission::Gate;
use crate::call::FrontEnd;
use crate::config::GatewayConfig;
use crate::connection::serve;
use crate::door::Door;
use crate::door::passwords::Passwords;
use crate::door::visitor::Visitor;
use crate::grpc::GrpcServices;
use crate::metrics::{GatewayMetrics, Protocol};
use crate::open_requests::OpenRequests;
use crate::rest;
use crate::rest::guard::Guard;
use crate::stop::{Stop, Stopper, stop_signal};
use crate::workers::Workers;

/// Both front ends, bound to their addresses.
pub struct Gateway {
    config: Arc<GatewayConfig>,
    rest: Listener,
    grpc: Listener,
    rest_addr: SocketAddr,
    grpc_addr: SocketAddr,
    rest_front: Arc<FrontEnd>,
    grpc_front: Arc<FrontEnd>,
    workers: Workers,
    stopper: Stopper,
    stop: Stop,
}

impl Gateway {
    /// Binds both addresses. Nothing is served before [`Gateway::serve`].
    ///
    /// # Errors
    /// When an address cannot be bound; the error names it.
    pub async fn bind(
        config: GatewayConfig,
        broker: Arc<dyn Broker>,
        storage: Arc<dyn Storage>,
        documents: Arc<Stores>,
        metrics: Arc<GatewayMetrics>,
    ) -> io::Result<Gateway> {
        let config = Arc::new(config);
        let rest = listen("REST", config.rest_addr).await?;
        let grpc = listen("gRPC", config.grpc_addr).await?;
        metrics.read_topology_from(&broker);
        let partitions = broker.topology().partitions_count;
        metrics.broker_requests.partitions_are(partitions);
        let (stopper, stop) = stop_signal();
        let passwords = Arc::new(Passwords::start()?);
        let security = &config.security;
        let door = Door::open(
            (security.login, config.tls.rest.is_some()),
            &security.providers,
            (Arc::clone(&passwords), security.guesses),
            metrics.at_the_door(),
            &broker,
        );
        let door = Arc::new(door.map_err(io::Error::other)?);
        metrics.read_keys_from(&door);
        let job_streams = OpenRequests::streams();
        let long_polls = OpenRequests::polls();
        let front = |protocol| {
            Arc::new(FrontEnd {
                protocol,
                config: Arc::clone(&config),
                broker: Arc::clone(&broker),
                storage: Arc::clone(&storage),
                documents: Arc::clone(&documents),
                passwords: Arc::clone(&passwords),
                door: Arc::clone(&door),
                metrics: Arc::clone(&metrics),
                gate: Gate::new(&config, metrics.slots_of(protocol)),
                shared: rest::SharedAnswers::new(partitions, metrics.shared_searches()),
                job_streams: job_streams.clone(),
                long_polls: long_polls.clone(),
                stop: stop.clone(),
            })
        };
        Ok(Gateway {
            rest_addr: rest.local_addr()?,
            grpc_addr: grpc.local_addr()?,
            rest_front: front(Protocol::rest),
            grpc_front: front(Protocol::grpc),
            workers: Workers::start(config.worker_threads, || {
                let broker = Arc::clone(&broker);
                Post::serve(move || broker.ring())
            })?,
            rest: Listener {
                sockets: rest,
                tls: config.tls.rest.clone(),
            },
            grpc: Listener {
                sockets: grpc,
                tls: config.tls.grpc.clone(),
            },
            config,
            stopper,
            stop,
        })
    }

    /// The address that REST is bound to, with its real port.
    /// Asks callers of another port as those of the API are asked.
    pub fn guard(&self) -> Guard {
        Guard::new(Arc::clone(&self.rest_front))
    }

    pub fn rest_addr(&self) -> SocketAddr {
        self.rest_addr
    }

    /// The address that gRPC is bound to, with its real port.
    pub fn grpc_addr(&self) -> SocketAddr {
        self.grpc_addr
    }

    /// Serves until `shutdown` resolves. Then no connection is accepted any more, job streams end, long polls answer, and
    /// requests under way get [`GatewayConfig::shutdown_grace`] to finish.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        let Gateway {
            config,
            rest,
            grpc,
            rest_front,
            grpc_front,
            workers,
            stopper,
            stop,
            ..
        } = self;
        let rest_server = http_server(&config);
        let grpc_server = http_server(&config).http2_only();
        let services = GrpcServices::new(grpc_front);
        services.serving().await;
        let rest = accept(
            rest,
            &config,
            config.lifetime.rest,
            stop.clone(),
            workers.deal(),
            |accepted| {
                let front = Arc::clone(&rest_front);
                let visitor = Arc::new(Visitor::new(accepted.peer));
                let service =
                    move |request| rest::handle(Arc::clone(&front), Arc::clone(&visitor), request);
                serve(&rest_server, accepted, None, service)
            },
        );
        let ping_interval = config.min_ping_interval;
        let grpc = accept(
            grpc,
            &config,
            config.lifetime.grpc,
            stop,
            workers.deal(),
            |accepted| {
                let services = services.clone();
                let visitor = Arc::new(Visitor::new(accepted.peer));
                let service = move |request| services.handle(&visitor, request);
                serve(&grpc_server, accepted, ping_interval, service)
            },
        );
        let stopping = async {
            shutdown.await;
            services.stopping().await;
            stopper.stop();
        };
        tokio::join!(stopping, rest, grpc);
        // No connection is left; a thread that is slow to end is not worth an error.
        let _ = tokio::task::spawn_blocking(move || workers.stop()).await;
    }
}

/// Binds the address of a front end with this name.
///
/// # Errors
/// It is not available; the text names it, the reason and the remedy.
pub async fn listen(what: &str, addr: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(addr).await.map_err(|e| {
        let text = format!(
            "The {what} gateway cannot listen on {addr}: {e}. Stop what uses the port, or choose another one."
        );
        io::Error::new(e.kind(), text)
    })
}

const KIB: u32 = 1 << 10;

/// HTTP/1.1 and HTTP/2 with limits for a connection: the windows bound what a client can send unread. What it can leave unread
/// is bounded by the write buffers together with `LastingBody`, which hands them a piece at a time: they accept any piece whole.
fn http_server(config: &GatewayConfig) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // A timer per request costs too much: the watch over connections has one for all of them.
        .header_read_timeout(None)
        .max_buf_size(64 << 10)
        // Head and body of an answer are copied together: for the usual few hundred bytes that costs less than gathering them
        // in the kernel.
        .writev(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(256 * KIB)
        .initial_connection_window_size(1024 * KIB)
        .max_concurrent_streams(1024)
        // Clients may cancel many calls at once, such as polls with short deadlines: by default, 20 that were not begun end the connection
        // with all of its calls.
        .max_pending_accept_reset_streams(1024)
        .max_send_buf_size(64 << 10)
        .max_frame_size(64 * KIB)
        .keep_alive_interval(config.stream_keep_alive)
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}
