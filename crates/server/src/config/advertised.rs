//! The host that a node is known by, unless one is given: the name of its own host, if other machines reach the node.

use super::settings::Settings;
use super::{Loaded, Source};

const SETTING: &str = "camunda.cluster.network.advertised-host";

impl Loaded {
    /// Derives the host from the name of this one, which may have none.
    pub fn advertise(&mut self, host: Option<String>) {
        let shown = self.effective.iter_mut().find(|it| it.name == SETTING);
        let (Some(shown), Some(host)) = (shown, host) else {
            return;
        };
        if shown.source == Source::Default && is_reachable(&self.settings) {
            shown.value.clone_from(&host);
            shown.source = Source::Hostname(host.clone());
            self.settings.broker.advertised.host = host;
        }
    }
}

/// Whether other machines reach the port for other nodes, or those for clients of a node that is alone.
fn is_reachable(settings: &Settings) -> bool {
    if settings.is_one_of_several() {
        return !settings.internal.address.is_loopback();
    }
    let of_clients = [settings.rest.address, settings.grpc.address];
    of_clients.iter().any(|address| !address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Given, resolve};

    const CLUSTER: [(&str, &str); 2] = [
        ("camunda.cluster.size", "3"),
        ("camunda.cluster.initial-contact-points", "a:26502"),
    ];
    const UNPROTECTED: (&str, &str) = ("camunda.security.authentication.unprotected-api", "true");

    /// As on a host with this name.
    fn loaded(settings: &[(&str, &str)], host: Option<&str>) -> Loaded {
        let given = |(name, text): &(&str, &str)| Given::flag("--set", name, text);
        let given: Vec<Given> = settings.iter().map(given).collect();
        let mut loaded = resolve(&given).unwrap();
        loaded.advertise(host.map(str::to_string));
        loaded
    }

    #[test]
    fn a_node_that_others_reach_is_known_by_the_name_of_its_host() {
        let open = ("camunda.cluster.network.host", "0.0.0.0");
        let rest = ("server.address", "0.0.0.0");
        let given = (SETTING, "node-0");
        for (settings, host, expected) in [
            (vec![], Some("h"), "localhost"),
            (vec![rest, UNPROTECTED], Some("h"), "h"),
            (vec![rest, UNPROTECTED], None, "localhost"),
            (vec![rest, UNPROTECTED, given], Some("h"), "node-0"),
            (CLUSTER.to_vec(), Some("h"), "localhost"),
            (
                [&CLUSTER[..], &[rest, UNPROTECTED]].concat(),
                Some("h"),
                "localhost",
            ),
            ([&CLUSTER[..], &[open]].concat(), Some("h"), "h"),
            ([&CLUSTER[..], &[open, given]].concat(), Some("h"), "node-0"),
        ] {
            let loaded = loaded(&settings, host);
            let broker = loaded.settings.broker_config();
            assert_eq!(broker.advertised.host, expected, "{settings:?}");
            if let Some(cluster) = broker.cluster {
                assert_eq!(cluster.advertised, format!("{expected}:26502"));
            }
            let mut effective = loaded.effective.iter();
            let shown = effective.find(|it| it.name == SETTING).unwrap();
            assert_eq!(shown.value, expected, "{settings:?}");
        }
    }
}
