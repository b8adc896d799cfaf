//! OpenSearch and Elasticsearch servers, each with its own directory and port.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::guarded::{Guarded, wait_for};
use super::not_run;
use super::ports::free_port;

/// Time limit of a start: a busy machine takes long to load that many classes.
const START_LIMIT: Duration = Duration::from_secs(240);
const ANSWER_LIMIT: Duration = Duration::from_secs(180);

/// The product that the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    OpenSearch,
    Elasticsearch,
}

impl Product {
    /// Its name in settings, also that of its directory in `.cache`.
    pub fn name(self) -> &'static str {
        match self {
            Product::OpenSearch => "opensearch",
            Product::Elasticsearch => "elasticsearch",
        }
    }

    /// The installation made by `tests/exporters/setup`.
    fn files(self) -> PathBuf {
        root().join(".cache").join(self.name())
    }

    /// Arguments of Java.
    fn arguments(self) -> Vec<String> {
        let files = self.files().display().to_string();
        let program = |name: &str| {
            let program = root().join("tests/exporters").join(name);
            program.display().to_string()
        };
        match self {
            Product::OpenSearch => vec![
                "-cp".to_string(),
                format!("{files}/*"),
                program("OpenSearchNode.java"),
            ],
            Product::Elasticsearch => vec![
                "-Dorg.elasticsearch.nativeaccess.enableVectorLibrary=false".to_string(),
                format!("--module-path={files}/lib"),
                "--add-modules=jdk.net,jdk.management,ALL-MODULE-PATH".to_string(),
                program("ElasticsearchNode.java"),
                format!("{files}/home"),
            ],
        }
    }
}

/// A single-node server. It ends when dropped, and with the test at the latest.
#[derive(Debug)]
pub struct SearchServer {
    product: Product,
    directory: tempfile::TempDir,
    port: u16,
    process: Option<Guarded>,
}

/// A server shared by all tests of a program, which are isolated by prefixes. `None`: there is none here, which has been reported.
pub fn shared_search_server(product: Product) -> Option<&'static SearchServer> {
    static SHARED: [OnceLock<Option<SearchServer>>; 2] = [OnceLock::new(), OnceLock::new()];
    let [opensearch, elasticsearch] = &SHARED;
    let shared = match product {
        Product::OpenSearch => opensearch,
        Product::Elasticsearch => elasticsearch,
    };
    shared
        .get_or_init(|| SearchServer::start_new(product))
        .as_ref()
}

impl SearchServer {
    /// A repository for snapshots.
    pub const REPOSITORY: &str = "here";

    /// Starts a separate server. `None`: it cannot be started here, which has been reported.
    pub fn start_new(product: Product) -> Option<SearchServer> {
        let made = SearchServer::make(product).and_then(|mut server| {
            server.start()?;
            Ok(server)
        });
        match made {
            Ok(server) => Some(server),
            Err(why) => {
                not_run(product.name(), &why);
                None
            }
        }
    }

    /// Whether the product is installed in the repository.
    pub fn is_installed(product: Product) -> bool {
        product.files().is_dir()
    }

    /// Prepares a server without starting it.
    ///
    /// # Errors
    /// Why it cannot run on this machine.
    pub fn make(product: Product) -> Result<SearchServer, String> {
        if !Self::is_installed(product) {
            return Err(format!(
                "it is not in {} (.ci/setup stores)",
                product.files().display()
            ));
        }
        Ok(SearchServer {
            product,
            directory: tempfile::tempdir().map_err(|e| e.to_string())?,
            port: free_port().map_err(|e| e.to_string())?,
            process: None,
        })
    }

    /// Starts the server, also after a stop.
    ///
    /// # Errors
    /// The error output of the server.
    pub fn start(&mut self) -> Result<(), String> {
        let mut command = vec![
            "java".to_string(),
            "-Xms256m".to_string(),
            "-Xmx1g".to_string(),
            "-XX:+UseSerialGC".to_string(),
            "-XX:TieredStopAtLevel=1".to_string(),
        ];
        command.extend(self.product.arguments());
        command.push(self.directory.path().display().to_string());
        command.push(self.port.to_string());
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
        if wait_for(START_LIMIT, is_ready) {
            Ok(())
        } else {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines
                .get(lines.len().saturating_sub(20)..)
                .unwrap_or_default();
            let name = self.product.name();
            Err(format!("{name} does not start: {}", last.join("\n")))
        }
    }

    /// Shuts the server down cleanly.
    pub fn stop(&mut self) {
        self.end("TERM");
    }

    /// Ends the server immediately, without cleanup.
    pub fn kill(&mut self) {
        self.end("KILL");
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            process.end(signal);
        }
    }

    /// Sends a request with a JSON body, or none, and returns the answer.
    ///
    /// # Errors
    /// The server cannot be reached, or answers with an error.
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
        if head
            .split(' ')
            .nth(1)
            .is_some_and(|code| code.starts_with('2'))
        {
            let is_chunked = head
                .to_ascii_lowercase()
                .contains("transfer-encoding: chunked");
            Ok(if is_chunked {
                joined(body)
            } else {
                body.to_string()
            })
        } else {
            Err(answer)
        }
    }

    /// Registers [`REPOSITORY`](Self::REPOSITORY).
    ///
    /// # Errors
    /// The server cannot be reached, or answers with an error.
    pub fn make_repository(&self) -> Result<(), String> {
        let place = self.directory.path().join("snapshots");
        let place = place.display();
        let repository = format!(r#"{{"type": "fs", "settings": {{"location": "{place}"}}}}"#);
        let path = format!("/_snapshot/{}", Self::REPOSITORY);
        self.ask("PUT", &path, &repository).map(drop)
    }

    /// Deletes these indices, and restores those of the snapshot.
    ///
    /// # Errors
    /// The server cannot be reached, or answers with an error.
    pub fn restore_snapshot(&self, name: &str, indices: &str) -> Result<(), String> {
        // Servers may refuse to delete by a pattern.
        let listed = self.ask("GET", &format!("/_cat/indices/{indices}?h=index"), "")?;
        for index in listed.split_whitespace() {
            self.ask("DELETE", &format!("/{index}"), "")?;
        }
        let repository = Self::REPOSITORY;
        let path = format!("/_snapshot/{repository}/{name}/_restore?wait_for_completion=true");
        self.ask("POST", &path, r#"{"include_global_state": false}"#)
            .map(drop)
    }

    pub fn product(&self) -> Product {
        self.product
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its directory, which is deleted with it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Whether it was started and not ended since.
    pub fn is_started(&self) -> bool {
        self.process.is_some()
    }

    /// A unique prefix of indices.
    pub fn prefix(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for SearchServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_path_buf()
}

/// The text of a body in chunks, which Elasticsearch sends even to clients of HTTP/1.0.
fn joined(mut chunks: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_default();
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        text.push_str(chunk);
        chunks = rest
            .get(size..)
            .unwrap_or_default()
            .trim_start_matches("\r\n");
    }
    text
}
