//! A file system that fills up under the real server: new work is refused before it is full, running work can be finished, only durable
//! work is acknowledged, and the server recovers by itself once there is space.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use skep_client::{ActivateJobs, Client, Code, CreateInstance, Error, Problem};
use skep_random::Random;
use skep_testkit::sandbox::{self, FileSystem, Filler};
use support::ledger::{self, Load, Shared};
use support::{PATIENCE, Server, Start, eventually};

const MIB: u64 = 1 << 20;

/// Small files and a checkpoint after a few MiB, so that a small disk suffices. No secondary storage: its history remains after work is
/// finished, which is to free space here.
const SMALL: [&str; 8] = [
    "--set",
    "camunda.data.secondary-storage.type=none",
    "--set",
    "skep.data.snapshot-log-size=8MB",
    "--set",
    "camunda.data.primary-storage.log-stream.log-segment-size=4MB",
    "--set",
    "camunda.data.primary-storage.disk.monitoring-interval=50ms",
];

async fn start(data: &Path, log: &Path, settings: &[&str]) -> Server {
    let arguments = [&SMALL[..], settings].concat();
    let start = Start::new(data, &arguments);
    start.log_to(log.to_path_buf()).ready().await
}

/// Variables of this many incompressible KiB.
fn variables(kibibytes: usize) -> String {
    let noise = Random(1).noise(kibibytes << 10);
    format!(r#"{{"payload":"{noise}"}}"#)
}

async fn complete(client: &Client, ledger: &Shared, jobs: i32) -> usize {
    let request = ActivateJobs {
        timeout: Duration::from_secs(180),
        ..ActivateJobs::new("work", jobs)
    };
    let jobs = client
        .activate_jobs(&request)
        .await
        .expect("jobs are given out");
    for job in &jobs {
        client
            .complete_job(job.key, None)
            .await
            .expect("jobs can be completed");
        ledger.with(|ledger| ledger.complete(job));
    }
    jobs.len()
}

/// Tries to create an instance, which may be refused.
async fn try_create(client: &Client) -> Result<i64, Problem> {
    let request = CreateInstance::latest("one-task");
    match client.create_instance(&request).await {
        Ok(instance) => Ok(instance.process_instance_key),
        Err(Error::Refused(problem)) => Err(problem),
        Err(error) => panic!("neither taken nor refused: {error}"),
    }
}

async fn takes_new_work(client: &Client, ledger: &Shared) -> bool {
    match try_create(client).await {
        Ok(key) => ledger.with(|ledger| ledger.created.insert(key)),
        Err(problem) if problem.code == Code::ResourceExhausted => false,
        Err(problem) => panic!("{problem}"),
    }
}

fn take_checkpoint(server: &Server) -> (u16, String) {
    server
        .management("POST", "/actuator/partitions/takeSnapshot")
        .expect("an answer")
}

fn is_healthy(server: &Server) -> bool {
    server
        .management("GET", "/actuator/health")
        .is_some_and(|(status, _)| status == 200)
}

#[test]
fn new_work_is_refused_before_the_disk_is_full_and_finishing_work_makes_room_again() {
    let name = "new_work_is_refused_before_the_disk_is_full_and_finishing_work_makes_room_again";
    sandbox::run(name, async |directory| {
        let disk = FileSystem::ext4(&directory, 96);
        let mark = 48 * MIB;
        let settings = [
            "--set",
            "camunda.data.primary-storage.disk.free-space.processing=48MB",
            "--set",
            "camunda.data.primary-storage.disk.free-space.replication=24MB",
        ];
        let server = start(&disk.root.join("data"), &directory.join("log"), &settings).await;
        let (client, rest) = (server.client(), server.rest_client());
        ledger::deploy_one_task(&client).await;
        let ledger = Shared::default();

        // Load until new work is refused.
        let load = Load::creations(&server, &ledger, 4, &variables(128));
        eventually("new work is refused", async || {
            ledger
                .refusal(Code::ResourceExhausted)
                .is_some_and(|why| why.contains("no new work"))
        })
        .await;
        load.stop().await;
        let why = ledger.refusal(Code::ResourceExhausted).unwrap();
        assert!(
            why.contains("MiB are free on the disk of its data directory"),
            "{why}"
        );
        let free = disk.free();
        assert!(
            free < mark + mark / 10 && free > mark / 2,
            "{} MiB are free",
            free / MIB
        );
        let refused = try_create(&rest).await.unwrap_err();
        assert_eq!(refused.code, Code::ResourceExhausted, "{refused}");
        let (status, health) = server.management("GET", "/actuator/health").unwrap();
        assert_eq!(status, 503, "{health}");
        assert!(health.contains(r#""threshold":50331648"#), "{health}");

        // Reads and completions continue on both interfaces.
        client.topology().await.unwrap();
        rest.topology().await.unwrap();
        assert_eq!(complete(&client, &ledger, 5).await, 5);
        assert_eq!(complete(&rest, &ledger, 5).await, 5);

        // Finished work frees space: checkpoints are taken, and the log before them is deleted.
        while complete(&client, &ledger, 200).await > 0 {}
        eventually("new work is taken again", async || {
            takes_new_work(&client, &ledger).await
        })
        .await;
        eventually("the server is healthy", async || is_healthy(&server)).await;
        ledger::expect_everything_acknowledged(&server, &ledger).await;
        println!(
            "{} instances filled the disk; refused at {} MiB",
            ledger.created(),
            free / MIB
        );
    });
}

/// The ranges of moments that can be restored, as the management port shows them.
fn ranges(server: &Server) -> Option<String> {
    let (status, state) = server.management("GET", "/actuator/backupRuntime/state")?;
    let (_, ranges) = state.split_once(r#""ranges":"#)?;
    (status == 200).then(|| ranges.to_string())
}

#[test]
fn required_backups_refuse_work_rather_than_delete_a_log_that_was_not_shipped() {
    let name = "required_backups_refuse_work_rather_than_delete_a_log_that_was_not_shipped";
    sandbox::run(name, async |directory| {
        let disk = FileSystem::ext4(&directory, 96);
        let (store, away) = (directory.join("store"), directory.join("away"));
        std::fs::create_dir(&store).unwrap();
        let base_path = format!(
            "camunda.data.primary-storage.backup.filesystem.base-path={}",
            store.display()
        );
        let settings = [
            "camunda.data.primary-storage.disk.free-space.processing=48MB",
            "camunda.data.primary-storage.disk.free-space.replication=24MB",
            "camunda.data.primary-storage.backup.store=filesystem",
            &base_path,
            "camunda.data.primary-storage.backup.continuous=true",
            "camunda.data.primary-storage.backup.required=true",
            "camunda.data.primary-storage.backup.checkpoint-interval=1s",
        ];
        let settings: Vec<&str> = settings.iter().flat_map(|it| ["--set", it]).collect();
        let server = start(&disk.root.join("data"), &directory.join("log"), &settings).await;
        let client = server.client();
        ledger::deploy_one_task(&client).await;
        eventually("the first backup is there", async || {
            ranges(&server).is_some_and(|ranges| ranges.contains("start"))
        })
        .await;

        // Without its directory the store takes nothing: a file has its name.
        std::fs::rename(&store, &away).unwrap();
        std::fs::write(&store, "").unwrap();
        let ledger = Shared::default();
        let load = Load::creations(&server, &ledger, 4, &variables(128));
        let refused = Code::ResourceExhausted;
        eventually("new work is refused for the backups", async || {
            let why = ledger.refusal(refused);
            why.is_some_and(|why| why.contains("backups are required"))
        })
        .await;
        load.stop().await;
        while complete(&client, &ledger, 200).await > 0 {}
        let (status, answer) = take_checkpoint(&server);
        assert!(status < 300, "{status} {answer}");
        assert!(
            !takes_new_work(&client, &ledger).await,
            "finished work frees no log that is to be shipped"
        );

        std::fs::remove_file(&store).unwrap();
        std::fs::rename(&away, &store).unwrap();
        eventually("new work is taken again", async || {
            takes_new_work(&client, &ledger).await
        })
        .await;
        let text = server.log();
        assert!(!text.contains("range of backups is broken"), "{text}");
        ledger::expect_everything_acknowledged(&server, &ledger).await;
    });
}

/// Takes all space until the log reports that there is none.
async fn fill_until_stalled(server: &Server, disk: &FileSystem) -> Filler {
    let refusal = "the log cannot grow; new work is refused until there is room";
    // Counted before filling the disk: on a busy machine the message may come while filling.
    let said = server.log().matches(refusal).count();
    let mut filler = disk.fill();
    let seen = || server.log().matches(refusal).count() > said;
    let refilled = eventually_holds(seen, || filler.take_more()).await;
    let text = server.log();
    assert!(
        refilled,
        "the log goes on for {PATIENCE:?} though the disk is full; {} bytes are free; the server says: {}",
        disk.free(),
        text.lines().rev().take(40).collect::<Vec<_>>().join("\n")
    );
    assert!(
        text.contains("the disk is full") && text.contains("/data/partitions/1/log/"),
        "names cause and file: {text}"
    );
    filler
}

/// Whether the condition becomes true in time. Space that the server frees meanwhile, mainly log before a checkpoint, is taken to the last
/// byte: with a few hundred KiB left a server with little state takes checkpoints and continues for ever.
async fn eventually_holds(holds: impl Fn() -> bool, mut meanwhile: impl FnMut()) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        meanwhile();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

/// Another program takes the last byte while the server works, faster than any check of the free space: checks are off, so the server
/// notices only by failing writes.
async fn others_fill_the_disk(directory: &Path, disk: &FileSystem) {
    let settings = [
        "--set",
        "camunda.data.primary-storage.disk.monitoring-enabled=false",
    ];
    let (data, log) = (disk.root.join("data"), directory.join("log"));
    let mut server = start(&data, &log, &settings).await;
    ledger::deploy_one_task(&server.client()).await;
    let ledger = Shared::default();
    for end in [WhileFull::Wait, WhileFull::Terminate, WhileFull::Kill] {
        let before = ledger.created();
        let mut load = Some(Load::start(&server, &ledger, 6, &variables(64)));
        eventually("work goes on", async || ledger.created() > before + 20).await;
        // The full disk hits any stage of the checkpoint.
        server.begin_checkpoint();
        let filler = fill_until_stalled(&server, disk).await;
        eventually("the server is unhealthy", async || !is_healthy(&server)).await;
        let refused = try_create(&server.client()).await.unwrap_err();
        assert_eq!(refused.code, Code::ResourceExhausted);
        assert!(refused.detail.contains("disk is full"), "{refused}");
        server.client().topology().await.expect("reads go on");
        if end != WhileFull::Wait
            && let Some(load) = load.take()
        {
            load.stop().await;
        }
        match end {
            WhileFull::Wait => drop(filler),
            WhileFull::Terminate => {
                let stopped = std::time::Instant::now();
                server.terminate();
                let took = stopped.elapsed();
                assert!(took < Duration::from_secs(180), "stopping took {took:?}");
                drop(filler);
                server = start(&data, &log, &settings).await;
            }
            // A start must not need space that is missing.
            WhileFull::Kill => {
                server.kill();
                server = start(&data, &log, &settings).await;
                server.client().topology().await.expect("reads go on");
                // Space freed by the start is taken, too.
                let rest = disk.fill();
                let (status, answer) = take_checkpoint(&server);
                assert!(
                    status >= 500,
                    "a checkpoint says that it failed: {status} {answer}"
                );
                assert!(
                    server.log().contains("checkpoint failed"),
                    "{}",
                    server.log()
                );
                drop((filler, rest));
            }
        }
        let client = server.client();
        eventually("new work is taken again", async || {
            takes_new_work(&client, &ledger).await
        })
        .await;
        eventually("the server is healthy", async || is_healthy(&server)).await;
        let (status, answer) = take_checkpoint(&server);
        assert!(status < 300, "checkpoints work again: {status} {answer}");
        if let Some(load) = load.take() {
            // The waiting clients have received their answers.
            let (created, completed) = (ledger.created(), ledger.completed());
            eventually("work goes on", async || {
                ledger.created() > created && ledger.completed() > completed
            })
            .await;
            load.stop().await;
        }
    }
    ledger::expect_everything_acknowledged(&server, &ledger).await;
    server.kill();
    let server = start(&data, &log, &settings).await;
    ledger::expect_everything_acknowledged(&server, &ledger).await;
    println!(
        "{} acknowledged instances, {} acknowledged completions, nothing lost",
        ledger.created(),
        ledger.completed()
    );
}

/// Actions on the server while its disk is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhileFull {
    Wait,
    Terminate,
    Kill,
}

#[test]
fn a_full_ext4_loses_no_acknowledged_command_and_the_server_recovers_unaided() {
    let name = "a_full_ext4_loses_no_acknowledged_command_and_the_server_recovers_unaided";
    sandbox::run(name, async |directory| {
        let disk = FileSystem::ext4(&directory, 128);
        others_fill_the_disk(&directory, &disk).await;
    });
}

#[test]
fn a_full_tmpfs_loses_no_acknowledged_command_and_the_server_recovers_unaided() {
    let name = "a_full_tmpfs_loses_no_acknowledged_command_and_the_server_recovers_unaided";
    sandbox::run(name, async |directory| {
        let disk = FileSystem::tmpfs(&directory, 128);
        others_fill_the_disk(&directory, &disk).await;
    });
}
