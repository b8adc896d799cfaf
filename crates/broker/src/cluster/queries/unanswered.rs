//! What other nodes were asked and have not answered: found by its number, and by the node, without a look at what others were asked.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// Below this number, questions to a node that nobody waits for any more are not looked for.
const FEW: usize = 64;

/// Those who wait for answers, by node and number. There are at most twice as many for a node as callers have waited for it at one time,
/// and [`FEW`] more.
pub(in crate::cluster) struct Unanswered<T> {
    next: AtomicU64,
    nodes: Mutex<FxHashMap<u32, OfNode<T>>>,
}

struct OfNode<T> {
    waiting: FxHashMap<u64, T>,
    /// With this many, those that nobody waits for are removed: each question pays for a look at one other.
    sweep_at: usize,
}

impl<T> Default for Unanswered<T> {
    fn default() -> Unanswered<T> {
        Unanswered {
            next: AtomicU64::default(),
            nodes: Mutex::default(),
        }
    }
}

impl<T> Unanswered<T> {
    /// Adds a question to the node and returns its number. `is_over`: whether nobody waits for an answer.
    pub fn add(&self, node: u32, waits: T, is_over: impl Fn(&T) -> bool) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut nodes = self.nodes.lock();
        let of = nodes.entry(node).or_insert_with(|| OfNode {
            waiting: FxHashMap::default(),
            sweep_at: FEW,
        });
        if of.waiting.len() >= of.sweep_at {
            of.waiting.retain(|_, waits| !is_over(waits));
            of.sweep_at = (of.waiting.len() * 2).max(FEW);
        }
        of.waiting.insert(id, waits);
        id
    }

    /// The node has answered, or never will.
    pub fn take(&self, node: u32, id: u64) -> Option<T> {
        self.nodes.lock().get_mut(&node)?.waiting.remove(&id)
    }

    /// The connection with the node is lost.
    pub fn take_all(&self, node: u32) -> impl Iterator<Item = T> + use<T> {
        let of = self.nodes.lock().remove(&node);
        of.into_iter().flat_map(|of| of.waiting.into_values())
    }

    /// Those of all nodes for which this is true.
    pub fn take_if(&self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for of in self.nodes.lock().values_mut() {
            taken.extend(of.waiting.extract_if(|_, it| which(it)).map(|it| it.1));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{FEW, Unanswered};

    #[test]
    fn an_answer_is_taken_once_and_only_from_the_node_that_was_asked() {
        let unanswered = Unanswered::default();
        let never = |_: &&str| false;
        let (first, second) = (
            unanswered.add(1, "first", never),
            unanswered.add(2, "second", never),
        );
        assert_eq!(unanswered.take(2, first), None);
        assert_eq!(unanswered.take(1, first), Some("first"));
        assert_eq!(unanswered.take(1, first), None);
        assert!(unanswered.take_all(1).next().is_none());
        assert!(unanswered.take_all(2).eq(["second"]));
        assert_eq!(unanswered.take(2, second), None);
    }

    #[test]
    fn a_question_costs_a_look_at_few_others_however_many_wait() {
        const MANY: usize = 10_000;
        let (unanswered, looks) = (Unanswered::default(), Cell::new(0));
        let never = |_: &usize| {
            looks.set(looks.get() + 1);
            false
        };
        let ids: Vec<u64> = (0..MANY).map(|n| unanswered.add(1, n, never)).collect();
        assert!(looks.get() <= 2 * MANY, "{} looks", looks.get());
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(unanswered.take(1, id), Some(n));
        }
    }

    #[test]
    fn questions_whose_callers_are_gone_do_not_pile_up() {
        let unanswered = Unanswered::default();
        for n in 0..10_000 {
            unanswered.add(1, n, |_| true);
        }
        let left = unanswered.take_all(1).count();
        assert!(left <= FEW, "{left}");
    }

    #[test]
    fn only_those_that_took_too_long_are_given_up() {
        let unanswered = Unanswered::default();
        for n in 0..10 {
            unanswered.add(n % 3, n, |_| false);
        }
        let mut late = unanswered.take_if(|n| *n >= 7);
        late.sort_unstable();
        assert_eq!(late, [7, 8, 9]);
        assert!(unanswered.take_if(|n| *n >= 7).is_empty());
        assert_eq!(
            (0..3)
                .map(|node| unanswered.take_all(node).count())
                .sum::<usize>(),
            7
        );
    }
}
