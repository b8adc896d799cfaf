//! Shows how long expensive expressions run until the default limit ends them, and the time per step:
//! `cargo run --release -p skep-feel --example prices -- [FAMILY]`. Ends with status 1 if one takes too long.

#[path = "../tests/support/expensive.rs"]
mod expensive;

use std::time::Duration;

use expensive::{EXPENSIVE, variables};
use rustix::time::{ClockId, clock_gettime};
use skep_feel::{EvalContext, Expression, JsonScope};

/// Maximum duration: beyond it the price in steps is too low.
const TOO_LONG: Duration = Duration::from_millis(150);

/// CPU time of this thread: other work on the machine must not count.
fn on_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

fn main() {
    let family = std::env::args().nth(1);
    let scope = JsonScope::parse(&variables()).expect("valid JSON");
    let cx = EvalContext::default();
    let mut slow = 0;
    println!("     ms  ns/step     turns  expression");
    for row in EXPENSIVE {
        if family.as_ref().is_some_and(|family| family != row.family) {
            continue;
        }
        let text = row.text();
        let expression = Expression::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let start = on_cpu();
        let evaluation = expression.evaluate(&scope, &cx);
        let took = on_cpu() - start;
        let ended = evaluation.warnings.last().map_or("", |w| &w.message);
        let mark = if took > TOO_LONG { "  TOO LONG" } else { "" };
        slow += usize::from(took > TOO_LONG);
        println!(
            "{:7.1} {:8.1}  {:10} {} | {}{mark}{}",
            took.as_secs_f64() * 1e3,
            took.as_nanos() as f64 / evaluation.steps.max(1) as f64,
            row.family,
            row.before,
            row.operation,
            if ended.contains("more than") && ended.contains("steps") {
                ""
            } else {
                "  NOT STOPPED BY STEPS"
            },
        );
    }
    if slow > 0 {
        println!("{slow} take longer than {TOO_LONG:?}");
        std::process::exit(1);
    }
}
