//! Waits for conditions that an instruction expects or needs.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::once;
use crate::errors::code_of;

/// The pause between two checks grows from the first to the second.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why an instruction has failed.
#[derive(Debug)]
pub enum Wrong {
    /// The actual state differs from the expected one.
    Found { expected: String, found: String },
    /// The server or this program could not carry it out.
    Refused(String),
}

impl From<anyhow::Error> for Wrong {
    fn from(why: anyhow::Error) -> Wrong {
        let code = code_of(&why);
        Wrong::Refused(format!("{code}: {}", once(&format!("{why:#}"), code)))
    }
}

/// Result of checking a condition once.
pub enum Look<T = ()> {
    Holds(T),
    /// Does not hold yet, but may; with the actual state.
    NotYet(String),
    /// Does not hold, and never will; with the actual state.
    Never(String),
}

impl Look {
    /// Holds, or does not; an ended item does not change any more.
    pub fn at(holds: bool, ended: bool, found: impl FnOnce() -> String) -> Look {
        match (holds, ended) {
            (true, _) => Look::Holds(()),
            (false, false) => Look::NotYet(found()),
            (false, true) => Look::Never(found()),
        }
    }
}

/// Checks until the condition holds, can no longer hold, or the time is over.
pub async fn until<T>(
    timeout: Duration,
    expected: &str,
    mut look: impl AsyncFnMut() -> anyhow::Result<Look<T>>,
) -> Result<T, Wrong> {
    let end = Instant::now() + timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        let found = match look().await? {
            Look::Holds(value) => return Ok(value),
            Look::NotYet(found) if Instant::now() < end => {
                drop(found);
                sleep(pause.min(end.saturating_duration_since(Instant::now()))).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            Look::NotYet(found) | Look::Never(found) => found,
        };
        return Err(Wrong::Found {
            expected: expected.to_string(),
            found,
        });
    }
}
