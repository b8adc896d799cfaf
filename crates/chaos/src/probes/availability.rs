//! How long until what leaders have written can be searched, by their own metric.

use std::collections::BTreeSet;

use super::metric::{label, value};

const SECONDS: &str = "skep_data_availability_seconds_sum{";
const BATCHES: &str = "skep_data_availability_seconds_count{";
const OF_STORAGE: &str = "exporter=\"secondary-storage\"";
const LEADS: &str = "atomix_role{";
/// The role of a leader.
const LEADER: &str = "3";

/// What leaders have counted so far.
#[derive(Debug, Default)]
struct Counts {
    /// Each node by its place, with a partition that it leads.
    leaders: BTreeSet<(usize, String)>,
    seconds: f64,
    batches: f64,
}

/// The counts at the last look.
#[derive(Debug, Default)]
pub(super) struct Availability {
    before: Option<Counts>,
}

impl Availability {
    /// The mean in milliseconds of the batches that were stored since the last look, from the metrics of all nodes; `None` if there were none,
    /// or if others lead now.
    pub(super) fn mean_ms(&mut self, texts: &[String]) -> Option<f64> {
        let now = counts(texts);
        let (seconds, batches) = (now.seconds, now.batches);
        let before = self.before.replace(now)?;
        let now = self.before.as_ref()?;
        let (seconds, batches) = (seconds - before.seconds, batches - before.batches);
        let is_one_process = now.leaders == before.leaders && seconds >= 0.0;
        (is_one_process && batches > 0.0).then(|| seconds / batches * 1e3)
    }
}

/// The counts of the copies that lead; those of others are of the time until they can be searched elsewhere.
fn counts(texts: &[String]) -> Counts {
    let mut counts = Counts::default();
    for (node, text) in texts.iter().enumerate() {
        let lines = || text.lines();
        let roles = lines().filter(|line| line.starts_with(LEADS));
        let leads = roles.filter(|line| line.split_whitespace().last() == Some(LEADER));
        let led: Vec<&str> = leads.filter_map(|line| label(line, "partition")).collect();
        for line in lines().filter(|line| line.contains(OF_STORAGE)) {
            let is_led = label(line, "partition").is_some_and(|it| led.contains(&it));
            let Some(value) = value(line).filter(|_| is_led) else {
                continue;
            };
            if line.starts_with(SECONDS) {
                counts.seconds += value;
            } else if line.starts_with(BATCHES) {
                counts.batches += value;
            }
        }
        let led = led.into_iter().map(|partition| (node, partition.into()));
        counts.leaders.extend(led);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(role: u32, seconds: f64, batches: u32) -> String {
        let labels = format!("{OF_STORAGE},partition=\"1\"}}");
        format!(
            "{LEADS}partition=\"1\",partitionGroupName=\"raft-partition\"}} {role}\n\
             {SECONDS}{labels} {seconds}\n{BATCHES}{labels} {batches}\n\
             {BATCHES}exporter=\"sink\",partition=\"1\"}} 9\n"
        )
    }

    #[test]
    fn the_mean_is_that_of_the_leader_since_the_last_look() {
        let mut availability = Availability::default();
        let mut look = |one: (u32, f64, u32), two: (u32, f64, u32)| {
            let texts = [one, two].map(|(role, seconds, batches)| node(role, seconds, batches));
            let mean = availability.mean_ms(&texts)?;
            Some(mean.round())
        };
        let follower = (1, 90.0, 900);
        assert_eq!(look((3, 10.0, 100), follower), None, "nothing is known");
        assert_eq!(look((3, 10.5, 110), (1, 99.0, 910)), Some(50.0));
        assert_eq!(look((3, 10.5, 110), follower), None, "no batch");
        let changed = look((1, 10.5, 110), (3, 99.0, 950));
        assert_eq!(changed, None, "another node leads");
        assert_eq!(look((1, 20.0, 120), (3, 99.3, 960)), Some(30.0));
        assert_eq!(look((1, 20.0, 120), (3, 0.1, 980)), None, "started again");
    }
}
