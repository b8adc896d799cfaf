//! Models with the results of the reference engine: `tests/reference/cells.tsv` (see its README).

use std::fmt::Write;

use skep_dmn::{Drg, Options};
use skep_feel::{EvalContext, JsonScope, Value};

const CELLS: &str = include_str!("../reference/cells.tsv");

/// Results that differ on purpose: model, variables, result of Skep and the reason.
const DIFFERENCES: [(&str, &str, &str, &str); 0] = [];

/// The output, or `fails`: at the deployment or in the evaluation.
fn result(id: &str, xml: &str, variables: &str) -> Result<Value, String> {
    let drg = Drg::parse("model.dmn", xml.as_bytes(), &Options::default())
        .map_err(|invalid| invalid.to_string())?;
    let scope = JsonScope::parse(variables).expect("variables");
    match drg.evaluate(id, &scope, &EvalContext::default()) {
        Ok(result) => Ok(Value::from_json(&result.output.to_json()).expect("JSON")),
        Err(failure) => Err(failure.message),
    }
}

#[test]
fn models_give_the_results_of_the_reference_engine() {
    let (mut id, mut xml) = ("", "");
    let (mut cells, mut mismatches) = (0, String::new());
    let mut unused = DIFFERENCES.to_vec();
    for line in CELLS.lines() {
        let Some(cell) = line.strip_prefix('\t') else {
            (id, xml) = line.split_once('\t').expect("a model");
            continue;
        };
        let (variables, wanted) = cell.split_once('\t').expect("a cell");
        cells += 1;
        let found = result(id, xml, variables);
        let same = match &found {
            Ok(value) => Value::from_json(wanted).is_ok_and(|wanted| *value == wanted),
            Err(_) => wanted == "fails",
        };
        let text = found.map_or_else(|message| message, |value| value.to_json());
        let listed = unused
            .iter()
            .position(|(model, given, _, _)| *model == id && *given == variables);
        let known = listed.map(|at| unused.remove(at));
        match known {
            None if same => {}
            Some((_, _, value, _)) if !same && value == text => {}
            _ => {
                let _ = writeln!(
                    mismatches,
                    "{id} {variables}: {text}, the reference {wanted}"
                );
            }
        }
    }
    assert!(cells > 500, "only {cells} cells");
    assert!(unused.is_empty(), "listed, and no cells: {unused:?}");
    assert!(mismatches.is_empty(), "of {cells} cells:\n{mismatches}");
}
