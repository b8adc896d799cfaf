//! The clock of the state: pinned, and running again.

use skep_model::builder::Bpmn;
use skep_protocol::Command;
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .catch_duration("timer", "PT1M")
        .end("e")
}

fn pin(rig: &mut Rig, timestamp: i64) {
    rig.send(Command::PinClock { timestamp }).unwrap();
}

#[test]
fn a_pinned_clock_stands_still() {
    let mut rig = Rig::with(process());
    pin(&mut rig, START);
    let instance = rig.create("p", "{}");
    rig.advance(100 * MINUTE);
    assert!(rig.is_running(instance));
    assert_eq!(rig.engine(1).next_due(), None);
    pin(&mut rig, START + MINUTE);
    assert!(rig.engine(1).next_due().unwrap() <= START, "due at once");
    rig.run_due();
    rig.assert_completed(instance);
    let last = rig.seen.last().unwrap();
    assert_eq!(last.json["timestamp"], START + MINUTE);
}

#[test]
fn reset_lets_it_run_again() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    pin(&mut rig, START);
    rig.advance(MINUTE);
    assert!(rig.is_running(instance));
    rig.send(Command::ResetClock).unwrap();
    rig.run_due();
    rig.assert_completed(instance);
    assert_eq!(rig.intents("CLOCK"), ["PINNED", "RESETTED"]);
}

#[test]
fn all_partitions_are_pinned() {
    let mut rig = Rig::with_partitions(3);
    rig.deploy(process());
    pin(&mut rig, START + 7);
    for partition in 1..=3 {
        assert_eq!(rig.engine(partition).state.pinned_clock(), Some(START + 7));
    }
    rig.send(Command::ResetClock).unwrap();
    for partition in 1..=3 {
        assert_eq!(rig.engine(partition).state.pinned_clock(), None);
    }
}

#[test]
fn a_negative_time_is_refused() {
    let mut rig = Rig::new();
    let refused = rig.send(Command::PinClock { timestamp: -1 });
    assert_eq!(rejected(refused).0, "INVALID_ARGUMENT");
}
