//! Compares results with those of the reference engine, recorded in `tests/reference/` (see its README).
//!
//! Every cell of `cells.tsv` has to be met, except for those that `differences.md` lists with a reason. A listed
//! difference that is none any more fails as well, so that the list stays true.

use std::collections::HashMap;
use std::fmt::Write;

use skep_feel::{EmptyScope, EvalContext, Expression, Zone};

const CELLS: &str = include_str!("reference/cells.tsv");
const DIFFERENCES: &str = include_str!("reference/differences.md");

/// The result as the recording has it: the text of a list of it, which shows the type, or `refused`.
fn result(expression: &str, cx: &EvalContext) -> String {
    if Expression::parse(expression).is_err() {
        return "refused".to_owned();
    }
    let wrapped = format!("string([{expression}])");
    match Expression::parse(&wrapped) {
        Ok(wrapped) => {
            let value = wrapped.evaluate(&EmptyScope, cx).value;
            value.as_str().unwrap_or("null").replace('\n', "\\n")
        }
        Err(_) => "refused".to_owned(),
    }
}

/// The listed differences: expression → result of Skep. Their reasons are the headings.
fn listed() -> HashMap<&'static str, &'static str> {
    DIFFERENCES
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once('\t'))
        .collect()
}

#[test]
fn results_are_those_of_the_reference_engine() {
    let cx = EvalContext {
        now_millis: 1_795_257_000_000,
        zone: Zone::UTC,
        ..EvalContext::default()
    };
    let mut listed = listed();
    let (mut cells, mut mismatches) = (0, String::new());
    let mut count = 0;
    for line in CELLS.lines() {
        let (expression, wanted) = line.split_once('\t').expect(line);
        cells += 1;
        let found = result(expression, &cx);
        let known = listed.remove(expression);
        let problem = match known {
            _ if found == wanted && known.is_none() => continue,
            Some(known) if found == known && found != wanted => continue,
            Some(_) if found == wanted => "is listed as a difference and is none",
            Some(_) => "is listed as a difference with another result",
            None => "differs from the reference",
        };
        count += 1;
        let _ = writeln!(
            mismatches,
            "{expression}\t{problem}: {found}, the reference {wanted}"
        );
    }
    for expression in listed.keys() {
        count += 1;
        let _ = writeln!(
            mismatches,
            "{expression}\tis listed as a difference and no cell"
        );
    }
    assert!(cells > 3000, "only {cells} cells");
    assert!(count == 0, "{count} of {cells} cells:\n{mismatches}");
}
