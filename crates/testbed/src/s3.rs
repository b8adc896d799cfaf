//! Storage with the S3 API: versitygw, over a directory.

use std::fs::{self, File};
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::guarded::{Guarded, wait_for};
use super::not_run;
use super::ports::free_port;

const START_LIMIT: Duration = Duration::from_secs(180);
const PROGRAM: &str = "versitygw";

/// A server. It ends when dropped, and with the test at the latest.
#[derive(Debug)]
pub struct S3Server {
    program: PathBuf,
    directory: tempfile::TempDir,
    port: u16,
    process: Option<Guarded>,
}

impl S3Server {
    pub const ACCESS_KEY: &str = "skep-test";
    pub const SECRET_KEY: &str = "skep-secret";
    pub const REGION: &str = "eu-central-1";

    /// Starts a server. `None`: it cannot be started here, which has been reported.
    pub fn start_new() -> Option<S3Server> {
        let made = S3Server::make().and_then(|mut server| {
            server.start()?;
            Ok(server)
        });
        made.map_err(|why| not_run("s3", &why)).ok()
    }

    /// Whether there is a server on this machine.
    pub fn is_installed() -> bool {
        program().is_some()
    }

    /// Prepares a server without starting it.
    ///
    /// # Errors
    /// Why it cannot run on this machine.
    pub fn make() -> Result<S3Server, String> {
        let program = program().ok_or_else(|| {
            format!("{PROGRAM} is neither in the path nor in .cache/bin; .ci/setup stores installs it where there is Go")
        })?;
        let failed = |error: io::Error| format!("no room for {PROGRAM}: {error}");
        let directory = tempfile::tempdir().map_err(failed)?;
        fs::create_dir(directory.path().join("buckets")).map_err(failed)?;
        Ok(S3Server {
            program,
            directory,
            port: free_port().map_err(failed)?,
            process: None,
        })
    }

    /// Restarts it on the same port, with the same data.
    ///
    /// # Errors
    /// The error output of the server.
    pub fn start(&mut self) -> Result<(), String> {
        let log = self.directory.path().join("log");
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let buckets = self.buckets().display().to_string();
        let listen = format!("127.0.0.1:{}", self.port);
        let keys = [
            "--access",
            S3Server::ACCESS_KEY,
            "--secret",
            S3Server::SECRET_KEY,
        ];
        let place = ["--region", S3Server::REGION, "--port", &listen];
        let arguments = keys.into_iter().chain(place);
        let arguments = arguments.chain(["--quiet", "posix", &buckets]);
        let mut command = vec![self.program.display().to_string()];
        command.extend(arguments.map(str::to_string));
        let started = Guarded::start(&command, self.directory.path(), file);
        self.process = Some(started.map_err(|error| error.to_string())?);
        if wait_for(START_LIMIT, || TcpStream::connect(&listen).is_ok()) {
            return Ok(());
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        Err(format!("{PROGRAM} does not start: {said}"))
    }

    /// Stops it like a crash.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end("KILL");
        }
    }

    /// Everything of the server is below it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn buckets(&self) -> PathBuf {
        self.directory.path().join("buckets")
    }

    /// Creates a bucket.
    pub fn make_bucket(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.buckets().join(name))
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn program() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/bin");
    let directories = std::env::split_paths(&paths).chain([cache]);
    directories
        .map(|directory| directory.join(PROGRAM))
        .find(|program| program.is_file())
}
