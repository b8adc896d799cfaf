//! Answers queries. Each thread has one connection, which is renewed when it breaks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::groups::MAX_GROUPS;
use skep_query::{ActiveElements, Answer, Query, QueryError, Row};

use super::related::entities_of;
use super::server::{Failure, FailureKind, Server};
use super::{Documents, active_elements, groups, pages, schema};
use crate::bounded::{MAX_BYTES, TooLarge};
use crate::sql::flows;
use crate::target::Source;
use skep_exporting::Position;

/// Time limit of one query.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Maximum bytes that search servers add around the texts of rows.
const AROUND: usize = 16 << 20;
/// While the server is away, queries fail at once. This is the interval at which the connection is tried again.
const RETRY: Duration = Duration::from_millis(500);

pub struct Reader {
    documents: Arc<Documents>,
    server: Server,
    /// When the server was last found to be away, and why.
    away: Option<(Instant, String)>,
}

impl Reader {
    pub fn new(documents: Arc<Documents>) -> Reader {
        let limit = MAX_BYTES + AROUND;
        Reader {
            server: Server::new(documents.clone(), None, TIME_LIMIT, limit),
            documents,
            away: None,
        }
    }

    fn unavailable(&self, reason: &str) -> QueryError {
        QueryError::Unavailable(format!(
            "Secondary storage ({}) cannot be searched: {reason}. Send the query again when it is back.",
            self.documents.shown
        ))
    }

    fn judge(&mut self, failure: Failure) -> QueryError {
        match failure.kind {
            FailureKind::TooLong => QueryError::TooLong {
                seconds: TIME_LIMIT.as_secs(),
            },
            FailureKind::TooLarge => TooLarge.into(),
            FailureKind::TooComplex => QueryError::TooComplex,
            FailureKind::Away => {
                self.away = Some((Instant::now(), failure.reason.clone()));
                self.unavailable(&failure.reason)
            }
            FailureKind::Refused(_)
            | FailureKind::Wrong
            | FailureKind::Overtaken
            | FailureKind::Foreign => self.unavailable(&failure.reason),
        }
    }

    /// Runs a query and retries it on the next node if the server is away: it may have been restarted since the last query.
    fn tried<T>(&mut self, ask: impl Fn(&Server) -> Result<T, Failure>) -> Result<T, QueryError> {
        self.server.until(Instant::now() + TIME_LIMIT);
        let others = self.documents.settings.urls.len();
        for _ in 0..others {
            match ask(&self.server) {
                Err(failure) if failure.kind == FailureKind::Away => self.server.disconnect(),
                answered => return answered.map_err(|failure| self.judge(failure)),
            }
        }
        ask(&self.server).map_err(|failure| self.judge(failure))
    }
}

impl Source for Reader {
    fn open(&mut self) -> Result<(), QueryError> {
        match &self.away {
            Some((since, reason)) if since.elapsed() < RETRY => Err(self.unavailable(reason)),
            _ => {
                self.away = None;
                Ok(())
            }
        }
    }

    /// Refreshes indices with new writes, so that the query sees them. Without new writes it does nothing.
    fn catch_up(&mut self, query: &Query, elsewhere: bool) -> Result<(), QueryError> {
        let entities = entities_of(query);
        if elsewhere {
            self.documents.wrote_all();
        }
        let unseen = self.documents.unseen(&entities);
        if unseen.is_empty() {
            return Ok(());
        }
        let indices: Vec<String> = unseen
            .iter()
            .filter_map(|(at, _)| skep_query::entities::ALL.get(*at))
            .map(|entity| self.documents.index(entity.table))
            .collect();
        self.tried(|server| server.refresh(&indices))?;
        self.documents.saw(&unseen);
        Ok(())
    }

    fn positions(&mut self) -> Result<Vec<(u32, Position)>, QueryError> {
        self.tried(schema::positions)
    }

    fn answer(&mut self, query: &Query) -> Result<Answer, QueryError> {
        let rows = |found: Option<Vec<Row>>| match found {
            Some(rows) => Ok(Answer::Rows(rows)),
            None => Err(QueryError::TooMany { groups: MAX_GROUPS }),
        };
        match query {
            Query::Search(search) => {
                let found = self.tried(|server| pages::search(server, search))?;
                Ok(Answer::Page(found))
            }
            Query::Get { entity, key } => {
                let found = self.tried(|server| pages::get(server, entity, key.0))?;
                Ok(Answer::Row(found))
            }
            Query::SequenceFlows {
                process_instance_key: key,
            } => {
                let found = self.tried(|server| pages::get(server, &PROCESS_INSTANCE, key.0))?;
                Ok(Answer::Rows(
                    found.map(|row| flows::of(&row)).unwrap_or_default(),
                ))
            }
            Query::Groups(wanted) => {
                rows(self.tried(|server| match ActiveElements::of(wanted) {
                    Some(asked) => active_elements::rows(server, &asked),
                    None => groups::groups(server, wanted),
                })?)
            }
            Query::DefinitionStatistics {
                process_definition_key: key,
            } => {
                let column = const { ELEMENT_INSTANCE.column("processDefinitionKey") };
                rows(self.tried(|server| groups::of_elements(server, column, key.0))?)
            }
            Query::ElementStatistics {
                process_instance_key: key,
            } => {
                let column = const { ELEMENT_INSTANCE.column("processInstanceKey") };
                rows(self.tried(|server| groups::of_elements(server, column, key.0))?)
            }
        }
    }
}
