//! Configuration that a client needs to reach a server.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use parking_lot::RwLock;

use crate::Error;

/// The HTTP version of the REST transport. gRPC always speaks HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpVersion {
    /// HTTP/1.1 with kept-alive connections, one request at a time on each.
    #[default]
    Http1,
    /// HTTP/2 with prior knowledge, requests multiplexed on few connections.
    Http2,
}

/// The value of the `authorization` header, for instance `Bearer …` or `Basic …`.
/// Its `Debug` form does not show it.
#[derive(Clone)]
pub struct Authorization(Value);

#[derive(Clone)]
enum Value {
    Fixed(String),
    /// May be replaced at any time.
    Renewed(Arc<RwLock<HeaderValue>>),
}

/// Replaces the value of an [`Authorization`]: requests sent from then on use it.
#[derive(Clone)]
pub struct Renewal(Arc<RwLock<HeaderValue>>);

impl Renewal {
    /// Replaces the current value by a bearer token.
    ///
    /// # Errors
    /// The token contains characters that a header cannot hold; the current value stays.
    pub fn is(&self, token: &str) -> Result<(), Error> {
        *self.0.write() = secret(&format!("Bearer {token}"))?;
        Ok(())
    }
}

/// A header that logs and header compression treat as secret.
fn secret(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Error::Invalid("the authorization has characters that a header cannot hold".into())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl Authorization {
    /// A header value, sent as given.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Value::Fixed(value.into()))
    }

    /// A bearer token (OAuth 2).
    pub fn bearer(token: &str) -> Self {
        Self::new(format!("Bearer {token}"))
    }

    /// A bearer token that is renewed while clients use it.
    ///
    /// # Errors
    /// The token contains characters that a header cannot hold.
    pub fn renewed(token: &str) -> Result<(Self, Renewal), Error> {
        let value = Arc::new(RwLock::new(secret(&format!("Bearer {token}"))?));
        Ok((Self(Value::Renewed(value.clone())), Renewal(value)))
    }

    /// A name and a password (HTTP Basic, RFC 7617).
    ///
    /// # Errors
    /// A colon in the name, which would end it.
    pub fn basic(name: &str, password: &str) -> Result<Self, Error> {
        if name.contains(':') {
            return Err(Error::Invalid(format!(
                "the user name {name:?} has a colon, which separates name and password"
            )));
        }
        let encoded = STANDARD.encode(format!("{name}:{password}"));
        Ok(Self::new(format!("Basic {encoded}")))
    }

    /// The value as a header, which logs and header compression treat as secret.
    ///
    /// # Errors
    /// The value contains characters that a header cannot hold.
    pub fn header(&self) -> Result<HeaderValue, Error> {
        match &self.0 {
            Value::Fixed(text) => secret(text),
            Value::Renewed(value) => Ok(value.read().clone()),
        }
    }

    /// Prepares it for requests: a constant value is made into a header once.
    pub(crate) fn ready(&self) -> Result<Self, Error> {
        match &self.0 {
            Value::Fixed(text) => {
                let value = Arc::new(RwLock::new(secret(text)?));
                Ok(Self(Value::Renewed(value)))
            }
            Value::Renewed(_) => Ok(self.clone()),
        }
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(…)")
    }
}

impl FromStr for Authorization {
    type Err = Infallible;

    fn from_str(value: &str) -> Result<Self, Infallible> {
        Ok(Self::new(value))
    }
}

/// Address, limits and credentials of a [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// `http://host:port`, `https://host:port`, or `host:port`, or `host` (port 8080 for REST, 26500 for gRPC). For REST also with the
    /// path at which a proxy offers the server.
    pub address: String,
    /// With `https`: file of the trusted authorities, in PEM format. `None`: the trust store of the
    /// machine.
    pub authorities: Option<PathBuf>,
    /// The HTTP version of REST.
    pub http_version: HttpVersion,
    /// HTTP/2: connections over which requests are spread (1). HTTP/1.1: idle connections kept (at least 64).
    pub connections: usize,
    /// Credentials, if the server asks for any.
    pub authorization: Option<Authorization>,
    /// How long to wait for a connection (5 s).
    pub connect_timeout: Duration,
    /// How long to wait for an answer (20 s). Long polls and awaited instances wait longer, by their own timeout.
    pub request_timeout: Duration,
    /// Largest answer and largest pushed job, in bytes (16 MiB).
    pub max_message_size: usize,
    /// Bytes that a server may push on a job stream ahead of the worker's reading (64 KiB).
    pub stream_window: u32,
    /// A REST job stream without a byte (job or keep-alive) for this long counts as broken (90 s).
    pub stream_idle_timeout: Duration,
}

impl ClientConfig {
    /// The defaults of each field, for a server at `address`.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            authorities: None,
            http_version: HttpVersion::default(),
            connections: 1,
            authorization: None,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(20),
            max_message_size: 16 * 1024 * 1024,
            stream_window: 64 * 1024,
            stream_idle_timeout: Duration::from_secs(90),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_as_in_rfc_7617() {
        let login = Authorization::basic("Aladdin", "open sesame").unwrap();
        let header = login.header().unwrap();
        assert_eq!(header, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(header.is_sensitive());
        assert_eq!(format!("{login:?}"), "Authorization(…)");
        // UTF-8, and colons in the password.
        let login = Authorization::basic("test", "a:ü£").unwrap();
        assert_eq!(login.header().unwrap(), "Basic dGVzdDphOsO8wqM=");
        let error = Authorization::basic("a:b", "c").unwrap_err();
        assert!(error.to_string().contains("has a colon"), "{error}");
    }

    #[test]
    fn a_token_that_is_renewed_is_sent_by_clients_that_have_it_already() {
        let (login, renewal) = Authorization::renewed("first").unwrap();
        let ready = login.ready().unwrap();
        assert_eq!(ready.header().unwrap(), "Bearer first");
        renewal.is("second").unwrap();
        assert_eq!(ready.header().unwrap(), "Bearer second");
        assert!(ready.header().unwrap().is_sensitive());
        assert!(renewal.is("bad\n").is_err() && Authorization::renewed("\n").is_err());
        assert_eq!(login.header().unwrap(), "Bearer second");
    }
}
