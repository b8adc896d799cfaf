//! A server for the nodes' secondary storage, reached through a proxy so that it can be unavailable in several manners: PostgreSQL, or a
//! search server.

use std::io;
use std::path::Path;
use std::time::Duration;

use skep_testbed::{Direction, Postgres, Product, Proxy, SearchServer, free_port};

use super::SharedGuard;
use crate::guard::{Process, Undo};
use crate::plan::{StoreKind, StoreState};

/// The nodes log in at PostgreSQL with these.
const USER: &str = "nodes";
const PASSWORD: &str = "secret";
/// Time limit for binding a previously used port again.
const REBIND: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Server {
    Postgres {
        server: Postgres,
        /// Whether it has the nodes' role.
        made: bool,
    },
    Search(SearchServer),
}

#[derive(Debug)]
pub(super) struct Store {
    server: Server,
    /// The port used by the nodes.
    port: u16,
    /// `None` while the server is stopped: then nobody listens.
    way: Option<Proxy>,
    guard: SharedGuard,
}

impl Server {
    fn make(kind: StoreKind) -> io::Result<Self> {
        let Some(product) = product(kind) else {
            let server = Postgres::make().map_err(io::Error::other)?;
            let made = false;
            return Ok(Self::Postgres { server, made });
        };
        let server = SearchServer::make(product);
        server.map(Self::Search).map_err(io::Error::other)
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Postgres { server, .. } => server.directory(),
            Self::Search(server) => server.directory(),
        }
    }

    fn port(&self) -> u16 {
        match self {
            Self::Postgres { server, .. } => server.port(),
            Self::Search(server) => server.port(),
        }
    }

    fn stop(&mut self) {
        match self {
            Self::Postgres { server, .. } => server.stop(),
            Self::Search(server) => server.stop(),
        }
    }

    /// Starts it, if it is not there. It also ends with this program by itself: its shell watches for that.
    fn start(&mut self, guard: &SharedGuard) -> io::Result<()> {
        match self {
            Self::Postgres { server, made } => {
                if server.pid().is_none() {
                    server.start().map_err(io::Error::other)?;
                    if let Some(process) = server.pid().and_then(Process::of) {
                        guard.with(|guard| guard.push(Undo::Kill(process)))?;
                    }
                }
                if !*made {
                    let make = format!(
                        "CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'; GRANT CREATE ON SCHEMA public TO {USER}"
                    );
                    server.sql(&make).map_err(io::Error::other)?;
                    *made = true;
                }
                Ok(())
            }
            Self::Search(server) if server.is_started() => Ok(()),
            Self::Search(server) => server.start().map_err(io::Error::other),
        }
    }

    /// Sets the password of the nodes' role. Search servers have none: no plan asks for another one there.
    fn set_password(&self, password: &str) -> io::Result<()> {
        match self {
            Self::Postgres { server, .. } => {
                let change = format!("ALTER ROLE {USER} PASSWORD '{password}'");
                server.sql(&change).map_err(io::Error::other)?;
                Ok(())
            }
            Self::Search(_) => Ok(()),
        }
    }
}

/// The search server of a kind of store; `None` for PostgreSQL.
fn product(kind: StoreKind) -> Option<Product> {
    match kind {
        StoreKind::Postgres => None,
        StoreKind::Opensearch => Some(Product::OpenSearch),
        StoreKind::Elasticsearch => Some(Product::Elasticsearch),
    }
}

impl Store {
    /// Prepares a server without starting it.
    pub(super) fn new(kind: StoreKind, guard: &SharedGuard) -> io::Result<Self> {
        let server = Server::make(kind)?;
        let directory = Undo::Remove(server.directory().to_path_buf());
        guard.with(|guard| guard.push(directory))?;
        Ok(Self {
            server,
            port: free_port()?,
            way: None,
            guard: guard.clone(),
        })
    }

    /// Settings that make nodes use it.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let at = format!("127.0.0.1:{}", self.port);
        let settings = match &self.server {
            Server::Postgres { .. } => vec![
                ("type".to_string(), "rdbms".to_string()),
                (
                    "rdbms.url".into(),
                    format!("jdbc:postgresql://{at}/postgres"),
                ),
                ("rdbms.username".into(), USER.into()),
                ("rdbms.password".into(), PASSWORD.into()),
            ],
            Server::Search(server) => {
                let name = server.product().name();
                vec![
                    ("type".into(), name.into()),
                    (format!("{name}.url"), format!("http://{at}")),
                ]
            }
        };
        let settings = settings.into_iter();
        let named = |(name, value): (String, String)| {
            (format!("camunda.data.secondary-storage.{name}"), value)
        };
        settings.map(named).collect()
    }

    pub(super) fn set(&mut self, state: StoreState) -> io::Result<()> {
        if state == StoreState::Stopped {
            self.way = None;
            self.server.stop();
            return Ok(());
        }
        self.server.start(&self.guard)?;
        let password = match state {
            StoreState::WrongPassword => "another",
            _ => PASSWORD,
        };
        self.server.set_password(password)?;
        let delay = match state {
            StoreState::Slow { delay_ms } => Duration::from_millis(delay_ms),
            _ => Duration::ZERO,
        };
        if self.way.is_none() {
            self.way = Some(self.listen()?);
        }
        if let Some(way) = &self.way {
            way.delay(Direction::Forth, delay);
            way.delay(Direction::Back, delay);
            way.hold(state == StoreState::Silent);
            // Existing sessions must notice the change too.
            way.cut();
        }
        Ok(())
    }

    fn listen(&self) -> io::Result<Proxy> {
        let end = std::time::Instant::now() + REBIND;
        loop {
            match Proxy::start_on(self.port, self.server.port()) {
                Err(error) if std::time::Instant::now() >= end => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
                Ok(way) => return Ok(way),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;

    #[test]
    fn nodes_reach_a_search_server_through_the_proxy() {
        if !SearchServer::is_installed(Product::OpenSearch) {
            // Past the capture of the test harness: readers of the log must see it.
            let line = "NOT RUN (opensearch): it is not installed (.ci/setup stores)\n";
            io::Write::write_all(&mut io::stderr(), line.as_bytes()).unwrap();
            return;
        }
        let guard = SharedGuard::new(Guard::start(&["cat".to_string()]).unwrap());
        let store = Store::new(StoreKind::Opensearch, &guard).unwrap();
        let prefix = "camunda.data.secondary-storage";
        let expected = [
            (format!("{prefix}.type"), "opensearch".to_string()),
            (
                format!("{prefix}.opensearch.url"),
                format!("http://127.0.0.1:{}", store.port),
            ),
        ];
        assert_eq!(store.settings(), expected);
        assert_ne!(store.port, store.server.port(), "a proxy is between them");
    }
}
