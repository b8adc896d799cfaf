//! Features for the host program: providing variables, adding names, types and functions, setting limits.

use std::collections::HashMap;
use std::sync::Arc;

use skep_feel::{
    Binding, EmptyScope, EvalContext, Evaluation, Expression, Function, HostType, HostTypes,
    JsonScope, Limits, MapScope, ParseOptions, Scope, UnaryTests, Value, WarningCode,
};

fn variables(text: &str) -> Vec<String> {
    Expression::parse(text)
        .unwrap()
        .variables()
        .iter()
        .map(|name| name.to_string())
        .collect()
}

#[test]
fn values_and_expressions_cross_threads() {
    fn crosses<T: Send + Sync + Clone>() {}
    crosses::<Expression>();
    crosses::<UnaryTests>();
    crosses::<Value>();
    crosses::<EvalContext>();
}

#[test]
fn an_expression_lists_the_variables_it_reads() {
    assert_eq!(
        variables("amount > 1000 and country = \"DE\""),
        ["amount", "country"]
    );
    assert_eq!(variables("order.customer.name"), ["order"]);
    assert_eq!(variables("for x in list return x + y"), ["list", "y"]);
    assert_eq!(
        variables("orders[total > limit]"),
        ["orders", "total", "limit"]
    );
    assert_eq!(variables("(function(a) a + b)(c)"), ["b", "c"]);
    assert_eq!(variables("{a: 1, b: a + c}"), ["c"]);
    assert!(variables("count([1, 2])").is_empty());
}

/// Counts its lookups.
struct Lookups(std::cell::RefCell<Vec<String>>);

impl Scope for Lookups {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        self.0.borrow_mut().push(name.to_owned());
        Some(Binding::Json("5"))
    }
}

#[test]
fn the_scope_is_asked_once_and_only_for_what_is_needed() {
    let asked = Lookups(std::cell::RefCell::new(Vec::new()));
    let expression = Expression::parse("if a > 3 then a + a else b").unwrap();
    assert_eq!(
        expression.evaluate(&asked, &EvalContext::default()).value,
        Value::from(10)
    );
    assert_eq!(*asked.0.borrow(), ["a"]);
}

#[test]
fn given_names_need_no_backticks() {
    let names = ["Monthly Salary", "Monthly", "a-b", "count"]
        .map(Arc::from)
        .to_vec();
    let options = ParseOptions {
        names,
        ..ParseOptions::default()
    };
    let scope =
        JsonScope::parse(r#"{"Monthly Salary": 100, "a-b": 7, "a": 1, "b": 2, "count": 3}"#)
            .unwrap();
    let value = |text: &str| {
        Expression::parse_with(text, &options)
            .unwrap()
            .evaluate(&scope, &EvalContext::default())
            .value
    };
    assert_eq!(value("12 * Monthly  Salary + a-b"), Value::from(1207));
    assert_eq!(value("a - b"), Value::from(-1));
    // The variable hides the builtin.
    assert!(value("count([1])").is_null());
}

struct Even;

impl HostType for Even {
    fn is_instance(&self, value: &Value) -> bool {
        value.as_i64().is_some_and(|n| n % 2 == 0)
    }
}

#[test]
fn types_of_the_host_are_types() {
    let mut types: HashMap<Arc<str>, Arc<dyn HostType>> = HashMap::new();
    types.insert(Arc::from("tEven"), Arc::new(Even));
    let options = ParseOptions {
        types: HostTypes::new(types),
        ..ParseOptions::default()
    };
    let value = |text: &str| {
        Expression::parse_with(text, &options)
            .unwrap()
            .evaluate(&EmptyScope, &EvalContext::default())
            .value
    };
    assert_eq!(value("4 instance of tEven"), Value::from(true));
    assert_eq!(value("5 instance of tEven"), Value::from(false));
    assert_eq!(value("[2, 4] instance of list<tEven>"), Value::from(true));
    assert!(value("(function(n: tEven) n)(3)").is_null());
}

#[test]
fn functions_of_the_host_can_be_called_by_position_and_by_name() {
    let body = |arguments: &[Value], _: &EvalContext| Evaluation {
        value: Value::from(arguments[0].as_i64().unwrap_or(0) - arguments[1].as_i64().unwrap_or(0)),
        ..Evaluation::default()
    };
    let function = Function::host(vec![Arc::from("a"), Arc::from("b")], Arc::new(body));
    let scope = MapScope([("minus".to_owned(), Value::Function(Arc::new(function)))].into());
    let run = |text: &str| {
        Expression::parse(text)
            .unwrap()
            .evaluate(&scope, &EvalContext::default())
    };
    assert_eq!(run("minus(5, 3)").value, Value::from(2));
    assert_eq!(run("minus(b: 5, a: 3)").value, Value::from(-2));
    assert_eq!(
        run("for x in [1, 2] return minus(x, 1)").value.to_json(),
        "[0,1]"
    );
    assert_eq!(
        run("minus(1)").warnings[0].code,
        WarningCode::NoFunctionFound
    );
}

#[test]
fn a_function_value_outlives_its_evaluation() {
    let scope = JsonScope::parse(r#"{"rate": 0.19}"#).unwrap();
    let cx = EvalContext::default();
    let value = Expression::parse("function(net) net * (1 + rate)")
        .unwrap()
        .evaluate(&scope, &cx)
        .value;
    let Value::Function(function) = value else {
        panic!("{value} is no function")
    };
    assert_eq!(
        function.call(vec![Value::from(100)], &cx).value,
        Value::from(119)
    );
    assert_eq!(function.parameters(), [Arc::from("net")]);
}

#[test]
fn limits_end_an_evaluation() {
    let limits = Limits {
        max_steps: 10,
        ..Limits::default()
    };
    let cx = EvalContext {
        limits,
        ..EvalContext::default()
    };
    let evaluation = Expression::parse("for i in 1..100 return i")
        .unwrap()
        .evaluate(&EmptyScope, &cx);
    assert!(evaluation.value.is_null());
    assert_eq!(
        evaluation.warnings[0].to_string(),
        "LIMIT_EXCEEDED: The evaluation needs more than 10 steps"
    );
}

#[test]
fn equal_seeds_give_equal_random_values() {
    let value = |seed: u64| {
        let cx = EvalContext {
            seed,
            ..EvalContext::default()
        };
        Expression::parse("[uuid(), random number()]")
            .unwrap()
            .evaluate(&EmptyScope, &cx)
            .value
            .to_json()
    };
    assert_eq!(value(1), value(1));
    assert_ne!(value(1), value(2));
}

#[test]
fn warnings_carry_codes_and_messages() {
    let warning = |text: &str, context: &str| {
        let scope = JsonScope::parse(context).unwrap();
        let evaluation = Expression::parse(text)
            .unwrap()
            .evaluate(&scope, &EvalContext::default());
        evaluation
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        warning("x", "{}"),
        "NO_VARIABLE_FOUND: No variable found with name 'x'"
    );
    assert_eq!(
        warning("x.b", r#"{"x": {"a": 1}}"#),
        "NO_CONTEXT_ENTRY_FOUND: No context entry found with key 'b'. Available keys: 'a'"
    );
    assert_eq!(
        warning("1 + \"a\"", "{}"),
        "INVALID_TYPE: Can't add '\"a\"' to '1'"
    );
    assert_eq!(
        warning("1 < \"a\"", "{}"),
        "NOT_COMPARABLE: Can't compare '1' with '\"a\"'"
    );
    assert_eq!(
        warning("foo(1)", "{}"),
        "NO_FUNCTION_FOUND: No function found with name 'foo' and 1 parameters"
    );
    assert_eq!(
        warning("sqrt(x)", r#"{"x": null}"#),
        "FUNCTION_INVOCATION_FAILURE: Failed to invoke function 'sqrt': Expected Number but found 'null'"
    );
}

/// However a number was computed: clients distinguish integers from decimals by their text.
#[test]
fn a_number_in_json_has_no_zeros_at_its_end() {
    for (expression, json) in [
        ("1.0", "1"),
        ("0.00", "0"),
        ("-1.50", "-1.5"),
        ("100.00", "100"),
        ("10 ** 20", "100000000000000000000"),
        ("[1.50 + 1, {a: 0.10}]", r#"[2.5,{"a":0.1}]"#),
    ] {
        let expression = Expression::parse(expression).unwrap();
        let evaluation = expression.evaluate(&EmptyScope, &EvalContext::default());
        assert_eq!(evaluation.value.to_json(), json);
    }
}
