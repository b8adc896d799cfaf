//! Work that is put off leads to the same: every scenario whose elements exist, in turns of one step.

use crate::player::Played;
use crate::{compare, lines_of, player, scenarios};

/// Here a second command of a partition to itself is ready while the work of the first waits for its next turn: it comes
/// between, as it should. The records are the same, their order is not.
const OTHERS_COME_BETWEEN: [&str; 1] = ["message/non-interrupting-boundary-two-buffered"];

#[test]
fn work_that_is_put_off_leads_to_the_same_records() {
    let (mut count, mut put_off, mut failures) = (0, 0, Vec::new());
    for (name, folder) in scenarios() {
        let Ok(at_once) = player::play(&folder, None) else {
            continue;
        };
        let in_turns = player::play(&folder, Some(1)).expect("what was played can be played again");
        count += 1;
        let records = in_turns.records.iter();
        put_off += records
            .filter(|(_, r)| r["valueType"] == "CONTINUATION")
            .count();
        let lines = |played: &Played| {
            let mut lines = lines_of(played);
            if OTHERS_COME_BETWEEN.contains(&name.as_str()) {
                lines.sort();
            }
            lines
        };
        let differences = compare::differences(&lines(&at_once), &lines(&in_turns));
        if !differences.is_empty() {
            failures.push(format!("{name}\n    {}", differences.join("\n    ")));
        }
        assert_eq!(at_once.answers, in_turns.answers, "{name}");
    }
    assert!(count >= 80, "{count} scenarios were played");
    assert!(put_off >= count, "work was put off {put_off} times");
    assert!(
        failures.is_empty(),
        "{} of {count} scenarios differ (- at once, + in turns):\n{}",
        failures.len(),
        failures.join("\n")
    );
}
