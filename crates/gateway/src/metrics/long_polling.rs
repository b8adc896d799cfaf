//! `zeebe_long_polling_queued_current`: job activations that wait, by job type. A type without a waiting request has no
//! series, so that the number of series is bounded by the number of waiting requests.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use rustc_hash::FxHashMap;

use super::Protocol;

type Counts = FxHashMap<(Arc<str>, Protocol), u64>;

#[derive(Clone, Debug, Default)]
pub struct LongPolls(Arc<Mutex<Counts>>);

/// A waiting activation; dropping it ends the wait.
#[derive(Debug)]
pub struct QueuedPoll {
    polls: LongPolls,
    key: (Arc<str>, Protocol),
}

impl LongPolls {
    pub fn queue(&self, job_type: impl Into<Arc<str>>, protocol: Protocol) -> QueuedPoll {
        let key = (job_type.into(), protocol);
        *self.0.lock().entry(key.clone()).or_default() += 1;
        QueuedPoll {
            polls: self.clone(),
            key,
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.clone()));
    }
}

impl Drop for QueuedPoll {
    fn drop(&mut self) {
        let mut counts = self.polls.0.lock();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
impl QueuedPoll {
    pub fn keep_for_test(self) {
        std::mem::forget(self);
    }
}

impl Collector for LongPolls {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let counts: Vec<_> = self.0.lock().iter().map(|(k, n)| (k.clone(), *n)).collect();
        let mut metric = encoder.encode_descriptor(
            "zeebe_long_polling_queued_current",
            "Job activations that wait for a job",
            None,
            MetricType::Gauge,
        )?;
        for ((job_type, protocol), count) in counts {
            let labels = [
                ("type", job_type.to_string()),
                ("protocol", format!("{protocol:?}")),
            ];
            ConstGauge::new(count as i64).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_without_waiting_requests_has_no_series() {
        let polls = LongPolls::default();
        let one = polls.queue("a", Protocol::rest);
        let two = polls.queue("a", Protocol::rest);
        drop(one);
        assert_eq!(polls.0.lock().values().copied().collect::<Vec<_>>(), [1]);
        drop(two);
        assert!(polls.0.lock().is_empty());
    }
}
