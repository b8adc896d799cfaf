//! The nodes that a certificate is for.
//!
//! A certificate that names no nodes is valid for every node. One that names some restricts its holder to these: the key of one node, once
//! it is stolen, does not let its holder pose as another one.

use std::collections::BTreeSet;

use tokio_rustls::rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

const NODE: &str = "urn:skep:node:";
const GATEWAY: &str = "urn:skep:gateway";

/// The nodes in the certificate's subject alternative names: `urn:skep:node:0`, or `urn:skep:gateway` for all gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedNodes {
    nodes: BTreeSet<u32>,
    gateways: bool,
}

impl NamedNodes {
    /// Reads the names. `Err`: a name begins like ours but is not valid.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<NamedNodes, String> {
        let parsed = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
        let mut named = NamedNodes::default();
        for name in parsed.valid_uri_names() {
            if name == GATEWAY {
                named.gateways = true;
            } else if let Some(number) = name.strip_prefix(NODE) {
                let number = number.parse().map_err(|_| {
                    format!("the name {name:?} in the certificate does not end with the number of a node")
                })?;
                named.nodes.insert(number);
            }
        }
        Ok(named)
    }

    /// # Errors
    /// The certificate is for other nodes.
    pub(crate) fn check(&self, node: u32, first_gateway: u32) -> Result<(), String> {
        let is_gateway = node >= first_gateway;
        let names_nobody = self.nodes.is_empty() && !self.gateways;
        if names_nobody || self.nodes.contains(&node) || is_gateway && self.gateways {
            return Ok(());
        }
        let nodes = self.nodes.iter().map(|node| format!("{NODE}{node}"));
        let gateways = self.gateways.then(|| GATEWAY.to_string());
        let names: Vec<String> = nodes.chain(gateways).collect();
        let wanted = if is_gateway {
            GATEWAY.to_string()
        } else {
            format!("{NODE}{node}")
        };
        Err(format!(
            "node {node} shows a certificate for {}: it needs one that names {wanted}, or no node at all",
            names.join(", ")
        ))
    }
}
