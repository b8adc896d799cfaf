//! Reads a file of test cases as a whole, or refuses it with the source of each mistake.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::instruction::{Instruction, NAMES};
use crate::cli::near::nearest;

/// Maximum size of a file, in bytes.
pub const MAX_FILE: u64 = 4 << 20;
/// Maximum number of instructions in a test case.
pub const MAX_INSTRUCTIONS: usize = 1000;

#[derive(Debug)]
pub struct TestFile {
    pub path: PathBuf,
    pub cases: Vec<TestCase>,
}

#[derive(Debug)]
pub struct TestCase {
    pub name: String,
    pub instructions: Vec<Placed>,
}

/// An instruction with the line on which it begins.
#[derive(Debug)]
pub struct Placed {
    pub line: usize,
    pub instruction: Instruction,
}

#[derive(Deserialize)]
struct FileText<'a> {
    #[serde(borrow, rename = "testCases")]
    test_cases: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct CaseText<'a> {
    name: String,
    #[serde(default, deserialize_with = "super::instruction::given")]
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(borrow)]
    instructions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct TypeOnly {
    r#type: String,
}

/// Reads the test cases of a text, or returns all its mistakes, one per line.
pub fn read(path: &Path, text: &str) -> Result<TestFile, Vec<String>> {
    let source = Source { path, text };
    let file: FileText = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(why) => return Err(vec![source.says(text, &why, "")]),
    };
    let mut findings = Vec::new();
    let mut cases = Vec::new();
    for raw in &file.test_cases {
        match case(&source, raw.get()) {
            Ok(case) => cases.push(case),
            Err(found) => findings.extend(found),
        }
    }
    if findings.is_empty() {
        Ok(TestFile {
            path: path.to_path_buf(),
            cases,
        })
    } else {
        Err(findings)
    }
}

fn case(source: &Source<'_>, text: &str) -> Result<TestCase, Vec<String>> {
    let case: CaseText = match serde_json::from_str(text) {
        Ok(case) => case,
        Err(why) => return Err(vec![source.says(text, &why, "")]),
    };
    let count = case.instructions.len();
    if count > MAX_INSTRUCTIONS {
        let line = source.line(text);
        return Err(vec![format!(
            "{}:{line}: test case '{}' has {count} instructions, the limit is {MAX_INSTRUCTIONS}",
            source.path.display(),
            case.name
        )]);
    }
    let mut findings = Vec::new();
    let mut instructions = Vec::new();
    for (number, raw) in case.instructions.iter().enumerate() {
        match instruction(raw.get()) {
            Ok(instruction) => instructions.push(Placed {
                line: source.line(raw.get()),
                instruction,
            }),
            Err((name, why)) => {
                let of = format!(
                    "test case '{}', instruction {}{}: ",
                    case.name,
                    number + 1,
                    name.map(|name| format!(" ({name})")).unwrap_or_default()
                );
                findings.push(match why {
                    Why::Json(why) => source.says(raw.get(), &why, &of),
                    Why::Text(why) => {
                        let line = source.line(raw.get());
                        format!("{}:{line}: {of}{why}", source.path.display())
                    }
                });
            }
        }
    }
    if findings.is_empty() {
        Ok(TestCase {
            name: case.name,
            instructions,
        })
    } else {
        Err(findings)
    }
}

enum Why {
    Json(serde_json::Error),
    Text(String),
}

fn instruction(text: &str) -> Result<Instruction, (Option<String>, Why)> {
    let only: TypeOnly = serde_json::from_str(text).map_err(|why| (None, Why::Json(why)))?;
    let name = only.r#type;
    match Instruction::read(&name, text) {
        Some(Ok(instruction)) => Ok(instruction),
        Some(Err(why)) => Err((Some(name), Why::Json(why))),
        None => {
            let near = nearest(&name, NAMES.iter().copied());
            let near = near.map(|near| format!("; is it {near}?"));
            let text = format!(
                "there is no instruction of type '{name}'{}",
                near.unwrap_or_default()
            );
            Err((None, Why::Text(text)))
        }
    }
}

struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    /// The text before `part`, which is a slice of it.
    fn before(&self, part: &str) -> &str {
        let at = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.text.get(..at).unwrap_or_default()
    }

    fn line(&self, part: &str) -> usize {
        self.before(part).matches('\n').count() + 1
    }

    /// A finding within a part of the text.
    fn says(&self, part: &str, why: &serde_json::Error, of: &str) -> String {
        let before = self.before(part);
        let start = before.rsplit('\n').next().unwrap_or_default();
        let line = self.line(part) + why.line().saturating_sub(1);
        let column = match why.line() {
            0 | 1 => start.chars().count() + why.column(),
            _ => why.column(),
        };
        let said = why.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        format!("{}:{line}:{column}: {of}{said}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        read(Path::new("a.json"), text).expect_err("must be refused")
    }

    #[test]
    fn errors_in_a_test_file_are_shown_with_their_line() {
        let text = r#"{"testCases": [
  {"name": "one", "instructions": [
    {"type": "COMPLETE_JOBB"},
    {"type": "COMPLETE_JOB",
     "jobSelector": {"jobType": "a"}, "variables": 3},
    {"type": "SET_TIME", "time": "soon"},
    {"type": "COMPLETE_JOB"}, {"no": 1}
  ]},
  {"instructions": []}
]}"#;
        assert_eq!(
            findings(text),
            [
                "a.json:3: test case 'one', instruction 1: there is no instruction of type 'COMPLETE_JOBB'; is it COMPLETE_JOB?",
                "a.json:5:52: test case 'one', instruction 2 (COMPLETE_JOB): invalid type: integer `3`, expected a map",
                "a.json:6:40: test case 'one', instruction 3 (SET_TIME): 'soon' is not an ISO 8601 time, as in 2026-01-19T13:00:00Z",
                "a.json:7:28: test case 'one', instruction 4 (COMPLETE_JOB): missing field `jobSelector`",
                "a.json:7:39: test case 'one', instruction 5: missing field `type`",
                "a.json:9:22: missing field `name`",
            ]
        );
        assert_eq!(findings("{}"), ["a.json:1:2: missing field `testCases`"]);
        assert!(findings("{").first().unwrap().starts_with("a.json:1:1: "));
    }

    #[test]
    fn other_members_of_files_and_cases_are_allowed() {
        let text = r#"{"$schema": "x", "testCases": [{"name": "n", "description": "d", "by": "me", "instructions": []}]}"#;
        let file = read(Path::new("a.json"), text).unwrap();
        assert_eq!(file.cases.first().unwrap().name, "n");
    }

    #[test]
    fn a_case_has_a_bounded_number_of_instructions() {
        let one = r#"{"type": "INCREASE_TIME", "duration": "PT1S"}"#;
        let many = vec![one; MAX_INSTRUCTIONS + 1].join(",");
        let found = findings(&format!(
            r#"{{"testCases": [{{"name": "n", "instructions": [{many}]}}]}}"#
        ));
        assert!(found.first().unwrap().contains("the limit is 1000"));
    }
}
