//! Runs the specifications in `tests/spec/*.md`: every table whose first column is `expression` or `unary tests`.
//!
//! - `expression | result` or `expression | context | result`: the context is a JSON object.
//! - `unary tests | input | result` or `unary tests | input | context | result`: the input is an expression.
//!
//! A result is an expression in backticks, followed by the codes of the warnings, if there are any. A result `error at LINE:COLUMN text` is
//! a syntax error whose message contains the text. In a table `\|` is a bar. The current time is 2026-11-21T10:30:00Z, in Europe/Berlin.

use skep_feel::{
    EmptyScope, EvalContext, Evaluation, Expression, JsonScope, ParseError, UnaryTests, Zone,
};

fn cx() -> EvalContext {
    EvalContext {
        now_millis: 1_795_257_000_000,
        zone: Zone::named("Europe/Berlin").unwrap(),
        ..EvalContext::default()
    }
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let line = line.strip_suffix('|').unwrap_or(&line);
    line.split('|')
        .map(|cell| cell.trim().replace('\u{0}', "|"))
        .collect()
}

/// The text within backticks; one or two of them.
fn code(cell: &str) -> &str {
    for fence in ["``", "`"] {
        if let Some(rest) = cell.strip_prefix(fence)
            && let Some((inside, _)) = rest.split_once(fence)
        {
            return if fence.len() == 2 {
                inside.trim()
            } else {
                inside
            };
        }
    }
    cell
}

fn run(header: &[String], row: &[String]) -> Result<(), String> {
    let column = |name: &str| {
        header
            .iter()
            .position(|h| h == name)
            .and_then(|at| row.get(at))
            .map(|c| code(c))
    };
    let context = column("context").filter(|c| !c.is_empty()).unwrap_or("{}");
    let scope = JsonScope::parse(context).map_err(|error| format!("context: {error}"))?;
    let subject = code(&row[0]);
    let found: Result<Evaluation, ParseError> = if header[0] == "expression" {
        Expression::parse(subject).map(|expression| expression.evaluate(&scope, &cx()))
    } else {
        let input = column("input").ok_or("no input")?;
        let input = Expression::parse(input)
            .map_err(|error| format!("input: {error}"))?
            .evaluate(&EmptyScope, &cx())
            .value;
        UnaryTests::parse(subject).map(|tests| tests.evaluate(&input, &scope, &cx()))
    };
    let expected = row.last().ok_or("no result")?;
    if let Some(error) = expected.strip_prefix("error at ") {
        let (position, message) = error.split_once(' ').unwrap_or((error, ""));
        return match found {
            Err(e)
                if format!("{}:{}", e.line, e.column) == position
                    && e.message.contains(code(message)) =>
            {
                Ok(())
            }
            Err(e) => Err(format!("error at {}:{} {}", e.line, e.column, e.message)),
            Ok(evaluation) => Err(format!("{}, no error", evaluation.value)),
        };
    }
    let found = found.map_err(|error| error.to_string())?;
    let value = code(expected);
    let codes: Vec<&str> = expected
        .rsplit('`')
        .next()
        .unwrap_or("")
        .split([' ', ','])
        .filter(|w| !w.is_empty())
        .collect();
    let wanted = Expression::parse(value)
        .map_err(|error| format!("result: {error}"))?
        .evaluate(&EmptyScope, &cx())
        .value;
    let warned: Vec<&str> = found.warnings.iter().map(|w| w.code.as_str()).collect();
    if found.value.to_string() != wanted.to_string() {
        return Err(format!(
            "{}, not {wanted} {:?}",
            found.value, found.warnings
        ));
    }
    if warned != codes {
        return Err(format!("warnings {:?}, not {codes:?}", found.warnings));
    }
    Ok(())
}

#[test]
fn the_specifications_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spec");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let (mut rows, mut failures) = (0, Vec::new());
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "md"))
    {
        let text = std::fs::read_to_string(file).unwrap();
        let mut header: Option<Vec<String>> = None;
        for (number, line) in text.lines().enumerate() {
            if !line.starts_with('|') {
                header = None;
                continue;
            }
            let row = cells(line);
            match &header {
                None => header = Some(row),
                Some(_) if line.starts_with("|--") || line.starts_with("|:-") => {}
                Some(header) if header[0] == "expression" || header[0] == "unary tests" => {
                    rows += 1;
                    if row.len() != header.len() {
                        failures.push(format!(
                            "{}:{}: {} cells, not {}",
                            file.display(),
                            number + 1,
                            row.len(),
                            header.len()
                        ));
                    } else if let Err(message) = run(header, &row) {
                        failures.push(format!(
                            "{}:{}: {} is {message}",
                            file.display(),
                            number + 1,
                            row[0]
                        ));
                    }
                }
                Some(_) => {}
            }
        }
    }
    assert!(rows > 0, "no specifications in {folder}");
    assert!(
        failures.is_empty(),
        "{} of {rows} rows fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_builtin_is_specified() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spec");
    let all: String = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap())
        .collect();
    let missing: Vec<_> = skep_feel::functions()
        .into_iter()
        .filter(|f| !all.contains(&format!("{}(", f.name)))
        .map(|f| f.name)
        .collect();
    assert!(missing.is_empty(), "without a row: {missing:?}");
}
