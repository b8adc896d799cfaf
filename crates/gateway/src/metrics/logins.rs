//! Who did not come in, and how old the keys are by which tokens are checked.

use std::sync::Arc;

use super::families::{GatewayFamilies, ProviderLabels, RefusedLabels};
use super::{GatewayMetrics, Protocol};
use crate::door::{Door, Refused};

/// Each reason has its series from the start: an increase of one that is missing cannot be seen.
pub(super) fn begin(families: &GatewayFamilies) {
    for protocol in [Protocol::rest, Protocol::grpc] {
        for reason in Refused::REASONS {
            families.refused.of(RefusedLabels { protocol, reason });
        }
    }
}

impl GatewayMetrics {
    /// A caller did not come in.
    pub fn refused(&self, protocol: Protocol, refused: &Refused) {
        let reason = refused.reason();
        let labels = RefusedLabels { protocol, reason };
        self.families.refused.of(labels).inc();
    }

    /// Whose keys the metrics tell of. The first one counts.
    pub fn read_keys_from(&self, door: &Arc<Door>) {
        let door = Arc::clone(door);
        self.families.keys_age.read_from(move || {
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
