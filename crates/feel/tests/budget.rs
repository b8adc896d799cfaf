//! Steps represent time, and the memory limit covers memory: all work of an evaluation is counted, wherever it is done.

#[path = "support/expensive.rs"]
mod expensive;

use std::sync::Arc;

use expensive::{EXPENSIVE, variables};
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
fn an_evaluation_reports_its_steps() {
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
    assert_eq!(given_up.steps, 1_000);
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
fn only_memory_held_at_the_same_time_counts() {
    let limits = Limits {
        max_memory: 1 << 20,
        ..Limits::default()
    };
    let megabytes = "for i in 1..100000 return string(i) + \"0123456789012345678901234567890\"";
    assert!(is_limited(&run(megabytes, &EmptyScope, limits)));
    // Created and dropped again in each iteration.
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

/// Each operation, repeated endlessly, is ended by the limit. Before prices corresponded to time, some of these ran for minutes;
/// `examples/prices.rs` shows their duration now.
#[test]
fn expensive_operations_are_ended_by_the_limit() {
    let scope = JsonScope::parse(&variables()).unwrap();
    let limits = Limits {
        max_steps: 200_000,
        ..Limits::default()
    };
    assert!(EXPENSIVE.len() > 150);
    for row in EXPENSIVE {
        let evaluation = run(&row.text(), &scope, limits);
        assert!(
            is_limited(&evaluation),
            "{}: {}: {evaluation:?}",
            row.family,
            row.operation
        );
    }
}

/// Prices are proportional to sizes: expensive arguments cannot be processed for the price of a call.
#[test]
fn prices_follow_sizes() {
    let text = |n: usize| format!("\"{}\"", "ab ".repeat(n));
    let numbers = |n: usize| format!("[{}]", vec!["1"; n].join(","));
    let mixed = |n: usize| {
        format!(
            "[{}]",
            (0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(",")
        )
    };
    let nested = |n: usize| format!("[{}]", vec!["{\"a\":[1]}"; n].join(","));
    let object = |n: usize| {
        let entries: Vec<String> = (0..n).map(|n| format!("\"k{n}\":1")).collect();
        format!("{{{}}}", entries.join(","))
    };
    type Make<'a> = &'a dyn Fn(usize) -> String;
    let rows: &[(Make<'_>, &[&str])] = &[
        (
            &text,
            &[
                "upper case(x)",
                "lower case(x)",
                "string length(x)",
                "substring(x, 2)",
                "contains(x, \"zz\")",
                "starts with(x, x)",
                "substring before(x, \"zz\")",
                "trim(x)",
                "is blank(x)",
                "to base64(x)",
                "x + x",
                "x < x",
                "matches(x, \"[yz]\")",
                "matches(x, \"(?=z)z\")",
                "replace(x, \"a\", \"b\")",
                "split(x, \" \")",
                "extract(x, \"a\")",
                "x in [x..x]",
            ],
        ),
        (
            &numbers,
            &[
                "x instance of list<number>",
                "x = x",
                "list contains(x, 2)",
                "min(x)",
                "sum(x)",
                "product(x)",
                "mean(x)",
                "median(x)",
                "stddev(x)",
                "mode(x)",
                "append(x, 1)",
                "concatenate(x, x)",
                "insert before(x, 1, 1)",
                "remove(x, 1)",
                "list replace(x, 1, 1)",
                "reverse(x)",
                "index of(x, 2)",
                "distinct values(x)",
                "flatten(x)",
                "sort(x)",
                "partition(x, 2)",
                "sublist(x, 1, 90)",
                "string(x)",
                "to json(x)",
                "2 in x",
                "x[item > 5]",
                "some i in x satisfies i > 5",
                "(function(l: list<number>) 1)(x)",
            ],
        ),
        (&mixed, &["union(x, x)", "duplicate values(x)"]),
        (
            &nested,
            &[
                "x = x",
                "distinct values(x)",
                "x.a",
                "x instance of list<context<a: list<number>>>",
                "flatten(x.a)",
                "is(x, x)",
                "string(x)",
            ],
        ),
        (
            &object,
            &[
                "x = x",
                "get entries(x)",
                "context put(x, \"a\", 1)",
                "context merge(x, x)",
                "context(get entries(x))",
                "to json(x)",
                "from json(to json(x))",
            ],
        ),
    ];
    for (make, expressions) in rows {
        for expression in *expressions {
            // The variable is already a value, so that reading it costs nothing.
            let steps = |n: usize| {
                let value = Value::from_json(&make(n)).unwrap();
                let scope = MapScope([("x".to_owned(), value)].into());
                let evaluation = run(expression, &scope, Limits::default());
                assert!(!is_limited(&evaluation), "{expression}: {evaluation:?}");
                evaluation.steps
            };
            // Four times the size costs four times as much, plus the fixed price of a call.
            let (small, medium, large) = (steps(100), steps(400), steps(1_600));
            assert!(
                medium >= small + 5 && large - medium >= 3 * (medium - small),
                "{expression}: {small}, {medium} and {large} steps"
            );
        }
    }
}

#[test]
fn writing_down_a_value_that_shares_its_parts_is_work() {
    // Every iteration doubles the text and costs next to nothing.
    let doubled = |turns: u32| {
        let text =
            format!("for i in 1..{turns} return if i = 1 then [1] else [partial[-1], partial[-1]]");
        run(&text, &EmptyScope, Limits::default())
    };
    let (small, large) = (doubled(4), doubled(14));
    assert!(large.value.to_json().len() > 100 * small.value.to_json().len());
    assert!(
        large.steps > 50 * small.steps,
        "{} and {}",
        small.steps,
        large.steps
    );
}
