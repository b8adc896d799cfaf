//! The address of a server, and how to reach it.

use std::time::Duration;

use http::uri::Authority;
use skep_tls::{ClientTls, NotTrusted, Socket};
use tokio::net::{TcpSocket, lookup_host};

use crate::{ClientConfig, Error};

/// A parsed address.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) authority: Authority,
    pub(crate) address: String,
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
        let rest = rest.trim_end_matches('/');
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
            connect_timeout: config.connect_timeout,
            tls: tls.transpose()?,
        })
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
}
