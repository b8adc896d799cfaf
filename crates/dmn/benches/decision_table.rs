//! Decision tables with many rules.
//!
//! `cargo bench -p skep-dmn` (add `-- --quick` for a first look). The goal: 1 000 rules with 5 inputs in at
//! most 1 ms per evaluation.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use skep_dmn::{Drg, Options};
use skep_feel::{EvalContext, JsonScope};

/// A model with one table of 5 inputs; `cells` gives the input cells of a rule.
fn table(rules: usize, hit_policy: &str, cells: impl Fn(usize) -> [String; 5]) -> Drg {
    let mut xml = String::from(
        r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d" namespace="n"><decision id="t" name="t">"##,
    );
    let _ = write!(xml, "<decisionTable hitPolicy=\"{hit_policy}\">");
    for name in ["country", "amount", "age", "product", "vip"] {
        let _ = write!(
            xml,
            "<input id=\"{name}\"><inputExpression><text>{name}</text></inputExpression></input>"
        );
    }
    xml.push_str("<output id=\"o\" name=\"o\"/>");
    for rule in 0..rules {
        let _ = write!(xml, "<rule id=\"r{rule}\">");
        for cell in cells(rule) {
            let cell = cell.replace('<', "&lt;");
            let _ = write!(xml, "<inputEntry><text>{cell}</text></inputEntry>");
        }
        let _ = write!(xml, "<outputEntry><text>{rule}</text></outputEntry></rule>");
    }
    xml.push_str("</decisionTable></decision></definitions>");
    let options = Options {
        max_xml_bytes: 64 * 1024 * 1024,
        ..Options::default()
    };
    Drg::parse("bench.dmn", xml.as_bytes(), &options).expect("valid model")
}

fn evaluate(criterion: &mut Criterion) {
    let cx = EvalContext::default();
    let mut run = |name: &str, drg: &Drg, variables: &str, expected: &str| {
        let scope = JsonScope::parse(variables).expect("variables");
        let result = drg.evaluate("t", &scope, &cx).expect("a result");
        assert_eq!(result.output.to_json(), expected, "{name}");
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| drg.evaluate("t", black_box(&scope), &cx).map(|r| r.output));
        });
    };
    let last = r#"{"country": "C9", "amount": 9950, "age": 40, "product": "P999", "vip": true}"#;
    let constants = |rule: usize| {
        let from = rule / 10 * 100;
        [
            format!("\"C{}\", \"X\"", rule % 10),
            format!("[{from}..{})", from + 100),
            "> 18".to_owned(),
            format!("\"P{rule}\""),
            "-".to_owned(),
        ]
    };
    for rules in [10, 100, 1_000] {
        let drg = table(rules, "UNIQUE", constants);
        let at = rules - 1;
        let variables = format!(
            r#"{{"country": "C9", "amount": {}, "age": 40, "product": "P{at}", "vip": true}}"#,
            at / 10 * 100 + 50
        );
        run(
            &format!("{rules} rules x 5 inputs, constant cells"),
            &drg,
            &variables,
            &at.to_string(),
        );
    }
    let computed = |rule: usize| {
        let from = rule / 10 * 100;
        [
            format!("starts with(?, \"C{}\")", rule % 10),
            format!("? >= {from} and ? < {}", from + 100),
            "? > 18".to_owned(),
            format!("ends with(?, \"P{rule}\")"),
            "? = true".to_owned(),
        ]
    };
    let drg = table(1_000, "UNIQUE", computed);
    run("1000 rules x 5 inputs, computed cells", &drg, last, "999");
    // Only the last column narrows the choice: every cell is evaluated.
    let worst = |rule: usize| {
        [
            "starts with(?, \"C\")".to_owned(),
            "? >= 0".to_owned(),
            "? > 18".to_owned(),
            "starts with(?, \"P\")".to_owned(),
            format!("? = true and {rule} = 999"),
        ]
    };
    let drg = table(1_000, "UNIQUE", worst);
    run(
        "1000 rules x 5 inputs, every cell computed",
        &drg,
        last,
        "999",
    );
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
