//! The report as text.

use std::fmt::Write as _;

use super::Report;
use crate::judge::{Judged, Verdict, amount};
use crate::plan::Limit;
use crate::record::{Event, Kind};

/// Width to which names are cut if columns follow.
pub(super) const NAME: usize = 80;

impl Report {
    /// Hypothesis, steps, criteria, verdict.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // writing to a String cannot fail
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}: {}", self.plan.name, self.headline())?;
        writeln!(out, "\n{}\n", wrapped(&self.plan.hypothesis))?;
        writeln!(out, "{}\n", self.machine())?;
        for line in self.record.events.iter().filter_map(time_line) {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        let posts = self.judged.iter().any(|it| it.criterion.post.is_some());
        let post = if posts { "the post's" } else { "" };
        let mut rows = vec![["Criterion", "measured", "wanted", post, ""].map(String::from)];
        rows.extend(self.judged.iter().map(Judged::row));
        out.push_str(&table(&rows));
        for it in &self.judged {
            if let Verdict::NotRun(why) = &it.verdict {
                writeln!(out, "NOT RUN: {}: {why}", it.criterion.name)?;
            }
        }
        Ok(())
    }

    /// The verdict, and why it is not HELD or REFUTED.
    pub fn headline(&self) -> String {
        match &self.outcome {
            crate::judge::Outcome::NotRun(why) => format!("NOT RUN ({why})"),
            outcome => {
                let held = self.judged.iter();
                let held = held.filter(|it| matches!(it.verdict, Verdict::Held(_)));
                format!(
                    "{outcome} ({} of {} criteria held)",
                    held.count(),
                    self.judged.len()
                )
            }
        }
    }

    /// Where and how it was run.
    pub fn machine(&self) -> String {
        let about = &self.about;
        let mut text = format!(
            "{} · Skep {} · {} cores",
            about.ended, about.version, about.cores
        );
        if let Some(maximum) = about.maximum_per_s {
            let _ = write!(text, " · M = {maximum:.0} instances/s");
        }
        if let Some(flush) = self.record.last(crate::judge::FLUSH_MS) {
            let _ = write!(text, " · a flush takes {flush:.2} ms (p99)");
        }
        let _ = write!(text, "\n{}", about.command);
        if let Some(noise) = &about.noise {
            let judged = if about.noisy_is_fine {
                "speed was judged nevertheless (--noisy)"
            } else {
                "speed was not judged"
            };
            let _ = write!(text, "\nNoisy: {noise}; {judged}.");
        }
        text
    }
}

impl Judged {
    pub(super) fn row(&self) -> [String; 5] {
        [
            self.criterion.name.clone(),
            self.measured(),
            wanted(self.limit()),
            self.criterion.post.clone().unwrap_or_default(),
            self.verdict.to_string(),
        ]
    }

    pub(super) fn measured(&self) -> String {
        match &self.verdict {
            Verdict::Held(finding) | Verdict::Refuted(finding) => {
                let measured = amount(finding.measured(), &self.criterion.unit);
                finding.interval().map_or(measured.clone(), |it| {
                    format!("{measured} ({:.2} to {:.2})", it.low, it.high)
                })
            }
            Verdict::NotRun(_) => "–".into(),
        }
    }

    fn limit(&self) -> Limit {
        match &self.verdict {
            Verdict::Held(finding) | Verdict::Refuted(finding) => finding.limit(),
            Verdict::NotRun(_) => self.criterion.limit,
        }
    }
}

fn wanted(limit: Limit) -> String {
    match limit {
        Limit::AtMost(value) => format!("≤ {}", amount(value, "")),
        Limit::AtLeast(value) => format!("≥ {}", amount(value, "")),
    }
}

/// An event as a line; `None` if there is nothing to report.
pub fn time_line(event: &Event) -> Option<String> {
    let at = event.at;
    let line = format!("{at:>7.1} s  {:<10} {}", event.step, event.said()?);
    Some(match event.kind {
        Kind::Note => format!("           {}", event.text),
        Kind::Begin | Kind::Done | Kind::Unbitten => line,
    })
}

/// Compares the criteria of two runs of one experiment, by name.
pub fn side_by_side(one: &Report, two: &Report) -> String {
    let mut rows = vec![["Criterion", "first", "", "second", ""].map(String::from)];
    for it in &one.judged {
        let other = two.judged.iter().find(|other| {
            other.criterion.name == it.criterion.name && other.criterion.limit == it.criterion.limit
        });
        rows.push([
            it.criterion.name.clone(),
            it.measured(),
            it.verdict.to_string(),
            other.map_or_else(String::new, Judged::measured),
            other.map_or_else(String::new, |other| other.verdict.to_string()),
        ]);
    }
    let head = |name, report: &Report| {
        let about = &report.about;
        format!(
            "{name}: {} · {} · {}\n",
            report.plan.name,
            about.ended,
            report.headline()
        )
    };
    format!(
        "{}{}\n{}",
        head("first", one),
        head("second", two),
        table(&rows)
    )
}

fn table(rows: &[[String; 5]]) -> String {
    let cell = |text: &str, column: usize| -> String {
        let limit = if column == 0 { NAME } else { usize::MAX };
        if text.chars().count() > limit {
            text.chars().take(limit - 1).chain(['…']).collect()
        } else {
            text.to_string()
        }
    };
    let mut widths = [0; 5];
    for row in rows {
        for (column, (text, width)) in row.iter().zip(&mut widths).enumerate() {
            *width = (*width).max(cell(text, column).chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (text, width)) in row.iter().zip(&widths).enumerate() {
            // An empty column is left out.
            if *width > 0 {
                let _ = write!(line, "{:<width$}  ", cell(text, column));
            }
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Wraps a text into lines of at most a hundred characters.
fn wrapped(text: &str) -> String {
    wrapped_at(text, 100)
}

/// Wraps a text into lines of at most so many characters; a longer word has a line of its own.
pub fn wrapped_at(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines
            .last()
            .is_none_or(|line| line.chars().count() + word.chars().count() + 1 > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}
