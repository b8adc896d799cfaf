//! Tokens in a scope: those waiting at joining gateways, and those in transit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tokens by gateway and sequence flow. A flow may bring several before the others arrive, so each counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Joins {
    by_gateway: BTreeMap<u32, BTreeMap<u32, u32>>,
    /// Total number: a scope with very many tokens is queried often.
    tokens: u32,
    /// Tokens that do not wait, by the element that they are about to activate. Only kept in scopes with inclusive
    /// gateways, which need to know whether one of them may arrive.
    on_their_way: BTreeMap<u32, u32>,
}

impl Joins {
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Adds a token that arrives at `gateway` on `flow`.
    pub(in crate::appliers) fn add(&mut self, gateway: u32, flow: u32) {
        let flows = self.by_gateway.entry(gateway).or_default();
        *flows.entry(flow).or_default() += 1;
        self.tokens += 1;
    }

    /// Removes a token that waits at `gateway` on `flow`. False if there was none.
    pub(in crate::appliers) fn remove(&mut self, gateway: u32, flow: u32) -> bool {
        let Some(flows) = self.by_gateway.get_mut(&gateway) else {
            return false;
        };
        let Some(count) = flows.get_mut(&flow) else {
            return false;
        };
        *count -= 1;
        self.tokens -= 1;
        if *count == 0 {
            flows.remove(&flow);
        }
        if flows.is_empty() {
            self.by_gateway.remove(&gateway);
        }
        true
    }

    /// Consumes one token of each flow that has one, for the activation of the gateway. Returns their number.
    pub(in crate::appliers) fn consume(&mut self, gateway: u32) -> u32 {
        let flows: Vec<u32> = self.flows(gateway).collect();
        for flow in &flows {
            self.remove(gateway, *flow);
        }
        flows.len() as u32
    }

    /// Adds a token that is about to activate this element.
    pub(in crate::appliers) fn set_out(&mut self, element: u32) {
        *self.on_their_way.entry(element).or_default() += 1;
    }

    /// Removes a token that was about to activate this element. False if there was none.
    pub(in crate::appliers) fn arrive(&mut self, element: u32) -> bool {
        let Some(count) = self.on_their_way.get_mut(&element) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.on_their_way.remove(&element);
        }
        true
    }

    /// Elements that tokens are about to activate, as far as they are kept.
    pub fn on_their_way(&self) -> impl Iterator<Item = u32> + '_ {
        self.on_their_way.keys().copied()
    }

    /// Whether a token waits at this gateway on this flow.
    pub fn waits(&self, gateway: u32, flow: u32) -> bool {
        let flows = self.by_gateway.get(&gateway);
        flows.is_some_and(|flows| flows.contains_key(&flow))
    }

    /// Flows with tokens waiting at this gateway.
    pub fn flows(&self, gateway: u32) -> impl Iterator<Item = u32> + '_ {
        self.by_gateway
            .get(&gateway)
            .into_iter()
            .flat_map(|flows| flows.keys().copied())
    }

    /// Number of flows with tokens waiting at this gateway.
    pub fn flow_count(&self, gateway: u32) -> usize {
        self.by_gateway.get(&gateway).map_or(0, BTreeMap::len)
    }

    /// Gateways with waiting tokens.
    pub fn gateways(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_gateway.keys().copied()
    }

    /// All waiting tokens: gateway, flow and number of tokens.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.by_gateway.iter().flat_map(|(gateway, flows)| {
            flows.iter().map(|(flow, count)| (*gateway, *flow, *count))
        })
    }
}
