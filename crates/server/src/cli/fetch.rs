//! A GET from a management port.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const MAX_ANSWER: usize = 64 << 20;

pub async fn get(base: &str, path: &str, timeout: Duration) -> anyhow::Result<(StatusCode, Bytes)> {
    let uri: Uri = if base.contains("://") {
        base.parse()
    } else {
        format!("http://{base}").parse()
    }
    .with_context(|| format!("'{base}' is not an address"))?;
    if uri.scheme_str() != Some("http") {
        bail!("'{base}': only http is spoken here");
    }
    let host = uri.host().context("the address has no host")?;
    let port = uri.port_u16().unwrap_or(9600);
    let connection = async {
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let request = Request::get(path)
            .header(header::HOST, format!("{host}:{port}"))
            .body(Empty::<Bytes>::new())?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|e| anyhow::anyhow!("{e}"))?;
        anyhow::Ok((status, body.to_bytes()))
    };
    tokio::time::timeout(timeout, connection)
        .await
        .with_context(|| format!("no answer from {host}:{port} in time"))?
        .with_context(|| format!("the management port {host}:{port} cannot be asked"))
}
