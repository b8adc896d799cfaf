//! Waiting for what an instruction expects or needs.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::once;
use crate::errors::code_of;

/// The pause between two looks grows from the first to the second.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why an instruction has failed.
#[derive(Debug)]
pub enum Wrong {
    /// Something else was found than was expected.
    Found { expected: String, found: String },
    /// The server or this program could not do it.
    Refused(String),
}

impl From<anyhow::Error> for Wrong {
    fn from(why: anyhow::Error) -> Wrong {
        let code = code_of(&why);
        Wrong::Refused(format!("{code}: {}", once(&format!("{why:#}"), code)))
    }
}

/// What a look has shown.
pub enum Look<T = ()> {
    Holds(T),
    /// It does not hold, but may; with what was found instead.
    NotYet(String),
    /// It does not hold, and will not.
    Never(String),
}

impl Look {
    /// Holds, or does not; what has ended does not change any more.
    pub fn at(holds: bool, ended: bool, found: impl FnOnce() -> String) -> Look {
        match (holds, ended) {
            (true, _) => Look::Holds(()),
            (false, false) => Look::NotYet(found()),
            (false, true) => Look::Never(found()),
        }
    }
}

/// Looks until what is expected holds, or the time is over.
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
