//! One kept-alive connection to a collector.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use skep_exporting::without_password;
use tokio::net::TcpStream;

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ANSWER: usize = 64 << 10;

pub struct Collector {
    host: String,
    port: u16,
    path: String,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Collector {
    pub fn new(endpoint: &str) -> Result<Collector, String> {
        let expected = "expected the HTTP address of a collector, such as http://localhost:4318";
        let shown = without_password(endpoint);
        let uri: Uri = endpoint
            .parse()
            .map_err(|e| format!("skep.tracing.otlp-endpoint '{shown}': {e}; {expected}"))?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(format!("skep.tracing.otlp-endpoint '{shown}': {expected}"));
        };
        let path = uri.path().trim_end_matches('/');
        Ok(Collector {
            host: host.trim_matches(['[', ']']).to_string(),
            port: uri.port_u16().unwrap_or(4318),
            path: if path.ends_with("/v1/traces") {
                path.to_string()
            } else {
                format!("{path}/v1/traces")
            },
            connection: None,
        })
    }

    pub async fn send(&mut self, body: String) -> Result<(), String> {
        let sent = tokio::time::timeout(TIMEOUT, self.exchange(body)).await;
        let result = sent.unwrap_or_else(|_| Err("no answer in time".to_string()));
        if result.is_err() {
            self.connection = None;
        }
        result
    }

    async fn exchange(&mut self, body: String) -> Result<(), String> {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let mut connection = match self.connection.take().filter(|c| !c.is_closed()) {
            Some(connection) => connection,
            None => {
                let address = (self.host.as_str(), self.port);
                let stream = TcpStream::connect(address).await.map_err(|e| text(&e))?;
                let (sender, connection) = handshake(TokioIo::new(stream))
                    .await
                    .map_err(|e| text(&e))?;
                tokio::spawn(connection);
                sender
            }
        };
        let request = Request::post(&self.path)
            .header(header::HOST, format!("{}:{}", self.host, self.port))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))
            .map_err(|e| text(&e))?;
        connection.ready().await.map_err(|e| text(&e))?;
        let answer = connection
            .send_request(request)
            .await
            .map_err(|e| text(&e))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER)
            .collect()
            .await
            .map_err(|e| e.to_string())?;
        if !status.is_success() {
            let body = body.to_bytes();
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
        }
        self.connection = Some(connection);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_http_address() {
        let path = |endpoint: &str| Collector::new(endpoint).map(|c| (c.host, c.port, c.path));
        assert_eq!(
            path("http://collector"),
            Ok(("collector".into(), 4318, "/v1/traces".into()))
        );
        assert_eq!(
            path("http://[::1]:80/otlp/"),
            Ok(("::1".into(), 80, "/otlp/v1/traces".into()))
        );
        for endpoint in ["localhost:4318", "https://x", "grpc://x", ""] {
            assert!(path(endpoint).is_err(), "{endpoint}");
        }
    }
}
