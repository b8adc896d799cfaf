//! The joins that queued steps are about to check.
//!
//! Whatever ends in a scope may be what its inclusive gateways waited for. A check that is still queued sees that as well,
//! so one per gateway is enough; without this, hundreds of gateways in loops queue checks faster than they are carried out.

use std::collections::HashMap;

use skep_protocol::Key;
use skep_protocol::value::{Activation, Step};

/// Number of queued checks by scope and gateway.
#[derive(Debug, Default)]
pub(super) struct Checks(HashMap<Key, HashMap<u32, u32>>);

/// The scope and the gateway, if this step checks a join.
fn checked(step: &Step) -> Option<(Key, u32)> {
    match step {
        Step::Activate(Activation {
            scope,
            element,
            via: None,
            consumed_flows: 1,
        }) => Some((*scope, *element)),
        _ => None,
    }
}

impl Checks {
    pub fn add(&mut self, step: &Step) {
        if let Some((scope, gateway)) = checked(step) {
            *self.0.entry(scope).or_default().entry(gateway).or_default() += 1;
        }
    }

    pub fn remove(&mut self, step: &Step) {
        let Some((scope, gateway)) = checked(step) else {
            return;
        };
        let Some(gateways) = self.0.get_mut(&scope) else {
            return;
        };
        if let Some(count) = gateways.get_mut(&gateway) {
            *count -= 1;
            if *count == 0 {
                gateways.remove(&gateway);
            }
        }
        if gateways.is_empty() {
            self.0.remove(&scope);
        }
    }

    pub fn any_in(&self, scope: Key) -> bool {
        self.0.contains_key(&scope)
    }

    pub fn has(&self, scope: Key, gateway: u32) -> bool {
        let gateways = self.0.get(&scope);
        gateways.is_some_and(|gateways| gateways.contains_key(&gateway))
    }
}
