//! Files of copies that this node has given up. They stay for a day: an operator may have removed the wrong copy.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long they are kept, unless the disk needs the room.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Partitions of which there are such files, and since when as far as this process knows.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(BTreeMap<u32, Instant>);

impl GivenUp {
    pub(crate) fn note(&mut self, partition: u32, now: Instant) {
        self.0.insert(partition, now);
    }

    /// The partitions whose files are to be removed now; each is returned once. `needs_room`: the disk is nearly full.
    pub(crate) fn due(&mut self, now: Instant, needs_room: bool) -> Vec<u32> {
        let mut due = Vec::new();
        self.0.retain(|partition, since| {
            let is_due = needs_room || now.saturating_duration_since(*since) >= KEPT;
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
        assert!(given_up.due(now + KEPT / 2, false).is_empty());
        assert_eq!(given_up.due(now + KEPT, false), [1]);
        assert!(given_up.due(now + KEPT, false).is_empty(), "once");
        assert_eq!(given_up.due(now + KEPT, true), [2]);
    }

    #[test]
    fn a_copy_that_is_given_up_again_is_kept_for_another_day() {
        let (mut given_up, now) = (GivenUp::default(), Instant::now());
        given_up.note(1, now);
        given_up.note(1, now + KEPT / 2);
        assert!(given_up.due(now + KEPT, false).is_empty());
        assert_eq!(given_up.due(now + KEPT / 2 + KEPT, false), [1]);
    }
}
