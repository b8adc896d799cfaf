//! Azure Blob Storage: Azurite, Microsoft's emulator.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::guarded::{Guarded, wait_for};
use super::not_run;
use super::ports::free_port;

const START_LIMIT: Duration = Duration::from_secs(180);

/// A server. It ends when dropped, and with the test at the latest.
#[derive(Debug)]
pub struct Azurite {
    port: u16,
    _process: Guarded,
    _directory: tempfile::TempDir,
}

impl Azurite {
    pub const ACCOUNT: &str = "devstoreaccount1";
    /// The well-known key of every emulator: it is no secret.
    pub const KEY: &str =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    /// Starts a server. `None`: it cannot be started here, which has been reported.
    pub fn start_new() -> Option<Azurite> {
        let started = Azurite::start();
        started.map_err(|why| not_run("azure", &why)).ok()
    }

    fn start() -> Result<Azurite, String> {
        let program = root().join(".cache/azurite/node_modules/azurite/dist/src/blob/main.js");
        if !program.is_file() {
            return Err(
                "Azurite is not in .cache/azurite; .ci/setup stores installs it".to_string(),
            );
        }
        let failed = |error: std::io::Error| format!("no room for Azurite: {error}");
        let directory = tempfile::tempdir().map_err(failed)?;
        let log = directory.path().join("log");
        let file = File::create(&log).map_err(failed)?;
        let port = free_port().map_err(failed)?;
        let data = directory.path().join("data");
        let (port_text, program) = (port.to_string(), program.display().to_string());
        let data = data.display().to_string();
        let node = node().display().to_string();
        let command = [
            node.as_str(),
            &program,
            "--blobPort",
            &port_text,
            "--location",
            &data,
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ];
        let command = command.map(str::to_string);
        let process = Guarded::start(&command, directory.path(), file);
        let process = process.map_err(|error| error.to_string())?;
        if !wait_for(START_LIMIT, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        }) {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("Azurite does not start: {said}"));
        }
        Ok(Azurite {
            port,
            _process: process,
            _directory: directory,
        })
    }

    /// Address of the account.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/{}", self.port, Azurite::ACCOUNT)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The downloaded version of Node.js, if the installed one is too old.
fn node() -> PathBuf {
    let fetched = ["node-ui", "node"].map(|name| root().join(".cache").join(name).join("bin/node"));
    let fetched = fetched.into_iter().find(|program| program.is_file());
    fetched.unwrap_or_else(|| PathBuf::from("node"))
}
