//! OpenSearch servers, each with a directory and a port of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::guarded::{Guarded, free_port, wait_for};
use super::not_run;

/// A busy machine takes its time to load so many classes.
const START_LIMIT: Duration = Duration::from_secs(240);
const ANSWER_LIMIT: Duration = Duration::from_secs(180);

/// A server of one node. It ends when it goes out of scope, and with the test at the latest.
#[derive(Debug)]
pub struct OpenSearch {
    directory: tempfile::TempDir,
    port: u16,
    process: Option<Guarded>,
}

/// One server for all tests of a program, which keep out of each other's way by prefixes. `None`: there is none here, which was
/// said.
pub fn shared_opensearch() -> Option<&'static OpenSearch> {
    static SHARED: OnceLock<Option<OpenSearch>> = OnceLock::new();
    SHARED.get_or_init(OpenSearch::start_new).as_ref()
}

impl OpenSearch {
    /// Starts a server of its own. `None`: it cannot be done here, which was said.
    pub fn start_new() -> Option<OpenSearch> {
        let made = OpenSearch::make().and_then(|mut server| {
            server.start()?;
            Ok(server)
        });
        match made {
            Ok(server) => Some(server),
            Err(why) => {
                not_run("opensearch", &why);
                None
            }
        }
    }

    fn make() -> Result<OpenSearch, String> {
        if !jars().is_dir() {
            return Err(format!(
                "its jars are not in {} (.ci/setup stores)",
                jars().display()
            ));
        }
        Ok(OpenSearch {
            directory: tempfile::tempdir().map_err(|e| e.to_string())?,
            port: free_port().map_err(|e| e.to_string())?,
            process: None,
        })
    }

    /// Starts the server, again after it was stopped.
    ///
    /// # Errors
    /// What it said.
    pub fn start(&mut self) -> Result<(), String> {
        let command = [
            "java".to_string(),
            "-Xms256m".to_string(),
            "-Xmx1g".to_string(),
            "-XX:+UseSerialGC".to_string(),
            "-XX:TieredStopAtLevel=1".to_string(),
            "-cp".to_string(),
            format!("{}/*", jars().display()),
            root()
                .join("tests/exporters/SearchNode.java")
                .display()
                .to_string(),
            self.directory.path().display().to_string(),
            self.port.to_string(),
        ];
        let log = self.directory.path().join("log");
        let file = File::options().create(true).append(true).open(&log);
        let file = file.map_err(|e| e.to_string())?;
        let process = Guarded::start(&command, self.directory.path(), file);
        self.process = Some(process.map_err(|e| e.to_string())?);
        let health = "/_cluster/health?wait_for_status=yellow&timeout=1s";
        let is_ready = || {
            self.ask("GET", health, "")
                .is_ok_and(|answer| !answer.contains("\"timed_out\":true"))
        };
        match wait_for(START_LIMIT, is_ready) {
            true => Ok(()),
            false => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let lines: Vec<&str> = said.lines().collect();
                let last = lines
                    .get(lines.len().saturating_sub(20)..)
                    .unwrap_or_default();
                Err(format!("OpenSearch does not start: {}", last.join("\n")))
            }
        }
    }

    /// Ends the server in good order.
    pub fn stop(&mut self) {
        self.end("TERM");
    }

    /// Ends the server without giving it time for anything.
    pub fn kill(&mut self) {
        self.end("KILL");
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            process.end(signal);
        }
    }

    /// Sends a request with a JSON body, or none; the answer to it.
    ///
    /// # Errors
    /// It cannot be reached, or answers with an error.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, String> {
        let asked = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(ANSWER_LIMIT))?;
            write!(
                stream,
                "{method} {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = asked().map_err(|e| e.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head
            .split(' ')
            .nth(1)
            .is_some_and(|code| code.starts_with('2'))
        {
            true => Ok(body.to_string()),
            false => Err(answer),
        }
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A prefix of indices that nobody else has.
    pub fn prefix(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for OpenSearch {
    fn drop(&mut self) {
        self.kill();
    }
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_path_buf()
}

/// Where `.ci/setup` puts them.
fn jars() -> PathBuf {
    root().join(".cache/opensearch")
}
