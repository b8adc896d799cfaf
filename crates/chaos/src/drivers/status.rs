//! What `skep status` says about a node, as its operator would read it.

use std::io;
use std::time::Duration;

use crate::program;

/// Time limit for the program, which has limits of its own.
const ANSWER: Duration = Duration::from_secs(60);

/// A call of `skep status`.
#[derive(Debug)]
pub struct Status {
    program: String,
    rest: String,
    management: String,
}

impl Status {
    pub(super) fn new(program: &str, rest: &str, management: &str) -> Self {
        Self {
            program: program.into(),
            rest: format!("http://{rest}"),
            management: format!("http://{management}"),
        }
    }

    /// All that it prints. Blocks.
    ///
    /// # Errors
    /// The program cannot be started, or does not end.
    pub fn answer(self) -> io::Result<String> {
        let words = ["status", "--address", &self.rest];
        let words = [&words[..], &["--management", &self.management]].concat();
        let called = program::call(&self.program, &words, "", ANSWER)?;
        Ok(called.stdout + &called.stderr)
    }
}
