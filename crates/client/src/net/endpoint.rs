//! The address of a server, and how to reach it.

use std::borrow::Cow;
use std::time::Duration;

use http::uri::Authority;
use skep_tls::{ClientTls, NotTrusted, Socket};
use tokio::net::{TcpSocket, lookup_host};

use crate::{ClientConfig, Error};

/// Where paths of the server itself begin.
const OWN: [&str; 3] = ["v2", "ui", "actuator"];

/// The path at which a proxy offers the server, taken from the path of an address: it begins with a slash, or is empty. Paths of the server
/// itself do not count, so that an address may be copied from a browser.
pub fn base_path(path: &str) -> &str {
    let mut end = 0;
    for segment in path.strip_prefix('/').unwrap_or_default().split('/') {
        if segment.is_empty() || OWN.contains(&segment) {
            break;
        }
        end += 1 + segment.len();
    }
    path.get(..end).unwrap_or_default()
}

/// A parsed address.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) authority: Authority,
    pub(crate) address: String,
    /// See [`base_path`].
    pub(crate) base_path: String,
    pub(crate) connect_timeout: Duration,
    tls: Option<ClientTls>,
}

impl Endpoint {
    pub(crate) fn parse(
        config: &ClientConfig,
        default_port: u16,
        protocol: &str,
    ) -> Result<Self, Error> {
        let address = &config.address;
        let invalid = |why: &str| Error::Invalid(format!("address {address:?}: {why}"));
        let (rest, encrypted) = match address.split_once("://") {
            Some(("http" | "grpc", rest)) => (rest, false),
            Some(("https" | "grpcs", rest)) => (rest, true),
            Some((scheme, _)) => {
                return Err(invalid(&format!(
                    "{scheme} is not spoken here; give http://host:port or https://host:port"
                )));
            }
            None => (address.as_str(), false),
        };
        let tls = encrypted.then(|| {
            ClientTls::open(config.authorities.as_deref(), &[protocol]).map_err(|why| invalid(&why))
        });
        let (rest, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let parsed: Authority = rest
            .parse()
            .map_err(|_| invalid("give it as http://host:port"))?;
        let authority = match parsed.port_u16() {
            Some(_) => parsed,
            None => format!("{parsed}:{default_port}")
                .parse()
                .map_err(|_| invalid("give it as http://host:port"))?,
        };
        Ok(Self {
            address: authority.to_string(),
            authority,
            base_path: base_path(path).to_owned(),
            connect_timeout: config.connect_timeout,
            tls: tls.transpose()?,
        })
    }

    /// The path of a request, as the server or a proxy in front of it expects it.
    pub(crate) fn path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match self.base_path.as_str() {
            "" => Cow::Borrowed(path),
            base => Cow::Owned(format!("{base}{path}")),
        }
    }

    /// Connects; `receive_buffer` bounds what the kernel takes in unread, in bytes.
    pub(crate) async fn connect(&self, receive_buffer: Option<u32>) -> Result<Socket, Error> {
        let attempt = async {
            let mut last = None;
            for address in lookup_host(&self.address).await? {
                let socket = if address.is_ipv4() {
                    TcpSocket::new_v4()?
                } else {
                    TcpSocket::new_v6()?
                };
                if let Some(bytes) = receive_buffer {
                    socket.set_recv_buffer_size(bytes)?;
                }
                match socket.connect(address).await {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        return match &self.tls {
                            Some(tls) => tls.connect(self.authority.host(), stream).await,
                            None => Ok(stream.into()),
                        };
                    }
                    Err(error) => last = Some(error),
                }
            }
            Err(last.unwrap_or_else(|| std::io::Error::other("the name has no address")))
        };
        match tokio::time::timeout(self.connect_timeout, attempt).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) if is_untrusted(&error) => Err(Error::Untrusted {
                address: self.address.clone(),
                reason: error.to_string(),
            }),
            Ok(Err(error)) => Err(self.unreachable(error)),
            Err(_) => Err(self.unreachable(format!("no answer in {:?}", self.connect_timeout))),
        }
    }

    pub(crate) fn unreachable(&self, reason: impl std::fmt::Display) -> Error {
        Error::Connect {
            address: self.address.clone(),
            reason: reason.to_string(),
        }
    }
}

fn is_untrusted(error: &std::io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|inner| inner.is::<NotTrusted>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> Result<String, Error> {
        Endpoint::parse(&ClientConfig::new(address), 8080, "http/1.1").map(|e| e.address)
    }

    #[test]
    fn addresses_may_leave_out_scheme_and_port() {
        assert_eq!(parsed("http://a:1").unwrap(), "a:1");
        assert_eq!(parsed("a:1/").unwrap(), "a:1");
        assert_eq!(parsed("a").unwrap(), "a:8080");
        assert_eq!(parsed("[::1]").unwrap(), "[::1]:8080");
        let error = parsed("ftp://a").unwrap_err().to_string();
        assert!(error.contains("ftp is not spoken"), "{error}");
        let mut config = ClientConfig::new("https://a");
        config.authorities = Some("nowhere.pem".into());
        let error = Endpoint::parse(&config, 8080, "h2")
            .unwrap_err()
            .to_string();
        assert!(error.contains("nowhere.pem cannot be read"), "{error}");
        assert!(parsed("http://a b").is_err());
    }

    #[test]
    fn a_proxy_may_offer_the_server_below_a_path() {
        for (address, path) in [
            ("http://a", "/v2/topology"),
            ("http://a/v2", "/v2/topology"),
            ("a:1/ui/instances?state=active", "/v2/topology"),
            ("http://a/skep/", "/skep/v2/topology"),
            ("https://a/teams/one/ui/", "/teams/one/v2/topology"),
            ("http://a//b", "/v2/topology"),
        ] {
            let config = ClientConfig::new(address);
            let endpoint = Endpoint::parse(&config, 8080, "http/1.1").unwrap();
            assert_eq!(endpoint.path("/v2/topology"), path, "{address}");
        }
    }
}
