//! Metrics of the operations of cluster changes. Each operation is counted on one node, the one with the lowest number.

use std::time::Duration;

use skep_cluster::{Outcome, Running, State};
use skep_metrics::{Bounds, Counter, Family, Histogram, labels, metrics};

/// Bounds in milliseconds, those of the reference.
const OPERATION: Bounds = Bounds::milliseconds(&[
    100, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 180_000, 300_000, 600_000,
]);
const APPLIED: &str = "applied";
const FAILED: &str = "failed";

labels! {
    struct OfOperation { operation: &'static str }
    struct OfAttempt { operation: &'static str, outcome: &'static str }
}

metrics! {
    /// Metrics of the operations of cluster changes.
    pub struct ChangeFamilies {
        duration: Family<OfOperation, Histogram> = "zeebe_cluster_changes_operation_duration_seconds", "time from the end of the operation before, or the begin of the change, until the operation had taken effect", OPERATION;
        attempts: Family<OfAttempt, Counter> = "zeebe_cluster_changes_operation_attempts", "operations that have taken effect (applied), or were cancelled while they were carried out (failed)";
    }
}

impl ChangeFamilies {
    /// Counts what has happened between two agreed states. A node that joins learns a state with changes that others have counted.
    pub fn count(&self, known: &State, state: &State, node: u32) {
        let counts = state.nodes.keys().next() == Some(&node);
        if !counts || !known.is_bootstrapped() {
            return;
        }
        for ended in &state.finished {
            let was_ended = known.finished.iter();
            let was_ended = was_ended
                .map(|it| it.change.id)
                .any(|id| id == ended.change.id);
            if was_ended || !self.count_applied(known, &ended.change) {
                continue;
            }
            match ended.outcome {
                Outcome::Completed => {}
                Outcome::Cancelled => {
                    if let Some(operation) = ended.change.pending.front() {
                        self.attempt(operation.name(), FAILED);
                    }
                }
            }
        }
        if let Some(running) = &state.running {
            self.count_applied(known, running);
        }
    }

    /// Counts the operations of the change that had not taken effect in the known state. False if that does not tell: it was long ago.
    fn count_applied(&self, known: &State, change: &Running) -> bool {
        let counted = match known.change(change.id) {
            Some(before) => before.completed.len(),
            None if change.id > known.changes => 0,
            None => return false,
        };
        let ends = change.completed.iter().map(|(_, at)| *at);
        let begins = std::iter::once(change.started_at).chain(ends);
        for ((operation, at), from) in change.completed.iter().zip(begins).skip(counted) {
            let millis = u64::try_from(at.saturating_sub(from)).unwrap_or_default();
            let operation = operation.name();
            let duration = self.duration.of(OfOperation { operation });
            duration.observe_time(Duration::from_millis(millis));
            self.attempt(operation, APPLIED);
        }
        true
    }

    fn attempt(&self, operation: &'static str, outcome: &'static str) {
        let of = OfAttempt { operation, outcome };
        self.attempts.of(of).inc();
    }
}

#[cfg(test)]
mod tests {
    use skep_cluster::{Entry, Layout, Operation};

    use super::*;

    const JOIN: &str = "PARTITION_JOIN";

    fn begun() -> State {
        let layout = Layout {
            nodes: vec![0, 1],
            copies: 1,
            partitions: 1,
        };
        State::bootstrapped("it".to_string(), &layout, 0)
    }

    fn begin(state: &State) -> Entry {
        let join = |priority| Operation::PartitionJoin {
            broker_id: 1,
            partition_id: 1,
            priority,
        };
        Entry::Begin {
            revision: state.revision,
            operations: vec![join(1), join(2)],
            now: 1000,
        }
    }

    fn done(state: &State, now: i64) -> Entry {
        let (change, operation) = state.next_operation().unwrap();
        Entry::Done {
            change,
            operation: operation.clone(),
            now,
        }
    }

    /// The metrics of one node, which learns each state.
    struct Node {
        number: u32,
        known: State,
        families: ChangeFamilies,
    }

    impl Node {
        fn new(number: u32, known: &State) -> Node {
            Node {
                number,
                known: known.clone(),
                families: ChangeFamilies::default(),
            }
        }

        fn learns(&mut self, state: &State) {
            self.families.count(&self.known, state, self.number);
            self.known = state.clone();
        }

        /// Applied, failed, and the sum of the durations in milliseconds.
        fn counted(&self) -> (u64, u64, u64) {
            let attempts = |outcome| {
                let of = OfAttempt {
                    operation: JOIN,
                    outcome,
                };
                self.families.attempts.of(of).get()
            };
            let duration = self.families.duration.of(OfOperation { operation: JOIN });
            assert_eq!(duration.count(), attempts(APPLIED));
            (attempts(APPLIED), attempts(FAILED), duration.sum())
        }
    }

    #[test]
    fn each_operation_is_counted_once_by_the_node_with_the_lowest_number() {
        let mut state = begun();
        let mut nodes = [Node::new(0, &state), Node::new(1, &state)];
        let mut late = Node::new(0, &State::default());
        let mut away = Node::new(0, &state);
        let entries: [fn(&State) -> Entry; 3] =
            [begin, |state| done(state, 1500), |state| done(state, 4500)];
        let mut expected = [(0, 0, 0), (1, 0, 500), (2, 0, 3500)].into_iter();
        for entry in entries {
            let entry = entry(&state);
            assert!(state.apply(entry));
            nodes.iter_mut().for_each(|node| node.learns(&state));
            assert_eq!(Some(nodes[0].counted()), expected.next());
        }
        assert!(state.running.is_none());
        assert_eq!(nodes[1].counted(), (0, 0, 0));
        late.learns(&state);
        assert_eq!(late.counted(), (0, 0, 0), "others have counted them");
        away.learns(&state);
        assert_eq!(away.counted(), (2, 0, 3500), "it was away meanwhile");
    }

    #[test]
    fn an_operation_that_is_cancelled_has_failed() {
        let mut state = begun();
        let mut node = Node::new(0, &state);
        for now in [None, Some(1500)] {
            let entry = now.map_or_else(|| begin(&state), |now| done(&state, now));
            assert!(state.apply(entry));
            node.learns(&state);
        }
        let cancel = Entry::Cancel {
            change: state.changes,
            now: 9000,
        };
        assert!(state.apply(cancel));
        node.learns(&state);
        assert_eq!(node.counted(), (1, 1, 500));
        // The next change says nothing more about it.
        let next = begin(&state);
        assert!(state.apply(next));
        node.learns(&state);
        assert_eq!(node.counted(), (1, 1, 500));
    }
}
