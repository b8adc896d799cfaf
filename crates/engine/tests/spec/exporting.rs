//! Exporters' positions and operators' changes of exporters are state of the partition.

use std::sync::Arc;

use skep_protocol::Command;
use skep_protocol::command::ExportingChange;
use skep_protocol::value::{ExporterPosition, ExporterValue, ExportingPhase};

use skep_testkit::rig::*;

fn change(rig: &mut Rig, change: ExportingChange) -> Result<(), (String, String)> {
    let partition = 1;
    let command = Command::ChangeExporting { partition, change };
    let request = rig.send_to(1, command);
    match rig.answer(request).expect("an answer") {
        Ok(_) => Ok(()),
        Err(rejection) => Err(rejected(Err(rejection))),
    }
}

fn at(entry: u64) -> ExporterPosition {
    ExporterPosition {
        entry,
        record: entry * 10,
        timestamp: START,
    }
}

fn report(rig: &mut Rig, positions: &[(&str, u64)]) {
    let positions: Vec<_> = positions
        .iter()
        .map(|(id, entry)| ExporterValue {
            id: (*id).into(),
            is_enabled: true,
            position: at(*entry),
            metadata: vec![*entry as u8],
        })
        .collect();
    rig.engine(1).report_exported(START, &positions);
    rig.settle(1);
}

fn enable(id: &str, initialize_from: Option<&str>, end: u64) -> ExportingChange {
    ExportingChange::Enable {
        id: id.into(),
        initialize_from: initialize_from.map(Arc::from),
        end: at(end),
    }
}

fn exporter(rig: &mut Rig, id: &str) -> Option<ExporterValue> {
    rig.engine(1).state.exporting.value().exporter(id).cloned()
}

fn position(rig: &mut Rig, id: &str) -> u64 {
    exporter(rig, id).unwrap().position.entry
}

#[test]
fn positions_only_go_forward_and_an_unchanged_one_writes_nothing() {
    let mut rig = Rig::new();
    report(&mut rig, &[("a", 5), ("b", 2)]);
    report(&mut rig, &[("a", 4), ("b", 3)]);
    assert_eq!((position(&mut rig, "a"), position(&mut rig, "b")), (5, 3));
    report(&mut rig, &[("a", 5), ("b", 3)]);
    assert_eq!(rig.intents("EXPORTING"), ["CHANGED", "CHANGED"]);
}

#[test]
fn a_disabled_exporter_keeps_its_position_and_resumes_at_the_end_or_at_anothers() {
    let mut rig = Rig::new();
    report(&mut rig, &[("a", 5), ("b", 7)]);
    let disable = ExportingChange::Disable { id: "a".into() };
    change(&mut rig, disable.clone()).unwrap();
    report(&mut rig, &[("a", 9)]);
    assert_eq!(
        (
            exporter(&mut rig, "a").unwrap().is_enabled,
            position(&mut rig, "a")
        ),
        (false, 5)
    );
    change(&mut rig, enable("a", None, 20)).unwrap();
    assert_eq!(position(&mut rig, "a"), 20);
    change(&mut rig, disable).unwrap();
    change(&mut rig, enable("a", Some("b"), 20)).unwrap();
    assert_eq!(position(&mut rig, "a"), 7);
    assert_eq!(exporter(&mut rig, "a").unwrap().metadata, [7]);
    // It is already enabled: nothing changes.
    change(&mut rig, enable("a", None, 30)).unwrap();
    assert_eq!(position(&mut rig, "a"), 7);
}

#[test]
fn an_exporter_cannot_be_initialized_from_an_unknown_one() {
    let mut rig = Rig::new();
    let disable = ExportingChange::Disable { id: "a".into() };
    change(&mut rig, disable).unwrap();
    let (kind, reason) = change(&mut rig, enable("a", Some("other"), 1)).unwrap_err();
    assert_eq!(kind, "INVALID_ARGUMENT");
    assert!(reason.contains("'other'"), "{reason}");
    assert!(!exporter(&mut rig, "a").unwrap().is_enabled);
}

#[test]
fn a_deleted_exporter_is_gone_and_cannot_be_deleted_again() {
    let mut rig = Rig::new();
    report(&mut rig, &[("a", 5)]);
    let delete = ExportingChange::Delete { id: "a".into() };
    change(&mut rig, delete.clone()).unwrap();
    assert_eq!(exporter(&mut rig, "a"), None);
    assert_eq!(change(&mut rig, delete).unwrap_err().0, "NOT_FOUND");
}

#[test]
fn the_phase_stays_and_pausing_twice_is_fine() {
    let mut rig = Rig::new();
    for phase in [
        ExportingPhase::Paused,
        ExportingPhase::Paused,
        ExportingPhase::SoftPaused,
    ] {
        change(&mut rig, ExportingChange::Phase(phase)).unwrap();
        assert_eq!(rig.engine(1).state.exporting.value().phase, phase);
    }
    assert_eq!(rig.intents("EXPORTING"), ["CHANGED", "CHANGED"]);
}

#[test]
fn the_number_of_exporters_is_limited() {
    let mut rig = Rig::new();
    for n in 0..64 {
        report(&mut rig, &[(&format!("e{n}"), 1)]);
    }
    let disable = |id: &str| ExportingChange::Disable { id: id.into() };
    let (kind, reason) = change(&mut rig, disable("one more")).unwrap_err();
    assert_eq!(kind, "INVALID_STATE");
    assert!(reason.contains("64"), "{reason}");
    report(&mut rig, &[("one more", 1), ("e0", 2)]);
    assert_eq!(exporter(&mut rig, "one more"), None);
    assert_eq!(position(&mut rig, "e0"), 2);
    let delete = ExportingChange::Delete { id: "e1".into() };
    change(&mut rig, delete).unwrap();
    change(&mut rig, disable("one more")).unwrap();
}
