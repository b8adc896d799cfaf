//! The seeds of random tests: a fixed set of first seeds, and a fresh one.

use std::hash::{BuildHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds of a test: `SKEP_SEED` alone if it is set, else the first ones (`SKEP_SEEDS`, or `usual`) and a fresh one,
/// which is printed.
pub fn chosen(usual: u64) -> Vec<u64> {
    if let Some(seed) = number("SKEP_SEED") {
        return vec![seed];
    }
    let count = number("SKEP_SEEDS").unwrap_or(usual);
    let fresh = fresh();
    println!("{count} seeds, and a fresh one: SKEP_SEED={fresh}");
    (1..=count).chain([fresh]).collect()
}

/// A seed that differs between runs. The caller must report it if it fails.
pub fn fresh() -> u64 {
    // The hasher of the standard library is keyed by the operating system.
    let random = std::collections::hash_map::RandomState::new();
    random.build_hasher().finish() >> 16
}

/// Runs the [`chosen`] seeds one after the other, and reports the one that panicked.
pub fn each(usual: u64, mut run: impl FnMut(u64)) {
    struct Named(u64);
    impl Drop for Named {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("repeat it with SKEP_SEED={}", self.0);
            }
        }
    }
    for seed in chosen(usual) {
        let _named = Named(seed);
        run(seed);
    }
}

/// Runs seeds on all cores until one fails. Returns that seed and the reason.
pub fn search(seeds: &[u64], run: impl Fn(u64) + Sync) -> Option<(u64, String)> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(*seed))) else {
                continue;
            };
            next.store(seeds.len(), Ordering::Relaxed);
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            if let Ok(mut failure) = failure.lock() {
                failure.get_or_insert((*seed, text.unwrap_or_default()));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    failure.into_inner().ok().flatten()
}
