//! Warnings for an operator when other machines can reach a port.

use std::net::SocketAddr;

use crate::config::{ManagementLogin, Settings};

/// The addresses that the server listens on.
pub struct Listening {
    pub rest: SocketAddr,
    pub grpc: SocketAddr,
    pub management: SocketAddr,
}

/// The warnings, logged at each start.
pub fn warnings(settings: &Settings, listening: &Listening) -> Vec<String> {
    let security = &settings.security;
    let protected = security.is_protected();
    let is_open = |address: &SocketAddr| !address.ip().is_loopback();
    let of_operators = security.management == ManagementLogin::Api;
    let tls = &settings.tls;
    let ports = [
        ("REST", listening.rest, protected, tls.rest.is_on()),
        ("gRPC", listening.grpc, protected, tls.grpc.is_on()),
        (
            "management",
            listening.management,
            of_operators,
            tls.management.is_on(),
        ),
    ];
    let mut unprotected: Vec<String> = Vec::new();
    let mut clear: Vec<String> = Vec::new();
    for (name, address, login, tls) in ports {
        if is_open(&address) && !login {
            unprotected.push(format!("{name} ({address})"));
        } else if is_open(&address) && !tls {
            clear.push(format!("{name} ({address})"));
        }
    }
    let node_port = settings.internal_without_tls();
    let mut warnings = Vec::new();
    if !unprotected.is_empty() {
        warnings.push(without_login(&unprotected, protected));
    }
    if !clear.is_empty() {
        warnings.push(format!(
            "callers log in without TLS: {}. Anyone between them and this server can read their passwords. Set server.ssl.certificate, \
             camunda.api.grpc.ssl.certificate and management.server.ssl.certificate with their keys, or put a proxy with TLS in front \
             and listen on 127.0.0.1",
            clear.join(", ")
        ));
    }
    if let Some(node_port) = node_port.filter(|address| protected && is_open(address)) {
        warnings.push(format!(
            "the port for other nodes ({node_port}) is open without TLS: anyone who reaches it may do everything as any user, regardless \
             of the login of clients. Set camunda.cluster.network.transport-layer-security.cluster.*, or restrict access with a firewall"
        ));
    }
    if security.authorizations() && !protected {
        warnings.push(
            "camunda.security.authorizations.enabled is true, but callers are not authenticated: nothing is checked, and anyone who \
             reaches REST or gRPC may do everything. Set camunda.security.authentication.unprotected-api to false"
                .to_string(),
        );
    }
    warnings
}

fn without_login(open: &[String], protected: bool) -> String {
    let what = if protected {
        "Anyone who reaches this port sees health, metrics and settings, can pause partitions and exporters, and can change the cluster. \
         Have its callers log in (skep.management.authentication: api), restrict access with a firewall, or set \
         management.server.address to 127.0.0.1"
    } else {
        "Anyone who reaches these ports can deploy and start processes, read and change their variables, and stop work. Have callers log \
         in (camunda.security.authentication.method: basic), restrict access with a firewall or a proxy, or listen on 127.0.0.1 \
         (--address, or server.address, camunda.api.grpc.address, management.server.address)"
    };
    format!(
        "open to other machines without authentication: {}. {what}",
        open.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening(rest: &str, grpc: &str, management: &str) -> Listening {
        let socket = |address: &str| SocketAddr::new(address.parse().unwrap(), 9);
        Listening {
            rest: socket(rest),
            grpc: socket(grpc),
            management: socket(management),
        }
    }

    fn protected() -> Settings {
        let mut settings = Settings::default();
        settings.security.unprotected_api = Some(false);
        settings
    }

    const LOCAL: &str = "127.0.0.1";
    const OPEN: &str = "0.0.0.0";

    #[test]
    fn a_fresh_server_is_reached_from_its_own_machine_only() {
        let settings = Settings::default();
        for listen in [settings.rest, settings.grpc, settings.management] {
            assert!(listen.address.is_loopback(), "{listen:?}");
        }
        assert_eq!(
            warnings(&settings, &listening(LOCAL, "::1", LOCAL)),
            [""; 0]
        );
    }

    #[test]
    fn ports_without_login_that_others_reach_are_named() {
        let settings = Settings::default();
        let all = warnings(&settings, &listening(OPEN, LOCAL, "192.168.0.7"));
        assert_eq!(all.len(), 1);
        let ports = "REST (0.0.0.0:9), management (192.168.0.7:9)";
        assert!(all[0].contains(ports), "{all:?}");
        let [one] = &*warnings(&settings, &listening(LOCAL, LOCAL, "::")) else {
            panic!("one warning");
        };
        assert!(
            !one.contains("REST (") && one.contains("management ([::]:9)"),
            "{one}"
        );
    }

    #[test]
    fn open_ports_without_tls_are_reported_where_passwords_are_sent() {
        let [management, clear] = &*warnings(&protected(), &listening(OPEN, LOCAL, OPEN)) else {
            panic!("two warnings");
        };
        assert!(clear.contains("without TLS: REST (0.0.0.0:9)."), "{clear}");
        assert!(
            management.contains("management (0.0.0.0:9)") && !management.contains("REST ("),
            "{management}"
        );
        let mut encrypted = protected();
        encrypted.tls.rest.enabled = Some(true);
        encrypted.tls.grpc.enabled = Some(true);
        assert_eq!(warnings(&encrypted, &listening(OPEN, OPEN, LOCAL)), [""; 0]);
        assert_eq!(
            warnings(&protected(), &listening(LOCAL, LOCAL, LOCAL)),
            [""; 0]
        );
    }

    #[test]
    fn an_open_management_port_with_a_login_lacks_only_tls() {
        let mut settings = protected();
        settings.security.management = ManagementLogin::Api;
        let [clear] = &*warnings(&settings, &listening(LOCAL, LOCAL, OPEN)) else {
            panic!("one warning");
        };
        assert!(
            clear.contains("without TLS: management (0.0.0.0:9)."),
            "{clear}"
        );
        settings.tls.management.enabled = Some(true);
        assert_eq!(warnings(&settings, &listening(LOCAL, LOCAL, OPEN)), [""; 0]);
    }

    #[test]
    fn an_open_port_for_nodes_is_reported_where_clients_log_in() {
        let mut settings = protected();
        settings.cluster.size = 3;
        settings.internal.address = "0.0.0.0".parse().unwrap();
        let local = listening(LOCAL, LOCAL, LOCAL);
        let [one] = &*warnings(&settings, &local) else {
            panic!("one warning");
        };
        assert!(
            one.contains("port for other nodes (0.0.0.0:26502)"),
            "{one}"
        );
        settings.internal_tls.enabled = true;
        assert_eq!(warnings(&settings, &local), [""; 0]);
    }

    #[test]
    fn authorizations_without_a_login_are_reported() {
        let mut settings = Settings::default();
        settings.security.authorizations = Some(true);
        let [one] = &*warnings(&settings, &listening(LOCAL, LOCAL, LOCAL)) else {
            panic!("one warning");
        };
        assert!(one.contains("nothing is checked"), "{one}");
    }
}
