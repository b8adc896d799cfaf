//! Input cells with the results of the reference engine: `tests/oracle/decision-cells.jsonl`.

use skep_dmn::{Drg, Options};
use skep_feel::{EvalContext, Expression, JsonScope, Value};

use crate::support::{evaluate, table};

const CELLS: &str = include_str!("../../../../tests/oracle/decision-cells.jsonl");

/// Cells that the reference refuses and Skep accepts: newer versions of the standard include them (docs/differences.md).
const READ_HERE: [&str; 2] = ["!= 5", "= 5"];

/// A member of a line.
fn member(line: &JsonScope, name: &str) -> Value {
    let expression = Expression::parse(name).expect("a name");
    expression.evaluate(line, &EvalContext::default()).value
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        other => panic!("{other} is no list"),
    }
}

/// The model with this cell; `None` if it is refused.
fn deployed(cell: &str) -> Option<Drg> {
    let xml = table(
        r#"hitPolicy="COLLECT""#,
        r#"<output id="out" name="y"/>"#,
        &[&[cell, "true"]],
    );
    Drg::parse("model.dmn", xml.as_bytes(), &Options::default()).ok()
}

/// Deviations for a line, as `cell with variables: found`.
fn differences(line: &str) -> Vec<String> {
    let line = JsonScope::parse(line).expect("JSON");
    let cell = match member(&line, "cell") {
        Value::String(cell) => cell,
        other => panic!("{other} is no cell"),
    };
    let deploys = member(&line, "deploys").as_bool() == Some(true);
    let drg = match deployed(&cell) {
        Some(drg) if deploys => drg,
        None if deploys => return vec![format!("{cell}: refused")],
        Some(_) if !READ_HERE.contains(&&*cell) => return vec![format!("{cell}: deploys")],
        _ => return Vec::new(),
    };
    let cases = member(&line, "cases");
    let mut found = Vec::new();
    for case in items(&cases) {
        let [variables, expected] = items(case) else {
            panic!("{case} is no case");
        };
        let variables = variables.to_json();
        let matches = match evaluate(&drg, &variables) {
            Ok(result) => (!result.output.is_null()).to_string(),
            Err(_) => "\"fails\"".to_owned(),
        };
        if matches != expected.to_json() {
            found.push(format!("{cell} with {variables}: {matches}"));
        }
    }
    found
}

#[test]
fn every_cell_decides_as_in_the_reference() {
    let found: Vec<String> = CELLS.lines().flat_map(differences).collect();
    assert_eq!(CELLS.lines().count(), 151);
    assert!(
        found.is_empty(),
        "{} differ:\n{}",
        found.len(),
        found.join("\n")
    );
}
