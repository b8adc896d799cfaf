//! Exporters to Elasticsearch and OpenSearch. Each record becomes a document in an index for its value type and day.
//!
//! The ID of a document consists of partition and position. Its sequence continues from the value stored with the exporter's
//! position, so a record that is sent again replaces itself.

mod documents;
mod server;
mod settings;
mod templates;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use skep_protocol::ValueType;
use skep_protocol::record;
use skep_protocol::value::ProcessValue;

use self::documents::{Documents, Sequences};
use self::server::{Bulked, Server};
pub use self::settings::{
    BulkSettings, Flavor, IndexSettings, PatternError, Retention, SearchSettings,
};
use crate::exporter::{Beginning, Exporter, Make, Position};
use crate::metrics::{Bulk, Sink, Tally};
use crate::target_error::TargetError;

/// Hint for a document that no server accepts. The ID of the document ends with the position of its record.
const SKIP: &str = "; if it can never be stored, name the position behind the '-' in camunda.data.export.skip-records";
/// Maximum characters of the reason in an error about a refused document.
const MAX_REASON: usize = 500;

impl Make for SearchSettings {
    fn exporter(&self, beginning: Beginning) -> Box<dyn Exporter> {
        Box::new(Exporting::new(Arc::new(self.clone()), beginning))
    }

    fn sink(&self) -> Sink {
        Sink::Bulks
    }
}

struct Exporting {
    settings: Arc<SearchSettings>,
    server: Server,
    documents: Documents,
    /// Records before this position were exported earlier. They are only read to learn names.
    begin: Position,
    /// The state from which names of elements are learned, until that is done.
    beginning: Option<Beginning>,
    durable: Position,
    durable_sequences: Sequences,
    /// Whether the policy and the common part of the templates exist.
    is_prepared: bool,
    /// Value types whose template exists.
    prepared: BTreeSet<u8>,
}

impl Exporting {
    fn new(settings: Arc<SearchSettings>, beginning: Beginning) -> Exporting {
        // Metadata that cannot be decoded was not written by this exporter, so sequences start at zero.
        let sequences: Sequences = record::decode(&beginning.metadata).unwrap_or_default();
        Exporting {
            server: Server::new(&settings, beginning.status.clone()),
            documents: Documents::new(settings.clone(), beginning.partition, sequences.clone()),
            settings,
            begin: beginning.position,
            durable: beginning.position,
            durable_sequences: sequences,
            beginning: Some(beginning),
            is_prepared: false,
            prepared: BTreeSet::new(),
        }
    }

    /// Learns the names of living elements and returns where to start reading. Records before the first to export may be needed
    /// for that.
    fn learn_what_lives(&mut self, beginning: &Beginning) -> Position {
        let names = self.documents.names();
        for body in beginning.known.definitions.iter() {
            if let Ok(value) = record::decode::<ProcessValue>(body) {
                names.define(&value);
            }
        }
        for (key, ancestor) in beginning.known.elements.iter() {
            names.add_element(*key, ancestor);
        }
        let known = beginning.known.entry;
        if known >= self.begin.entry {
            return self.begin;
        }
        Position {
            entry: known,
            ..self.begin
        }
    }

    /// Creates what the indices of these documents need.
    fn prepare(&mut self) -> Result<(), TargetError> {
        if !self.is_prepared {
            if let Some(retention) = &self.settings.retention {
                self.server.put_policy(&self.settings, retention)?;
            }
            if self.settings.index.create_template {
                let (path, body) = templates::component(&self.settings);
                self.server.ask(Method::PUT, &path, body)?;
            }
            self.is_prepared = true;
        }
        for value_type in self.documents.value_types() {
            let id = value_type as u8;
            if self.settings.index.create_template && !self.prepared.contains(&id) {
                let (path, body) = templates::index(&self.settings, value_type);
                self.server.ask(Method::PUT, &path, body)?;
                self.prepared.insert(id);
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), TargetError> {
        self.prepare()?;
        let all = 0..self.documents.len();
        let mut parts = vec![all];
        while let Some(part) = parts.pop() {
            let body = self.documents.bulk(part.clone());
            let answer = match self.server.bulk(body)? {
                Bulked::Done(answer) => answer,
                Bulked::TooLarge(reason) if part.len() <= 1 => {
                    let id = self.documents.id(part.start).unwrap_or_default();
                    return Err(TargetError::Refused(format!(
                        "document {id} is too large for the server: {reason}{SKIP}"
                    )));
                }
                Bulked::TooLarge(_) => {
                    let middle = part.start + part.len() / 2;
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                    continue;
                }
            };
            let answer: BulkAnswer = serde_json::from_slice(&answer).map_err(|e| {
                TargetError::Corrupt(format!("the answer to a bulk request cannot be read: {e}"))
            })?;
            if answer.errors {
                return Err(answer.why());
            }
        }
        Ok(())
    }
}

impl Exporter for Exporting {
    fn open(&mut self) -> Result<Option<Position>, TargetError> {
        self.server.disconnect();
        // The index may have been deleted, together with its template.
        self.is_prepared = false;
        self.prepared.clear();
        match self.beginning.take() {
            Some(beginning) => Ok(Some(self.learn_what_lives(&beginning))),
            None => Ok(None),
        }
    }

    fn take(
        &mut self,
        entry: u64,
        payload: &[u8],
        tally: &mut Tally,
    ) -> Result<(u64, i64), TargetError> {
        let counts = (entry > self.begin.entry).then_some(tally);
        let taken = self.documents.take(payload, counts);
        taken.map_err(|error| TargetError::Corrupt(error.to_string()))
    }

    fn bulk(&self) -> Bulk {
        Bulk {
            items: self.documents.len(),
            bytes: self.documents.bytes(),
        }
    }

    fn is_full(&self) -> bool {
        let bulk = &self.settings.bulk;
        self.documents.len() >= bulk.size || self.documents.bytes() >= bulk.memory_limit
    }

    fn window(&self) -> Duration {
        self.settings.bulk.delay
    }

    fn flush(&mut self, to: Position) -> Result<(), TargetError> {
        if self.documents.len() > 0 {
            self.send()?;
            self.documents.clear();
        }
        if to.entry >= self.durable.entry {
            self.durable = to;
            self.durable_sequences = self.documents.sequences().clone();
        }
        Ok(())
    }

    fn durable(&self) -> Position {
        self.durable
    }

    fn metadata(&self) -> Vec<u8> {
        record::encode(&self.durable_sequences)
    }
}

/// The parts of a bulk answer that are requested.
#[derive(Deserialize)]
struct BulkAnswer {
    errors: bool,
    #[serde(default)]
    items: Vec<BulkItem>,
}

#[derive(Deserialize)]
struct BulkItem {
    index: Option<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(rename = "_index", default)]
    index: String,
    #[serde(rename = "_id", default)]
    id: String,
    #[serde(default)]
    status: u16,
    error: Option<serde_json::Value>,
}

impl BulkAnswer {
    fn why(&self) -> TargetError {
        let refused: Vec<&Refused> = self
            .items
            .iter()
            .filter_map(|item| item.index.as_ref())
            .filter(|item| item.error.is_some())
            .collect();
        let Some(first) = refused.first() else {
            let reason = "documents were refused without a reason";
            return TargetError::Refused(reason.to_string());
        };
        let reason = first.error.as_ref().map(ToString::to_string);
        let mut reason = reason.unwrap_or_default();
        if let Some((at, _)) = reason.char_indices().nth(MAX_REASON) {
            reason.truncate(at);
        }
        // An overloaded server accepts the document later.
        let hint = match first.status {
            400..=428 | 430..=499 => SKIP,
            _ => "",
        };
        let reason = format!(
            "{} of the documents were refused, first {} for index {} with status {}: {reason}{hint}",
            refused.len(),
            first.id,
            first.index,
            first.status
        );
        let code = StatusCode::from_u16(first.status).unwrap_or(StatusCode::BAD_REQUEST);
        server::refusal(code, reason)
    }
}

/// Whether records of this type are exported. Skep's own value types describe engine internals that no consumer knows.
pub(crate) fn is_exportable(value_type: ValueType) -> bool {
    !matches!(
        value_type,
        ValueType::Continuation
            | ValueType::VariableElement
            | ValueType::BatchOperationItem
            | ValueType::ConditionCheck
            | ValueType::Exporting
            | ValueType::Session
            | ValueType::Kept
            | ValueType::Routing
    )
}
