//! Metrics of refused callers, and of the age of the keys that verify tokens.

use std::sync::Arc;

use super::families::{LoginFamilies, ProviderLabels, RefusedLabels, ResultLabels};
use super::{GatewayMetrics, Protocol};
use crate::door::{Counts, Door, Looks, Refreshes, Refused};

/// Each reason has its series from the start: otherwise its first increase could not be seen.
pub(super) fn begin(families: &LoginFamilies) {
    for protocol in [Protocol::rest, Protocol::grpc] {
        for reason in Refused::REASONS {
            families.refused.of(RefusedLabels { protocol, reason });
        }
    }
}

impl GatewayMetrics {
    /// Counts a caller who was not authenticated.
    pub fn refused(&self, protocol: Protocol, refused: &Refused) {
        let reason = refused.reason();
        let labels = RefusedLabels { protocol, reason };
        self.logins.refused.of(labels).inc();
    }

    /// Counters of the door.
    pub fn at_the_door(&self) -> Counts {
        let look = |result| self.logins.looked_up.of(ResultLabels { result });
        let refresh = |result| self.logins.refreshed.of(ResultLabels { result });
        Counts {
            looks: Looks {
                remembered: look("remembered"),
                unknown: look("unknown"),
            },
            refreshes: Refreshes {
                renewed: refresh("renewed"),
                ended: refresh("ended"),
                unanswered: refresh("unanswered"),
            },
        }
    }

    /// Reads the keys for the metrics from this door. Only the first call has an effect.
    pub fn read_keys_from(&self, door: &Arc<Door>) {
        let answering = Arc::clone(door);
        self.logins.keys_given.read_from(move || {
            let Some(bearer) = answering.bearer() else {
                return Vec::new();
            };
            let given = bearer.providers().given_keys();
            let series = given.map(|(provider, given)| {
                let provider = provider.to_string();
                (ProviderLabels { provider }, i64::from(given))
            });
            series.collect()
        });
        let door = Arc::clone(door);
        self.logins.keys_age.read_from(move || {
            let Some(bearer) = door.bearer() else {
                return Vec::new();
            };
            let ages = bearer.providers().keys_ages();
            let series = ages.map(|(provider, age)| {
                let provider = provider.to_string();
                let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
                (ProviderLabels { provider }, seconds)
            });
            series.collect()
        });
    }
}
