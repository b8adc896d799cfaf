//! The thread of an exporter: reads the committed log, passes entries on, and retries failures.
//!
//! Every exporter has its own thread. One that is slow, failing, paused or disabled delays no other exporter, and never the
//! partition.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::exporter::{Exporter, Position};
use crate::log::{CommittedLog, LogError, LogProgress};
use crate::metrics::Tally;
use crate::status::Status;
use crate::target_error::TargetError;

/// Bytes of the log read at a time.
const READ_BYTES: usize = 1 << 20;
/// Maximum interval between syncs, which make flushed data survive power failures.
const SYNC_EVERY: Duration = Duration::from_secs(5);
/// Initial pause before a retry; it doubles with each failure.
const RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY: Duration = Duration::from_secs(10);
/// Stack size of the thread in bytes. It compiles models, which nest as deeply as on the partition's thread, so it needs as
/// much.
const STACK_BYTES: usize = 8 << 20;
/// Maximum number of batches in a window whose write times are recorded.
const MAX_TIMES: usize = 10_000;
/// Windows are this many times as long while another node answers for the partition. Changes that cancel out within a window
/// then cost less, and queries here still do not wait for its end.
const LEISURE: u32 = 5;

/// Drives one exporter.
pub struct Driver<E, L> {
    exporter: E,
    log: L,
    progress: Arc<LogProgress>,
    status: Arc<Status>,
    partition: u32,
    is_open: bool,
    /// The position up to which entries have been taken in.
    read: Position,
    flushed: Position,
    window_began: Option<Instant>,
    /// Write times of the batches in the window, in epoch milliseconds; only the first [`MAX_TIMES`].
    written: Vec<i64>,
    tally: Tally,
    last_sync: Instant,
}

impl<E: Exporter, L: CommittedLog> Driver<E, L> {
    /// Starts after the [`durable`](Status::durable) position of `status`, unless the exporter reports another one.
    pub fn new(
        exporter: E,
        log: L,
        progress: Arc<LogProgress>,
        status: Arc<Status>,
        partition: u32,
    ) -> Driver<E, L> {
        let from = status.durable();
        Driver {
            exporter,
            log,
            progress,
            status,
            partition,
            is_open: false,
            read: from,
            flushed: from,
            window_began: None,
            written: Vec::new(),
            tally: Tally::default(),
            last_sync: Instant::now(),
        }
    }

    /// Starts the thread. It ends after [`Status::stop`]. A thread that cannot start is reported as a fault of the exporter.
    pub fn start(mut self) -> Option<std::thread::JoinHandle<()>> {
        let (status, progress) = (self.status.clone(), self.progress.clone());
        let (partition, failed) = (self.partition, self.status.clone());
        let work = move || {
            progress.attach(&status);
            // A bug must not look like an exporter that is merely behind.
            if catch_unwind(AssertUnwindSafe(|| self.run())).is_err() {
                let reason =
                    "the exporter's thread panicked; this is a bug, see the log of the node";
                tracing::error!(code = "PANIC", partition, exporter = %status.id, reason, "nothing is exported any more");
                status.failed(reason);
            }
            progress.detach(&status);
        };
        let thread = std::thread::Builder::new()
            .name(format!("export-{partition}"))
            .stack_size(STACK_BYTES);
        match thread.spawn(work) {
            Ok(thread) => Some(thread),
            Err(error) => {
                let reason = format!("its thread cannot start: {error}");
                tracing::error!(code = "EXPORTER", partition, exporter = %failed.id, %reason, "nothing is exported");
                failed.failed(&reason);
                None
            }
        }
    }

    fn run(&mut self) {
        let mut pause = RETRY;
        loop {
            match self.step() {
                Ok(Step::Stopped) => return,
                Ok(Step::Went) => {}
                Ok(Step::Flushed) => {
                    pause = RETRY;
                    if self.status.works() {
                        tracing::info!(partition = self.partition, exporter = %self.status.id, "exporting again");
                    }
                }
                Err(error) => {
                    self.is_open = false;
                    if self.status.failed(&error.to_string()) {
                        tracing::error!(
                            code = "EXPORTER",
                            partition = self.partition,
                            exporter = %self.status.id,
                            kind = error.kind(),
                            reason = %error,
                            "nothing is exported; the log is kept until the exporter works again"
                        );
                    }
                    if self.status.is_stopping() {
                        return;
                    }
                    pause = retry_after(&error, pause);
                    std::thread::park_timeout(pause);
                    pause = (pause * 2).min(MAX_RETRY);
                }
            }
        }
    }

    fn step(&mut self) -> Result<Step, TargetError> {
        let stopping = self.status.is_stopping();
        if self.status.is_halted() {
            return Ok(self.halt(stopping));
        }
        self.status.rests(false);
        if !self.is_open {
            self.open()?;
        }
        let awaited = self.exporter.is_awaited();
        let went = (!stopping || self.exporter.finishes()) && self.take_in()?;
        let caught_up = self.read.entry >= self.progress.committed();
        let age = self
            .window_began
            .map_or(Duration::ZERO, |began| began.elapsed());
        let due = self.exporter.is_full()
            || age >= self.window()
            || (stopping && !went)
            || (caught_up && awaited);
        let mut step = Step::Went;
        if due && self.read != self.flushed {
            self.flush()?;
            step = Step::Flushed;
        }
        if stopping && (caught_up || !self.exporter.finishes()) {
            self.sync()?;
            return Ok(Step::Stopped);
        }
        let rest = if stopping {
            Duration::MAX
        } else {
            self.exporter.maintain()?
        };
        if caught_up {
            if self.until_sync().is_zero() {
                self.sync()?;
            }
            if self.read == self.flushed {
                step = Step::Flushed;
            }
        }
        if !went {
            self.rest(rest);
        }
        Ok(step)
    }

    fn open(&mut self) -> Result<(), TargetError> {
        if let Some(position) = self.exporter.open()? {
            (self.read, self.flushed) = (position, position);
            self.window_began = None;
            self.written.clear();
            self.report();
        }
        self.is_open = true;
        Ok(())
    }

    /// Waits while an operator has halted the exporter, or another node exports. Entries taken in are kept until then.
    fn halt(&mut self, stopping: bool) -> Step {
        // Another node may have exported in the meantime, so the position has to be read again.
        self.is_open &= !self.status.is_elsewhere();
        self.status.rests(true);
        if stopping {
            return Step::Stopped;
        }
        if self.status.works() {
            tracing::info!(partition = self.partition, exporter = %self.status.id, "the exporter is halted");
        }
        // A change of this state wakes the thread.
        std::thread::park();
        Step::Went
    }

    /// How long entries are collected before they are flushed together.
    fn window(&self) -> Duration {
        let times = if self.status.has_leisure() {
            LEISURE
        } else {
            1
        };
        self.exporter.window().saturating_mul(times)
    }

    /// Waits for entries, for the end of the window, or for a demand, but no longer than `at_most`.
    fn rest(&mut self, at_most: Duration) {
        match self.window_began {
            // Entries committed in the meantime are taken in when the window ends.
            Some(began) => {
                let rest = self.window().saturating_sub(began.elapsed());
                std::thread::park_timeout(rest.min(at_most));
            }
            None => {
                let at_most = self.until_sync().min(at_most);
                let sleeper = &self.status.sleeper;
                self.progress.sleep(sleeper, self.read.entry, at_most);
            }
        }
    }

    /// Time until the next sync. Unlimited if there is nothing to sync.
    fn until_sync(&self) -> Duration {
        if self.status.durable() == self.flushed {
            Duration::MAX
        } else {
            SYNC_EVERY.saturating_sub(self.last_sync.elapsed())
        }
    }

    /// Reads newly committed entries. Returns false if there are none, or if there is no room for more.
    fn take_in(&mut self) -> Result<bool, TargetError> {
        let (from, to) = (self.read.entry + 1, self.progress.committed() + 1);
        if from >= to || self.exporter.is_full() {
            return Ok(false);
        }
        let entries = match self.log.read(from, to, READ_BYTES) {
            Ok(entries) => entries,
            Err(LogError::Compacted { first }) => {
                self.skip_to(first);
                return Ok(true);
            }
            Err(error) => return Err(TargetError::Corrupt(error.to_string())),
        };
        let Some((last, _)) = entries.last() else {
            return Ok(false);
        };
        let last = *last;
        let (now, mut began) = (now_millis(), Instant::now());
        for (index, payload) in &entries {
            if !payload.is_empty() {
                began = self.take(*index, payload, (now, began))?;
            }
            self.read.entry = *index;
            self.window_began.get_or_insert_with(Instant::now);
            if self.exporter.is_full() {
                return Ok(true);
            }
        }
        self.read.entry = last;
        Ok(true)
    }

    /// Takes in an entry whose processing began at `began`. Returns when it was done.
    fn take(
        &mut self,
        index: u64,
        payload: &[u8],
        (now, began): (i64, Instant),
    ) -> Result<Instant, TargetError> {
        let taken = self.exporter.take(index, payload, &mut self.tally);
        (self.read.record, self.read.timestamp) = taken.map_err(|error| {
            self.tally.forget();
            error.at(format_args!("entry {index} of the log"))
        })?;
        let done = Instant::now();
        let metrics = &self.status.metrics;
        let late = since(self.read.timestamp, now);
        self.tally.publish(metrics, done - began, late);
        if self.written.len() < MAX_TIMES {
            self.written.push(self.read.timestamp);
        }
        Ok(done)
    }

    fn skip_to(&mut self, first: u64) {
        if self.read.entry == 0 {
            tracing::warn!(
                code = "EXPORTER",
                partition = self.partition,
                exporter = %self.status.id,
                first,
                "the exporter is new, or its file was removed; it begins at the start of the log: earlier records are not exported"
            );
        } else {
            tracing::error!(
                code = "EXPORTER",
                partition = self.partition,
                exporter = %self.status.id,
                from = self.read.entry + 1,
                first,
                "the exporter lacks entries that the log no longer has: their records are not exported"
            );
        }
        self.read.entry = first.saturating_sub(1);
        self.exporter.lost(self.read.entry);
        self.window_began.get_or_insert_with(Instant::now);
    }

    fn flush(&mut self) -> Result<(), TargetError> {
        let (bulk, began) = (self.exporter.bulk(), Instant::now());
        let flushed = self.exporter.flush(self.read);
        let metrics = &self.status.metrics;
        metrics.flushed((began, self.window_began), bulk, flushed.is_ok());
        flushed?;
        let now = now_millis();
        metrics.available(self.written.drain(..).map(|written| since(written, now)));
        self.flushed = self.read;
        self.window_began = None;
        self.report();
        Ok(())
    }

    fn report(&self) {
        let durable = (self.exporter.durable(), self.exporter.metadata());
        self.status.went_to(self.flushed, durable);
    }

    /// Syncs the target. Afterwards the log up to the flushed position is no longer needed.
    fn sync(&mut self) -> Result<(), TargetError> {
        self.last_sync = Instant::now();
        if self.exporter.durable() != self.flushed {
            self.exporter.sync()?;
        }
        self.report();
        Ok(())
    }
}

/// Failures that only a person can fix are retried at the longest interval.
fn retry_after(error: &TargetError, pause: Duration) -> Duration {
    if error.may_pass() { pause } else { MAX_RETRY }
}

fn now_millis() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}

fn since(then: i64, now: i64) -> u64 {
    u64::try_from(now.saturating_sub(then)).unwrap_or(0)
}

enum Step {
    /// Nothing failed, but nothing was stored either.
    Went,
    /// The target has stored everything it was given.
    Flushed,
    Stopped,
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::metrics::{Bulk, ExportMetrics, Sink};

    const WINDOW: Duration = Duration::from_millis(100);

    /// An exporter whose flushed data is durable up to this position.
    struct Safe(Position);

    impl Exporter for Safe {
        fn open(&mut self) -> Result<Option<Position>, TargetError> {
            Ok(None)
        }

        fn take(&mut self, _: u64, _: &[u8], _: &mut Tally) -> Result<(u64, i64), TargetError> {
            Ok((1, 0))
        }

        fn bulk(&self) -> Bulk {
            Bulk { items: 0, bytes: 0 }
        }

        fn is_full(&self) -> bool {
            false
        }

        fn window(&self) -> Duration {
            WINDOW
        }

        fn flush(&mut self, _: Position) -> Result<(), TargetError> {
            Ok(())
        }

        fn sync(&mut self) -> Result<(), TargetError> {
            self.0.entry = 7;
            Ok(())
        }

        fn durable(&self) -> Position {
            self.0
        }
    }

    struct Empty;

    impl CommittedLog for Empty {
        fn read(&self, _: u64, _: u64, _: usize) -> Result<Vec<(u64, Bytes)>, LogError> {
            Ok(Vec::new())
        }
    }

    fn driver() -> Driver<Safe, Empty> {
        let metrics = ExportMetrics::default().of(1, "safe", Sink::Other);
        let status = Arc::new(Status::new("safe", Position::default(), metrics));
        Driver::new(Safe(Position::default()), Empty, Arc::default(), status, 1)
    }

    #[test]
    fn it_has_nothing_to_do_by_itself_once_everything_is_safe() {
        let mut driver = driver();
        assert_eq!(driver.until_sync(), Duration::MAX);
        driver.flushed.entry = 7;
        assert!(driver.until_sync() <= SYNC_EVERY);
        driver.status.set_phase(crate::Phase::SoftPaused);
        driver.sync().unwrap();
        // The log is still needed, and must be released once the pause is over.
        assert!(driver.until_sync() <= SYNC_EVERY);
        driver.status.set_phase(crate::Phase::Exporting);
        driver.sync().unwrap();
        assert_eq!(driver.until_sync(), Duration::MAX);
    }

    #[test]
    fn a_target_that_a_person_has_to_mend_is_asked_rarely_from_the_start() {
        let reason = || "no".to_string();
        let busy = retry_after(&TargetError::Busy(reason()), RETRY);
        let refused = retry_after(&TargetError::Refused(reason()), RETRY);
        assert_eq!((busy, refused), (RETRY, RETRY));
        let corrupt = retry_after(&TargetError::Corrupt(reason()), RETRY);
        let foreign = retry_after(&TargetError::Foreign(reason()), RETRY);
        assert_eq!((corrupt, foreign), (MAX_RETRY, MAX_RETRY));
    }

    #[test]
    fn windows_are_longer_where_another_node_answers() {
        let driver = driver();
        assert_eq!(driver.window(), WINDOW);
        driver.status.set_leisure(true);
        assert_eq!(driver.window(), LEISURE * WINDOW);
        driver.status.set_leisure(false);
        assert_eq!(driver.window(), WINDOW);
    }
}
