//! The management port: health, metrics and operator actions under `/actuator`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus_client::registry::Registry;
use skep_broker::Broker;

pub struct Management {
    broker: Arc<Broker>,
    registry: Registry,
}

impl Management {
    pub fn new(broker: Arc<Broker>, registry: Registry) -> Arc<Management> {
        Arc::new(Management { broker, registry })
    }

    fn handle(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        match (method, path) {
            (&Method::GET, "/actuator/health" | "/actuator/health/readiness" | "/actuator/health/liveness" | "/actuator/health/startup") => {
                let up = self.broker.is_ready();
                let (status, text) = if up { (StatusCode::OK, "UP") } else { (StatusCode::SERVICE_UNAVAILABLE, "DOWN") };
                json(status, format!("{{\"status\":\"{text}\"}}"))
            }
            (&Method::GET, "/actuator/prometheus") => {
                self.broker.refresh_metrics();
                let mut text = String::new();
                match prometheus_client::encoding::text::encode(&mut text, &self.registry) {
                    Ok(()) => respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text),
                    Err(error) => json(StatusCode::INTERNAL_SERVER_ERROR, format!("{{\"message\":\"{error}\"}}")),
                }
            }
            _ => json(StatusCode::NOT_FOUND, "{\"message\":\"no such endpoint\"}".to_string()),
        }
    }
}

fn json(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    respond(status, "application/json", body)
}

fn respond(status: StatusCode, content_type: &str, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", content_type);
    response.body(Full::from(body)).unwrap_or_default()
}

/// Serves in the background; returns the address that was bound.
pub async fn listen(address: SocketAddr, management: Arc<Management>) -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                continue;
            };
            let management = management.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let response = management.handle(request.method(), request.uri().path());
                    async move { Ok::<_, Infallible>(response) }
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(bound)
}
