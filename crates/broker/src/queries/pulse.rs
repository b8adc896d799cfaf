//! The pulse of the whole cluster, at any node: see [`skep_query::pulse`].
//!
//! A search is answered by the store of any node, so the stores of all nodes count. Nodes ask each other when a client asks, at most once
//! per second; a pulse that is older than the stores only moves later. If a node that could answer searches does not report its counts, the
//! pulse is unknown: its versions never repeat, and clients search again as if everything had moved.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use skep_query::{Pulse, StorePulse};

use crate::cluster::PULSE_QUESTION;
use crate::router::Broker;

/// How long the other nodes are not asked again.
const RENEWED: Duration = Duration::from_secs(1);

/// The last pulse of the cluster.
#[derive(Default)]
pub(crate) struct LastPulse {
    last: Mutex<Option<(Instant, Pulse)>>,
    /// Held by the one client whose request asks the other nodes.
    asking: tokio::sync::Mutex<()>,
}

impl LastPulse {
    fn within(&self, age: Duration) -> Option<Pulse> {
        let last = self.last.lock();
        let (since, pulse) = last.as_ref()?;
        (since.elapsed() < age).then(|| pulse.clone())
    }

    /// Sets the pulse. Clients that waited for it get it as well, however long a node took to answer.
    fn is(&self, pulse: &Pulse) {
        *self.last.lock() = Some((Instant::now(), pulse.clone()));
    }
}

impl Broker {
    pub(crate) async fn current_pulse(&self) -> Pulse {
        let shared = self.shared();
        if shared.others().is_none() {
            let stores = shared.local.store_pulses().into_iter();
            return Pulse::of(&mut stores.map(|store| (0, store)).collect::<Vec<_>>());
        }
        if let Some(pulse) = self.last_pulse().within(RENEWED) {
            return pulse;
        }
        let _asking = self.last_pulse().asking.lock().await;
        if let Some(pulse) = self.last_pulse().within(RENEWED) {
            return pulse;
        }
        let answers = self.ask_nodes(PULSE_QUESTION).await;
        let alive = shared.others().map(|cluster| cluster.alive_nodes());
        let mut alive = alive.unwrap_or_default();
        alive.push(self.config().node_id);
        let pulse = self.pulse_of(answers, &alive);
        self.last_pulse().is(&pulse);
        pulse
    }

    /// Combines the pulses. `answers`: each node's answer. `alive`: nodes whose heartbeats arrive, and this one.
    fn pulse_of(&self, answers: BTreeMap<u32, Option<String>>, alive: &[u32]) -> Pulse {
        let partitions = self.routing().partitions();
        let partitions = self.shares_database().then(|| partitions.collect());
        match stores_of(answers, alive, partitions) {
            Some(mut stores) => Pulse::of(&mut stores),
            None => Pulse::unknown(),
        }
    }
}

/// The stores that may answer searches. `None`: some of them are unknown. `partitions`: all of them, if their rows are in one place.
fn stores_of(
    answers: BTreeMap<u32, Option<String>>,
    alive: &[u32],
    partitions: Option<BTreeSet<u32>>,
) -> Option<Vec<(u32, StorePulse)>> {
    let mut stores = Vec::new();
    for (node, answer) in answers {
        let parts = answer.map(|text| serde_json::from_str::<Vec<StorePulse>>(&text));
        match parts {
            Some(Ok(parts)) => stores.extend(parts.into_iter().map(|part| (node, part))),
            Some(Err(_)) => return None,
            // No search is sent to a node that is not heard.
            None if alive.contains(&node) => return None,
            None => {}
        }
    }
    // In a shared database, a node that is not heard may still write. It no longer does once another one has taken over.
    let filled = stores.iter().filter(|(_, part)| part.fills);
    let filled: BTreeSet<u32> = filled.map(|(_, part)| part.partition).collect();
    let is_known = partitions.is_none_or(|all| all.is_subset(&filled));
    is_known.then_some(stores)
}

#[cfg(test)]
mod tests {
    use skep_query::StorePulse;

    use super::stores_of;

    fn answer(node: u32, fills: bool) -> (u32, Option<String>) {
        let part = StorePulse {
            partition: 1,
            start: 9,
            fills,
            behind_ms: 0,
            counts: vec![1, 2],
        };
        let text = serde_json::to_string(&[part]).unwrap();
        (node, Some(text))
    }

    #[test]
    fn a_living_node_that_does_not_answer_makes_the_pulse_unknown() {
        let known = |answers: &[(u32, Option<String>)], alive: &[u32]| {
            let stores = stores_of(answers.iter().cloned().collect(), alive, None);
            stores.map(|stores| stores.len())
        };
        let both = [answer(0, true), answer(1, true)];
        assert_eq!(known(&both, &[1]), Some(2));
        assert_eq!(known(&[answer(0, true), (1, None)], &[1]), None);
        // The node may run a version that does not know this query.
        let other = Some("what?".to_string());
        assert_eq!(known(&[answer(0, true), (1, other)], &[]), None);
        // Nodes that are not searched.
        assert_eq!(known(&[answer(0, true), (1, None)], &[]), Some(1));
    }

    #[test]
    fn the_state_of_a_shared_database_is_known_once_all_its_writers_have_answered() {
        let known = |answers: &[(u32, Option<String>)], partitions: &[u32]| {
            let partitions = Some(partitions.iter().copied().collect());
            stores_of(answers.iter().cloned().collect(), &[], partitions).is_some()
        };
        assert!(known(&[answer(0, false), answer(1, true)], &[1]));
        assert!(!known(&[answer(0, false), (1, None)], &[1]));
        assert!(!known(&[answer(0, true)], &[1, 2]));
    }
}
