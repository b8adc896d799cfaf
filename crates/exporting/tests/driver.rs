//! The thread of an exporter: its output, failures, and commands of operators.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use skep_exporting::{
    Bulk, CommittedLog, Driver, ExportMetrics, Exporter, LogError, LogProgress, Phase, Position,
    Sink, Status, Tally, TargetError,
};

/// Entries 1, 2, 3 …, each with one record of the same position; those before `first` are gone.
#[derive(Clone)]
struct Log {
    first: u64,
}

impl CommittedLog for Log {
    fn read(&self, from: u64, to: u64, _max: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
        if from < self.first {
            return Err(LogError::Compacted { first: self.first });
        }
        Ok((from..to)
            .map(|index| (index, Bytes::from_static(b"entry")))
            .collect())
    }
}

/// Data and behaviour of a fake exporter's target.
#[derive(Default)]
struct Target {
    stored: Vec<u64>,
    /// Number of housekeeping calls.
    looks: usize,
    lost: Vec<u64>,
    /// Number of flushes that will fail.
    failures: usize,
    /// Failing flushes have stored the data: only the answer is lost.
    answers_get_lost: bool,
    /// Whether the target knows its position.
    knows: bool,
    is_slow: bool,
}

type Shared = Arc<Mutex<Target>>;

struct Fake {
    target: Shared,
    taken: Vec<u64>,
    durable: Position,
}

impl Exporter for Fake {
    fn open(&mut self) -> Result<Option<Position>, TargetError> {
        let target = self.target.lock();
        if !target.knows {
            return Ok(None);
        }
        self.taken.clear();
        let entry = target.stored.last().copied().unwrap_or(0);
        Ok(Some(at(entry)))
    }

    fn take(
        &mut self,
        entry: u64,
        _payload: &[u8],
        _tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError> {
        self.taken.push(entry);
        Ok((entry, 0))
    }

    fn bulk(&self) -> Bulk {
        Bulk {
            items: self.taken.len(),
            bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.taken.len() >= 10
    }

    fn window(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn flush(&mut self, to: Position) -> Result<(), TargetError> {
        while self.target.lock().is_slow {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut target = self.target.lock();
        if target.failures > 0 {
            target.failures -= 1;
            if target.answers_get_lost {
                target.stored.append(&mut self.taken);
            }
            return Err(TargetError::Busy("the target is away".to_string()));
        }
        target.stored.append(&mut self.taken);
        self.durable = to;
        Ok(())
    }

    fn durable(&self) -> Position {
        self.durable
    }

    fn lost(&mut self, to: u64) {
        self.target.lock().lost.push(to);
    }

    fn maintain(&mut self) -> Result<Duration, TargetError> {
        self.target.lock().looks += 1;
        Ok(Duration::MAX)
    }
}

fn at(entry: u64) -> Position {
    Position {
        entry,
        record: entry,
        timestamp: 0,
    }
}

struct Running {
    progress: Arc<LogProgress>,
    status: Arc<Status>,
    target: Shared,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn new(progress: &Arc<LogProgress>, target: Target, from: u64, first: u64) -> Running {
        let target = Arc::new(Mutex::new(target));
        let metrics = ExportMetrics::default().of(1, "fake", Sink::Other);
        let status = Arc::new(Status::new("fake", at(from), metrics));
        let fake = Fake {
            target: target.clone(),
            taken: Vec::new(),
            durable: at(from),
        };
        let driver = Driver::new(fake, Log { first }, progress.clone(), status.clone(), 1);
        Running {
            progress: progress.clone(),
            status,
            target,
            thread: driver.start(),
        }
    }

    fn stored(&self) -> Vec<u64> {
        self.target.lock().stored.clone()
    }

    /// Waits until the target has everything committed, and this is known.
    fn catches_up(&self, from: u64) {
        let to = self.progress.committed();
        until("it catches up", || self.status.durable() == at(to));
        assert_eq!(self.stored(), (from..=to).collect::<Vec<_>>());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.target.lock().is_slow = false;
        self.status.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn committed(index: u64) -> Arc<LogProgress> {
    let progress = Arc::new(LogProgress::default());
    progress.commit(index);
    progress
}

#[test]
fn it_continues_after_its_position_and_with_later_commits() {
    let progress = committed(25);
    let running = Running::new(&progress, Target::default(), 5, 1);
    running.catches_up(6);
    progress.commit(27);
    running.catches_up(6);
}

#[test]
fn an_unchanged_commit_wakes_nobody() {
    let progress = committed(25);
    let running = Running::new(&progress, Target::default(), 0, 1);
    running.catches_up(1);
    let before = running.target.lock().looks;
    for _ in 0..2000 {
        progress.commit(25);
        std::thread::yield_now();
    }
    progress.commit(26);
    running.catches_up(1);
    let looks = running.target.lock().looks - before;
    assert!(looks < 100, "it was woken {looks} times for one entry");
}

#[test]
fn failed_exports_are_retried_until_they_succeed() {
    let target = Target {
        failures: 1,
        ..Target::default()
    };
    let progress = committed(25);
    let running = Running::new(&progress, target, 0, 1);
    let fault = || running.status.fault().map(|fault| fault.reason);
    until("it fails", || running.status.failures() == 1);
    running.catches_up(1);
    until("it works again", || fault().is_none());
}

#[test]
fn a_target_that_knows_how_far_it_goes_gets_nothing_twice_when_an_answer_got_lost() {
    let target = Target {
        failures: 1,
        answers_get_lost: true,
        knows: true,
        ..Target::default()
    };
    let running = Running::new(&committed(25), target, 0, 1);
    until("it fails", || running.status.failures() == 1);
    running.catches_up(1);
}

#[test]
fn one_that_is_slow_or_fails_delays_no_other() {
    let progress = committed(25);
    let slow = Target {
        is_slow: true,
        ..Target::default()
    };
    let failing = Target {
        failures: usize::MAX,
        ..Target::default()
    };
    let slow = Running::new(&progress, slow, 0, 1);
    let failing = Running::new(&progress, failing, 0, 1);
    let well = Running::new(&progress, Target::default(), 0, 1);
    well.catches_up(1);
    progress.commit(50);
    well.catches_up(1);
    assert_eq!((slow.status.durable(), slow.stored()), (at(0), vec![]));
    assert_eq!(
        (failing.status.durable(), failing.stored()),
        (at(0), vec![])
    );
    slow.target.lock().is_slow = false;
    slow.catches_up(1);
}

#[test]
fn a_paused_or_disabled_one_does_nothing_until_it_may() {
    let progress = committed(25);
    let running = Running::new(&progress, Target::default(), 0, 1);
    running.catches_up(1);
    running.status.set_phase(Phase::Paused);
    until("it rests", || running.status.is_resting());
    // The progress of another exporter shows that the paused one had enough time.
    let other = Running::new(&progress, Target::default(), 0, 1);
    progress.commit(60);
    other.catches_up(1);
    assert_eq!(running.status.durable(), at(25));
    running.status.set_enabled(false);
    running.status.set_phase(Phase::Exporting);
    progress.commit(90);
    other.catches_up(1);
    assert_eq!(running.stored().len(), 25);
    running.status.set_enabled(true);
    running.catches_up(1);
}

#[test]
fn a_softly_paused_one_exports_and_holds_the_log() {
    let progress = committed(25);
    let running = Running::new(&progress, Target::default(), 0, 1);
    running.catches_up(1);
    running.status.set_phase(Phase::SoftPaused);
    progress.commit(60);
    until("it exports", || running.status.exported_position() == 60);
    assert_eq!(running.status.durable(), at(25));
    running.status.set_phase(Phase::Exporting);
    progress.commit(61);
    running.catches_up(1);
}

#[test]
fn entries_that_the_log_no_longer_has_are_skipped_and_reported() {
    let running = Running::new(&committed(25), Target::default(), 3, 20);
    until("it catches up", || running.status.durable() == at(25));
    assert_eq!(running.stored(), (20..=25).collect::<Vec<_>>());
    assert_eq!(running.target.lock().lost, [19]);
}
