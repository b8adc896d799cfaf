//! Duration of the turns of commands with very many effects: the partition does nothing else meanwhile.
//!
//! `cargo run --release -p skep-engine --example turns [COUNT]`

use std::time::Duration;

use skep_engine::{Engine, NoStreams};
use skep_model::builder::Bpmn;
use skep_protocol::command::{Command, Deploy, Request, Resource};
use skep_sim::one_task::{cpu_time, creation, engine};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Model = fn(Bpmn) -> Bpmn;

/// The element repeated for each item, by name of the case.
const CASES: &[(&str, Model)] = &[
    ("parallel, no results", |p| {
        p.task("t").for_each("=items", "item")
    }),
    ("parallel, results", |p| {
        p.task("t")
            .for_each("=items", "item")
            .collect("=item", "results")
    }),
    ("parallel, results null", |p| {
        p.task("t")
            .for_each("=items", "item")
            .collect("=null", "results")
    }),
    ("sequential, results", |p| {
        let task = p.task("t").for_each("=items", "item").sequential();
        task.collect("=string(item)", "results")
    }),
    ("scopes, results", |p| {
        let sub = p.sub_process("t", |sub| sub.start("s2").end("e2"));
        sub.for_each("=items", "item").collect("=item", "results")
    }),
];

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let counts = match count {
        Some(count) => vec![count],
        None => vec![10_000, 100_000],
    };
    println!(
        "{:24} {:>9} {:>7} {:>10} {:>12}",
        "case", "items", "turns", "total", "longest turn"
    );
    for (name, model) in CASES {
        for count in &counts {
            let (turns, total, longest) = run(*model, *count);
            let longest = format!("{:.1} ms", longest.as_secs_f64() * 1e3);
            let total = format!("{:.2} s", total.as_secs_f64());
            println!("{name:24} {count:9} {turns:7} {total:>10} {longest:>12}");
        }
    }
}

/// Returns the number of turns, their total processor time, and the longest turn.
fn run(model: Model, count: usize) -> (usize, Duration, Duration) {
    let mut engine = engine();
    // Like a leader.
    engine.keep_undo(true);
    let process = model(Bpmn::process("p").start("s")).end("e");
    let resource = Resource {
        name: "p.bpmn".into(),
        content: process.xml().into(),
    };
    let resources = vec![resource];
    let mut position = 0;
    turn(
        &mut engine,
        &mut position,
        Some(&Request::internal(Command::Deploy(Deploy { resources }))),
    );
    let items: Vec<String> = (0..count).map(|item| item.to_string()).collect();
    let create = creation("p", &format!("{{\"items\":[{}]}}", items.join(",")));
    let mut times = vec![turn(&mut engine, &mut position, Some(&create))];
    while engine.has_work() {
        times.push(turn(&mut engine, &mut position, None));
    }
    assert_eq!(
        engine.state.elements.table.len(),
        0,
        "the instance has ended"
    );
    let longest = times.iter().max().copied().unwrap_or_default();
    (times.len(), times.iter().sum(), longest)
}

fn turn(engine: &mut Engine, position: &mut u64, request: Option<&Request>) -> Duration {
    let begin = cpu_time();
    let now = 1_767_225_600_000;
    match request {
        Some(request) => engine.process(now, Some(1), request, &mut NoStreams),
        None => engine.run_work(now, &mut NoStreams),
    }
    let taken = cpu_time() - begin;
    engine.take_batch();
    // Committed work is never reverted.
    engine.settle(*position);
    *position = engine.next_position();
    taken
}
