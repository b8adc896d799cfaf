//! How many instances stand at each element of a process definition now. An addition of our own.
//!
//! Stores keep these counts. Statistics with a filter also count what ended in the instances found, which no store has counted.

use http::request::Parts;
use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_DEFINITION};
use skep_query::{ActiveElements, Answer, Entity, Query, Value};

use super::{Ask, invalid, is_granted, not_found, refused, unexpected};
use crate::rest::parameters::parameter;
use crate::rest::problem::Problem;

pub fn active_elements(parts: &Parts, definition: Key) -> Result<ActiveElements, Problem> {
    let has_incident = match parameter(parts.uri.query(), "hasIncident").as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(other) => {
            return Err(invalid(format!(
                "The query parameter 'hasIncident' is '{other}'. Write 'true' for instances with incidents, 'false' for those without, or leave \
                 it out for all."
            )));
        }
    };
    Ok(ActiveElements {
        definition,
        has_incident,
    })
}

impl Ask<'_> {
    pub(super) async fn active_elements(
        &mut self,
        asked: ActiveElements,
    ) -> Result<String, Problem> {
        self.may_read_of(asked.definition, &ELEMENT_INSTANCE)
            .await?;
        // All instances of the definition have its process ID and its tenant.
        let rows = match self.whole_answer(Query::Groups(asked.groups())).await? {
            Answer::Rows(rows) => rows,
            other => return Err(unexpected(&other)),
        };
        let mut items: Vec<(&str, Json)> = Vec::with_capacity(rows.len());
        for row in &rows {
            if let [Value::Text(id), active, incidents] = row.as_slice() {
                let item = json!({
                    "elementId": id,
                    "active": active.as_int(),
                    "incidents": incidents.as_int(),
                });
                items.push((id, item));
            }
        }
        items.sort_by_key(|(id, _)| *id);
        let items: Vec<Json> = items.into_iter().map(|(_, item)| item).collect();
        Ok(json!({ "items": items }).to_string())
    }

    /// Checks that the definition is there, and that the caller may read such rows of its instances.
    pub(super) async fn may_read_of(
        &mut self,
        definition: Key,
        rows: &'static Entity,
    ) -> Result<(), Problem> {
        let entity = &PROCESS_DEFINITION;
        let get = Query::Get {
            entity,
            key: definition,
        };
        let row = match self.whole_answer(get).await? {
            Answer::Row(row) => row.filter(|row| !self.sight.is_foreign(entity, row)),
            other => return Err(unexpected(&other)),
        };
        let Some(row) = row else {
            return Err(not_found(entity, definition));
        };
        if is_granted(&self.sight, rows, (entity, &row)) {
            Ok(())
        } else {
            Err(refused(rows))
        }
    }
}
