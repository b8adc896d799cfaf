//! PostgreSQL servers, each with its own directory and port.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::guarded::{Guarded, wait_for};
use super::not_run;
use super::ports::free_port;

/// The database that every server has.
const MAIN: &str = "postgres";
const START_LIMIT: Duration = Duration::from_secs(180);

/// A server. It ends when dropped, and with the test at the latest.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    directory: tempfile::TempDir,
    port: u16,
    /// Additional options of this server.
    options: Vec<String>,
    process: Option<Guarded>,
}

/// A server shared by all tests of a program, which are isolated by prefixes. `None`: there is none here, which has been reported.
pub fn shared_postgres() -> Option<&'static Postgres> {
    static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
    SHARED.get_or_init(Postgres::start_new).as_ref()
}

impl Postgres {
    /// Starts a separate server. `None`: it cannot be started here, which has been reported.
    pub fn start_new() -> Option<Postgres> {
        let made = Postgres::make().and_then(|mut server| {
            server.start()?;
            Ok(server)
        });
        match made {
            Ok(server) => Some(server),
            Err(why) => {
                not_run("postgres", &why);
                None
            }
        }
    }

    /// Whether PostgreSQL is installed on this machine.
    pub fn is_installed() -> bool {
        programs().is_some()
    }

    /// Prepares a server without starting it.
    ///
    /// # Errors
    /// Why it cannot run on this machine.
    pub fn make() -> Result<Postgres, String> {
        let programs =
            programs().ok_or("PostgreSQL is not installed (apt-get install postgresql)")?;
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        let server = Postgres {
            programs,
            directory,
            port: free_port().map_err(|e| e.to_string())?,
            options: Vec::new(),
            process: None,
        };
        if is_root() {
            run(&["chown".into(), "postgres".into(), server.path("")])?;
        }
        let mut init = server.command("initdb");
        let data = server.path("data");
        let arguments = [
            "-D",
            &data,
            "-A",
            "scram-sha-256",
            "-U",
            "skep",
            "-N",
            "--locale=C.UTF-8",
        ];
        init.extend(arguments.map(String::from));
        let password = server.path("password");
        std::fs::write(&password, "secret\n").map_err(|e| e.to_string())?;
        init.push(format!("--pwfile={password}"));
        run(&init)?;
        Ok(server)
    }

    /// Starts the server, also after a stop.
    ///
    /// # Errors
    /// The error output of the server.
    pub fn start(&mut self) -> Result<(), String> {
        let mut command = self.command("postgres");
        let (data, sockets) = (self.path("data"), self.path(""));
        // Tests only crash processes: without fsync nothing is lost.
        let arguments = [
            "-D",
            &data,
            "-k",
            &sockets,
            "-h",
            "127.0.0.1",
            "-c",
            "fsync=off",
            "-c",
            "max_connections=200",
        ];
        command.extend(arguments.map(String::from));
        command.extend(["-p".to_string(), self.port.to_string()]);
        command.extend(self.options.iter().cloned());
        let log = self.directory.path().join("log");
        let file = File::options().create(true).append(true).open(&log);
        let file = file.map_err(|e| e.to_string())?;
        let process = Guarded::start(&command, self.directory.path(), file);
        self.process = Some(process.map_err(|e| e.to_string())?);
        if wait_for(START_LIMIT, || self.sql("SELECT 1").is_ok()) {
            Ok(())
        } else {
            Err(format!(
                "PostgreSQL does not start: {}",
                std::fs::read_to_string(&log).unwrap_or_default()
            ))
        }
    }

    /// Restarts the server with TLS: certificate and key as PEM.
    ///
    /// # Errors
    /// The error output of the server.
    pub fn secure(&mut self, certificate: &str, key: &str) -> Result<(), String> {
        self.stop();
        for (name, text) in [("own.pem", certificate), ("own.key", key)] {
            let file = self.path(name);
            std::fs::write(&file, text).map_err(|e| e.to_string())?;
            run(&["chmod".into(), "600".into(), file.clone()])?;
            if is_root() {
                run(&["chown".into(), "postgres".into(), file])?;
            }
        }
        self.options = vec![
            "-cssl=on".to_string(),
            format!("-cssl_cert_file={}", self.path("own.pem")),
            format!("-cssl_key_file={}", self.path("own.key")),
        ];
        self.start()
    }

    /// Limits the size of files for new connections, like a full disk. `None` removes the limit.
    ///
    /// # Errors
    /// The error output of prlimit.
    pub fn limit_files(&self, bytes: Option<u64>) -> Result<(), String> {
        let pid = std::fs::read_to_string(self.directory.path().join("data/postmaster.pid"));
        let pid = pid.map_err(|e| e.to_string())?;
        let pid = pid.lines().next().unwrap_or_default();
        let limit = bytes.map_or("unlimited".to_string(), |bytes| bytes.to_string());
        let mut command = as_its_user("prlimit".to_string());
        command.extend([format!("--pid={pid}"), format!("--fsize={limit}:unlimited")]);
        run(&command)?;
        self.drop_connections()
    }

    /// Ends all connections but this one.
    ///
    /// # Errors
    /// The error output of psql.
    pub fn drop_connections(&self) -> Result<(), String> {
        let end =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
            AND backend_type = 'client backend'";
        self.sql(end).map(drop)
    }

    /// Shuts the server down cleanly.
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Ends the server immediately, without cleanup.
    pub fn kill(&mut self) {
        self.end("QUIT");
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            process.end(signal);
        }
    }

    /// Executes SQL and returns the result, one row per line.
    ///
    /// # Errors
    /// The error output of psql.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        self.sql_in(MAIN, sql)
    }

    /// The same in another database of the server.
    ///
    /// # Errors
    /// The error output of psql.
    pub fn sql_in(&self, database: &str, sql: &str) -> Result<String, String> {
        self.psql(database, &["-c", sql])
    }

    fn psql(&self, database: &str, arguments: &[&str]) -> Result<String, String> {
        let quiet = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"];
        let mut psql = self.client("psql", database);
        said(psql.args(quiet).args(arguments))
    }

    /// A client program that connects to this database.
    fn client(&self, program: &str, database: &str) -> Command {
        let mut client = Command::new(self.programs.join(program));
        client.env("PGPASSWORD", "secret");
        client.args(["-U", "skep", "-h", "127.0.0.1", "-d", database]);
        client.args(["-p", &self.port.to_string()]);
        client
    }

    /// Dumps the database as it is now (`pg_dump`).
    ///
    /// # Errors
    /// The error output of pg_dump.
    pub fn dump(&self) -> Result<String, String> {
        said(&mut self.client("pg_dump", MAIN))
    }

    /// Creates another database with the content of a dump. Its URL is [`url_of`](Self::url_of) its name.
    ///
    /// # Errors
    /// The error output of psql.
    pub fn load(&self, dump: &str, database: &str) -> Result<(), String> {
        self.sql(&format!("CREATE DATABASE {database}"))?;
        let file = self.path(&format!("{database}.sql"));
        std::fs::write(&file, dump).map_err(|e| e.to_string())?;
        self.psql(database, &["-f", &file]).map(drop)
    }

    /// The JDBC URL for clients. User `skep`, password `secret`.
    pub fn url(&self) -> String {
        self.url_of(MAIN)
    }

    /// The same for another database of the server.
    pub fn url_of(&self, database: &str) -> String {
        format!("jdbc:postgresql://127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its directory, which is deleted with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref()?;
        let pid = std::fs::read_to_string(self.directory.path().join("data/postmaster.pid"));
        pid.ok()?.lines().next()?.parse().ok()
    }

    /// A unique prefix of tables.
    pub fn prefix(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("t{}_", NEXT.fetch_add(1, Ordering::Relaxed))
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn command(&self, program: &str) -> Vec<String> {
        as_its_user(self.programs.join(program).display().to_string())
    }
}

/// Runs a program as a user other than root, which the server refuses.
fn as_its_user(program: String) -> Vec<String> {
    if !is_root() {
        return vec![program];
    }
    let drop = [
        "setpriv",
        "--reuid=postgres",
        "--regid=postgres",
        "--clear-groups",
    ];
    drop.into_iter()
        .map(String::from)
        .chain([program])
        .collect()
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The directory of its programs.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let packaged = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let packaged = packaged.flatten().map(|version| version.path().join("bin"));
    let has_all = |directory: &Path| {
        ["initdb", "postgres", "psql"]
            .iter()
            .all(|name| directory.join(name).exists())
    };
    packaged
        .chain(std::env::split_paths(&path))
        .find(|directory| has_all(directory))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The output of a program; its error output if it failed.
fn said(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|e| e.to_string())?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_string())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

fn run(command: &[String]) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(());
    };
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|e| format!("{program}: {e}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&done.stderr)
        ))
    }
}
