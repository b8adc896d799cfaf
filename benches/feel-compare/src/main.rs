//! The same expressions on the same data in skep-feel and in dsntk, one after the other.

use std::hint::black_box;
use std::time::Instant;

use dsntk_feel::FeelScope;
use skep_feel::{EvalContext, Expression, MapScope, Value};

/// Nanoseconds of one call: the best of ten rounds, so that a busy machine counts little.
fn measure(mut call: impl FnMut()) -> f64 {
    let mut count = 1u32;
    loop {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        if start.elapsed().as_millis() >= 5 || count > 1 << 28 {
            break;
        }
        count *= 2;
    }
    let round = |_| {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(count)
    };
    (0..10).map(round).fold(f64::INFINITY, f64::min)
}

fn main() {
    let items: Vec<String> = (0..1000)
        .map(|n| format!("{{id: {n}, amount: {}.5, country: \"{}\"}}", n % 97, ["DE", "FR", "AT"][n % 3]))
        .collect();
    let data = format!(
        "{{orderId: \"o-17\", amount: 1250.50, currency: \"EUR\", country: \"DE\", priority: 3, vip: true, email: \"a@b.c\", \
         created: \"2026-11-21\", order: {{customer: {{address: {{city: \"Berlin\"}}}}}}, orders: [{}]}}",
        items.join(", ")
    );
    let cx = EvalContext::default();
    let context = Expression::parse(&data).expect("data").evaluate(&skep_feel::EmptyScope, &cx).value;
    let Value::Context(context) = context else { panic!("the data is a context") };
    let ours = MapScope(context.entries().iter().map(|(k, v)| (k.to_string(), v.clone())).collect());
    let empty = FeelScope::default();
    let theirs: FeelScope = dsntk_feel_evaluator::evaluate_context(&empty, &data).expect("data").into();

    println!("| expression | parse: skep | parse: dsntk | evaluate: skep | evaluate: dsntk |\n|---|---|---|---|---|");
    for text in [
        "amount > 1000 and country = \"DE\"",
        "amount + 1",
        "amount / 7",
        "order.customer.address.city",
        "{a: amount, b: country}",
        "\"order-\" + orderId",
        "orders[item.amount > 50]",
        "sum(for o in orders return o.amount * 2)",
        "some o in orders satisfies o.id = 999",
        "date(created) > date(\"2026-12-01\")",
    ] {
        let expression = Expression::parse(text).expect(text);
        let node = dsntk_feel_parser::parse_expression(&theirs, text, false).expect(text);
        let evaluator = dsntk_feel_evaluator::prepare(&node);
        let figures = [
            measure(|| drop(black_box(Expression::parse(text)))),
            measure(|| drop(black_box(dsntk_feel_parser::parse_expression(&theirs, text, false)))),
            measure(|| drop(black_box(expression.evaluate(&ours, &cx)))),
            measure(|| drop(black_box(evaluator(&theirs)))),
        ];
        println!("| `{text}` | {} |", figures.map(|ns| format!("{ns:.0} ns")).join(" | "));
    }
}
