//! Reads a log that a server may be writing. New writes look torn for a moment, and segments may be released and their files reused while
//! they are read: neither is damage. Damage is what persists.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_storage::StorageError;
use skep_storage::log::{Entry, Log, LogConfig, LogReader};

use super::disk::ReadOnlyDisk;

/// Number of times the same error must occur in the same place before it counts as damage.
const ATTEMPTS: u32 = 4;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Total time limit, for errors that keep changing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Payload bytes read at a time.
const CHUNK: usize = 4 << 20;

/// Reads a log from its beginning.
pub struct Reading {
    directory: PathBuf,
    log: LogReader,
    /// Index of the entry to read next; 0 before the first.
    next: u64,
}

impl Reading {
    pub fn begin(directory: &Path) -> anyhow::Result<Reading> {
        Ok(Reading {
            directory: directory.to_path_buf(),
            log: open(directory)?,
            next: 0,
        })
    }

    /// Whether earlier entries were compacted away.
    pub fn begins_after_a_checkpoint(&self) -> bool {
        self.log.base().index > 0
    }

    /// Makes entries written since visible.
    pub fn renew(&mut self) -> anyhow::Result<()> {
        self.log = open(&self.directory)?;
        Ok(())
    }

    /// The next of the entries that existed when the log was opened; none at its end.
    pub fn read(&mut self) -> anyhow::Result<Vec<Entry>> {
        let mut trouble = Trouble::new(&self.directory);
        loop {
            let first = self.log.base().index + 1;
            if self.next > 0 && self.next < first {
                complain!(
                    "The server discarded the entries {} to {} before they were read: they are in its checkpoint.",
                    self.next,
                    first - 1
                );
            }
            self.next = self.next.max(first);
            match self.log.read(self.next, u64::MAX, CHUNK) {
                Ok(entries) => {
                    if let Some(last) = entries.last() {
                        self.next = last.index + 1;
                    }
                    return Ok(entries);
                }
                Err(error) => trouble.met(error)?,
            }
            self.log = open(&self.directory)?;
        }
    }
}

/// Opens a log without locking it.
fn open(directory: &Path) -> anyhow::Result<LogReader> {
    let mut trouble = Trouble::new(directory);
    loop {
        match Log::open(Arc::new(ReadOnlyDisk), directory, LogConfig::default()) {
            Ok((log, _)) => return Ok(log.reader()),
            Err(error) => trouble.met(error)?,
        }
    }
}

/// The last read error, and how often in a row it occurred.
struct Trouble<'a> {
    directory: &'a Path,
    last: String,
    times: u32,
    since: Instant,
}

impl Trouble<'_> {
    fn new(directory: &Path) -> Trouble<'_> {
        Trouble {
            directory,
            last: String::new(),
            times: 0,
            since: Instant::now(),
        }
    }

    /// Waits a moment; fails once the same error has occurred too often.
    fn met(&mut self, error: StorageError) -> anyhow::Result<()> {
        let text = error.to_string();
        if text != self.last {
            (self.last, self.times) = (text, 0);
        }
        self.times += 1;
        if self.times >= ATTEMPTS || self.since.elapsed() > PATIENCE {
            let what = format!("{} cannot be read", self.directory.display());
            return Err(anyhow::Error::new(error).context(what));
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use skep_storage::disk::RealDisk;
    use skep_storage::log::Frame;

    use super::*;

    fn entry(index: u64) -> Frame {
        // Payloads of many sizes, each with its number.
        let mut payload = index.to_le_bytes().to_vec();
        payload.resize(
            8 + usize::try_from(index * 7919 % 900).unwrap(),
            index as u8,
        );
        Frame::Entry {
            index,
            term: 1,
            tag: 0,
            payload: payload.into(),
        }
    }

    fn small() -> LogConfig {
        LogConfig {
            segment_bytes: 8192,
            ..LogConfig::default()
        }
    }

    /// Reads all entries and returns their number.
    fn read_all(reading: &mut Reading) -> u64 {
        let (mut count, mut last) = (0, 0);
        loop {
            let entries = reading.read().expect("nothing is damaged");
            for entry in &entries {
                assert!(entry.index > last, "{} after {last}", entry.index);
                last = entry.index;
                let named: [u8; 8] = entry.payload[..8].try_into().unwrap();
                assert_eq!(u64::from_le_bytes(named), entry.index);
                count += 1;
            }
            if entries.is_empty() {
                return count;
            }
        }
    }

    #[test]
    fn a_log_whose_segments_are_used_again_under_the_reader_is_not_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(Arc::new(RealDisk), directory.path(), small()).unwrap();
        log.append(&[entry(1)]).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            let mut index = 1;
            while !stopped.load(Ordering::Relaxed) {
                let frames: Vec<Frame> = (1..=5).map(|n| entry(index + n)).collect();
                log.append(&frames).unwrap();
                index += 5;
                if index > 60 {
                    log.compact(index - 40, 1).unwrap();
                }
            }
        });
        let until = Instant::now() + Duration::from_secs(3);
        let mut read = 0;
        while Instant::now() < until {
            let mut reading = Reading::begin(directory.path()).expect("nothing is damaged");
            read += read_all(&mut reading);
            // Like `--follow`.
            for _ in 0..3 {
                reading.renew().expect("nothing is damaged");
                read_all(&mut reading);
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        assert!(read > 0);
    }

    #[test]
    fn damage_is_still_reported() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open(Arc::new(RealDisk), directory.path(), small()).unwrap();
        for index in 1..=100 {
            log.append(&[entry(index)]).unwrap();
        }
        drop(log);
        let mut names: Vec<PathBuf> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "log"))
            .collect();
        names.sort();
        let mut bytes = std::fs::read(&names[0]).unwrap();
        bytes[4000] ^= 0x55;
        std::fs::write(&names[0], bytes).unwrap();
        let error = Reading::begin(directory.path())
            .err()
            .expect("it is damaged");
        assert!(format!("{error:#}").contains("no valid frame"), "{error:#}");
    }
}
