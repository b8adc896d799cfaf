//! A PostgreSQL server for the nodes' secondary storage, reached through a proxy so that it can be unavailable in several manners.

use std::io;
use std::time::Duration;

use skep_testbed::{Direction, Postgres, Proxy, free_port};

use super::SharedGuard;
use crate::guard::{Process, Undo};
use crate::plan::StoreState;

/// The nodes log in with these.
const USER: &str = "nodes";
const PASSWORD: &str = "secret";
/// Time limit for binding a previously used port again.
const REBIND: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Store {
    server: Postgres,
    /// The port used by the nodes.
    port: u16,
    /// `None` while the server is stopped: then nobody listens.
    way: Option<Proxy>,
    made: bool,
    guard: SharedGuard,
}

impl Store {
    /// Prepares a server without starting it.
    pub(super) fn new(guard: &SharedGuard) -> io::Result<Self> {
        let server = Postgres::make().map_err(io::Error::other)?;
        let directory = Undo::Remove(server.directory().to_path_buf());
        guard.with(|guard| guard.push(directory))?;
        Ok(Self {
            server,
            port: free_port()?,
            way: None,
            made: false,
            guard: guard.clone(),
        })
    }

    /// Settings that make nodes use it.
    pub(super) fn settings(&self) -> [(String, String); 4] {
        let url = format!("jdbc:postgresql://127.0.0.1:{}/postgres", self.port);
        [
            ("type", "rdbms".to_string()),
            ("rdbms.url", url),
            ("rdbms.username", USER.to_string()),
            ("rdbms.password", PASSWORD.to_string()),
        ]
        .map(|(name, value)| (format!("camunda.data.secondary-storage.{name}"), value))
    }

    pub(super) fn set(&mut self, state: StoreState) -> io::Result<()> {
        if state == StoreState::Stopped {
            self.way = None;
            self.server.stop();
            return Ok(());
        }
        self.start()?;
        let password = match state {
            StoreState::WrongPassword => "another",
            _ => PASSWORD,
        };
        let change = format!("ALTER ROLE {USER} PASSWORD '{password}'");
        self.server.sql(&change).map_err(io::Error::other)?;
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

    fn start(&mut self) -> io::Result<()> {
        if self.server.pid().is_none() {
            // It also ends with this program by itself: its shell watches for that.
            self.server.start().map_err(io::Error::other)?;
            let process = self.server.pid().and_then(Process::of);
            if let Some(process) = process {
                self.guard.with(|guard| guard.push(Undo::Kill(process)))?;
            }
        }
        if !self.made {
            let make = format!(
                "CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'; GRANT CREATE ON SCHEMA public TO {USER}"
            );
            self.server.sql(&make).map_err(io::Error::other)?;
            self.made = true;
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
