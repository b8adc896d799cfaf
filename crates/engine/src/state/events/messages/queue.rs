//! The buffered messages of one name and correlation key, and how far each process has taken them: the next one for a process is found
//! without looking at those that it already has, however many are buffered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use skep_protocol::Key;
use smallvec::SmallVec;

/// Messages with the ends of their times to live.
type Deadlines = BTreeMap<Key, i64>;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Queue {
    deadlines: Deadlines,
    /// Only processes that have taken a message. Nearly always one: a map would take more memory than the message.
    taken: SmallVec<[(Arc<str>, Taken); 1]>,
}

/// The messages that a process has taken. It takes the oldest one first, so they are nearly always those up to some message.
#[derive(Default)]
struct Taken {
    /// All up to this one.
    up_to: Key,
    /// And these later ones. The message that follows `up_to` is not among them.
    later: BTreeSet<Key>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.deadlines.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.deadlines.keys().copied()
    }

    /// Adds a message that these processes have taken.
    pub(super) fn add(&mut self, key: Key, deadline: i64, taken_by: &[Arc<str>]) {
        self.deadlines.insert(key, deadline);
        // It may be older than others: a removal was taken back.
        for (_, taken) in &mut self.taken {
            taken.give_back(key, &self.deadlines);
        }
        for process in taken_by {
            self.take(key, process);
        }
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.deadlines.remove(&key);
        for (_, taken) in &mut self.taken {
            taken.later.remove(&key);
            taken.advance(&self.deadlines);
        }
    }

    /// The process has taken the message.
    pub(super) fn take(&mut self, key: Key, process: &Arc<str>) {
        let known = self.taken.iter().position(|(other, _)| other == process);
        let at = known.unwrap_or_else(|| {
            self.taken.push((process.clone(), Taken::default()));
            self.taken.len() - 1
        });
        if let Some((_, taken)) = self.taken.get_mut(at)
            && key > taken.up_to
        {
            taken.later.insert(key);
            taken.advance(&self.deadlines);
        }
    }

    /// The process has not taken the message after all.
    pub(super) fn give_back(&mut self, key: Key, process: &str) {
        let mut taken = self.taken.iter_mut();
        if let Some((_, taken)) = taken.find(|(other, _)| &**other == process) {
            taken.give_back(key, &self.deadlines);
        }
    }

    /// The oldest message that the process has not taken and that has not expired.
    pub(super) fn oldest_for(&self, process: &str, now: i64) -> Option<Key> {
        let mut taken = self.taken.iter();
        let taken = taken.find(|(other, _)| &**other == process);
        let taken = taken.map(|(_, taken)| taken);
        let up_to = taken.map_or(Key::NONE, |taken| taken.up_to);
        let mut rest = after(&self.deadlines, up_to);
        let oldest = rest.find(|(key, deadline)| {
            **deadline > now && taken.is_none_or(|taken| !taken.later.contains(*key))
        });
        oldest.map(|(key, _)| *key)
    }
}

fn after(messages: &Deadlines, key: Key) -> impl Iterator<Item = (&Key, &i64)> {
    messages.range((Bound::Excluded(key), Bound::Unbounded))
}

impl Taken {
    /// Moves on over messages that are taken.
    fn advance(&mut self, messages: &Deadlines) {
        if self.later.is_empty() {
            return;
        }
        for (key, _) in after(messages, self.up_to) {
            if !self.later.remove(key) {
                return;
            }
            self.up_to = *key;
            if self.later.is_empty() {
                // An empty set would keep its memory.
                self.later = BTreeSet::new();
                return;
            }
        }
    }

    fn give_back(&mut self, key: Key, messages: &Deadlines) {
        self.later.remove(&key);
        if key > self.up_to {
            return;
        }
        let behind = (Bound::Excluded(key), Bound::Included(self.up_to));
        self.later
            .extend(messages.range(behind).map(|(key, _)| *key));
        self.up_to = Key(key.0.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_000;

    fn of(count: i64) -> Queue {
        let mut queue = Queue::default();
        for key in 1..=count {
            queue.add(Key(key), NOW + 1, &[]);
        }
        queue
    }

    /// A search through the taken ones would take billions of steps.
    #[test]
    fn a_process_takes_a_hundred_thousand_messages_one_after_the_other() {
        let mut queue = of(100_000);
        let process: Arc<str> = "p".into();
        for key in 1..=100_000 {
            assert_eq!(queue.oldest_for(&process, NOW), Some(Key(key)));
            queue.take(Key(key), &process);
        }
        assert_eq!(queue.oldest_for(&process, NOW), None);
        assert_eq!(queue.oldest_for("q", NOW), Some(Key(1)));
    }

    #[test]
    fn what_was_taken_out_of_turn_is_passed_over() {
        let mut queue = of(4);
        let process: Arc<str> = "p".into();
        queue.take(Key(2), &process);
        queue.take(Key(3), &process);
        assert_eq!(queue.oldest_for(&process, NOW), Some(Key(1)));
        queue.remove(Key(1));
        assert_eq!(queue.oldest_for(&process, NOW), Some(Key(4)));
    }

    #[test]
    fn a_refused_message_is_the_oldest_again() {
        let mut queue = of(3);
        let process: Arc<str> = "p".into();
        for key in 1..=3 {
            queue.take(Key(key), &process);
        }
        queue.give_back(Key(2), &process);
        assert_eq!(queue.oldest_for(&process, NOW), Some(Key(2)));
        queue.take(Key(2), &process);
        assert_eq!(queue.oldest_for(&process, NOW), None);
    }

    #[test]
    fn expired_messages_are_passed_over() {
        let mut queue = of(2);
        queue.add(Key(3), NOW + 2, &[]);
        assert_eq!(queue.oldest_for("p", NOW + 1), Some(Key(3)));
        assert_eq!(queue.oldest_for("p", NOW + 2), None);
    }

    proptest! {
        /// Whatever happens to messages, and in which order: the same is found as by looking at each of them.
        #[test]
        fn the_oldest_is_that_of_a_search_through_all(
            steps in proptest::collection::vec((0..4u8, 1..12i64, 0..2usize), 0..60)
        ) {
            let processes: [Arc<str>; 2] = ["p".into(), "q".into()];
            let mut queue = Queue::default();
            let mut all: BTreeMap<Key, BTreeSet<Arc<str>>> = BTreeMap::new();
            for (what, key, process) in steps {
                let (key, process) = (Key(key), &processes[process]);
                let taken_by = all.get_mut(&key);
                match (what, taken_by) {
                    (0, None) => {
                        queue.add(key, NOW + 1, std::slice::from_ref(process));
                        all.insert(key, [process.clone()].into());
                    }
                    (1, None) => {
                        queue.add(key, NOW + 1, &[]);
                        all.insert(key, BTreeSet::new());
                    }
                    (0 | 1, Some(taken_by)) => {
                        queue.take(key, process);
                        taken_by.insert(process.clone());
                    }
                    (2, Some(taken_by)) => {
                        queue.give_back(key, process);
                        taken_by.remove(process);
                    }
                    (3, Some(_)) => {
                        queue.remove(key);
                        all.remove(&key);
                    }
                    _ => {}
                }
                for process in &processes {
                    let mut rest = all.iter().filter(|(_, taken_by)| !taken_by.contains(process));
                    let expected = rest.next().map(|(key, _)| *key);
                    prop_assert_eq!(queue.oldest_for(process, NOW), expected);
                }
                prop_assert_eq!(queue.is_empty(), all.is_empty());
            }
        }
    }
}
