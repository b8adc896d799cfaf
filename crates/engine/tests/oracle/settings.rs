//! Deferral of work and the number of partitions must not matter. Every scenario whose elements are supported is played again with another
//! configuration and compared with the first run.

use crate::player::{AS_RECORDED, Played, Setting, play};
use crate::{compare, lines_of};
use skep_testkit::scenario::Scenario;

/// In these a second command of a partition to itself is ready while the work of the first waits for its next turn: it runs in between, as
/// it should. The records are the same, their order is not.
const OTHERS_COME_BETWEEN: [&str; 4] = [
    // The operation continues while the work of an item is deferred.
    "batch-operation/cancel-one-already-gone",
    "batch-operation/modify",
    "message/correlate-command-prefers-waiting-and-starts",
    "message/non-interrupting-boundary-two-buffered",
];

/// Whether a message starts an instance, which then lives on the partition of the message.
fn starts_by_message(played: &Played) -> bool {
    let mut records = played.records.iter();
    records.any(|(_, record)| {
        record["valueType"] == "MESSAGE_START_EVENT_SUBSCRIPTION"
            && record["intent"] == "CORRELATED"
    })
}

/// The names of entities without their number: `PROCESS_INSTANCE:end/1`.
fn without_numbers(line: &str) -> String {
    let mut parts = line.split('/');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |line, part| {
        line + "/" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// Plays all scenarios in both configurations. Returns the results with the other one.
#[track_caller]
fn same_in(other: Setting) -> Vec<Played> {
    let (mut plays, mut failures) = (Vec::new(), Vec::new());
    for scenario in Scenario::all() {
        let Ok(first) = play(&scenario, AS_RECORDED) else {
            continue;
        };
        if other.partitions > 1 && starts_by_message(&first) {
            continue;
        }
        let again = play(&scenario, other).expect("what was played can be played again");
        let lines = |played: &Played| {
            let mut lines = lines_of(played);
            if OTHERS_COME_BETWEEN.contains(&scenario.name.as_str()) {
                // Numbers of entities depend on the order.
                lines = lines.iter().map(|line| without_numbers(line)).collect();
                lines.sort();
            }
            lines
        };
        let differences = compare::differences(&lines(&first), &lines(&again));
        if !differences.is_empty() || first.answers.len() != again.answers.len() {
            failures.push(format!(
                "{}\n    {}",
                scenario.name,
                differences.join("\n    ")
            ));
        }
        plays.push(again);
    }
    assert!(plays.len() >= 80, "{} scenarios were played", plays.len());
    assert!(
        failures.is_empty(),
        "{} scenarios differ (- as recorded, + in the other setting):\n{}",
        failures.len(),
        failures.join("\n")
    );
    plays
}

#[test]
fn work_that_is_put_off_leads_to_the_same_records() {
    let plays = same_in(Setting {
        turn_steps: Some(1),
        ..AS_RECORDED
    });
    let records = plays.iter().flat_map(|played| &played.records);
    let put_off = records.filter(|(_, record)| record["valueType"] == "CONTINUATION");
    assert!(put_off.count() >= plays.len());
}

#[test]
fn messages_on_other_partitions_lead_to_the_same_records() {
    let plays = same_in(Setting {
        partitions: 3,
        ..AS_RECORDED
    });
    let records = plays.iter().flat_map(|played| &played.records);
    let elsewhere = records.filter(|(_, record)| {
        record["valueType"] == "MESSAGE_SUBSCRIPTION" && record["partitionId"] != 1
    });
    assert!(elsewhere.count() > 0);
}
