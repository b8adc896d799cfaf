//! Parses database URLs, as JDBC or PostgreSQL write them.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use skep_exporting::{Trust, Verify};

const DEFAULT_PORT: u16 = 5432;
/// Time limit for connecting, unless the URL sets another one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Approximate time after which a vanished server is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

const KNOWN: &str = "user, password, currentSchema, ApplicationName, connectTimeout, loginTimeout, sslmode, ssl, sslrootcert, sslcert, sslkey, targetServerType";

/// Reasons why a URL is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UrlError {
    #[error(
        "a URL that begins with '{0}' is not that of a PostgreSQL database, which begins with jdbc:postgresql:// or postgresql://. Other \
         databases are not supported."
    )]
    Scheme(String),
    #[error(
        "the user or the password in the URL has characters to be written as %xx, such as %2F for '/'"
    )]
    Escape,
    #[error("'{0}' is not a host with a port; expected HOST:PORT/DATABASE")]
    Host(String),
    #[error("the parameter '{0}' is not known here; these are: {KNOWN}")]
    Parameter(String),
    #[error("the parameter '{name}' cannot be '{value}': {why}")]
    Value {
        name: String,
        value: String,
        why: &'static str,
    },
}

/// Parses a URL. User and password from the settings take precedence over those in the URL.
pub fn parse(
    url: &str,
    username: Option<&str>,
    password: Option<&str>,
) -> Result<(tokio_postgres::Config, Trust), UrlError> {
    let plain = url.strip_prefix("jdbc:").unwrap_or(url);
    let schemes = ["postgresql://", "postgres://"];
    let rest = schemes.iter().find_map(|s| plain.strip_prefix(s));
    let rest = rest.ok_or_else(|| UrlError::Scheme(scheme(url)))?;
    let mut config = tokio_postgres::Config::new();
    config
        .application_name("skep")
        .connect_timeout(CONNECT_TIMEOUT)
        .keepalives_idle(KEEP_ALIVE)
        .tcp_user_timeout(KEEP_ALIVE)
        .ssl_mode(SslMode::Prefer);
    let mut tls = Tls::default();
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, authority),
    };
    if let Some(login) = login {
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        config.user(decoded(user));
        if !password.is_empty() {
            config.password(decoded(password));
        }
    }
    for one in hosts.split(',') {
        let (host, port) = host(one).map_err(|error| match login {
            // The text may be part of a password.
            None if place.contains('@') => UrlError::Escape,
            _ => error,
        })?;
        config.host(host).port(port);
    }
    if !database.is_empty() {
        config.dbname(decoded(database));
    }
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        set(&mut config, &mut tls, name, decoded(value))?;
    }
    if let Some(username) = username {
        config.user(username);
    }
    if let Some(password) = password {
        config.password(password);
    }
    if config.get_user().is_none() {
        config.user("postgres");
    }
    let trust = tls.apply(&mut config)?;
    Ok((config, trust))
}

/// The URL's encryption parameters.
#[derive(Default)]
struct Tls {
    mode: Option<String>,
    ssl: Option<bool>,
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Tls {
    /// Applies the reference driver's defaults: without a setting, the connection is encrypted if the server supports it.
    fn apply(self, config: &mut tokio_postgres::Config) -> Result<Trust, UrlError> {
        let of_flag = match self.ssl {
            Some(true) => "verify-full",
            Some(false) => "disable",
            None => "prefer",
        };
        let mode = self.mode.as_deref().unwrap_or(of_flag);
        let (ssl, verify) = match mode {
            "disable" => (SslMode::Disable, Verify::Nothing),
            "allow" | "prefer" => (SslMode::Prefer, Verify::Nothing),
            "require" if self.root.is_none() => (SslMode::Require, Verify::Nothing),
            // Naming a certificate implies that it is verified.
            "require" | "verify-ca" => (SslMode::Require, Verify::Chain),
            "verify-full" => (SslMode::Require, Verify::ChainAndName),
            other => {
                return Err(UrlError::Value {
                    name: "sslmode".to_string(),
                    value: other.to_string(),
                    why: "allowed are disable, allow, prefer, require, verify-ca and verify-full",
                });
            }
        };
        config.ssl_mode(ssl);
        let identity = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(UrlError::Value {
                    name: "sslcert".to_string(),
                    value: "without sslkey".to_string(),
                    why: "a certificate and its key go together, both as PEM files",
                });
            }
        };
        Ok(Trust {
            certificates: self.root,
            verify,
            identity,
        })
    }
}

/// The address of the database for messages, without the password.
pub fn shown(config: &tokio_postgres::Config) -> String {
    let hosts = config.get_hosts().iter().zip(config.get_ports());
    let hosts = hosts.map(|(host, port)| match host {
        Host::Tcp(host) => format!("{host}:{port}"),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    format!("PostgreSQL at {}/{database} as {user}", hosts.join(","))
}

fn host(text: &str) -> Result<(&str, u16), UrlError> {
    let bad = || UrlError::Host(text.to_string());
    let (host, port) = match text.strip_prefix('[') {
        Some(ipv6) => {
            let (host, rest) = ipv6.split_once(']').ok_or_else(bad)?;
            (host, rest.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| bad())?,
        None => DEFAULT_PORT,
    };
    let host = if host.is_empty() { "localhost" } else { host };
    Ok((host, port))
}

fn set(
    config: &mut tokio_postgres::Config,
    tls: &mut Tls,
    name: &str,
    value: String,
) -> Result<(), UrlError> {
    let refused = |why| UrlError::Value {
        name: name.to_string(),
        value: value.clone(),
        why,
    };
    match name {
        "user" => _ = config.user(value.as_str()),
        "password" => _ = config.password(value.as_str()),
        "ApplicationName" => _ = config.application_name(value.as_str()),
        "currentSchema" => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | '"');
            if !value.chars().all(is_plain) {
                return Err(refused(
                    "the name of a schema consists of letters, digits and '_'",
                ));
            }
            config.options(format!("-csearch_path={value}"));
        }
        "connectTimeout" | "loginTimeout" => {
            let seconds = value
                .parse()
                .map_err(|_| refused("expected a whole number of seconds"))?;
            config.connect_timeout(Duration::from_secs(seconds));
        }
        "sslmode" => tls.mode = Some(value),
        "ssl" => tls.ssl = Some(value != "false"),
        "sslrootcert" => tls.root = Some(value.into()),
        "sslcert" => tls.certificate = Some(value.into()),
        "sslkey" => tls.key = Some(value.into()),
        "targetServerType" => {
            config.target_session_attrs(match value.as_str() {
                "any" => TargetSessionAttrs::Any,
                "primary" | "master" => TargetSessionAttrs::ReadWrite,
                _ => {
                    return Err(refused(
                        "secondary storage is written to: 'any' or 'primary'",
                    ));
                }
            });
        }
        _ => return Err(UrlError::Parameter(name.to_string())),
    }
    Ok(())
}

/// Decodes `%xx` escapes.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                bytes = ahead;
            }
            (byte, _, _) => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The scheme of an invalid URL for messages. More is not shown: where a password is in it is up to the database.
fn scheme(url: &str) -> String {
    let jdbc = if url.starts_with("jdbc:") {
        "jdbc:"
    } else {
        ""
    };
    let plain = url.get(jdbc.len()..).unwrap_or_default();
    let name = plain.split([':', '/', '@', '?', ';']).next();
    let name: String = name.unwrap_or_default().chars().take(30).collect();
    format!("{jdbc}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> String {
        match parse(url, None, None) {
            Ok((config, _)) => shown(&config),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn urls() {
        for (url, expected) in [
            (
                "jdbc:postgresql://db.example:6432/skep",
                "PostgreSQL at db.example:6432/skep as postgres",
            ),
            (
                "jdbc:postgresql://db/skep?user=ada&password=%24%3D&connectTimeout=3",
                "PostgreSQL at db:5432/skep as ada",
            ),
            (
                "postgres://ada:se%40cret@a,b:5433/skep?sslmode=prefer",
                "PostgreSQL at a:5432,b:5433/skep as ada",
            ),
            (
                "postgresql://[::1]:5432",
                "PostgreSQL at ::1:5432/postgres as postgres",
            ),
        ] {
            assert_eq!(read(url), expected, "{url}");
        }
        let (config, _) = parse("postgres://ada:a%40b@h/d", None, None).expect("a URL");
        assert_eq!(config.get_password(), Some("a@b".as_bytes()));
        let (config, _) = parse("postgres://ada:x@h/d", Some("bert"), Some("y")).expect("a URL");
        assert_eq!(config.get_user(), Some("bert"));
        assert_eq!(config.get_password(), Some("y".as_bytes()));
    }

    #[test]
    fn encryption_is_as_the_driver_of_the_reference_has_it() {
        use SslMode::{Disable, Prefer, Require};
        use Verify::{Chain, ChainAndName, Nothing};
        for (parameters, mode, verify) in [
            ("", Prefer, Nothing),
            ("?ssl=false", Disable, Nothing),
            ("?ssl=true", Require, ChainAndName),
            ("?sslmode=disable", Disable, Nothing),
            ("?sslmode=allow", Prefer, Nothing),
            ("?sslmode=require", Require, Nothing),
            ("?sslmode=require&sslrootcert=/ca.pem", Require, Chain),
            ("?ssl=true&sslmode=verify-ca", Require, Chain),
            ("?sslmode=verify-full", Require, ChainAndName),
        ] {
            let url = format!("jdbc:postgresql://h/d{parameters}");
            let (config, trust) = parse(&url, None, None).expect("a URL");
            assert_eq!(
                (config.get_ssl_mode(), trust.verify),
                (mode, verify),
                "{url}"
            );
        }
        let url = "postgres://h/d?sslmode=verify-full&sslrootcert=%2Fca.pem&sslcert=c&sslkey=k";
        let (_, trust) = parse(url, None, None).expect("a URL");
        assert_eq!(trust.certificates, Some(PathBuf::from("/ca.pem")));
        assert_eq!(trust.identity, Some(("c".into(), "k".into())));
    }

    #[test]
    fn unusable_urls_are_refused_with_the_reason() {
        for (url, part) in [
            ("jdbc:h2:mem:test", "jdbc:postgresql://"),
            ("jdbc:mysql://h/d?password=secret", "'jdbc:mysql'"),
            ("jdbc:mysql://u:secret@h/d", "'jdbc:mysql'"),
            ("jdbc:oracle:thin:u/secret@h", "'jdbc:oracle'"),
            ("oracle:thin:u/secret", "'oracle'"),
            ("jdbc:sqlserver://h;password=secret", "'jdbc:sqlserver'"),
            ("u:secret@h/d", "'u'"),
            ("jdbc:postgresql://u:secret/x@h/d", "%2F"),
            ("jdbc:postgresql://h:port/d", "h:port"),
            ("jdbc:postgresql://h/d?sslmode=maybe", "verify-full"),
            ("jdbc:postgresql://h/d?sslcert=c.pem", "go together"),
            ("jdbc:postgresql://h/d?socketFactory=x", "socketFactory"),
            ("jdbc:postgresql://h/d?connectTimeout=soon", "seconds"),
            ("jdbc:postgresql://h/d?currentSchema=a;b", "letters"),
        ] {
            let error = read(url);
            assert!(error.contains(part), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
