//! A failing disk under the real server: `strace` makes one of its system calls fail. After that nothing may be acknowledged, the partition
//! reports what failed and where, and all acknowledged work exists after a restart.

mod support;

use std::path::Path;
use std::time::Duration;

use skep_client::{Code, CreateInstance, Error};
use skep_testkit::sandbox;
use support::ledger::{self, Load, Shared};
use support::{Server, Start, eventually};

/// Starts the server with a failing system call: in each thread, as `injection` specifies, and with a path only for calls on that file.
async fn start_failing(
    data: &Path,
    log: &Path,
    call: &str,
    injection: &str,
    only: Option<&Path>,
) -> Server {
    let (trace, inject) = (
        format!("trace={call}"),
        format!("inject={call}:{injection}"),
    );
    // `-D`: the server keeps the process id, and killing it ends the tracer too.
    let mut wrapper = vec![
        "strace",
        "-D",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &trace,
        "-e",
        &inject,
    ];
    match only.and_then(Path::to_str) {
        Some(path) => wrapper.extend(["-P", path]),
        None => wrapper.push("--seccomp-bpf"),
    }
    let start = Start::new(data, &[]).through(&wrapper);
    start.log_to(log.to_path_buf()).ready().await
}

fn require_strace() {
    let inject = "inject=fsync:error=EIO:when=1";
    sandbox::require("strace", &["-D", "-f", "-e", inject, "true"]);
}

/// `call` fails as `injection` specifies, exactly once per thread: a repeated call would report success.
async fn no_false_acknowledgement(directory: &Path, call: &str, injection: &str, reason: &str) {
    require_strace();
    let (data, log) = (directory.join("data"), directory.join("log"));
    let ledger = Shared::default();
    let server = Start::new(&data, &[]).ready().await;
    ledger::deploy_one_task(&server.client()).await;
    drop(server);

    let mut server = start_failing(&data, &log, call, injection, None).await;
    let load = Load::start(&server, &ledger, 6, r#"{"orderId":"A-17"}"#);
    eventually("the partition has stopped", async || {
        server.log().contains("partition stops")
    })
    .await;
    let acknowledged = settled(&ledger).await;
    let text = server.log();
    assert!(text.contains(reason), "says why: {text}");
    assert!(
        text.contains("/data/partitions/1/log/00000000000000000001.log"),
        "names the file: {text}"
    );
    // Clients are told to retry, with the reason; orchestrators see an unhealthy node.
    let request = CreateInstance::latest("one-task");
    for client in [server.client(), server.rest_client()] {
        let Err(Error::Refused(problem)) = client.create_instance(&request).await else {
            panic!("a partition without a log took work");
        };
        assert_eq!(problem.code, Code::Unavailable, "{problem}");
        assert!(problem.detail.contains(reason), "{problem}");
    }
    for group in ["", "/readiness", "/liveness"] {
        let (status, body) = server
            .management("GET", &format!("/actuator/health{group}"))
            .expect("an answer");
        assert_eq!(status, 503, "{group}: {body}");
    }
    load.end().await;
    assert_eq!(
        acknowledged,
        (ledger.created(), ledger.completed()),
        "nothing is acknowledged after that"
    );
    assert!(
        ledger.created() > 5,
        "only {} instances were created",
        ledger.created()
    );
    server.kill();

    let server = Start::new(&data, &[]).ready().await;
    ledger::expect_everything_acknowledged(&server, &ledger).await;
}

/// Acknowledged creations and completions, once pending answers have arrived. A server that continues to acknowledge never settles.
async fn settled(ledger: &Shared) -> (usize, usize) {
    for _ in 0..60 {
        let before = (ledger.created(), ledger.completed());
        tokio::time::sleep(Duration::from_millis(500)).await;
        if before == (ledger.created(), ledger.completed()) {
            return before;
        }
    }
    panic!("the server goes on acknowledging");
}

#[test]
fn a_flush_that_fails_once_is_never_taken_for_success() {
    let name = "a_flush_that_fails_once_is_never_taken_for_success";
    sandbox::run(name, async |directory| {
        no_false_acknowledgement(
            &directory,
            "fdatasync",
            "error=EIO:when=40",
            "Input/output error",
        )
        .await;
    });
}

#[test]
fn a_flush_that_finds_no_room_is_never_taken_for_success() {
    let name = "a_flush_that_finds_no_room_is_never_taken_for_success";
    sandbox::run(name, async |directory| {
        no_false_acknowledgement(
            &directory,
            "fdatasync",
            "error=ENOSPC:when=40",
            "No space left on device",
        )
        .await;
    });
}

#[test]
fn a_write_that_fails_once_is_never_taken_for_success() {
    let name = "a_write_that_fails_once_is_never_taken_for_success";
    sandbox::run(name, async |directory| {
        no_false_acknowledgement(
            &directory,
            "pwrite64",
            "error=EIO:when=40",
            "Input/output error",
        )
        .await;
    });
}

/// Makes the flushes of checkpoints fail at one step; those of the log succeed.
async fn checkpoints_fail(directory: &Path, step: &str, error: &str, reason: &str) {
    require_strace();
    let (data, log) = (directory.join("data"), directory.join("log"));
    let ledger = Shared::default();
    let server = Start::new(&data, &[]).ready().await;
    ledger::deploy_one_task(&server.client()).await;
    drop(server);

    let store = data.join("partitions/1/state/kv-1/keyspaces/1").join(step);
    assert!(
        store.is_dir(),
        "the store has another layout now: no {}",
        store.display()
    );
    let injection = format!("error={error}");
    let server = start_failing(&data, &log, "fsync", &injection, Some(&store)).await;
    let load = Load::start(&server, &ledger, 6, r#"{"orderId":"A-17"}"#);
    for _ in 0..3 {
        let before = ledger.completed();
        eventually("work goes on", async || ledger.completed() > before + 10).await;
        let (status, answer) = take_checkpoint(&server);
        assert!(status >= 500, "{status} {answer}");
        let text = server.log();
        assert!(
            text.contains("checkpoint failed") && text.contains(reason),
            "{text}"
        );
        assert!(
            text.contains("/data/partitions/1/state"),
            "says where: {text}"
        );
    }
    drop(server);
    load.end().await;

    // The log was kept for the failed checkpoints.
    let server = Start::new(&data, &[]).ready().await;
    ledger::expect_everything_acknowledged(&server, &ledger).await;
    let (status, answer) = take_checkpoint(&server);
    assert!(status < 300, "{status} {answer}");
    drop(server);
    let server = Start::new(&data, &[]).ready().await;
    ledger::expect_everything_acknowledged(&server, &ledger).await;
}

fn take_checkpoint(server: &Server) -> (u16, String) {
    server
        .management("POST", "/actuator/partitions/takeSnapshot")
        .expect("an answer")
}

#[test]
fn a_checkpoint_whose_flush_fails_costs_nothing_but_itself() {
    let name = "a_checkpoint_whose_flush_fails_costs_nothing_but_itself";
    sandbox::run(name, async |directory| {
        checkpoints_fail(&directory, "tables", "EIO", "Input/output error").await;
    });
}

#[test]
fn a_checkpoint_that_finds_no_room_costs_nothing_but_itself() {
    let name = "a_checkpoint_that_finds_no_room_costs_nothing_but_itself";
    sandbox::run(name, async |directory| {
        checkpoints_fail(&directory, "", "ENOSPC", "No space left on device").await;
    });
}
