//! Live progress: on standard error, and only when that is a terminal.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::{Sample, transport_name};

/// A progress line, or nothing.
#[derive(Debug)]
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// A bar over the whole run.
    pub fn new(length: Duration) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new(length.as_secs().max(1));
        let template = "{elapsed_precise} [{bar:30}] {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(Some(bar))
    }

    /// Shows the current phase.
    pub fn phase(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
        }
    }

    /// Shows the newest sample.
    pub fn sample(&self, transport: skep_client::Transport, sample: &Sample, elapsed: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_position(elapsed.as_secs());
            bar.set_message(format!(
                "{} {:>6.0} completed/s, create p99 {:.1} ms, instance p99 {:.1} ms, {} open",
                transport_name(transport),
                sample.completed_per_second,
                sample.create_p99_ms,
                sample.instance_p99_ms,
                sample.open,
            ));
        }
    }

    /// Removes the line.
    pub fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
