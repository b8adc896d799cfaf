//! Exporters of records besides secondary storage: delivery, restarts, and retention of the log.

mod support;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_broker::BrokerConfig;
use skep_broker::partition::Report;
use skep_exporting::Phase;
use skep_protocol::command::{Command, ExportingChange};
use skep_protocol::value::ExportingPhase;
use support::exporter::{Fake, Target};
use support::{PATIENCE, Rig, one_task};

fn exporting(fakes: &[(&str, &Fake)]) -> impl FnOnce(&mut BrokerConfig) + 'static {
    let exporters: Vec<_> = fakes.iter().map(|(id, fake)| fake.named(id)).collect();
    move |config| {
        config.exporters = exporters;
        config.export_interval = Duration::from_millis(1);
        config.log_segment_bytes = 1 << 20;
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn committed(rig: &Rig) -> u64 {
    let status = &rig.broker.partitions()[0].status;
    status.committed_position.load(Ordering::Relaxed)
}

/// Waits until the target has every record up to the newest one, and the state confirms it. Returns that record; the exporters' later
/// report adds one more record.
async fn arrives(rig: &Rig, id: &str, fake: &Fake) -> u64 {
    let mut last = 0;
    until("everything arrives", || {
        last = committed(rig);
        let value = rig.broker.partitions()[0].exporters.value();
        let reported = value.exporter(id).map_or(0, |e| e.position.record);
        let target = fake.0.lock();
        // The report is a record as well, and may be the last one.
        target
            .records
            .last_key_value()
            .is_some_and(|(at, _)| *at == last)
            && reported + 1 >= last
    })
    .await;
    last
}

/// Asserts that no record is missing from the first up to this one, or a later one.
fn expect_all(target: &Target, last: u64) {
    let positions: Vec<u64> = target.records.keys().copied().collect();
    let end = positions.last().copied().unwrap_or_default();
    assert!(end >= last, "{end} {last}");
    assert_eq!(positions, (1..=end).collect::<Vec<_>>());
}

async fn change(rig: &Rig, change: ExportingChange) {
    let partition = 1;
    let command = Command::ChangeExporting { partition, change };
    rig.send(command).await.unwrap();
}

async fn snapshot(rig: &Rig) {
    let (done, wait) = crossbeam_channel::bounded(1);
    let handle = &rig.broker.partitions()[0];
    handle.inbox.send(Report::TakeSnapshot(Some(done)));
    tokio::task::spawn_blocking(move || wait.recv().unwrap().unwrap())
        .await
        .unwrap();
}

/// Writes about a megabyte of log.
async fn write_much(rig: &Rig) {
    let variables = format!(r#"{{"v":"{}"}}"#, "x".repeat(200_000));
    for _ in 0..6 {
        rig.create("one-task", &variables).await.unwrap();
    }
}

/// The first file of the log.
fn first_segment(rig: &Rig) -> String {
    let log = rig.directory.path().join("partitions/1/log");
    let names = std::fs::read_dir(log).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".log")).min().unwrap()
}

/// Takes checkpoints until the log before them is compacted: secondary storage may need it for some time.
async fn is_compacted(rig: &Rig, first: &str) {
    let deadline = Instant::now() + PATIENCE;
    while first_segment(rig) == first {
        assert!(Instant::now() < deadline, "the log is compacted");
        snapshot(rig).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_record_arrives_and_a_restart_continues_at_the_last_position() {
    let fake = Fake::default();
    let rig = Rig::new(exporting(&[("a", &fake)])).await;
    rig.deploy(&one_task()).await;
    for _ in 0..5 {
        rig.create("one-task", "{}").await.unwrap();
    }
    arrives(&rig, "a", &fake).await;
    let before = committed(&rig);
    let rig = rig.restart(exporting(&[("a", &fake)])).await;
    rig.create("one-task", "{}").await.unwrap();
    let last = arrives(&rig, "a", &fake).await;
    let target = fake.0.lock();
    expect_all(&target, last);
    let (position, metadata) = &target.beginnings[1];
    assert!(position.record + 1 >= before, "{position:?} {before}");
    assert!(metadata[0] > 0, "what it left there is there again");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_nothing_happens_nothing_is_written() {
    let fake = Fake::default();
    let rig = Rig::new(exporting(&[("a", &fake)])).await;
    rig.deploy(&one_task()).await;
    arrives(&rig, "a", &fake).await;
    let before = committed(&rig);
    // After so many checks the partition has had every reason to report.
    for _ in 0..20 {
        snapshot(&rig).await;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let after = committed(&rig);
    assert!(after <= before + 1, "{before} {after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_exporter_holds_the_log_but_no_other_exporter_and_catches_up() {
    let (away, well) = (Fake::default(), Fake::default());
    away.0.lock().is_away = true;
    let rig = Rig::new(exporting(&[("away", &away), ("well", &well)])).await;
    rig.deploy(&one_task()).await;
    let first = first_segment(&rig);
    write_much(&rig).await;
    arrives(&rig, "well", &well).await;
    snapshot(&rig).await;
    write_much(&rig).await;
    snapshot(&rig).await;
    assert_eq!(first_segment(&rig), first, "the log is kept");
    let statuses = rig.broker.partitions()[0].exporters.exporters();
    let status = statuses.iter().find(|status| status.id == "away").unwrap();
    let fault = status.fault().map(|fault| fault.reason);
    assert_eq!(fault.as_deref(), Some("the target is away"));
    let slowest = rig.broker.partitions()[0].exporters.slowest().unwrap();
    assert_eq!(slowest.id, "away");
    assert!(away.0.lock().records.is_empty());

    away.0.lock().is_away = false;
    let last = arrives(&rig, "away", &away).await;
    {
        let target = away.0.lock();
        expect_all(&target, last);
        let once = target.records.values().all(|times| *times == 1);
        assert!(once, "nothing twice");
    }
    write_much(&rig).await;
    arrives(&rig, "away", &away).await;
    is_compacted(&rig, &first).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_exporter_holds_no_log_stays_disabled_and_resumes_at_the_end() {
    let fake = Fake::default();
    let rig = Rig::new(exporting(&[("a", &fake)])).await;
    rig.deploy(&one_task()).await;
    arrives(&rig, "a", &fake).await;
    change(&rig, ExportingChange::Disable { id: "a".into() }).await;
    let first = first_segment(&rig);
    write_much(&rig).await;
    snapshot(&rig).await;
    write_much(&rig).await;
    is_compacted(&rig, &first).await;
    let rig = rig.restart(exporting(&[("a", &fake)])).await;
    write_much(&rig).await;
    assert_eq!(fake.0.lock().beginnings.len(), 1, "it did not begin again");
    let end = committed(&rig);
    let enable = ExportingChange::Enable {
        id: "a".into(),
        initialize_from: None,
        end: Default::default(),
    };
    change(&rig, enable).await;
    rig.create("one-task", "{}").await.unwrap();
    arrives(&rig, "a", &fake).await;
    let target = fake.0.lock();
    let (position, _) = &target.beginnings[1];
    assert_eq!(position.record, end);
    assert!(!target.records.contains_key(&(end - 1)));
    assert!(target.records.contains_key(&(end + 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_everything_survives_a_restart_and_is_taken_back_while_processing_is_paused()
{
    let fake = Fake::default();
    let rig = Rig::new(exporting(&[("a", &fake)])).await;
    rig.deploy(&one_task()).await;
    arrives(&rig, "a", &fake).await;
    let paused = ExportingChange::Phase(ExportingPhase::Paused);
    change(&rig, paused).await;
    until("all rest", || {
        let statuses = rig.broker.partitions()[0].exporters.exporters();
        statuses.len() == 2 && statuses.iter().all(|status| status.is_resting())
    })
    .await;
    let before = fake.0.lock().records.len();
    rig.create("one-task", "{}").await.unwrap();
    let rig = rig.restart(exporting(&[("a", &fake)])).await;
    assert_eq!(rig.broker.partitions()[0].exporters.phase(), Phase::Paused);
    rig.create("one-task", "{}").await.unwrap();
    until("all rest", || {
        let statuses = rig.broker.partitions()[0].exporters.exporters();
        statuses.len() == 2 && statuses.iter().all(|status| status.is_resting())
    })
    .await;
    assert_eq!(fake.0.lock().records.len(), before);
    let handle = &rig.broker.partitions()[0];
    handle
        .status
        .processing_paused
        .store(true, Ordering::Relaxed);
    let resume = ExportingChange::Phase(ExportingPhase::Exporting);
    change(&rig, resume).await;
    handle
        .status
        .processing_paused
        .store(false, Ordering::Relaxed);
    let last = arrives(&rig, "a", &fake).await;
    expect_all(&fake.0.lock(), last);
}
