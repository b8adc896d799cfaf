//! Short, seeded runs of the fuzzer; `examples/fuzz.rs` runs it for any time.

#[path = "support/generate.rs"]
mod generate;

use generate::{Generator, exercise};
use skep_feel::{EvalContext, JsonScope, Limits};

#[test]
fn random_texts_neither_panic_nor_hang() {
    let scope = JsonScope::parse(r#"{"x": 5, "y": "foo", "order": {"id": 1, "lines": [{"a": 1}, {"a": 2}]}, "list": [3, 1, 2]}"#).unwrap();
    let limits = Limits {
        max_steps: 20_000,
        max_memory: 1 << 20,
        ..Limits::default()
    };
    let cx = EvalContext {
        limits,
        now_millis: 1_795_000_000_000,
        ..EvalContext::default()
    };
    skep_sim::each(2, |seed| {
        let mut generator = Generator::new(seed);
        for _ in 0..2_000 {
            let text = generator.text();
            exercise(&text, &scope, &cx);
        }
    });
}
