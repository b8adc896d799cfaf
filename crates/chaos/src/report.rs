//! The report of a run: written beside its record, and reproducible from both.

mod html;
mod text;

use std::io;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::judge::{Judged, Outcome, judge, outcome};
use crate::plan::Plan;
use crate::record::Record;

pub use html::page;
pub use text::{side_by_side, time_line, wrapped_at};

/// Version of `run.json`.
const SCHEMA: u32 = 1;
const FILE: &str = "run.json";

/// How and when a plan was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct About {
    /// Version of Skep.
    pub version: String,
    pub command: String,
    /// When it ended, in UTC.
    pub ended: String,
    pub cores: usize,
    /// M, where it was measured.
    pub maximum_per_s: Option<f64>,
    /// Why the machine was not quiet, if it was not.
    pub noise: Option<String>,
    /// Whether speed was judged nevertheless.
    pub noisy_is_fine: bool,
}

impl About {
    pub(crate) fn new(
        command: &str,
        noise: Option<String>,
        noisy_is_fine: bool,
        maximum_per_s: Option<f64>,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            command: command.into(),
            ended: jiff::Timestamp::now()
                .strftime("%Y-%m-%d %H:%M UTC")
                .to_string(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            maximum_per_s,
            noise,
            noisy_is_fine,
        }
    }
}

/// A run with its verdicts, which are computed from the record each time.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema: u32,
    pub about: About,
    pub plan: Plan,
    pub outcome: Outcome,
    pub judged: Vec<Judged>,
    #[serde(skip)]
    pub record: Record,
}

/// The parts of `run.json` that are read back: no verdict, which might differ from the one that the record gives.
#[derive(Deserialize)]
struct Stored {
    schema: u32,
    about: About,
    plan: Plan,
}

impl Report {
    /// Judges a record.
    pub fn new(plan: Plan, record: Record, about: About) -> Self {
        let judged = judge(&plan, &record, about.noisy_is_fine);
        Self {
            schema: SCHEMA,
            outcome: outcome(&judged, &record),
            judged,
            about,
            plan,
            record,
        }
    }

    /// Whether a directory contains a report.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(FILE).exists()
    }

    /// Writes all files of a report.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        self.record.write(directory)?;
        std::fs::write(directory.join("report.txt"), self.to_text())?;
        std::fs::write(directory.join("report.html"), page(&[self]))?;
        // Written last: if it exists, the report is complete.
        std::fs::write(directory.join(FILE), self.to_json()?)
    }

    /// The report in the format of `run.json`.
    ///
    /// # Errors
    /// None is known.
    pub fn to_json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads a report and judges its record again.
    ///
    /// # Errors
    /// A directory without a report, or with one of another version.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(FILE);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} has no report ({FILE})", directory.display()))?;
        let stored: Stored =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        anyhow::ensure!(
            stored.schema == SCHEMA,
            "{} has schema {}, and this version reads schema {SCHEMA}",
            path.display(),
            stored.schema
        );
        Ok(Self::new(
            stored.plan,
            Record::read(directory)?,
            stored.about,
        ))
    }
}

#[cfg(test)]
mod tests;
