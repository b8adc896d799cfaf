//! Test results: a line for each test case, with the reason if it failed.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::wait::Wrong;
use crate::cli::colour;

/// Result of one test case.
pub struct Outcome {
    pub name: String,
    pub took: Duration,
    pub failure: Option<Failure>,
}

/// The failed instruction, and the state of affairs at that time.
pub struct Failure {
    /// Its number, from 1.
    pub number: usize,
    pub count: usize,
    pub line: usize,
    pub instruction: &'static str,
    pub wrong: Wrong,
    pub state: String,
}

/// Results of the test cases of a file, in their order.
pub struct FileOutcome {
    pub file: String,
    pub cases: Vec<Outcome>,
}

/// A result as text.
pub fn text(outcome: &Outcome, coloured: bool) -> String {
    let word = match (&outcome.failure, coloured) {
        (None, false) => "passed".to_string(),
        (None, true) => colour::good("passed"),
        (Some(_), false) => "FAILED".to_string(),
        (Some(_), true) => colour::alarm("FAILED"),
    };
    let seconds = outcome.took.as_secs_f64();
    let mut text = format!("  {word}  {} ({seconds:.2} s)\n", outcome.name);
    if let Some(failure) = &outcome.failure {
        let _ = writeln!(
            text,
            "    instruction {} of {}, line {}: {}",
            failure.number, failure.count, failure.line, failure.instruction
        );
        match &failure.wrong {
            Wrong::Found { expected, found } => {
                let _ = writeln!(text, "    expected: {expected}\n    found:    {found}");
            }
            Wrong::Refused(why) => {
                let _ = writeln!(
                    text,
                    "    refused:  {}",
                    why.replace('\n', "\n              ")
                );
            }
        }
        for line in failure.state.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// The results as JSON.
pub fn json(files: &[FileOutcome]) -> Value {
    let (passed, failed) = counts(files);
    let files = files.iter().map(|file| {
        let cases = file.cases.iter().map(case);
        json!({"file": file.file, "testCases": cases.collect::<Vec<_>>()})
    });
    json!({"passed": passed, "failed": failed, "files": files.collect::<Vec<_>>()})
}

fn case(outcome: &Outcome) -> Value {
    let mut case = json!({
        "name": outcome.name,
        "state": match outcome.failure {
            None => "PASSED",
            Some(_) => "FAILED",
        },
        "millis": outcome.took.as_millis() as u64,
    });
    if let (Some(failure), Some(case)) = (&outcome.failure, case.as_object_mut()) {
        let mut said = json!({
            "instruction": failure.number,
            "type": failure.instruction,
            "line": failure.line,
            "processInstances": failure.state,
        });
        if let Some(said) = said.as_object_mut() {
            match &failure.wrong {
                Wrong::Found { expected, found } => {
                    said.insert("expected".into(), expected.as_str().into());
                    said.insert("found".into(), found.as_str().into());
                }
                Wrong::Refused(why) => {
                    said.insert("refused".into(), why.as_str().into());
                }
            }
        }
        case.insert("failure".into(), said);
    }
    case
}

/// Numbers of passed and failed cases.
pub fn counts(files: &[FileOutcome]) -> (usize, usize) {
    let all = files.iter().flat_map(|file| &file.cases);
    let failed = all.clone().filter(|case| case.failure.is_some()).count();
    (all.count() - failed, failed)
}
