//! The record of a run: samples and events, each with its time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Values sampled at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the first step was due.
    pub at: f64,
    /// By series.
    pub values: BTreeMap<String, f64>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A step begins.
    Begin,
    /// A step is done.
    Done,
    /// A step had no effect: the run proves nothing about its hypothesis.
    Unbitten,
    /// Further information for the reader.
    Note,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since the first step was due.
    pub at: f64,
    pub kind: Kind,
    /// Name of the step.
    pub step: String,
    pub text: String,
}

impl Event {
    /// The text shown to a reader; none if a step was simply done.
    pub fn said(&self) -> Option<String> {
        match self.kind {
            Kind::Begin | Kind::Note => Some(self.text.clone()),
            Kind::Done if self.text.is_empty() => None,
            Kind::Done => Some(format!("done: {}", self.text)),
            Kind::Unbitten => Some(format!("NOT DONE: {}", self.text)),
        }
    }
}

/// All samples and events, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub samples: Vec<Sample>,
    pub events: Vec<Event>,
}

const SAMPLES: &str = "samples.ndjson";
const EVENTS: &str = "events.ndjson";

impl Record {
    /// Values of a series, each with its time.
    pub fn series<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
        let samples = self.samples.iter();
        samples.filter_map(move |sample| Some((sample.at, *sample.values.get(name)?)))
    }

    /// The only or last value of a series.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.series(name).last().map(|(_, value)| value)
    }

    /// The times at which steps of this name began, or were done.
    pub fn times(&self, step: &str, kind: Kind) -> Vec<f64> {
        let events = self.events.iter();
        let events = events.filter(|event| event.step == step && event.kind == kind);
        events.map(|event| event.at).collect()
    }

    /// Writes both files.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        write(&directory.join(SAMPLES), &self.samples)?;
        write(&directory.join(EVENTS), &self.events)
    }

    /// Reads both files.
    ///
    /// # Errors
    /// A file that is missing, or does not belong to a run.
    pub fn read(directory: &Path) -> io::Result<Self> {
        Ok(Self {
            samples: read(&directory.join(SAMPLES))?,
            events: read(&directory.join(EVENTS))?,
        })
    }
}

fn write<T: Serialize>(path: &Path, lines: &[T]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for line in lines {
        serde_json::to_writer(&mut file, line)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(named)?;
    let lines = BufReader::new(file).lines();
    let values = lines.map(|line| serde_json::from_str(&line?).map_err(io::Error::from));
    values.collect::<io::Result<_>>().map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let record = Record {
            samples: vec![Sample {
                at: 1.5,
                values: BTreeMap::from([("open".into(), 3.0)]),
            }],
            events: vec![Event {
                at: 0.0,
                kind: Kind::Begin,
                step: "base".into(),
                text: "load 10/s".into(),
            }],
        };
        record.write(directory.path()).unwrap();
        assert_eq!(Record::read(directory.path()).unwrap(), record);
        assert_eq!(record.last("open"), Some(3.0));
        assert_eq!(record.last("other"), None);
        assert_eq!(record.times("base", Kind::Begin), [0.0]);
        let missing = Record::read(&directory.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("samples.ndjson"), "{missing}");
    }
}
