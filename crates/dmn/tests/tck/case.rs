//! One test file: its model, its cases, and their expected results.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use roxmltree::Node;
use skep_dmn::{Dialect, Drg, Options};
use skep_feel::{
    ContextBuilder, Date, DateTime, DayTimeDuration, EvalContext, MapScope, Time, Value,
    YearMonthDuration,
};

pub struct CaseResult {
    /// `compliance-level-2/folder/file/case`
    pub name: String,
    pub failure: Option<String>,
}

pub fn run_file(root: &Path, file: &Path) -> Vec<CaseResult> {
    let text = fs::read_to_string(file).expect("test file");
    let document = roxmltree::Document::parse(&text).expect("test file is XML");
    let tests = document.root_element();
    let model = child(tests, "modelName")
        .and_then(|n| n.text())
        .expect("modelName");
    let folder = file.parent().expect("folder");
    let xml = fs::read(folder.join(model.trim())).expect("model");
    let options = Options {
        dialect: Dialect::Standard,
        ..Options::default()
    };
    let drg = Drg::parse(model, &xml, &options).map_err(|invalid| invalid.to_string());
    let prefix = file
        .strip_prefix(root)
        .expect("below the root")
        .with_extension("");
    tests
        .children()
        .filter(|node| node.has_tag_name((tests.tag_name().namespace().unwrap_or(""), "testCase")))
        .map(|case| CaseResult {
            name: format!(
                "{}/{}",
                prefix.display(),
                case.attribute("id").unwrap_or("")
            ),
            failure: match &drg {
                Ok(drg) => run_case(drg, case).err(),
                Err(invalid) => Some(format!("the model is refused: {invalid}")),
            },
        })
        .collect()
}

fn run_case(drg: &Drg, case: Node<'_, '_>) -> Result<(), String> {
    let mut scope = MapScope::default();
    for input in children(case, "inputNode") {
        let name = input.attribute("name").unwrap_or("").to_owned();
        scope.0.insert(name, value(input)?);
    }
    let cx = EvalContext {
        now_millis: 1_700_000_000_000,
        ..EvalContext::default()
    };
    for result in children(case, "resultNode") {
        let name = result.attribute("name").unwrap_or("");
        let outcome = if case.attribute("type") == Some("decisionService") {
            let service = case.attribute("invocableName").unwrap_or(name);
            drg.evaluate_service(service, &scope, &cx)
                .map_err(|failure| failure.to_string())
        } else {
            let decision = drg
                .decisions()
                .iter()
                .find(|decision| decision.name() == name)
                .ok_or_else(|| format!("no decision '{name}'"))?;
            drg.evaluate(decision.id(), &scope, &cx)
                .map(|result| result.output)
                .map_err(|failure| failure.to_string())
        };
        let expected = child(result, "expected").map_or(Ok(Value::Null), value)?;
        let error_expected = result.attribute("errorResult") == Some("true");
        match outcome {
            Ok(value) if matches(&value, &expected) => {}
            Err(_) if error_expected => {}
            Ok(value) => return Err(format!("{name}: expected {expected:?}, got {value:?}")),
            Err(failure) => {
                return Err(format!("{name}: expected {expected:?}, failed: {failure}"));
            }
        }
    }
    Ok(())
}

/// Numbers are compared up to the eighth digit, as in the kit for results of division and roots.
fn matches(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.to_f64(), b.to_f64());
            a == b || (a - b).abs() <= 1e-8 * b.abs().max(1.0)
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| matches(a, b))
        }
        (Value::Context(a), Value::Context(b)) => {
            a.len() == b.len()
                && b.entries()
                    .iter()
                    .all(|(key, expected)| a.get(key).is_some_and(|value| matches(value, expected)))
        }
        // Values of one type with and without zone cannot be compared, but differ.
        _ => value.type_name() == expected.type_name() && value == expected,
    }
}

fn children<'a, 'x>(node: Node<'a, 'x>, name: &'static str) -> impl Iterator<Item = Node<'a, 'x>> {
    node.children()
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'a, 'x>(node: Node<'a, 'x>, name: &'static str) -> Option<Node<'a, 'x>> {
    children(node, name).next()
}

/// The value inside of a node: `value`, `list` or `component`s.
fn value(node: Node<'_, '_>) -> Result<Value, String> {
    if let Some(list) = child(node, "list") {
        let items: Result<Vec<Value>, String> = children(list, "item").map(value).collect();
        return Ok(Value::list(items?));
    }
    if child(node, "component").is_some() {
        let mut context = ContextBuilder::new();
        for component in children(node, "component") {
            let name = component.attribute("name").unwrap_or("");
            context.put(Arc::from(name), value(component)?);
        }
        return Ok(Value::Context(context.build()));
    }
    match child(node, "value") {
        Some(simple) => scalar(simple),
        None => Ok(Value::Null),
    }
}

fn scalar(node: Node<'_, '_>) -> Result<Value, String> {
    const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
    let nil = node.attribute((XSI, "nil"));
    if nil == Some("true") {
        return Ok(Value::Null);
    }
    let text = node.text().unwrap_or("");
    let kind = node.attribute((XSI, "type")).unwrap_or("");
    let kind = kind.rsplit(':').next().unwrap_or("");
    let parsed = match kind {
        "string" => Some(Value::from(text)),
        "boolean" => match text.trim() {
            "true" | "1" => Some(Value::Boolean(true)),
            "false" | "0" => Some(Value::Boolean(false)),
            _ => None,
        },
        "decimal" | "double" | "integer" => text.trim().parse().ok().map(Value::Number),
        "date" => Date::parse(text).map(Value::Date),
        "time" => Time::parse(text).map(Value::from),
        "dateTime" => DateTime::parse(text).map(Value::from),
        "duration" => DayTimeDuration::parse(text)
            .map(Value::DayTimeDuration)
            .or_else(|| YearMonthDuration::parse(text).map(Value::YearMonthDuration)),
        // A value without a type: the kit's tools take its text.
        "" => Some(Value::from(text)),
        _ => None,
    };
    parsed.ok_or_else(|| format!("the test data has an unreadable value '{text}' of type '{kind}'"))
}
