//! A comparison as text.

use std::fmt::Write as _;

use super::figures::ALL;
use super::judge::Verdict;
use super::{Comparison, Figures, Pair};
use crate::judge::{amount, median};

impl Comparison {
    /// Verdict, builds, and each figure of both with its ratio.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // writing to a String cannot fail
        let _ = self.write_text(&mut out);
        out
    }

    fn write_text(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}\n", self.headline())?;
        writeln!(out, "this   {}", self.this)?;
        writeln!(out, "other  {}", self.other)?;
        writeln!(
            out,
            "{} pairs of {} s, {} instances under way, {}, {} cores, {:.0} % idle between pairs",
            self.pairs.len(),
            self.seconds,
            self.concurrency,
            self.interface,
            self.cores,
            self.idle * 100.0
        )?;
        if let Some(noise) = &self.noise {
            let judged = if self.noisy_is_fine {
                "it was judged nevertheless (--noisy)"
            } else {
                "nothing was judged"
            };
            writeln!(out, "Noisy: {noise}; {judged}.")?;
        }
        let [name, this, other, ratio] = ["", "this", "other", "this ÷ other (95 %)"];
        writeln!(out, "\n{name:<30}{this:>9}{other:>9}   {ratio}")?;
        for figure in &ALL {
            let of = |side: fn(&Pair) -> &Figures| {
                let values = self.pairs.iter().map(|pair| (figure.of)(side(pair)));
                let middle = median(&values.collect::<Vec<f64>>());
                middle.map_or("–".into(), |it| amount(it, ""))
            };
            let (this, other) = (of(|pair| &pair.this), of(|pair| &pair.other));
            let ratio = self.verdicts.ratio(figure);
            let ratio = ratio.map_or("–".into(), |it| {
                format!("{:.3} ({:.3} to {:.3})", it.median, it.low, it.high)
            });
            writeln!(out, "{:<30}{this:>9}{other:>9}   {ratio}", figure.name)?;
        }
        Ok(())
    }

    fn headline(&self) -> String {
        let throughput = self.verdicts.ratios.get("throughput");
        let ratio = throughput.map_or_else(String::new, |it| {
            format!(
                "throughput ÷ that of the other is {:.3}, with 95 % between {:.3} and {:.3}",
                it.median, it.low, it.high
            )
        });
        match &self.verdicts.verdict {
            Verdict::Held => format!("HELD: this build is not slower ({ratio})"),
            Verdict::Refuted => format!("REFUTED: this build is slower ({ratio})"),
            Verdict::NotRun(why) => format!("NOT RUN: {why}"),
        }
    }

    /// The comparison in the format of `--json`.
    ///
    /// # Errors
    /// None is known.
    pub fn to_json(&self) -> std::io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
