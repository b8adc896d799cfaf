//! The buffered messages of one name and correlation key, and how far each process has taken them: the next one for a process is found
//! without looking at those that it already has, however many are buffered.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use skep_protocol::Key;
use smallvec::SmallVec;

/// The place of a message among those of its name and correlation key, the oldest first.
///
/// Keys tell the age of messages that one partition has made. A correlation key that moves to another partition takes all of its messages
/// along, so those that have moved more often are older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    moves: Reverse<u32>,
    pub key: Key,
}

impl Rank {
    pub fn new(moves: u32, key: Key) -> Rank {
        let moves = Reverse(moves);
        Rank { moves, key }
    }
}

/// Messages with the ends of their times to live.
type Deadlines = BTreeMap<Rank, i64>;

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
    /// All up to this one. `None`: not even the first one.
    up_to: Option<Rank>,
    /// And these later ones. The message that follows `up_to` is not among them.
    later: BTreeSet<Rank>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.deadlines.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.deadlines.keys().map(|rank| rank.key)
    }

    /// Adds a message that these processes have taken.
    pub(super) fn add(&mut self, rank: Rank, deadline: i64, taken_by: &[Arc<str>]) {
        self.deadlines.insert(rank, deadline);
        // It may be older than others: a removal was taken back.
        for (_, taken) in &mut self.taken {
            taken.give_back(rank, &self.deadlines);
        }
        for process in taken_by {
            self.take(rank, process);
        }
    }

    pub(super) fn remove(&mut self, rank: Rank) {
        self.deadlines.remove(&rank);
        for (_, taken) in &mut self.taken {
            taken.later.remove(&rank);
            taken.advance(&self.deadlines);
        }
    }

    /// The process has taken the message.
    pub(super) fn take(&mut self, rank: Rank, process: &Arc<str>) {
        let known = self.taken.iter().position(|(other, _)| other == process);
        let at = known.unwrap_or_else(|| {
            self.taken.push((process.clone(), Taken::default()));
            self.taken.len() - 1
        });
        if let Some((_, taken)) = self.taken.get_mut(at)
            && Some(rank) > taken.up_to
        {
            taken.later.insert(rank);
            taken.advance(&self.deadlines);
        }
    }

    /// The process has not taken the message after all.
    pub(super) fn give_back(&mut self, rank: Rank, process: &str) {
        let mut taken = self.taken.iter_mut();
        if let Some((_, taken)) = taken.find(|(other, _)| &**other == process) {
            taken.give_back(rank, &self.deadlines);
        }
    }

    /// The oldest message that the process has not taken and that has not expired.
    pub(super) fn oldest_for(&self, process: &str, now: i64) -> Option<Rank> {
        let mut taken = self.taken.iter();
        let taken = taken.find(|(other, _)| &**other == process);
        let taken = taken.map(|(_, taken)| taken);
        let up_to = taken.and_then(|taken| taken.up_to);
        let mut rest = after(&self.deadlines, up_to);
        let oldest = rest.find(|(rank, deadline)| {
            **deadline > now && taken.is_none_or(|taken| !taken.later.contains(*rank))
        });
        oldest.map(|(rank, _)| *rank)
    }
}

fn after(messages: &Deadlines, rank: Option<Rank>) -> impl Iterator<Item = (&Rank, &i64)> {
    let first = rank.map_or(Bound::Unbounded, Bound::Excluded);
    messages.range((first, Bound::Unbounded))
}

impl Taken {
    /// Moves on over messages that are taken.
    fn advance(&mut self, messages: &Deadlines) {
        if self.later.is_empty() {
            return;
        }
        for (rank, _) in after(messages, self.up_to) {
            if !self.later.remove(rank) {
                return;
            }
            self.up_to = Some(*rank);
            if self.later.is_empty() {
                // An empty set would keep its memory.
                self.later = BTreeSet::new();
                return;
            }
        }
    }

    fn give_back(&mut self, rank: Rank, messages: &Deadlines) {
        self.later.remove(&rank);
        let Some(up_to) = self.up_to.filter(|up_to| rank <= *up_to) else {
            return;
        };
        let behind = (Bound::Excluded(rank), Bound::Included(up_to));
        self.later
            .extend(messages.range(behind).map(|(rank, _)| *rank));
        self.up_to = messages.range(..rank).next_back().map(|(rank, _)| *rank);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_000;

    /// The message with this key, which has not moved.
    fn at(key: i64) -> Rank {
        Rank::new(0, Key(key))
    }

    fn of(count: i64) -> Queue {
        let mut queue = Queue::default();
        for key in 1..=count {
            queue.add(at(key), NOW + 1, &[]);
        }
        queue
    }

    /// A search through the taken ones would take billions of steps.
    #[test]
    fn a_process_takes_a_hundred_thousand_messages_one_after_the_other() {
        let mut queue = of(100_000);
        let process: Arc<str> = "p".into();
        for key in 1..=100_000 {
            assert_eq!(queue.oldest_for(&process, NOW), Some(at(key)));
            queue.take(at(key), &process);
        }
        assert_eq!(queue.oldest_for(&process, NOW), None);
        assert_eq!(queue.oldest_for("q", NOW), Some(at(1)));
    }

    #[test]
    fn what_was_taken_out_of_turn_is_passed_over() {
        let mut queue = of(4);
        let process: Arc<str> = "p".into();
        queue.take(at(2), &process);
        queue.take(at(3), &process);
        assert_eq!(queue.oldest_for(&process, NOW), Some(at(1)));
        queue.remove(at(1));
        assert_eq!(queue.oldest_for(&process, NOW), Some(at(4)));
    }

    #[test]
    fn a_refused_message_is_the_oldest_again() {
        let mut queue = of(3);
        let process: Arc<str> = "p".into();
        for key in 1..=3 {
            queue.take(at(key), &process);
        }
        queue.give_back(at(2), &process);
        assert_eq!(queue.oldest_for(&process, NOW), Some(at(2)));
        queue.take(at(2), &process);
        assert_eq!(queue.oldest_for(&process, NOW), None);
    }

    #[test]
    fn expired_messages_are_passed_over() {
        let mut queue = of(2);
        queue.add(at(3), NOW + 2, &[]);
        assert_eq!(queue.oldest_for("p", NOW + 1), Some(at(3)));
        assert_eq!(queue.oldest_for("p", NOW + 2), None);
    }

    /// Whatever the numbers of their partitions: those that have moved more often were published before.
    #[test]
    fn messages_that_have_moved_are_older_than_those_published_where_they_are() {
        let mut queue = Queue::default();
        let of = |moves, partition, counter| Rank::new(moves, Key::new(partition, counter));
        let ranks = [of(2, 1, 9), of(1, 4, 7), of(1, 4, 8), of(0, 2, 3)];
        for rank in ranks.iter().rev() {
            queue.add(*rank, NOW + 1, &[]);
        }
        let process: Arc<str> = "p".into();
        for rank in ranks {
            assert_eq!(queue.oldest_for(&process, NOW), Some(rank));
            queue.take(rank, &process);
        }
        queue.give_back(ranks[1], &process);
        assert_eq!(queue.oldest_for(&process, NOW), Some(ranks[1]));
    }

    proptest! {
        /// Whatever happens to messages, and in which order: the same is found as by looking at each of them.
        #[test]
        fn the_oldest_is_that_of_a_search_through_all(
            steps in proptest::collection::vec((0..4u8, 1..12i64, 0..2usize), 0..60)
        ) {
            let processes: [Arc<str>; 2] = ["p".into(), "q".into()];
            let mut queue = Queue::default();
            let mut all: BTreeMap<Rank, BTreeSet<Arc<str>>> = BTreeMap::new();
            for (what, key, process) in steps {
                let (rank, process) = (Rank::new((key % 3) as u32, Key(key)), &processes[process]);
                let taken_by = all.get_mut(&rank);
                match (what, taken_by) {
                    (0, None) => {
                        queue.add(rank, NOW + 1, std::slice::from_ref(process));
                        all.insert(rank, [process.clone()].into());
                    }
                    (1, None) => {
                        queue.add(rank, NOW + 1, &[]);
                        all.insert(rank, BTreeSet::new());
                    }
                    (0 | 1, Some(taken_by)) => {
                        queue.take(rank, process);
                        taken_by.insert(process.clone());
                    }
                    (2, Some(taken_by)) => {
                        queue.give_back(rank, process);
                        taken_by.remove(process);
                    }
                    (3, Some(_)) => {
                        queue.remove(rank);
                        all.remove(&rank);
                    }
                    _ => {}
                }
                for process in &processes {
                    let mut rest = all.iter().filter(|(_, taken_by)| !taken_by.contains(process));
                    let expected = rest.next().map(|(rank, _)| *rank);
                    prop_assert_eq!(queue.oldest_for(process, NOW), expected);
                }
                prop_assert_eq!(queue.is_empty(), all.is_empty());
            }
        }
    }
}
