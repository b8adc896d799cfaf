//! The writer thread: group commit, a full disk, a failed disk, a clean stop.

mod support;

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Log, LogConfig, LogWriter, Report, WriterConfig};
use support::*;

fn spawn(disk: &MemoryDisk) -> (LogWriter, Receiver<Report>) {
    let plain = LogConfig {
        compress_from: u64::MAX,
        ..small()
    };
    let (log, _) = Log::open(Arc::new(disk.clone()), DIRECTORY, plain).unwrap();
    let (sender, reports) = unbounded();
    let config = WriterConfig {
        retry: Duration::from_millis(1),
        ..WriterConfig::default()
    };
    // A test that is done may have disconnected.
    let report = move |report| drop(sender.send(report));
    (LogWriter::spawn(log, config, report).unwrap(), reports)
}

fn next(reports: &Receiver<Report>) -> Report {
    reports.recv_timeout(Duration::from_secs(180)).unwrap()
}

fn written(reports: &Receiver<Report>, number: u64) {
    loop {
        match next(reports) {
            Report::Written { number: done, .. } if done == number => return,
            Report::Written { number: done, .. } => assert!(done < number),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn appends_that_wait_share_one_flush() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    writer.append(1, vec![entry(1, 1, 10)]).unwrap();
    written(&reports, 1);
    // While the disk is full the first append waits, and the others gather behind it.
    disk.set_capacity(Some(disk.used()));
    writer.append(2, vec![entry(2, 1, 5000)]).unwrap();
    assert!(matches!(next(&reports), Report::Stalled { number: 2, .. }));
    for number in 3..=100 {
        writer.append(number, vec![entry(number, 1, 10)]).unwrap();
    }
    let (_, before) = disk.operations();
    disk.set_capacity(None);
    written(&reports, 100);
    let (_, after) = disk.operations();
    assert!(
        after - before < 10,
        "{} flushes for 99 appends",
        after - before
    );
    writer.stop().unwrap();
    assert_eq!(open(&disk).1.last.index, 100);
}

#[test]
fn a_full_disk_is_reported_once_and_waited_out() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    disk.set_capacity(Some(disk.used()));
    writer.append(1, vec![entry(1, 1, 6000)]).unwrap();
    match next(&reports) {
        Report::Stalled { number: 1, error } => assert!(error.is_disk_full(), "{error}"),
        other => panic!("{other:?}"),
    }
    assert!(
        reports.recv_timeout(Duration::from_millis(20)).is_err(),
        "no second report"
    );
    disk.set_capacity(None);
    written(&reports, 1);
    drop(writer);
    assert_eq!(open(&disk).1.last.index, 1);
}

#[test]
fn a_writer_that_waits_for_space_can_be_stopped() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    disk.set_capacity(Some(disk.used()));
    writer.append(1, vec![entry(1, 1, 6000)]).unwrap();
    assert!(matches!(next(&reports), Report::Stalled { .. }));
    let error = writer.stop().unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    disk.set_capacity(None);
    assert_eq!(open(&disk).1.last.index, 0, "it was not acknowledged");
}

#[test]
fn after_a_failed_flush_nothing_is_reported_as_written() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    disk.fail_syncs(1);
    writer.append(1, vec![entry(1, 1, 10)]).unwrap();
    assert!(matches!(next(&reports), Report::Failed { .. }));
    assert!(writer.stop().is_err());
    assert!(reports.try_recv().is_err());
}

#[test]
fn compaction_comes_after_the_appends_before_it() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    for number in 1..=50 {
        writer.append(number, vec![entry(number, 1, 300)]).unwrap();
    }
    writer.compact(40, 1).unwrap();
    writer.append(51, vec![entry(51, 1, 300)]).unwrap();
    let mut last = 0;
    loop {
        match next(&reports) {
            Report::Written { number, .. } => last = number,
            Report::Compacted { index } => {
                assert_eq!((index, last), (40, 50));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    written(&reports, 51);
    writer.stop().unwrap();
    let (log, recovered) = open(&disk);
    assert_eq!((recovered.base.index, recovered.last.index), (40, 51));
    assert_eq!(read_all(&log).len(), 11);
}

#[test]
fn with_nothing_waiting_the_caller_may_write_itself() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    let here = writer.append_here(1, vec![entry(1, 1, 10)]).unwrap();
    assert!(matches!(here, Some(Report::Written { number: 1, .. })));
    assert_eq!(disk.operations().1, 2, "the header and the entry");

    // The thread itself waits for space, and later appends wait behind it.
    disk.set_capacity(Some(disk.used()));
    assert!(
        writer
            .append_here(2, vec![entry(2, 1, 6000)])
            .unwrap()
            .is_none()
    );
    assert!(matches!(next(&reports), Report::Stalled { number: 2, .. }));
    assert!(
        writer
            .append_here(3, vec![entry(3, 1, 10)])
            .unwrap()
            .is_none()
    );
    disk.set_capacity(None);
    written(&reports, 3);
    writer.stop().unwrap();
    assert_eq!(open(&disk).1.last.index, 3);
}

#[test]
fn a_flush_that_fails_for_the_caller_ends_the_log_too() {
    let disk = MemoryDisk::new();
    let (writer, reports) = spawn(&disk);
    disk.fail_syncs(1);
    let here = writer.append_here(1, vec![entry(1, 1, 10)]).unwrap();
    assert!(matches!(here, Some(Report::Failed { .. })));
    writer.append(2, vec![entry(1, 1, 10)]).unwrap();
    assert!(matches!(next(&reports), Report::Failed { .. }));
    assert!(writer.stop().is_err());
}

#[test]
fn the_writer_has_the_next_segment_made_before_it_is_needed() {
    let disk = MemoryDisk::new();
    let config = LogConfig {
        segment_bytes: 64 << 10,
        ..small()
    };
    let (log, _) = Log::open(Arc::new(disk.clone()), DIRECTORY, config).unwrap();
    let (sender, reports) = unbounded();
    let report = move |report| drop(sender.send(report));
    let writer = LogWriter::spawn(log, WriterConfig::default(), report).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(180);
    let (mut number, mut last) = (0, 1);
    // On a busy machine the log may be faster than the thread that prepares the segment, and then does without it.
    let made_ahead = loop {
        assert!(std::time::Instant::now() < deadline, "{:?}", disk.paths());
        number += 1;
        writer.append(number, vec![entry(number, 1, 300)]).unwrap();
        written(&reports, number);
        if let Some(content) = disk.content(&segment(last + 1)) {
            last += 1;
            if content.len() == 64 << 10 {
                break last;
            }
        }
    };
    assert!(
        disk.content(&segment(made_ahead - 1)).unwrap().len() <= 64 << 10,
        "the segment before ends where it would have had to grow"
    );
    writer.stop().unwrap();
    assert_eq!(open(&disk).1.last.index, number);
}

#[test]
fn a_writer_that_panics_reports_it_and_says_so_when_it_is_stopped() {
    let disk = MemoryDisk::new();
    let (log, _) = Log::open(Arc::new(disk), DIRECTORY, small()).unwrap();
    let (sender, reports) = unbounded();
    let report = move |report| {
        if matches!(report, Report::Written { .. }) {
            panic!("a bug");
        }
        drop(sender.send(report));
    };
    let writer = LogWriter::spawn(log, WriterConfig::default(), report).unwrap();
    writer.append(1, vec![entry(1, 1, 10)]).unwrap();
    let Report::Failed { error } = next(&reports) else {
        panic!("no failure")
    };
    let text = "the thread that writes the log panicked (a bug)";
    assert!(error.to_string().starts_with(text), "{error}");
    let error = writer.stop().unwrap_err();
    assert!(error.to_string().starts_with(text), "{error}");
}
