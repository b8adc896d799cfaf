//! Settings of the gateways, with the defaults of the reference release where it has the setting.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use skep_oidc::ProviderSettings;
use skep_protocol::json::API_VERSION;
use skep_tls::ServerTls;

use crate::check::Tenancy;
use crate::door::Login;
use crate::door::guesses::GuessLimits;
use crate::id_pattern::IdPattern;
use crate::operators::Operators;
use crate::pages::Pages;
use crate::trace::SpanListener;

/// How long connections last.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime {
    /// A connection without requests is closed after this time; after `head_timeout` when other connections wait.
    pub idle: Duration,
    /// `skep.api.max-connection-age`: a REST connection of this age, give or take a tenth, is asked to close, so that a load
    /// balancer may assign the client's next one to another gateway. Zero: never.
    pub rest: Duration,
    /// `camunda.api.grpc.max-connection-age`: the same for gRPC.
    pub grpc: Duration,
}

impl Default for Lifetime {
    fn default() -> Lifetime {
        Lifetime {
            idle: Duration::from_secs(300),
            rest: Duration::ZERO,
            grpc: Duration::ZERO,
        }
    }
}

/// The settings of the gateways. `Default` is what a fresh installation uses.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Address of REST (`server.address`, `server.port`). Port 0 takes a free one.
    pub rest_addr: SocketAddr,
    /// Address of gRPC (`camunda.api.grpc.address`, `.port`). Port 0 takes a free one.
    pub grpc_addr: SocketAddr,
    pub tls: Tls,
    /// Largest request, in bytes: a REST body or a gRPC message (`camunda.api.grpc.max-message-size`).
    pub max_message_size: usize,
    pub multipart: MultipartLimits,
    /// How long a request waits for the broker's answer if the client names no time, and for how long one may begin queries of the store.
    pub request_timeout: Duration,
    pub long_polling: LongPolling,
    /// `camunda.api.rest.executor.*`; each front end has its own slots of this number.
    pub executor: ExecutorConfig,
    /// Bytes of request bodies above 16 KiB that one front end holds at a time, as far as they have arrived. At the limit a
    /// body is not read further and the client waits, at most `body_timeout`. One body at a time may exceed the limit.
    /// Documents have a second budget of the same size.
    pub max_buffered_bytes: usize,
    /// Time for a request body to arrive once its head was read; `head_timeout` when other bodies wait for budget. Also the time
    /// after which a connection is cut whose client lets nothing of its answers be sent.
    pub body_timeout: Duration,
    /// Open connections of one front end. Further connections wait in the system's queue until one closes.
    pub max_connections: usize,
    /// Time for the head of a request, or an HTTP/2 frame, to arrive once it has begun, and for a new connection to begin.
    pub head_timeout: Duration,
    pub lifetime: Lifetime,
    /// `camunda.api.grpc.min-keep-alive-interval`: a gRPC client that pings more often is disconnected; `None`: no limit.
    pub min_ping_interval: Option<Duration>,
    /// Jobs on their way to one stream and not yet taken by its connection.
    pub job_stream_credit: u32,
    /// A silent REST job stream gets a blank line, an idle gRPC connection a ping, after this time. A client that does not
    /// take it is disconnected, and its jobs go back.
    pub stream_keep_alive: Duration,
    /// Time for requests in progress when the gateways stop.
    pub shutdown_grace: Duration,
    /// Threads that serve connections (`skep.runtime.worker-threads`), at least one.
    pub worker_threads: usize,
    /// The release whose API Skep implements, for clients that check versions (`skep.api.version`).
    pub api_version: String,
    /// Whether jobs are counted for statistics.
    pub counts_jobs: bool,
    /// Called for each command that the broker has answered.
    pub spans: Option<Arc<dyn SpanListener>>,
    pub hooks: Hooks,
    pub security: Security,
}

/// What else is served at the REST port.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Handles paths that REST does not have.
    pub pages: Option<Arc<dyn Pages>>,
    /// Carries out what operators ask for.
    pub operators: Option<Arc<dyn Operators>>,
}

/// TLS of the two ports; without it, clear text.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// `server.ssl.*`
    pub rest: Option<ServerTls>,
    /// `camunda.api.grpc.ssl.*`
    pub grpc: Option<ServerTls>,
}

/// Authentication and authorization of callers (`camunda.security.*`).
#[derive(Clone, Debug)]
pub struct Security {
    /// Whether and how callers must authenticate.
    pub login: Login,
    /// Providers whose tokens are accepted, with [`Login::Bearer`].
    pub providers: Vec<ProviderSettings>,
    /// Whether the permissions of each caller are checked (`camunda.security.authorizations.enabled`).
    pub authorizations: bool,
    /// Whether callers see only data of their own tenants (`camunda.security.multi-tenancy.checks-enabled`).
    pub tenancy: Tenancy,
    /// `camunda.security.multi-tenancy.api-enabled`
    pub tenants_api: bool,
    /// Whether users are managed here, and not by an identity provider.
    pub users_api: bool,
    /// Whether groups are managed here: no provider names them in its tokens.
    pub groups_api: bool,
    /// The pattern that ids must match (`camunda.security.id-validation-pattern`).
    pub ids: IdPattern,
    /// Requests are refused while this node's directory has not been current for longer than this
    /// (`skep.security.max-view-age`); `None`: never.
    pub max_view_age: Option<Duration>,
    pub guesses: GuessLimits,
}

impl Security {
    /// The reason why operations with this tag are unavailable, if they are.
    pub fn closed(&self, tag: &str) -> Option<&'static str> {
        match tag {
            "Tenants" if !self.tenants_api => {
                Some("camunda.security.multi-tenancy.api-enabled is false")
            }
            "Users" | "Setup" if !self.users_api => Some(
                "users are managed by the identity provider (camunda.security.authentication.method is oidc)",
            ),
            "Groups" if !self.groups_api => Some(
                "groups come from the tokens (camunda.security.authentication.oidc.groups-claim)",
            ),
            _ => None,
        }
    }
}

impl Default for Security {
    fn default() -> Security {
        Security {
            login: Login::default(),
            providers: Vec::new(),
            authorizations: false,
            tenancy: Tenancy::Off,
            tenants_api: true,
            users_api: true,
            groups_api: true,
            ids: IdPattern::default(),
            max_view_age: None,
            guesses: GuessLimits::default(),
        }
    }
}

/// Limits of deployments and documents over REST (`spring.servlet.multipart.*`, `server.tomcat.max-part-count`).
#[derive(Clone, Copy, Debug)]
pub struct MultipartLimits {
    /// Bytes of the whole body.
    pub max_size: usize,
    pub max_parts: usize,
}

/// `camunda.api.long-polling.*`
#[derive(Clone, Copy, Debug)]
pub struct LongPolling {
    pub enabled: bool,
    /// How long a job activation waits for a job when the client names no time.
    pub timeout: Duration,
}

/// How many requests a front end works on at a time (`camunda.api.rest.executor.*`).
///
/// Decoding and writing happen on the threads of the gateways and never wait, so they need no limit of their own. Requests
/// that the broker has not answered yet do need a limit, because each costs its body's memory. They are small futures
/// instead of blocked threads, and group commit works best with many of them, so a "thread" of the reference's pool counts
/// for [`ExecutorConfig::requests_per_worker`] requests here.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorConfig {
    /// Times the available processors.
    pub max_pool_size_multiplier: usize,
    /// Requests that one worker carries while they wait for their commit. Skep's own setting.
    pub requests_per_worker: usize,
    /// Requests that may wait for a slot before [`OverloadPolicy::Abort`] refuses.
    pub queue_capacity: usize,
    pub policy: OverloadPolicy,
}

impl ExecutorConfig {
    /// Requests of one front end that the broker holds at a time.
    pub fn slots(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores * self.max_pool_size_multiplier * self.requests_per_worker).max(1)
    }
}

/// Policy for requests when all slots are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverloadPolicy {
    /// It waits, and its connection with it: nothing is refused and no memory grows.
    CallerRuns,
    /// `queue_capacity` requests wait, further ones get 503 `RESOURCE_EXHAUSTED` at once. Requests that finish work that is
    /// already in the system (completions, failures, cancellations …) wait in any case.
    Abort,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        GatewayConfig {
            rest_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            grpc_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 26500)),
            tls: Tls::default(),
            max_message_size: 4 << 20,
            multipart: MultipartLimits {
                max_size: 10 << 20,
                max_parts: 50,
            },
            request_timeout: Duration::from_secs(10),
            long_polling: LongPolling {
                enabled: true,
                timeout: Duration::from_secs(10),
            },
            executor: ExecutorConfig::default(),
            max_buffered_bytes: 64 << 20,
            body_timeout: Duration::from_secs(30),
            max_connections: 8192,
            head_timeout: Duration::from_secs(10),
            lifetime: Lifetime::default(),
            min_ping_interval: Some(Duration::from_secs(30)),
            job_stream_credit: 32,
            stream_keep_alive: Duration::from_secs(15),
            shutdown_grace: Duration::from_secs(5),
            worker_threads: std::thread::available_parallelism().map_or(2, usize::from),
            api_version: API_VERSION.to_string(),
            counts_jobs: true,
            spans: None,
            hooks: Hooks::default(),
            security: Security::default(),
        }
    }
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        ExecutorConfig {
            max_pool_size_multiplier: 2,
            requests_per_worker: 128,
            queue_capacity: 64,
            policy: OverloadPolicy::CallerRuns,
        }
    }
}
