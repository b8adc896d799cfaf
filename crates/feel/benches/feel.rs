//! The most frequent kinds of expressions: conditions, paths, filters, mappings. Run with `cargo bench -p skep-feel`.

mod cpu_time;

use std::hint::black_box;

use cpu_time::CpuTime;
use criterion::{Criterion, criterion_group, criterion_main};
use skep_feel::{Binding, EmptyScope, EvalContext, Expression, MapScope, Scope, UnaryTests, Value};

/// Ten variables in the broker's form: name and JSON text.
struct Variables(Vec<(&'static str, String)>);

impl Scope for Variables {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        self.0
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, json)| Binding::Json(json))
    }
}

fn ten_variables() -> Variables {
    let names = [
        "orderId", "customer", "items", "amount", "currency", "country", "priority", "email",
        "created", "vip",
    ];
    let values = [
        "\"o-17\"",
        "{\"name\":\"Ada\"}",
        "[1,2,3]",
        "1250.50",
        "\"EUR\"",
        "\"DE\"",
        "3",
        "\"a@example.org\"",
        "\"2026-11-21\"",
        "true",
    ];
    Variables(names.into_iter().zip(values.map(str::to_owned)).collect())
}

/// About 4 KiB of JSON with the wanted city near its end.
fn order() -> String {
    let lines: Vec<String> = (0..40)
        .map(|n| format!("{{\"sku\":\"article-{n:04}\",\"quantity\":{n},\"price\":{n}.95,\"note\":\"leave at the \\\"door\\\"\"}}"))
        .collect();
    format!(
        "{{\"id\":17,\"lines\":[{}],\"customer\":{{\"name\":\"Ada\",\"address\":{{\"street\":\"Main 1\",\"city\":\"Berlin\"}}}}}}",
        lines.join(",")
    )
}

fn contexts(count: usize) -> String {
    let items: Vec<String> = (0..count)
        .map(|n| {
            format!(
                "{{\"id\":{n},\"amount\":{}.5,\"country\":\"{}\",\"open\":{}}}",
                n % 97,
                ["DE", "FR", "AT"][n % 3],
                n % 2 == 0
            )
        })
        .collect();
    format!("[{}]", items.join(","))
}

fn expressions(c: &mut Criterion<CpuTime>) {
    let cx = EvalContext::default();
    let mut run = |name: &str, text: &str, scope: &dyn Scope| {
        let expression = Expression::parse(text).expect(text);
        c.bench_function(name, |b| {
            b.iter(|| black_box(expression.evaluate(scope, &cx).value))
        });
    };
    let ten = ten_variables();
    run(
        "condition over 10 JSON variables",
        "amount > 1000 and country = \"DE\"",
        &ten,
    );
    run(
        "arithmetic on JSON variables",
        "amount * 1.19 + priority",
        &ten,
    );
    run("constant", "\"payment\"", &EmptyScope);
    run("string concatenation", "\"order-\" + orderId", &ten);
    let order = Variables(vec![("order", order())]);
    run(
        "path out of 4 KiB JSON",
        "order.customer.address.city",
        &order,
    );
    let list = contexts(1000);
    let json = Variables(vec![("orders", list.clone())]);
    run(
        "filter of 1000 contexts, from JSON",
        "orders[amount > 50 and country = \"DE\"]",
        &json,
    );
    let values = MapScope(
        [(
            "orders".to_owned(),
            Value::from_json(&list).expect("valid JSON"),
        )]
        .into(),
    );
    run(
        "filter of 1000 contexts, from values",
        "orders[amount > 50 and country = \"DE\"]",
        &values,
    );
    run(
        "for over 1000 contexts",
        "for o in orders return o.amount * 2",
        &values,
    );
    run(
        "sum of a path over 1000 contexts",
        "sum(orders.amount)",
        &values,
    );
    run(
        "mapping to a context",
        "{id: orderId, total: amount * 1.19, tags: [currency, country]}",
        &ten,
    );
    run(
        "date arithmetic",
        "date(created) + duration(\"P1M\") > date(\"2026-12-01\")",
        &ten,
    );
    run("34-digit division", "amount / 7", &ten);

    let tests = UnaryTests::parse("[1..10], > 100").expect("tests");
    let input = Value::from(101);
    c.bench_function("unary tests", |b| {
        b.iter(|| black_box(tests.evaluate(&input, &EmptyScope, &cx).value))
    });
    c.bench_function("parse and compile a condition", |b| {
        b.iter(|| black_box(Expression::parse("amount > 1000 and country = \"DE\"").is_ok()));
    });
    c.bench_function("read 1000 contexts from JSON", |b| {
        b.iter(|| black_box(Value::from_json(&list).is_ok()))
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = expressions
}
criterion_main!(benches);
