//! The server that `skep dev` and `skep test` start: this binary, on a directory that is deleted afterwards.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, bail};
use skep_client::{Client, ClientConfig};

/// A file system in memory; nothing is written to a disk there.
const MEMORY: &str = "/dev/shm";
/// Free bytes that it must have; otherwise the directory for temporary files is used.
const ROOM: u64 = 1 << 30;
/// The output line that shows that the server has started.
const UP: &str = "What to do next";

pub struct Server {
    process: Child,
    directory: PathBuf,
    pub rest: String,
    pub grpc: String,
    pub management: String,
}

impl Server {
    /// Starts a server with the ports of REST, gRPC and management, its log level, and further settings.
    pub fn start(
        [rest, grpc, management]: [u16; 3],
        log_level: &str,
        settings: &[&str],
    ) -> anyhow::Result<Server> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = place().join(format!("skep-dev-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("{} cannot be created", directory.display()))?;
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let process = Command::new(program)
            .arg("serve")
            .arg("--data")
            .arg(&directory)
            .args(["--rest-port", &rest.to_string()])
            .args(["--grpc-port", &grpc.to_string()])
            .args(["--management-port", &management.to_string()])
            .args(["--log-level", log_level])
            .args([
                "--set",
                "camunda.data.primary-storage.disk.free-space.processing=2MB",
            ])
            .args([
                "--set",
                "camunda.data.primary-storage.disk.free-space.replication=1MB",
            ])
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the server cannot be started")?;
        let mut server = Server {
            process,
            directory,
            rest: String::new(),
            grpc: String::new(),
            management: String::new(),
        };
        server.read_addresses()?;
        Ok(server)
    }

    /// Reads the server's output until it is up.
    fn read_addresses(&mut self) -> anyhow::Result<()> {
        let output = self
            .process
            .stdout
            .take()
            .context("the server's output cannot be read")?;
        let mut lines = BufReader::new(output);
        let mut said = String::new();
        while !said.contains(UP) {
            if lines.read_line(&mut said)? == 0 {
                bail!("the server did not start; its output is above");
            }
        }
        let address = |label: &str| {
            let line = said.lines().find(|line| line.trim().starts_with(label))?;
            let address = line
                .split_whitespace()
                .last()?
                .trim_start_matches("http://");
            Some(format!("http://{}", address.split('/').next()?))
        };
        self.rest = address("REST").context("the server does not report its REST address")?;
        self.grpc = address("gRPC").context("the server does not report its gRPC address")?;
        self.management =
            address("management").context("the server does not report its management address")?;
        // The server must not meet a closed pipe.
        self.process.stdout = Some(lines.into_inner());
        Ok(())
    }

    /// The log directory of its only partition.
    pub fn log(&self) -> PathBuf {
        self.directory.join("partitions/1/log")
    }

    pub fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::rest(ClientConfig::new(&self.rest))?)
    }

    /// # Errors
    /// The server has ended.
    pub fn still_runs(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the server exited: {status}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data is discarded, so a clean shutdown is not needed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The directory for the data.
fn place() -> PathBuf {
    let memory = Path::new(MEMORY);
    let has_room = rustix::fs::statvfs(memory)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= ROOM);
    if has_room {
        memory.to_path_buf()
    } else {
        std::env::temp_dir()
    }
}
