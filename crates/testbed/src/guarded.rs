//! A process that ends with the test, however the test ends.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A shell that watches over the process: its input closes with the test, which cannot clean up any more by then.
const WATCH: &str = r#"directory=$1; shift
"$@" </dev/null & own=$!
trap '' INT TERM
read -r line; kill "-${line:-KILL}" $own 2>/dev/null; wait $own
[ -n "$line" ] || rm -rf "$directory""#;

/// A process that is killed when dropped, and when the test dies.
#[derive(Debug)]
pub struct Guarded {
    watch: Child,
}

impl Guarded {
    /// Starts a program; its output goes to `log`. Its directory is deleted with the test.
    pub fn start(command: &[String], directory: &Path, log: std::fs::File) -> io::Result<Guarded> {
        let errors = log.try_clone()?;
        let watch = Command::new("sh")
            .args(["-c", WATCH, "watch"])
            .arg(directory)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .spawn()?;
        Ok(Guarded { watch })
    }

    /// Ends the process by a signal (`INT`, `KILL`, …) and waits for its end.
    pub fn end(&mut self, signal: &str) {
        use std::io::Write;
        if let Some(mut input) = self.watch.stdin.take() {
            let _ = writeln!(input, "{signal}");
        }
        let _ = self.watch.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.end("KILL");
    }
}

/// Waits until a condition holds. Returns false if it did not within the time.
pub fn wait_for(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
