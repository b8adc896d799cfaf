//! Indices, created from the entities by whichever partition comes first.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::{Method, StatusCode};
use serde_json::{Map, Value as Json, json};
use skep_query::{Entity, entities};

use super::document::{BRIEF, WHOLE, indexed, is_list, is_text, items_name};
use super::server::{Failure, FailureKind, Server};
use super::{Documents, DocumentsSettings};
use crate::target::purged_since;
use skep_exporting::Position;

/// Format of the documents. Indices with a later format are not touched. New fields do not change the format.
const FORMAT: i64 = 1;

/// Indices other than those of the entities.
pub const STATE: &str = "state";
pub const DEFINITION: &str = "definition_body";
/// ID of the document in [`STATE`] that names the owner of the indices.
const OWNER: &str = "owner";

/// The progress of a partition, stored as a document in [`STATE`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    pub position: Position,
    /// The last record of the window whose writing has begun; 0: none.
    pub begun: u64,
    /// Sequence number and term of the document, to detect writes by others.
    pub sequence: (i64, i64),
}

/// Creates what is missing. `cluster`: the owner of the indices.
pub fn prepare(server: &Server, cluster: &str) -> Result<(), Failure> {
    let documents = &server.documents;
    let shape = shape(&documents.settings);
    let known = match look(server)? {
        Some(known) => known,
        None => {
            let (path, body) = template(documents, STATE, state_mapping());
            server.ask(Method::PUT, &path, &body)?;
            let (path, body) = template(documents, DEFINITION, definition_mapping());
            server.ask(Method::PUT, &path, &body)?;
            let owner = json!({"format": FORMAT, "shape": shape, "cluster": cluster});
            let path = format!("/{}/_create/{OWNER}", documents.index(STATE));
            match server.ask(Method::PUT, &path, &owner) {
                // Another partition, or another cluster, came first.
                Err(failure) if failure.is(StatusCode::CONFLICT) => {}
                made => drop(made?),
            }
            look(server)?.ok_or_else(|| {
                Failure::new(
                    FailureKind::Wrong,
                    "the record that was just written is missing",
                )
            })?
        }
    };
    judge(&known, documents, cluster)?;
    if known.get("shape").and_then(Json::as_str) != Some(&shape) {
        add_fields(server)?;
        let owner = json!({"format": FORMAT, "shape": shape, "cluster": cluster});
        let path = format!("/{}/_doc/{OWNER}", documents.index(STATE));
        server.ask(Method::PUT, &path, &owner)?;
    }
    Ok(())
}

/// Partition number under which the document in [`STATE`] keeps the number of the last purge. Real partitions start at 1.
const PURGES: u32 = 0;

/// Deletes the indices, if they belong to this cluster, and records that this purge is done. There is no transaction: a node
/// that is paused between the check and a deletion deletes what was written in between.
pub fn purge(server: &Server, cluster: &str, number: u64) -> Result<(), Failure> {
    let documents = &server.documents;
    let Some(known) = look(server)? else {
        return Ok(());
    };
    judge(&known, documents, cluster)?;
    let wanted = (documents.index(STATE), progress_id(PURGES));
    let found = server.get(&[wanted])?.pop().unwrap_or_default();
    let done = found
        .get("_source")
        .map_or(0, |it| progress_of(it).position.entry);
    if done == number {
        return Ok(());
    }
    if done > number {
        return Err(Failure::new(FailureKind::Overtaken, purged_since(done)));
    }
    let tables = entities::ALL.iter().map(|entity| entity.table);
    // The owner is deleted last, so it is known until the end.
    for name in tables.chain([DEFINITION, STATE]) {
        match server.ask(
            Method::DELETE,
            &format!("/{}", documents.index(name)),
            &Json::Null,
        ) {
            Err(failure) if failure.is(StatusCode::NOT_FOUND) => {}
            deleted => drop(deleted?),
        }
    }
    let done = Progress {
        position: Position {
            entry: number,
            ..Position::default()
        },
        ..Progress::default()
    };
    let path = format!("/{}/_doc/{}", documents.index(STATE), progress_id(PURGES));
    server
        .ask(Method::PUT, &path, &document_of(&done))
        .map(drop)
}

fn look(server: &Server) -> Result<Option<Json>, Failure> {
    let wanted = (server.documents.index(STATE), OWNER.to_string());
    let mut found = server.get(&[wanted])?;
    let source = found
        .pop()
        .and_then(|mut found| Some(found.get_mut("_source")?.take()));
    Ok(source)
}

/// The cluster that the indices belong to; `None`: there are none.
pub fn owner(server: &Server) -> Result<Option<String>, Failure> {
    let Some(known) = look(server)? else {
        return Ok(None);
    };
    expect_readable(&known, &server.documents)?;
    Ok(Some(owner_in(&known).to_string()))
}

fn owner_in(known: &Json) -> &str {
    let owner = known.get("cluster").and_then(Json::as_str);
    owner.unwrap_or_default()
}

fn expect_readable(known: &Json, documents: &Documents) -> Result<(), Failure> {
    let format = known
        .get("format")
        .and_then(Json::as_i64)
        .unwrap_or_default();
    if format > FORMAT {
        let shown = &documents.shown;
        let reason = format!(
            "the indices in {shown} were written by a later version of Skep (format {format}, this one has {FORMAT}): run that version"
        );
        return Err(Failure::new(FailureKind::Foreign, reason));
    }
    Ok(())
}

fn judge(known: &Json, documents: &Documents, cluster: &str) -> Result<(), Failure> {
    expect_readable(known, documents)?;
    let shown = &documents.shown;
    let key = documents.settings.key;
    let owner = owner_in(known);
    if owner != cluster {
        let reason = format!(
            "the indices {}* in {shown} belong to the cluster {owner}, and this one is {cluster}: their data is of another data \
             directory. Set another {key}.index-prefix, or delete them",
            documents.index("")
        );
        return Err(Failure::new(FailureKind::Foreign, reason));
    }
    Ok(())
}

/// Adds new fields to existing indices.
fn add_fields(server: &Server) -> Result<(), Failure> {
    for entity in entities::ALL {
        let path = format!("/{}/_mapping", server.documents.index(entity.table));
        match server.ask(Method::PUT, &path, &mapping(entity)) {
            Err(failure) if failure.is(StatusCode::NOT_FOUND) => {}
            added => drop(added?),
        }
    }
    Ok(())
}

/// Creates the template of an entity's index. The index itself is created by the first document.
pub fn prepare_index(server: &Server, entity: &Entity) -> Result<(), Failure> {
    let (path, body) = template(&server.documents, entity.table, mapping(entity));
    server.ask(Method::PUT, &path, &body).map(drop)
}

/// Returns path and body of a template.
fn template(documents: &Documents, name: &str, mapping: Json) -> (String, Json) {
    let index = documents.index(name);
    let settings = &documents.settings;
    let body = json!({
        "index_patterns": [index],
        "priority": 500,
        "template": {
            "settings": {"index": {
                "number_of_shards": settings.number_of_shards,
                "number_of_replicas": settings.number_of_replicas,
                // Queries do not depend on it. Without it, an index that nobody searches would never be refreshed.
                "refresh_interval": "1s",
            }},
            "mappings": mapping,
        },
    });
    (format!("/_index_template/{index}"), body)
}

fn mapping(entity: &Entity) -> Json {
    let unsearched = json!({"type": "object", "enabled": false});
    let mut properties = Map::new();
    for (field, is_indexed) in entity.fields.iter().zip(indexed(entity)) {
        let kind = match (is_text(field), is_indexed) {
            (false, _) => json!({"type": "long"}),
            (true, true) => json!({"type": "keyword"}),
            (true, false) => json!({"type": "keyword", "index": false, "doc_values": false}),
        };
        properties.insert(field.name.to_string(), kind);
        if is_list(entity, field) {
            properties.insert(items_name(field.name), json!({"type": "keyword"}));
        }
    }
    for name in [WHOLE, BRIEF] {
        properties.insert(name.to_string(), unsearched.clone());
    }
    json!({"dynamic": "strict", "properties": properties})
}

fn state_mapping() -> Json {
    let (long, text) = (json!({"type": "long"}), json!({"type": "keyword"}));
    json!({"dynamic": "strict", "properties": {
        "format": long, "shape": text, "cluster": text,
        "entry": long, "record": long, "timestamp": long, "begun": long,
    }})
}

fn definition_mapping() -> Json {
    json!({"dynamic": "strict", "properties": {"body": {"type": "binary"}}})
}

/// A hash of the mappings and the index prefix; it changes when they do.
fn shape(settings: &DocumentsSettings) -> String {
    let mut hasher = DefaultHasher::new();
    for entity in entities::ALL {
        mapping(entity).to_string().hash(&mut hasher);
    }
    settings.index_prefix.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn progress_id(partition: u32) -> String {
    format!("position-{partition}")
}

/// Positions of all partitions.
pub fn positions(server: &Server) -> Result<Vec<(u32, Position)>, Failure> {
    let all = progress(server)?.into_iter();
    Ok(all.map(|(id, progress)| (id, progress.position)).collect())
}

/// The progress of all partitions. Their documents may change: nobody may write them with these sequence numbers.
pub fn progress(server: &Server) -> Result<Vec<(u32, Progress)>, Failure> {
    const AT_A_TIME: u32 = 16;
    let index = server.documents.index(STATE);
    let mut found = Vec::new();
    for first in (1..).step_by(AT_A_TIME as usize) {
        let partitions = first..first + AT_A_TIME;
        let wanted = partitions
            .clone()
            .map(|id| (index.clone(), progress_id(id)));
        let documents = server.get(&wanted.collect::<Vec<_>>())?;
        let known = partitions.zip(&documents);
        let known =
            known.filter_map(|(id, document)| Some((id, progress_of(document.get("_source")?))));
        let before = found.len();
        found.extend(known);
        // Partitions are numbered without gaps, but one may not have written yet.
        if found.len() == before {
            break;
        }
    }
    Ok(found)
}

/// Without the sequence number.
fn progress_of(source: &Json) -> Progress {
    let number = |name: &str| source.get(name).and_then(Json::as_i64).unwrap_or_default();
    Progress {
        position: Position {
            entry: number("entry").cast_unsigned(),
            record: number("record").cast_unsigned(),
            timestamp: number("timestamp"),
        },
        begun: number("begun").cast_unsigned(),
        ..Progress::default()
    }
}

/// Claims the progress document for a new writer. The previous writer can no longer update it.
pub fn take_over(server: &Server, partition: u32) -> Result<Progress, Failure> {
    let id = progress_id(partition);
    let wanted = (server.documents.index(STATE), id.clone());
    let found = server.get(&[wanted])?.pop().unwrap_or_default();
    let Some(source) = found.get("_source") else {
        let path = format!("/{}/_create/{id}", server.documents.index(STATE));
        let progress = Progress::default();
        let made = server.ask(Method::PUT, &path, &document_of(&progress))?;
        return Ok(Progress {
            sequence: sequence(&made)?,
            ..progress
        });
    };
    let progress = Progress {
        sequence: sequence(&found)?,
        ..progress_of(source)
    };
    put_progress(server, partition, &progress)
}

/// Writes the progress of a partition, unless somebody else has written it since.
pub fn put_progress(
    server: &Server,
    partition: u32,
    progress: &Progress,
) -> Result<Progress, Failure> {
    let (number, term) = progress.sequence;
    let path = format!(
        "/{}/_doc/{}?if_seq_no={number}&if_primary_term={term}",
        server.documents.index(STATE),
        progress_id(partition)
    );
    let written = server.ask(Method::PUT, &path, &document_of(progress));
    let written = written.map_err(|failure| if failure.is(StatusCode::CONFLICT) { Failure::new(
        FailureKind::Overtaken,
        "another process has written this partition meanwhile, or its position was changed by hand",
    ) } else { failure })?;
    Ok(Progress {
        sequence: sequence(&written)?,
        ..*progress
    })
}

fn document_of(progress: &Progress) -> Json {
    let Progress {
        position, begun, ..
    } = progress;
    json!({
        "entry": position.entry, "record": position.record, "timestamp": position.timestamp, "begun": begun,
    })
}

fn sequence(answer: &Json) -> Result<(i64, i64), Failure> {
    let number = |name: &str| answer.get(name).and_then(Json::as_i64);
    let numbers = number("_seq_no").zip(number("_primary_term"));
    numbers.ok_or_else(|| super::server::strange("a document"))
}
