//! Hostile models on the real binary: whatever is deployed and started, a small process is served in time, the partitions stay healthy,
//! memory stays bounded, and the server restarts after a stop and after a `kill -9`.
//!
//! `SKEP_FUZZ_SECONDS=600 cargo test --workspace --test hostile -- --nocapture` runs longer than the default. `SKEP_SEED=<seed>` repeats a
//! failed seed; its models are kept in the directory named by the failure.

mod attack;
mod dice;
mod expressions;
mod models;
mod probe;
mod shares;
#[path = "../support/mod.rs"]
mod support;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use attack::Attackers;
use support::{Server, Start};

/// The settings of a run, each from an environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// `SKEP_FUZZ_SECONDS`: duration of the attacks.
    seconds: u64,
    /// `SKEP_FUZZ_ANSWER_MS`: maximum response time that the probe accepts.
    answer: Duration,
    /// `SKEP_FUZZ_RSS_MB`: maximum memory of the server, in MiB.
    rss_mib: u64,
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

impl Bounds {
    fn read() -> Bounds {
        // Without optimization everything takes about ten times as long, and the machine may be busy: then the probe detects only permanent
        // stalls.
        let answer = if cfg!(debug_assertions) {
            180_000
        } else {
            2000
        };
        Bounds {
            seconds: setting("SKEP_FUZZ_SECONDS").unwrap_or(8),
            answer: Duration::from_millis(setting("SKEP_FUZZ_ANSWER_MS").unwrap_or(answer)),
            rss_mib: setting("SKEP_FUZZ_RSS_MB").unwrap_or(2048),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_models_hold_nobody_up_with_a_fixed_seed() {
    if setting("SKEP_SEED").is_none() {
        run(20_261_122, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_models_hold_nobody_up_with_a_fresh_seed() {
    let seed = setting("SKEP_SEED").unwrap_or_else(skep_sim::fresh);
    run(seed, 1 + (seed % 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_clients_do_not_keep_others_from_their_work() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempfile::tempdir().unwrap();
    let mut arguments = ROOM.to_vec();
    if cfg!(debug_assertions) {
        // See `run`.
        arguments.extend(["--set", "camunda.expression.timeout=10ms"]);
        arguments.extend(["--set", "skep.api.request-timeout=180s"]);
    }
    let server = Start::new(data.path(), &arguments).ready().await;
    shares::deploy(&server).await;
    tokio::task::block_in_place(|| shares::nobody_is_refused(&server));
}

/// Test machines may have nearly full disks.
const ROOM: [&str; 4] = [
    "--set",
    "camunda.data.primary-storage.disk.free-space.processing=2MB",
    "--set",
    "camunda.data.primary-storage.disk.free-space.replication=1MB",
];

/// Running work is finished first, on a disk that may be slow.
const STOP_AT_MOST: Duration = Duration::from_secs(180);

/// Two servers under attack would slow each other down.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Attacks for a while, with a restart halfway and another one at the end.
async fn run(seed: u64, partitions: u64) {
    // Shown when the test fails.
    println!("SKEP_SEED={seed} repeats this");
    let _alone = ONE_AT_A_TIME.lock().await;
    let bounds = Bounds::read();
    let data = tempfile::tempdir().unwrap();
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{seed}"));
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir_all(&kept).unwrap();
    let partitions = partitions.to_string();
    let mut arguments = vec!["--partitions", partitions.as_str()];
    arguments.extend(ROOM);
    if cfg!(debug_assertions) {
        // The time limit of an evaluation is converted to steps, each of which takes many times as long without optimization.
        arguments.extend(["--set", "camunda.expression.timeout=4ms"]);
        arguments.extend(["--set", "skep.api.request-timeout=180s"]);
    }
    let log = kept.join("server.log");
    let start = || {
        Start::new(data.path(), &arguments)
            .log_to(log.clone())
            .ready()
    };
    let mut server = start().await;
    probe::deploy(&server.client()).await;
    let attackers = Attackers::new(seed, kept.clone());
    let half = Duration::from_secs(bounds.seconds).div_f32(2.0);

    let first = attack_for(half, &server, &attackers, bounds).await;
    server.kill();
    let mut server = start().await;
    let second = attack_for(half, &server, &attackers, bounds).await;
    stop(&mut server).await;
    // The remaining instances continue, and still do not block others.
    let server = start().await;
    let rest = probe::watch(&server, bounds, Duration::from_secs(2), &attackers).await;
    drop(server);
    println!(
        "seed {seed}: {}\n{first}\n{second}\n{rest}",
        attackers.summary()
    );
    assert!(
        !std::fs::read_to_string(&log)
            .unwrap_or_default()
            .contains("panicked"),
        "the server panicked; see {}",
        log.display()
    );
    assert!(
        attackers.attacked(),
        "no model was started: {}",
        attackers.summary()
    );
    std::fs::remove_dir_all(&kept).unwrap();
}

async fn attack_for(
    time: Duration,
    server: &Server,
    attackers: &Attackers,
    bounds: Bounds,
) -> probe::Seen {
    let attacks = attackers.start(server);
    let seen = probe::watch(server, bounds, time, attackers).await;
    attacks.end().await;
    seen
}

/// SIGTERM takes effect under any load.
async fn stop(server: &mut Server) {
    let started = std::time::Instant::now();
    let code = tokio::task::block_in_place(|| server.terminate());
    assert_eq!(code, Some(0), "SIGTERM ended the server with another code");
    let took = started.elapsed();
    assert!(took < STOP_AT_MOST, "SIGTERM took {took:?}");
}
