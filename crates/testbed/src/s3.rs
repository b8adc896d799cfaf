//! Storage with the S3 API: versitygw and MinIO, each over a directory.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::guarded::{Guarded, wait_for};
use super::not_run;
use super::ports::free_port;

const START_LIMIT: Duration = Duration::from_secs(180);
/// How long one look at a server may take.
const LOOK: Duration = Duration::from_secs(5);

/// A server of another make keeps to the API in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Make {
    Versitygw,
    Minio,
}

impl Make {
    const ALL: [Make; 2] = [Make::Versitygw, Make::Minio];

    fn program(self) -> &'static str {
        match self {
            Make::Versitygw => "versitygw",
            Make::Minio => "minio",
        }
    }

    /// The kind under which tests report that it is missing, and what installs it.
    fn kind(self) -> (&'static str, &'static str) {
        match self {
            Make::Versitygw => ("s3", ".ci/setup stores"),
            Make::Minio => ("minio", ".ci/setup minio"),
        }
    }

    fn arguments(self, program: &Path, listen: &str, buckets: &str) -> Vec<String> {
        let program = program.display().to_string();
        let words = match self {
            Make::Versitygw => vec![
                &*program,
                "--access",
                S3Server::ACCESS_KEY,
                "--secret",
                S3Server::SECRET_KEY,
                "--region",
                S3Server::REGION,
                "--port",
                listen,
                "--quiet",
                "posix",
                buckets,
            ],
            Make::Minio => {
                let own = [&*program, "server", buckets, "--address", listen, "--quiet"];
                let user = format!("MINIO_ROOT_USER={}", S3Server::ACCESS_KEY);
                let secret = format!("MINIO_ROOT_PASSWORD={}", S3Server::SECRET_KEY);
                let region = format!("MINIO_REGION={}", S3Server::REGION);
                // With CI it takes a directory on the disk of the system.
                let rest = ["MINIO_CI_CD=1", "MINIO_BROWSER=off", "MINIO_UPDATE=off"];
                let env = ["env", &user, &secret, &region];
                let words = env.into_iter().chain(rest).chain(own);
                return words.map(str::to_string).collect();
            }
        };
        words.into_iter().map(str::to_string).collect()
    }

    fn is_ready(self, listen: &str) -> bool {
        match self {
            Make::Versitygw => TcpStream::connect(listen).is_ok(),
            Make::Minio => is_healthy(listen).unwrap_or_default(),
        }
    }
}

/// It listens before it has looked at its disk, and refuses requests until then.
fn is_healthy(listen: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect(listen)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.write_all(b"GET /minio/health/ready HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let head = answer.lines().next().unwrap_or_default();
    Ok(head.contains(" 200"))
}

/// A server. It ends when dropped, and with the test at the latest.
#[derive(Debug)]
pub struct S3Server {
    make: Make,
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
        S3Server::start_of(Make::Versitygw)
    }

    /// Starts a server of each make, without those that cannot be started here, which has been reported.
    pub fn start_each() -> Vec<S3Server> {
        let started = Make::ALL.into_iter().filter_map(S3Server::start_of);
        started.collect()
    }

    fn start_of(make: Make) -> Option<S3Server> {
        let made = S3Server::made(make).and_then(|mut server| {
            server.start()?;
            Ok(server)
        });
        let (kind, _) = make.kind();
        made.map_err(|why| not_run(kind, &why)).ok()
    }

    /// Whether there is a server on this machine.
    pub fn is_installed() -> bool {
        find(Make::Versitygw.program()).is_some()
    }

    /// Prepares a server without starting it.
    ///
    /// # Errors
    /// Why it cannot run on this machine.
    pub fn make() -> Result<S3Server, String> {
        S3Server::made(Make::Versitygw)
    }

    fn made(make: Make) -> Result<S3Server, String> {
        let name = make.program();
        let program = find(name).ok_or_else(|| {
            let (_, setup) = make.kind();
            format!("{name} is neither in the path nor in .cache/bin; {setup} installs it where there is Go")
        })?;
        let failed = |error: io::Error| format!("no room for {name}: {error}");
        let directory = tempfile::tempdir().map_err(failed)?;
        fs::create_dir(directory.path().join("buckets")).map_err(failed)?;
        Ok(S3Server {
            make,
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
        let command = self.make.arguments(&self.program, &listen, &buckets);
        let started = Guarded::start(&command, self.directory.path(), file);
        self.process = Some(started.map_err(|error| error.to_string())?);
        if wait_for(START_LIMIT, || self.make.is_ready(&listen)) {
            return Ok(());
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        let name = self.make.program();
        Err(format!("{name} does not start: {said}"))
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

/// A program in the path, or in the cache of this repository.
fn find(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/bin");
    let directories = std::env::split_paths(&paths).chain([cache]);
    directories
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}
