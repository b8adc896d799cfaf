//! Counts the changes of rows of each entity, for the [pulse](skep_query::pulse).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use skep_query::entities::{self, ELEMENT_INSTANCE, PROCESS_DEFINITION};
use skep_query::pulse::{KINDS, drawn};

use crate::changes::Changes;

/// A search server shows rows once it has refreshed its indices, by default once a second. A change counts a second time when
/// this period is over.
pub const REFRESHED: Duration = Duration::from_secs(3);

/// Counters of committed row changes. Written by the exporter's thread; readable from any thread without a lock.
#[derive(Debug)]
pub struct Moves {
    start: u64,
    opened: Instant,
    /// Maximum delay between the commit of a change and its visibility.
    visible_after: Duration,
    kinds: [Kind; KINDS],
}

#[derive(Debug, Default)]
struct Kind {
    changes: AtomicU64,
    /// Time of the last change, in milliseconds since the store was opened.
    last: AtomicU64,
}

impl Moves {
    pub fn new(visible_after: Duration) -> Moves {
        Moves {
            start: drawn(),
            opened: Instant::now(),
            visible_after,
            kinds: std::array::from_fn(|_| Kind::default()),
        }
    }

    /// A random number that identifies this opening of the store.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Counts committed changes.
    pub fn count(&self, changes: &Changes, now: Instant) {
        if !changes.deletions.is_empty() {
            // A deletion can affect any entity.
            return self.count_all(now);
        }
        for (kind, rows) in self.kinds.iter().zip(&changes.rows) {
            if !rows.is_empty() {
                self.moved(kind, now);
            }
        }
        // These are stored separately from rows.
        let apart = [
            (
                entities::number(&ELEMENT_INSTANCE),
                changes.counted.ended.is_empty(),
            ),
            (
                entities::number(&PROCESS_DEFINITION),
                changes.definitions.is_empty(),
            ),
        ];
        for (number, is_empty) in apart {
            if let Some(kind) = self.kinds.get(number).filter(|_| !is_empty) {
                self.moved(kind, now);
            }
        }
    }

    /// Counts a change of rows of every entity.
    pub fn count_all(&self, now: Instant) {
        self.kinds.iter().for_each(|kind| self.moved(kind, now));
    }

    fn moved(&self, kind: &Kind, now: Instant) {
        kind.last.store(self.since_opened(now), Ordering::Relaxed);
        kind.changes.fetch_add(1, Ordering::Release);
    }

    /// A number per entity that grows with each change, and once more when the last change is certainly visible.
    pub fn counts(&self, now: Instant) -> Vec<u64> {
        let now = self.since_opened(now);
        let count = |kind: &Kind| {
            let changes = kind.changes.load(Ordering::Acquire);
            let age = now.saturating_sub(kind.last.load(Ordering::Relaxed));
            let is_visible = u128::from(age) >= self.visible_after.as_millis();
            changes * 2 + u64::from(is_visible)
        };
        self.kinds.iter().map(count).collect()
    }

    /// Milliseconds since the store was opened.
    pub fn since_opened(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.opened);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use skep_protocol::Key;
    use skep_query::Value;
    use skep_query::entities::{INCIDENT, JOB, number};

    use super::*;

    fn moved(before: &[u64], after: &[u64]) -> Vec<usize> {
        let both = before.iter().zip(after).enumerate();
        both.filter(|(_, (a, b))| a != b)
            .map(|(at, _)| at)
            .collect()
    }

    #[test]
    fn rows_of_a_window_move_their_kinds_alone() {
        let moves = Moves::new(Duration::ZERO);
        let now = Instant::now();
        let mut changes = Changes::default();
        let before = moves.counts(now);
        moves.count(&changes, now);
        assert_eq!(moves.counts(now), before, "nothing was written");
        changes.put(&JOB, Key(7), 1, Value::Int(3));
        changes.put(&INCIDENT, Key(8), 1, Value::Int(3));
        moves.count(&changes, now);
        let after = moves.counts(now);
        let expected = vec![number(&INCIDENT), number(&JOB)];
        assert_eq!(moved(&before, &after), expected);
        moves.count_all(now);
        assert_eq!(moved(&after, &moves.counts(now)).len(), KINDS);
    }

    #[test]
    fn rows_that_become_visible_later_move_the_counts_once_more() {
        let moves = Moves::new(REFRESHED);
        let now = Instant::now();
        moves.count_all(now);
        let written = moves.counts(now);
        assert_eq!(moves.counts(now + REFRESHED / 2), written);
        let visible = moves.counts(now + REFRESHED);
        assert_eq!(moved(&written, &visible).len(), KINDS);
        assert_eq!(moves.counts(now + REFRESHED * 5), visible);
        moves.count_all(now + REFRESHED * 5);
        let again = moves.counts(now + REFRESHED * 5);
        assert_eq!(moved(&visible, &again).len(), KINDS);
        assert_eq!(moved(&written, &again).len(), KINDS, "it is no old one");
    }
}
