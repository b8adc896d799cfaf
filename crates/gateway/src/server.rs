//! Listening, connections, and stopping.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use skep_protocol::service::Broker;
use skep_query::Storage;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::admission::Gate;
use crate::call::FrontEnd;
use crate::config::GatewayConfig;
use crate::connection::{Activity, LastingBody, Verdict, Watch, Watched};
use crate::grpc::GrpcServices;
use crate::metrics::{GatewayMetrics, Protocol};
use crate::rest;
use crate::stop::{Stop, Stopper, stop_signal};

/// Both front ends, bound to their addresses.
pub struct Gateway {
    config: Arc<GatewayConfig>,
    rest: TcpListener,
    grpc: TcpListener,
    rest_addr: SocketAddr,
    grpc_addr: SocketAddr,
    rest_front: Arc<FrontEnd>,
    grpc_front: Arc<FrontEnd>,
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
        metrics: Arc<GatewayMetrics>,
    ) -> io::Result<Gateway> {
        let config = Arc::new(config);
        let rest = listen("REST", config.rest_addr).await?;
        let grpc = listen("gRPC", config.grpc_addr).await?;
        metrics.topology.read_from(Arc::clone(&broker));
        let partitions = broker.topology().partitions_count;
        metrics.broker_requests.partitions_are(partitions);
        let (stopper, stop) = stop_signal();
        let front = |protocol| {
            Arc::new(FrontEnd {
                protocol,
                config: Arc::clone(&config),
                broker: Arc::clone(&broker),
                storage: Arc::clone(&storage),
                metrics: Arc::clone(&metrics),
                gate: Gate::new(&config),
                stop: stop.clone(),
            })
        };
        Ok(Gateway {
            rest_addr: rest.local_addr()?,
            grpc_addr: grpc.local_addr()?,
            rest_front: front(Protocol::rest),
            grpc_front: front(Protocol::grpc),
            config,
            rest,
            grpc,
            stopper,
            stop,
        })
    }

    /// The address that REST is bound to, with its real port.
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
            stopper,
            stop,
            ..
        } = self;
        let rest_server = http_server(&config);
        let grpc_server = http_server(&config).http2_only();
        let services = GrpcServices::new(grpc_front);
        services.serving().await;
        let rest = accept(rest, &config, stop.clone(), |accepted| {
            let front = Arc::clone(&rest_front);
            let service = move |request| rest::handle(Arc::clone(&front), request);
            connection(&rest_server, accepted, None, service)
        });
        let ping_interval = config.min_ping_interval;
        let grpc = accept(grpc, &config, stop, |accepted| {
            let services = services.clone();
            let service = move |request| services.handle(request);
            connection(&grpc_server, accepted, ping_interval, service)
        });
        let stopping = async {
            shutdown.await;
            services.stopping().await;
            stopper.stop();
        };
        tokio::join!(stopping, rest, grpc);
    }
}

async fn listen(what: &str, addr: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(addr).await.map_err(|e| {
        let text = format!(
            "The {what} gateway cannot listen on {addr}: {e}. Stop what uses the port, or choose another one."
        );
        io::Error::new(e.kind(), text)
    })
}

const KIB: u32 = 1 << 10;

/// HTTP/1.1 and HTTP/2 with what a connection may hold: the windows bound what a client can send unread, the write buffers
/// what it can leave unread.
fn http_server(config: &GatewayConfig) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // A timer per request costs too much: the watch over connections has one for all of them.
        .header_read_timeout(None)
        .max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(256 * KIB)
        .initial_connection_window_size(1024 * KIB)
        .max_concurrent_streams(1024)
        .max_send_buf_size(64 << 10)
        .max_frame_size(64 * KIB)
        .keep_alive_interval(config.stream_keep_alive)
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection that has just been made.
struct Accepted {
    stream: TcpStream,
    activity: Arc<Activity>,
    stop: Stop,
    /// How long a connection that has to end may take for it.
    patience: Duration,
}

fn connection<S, F, B, E>(
    server: &auto::Builder<TokioExecutor>,
    accepted: Accepted,
    ping_interval: Option<Duration>,
    service: S,
) -> Connection
where
    S: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let Accepted {
        stream,
        activity,
        stop,
        patience,
    } = accepted;
    let seen = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let under_way = seen.request();
        if request.version() < Version::HTTP_2 {
            seen.partial(false, false);
        }
        let answer = service(request);
        async move {
            let response = answer.await?;
            Ok::<_, E>(response.map(|body| LastingBody::new(body, under_way)))
        }
    });
    let io = Watched::new(stream, Arc::clone(&activity), ping_interval);
    let connection = server
        .serve_connection(TokioIo::new(io), service)
        .into_owned();
    Box::pin(async move {
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.stopped() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            verdict = activity.verdict() => {
                tracing::debug!(?verdict, "a connection is ended");
                match verdict {
                    Verdict::TooSlow => Ok(()),
                    Verdict::Idle => {
                        connection.as_mut().graceful_shutdown();
                        let ended = tokio::time::timeout(patience, connection).await;
                        ended.unwrap_or(Ok(()))
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke off");
        }
    })
}

/// Accepts until the stop, then waits for the open connections, at most the grace.
async fn accept(
    listener: TcpListener,
    config: &GatewayConfig,
    stop: Stop,
    connect: impl Fn(Accepted) -> Connection,
) {
    let room = Arc::new(Semaphore::new(config.max_connections.max(1)));
    let watch = Watch::new(config, Arc::clone(&room));
    let accepting = accept_watched(listener, config, stop.clone(), room, &watch, connect);
    tokio::join!(watch.run(stop), accepting);
}

async fn accept_watched(
    listener: TcpListener,
    config: &GatewayConfig,
    stop: Stop,
    room: Arc<Semaphore>,
    watch: &Watch,
    connect: impl Fn(Accepted) -> Connection,
) {
    let mut connections = JoinSet::new();
    let mut stopped = std::pin::pin!(stop.clone().stopped());
    loop {
        let accepted = tokio::select! {
            accepted = accept_one(&listener, &room) => accepted,
            Some(_) = connections.join_next() => continue,
            () = stopped.as_mut() => break,
        };
        match accepted {
            Ok((stream, permit)) => {
                prepare(&stream);
                let connection = connect(Accepted {
                    stream,
                    activity: watch.opened(),
                    stop: stop.clone(),
                    patience: config.shutdown_grace,
                });
                connections.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of descriptors, mostly: other connections have to end before this gets better.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(config.shutdown_grace, all_ended)
        .await
        .is_err()
    {
        tracing::warn!(
            open = connections.len(),
            "connections are cut as the time to stop is over"
        );
    }
    connections.shutdown().await;
}

async fn accept_one(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// Bytes that a socket takes and has not sent yet. Without it a client that does not read gets megabytes of jobs.
const UNSENT_BYTES: u32 = 128 * KIB;

fn prepare(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let keep_alive = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(10));
    // None of these is needed for a connection to work.
    let _ = stream.set_nodelay(true);
    let _ = socket.set_tcp_keepalive(&keep_alive);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_notsent_lowat(UNSENT_BYTES);
}
