//! The crate never panics, whatever the files and variables.

use std::sync::OnceLock;

use proptest::prelude::*;
use skep_dmn::{Dialect, Drg, Options};
use skep_feel::{EvalContext, JsonScope, Limits};

use crate::support::{decision, definitions, literal, table};

fn models() -> &'static [String] {
    static MODELS: OnceLock<Vec<String>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let output = r#"<output id="o" name="o"><outputValues><text>1,2</text></outputValues><defaultOutputEntry><text>x</text></defaultOutputEntry></output>"#;
        let rows: &[&[&str]] = &[&["< 5, [7..9]", "x * 2"], &["not(\"a\")", "2"], &["? = y", "3"]];
        let mut models: Vec<String> = [
            "hitPolicy=\"COLLECT\" aggregation=\"SUM\"",
            "hitPolicy=\"OUTPUT ORDER\"",
            "hitPolicy=\"ANY\"",
        ]
        .iter()
        .map(|attributes| table(attributes, output, rows))
        .collect();
        models.push(definitions(&format!(
            r##"<itemDefinition name="t" isCollection="true"><typeRef>number</typeRef></itemDefinition>
            <inputData id="in" name="x"><variable name="x" typeRef="t"/></inputData>
            <businessKnowledgeModel id="k" name="f"><encapsulatedLogic><formalParameter name="n" typeRef="t"/>{}</encapsulatedLogic></businessKnowledgeModel>
            <decision id="a" name="a"><informationRequirement><requiredInput href="#in"/></informationRequirement>{}</decision>
            <decision id="d" name="d"><variable name="d" typeRef="t"/><informationRequirement><requiredDecision href="#a"/></informationRequirement>
            <knowledgeRequirement><requiredKnowledge href="#k"/></knowledgeRequirement>
            <context><contextEntry><variable name="r"/><relation><column name="c"/><row>{}</row></relation></contextEntry>
            <contextEntry><variable name="i"/><invocation>{}<binding><parameter name="n"/>{}</binding></invocation></contextEntry>
            <contextEntry><for iteratorVariable="v"><in>{}</in><return>{}</return></for></contextEntry></context></decision>
            <decisionService id="s" name="s"><outputDecision href="#d"/><inputData href="#in"/></decisionService>"##,
            literal("n + 1"),
            literal("x"),
            literal("f(a)"),
            literal("f"),
            literal("a"),
            literal("r"),
            literal("[v.c, partial, f]")
        )));
        models.push(decision(&format!(
            "<conditional><if>{}</if><then><filter><in>{}</in><match>{}</match></filter></then><else><every iteratorVariable=\"i\"><in>{}</in><satisfies>{}</satisfies></every></else></conditional>",
            literal("x > 1"),
            literal("[1..x]"),
            literal("item > y"),
            literal("x"),
            literal("i = y")
        )));
        models
    })
}

/// Parses in both dialects, and evaluates every decision when that succeeds.
fn run(xml: &[u8], variables: &JsonScope) -> usize {
    let cx = EvalContext {
        limits: Limits {
            max_steps: 20_000,
            max_memory: 1 << 20,
            ..Limits::default()
        },
        ..EvalContext::default()
    };
    let mut evaluated = 0;
    for dialect in [Dialect::Camunda, Dialect::Standard] {
        let options = Options {
            dialect,
            ..Options::default()
        };
        let Ok(drg) = Drg::parse("m.dmn", xml, &options) else {
            continue;
        };
        for decision in drg.decisions() {
            match drg.evaluate(decision.id(), variables, &cx) {
                Ok(result) => assert!(!result.evaluated.is_empty()),
                Err(failure) => assert!(failure.message.starts_with("Expected to evaluate")),
            }
            evaluated += 1;
        }
    }
    evaluated
}

fn variables() -> impl Strategy<Value = JsonScope> {
    let value = prop_oneof![
        Just("null"),
        Just("1"),
        Just("-7.5"),
        Just("\"a\""),
        Just("true"),
        Just("[1, \"b\"]"),
        Just("{\"c\": 1}"),
        Just("\"2024-01-01\""),
    ];
    (value.clone(), value).prop_map(|(x, y)| {
        JsonScope::parse(&format!(r#"{{"x": {x}, "y": {y}}}"#)).expect("variables")
    })
}

#[test]
fn the_models_are_valid_as_they_are() {
    let scope = JsonScope::parse("{}").expect("variables");
    for model in models() {
        assert!(run(model.as_bytes(), &scope) >= 2, "{model}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_variables_do_not_panic(model in 0usize..5, variables in variables()) {
        run(models()[model].as_bytes(), &variables);
    }

    #[test]
    fn changed_bytes_do_not_panic(
        model in 0usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        variables in variables(),
    ) {
        let mut xml = models()[model].clone().into_bytes();
        for (index, byte) in changes {
            let at = index.index(xml.len());
            xml[at] = byte;
        }
        run(&xml, &variables);
    }

    #[test]
    fn removed_doubled_and_moved_parts_do_not_panic(
        model in 0usize..5,
        from in any::<prop::sample::Index>(),
        length in 1usize..200,
        to in any::<prop::sample::Index>(),
        keep in any::<bool>(),
        variables in variables(),
    ) {
        // Whole tags are moved, so that much of it stays well-formed.
        let mut parts: Vec<String> = models()[model].split_inclusive('>').map(str::to_owned).collect();
        let start = from.index(parts.len());
        let end = (start + length % 6 + 1).min(parts.len());
        let moved = parts[start..end].to_vec();
        if !keep {
            parts.drain(start..end);
        }
        let at = to.index(parts.len() + 1);
        parts.splice(at..at, moved);
        run(parts.concat().as_bytes(), &variables);
    }

    #[test]
    fn exchanged_words_do_not_panic(
        model in 0usize..5,
        word in prop::sample::select(vec!["x", "f", "#a", "#in", "#k", "t", "number", "d", "UNIQUE", "1", "in", "list"]),
        other in prop::sample::select(vec!["x", "f(f)", "#a", "#in", "#k", "#d", "t", "string", "", "-", "f", "for"]),
        variables in variables(),
    ) {
        let xml = models()[model].replace(&format!(">{word}<"), &format!(">{other}<"))
            .replace(&format!("\"{word}\""), &format!("\"{other}\""));
        run(xml.as_bytes(), &variables);
    }
}

#[test]
fn all_cells_of_a_decision_share_one_budget() {
    // Each cell stays far below the limit; all of them together would take a hundred times as long.
    let cell = "(some i in 1..20000 satisfies i = -1) or ? = 7";
    let rules: Vec<Vec<&str>> = (0..5_000).map(|_| vec![cell, "1"]).collect();
    let rows: Vec<&[&str]> = rules.iter().map(Vec::as_slice).collect();
    let xml = table(
        r#"hitPolicy="COLLECT""#,
        r#"<output id="o" name="y"/>"#,
        &rows,
    );
    let drg = Drg::parse("m.dmn", xml.as_bytes(), &Options::default()).expect("valid");
    let scope = JsonScope::parse(r#"{"x": 1}"#).expect("variables");
    let failure = drg
        .evaluate("d", &scope, &EvalContext::default())
        .expect_err("too much work");
    assert!(failure.message.contains("steps"), "{}", failure.message);
}

/// A boxed iteration that nests its previous results: bounded in depth, so that dropping it is, too.
#[test]
fn boxed_values_do_not_grow_deep() {
    let xml = decision(&format!(
        "<for iteratorVariable=\"i\"><in>{}</in><return><context><contextEntry><variable name=\"a\"/>{}</contextEntry></context></return></for>",
        literal("[1..100000]"),
        literal("partial[-1]")
    ));
    let drg = Drg::parse("m.dmn", xml.as_bytes(), &Options::default()).expect("valid");
    let scope = JsonScope::parse("{}").expect("variables");
    let failure = drg
        .evaluate("d", &scope, &EvalContext::default())
        .expect_err("too deep");
    assert!(failure.message.contains("more than"), "{}", failure.message);
}
