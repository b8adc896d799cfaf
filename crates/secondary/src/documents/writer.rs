//! Writes the rows of a window of changes, followed by the new position.
//!
//! A search server has no transactions, so a window may be written in part. Before any of it is written, the partition's
//! progress document records where the window ends. After a failure, the same window is written again from the same records
//! ([`Target::begun`]). Each document has the last record of its window as its version. The version tells what was written
//! already, so nothing is added twice, and a deposed writer that still runs cannot restore old values. Each update of the
//! progress document checks that this writer still owns it.

use skep_exporting::TargetError;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_query::{Condition, Conditions, Entity, Op, Row, Value, entities};

use super::document::{self, action, id_of};
use super::filter::{all_of, field, named};
use super::related::Resolver;
use super::schema::{self, Progress};
use super::server::{Failure, FailureKind, Server, strange};
use super::{Documents, history};
use crate::changes::{Changes, RowChange, Rows};
use crate::definitions::StoredDefinitions;
use crate::settle::{Stored, begun};
use crate::target::Target;
use skep_exporting::Position;
use skep_exporting::Status;

/// Time limit of a request.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum bytes of an answer and of a request.
const MAX_ANSWER: usize = 32 << 20;
const MAX_REQUEST: usize = 8 << 20;
/// Rows read at a time to be rewritten.
const CHUNK: usize = 500;
/// Rows looked up at a time.
const PAGE: usize = 5_000;
/// The partition that writes the rows that all partitions share.
const SHARED: u32 = 1;

pub struct Writer {
    server: Server,
    /// The cluster that owns the data.
    cluster: String,
    partition: u32,
    progress: Progress,
    /// Whether the template of each entity exists.
    prepared: Vec<bool>,
    /// Whether there may still be rows of earlier builds to delete; see [`history::marked`].
    has_marked: bool,
}

impl Writer {
    /// Does not connect yet.
    pub fn new(
        documents: Arc<Documents>,
        cluster: &str,
        partition: u32,
        exporter: Arc<Status>,
    ) -> Writer {
        Writer {
            server: Server::new(documents, Some(exporter), LIMIT, MAX_ANSWER),
            cluster: cluster.to_string(),
            partition,
            progress: Progress::default(),
            prepared: Vec::new(),
            has_marked: false,
        }
    }

    fn shown(&self, failure: &Failure) -> TargetError {
        failure.of(&self.server.documents.shown)
    }

    /// Whether this partition writes the entity. Rows that are the same everywhere are written by one partition.
    fn writes(&self, entity: &Entity) -> bool {
        !entity.everywhere || self.partition == SHARED
    }

    fn go_to(&mut self, position: Position, begun: u64) -> Result<(), Failure> {
        let progress = Progress {
            position,
            begun,
            ..self.progress
        };
        self.progress = schema::put_progress(&self.server, self.partition, &progress)?;
        Ok(())
    }

    fn store(&mut self, changes: &Changes, to: Position) -> Result<(), Failure> {
        let changed = |rows: &Rows| !rows.is_empty() && self.writes(rows.entity);
        let changed: Vec<bool> = changes.rows.iter().map(changed).collect();
        let writes = changed.contains(&true);
        if writes || !changes.definitions.is_empty() || !changes.deletions.is_empty() {
            if self.progress.begun != to.record {
                self.go_to(self.progress.position, to.record)?;
            }
            self.prepare(&changed)?;
            let mut bulk = Bulk::new(&self.server);
            for (rows, _) in changes.rows.iter().zip(&changed).filter(|(_, is)| **is) {
                self.rows(&mut bulk, rows, to.record)?;
            }
            self.definitions(&mut bulk, changes)?;
            bulk.send()?;
            self.wrote(&changed);
            let of_all = |entity: &Entity| self.writes(entity);
            for deletion in &changes.deletions {
                history::delete(&self.server, deletion, to.record, of_all)?;
            }
        }
        self.go_to(to, 0)
    }

    /// Creates the templates of indices that are about to be created.
    fn prepare(&mut self, changed: &[bool]) -> Result<(), Failure> {
        self.prepared.resize(entities::ALL.len(), false);
        let both = self.prepared.iter_mut().zip(changed);
        for (entity, (prepared, changed)) in entities::ALL.into_iter().zip(both) {
            if *changed && !*prepared {
                schema::prepare_index(&self.server, entity)?;
                *prepared = true;
            }
        }
        Ok(())
    }

    fn wrote(&self, changed: &[bool]) {
        let numbers = changed.iter().enumerate().filter(|(_, is)| **is);
        numbers.for_each(|(at, _)| self.server.documents.wrote(at));
    }

    /// Writes rows, and deletes those that left. Rows not complete in this window are completed with the stored values.
    fn rows(&self, bulk: &mut Bulk<'_>, rows: &Rows, version: u64) -> Result<(), Failure> {
        let entity = rows.entity;
        let index = self.server.documents.index(entity.table);
        let all = u64::MAX >> (64 - entity.fields.len());
        let begins = begun(entity).map_or(0, |column| 1 << column);
        let is_whole = |row: &RowChange<'_>| row.mask == all || row.mask & begins != 0;
        let (kept, gone) = rows.parted();
        for key in gone {
            bulk.delete(&index, &id_of(key), version)?;
        }
        let (known, partial): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_whole);
        for row in known {
            bulk.row(entity, &index, row.values, version)?;
        }
        for chunk in partial.chunks(CHUNK) {
            let id = |row: &RowChange<'_>| (index.clone(), row.values.first().map(id_of));
            let wanted = chunk.iter().map(id);
            let wanted: Vec<_> = wanted
                .map(|(index, id)| (index, id.unwrap_or_default()))
                .collect();
            for (row, found) in chunk.iter().zip(self.server.get(&wanted)?) {
                let stored = found.get("_version").and_then(Json::as_u64);
                // The window is being written again, and this row was stored the first time.
                if stored.is_some_and(|stored| stored >= version && version > 0) {
                    continue;
                }
                let mut values = match found.get("_source") {
                    Some(source) => document::read(entity, source),
                    None => vec![Value::Null; entity.fields.len()],
                };
                for (at, (value, given)) in values.iter_mut().zip(row.values).enumerate() {
                    if row.mask & (1 << at) != 0 {
                        *value = given.clone();
                    }
                }
                bulk.row(entity, &index, &values, version)?;
            }
        }
        Ok(())
    }

    fn definitions(&self, bulk: &mut Bulk<'_>, changes: &Changes) -> Result<(), Failure> {
        let index = self.server.documents.index(schema::DEFINITION);
        for (key, body) in &changes.definitions {
            // Every partition writes the same definitions.
            action("create", &index, &key.0.to_string(), None, &mut bulk.body);
            let line = json!({"body": STANDARD.encode(body)}).to_string();
            bulk.body.extend_from_slice(line.as_bytes());
            bulk.ends()?;
        }
        Ok(())
    }

    /// Reads rows by key; sees writes without a refresh.
    fn by_keys(&self, entity: &'static Entity, keys: &[Value]) -> Result<Vec<Row>, Failure> {
        let index = self.server.documents.index(entity.table);
        let wanted = keys.iter().map(|key| (index.clone(), id_of(key)));
        let found = self.server.get(&wanted.collect::<Vec<_>>())?;
        let sources = found.iter().filter_map(|document| document.get("_source"));
        Ok(sources
            .map(|source| document::read(entity, source))
            .collect())
    }

    fn by_conditions(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
    ) -> Result<Vec<Row>, Failure> {
        let documents = &self.server.documents;
        let index = documents.index(entity.table);
        let unseen = documents.unseen(&[entity]);
        if !unseen.is_empty() {
            self.server.refresh(std::slice::from_ref(&index))?;
            documents.saw(&unseen);
        }
        let query = Resolver::new(&self.server, None).conditions(entity, conditions)?;
        let key = entity.key().name;
        let mut found: Vec<Row> = Vec::new();
        loop {
            let last = found.last().and_then(|row| row.first()).cloned();
            let after = last.map(|last| all_of(vec![query.clone(), field(key, &Op::Gt(last))]));
            let body = json!({
                "size": PAGE, "query": after.as_ref().unwrap_or(&query), "sort": [named(key, json!("asc"))],
                "track_total_hits": false,
            });
            let answer = self.server.search(&index, &body)?;
            let mut page = super::pages::rows(entity, &answer)?;
            let is_last = page.len() < PAGE;
            found.append(&mut page);
            if is_last {
                return Ok(found);
            }
        }
    }

    fn delete_old(&mut self, before: i64, limit: usize) -> Result<usize, Failure> {
        let version = self.progress.position.record;
        let old = history::forget(&self.server, self.partition, before, limit, version)?;
        if !self.has_marked {
            return Ok(old);
        }
        let marked = history::marked(&self.server, limit, version)?;
        self.has_marked = marked >= limit;
        Ok(old.max(marked))
    }
}

impl Target for Writer {
    fn open(&mut self) -> Result<Position, TargetError> {
        self.server.disconnect();
        // The index may have been deleted, together with its template.
        self.prepared.clear();
        // Another node may have led the partition.
        self.server.documents.wrote_all();
        let opened = schema::prepare(&self.server, &self.cluster)
            .and_then(|()| schema::take_over(&self.server, self.partition));
        self.progress = opened.map_err(|failure| self.shown(&failure))?;
        self.has_marked = self.partition == SHARED;
        Ok(self.progress.position)
    }

    fn begun(&self) -> u64 {
        self.progress.begun
    }

    fn write(&mut self, changes: &Changes, to: Position) -> Result<(), TargetError> {
        let stored = self.store(changes, to);
        stored.map_err(|failure| self.shown(&failure))
    }

    fn forget(&mut self, before: i64, limit: usize) -> Result<usize, TargetError> {
        let forgotten = self.delete_old(before, limit);
        forgotten.map_err(|failure| self.shown(&failure))
    }

    /// Each slice refreshes and writes indices, which takes time even for few rows.
    fn slice(&self) -> Duration {
        Duration::from_secs(1)
    }
}

impl Stored for Writer {
    fn look_up(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
        columns: &[usize],
    ) -> Result<Vec<Row>, TargetError> {
        let found = match conditions.as_slice() {
            [
                Condition::Field {
                    field: 0,
                    op: Op::In(keys),
                },
            ] => self.by_keys(entity, keys),
            _ => self.by_conditions(entity, conditions),
        };
        let found = found.map_err(|failure| self.shown(&failure))?;
        let asked = |row: Row| {
            let columns = columns.iter().map(|at| row.get(*at).cloned());
            columns.map(Option::unwrap_or_default).collect()
        };
        Ok(found.into_iter().map(asked).collect())
    }
}

impl StoredDefinitions for Writer {
    fn definition(&self, key: Key) -> Result<Option<Vec<u8>>, TargetError> {
        let index = self.server.documents.index(schema::DEFINITION);
        let found = self.server.get(&[(index, key.0.to_string())]);
        let found = found.map_err(|failure| self.shown(&failure))?;
        let body = found
            .first()
            .and_then(|found| found.pointer("/_source/body")?.as_str());
        let decoded = body.map(|body| STANDARD.decode(body));
        decoded.transpose().map_err(|error| {
            TargetError::Corrupt(format!(
                "the definition {key} that is stored cannot be read: {error}"
            ))
        })
    }
}

/// A bulk request that is sent once it is large enough.
pub struct Bulk<'a> {
    server: &'a Server,
    pub body: Vec<u8>,
    line: String,
    /// Number of deletions that found a document.
    pub deleted: usize,
}

impl<'a> Bulk<'a> {
    pub fn new(server: &'a Server) -> Bulk<'a> {
        Bulk {
            server,
            body: Vec::new(),
            line: String::new(),
            deleted: 0,
        }
    }

    fn row(
        &mut self,
        entity: &Entity,
        index: &str,
        values: &[Value],
        version: u64,
    ) -> Result<(), Failure> {
        let id = values.first().map(id_of).unwrap_or_default();
        action("index", index, &id, Some(version), &mut self.body);
        self.line.clear();
        document::write(entity, values, &mut self.line);
        self.body.extend_from_slice(self.line.as_bytes());
        self.ends()
    }

    pub fn delete(&mut self, index: &str, id: &str, version: u64) -> Result<(), Failure> {
        action("delete", index, id, Some(version), &mut self.body);
        self.send_if_large()
    }

    /// Ends a document.
    fn ends(&mut self) -> Result<(), Failure> {
        self.body.push(b'\n');
        self.send_if_large()
    }

    fn send_if_large(&mut self) -> Result<(), Failure> {
        if self.body.len() >= MAX_REQUEST {
            self.send()
        } else {
            Ok(())
        }
    }

    /// Sends what has been collected. A document that exists in the same or a later version is not an error.
    pub fn send(&mut self) -> Result<(), Failure> {
        if self.body.is_empty() {
            return Ok(());
        }
        let path = "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason,items.*._index,items.*._id";
        let answer = self.server.lines(path, std::mem::take(&mut self.body))?;
        let items = answer.get("items").and_then(Json::as_array);
        for item in items.ok_or_else(|| strange("/_bulk"))? {
            let done = item.as_object().and_then(|item| item.iter().next());
            let (name, outcome) = done.ok_or_else(|| strange("/_bulk"))?;
            let status = outcome
                .get("status")
                .and_then(Json::as_u64)
                .unwrap_or_default();
            let status = u16::try_from(status)
                .ok()
                .and_then(|code| StatusCode::from_u16(code).ok());
            let is_deletion = name == "delete";
            match status {
                Some(status) if status.is_success() => self.deleted += usize::from(is_deletion),
                Some(StatusCode::CONFLICT) => {}
                Some(StatusCode::NOT_FOUND) if is_deletion => {}
                _ => return Err(refused(outcome)),
            }
        }
        Ok(())
    }
}

fn refused(item: &Json) -> Failure {
    let text = |at: &str| item.pointer(at).and_then(Json::as_str).unwrap_or_default();
    let status = item
        .get("status")
        .and_then(Json::as_u64)
        .unwrap_or_default();
    let mut reason = text("/error/reason").to_string();
    if let Some((at, _)) = reason.char_indices().nth(500) {
        reason.truncate(at);
    }
    let reason = format!(
        "the document {} is refused by the index {} with status {status}: {}: {reason}",
        text("/_id"),
        text("/_index"),
        text("/error/type"),
    );
    let code = u16::try_from(status).unwrap_or_default();
    Failure::new(FailureKind::Refused(code), reason)
}
