//! One question over HTTP/1.0 to a port of a node, with a time limit. Blocks.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A longer answer is cut, and then not understood.
const MAX_ANSWER: u64 = 64 << 20;

/// Status and body of the answer.
pub fn ask(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> io::Result<(u16, String)> {
    let mut places = address.to_socket_addrs()?;
    let place = places.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&place, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
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

/// The body of a good answer, as JSON.
pub fn json(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> io::Result<serde_json::Value> {
    let (status, body) = ask(address, method, path, body, limit)?;
    match status {
        200..300 => Ok(serde_json::from_str(&body)?),
        _ => Err(io::Error::other(format!(
            "{address}{path}: {status} {body}"
        ))),
    }
}
