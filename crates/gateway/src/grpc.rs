//! gRPC: the gateway service, health and reflection, on the same connections and the same path to the broker as REST.
//!
//! The services are called by path, without tonic's own server, router and layers.

mod body;
mod decode;
mod encode;
mod job_result;
mod modification;
pub mod rpcs;
mod service;
mod status;
mod stream;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use skep_proto::FILE_DESCRIPTOR_SET;
use skep_proto::gateway_protocol::gateway_server::GatewayServer;
use skep_protocol::origin::Claims;
use tonic::Status;
use tonic_health::server::HealthReporter;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use self::body::{CallContext, MessageBody};
use self::service::GatewayService;
use crate::budget::FREE_BODY_BYTES;
use crate::call::{FrontEnd, Stopwatch};
use crate::door::visitor::Visitor;
use crate::door::{Head, Refused};

/// Common prefix of the paths of the gateway's RPCs.
const GATEWAY: &str = "/gateway_protocol.Gateway/";

type GrpcResponse = Response<tonic::body::Body>;
type Other = BoxCloneSyncService<Request<MessageBody>, GrpcResponse, Infallible>;

/// Everything that the gRPC port serves. Cheap to clone.
#[derive(Clone)]
pub struct GrpcServices {
    front: Arc<FrontEnd>,
    gateway: GatewayServer<GatewayService>,
    health: HealthReporter,
    /// Services that are asked rarely, by the prefix of their paths.
    others: Arc<[(&'static str, Other)]>,
}

impl GrpcServices {
    pub fn new(front: Arc<FrontEnd>) -> GrpcServices {
        // The limit holds for the message as it arrives (see `MessageBody`) and again for what it unpacks to. Some clients
        // (Node.js) compress every request; answers go out as they are, since packing them would cost more than it saves.
        let gateway = GatewayServer::new(GatewayService::new(Arc::clone(&front)))
            .accept_compressed(tonic::codec::CompressionEncoding::Gzip)
            .max_decoding_message_size(front.config.max_message_size);
        let (health, health_server) = tonic_health::server::health_reporter();
        let mut others: Vec<(&'static str, Other)> = vec![(
            "/grpc.health.v1.Health/",
            BoxCloneSyncService::new(health_server.max_decoding_message_size(FREE_BODY_BYTES)),
        )];
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        match (reflection().build_v1(), reflection().build_v1alpha()) {
            (Ok(v1), Ok(v1alpha)) => {
                others.push((
                    "/grpc.reflection.v1.ServerReflection/",
                    BoxCloneSyncService::new(v1.max_decoding_message_size(FREE_BODY_BYTES)),
                ));
                others.push((
                    "/grpc.reflection.v1alpha.ServerReflection/",
                    BoxCloneSyncService::new(v1alpha.max_decoding_message_size(FREE_BODY_BYTES)),
                ));
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(code = "INTERNAL", %error, "gRPC reflection is off: the built-in descriptors cannot be read");
            }
        }
        GrpcServices {
            front,
            gateway,
            health,
            others: others.into(),
        }
    }

    /// Tells health watchers that the gateway serves.
    pub async fn serving(&self) {
        self.health
            .set_serving::<GatewayServer<GatewayService>>()
            .await;
    }

    /// Tells health watchers that the gateway stops.
    pub async fn stopping(&self) {
        self.health
            .set_not_serving::<GatewayServer<GatewayService>>()
            .await;
        self.health
            .set_service_status("", tonic_health::ServingStatus::NotServing)
            .await;
    }

    pub fn handle(
        &self,
        visitor: &Arc<Visitor>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<GrpcResponse, Infallible>> + Send + use<> {
        let watch = Stopwatch::of_call(request.headers(), &self.front.config);
        let context = Arc::new(CallContext::new(watch, visitor.peer));
        let shown = Shown::by(&self.front, &request, visitor);
        let rpc = request
            .uri()
            .path()
            .strip_prefix(GATEWAY)
            .map(rpcs::position);
        let (mut parts, body) = request.into_parts();
        let front = Arc::clone(&self.front);
        let body = match rpc {
            Some(Some(_)) => MessageBody::of_call(body, Arc::clone(&front), Arc::clone(&context)),
            _ => MessageBody::of_stream(body, Arc::clone(&front)),
        };
        // Boxed, here and below: rarely needed state must not enlarge the future of each request.
        let call = match rpc {
            Some(Some(_)) => {
                parts.extensions.insert(Arc::clone(&context));
                Ok(self.gateway.clone().call(Request::from_parts(parts, body)))
            }
            Some(None) => Err(Box::new((None, Request::from_parts(parts, body)))),
            None => {
                let service = self.other(parts.uri.path());
                Err(Box::new((service, Request::from_parts(parts, body))))
            }
        };
        let unknown_caller = match shown {
            Shown::Enough(claims) => {
                context.is_of(claims, Duration::ZERO);
                None
            }
            Shown::Refused(_) | Shown::ToCheck(_) => Some(Box::new(shown)),
        };
        async move {
            if let Some(shown) = unknown_caller {
                let (entered, took) = Box::pin(shown.enter(&front)).await;
                match entered {
                    Ok(claims) => context.is_of(claims, took),
                    Err(refused) => return Ok(not_let_in(refused)),
                }
            }
            let call = match call {
                Ok(call) => call,
                Err(other) => {
                    return match *other {
                        (Some(service), request) => Box::pin(service.oneshot(request)).await,
                        (None, request) => Ok(unknown(request.uri().path())),
                    };
                }
            };
            let response = call.await?;
            if let Some(Some(rpc)) = rpc {
                book(&front, rpc, &response, &context);
            }
            Ok(response)
        }
    }

    /// The service besides the gateway's that answers at this path.
    fn other(&self, path: &str) -> Option<Other> {
        let mut others = self.others.iter();
        let (_, service) = others.find(|(prefix, _)| path.starts_with(prefix))?;
        Some(service.clone())
    }
}

/// Counts an answered call of the gateway's service.
fn book(front: &FrontEnd, rpc: usize, response: &GrpcResponse, context: &CallContext) {
    let code = Status::from_header_map(response.headers()).map_or(0, |s| s.code() as i32);
    let streaming = rpcs::RPCS.get(rpc).is_some_and(|rpc| rpc.streaming);
    // A job stream is booked when it ends, and counts its messages itself.
    if code != 0 || rpc != rpcs::STREAM_ACTIVATED_JOBS {
        let sent = u64::from(code == 0 && !streaming);
        let took = context.watch.total_ns();
        front.metrics.grpc.observe(rpc, code, took, sent);
    }
}

const HEALTH: &str = "/grpc.health.v1.Health/";

/// Result of checking a caller from the head of a request.
enum Shown {
    Enough(Claims),
    Refused(Refused),
    ToCheck(Box<Copied>),
}

/// A copy of a head, for a check while the request has moved on.
struct Copied {
    method: Method,
    headers: HeaderMap,
    visitor: Arc<Visitor>,
}

impl Shown {
    fn by(front: &FrontEnd, request: &Request<Incoming>, visitor: &Arc<Visitor>) -> Shown {
        // Health is public, and reveals nothing.
        if request.uri().path().starts_with(HEALTH) {
            return Shown::Enough(Claims::Anonymous);
        }
        let head = Head {
            method: request.method(),
            authority: request.uri().authority(),
            headers: request.headers(),
            visitor,
        };
        match front.door.at_once(&head, || front.directory()) {
            Ok(Some(claims)) => Shown::Enough(claims),
            Err(refused) => Shown::Refused(refused),
            Ok(None) => Shown::ToCheck(Box::new(Copied {
                method: request.method().clone(),
                headers: request.headers().clone(),
                visitor: Arc::clone(visitor),
            })),
        }
    }

    /// The caller, and the time that the check took.
    async fn enter(self, front: &FrontEnd) -> (Result<Claims, Refused>, Duration) {
        let copied = match self {
            Shown::Enough(claims) => return (Ok(claims), Duration::ZERO),
            Shown::Refused(refused) => {
                front.refused(&refused);
                return (Err(refused), Duration::ZERO);
            }
            Shown::ToCheck(copied) => copied,
        };
        let head = Head {
            method: &copied.method,
            // It was compared already.
            authority: None,
            headers: &copied.headers,
            visitor: &copied.visitor,
        };
        front.check(&head).await
    }
}

fn not_let_in(refused: Refused) -> GrpcResponse {
    let refusal = match refused {
        Refused::Cannot(failure) => status::status(failure),
        Refused::Nothing(_) => Status::unauthenticated(
            "Expected authentication information at header with key [authorization], but found nothing",
        ),
        Refused::Other(scheme) => Status::unauthenticated(format!(
            "Expected the header 'authorization' to begin with '{}', but it has another scheme",
            scheme.prefix()
        )),
        Refused::Several(_)
        | Refused::Wrong
        | Refused::Token(_)
        | Refused::NoSession(_)
        | Refused::Forged => Status::unauthenticated(status::header_text(&refused.text())),
    };
    refusal.into_http()
}

fn unknown(path: &str) -> GrpcResponse {
    let text = match path.strip_prefix(GATEWAY) {
        Some(rpc) => format!("The service '{}' has no rpc '{rpc}'.", rpcs::SERVICE),
        None => format!("There is no service at '{path}'."),
    };
    Status::unimplemented(status::header_text(&text)).into_http()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn future_size<F: Future>(
        _: impl Fn(&GrpcServices, &Arc<Visitor>, Request<Incoming>) -> F,
    ) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_call_under_way_is_small() {
        let bytes = future_size(GrpcServices::handle);
        assert!(bytes <= 128, "{bytes} bytes to move with each call");
    }
}
