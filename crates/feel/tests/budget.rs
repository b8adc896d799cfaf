//! Steps stand for time, and memory for memory: what an evaluation does is counted, wherever it is done.

use std::sync::Arc;

use skep_feel::{
    EmptyScope, EvalContext, Evaluation, Expression, Function, JsonScope, Limits, MapScope, Scope,
    Value, WarningCode,
};

fn with(limits: Limits) -> EvalContext {
    EvalContext {
        limits,
        ..EvalContext::default()
    }
}

fn run(text: &str, scope: &dyn Scope, limits: Limits) -> Evaluation {
    Expression::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .evaluate(scope, &with(limits))
}

fn is_limited(evaluation: &Evaluation) -> bool {
    let last = evaluation.warnings.last().map(|warning| warning.code);
    last == Some(WarningCode::LimitExceeded)
}

#[test]
fn a_type_check_looks_at_items_and_that_is_work() {
    let text = "{l: for i in 1..100000 return i, \
                r: some k in 1..1000000 satisfies not(l instance of list<number>)}.r";
    let evaluation = run(text, &EmptyScope, Limits::default());
    assert!(is_limited(&evaluation), "{evaluation:?}");
}

#[test]
fn an_evaluation_says_what_it_took() {
    let steps = |text: &str| run(text, &EmptyScope, Limits::default()).steps;
    assert_eq!(steps("17"), 0);
    let (ten, thousand) = (
        steps("for i in 1..10 return i"),
        steps("for i in 1..1000 return i"),
    );
    assert!(ten > 10 && thousand > 50 * ten, "{ten}, {thousand}");
    let given_up = run(
        "for i in 1..1000000 return i",
        &EmptyScope,
        Limits {
            max_steps: 1_000,
            ..Limits::default()
        },
    );
    assert!(is_limited(&given_up));
    assert!((1_000..2_000).contains(&given_up.steps), "{given_up:?}");
}

#[test]
fn functions_of_the_host_spend_the_steps_of_their_caller() {
    let inner = Expression::parse("count(for i in 1..1000 return i)").unwrap();
    let host = move |_: &[Value], cx: &EvalContext| inner.evaluate(&EmptyScope, cx);
    let function = Function::host(Vec::new(), Arc::new(host));
    let scope = MapScope([("f".to_owned(), Value::Function(Arc::new(function)))].into());
    let once = run("f()", &scope, Limits::default());
    assert!(once.steps > 1_000, "{once:?}");
    let often = run("for i in 1..1000000 return f()", &scope, Limits::default());
    assert!(is_limited(&often), "{often:?}");
}

#[test]
fn memory_is_what_is_held_at_one_time() {
    let limits = Limits {
        max_memory: 1 << 20,
        ..Limits::default()
    };
    let megabytes = "for i in 1..100000 return string(i) + \"0123456789012345678901234567890\"";
    assert!(is_limited(&run(megabytes, &EmptyScope, limits)));
    // Made and dropped again, turn by turn.
    for text in [
        "some i in 1..100000 satisfies string(i) = \"x\"",
        "count((1..3)[string(item) = \"x\"])",
        "{f: function(n) string length(string(n) + \"0123456789\"), r: every i in 1..20000 satisfies f(i) > 0}.r",
    ] {
        let evaluation = run(text, &EmptyScope, limits);
        assert!(!is_limited(&evaluation), "{text}: {evaluation:?}");
    }
}

#[test]
fn small_json_that_becomes_large_values_is_given_up_while_it_is_read() {
    let json = format!("{{\"x\": [{}[]]}}", "[],".repeat(100_000));
    let scope = JsonScope::parse(&json).unwrap();
    let limits = Limits {
        max_memory: 4 << 20,
        ..Limits::default()
    };
    assert!(is_limited(&run("count(x)", &scope, limits)));
    assert!(is_limited(&run(
        "count(from json(t))",
        &MapScope([("t".to_owned(), Value::from(json))].into()),
        limits
    )));
    assert_eq!(
        run("count(x)", &scope, Limits::default()).value,
        Value::from(100_001)
    );
}

#[test]
fn json_is_written_up_to_a_size() {
    let value = run(
        "{a: \"0123456789\", b: [a, a, a]}",
        &EmptyScope,
        Limits::default(),
    )
    .value;
    let text = value.to_json();
    assert_eq!(value.to_json_within(text.len() as u64), Some(text.clone()));
    assert_eq!(value.to_json_within(text.len() as u64 - 1), None);
}
