//! Requests over HTTP/1.1 to ports of nodes, each with a time limit. They block.

mod answer;
#[cfg(test)]
pub(crate) mod fake;
mod kept;

use std::io;
use std::time::Duration;

use skep_client::Authorization;
use skep_tls::ClientTls;

pub use kept::Kept;

/// A REST API, and the credentials for it.
#[derive(Clone, Debug)]
pub struct Rest {
    /// `HOST:PORT`, after `https://` if it speaks TLS.
    pub address: String,
    pub authorization: Option<Authorization>,
    /// Which certificates are trusted; an address of `https` needs it.
    pub tls: Option<ClientTls>,
}

/// The part of an address that follows its scheme, and whether that is one of TLS.
fn authority(address: &str) -> (&str, bool) {
    match address.split_once("://") {
        None => (address, false),
        Some((scheme, authority)) => (authority, scheme == "https"),
    }
}

impl Rest {
    /// An API that asks for no login.
    pub fn open(address: &str) -> Self {
        Self {
            address: address.into(),
            authorization: None,
            tls: None,
        }
    }

    /// Status and body of the answer. The request is sent once.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        body: &str,
        limit: Duration,
    ) -> io::Result<(u16, String)> {
        Kept::to(self.clone()).ask(method, path, body, limit)
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

    /// The bytes of a request.
    fn request(&self, method: &str, path: &str, body: &str) -> io::Result<Vec<u8>> {
        let header = match &self.authorization {
            None => String::new(),
            Some(authorization) => {
                let value = authorization.header().map_err(io::Error::other)?;
                let value = value.to_str().map_err(io::Error::other)?;
                format!("authorization: {value}\r\n")
            }
        };
        let ((host, _), length) = (authority(&self.address), body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{header}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Ok(request.into_bytes())
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
    Rest::open(address).ask(method, path, body, limit)
}

/// The body of a successful answer, as JSON.
pub fn json(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> io::Result<serde_json::Value> {
    Rest::open(address).json(method, path, body, limit)
}

fn good(address: &str, path: &str, (status, body): (u16, String)) -> io::Result<serde_json::Value> {
    let kind = match status {
        200..300 => return Ok(serde_json::from_str(&body)?),
        401 | 403 => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    let text = format!("{address}{path}: {status} {body}");
    Err(io::Error::new(kind, text))
}
