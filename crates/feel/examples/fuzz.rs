//! Searches for texts that panic, hang or take much memory: `cargo run --release -p skep-feel --example fuzz -- SECONDS [SEED]`. Ends with
//! status 1 and the text when one is found.

#[path = "../tests/support/generate.rs"]
mod generate;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use generate::{Generator, exercise};
use skep_feel::{EvalContext, JsonScope};

/// Longer than this for one text is a hang.
const SLOW: Duration = Duration::from_secs(20);
/// More resident memory than this is unbounded.
const MAX_RESIDENT: u64 = 2 << 30;

static CURRENT: Mutex<String> = Mutex::new(String::new());
static STARTED_MILLIS: AtomicU64 = AtomicU64::new(0);

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

fn found(what: &str) -> ! {
    let text = CURRENT
        .try_lock()
        .map(|text| text.clone())
        .unwrap_or_default();
    eprintln!("{what}:\n{text}");
    std::process::exit(1);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(60);
    let seed: u64 = arguments
        .next()
        .and_then(|a| a.parse().ok())
        .unwrap_or_else(|| u64::from(std::process::id()));
    let start = Instant::now();
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        found("panic");
    }));
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let running = start.elapsed().as_millis() as u64
                - STARTED_MILLIS
                    .load(Ordering::Relaxed)
                    .min(start.elapsed().as_millis() as u64);
            if running > SLOW.as_millis() as u64 {
                found("hang");
            }
            if resident() > MAX_RESIDENT {
                found("memory");
            }
        }
    });
    let json = r#"{"x": 5, "y": "foo", "order": {"id": 1, "lines": [{"a": 1}, {"a": 2}]}, "list": [3, 1, 2]}"#;
    let scope = JsonScope::parse(json).expect("valid JSON");
    let cx = EvalContext {
        now_millis: 1_795_000_000_000,
        ..EvalContext::default()
    };
    let mut generator = Generator::new(seed);
    let (mut count, mut slowest, mut size) = (0u64, Duration::ZERO, 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        let text = generator.text();
        text.clone_into(&mut CURRENT.lock().expect("not poisoned"));
        let begin = Instant::now();
        STARTED_MILLIS.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        size += exercise(&text, &scope, &cx);
        if begin.elapsed() > slowest {
            slowest = begin.elapsed();
            println!("{slowest:?} {:.200}", text.replace('\n', " "));
        }
        count += 1;
    }
    println!(
        "{count} texts from seed {seed}, slowest {slowest:?}, {size} bytes of results, {} MiB resident",
        resident() >> 20
    );
}
