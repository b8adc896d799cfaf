//! A cluster that the run has not started: its addresses, and what plans may ask of it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use skep_tls::ClientTls;

use crate::plan::{Action, Plan, Until};

/// Why something is not done to a cluster of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub(super) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The addresses of a cluster that the run has not started, each as `HOST:PORT`, after `https://` if it speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others {
    pub rest: String,
    pub grpc: String,
    pub management: String,
    /// A file with the authorities that are trusted, instead of those that the machine trusts.
    pub authorities: Option<PathBuf>,
}

/// A part of an address, as its user has written it.
struct Written<'t> {
    /// Whether its scheme is one of TLS, if it has a scheme.
    is_encrypted: Option<bool>,
    host: &'t str,
    port: Option<u16>,
}

impl<'t> Written<'t> {
    /// `flag` is that of the text.
    fn read(flag: &str, text: &'t str) -> Result<Self, Refused> {
        Self::of(text).ok_or_else(|| {
            Refused(format!(
                "{flag} takes a host, HOST:PORT, or a URL as https://HOST:PORT, and {text:?} is none of these"
            ))
        })
    }

    fn of(text: &'t str) -> Option<Self> {
        let (is_encrypted, rest) = match text.split_once("://") {
            None => (None, text),
            Some(("http" | "grpc", rest)) => (Some(false), rest.trim_end_matches('/')),
            Some(("https" | "grpcs", rest)) => (Some(true), rest.trim_end_matches('/')),
            Some(_) => return None,
        };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !rest.ends_with(']') => {
                let port = port.parse::<u16>().ok().filter(|port| *port > 0);
                (host, Some(port?))
            }
            _ => (rest, None),
        };
        let in_brackets = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let is_of = |signs: &str, host: &str| {
            let fits = |sign: char| sign.is_ascii_alphanumeric() || signs.contains(sign);
            !host.is_empty() && host.chars().all(fits)
        };
        let is_host = match in_brackets {
            Some(address) => is_of(":.", address),
            None => is_of("-._", host),
        };
        is_host.then_some(Self {
            is_encrypted,
            host,
            port,
        })
    }

    /// `port` and `is_encrypted` if nothing else is written.
    fn or(&self, port: u16, is_encrypted: bool) -> String {
        let scheme = if self.is_encrypted.unwrap_or(is_encrypted) {
            "https://"
        } else {
            ""
        };
        format!("{scheme}{}:{}", self.host, self.port.unwrap_or(port))
    }
}

impl Others {
    /// The cluster whose REST API has this address: a host, a host with a port, or a URL. Without addresses of their own, gRPC and the
    /// management are at the same host and the usual ports, with TLS if REST has it.
    ///
    /// # Errors
    /// A text is no address.
    pub fn at(rest: &str, grpc: Option<&str>, management: Option<&str>) -> Result<Self, Refused> {
        let rest = Written::read("--against", rest)?;
        let is_encrypted = rest.is_encrypted == Some(true);
        let same = Written { port: None, ..rest };
        let beside = |flag: &str, given: Option<&str>, port: u16| -> Result<String, Refused> {
            let written = given.map(|text| Written::read(flag, text)).transpose()?;
            let written = written.as_ref().unwrap_or(&same);
            Ok(written.or(port, is_encrypted))
        };
        Ok(Self {
            grpc: beside("--grpc-address", grpc, 26500)?,
            management: beside("--management-address", management, 9600)?,
            rest: rest.or(8080, is_encrypted),
            authorities: None,
        })
    }

    /// How certificates are checked, if one of its ports speaks TLS.
    ///
    /// # Errors
    /// The authorities cannot be read, or the machine trusts none.
    pub(super) fn tls(&self) -> io::Result<Option<ClientTls>> {
        let ports = [&self.rest, &self.management];
        if !ports.iter().any(|port| port.starts_with("https://")) {
            return Ok(None);
        }
        let tls = ClientTls::open(self.authorities.as_deref(), &["http/1.1"]);
        tls.map(Some).map_err(io::Error::other)
    }
}

/// Checks that the plan changes nothing of this cluster, of which only the ports are known, and is not about properties that its nodes may
/// lack.
///
/// # Errors
/// The step or the property of the nodes, and why.
pub fn check_against(plan: &Plan, others: &Others) -> Result<(), Refused> {
    let (name, host) = (&plan.name, &others.rest);
    let changes = |action: &Action| action.is_fault() || action.may_change();
    let mut faults = plan.steps.iter().filter(|step| changes(&step.action));
    if let Some(step) = faults.next() {
        return Err(Refused(format!(
            "{name} changes something (step {}: {}), and --against changes nothing on a cluster of others ({host}); --driver kubernetes does what --allow permits, and without both a run starts a cluster of its own",
            step.name, step.action
        )));
    }
    match of_own_nodes(plan) {
        None => Ok(()),
        Some(what) => Err(Refused(format!(
            "{name}: {what} of the plan is for nodes that the run starts, and --against loads those of {host}"
        ))),
    }
}

/// A property that only nodes of the run's own can have.
pub(super) fn of_own_nodes(plan: &Plan) -> Option<&'static str> {
    let nodes = &plan.nodes;
    let reads_logs = plan.steps.iter().any(|step| {
        matches!(
            step.action,
            Action::Wait {
                until: Until::Log { .. },
                ..
            }
        )
    });
    let properties = [
        (nodes.spare > 0, "spare"),
        (nodes.gateways > 0, "gateways"),
        (nodes.disk_mib.is_some(), "disk-mib"),
        (nodes.cores.is_some(), "cores"),
        (nodes.quota.is_some(), "quota"),
        (nodes.store.is_some(), "store"),
        (nodes.sink, "sink"),
        (nodes.tokens_s.is_some(), "tokens-s"),
        (nodes.backups, "backups"),
        (nodes.leases, "leases"),
        (reads_logs, "a wait for the log"),
    ];
    let mut set = properties.into_iter().filter(|(is_set, _)| *is_set);
    set.next().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;
    use crate::plan::Who;

    /// Load alone, and nothing that only nodes of the run's own have.
    fn load() -> Plan {
        let mut plan = (experiments::find("worker-outage").unwrap().plan)(false);
        assert_eq!(check_against(&plan, &at("example.org")), Ok(()));
        plan.name = "mine".into();
        plan
    }

    fn at(rest: &str) -> Others {
        Others::at(rest, None, None).unwrap()
    }

    fn refused(plan: &Plan, host: &str) -> String {
        check_against(plan, &at(host)).unwrap_err().to_string()
    }

    #[test]
    fn a_cluster_of_others_gets_load_alone() {
        let mut plan = load();
        plan.steps[0].action = Action::Kill(Who::Node(0));
        let said = refused(&plan, "example.org");
        assert!(said.starts_with("mine changes something"), "{said}");
    }

    /// A limit for nodes of half a core says nothing of those that are there.
    #[test]
    fn a_plan_about_nodes_of_its_own_is_not_for_a_cluster_of_others() {
        let mut plan = load();
        plan.nodes.quota = Some(0.5);
        let said = refused(&plan, "example.org");
        assert!(said.starts_with("mine: quota of the plan is for"), "{said}");
    }

    #[test]
    fn what_is_no_address_is_refused_before_anything_waits_for_it() {
        for text in [
            "",
            "http://",
            "ftp://example.org",
            "example.org:0",
            "example.org:80800",
            "example.org/v2",
            "::1",
            "a b",
        ] {
            let said = Others::at(text, None, None).unwrap_err().to_string();
            assert!(said.starts_with("--against takes a host"), "{said}");
            let said = Others::at("a", None, Some(text)).unwrap_err().to_string();
            assert!(said.starts_with("--management-address takes"), "{said}");
        }
    }

    #[test]
    fn an_address_leaves_out_what_is_usual() {
        let of = |rest, grpc, management| {
            let others = Others::at(rest, grpc, management).unwrap();
            [others.rest, others.grpc, others.management]
        };
        let usual = ["a:8080", "a:26500", "a:9600"];
        assert_eq!(of("a", None, None), usual);
        assert_eq!(of("http://a:8080/", None, None), usual);
        let six = ["[::1]:8081", "[::1]:26500", "[::1]:9600"];
        assert_eq!(of("[::1]:8081", None, None), six);
        let encrypted = ["https://a:8080", "https://a:26500", "https://a:9600"];
        assert_eq!(of("https://a", None, None), encrypted);
        let each = of("https://a:443", Some("grpcs://b:443"), Some("http://c"));
        assert_eq!(each, ["https://a:443", "https://b:443", "c:9600"]);
    }

    #[test]
    fn certificates_are_read_where_a_port_speaks_tls() {
        let tls = |rest: &str| {
            let others = Others {
                authorities: Some("nowhere.pem".into()),
                ..at(rest)
            };
            others.tls().map(|tls| tls.is_some())
        };
        assert!(matches!(tls("a"), Ok(false)));
        let why = tls("https://a").unwrap_err().to_string();
        assert!(why.contains("nowhere.pem cannot be read"), "{why}");
    }
}
