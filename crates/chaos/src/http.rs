//! A single request over HTTP/1.0 to a port of a node, with a time limit. Blocks.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use skep_client::Authorization;

/// Maximum size of an answer; a longer one is truncated, and then not understood.
const MAX_ANSWER: u64 = 64 << 20;

/// A REST API, and the credentials for it.
#[derive(Clone, Debug)]
pub struct Rest {
    pub address: String,
    pub authorization: Option<Authorization>,
}

impl Rest {
    /// Status and body of the answer.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        body: &str,
        limit: Duration,
    ) -> io::Result<(u16, String)> {
        let header = match &self.authorization {
            None => String::new(),
            Some(authorization) => {
                let value = authorization.header().map_err(io::Error::other)?;
                let value = value.to_str().map_err(io::Error::other)?;
                format!("authorization: {value}\r\n")
            }
        };
        exchange(&self.address, (method, path, &header), body, limit)
    }

    /// The body of a successful answer, as JSON.
    pub fn json(
        &self,
        method: &str,
        path: &str,
        body: &str,
        limit: Duration,
    ) -> io::Result<serde_json::Value> {
        good(&self.address, path, self.ask(method, path, body, limit)?)
    }
}

/// Status and body of the answer.
pub fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> io::Result<(u16, String)> {
    exchange(address, (method, path, ""), body, limit)
}

fn exchange(
    address: &str,
    (method, path, headers): (&str, &str, &str),
    body: &str,
    limit: Duration,
) -> io::Result<(u16, String)> {
    let mut places = address.to_socket_addrs()?;
    let place = places.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&place, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(MAX_ANSWER).read_to_string(&mut answer)?;
    let malformed = || io::Error::other(format!("{address}{path}: the answer is no HTTP"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(malformed)?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok((status.ok_or_else(malformed)?, body.to_string()))
}

/// The body of a successful answer, as JSON.
pub fn json(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> io::Result<serde_json::Value> {
    good(address, path, ask(address, method, path, body, limit)?)
}

fn good(address: &str, path: &str, (status, body): (u16, String)) -> io::Result<serde_json::Value> {
    match status {
        200..300 => Ok(serde_json::from_str(&body)?),
        _ => Err(io::Error::other(format!(
            "{address}{path}: {status} {body}"
        ))),
    }
}
