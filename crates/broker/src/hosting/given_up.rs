//! Files of copies that this node has given up. They stay for a day: an operator may have removed the wrong copy.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long they are kept, unless the disk needs the room.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Partitions of which there are such files.
#[derive(Debug, Default)]
pub(crate) struct GivenUp {
    /// Since when, as far as this process knows.
    since: BTreeMap<u32, Instant>,
    /// How often the cluster had been purged when they were looked at last.
    incarnation: Option<u64>,
}

impl GivenUp {
    pub(crate) fn note(&mut self, partition: u32, now: Instant) {
        self.since.insert(partition, now);
    }

    /// The partitions whose files are to be removed now; each is returned once. `needs_room`: the disk is nearly full. `incarnation`: how
    /// often the cluster was purged, of which nothing is to be left.
    pub(crate) fn due(&mut self, now: Instant, needs_room: bool, incarnation: u64) -> Vec<u32> {
        let before = self.incarnation.replace(incarnation);
        let all = needs_room || before.is_some_and(|before| before != incarnation);
        let mut due = Vec::new();
        self.since.retain(|partition, since| {
            let is_due = all || now.saturating_duration_since(*since) >= KEPT;
            due.extend(is_due.then_some(*partition));
            !is_due
        });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, GivenUp, Instant, KEPT};

    #[test]
    fn files_are_kept_for_a_day_unless_the_disk_needs_the_room() {
        let (mut given_up, now) = (GivenUp::default(), Instant::now());
        given_up.note(1, now);
        given_up.note(2, now + Duration::from_secs(60));
        assert!(given_up.due(now + KEPT / 2, false, 0).is_empty());
        assert_eq!(given_up.due(now + KEPT, false, 0), [1]);
        assert!(given_up.due(now + KEPT, false, 0).is_empty(), "once");
        assert_eq!(given_up.due(now + KEPT, true, 0), [2]);
    }

    #[test]
    fn a_copy_that_is_given_up_again_is_kept_for_another_day() {
        let (mut given_up, now) = (GivenUp::default(), Instant::now());
        given_up.note(1, now);
        given_up.note(1, now + KEPT / 2);
        assert!(given_up.due(now + KEPT, false, 0).is_empty());
        assert_eq!(given_up.due(now + KEPT / 2 + KEPT, false, 0), [1]);
    }

    #[test]
    fn nothing_is_left_of_a_cluster_that_is_purged() {
        let (mut given_up, now) = (GivenUp::default(), Instant::now());
        given_up.note(1, now);
        assert!(given_up.due(now, false, 7).is_empty());
        assert_eq!(given_up.due(now, false, 8), [1]);
    }
}
