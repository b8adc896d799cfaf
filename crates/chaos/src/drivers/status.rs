//! What `skep status` says about a node, as its operator would read it.

use std::io;
use std::process::{Command, Stdio};

/// A call of `skep status`.
#[derive(Debug)]
pub struct Status(Command);

impl Status {
    pub(super) fn new(program: &str, rest: &str, management: &str) -> Self {
        let mut command = Command::new(program);
        command
            .args(["status", "--address"])
            .arg(format!("http://{rest}"))
            .arg("--management")
            .arg(format!("http://{management}"))
            .stdin(Stdio::null());
        Self(command)
    }

    /// All that it prints. Blocks.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn answer(mut self) -> io::Result<String> {
        let printed = self.0.output()?;
        let texts = [&printed.stdout, &printed.stderr];
        Ok(texts.map(|text| String::from_utf8_lossy(text)).concat())
    }
}
