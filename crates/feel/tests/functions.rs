//! Every builtin has a documented example that is true.

use skep_feel::{EmptyScope, EvalContext, Expression, functions};

fn evaluate(text: &str) -> skep_feel::Evaluation {
    Expression::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .evaluate(&EmptyScope, &EvalContext::default())
}

#[test]
fn the_example_of_every_builtin_yields_its_result() {
    let mut failures = Vec::new();
    for function in functions() {
        let (found, expected) = (evaluate(function.example), evaluate(function.result));
        if found.value.to_string() != expected.value.to_string() || !found.warnings.is_empty() {
            failures.push(format!(
                "{} = {} {:?}, not {}",
                function.example, found.value, found.warnings, expected.value
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
