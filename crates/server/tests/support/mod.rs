//! The real binary in a temporary directory.

#![allow(dead_code)] // Each test file uses a part.

pub mod ledger;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use skep_client::{Client, ClientConfig, Code};

/// Generous time limit: other work on the machine or a slow disk is no reason to fail.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Arguments for any free ports.
pub const FREE_PORTS: [&str; 6] = [
    "--rest-port",
    "0",
    "--grpc-port",
    "0",
    "--management-port",
    "0",
];

/// A running `skep serve`. Dropping it kills it.
pub struct Server {
    child: Child,
    /// The server's output, kept open: it must not write to a closed pipe.
    _banner: BufReader<ChildStdout>,
    pub rest: u16,
    pub grpc: u16,
    pub management: u16,
    log: Option<PathBuf>,
}

/// Settings for the start of a server.
pub struct Start<'a> {
    data: &'a Path,
    arguments: &'a [&'a str],
    /// The binary of another version, if not the one under test.
    binary: PathBuf,
    /// A command line placed before the server's own.
    wrapper: Vec<String>,
    log: Option<PathBuf>,
}

impl<'a> Start<'a> {
    pub fn new(data: &'a Path, arguments: &'a [&'a str]) -> Start<'a> {
        Start {
            data,
            arguments,
            binary: env!("CARGO_BIN_EXE_skep").into(),
            wrapper: Vec::new(),
            log: None,
        }
    }

    /// Starts the server through another program, which must replace itself by the server (`exec`), so that both have one process id.
    pub fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(ToString::to_string).collect();
        self
    }

    /// Starts the binary of another version.
    pub fn binary(mut self, binary: &Path) -> Self {
        self.binary = binary.to_path_buf();
        self
    }

    /// Appends the server's log to a file; see [`Server::log`].
    pub fn log_to(mut self, path: PathBuf) -> Self {
        self.log = Some(path);
        self
    }

    /// Starts the server and waits until its partitions lead.
    pub async fn ready(self) -> Server {
        let binary = self.binary.display().to_string();
        let line: Vec<String> = self.wrapper.iter().cloned().chain([binary]).collect();
        let stderr = match &self.log {
            None => Stdio::inherit(),
            Some(path) => {
                let file = std::fs::File::options()
                    .create(true)
                    .append(true)
                    .open(path);
                Stdio::from(file.expect("a log file"))
            }
        };
        let mut child = Command::new(&line[0])
            .args(&line[1..])
            .arg("serve")
            .arg("--data")
            .arg(self.data)
            .args(["--address", "127.0.0.1"])
            .args(FREE_PORTS)
            .args(self.arguments)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .env("RUST_LOG", "error")
            .spawn()
            .expect("the binary starts");
        let banner = BufReader::new(child.stdout.take().expect("its output"));
        let reading = tokio::task::spawn_blocking(move || read_banner(banner));
        let started = tokio::time::timeout(PATIENCE, reading).await;
        let (banner, read) = match started.map(Result::unwrap) {
            Ok((banner, read)) if read.contains(UP) => (banner, read),
            ended => {
                let said = ended.map(|(_, read)| read);
                release(child.id());
                let _ = child.kill();
                let status = end(&mut child);
                let log = self.log.as_deref().map(std::fs::read_to_string);
                panic!("the server has not started ({status}); it said {said:?}; {log:?}");
            }
        };
        let port = |interface: &str| -> u16 {
            let line = read.lines().find(|line| line.trim().starts_with(interface));
            let address = line.and_then(|line| line.split_whitespace().last());
            let port = address.and_then(|address| {
                let authority = address.trim_start_matches("http://").split('/').next()?;
                authority.rsplit(':').next()?.parse().ok()
            });
            port.unwrap_or_else(|| panic!("no port of {interface} in {read}"))
        };
        let mut server = Server {
            rest: port("REST"),
            grpc: port("gRPC"),
            management: port("management"),
            child,
            _banner: banner,
            log: self.log,
        };
        server.wait_until_ready().await;
        server
    }
}

/// Printed when the server has started.
const UP: &str = "What to do next";

/// Reads the server's output until it is up, or ends.
fn read_banner(mut banner: BufReader<ChildStdout>) -> (BufReader<ChildStdout>, String) {
    let mut read = String::new();
    while !read.contains(UP) && banner.read_line(&mut read).expect("its output is text") > 0 {}
    (banner, read)
}

impl Server {
    /// Starts the server and waits until its partitions lead.
    pub async fn start(data: &Path, arguments: &[&str]) -> Server {
        Start::new(data, arguments).ready().await
    }

    pub fn client(&self) -> Client {
        Client::grpc(self.grpc_config()).expect("a client")
    }

    pub fn grpc_config(&self) -> ClientConfig {
        ClientConfig::new(format!("http://127.0.0.1:{}", self.grpc))
    }

    pub fn rest_client(&self) -> Client {
        Client::rest(ClientConfig::new(format!("http://127.0.0.1:{}", self.rest)))
            .expect("a client")
    }

    async fn wait_until_ready(&mut self) {
        let started = Instant::now();
        let client = self.client();
        loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                panic!(
                    "the server ended with {status} instead of starting: {}",
                    self.log()
                );
            }
            let leads = |topology: &skep_client::Topology| {
                (1..=topology.partitions_count).all(|id| leader_of(topology, id).is_some())
            };
            match client.topology().await {
                Ok(topology) if leads(&topology) => return,
                // With authentication the topology is refused.
                Err(error)
                    if error.code() == Some(Code::Unauthenticated)
                        && self
                            .management("GET", "/ready")
                            .is_some_and(|it| it.0 < 300) =>
                {
                    return;
                }
                _ if started.elapsed() > PATIENCE => {
                    panic!("the server is not ready after {PATIENCE:?}: {}", self.log())
                }
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// The log of the server; empty unless [`Start::log_to`] was called.
    pub fn log(&self) -> String {
        let log = self.log.as_ref().map(std::fs::read_to_string);
        log.and_then(Result::ok).unwrap_or_default()
    }

    /// Sends a request to the management port. Returns status and body; `None` without an answer.
    pub fn management(&self, method: &str, path: &str) -> Option<(u16, String)> {
        self.manage(method, path, "")
    }

    /// The same with a body.
    pub fn manage(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        self.ask(self.management, method, path, body)
    }

    /// The same for another port.
    pub fn ask(&self, port: u16, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Some((status, body.to_string()))
    }

    /// Requests a checkpoint without waiting for it.
    pub fn begin_checkpoint(&self) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.management)) else {
            return;
        };
        let request = "POST /actuator/partitions/takeSnapshot HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
        let _ = stream.write_all(request.as_bytes());
        std::thread::spawn(move || stream.read(&mut [0; 64]));
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        release(self.id());
        let _ = self.child.kill();
        end(&mut self.child);
    }

    /// Stops all its threads where they are (SIGSTOP).
    pub fn stop(&self) {
        let stopped = Command::new("kill")
            .args(["-STOP", &self.id().to_string()])
            .status();
        assert!(
            stopped.is_ok_and(|status| status.success()),
            "the server cannot be stopped"
        );
    }

    /// Continues after [`Server::stop`] (SIGCONT).
    pub fn resume(&self) {
        let _ = Command::new("kill")
            .args(["-CONT", &self.id().to_string()])
            .status();
    }

    /// Waits until it ends by itself; returns the exit code.
    pub fn ends(&mut self) -> Option<i32> {
        end(&mut self.child).code()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM; returns the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        let _ = Command::new("kill").arg(self.id().to_string()).status();
        end(&mut self.child).code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends the tracer of a traced process, which could not end before.
fn release(process: u32) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    if let Some(tracer) = tracer.map(str::trim).filter(|tracer| *tracer != "0") {
        let _ = Command::new("kill").args(["-KILL", tracer]).status();
    }
}

/// Waits for the end of a process that was told to end. If it does not, the failure reports what it is doing.
pub fn end(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child can be asked") {
            return status;
        }
        if began.elapsed() > PATIENCE {
            let threads = Command::new("ps")
                .args(["-L", "-o", "pid,tid,stat,wchan:32,comm", "-p"])
                .arg(child.id().to_string())
                .output()
                .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            panic!("the process does not end: {threads:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The node that leads a partition.
pub fn leader_of(topology: &skep_client::Topology, partition: i32) -> Option<usize> {
    let broker = topology.brokers.iter().find(|broker| {
        let mut partitions = broker.partitions.iter();
        partitions.any(|p| p.partition_id == partition && p.role.eq_ignore_ascii_case("leader"))
    })?;
    usize::try_from(broker.node_id).ok()
}

/// Waits for a condition; panics with its description.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "still not: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
