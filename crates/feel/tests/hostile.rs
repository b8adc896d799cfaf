//! Hostile input: deep nesting, endless recursion, memory explosions. Every case must end soon, with a clear error, on a thread with the
//! usual 2 MiB of stack.

use skep_feel::{
    EmptyScope, EvalContext, Evaluation, Expression, JsonScope, Limits, UnaryTests, Value,
    WarningCode,
};

fn evaluate(text: &str) -> Evaluation {
    let limits = Limits {
        max_steps: 300_000,
        max_memory: 4 << 20,
        ..Limits::default()
    };
    Expression::parse(text).unwrap().evaluate(
        &EmptyScope,
        &EvalContext {
            limits,
            ..EvalContext::default()
        },
    )
}

fn assert_limited(text: &str) {
    let evaluation = evaluate(text);
    assert!(
        evaluation.value.is_null(),
        "{text}: {}",
        evaluation.value.to_json().len()
    );
    assert_eq!(
        evaluation.warnings.last().map(|w| w.code),
        Some(WarningCode::LimitExceeded),
        "{text}"
    );
}

#[test]
fn deep_nesting_is_a_parse_error() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(20_000), close.repeat(20_000))
    };
    let texts = [
        deep("(", "1", ")"),
        deep("[", "1", "]"),
        deep("{a: ", "1", "}"),
        deep("if true then ", "1", " else 0"),
        deep("not(", "true", ")"),
        deep("-", "1", ""),
        deep("x in (", "1", ")"),
        deep("function() ", "1", ""),
        deep("for i in [1] return ", "1", ""),
        deep("some i in ", "[]", " satisfies true"),
        deep("[1..", "2", "]"),
        deep("]1..", "2", "["),
        deep("1 in [", "2", "]"),
        deep("a[", "1", "]"),
        deep("1 instance of list<", "number", ">"),
        deep("f(a: ", "1", ")"),
        deep("a between 1 and ", "2", ""),
        format!("a{}", ".b".repeat(20_000)),
        format!("a{}", "[1]".repeat(20_000)),
        format!("a{}", "()".repeat(20_000)),
        format!("1{}", " = 1".repeat(20_000)),
        format!("1{}", " instance of Any".repeat(20_000)),
    ];
    for text in texts {
        let error = Expression::parse(&text).expect_err(&text[..40]);
        assert!(!error.message.is_empty());
        assert!(UnaryTests::parse(&text).is_err(), "{}", &text[..40]);
    }
}

#[test]
fn the_deepest_allowed_nesting_can_be_evaluated() {
    let nested = |open: &str, inner: &str, close: &str| {
        (1..=100)
            .rev()
            .map(|n| format!("{}{inner}{}", open.repeat(n), close.repeat(n)))
            .find(|t| Expression::parse(t).is_ok())
    };
    for text in [
        nested("(1 + ", "1", ")"),
        nested("[", "1", "]"),
        nested("{a: ", "1", "}"),
        nested("if true then (", "1", ") else 0"),
        nested("not(", "true", ")"),
        nested("1 in (2, ", "1", ")"),
        nested("(function() ", "1", ")()"),
        nested("for i in [1] return ", "1", ""),
        nested("count([1][", "true", "])"),
        nested("(1 = ", "1", ")"),
    ] {
        evaluate(&text.expect("some depth is allowed"));
    }
}

#[test]
fn long_chains_are_flat() {
    assert_eq!(
        evaluate(&format!("1{}", " + 1".repeat(50_000))).value,
        Value::from(50_001)
    );
    assert_eq!(
        evaluate(&format!("true{}", " and true".repeat(50_000))).value,
        Value::from(true)
    );
    assert_eq!(
        evaluate(&format!("{}0", "if false then 1 else ".repeat(20_000))).value,
        Value::from(0)
    );
}

#[test]
fn recursion_ends() {
    assert_limited("(function(f) f(f))(function(f) f(f))");
    assert_limited("(function(f) 1 + f(f))(function(f) 1 + f(f))");
    assert_limited("(function(f) {a: [f(f)]})(function(f) {a: [f(f)]})");
    assert_limited("(function(f) [1][f(f)])(function(f) [1][f(f)])");
    assert_limited(
        "(function(f) sort([1, 2], function(a, b) f(f)))(function(f) sort([1, 2], function(a, b) f(f)))",
    );
    assert_limited(
        "(function(f) for i in [1, 2] return f(f))(function(f) for i in [1, 2] return f(f))",
    );
}

#[test]
fn loops_end() {
    assert_limited("for i in 1..1000000000000 return i");
    assert_limited("for a in 1..10000, b in 1..10000 return 1");
    assert_limited("some a in 1..100000, b in 1..100000 satisfies false");
    assert_limited("count(for i in -9000000000000000000..9000000000000000000 return 1)");
}

#[test]
fn results_stay_small() {
    assert_limited("for i in 1..10000 return if i = 1 then \"x\" else partial[-1] + partial[-1]");
    assert_limited("for i in 1..10000 return if i = 1 then [1] else [partial[-1], partial[-1]]");
    assert_limited(
        "for i in 1..10000 return if i = 1 then [1] else concatenate(partial[-1], partial[-1])",
    );
    assert_limited(
        "for i in 1..10000 return if i = 1 then {a: 1} else {a: partial[-1], b: partial[-1]}",
    );
    assert_limited("for i in 1..10000 return [partial]");
    assert_limited(
        "for i in 1..100 return if i = 1 then function(x) 1 else ({a: partial[-1], b: partial[-1], f: function(x) [a, b]}).f",
    );
    assert_limited(
        "for i in 1..10000 return if i = 1 then \"xy\" else replace(partial[-1], \"x\", \"xyxyxyxyxy\")",
    );
    assert_limited(
        "for i in 1..1000 return for j in 1..100 return \"0123456789012345678901234567890123456789\" + string(partial)",
    );
}

#[test]
fn hostile_patterns_end() {
    let text = "a".repeat(1_000);
    for pattern in [
        "(a+)+$",
        "(a|aa)+b",
        "(?=(a+))\\\\1b",
        "((a*)*)*b",
        "(.*)\\\\1\\\\1b",
        "a{1000}{1000}",
        "[",
        "(?P<",
        "\\\\",
    ] {
        for call in ["matches", "extract", "split"] {
            evaluate(&format!("{call}(\"{text}\", \"{pattern}\")"));
        }
        evaluate(&format!("replace(\"{text}\", \"{pattern}\", \"$1\")"));
    }
}

#[test]
fn extreme_numbers_end() {
    for text in [
        "9 ** 9 ** 9 ** 9",
        "0.1 ** 999999999",
        "1.000000001 ** 999999999999",
        "-2 ** 0.5",
        "0 ** -1",
        "exp(1e30)",
        "exp(-1e30)",
        "log(1e-6000)",
        "sqrt(1e6000)",
        "1e6000 * 1e6000",
        "1e-6000 * 1e-6000",
        "1e6144 + 1e-6144",
        "modulo(1e6000, 7)",
        "modulo(1e6000, 1e-6000)",
        "decimal(1e6000, 6000)",
        "decimal(1, 999999999999)",
        "floor(1e-6000)",
        "string(1e6144)",
        "substring(\"abc\", 1e30, 1e30)",
        "[1][1e30]",
        "date(1e30, 1, 1)",
        "@\"P999999999999999999Y\"",
        "@\"P1D\" * 1e30",
        "@\"P9223372036854775807M\" + @\"P1M\"",
        "date(\"999999999-12-31\") + @\"P1D\"",
        "date(\"-999999999-01-01\") - @\"P1D\"",
        "-@\"-P9223372036854775807M\"",
        "@\"P106751991167300D\" * 2",
        "time(\"10:00:00\") + @\"P106751991167300D\"",
        "date and time(\"999999999-12-31T23:59:59@Europe/Paris\") - date and time(\"-999999999-01-01T00:00:00@Asia/Tokyo\")",
    ] {
        if let Ok(expression) = Expression::parse(text) {
            let value = expression
                .evaluate(&EmptyScope, &EvalContext::default())
                .value;
            assert!(value.to_string().len() < 10_000, "{text}");
        }
    }
}

#[test]
fn deep_json_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Value::from_json(&deep).is_err());
    let deepest = format!("{{\"x\": {}1{}}}", "[".repeat(199), "]".repeat(199));
    let scope = JsonScope::parse(&deepest).unwrap();
    let cx = EvalContext::default();
    assert_eq!(
        Expression::parse("flatten(x)")
            .unwrap()
            .evaluate(&scope, &cx)
            .value
            .to_json(),
        "[1]"
    );
    assert_eq!(
        Expression::parse("x = x")
            .unwrap()
            .evaluate(&scope, &cx)
            .value,
        Value::from(true)
    );
    let many = Expression::parse("x.a.b.c").unwrap().evaluate(&scope, &cx);
    assert!(many.warnings.len() <= 100);
}

#[test]
fn many_warnings_are_cut() {
    assert_eq!(evaluate("for i in 1..1000 return i.x").warnings.len(), 100);
}

/// A text may be a megabyte long: compiling it must not scan all names for every name, nor evaluate for long.
#[test]
fn long_texts_compile() {
    let sum: Vec<String> = (0..60_000).map(|n| format!("a{n}")).collect();
    let expression = Expression::parse(&sum.join("+")).unwrap();
    assert_eq!(expression.variables().len(), 60_000);
    let entries: Vec<String> = (0..50_000).map(|n| format!("a{n}: b{n}")).collect();
    let expression = Expression::parse(&format!("{{{}}}", entries.join(","))).unwrap();
    assert_eq!(expression.variables().len(), 50_000);
    let filters = format!("[{}]", vec!["[1][a > b]"; 20_000].join(","));
    assert_eq!(Expression::parse(&filters).unwrap().variables().len(), 2);
    let powers = format!("[{}]", vec!["2.5 ** 0.5"; 50_000].join(","));
    assert!(Expression::parse(&powers).unwrap().constant().is_none());
}

/// Values whose depth grows in each iteration: dropping, comparing and writing them recurse as deep, so that the depth is bounded on
/// creation.
#[test]
fn values_do_not_grow_deep() {
    for body in [
        "[partial[-1]]",
        "{a: partial[-1]}",
        "context put({}, \"a\", partial[-1])",
        "append([], partial[-1])",
        "concatenate([partial[-1]], [])",
        "insert before([1], 1, partial[-1])",
        "list replace([1], 1, partial[-1])",
        "partition([partial[-1]], 1)",
        "get entries({a: partial[-1]})",
        "context([{key: \"a\", value: partial[-1]}])",
        "context merge({a: partial[-1]}, {b: 1})",
        "reverse([partial[-1]])",
        "distinct values([partial[-1]])",
        "from json(\"[\" + to json(partial[-1]) + \"]\")",
        "function() partial[-1]",
        "(for x in [1] return partial)",
    ] {
        let evaluation = evaluate(&format!(
            "for i in 1..100000 return if i = 1 then [] else {body}"
        ));
        assert!(
            evaluation.value.depth() <= 400,
            "{body}: {} levels",
            evaluation.value.depth()
        );
        drop(evaluation);
    }
}
