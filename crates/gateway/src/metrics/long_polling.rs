//! `zeebe_long_polling_queued_current`: job activations that wait, by job type. A type without a waiting request has no
//! series, and one scrape shows [`MAX_LABEL_VALUES`] types at most.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_metrics::{MAX_LABEL_VALUES, OTHER, fits_label};

use super::Protocol;
use super::families::PollLabels;

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
}

impl LongPolls {
    /// Types beyond the bounds of a label share one series; those that most requests wait for have their own.
    pub(super) fn by_label(&self) -> Vec<(PollLabels, i64)> {
        let counts: Vec<_> = self.0.lock().iter().map(|(k, n)| (k.clone(), *n)).collect();
        let (mut shown, mut others): (Vec<_>, Vec<_>) = counts
            .into_iter()
            .partition(|((job_type, _), _)| fits_label(job_type));
        shown.sort_unstable_by(|a, b| (b.1, &a.0.0).cmp(&(a.1, &b.0.0)));
        others.extend(shown.drain(shown.len().min(MAX_LABEL_VALUES)..));
        for protocol in [Protocol::rest, Protocol::grpc] {
            let of_protocol = others.iter().filter(|((_, of), _)| *of == protocol);
            let count: u64 = of_protocol.map(|(_, count)| count).sum();
            if count > 0 {
                shown.push(((OTHER.into(), protocol), count));
            }
        }
        let series = shown.into_iter().map(|((r#type, protocol), count)| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            (PollLabels { r#type, protocol }, count)
        });
        series.collect()
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

    #[test]
    fn clients_cannot_make_series_without_bounds() {
        let polls = LongPolls::default();
        let mut waiting: Vec<_> = (0..2 * MAX_LABEL_VALUES)
            .map(|n| polls.queue(n.to_string(), Protocol::rest))
            .collect();
        waiting.push(polls.queue("x".repeat(10_000), Protocol::grpc));
        waiting.push(polls.queue("1999", Protocol::rest));
        let shown = polls.by_label();
        assert_eq!(shown.len(), MAX_LABEL_VALUES + 2);
        let first = PollLabels {
            r#type: "1999".into(),
            protocol: Protocol::rest,
        };
        assert_eq!(shown[0], (first, 2));
        let total: i64 = shown.iter().map(|(_, count)| count).sum();
        assert_eq!(total, waiting.len() as i64);
        assert!(shown.iter().all(|(labels, _)| labels.r#type.len() < 300));
    }
}
