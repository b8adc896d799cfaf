//! The table of BPMN that engines with this API execute (`tests/facts/bpmn.md`), checked row by row: every row has a case, every case has a
//! row, and each behaves as the table says.

mod elements;
mod events;
mod extensions;
mod places;
mod rules;

use std::collections::BTreeSet;

use skep_testkit::rig::*;

const FACTS: &str = include_str!("../../../../tests/facts/bpmn.md");

/// Variables that instances of all cases are played with.
const VARIABLES: &str = r#"{"b":3}"#;

/// The rows of the first table below this heading. An empty cell in the first column repeats the one above.
fn table(heading: &str) -> Vec<Vec<String>> {
    let (_, after) = FACTS.split_once(&format!("\n{heading}\n")).expect(heading);
    let lines = after.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|'));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let cells = line.trim_matches('|').split('|');
        let mut row: Vec<String> = cells.map(|cell| cell.trim().to_string()).collect();
        if let (true, Some(above)) = (row[0].is_empty(), rows.last()) {
            row[0].clone_from(&above[0]);
        }
        rows.push(row);
    }
    // The header and the separator line.
    rows.drain(..2);
    assert!(rows.len() > 2, "the table below '{heading}' has rows");
    rows
}

/// The parts of a cell between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Rows and cases have the same names.
#[track_caller]
fn assert_walked(rows: impl IntoIterator<Item = String>, cases: impl IntoIterator<Item = String>) {
    let rows: BTreeSet<String> = rows.into_iter().collect();
    let cases: BTreeSet<String> = cases.into_iter().collect();
    let without_case: Vec<_> = rows.difference(&cases).collect();
    let without_row: Vec<_> = cases.difference(&rows).collect();
    assert!(
        without_case.is_empty() && without_row.is_empty(),
        "rows without a case: {without_case:#?}, cases without a row: {without_row:#?}"
    );
}

/// A rig with the definitions that cases need.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.deploy(
        skep_model::builder::Bpmn::process("called")
            .start("s")
            .end("e"),
    );
    rig.deployed(vec![
        ("d.dmn", decision("drg", "d", "1 + 1")),
        ("f.form", r#"{"id":"f"}"#.to_string()),
        ("r.rpa", r#"{"id":"r"}"#.to_string()),
    ]);
    rig
}

/// A file around the content of `definitions`.
fn file(content: &str) -> String {
    format!(
        r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="definitions">{content}</bpmn:definitions>"#
    )
}

/// A process `p` with this content between its start `s` and its end `e`; the element under test has the id `x`.
fn between(x: &str) -> String {
    format!(
        r#"<bpmn:process id="p" isExecutable="true"><bpmn:startEvent id="s"/><bpmn:sequenceFlow id="s-x" sourceRef="s" targetRef="x"/>{x}<bpmn:sequenceFlow id="x-e" sourceRef="x" targetRef="e"/><bpmn:endEvent id="e"/></bpmn:process>"#
    )
}

/// Asserts that the model is refused with a finding on this element; an empty id matches any.
#[track_caller]
fn assert_refused(model: &str, element: &str, row: &str) {
    let answer = rig().deploy_files(vec![("case.bpmn", model.to_string())]);
    assert!(answer.is_err(), "{row} deploys:\n{model}");
    let (kind, reason) = rejected(answer);
    assert_eq!(kind, "INVALID_ARGUMENT", "{row}: {reason}");
    let named = element.is_empty() || reason.contains(&format!("Element: {element}"));
    assert!(named, "{row}: the finding names '{element}': {reason}");
}

/// Deploys the model, which must be accepted.
#[track_caller]
fn deployed(model: &str, row: &str) -> Rig {
    let mut rig = rig();
    let answer = rig.deploy_files(vec![("case.bpmn", model.to_string())]);
    assert!(answer.is_ok(), "{row}: {answer:?}\n{model}");
    rig
}

/// Deploys the model and plays an instance of `p` to its end.
#[track_caller]
fn played(model: &str, row: &str) -> Rig {
    let mut rig = deployed(model, row);
    let instance = rig.create("p", r#"{"b":0,"list":[1,2]}"#);
    to_the_end(&mut rig, row);
    rig.assert_completed(instance);
    rig
}

#[track_caller]
fn to_the_end(rig: &mut Rig, row: &str) {
    let left = rig.play(VARIABLES, 10);
    assert!(left.is_empty(), "{row} waits: {:#?}", rig.life(left[0]));
}
