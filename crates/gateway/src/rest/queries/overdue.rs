//! Elements at which tokens have been waiting longer than usual, over all processes. An addition of our own.
//!
//! The cost is bounded however many instances there are. Only elements whose usual duration is known are looked at: they are read from
//! the counts of durations. Each is one question, which an index by element, definition and start answers: it gives the oldest token at
//! once, and counts no further than searches count. Where that takes long, the newest versions are in the answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use skep_identity::Tenancy;
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_DURATION, ELEMENT_INSTANCE, PROCESS_DEFINITION};
use skep_query::{Condition, Groups, Measure, Op, Query, ResultPage, Row, Search, Sort, Value};

use super::Ask;
use super::durations::{ByElement, since, usual};
use super::statistics::is as equals;
use super::waiting::{is, members};
use crate::rest::problem::Problem;

/// Versions of processes that are considered: the newest of those in which something was completed lately.
const MAX_DEFINITIONS: usize = 200;
/// Elements that are considered.
const MAX_ELEMENTS: usize = 500;
/// Elements in an answer.
const MAX_ITEMS: usize = 10;
/// Minimum overdue wait: a few seconds are never too long, whatever is usual.
const AT_LEAST: i64 = 10_000;

/// Scopes wait for the elements inside, which are checked themselves.
const SCOPES: [&str; 4] = [
    "SUB_PROCESS",
    "EVENT_SUB_PROCESS",
    "AD_HOC_SUB_PROCESS",
    "AD_HOC_SUB_PROCESS_INNER_INSTANCE",
];
const BODY: &str = "MULTI_INSTANCE_BODY";

const ELEMENT: usize = ELEMENT_INSTANCE.column("elementId");
const TYPE: usize = ELEMENT_INSTANCE.column("type");
const START: usize = ELEMENT_INSTANCE.column("startDate");

/// Elements that took any time at all, by definition.
type Elements = BTreeMap<i64, Vec<Value>>;

/// An element at which tokens wait too long.
struct Overdue {
    definition: i64,
    usual: i64,
    since: i64,
    found: ResultPage,
}

impl Overdue {
    /// How far the oldest token exceeds the usual duration, in reverse order.
    fn order(&self) -> (i64, i64) {
        (self.since.saturating_add(self.usual), self.definition)
    }

    fn json(&self, definitions: &[Row]) -> Json {
        const NAME: usize = PROCESS_DEFINITION.column("name");
        const VERSION: usize = PROCESS_DEFINITION.column("version");
        let is_own = |row: &&Row| row.first().and_then(Value::as_int) == Some(self.definition);
        let definition = definitions.iter().find(is_own);
        let of_definition = |at: usize| definition.and_then(|row| row.get(at));
        let oldest = self.found.rows.first();
        let oldest = oldest.map(|row| members(&ELEMENT_INSTANCE, row));
        let of_oldest = |name: &str| oldest.as_ref().and_then(|it| it.get(name));
        json!({
            "processDefinitionKey": self.definition.to_string(),
            "processDefinitionId": of_oldest("processDefinitionId"),
            "processDefinitionName": of_definition(NAME).and_then(Value::as_text),
            "processDefinitionVersion": of_definition(VERSION).and_then(Value::as_int),
            "tenantId": of_oldest("tenantId"),
            "elementId": of_oldest("elementId"),
            "elementName": of_oldest("elementName"),
            "type": of_oldest("type"),
            "overdue": self.found.total,
            "hasMoreOverdue": self.found.more,
            "oldest": of_oldest("startDate"),
            "processInstanceKey": of_oldest("processInstanceKey"),
            "usualMs": self.usual,
        })
    }
}

impl Ask<'_> {
    pub(super) async fn overdue(&mut self) -> Result<String, Problem> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        let (elements, mut has_more) = self.elements(now).await?;
        // The definitions that follow are those whose instances the caller may all read. More conditions would make the index useless.
        self.trust();
        self.sight.tenancy = Tenancy::All;
        let mut overdue: Vec<Overdue> = Vec::new();
        for (definition, ids) in elements.into_iter().rev() {
            if self.time.is_half_over() {
                break;
            }
            let mut waiting = of(definition, now - AT_LEAST);
            waiting.push(is(ELEMENT, Op::In(ids.clone())));
            let waiting = Search::all(&ELEMENT_INSTANCE, waiting, 0);
            if self.counted(waiting).await?.total == 0 {
                continue;
            }
            let usually = self.durations_of(Key(definition), Some(ids)).await?;
            let found = self.of_definition(definition, usually, now).await?;
            overdue.extend(found);
        }
        // Then elements may have been left out. The other half is for queries that have begun.
        has_more |= self.time.is_half_over();
        overdue.sort_by_key(Overdue::order);
        has_more |= overdue.len() > MAX_ITEMS;
        overdue.truncate(MAX_ITEMS);
        let definitions = self.named_definitions(&overdue).await?;
        let items: Vec<Json> = overdue.iter().map(|it| it.json(&definitions)).collect();
        Ok(json!({"items": items, "hasMore": has_more}).to_string())
    }

    /// The elements that are considered, and whether there are more.
    async fn elements(&mut self, now: i64) -> Result<(Elements, bool), Problem> {
        const DEFINITION: usize = ELEMENT_DURATION.column("processDefinitionKey");
        const ID: usize = ELEMENT_DURATION.column("elementId");
        let lately = since(now);
        let newest = self
            .duration_groups(vec![lately.clone()], vec![DEFINITION])
            .await?;
        let mut newest: Vec<i64> = newest
            .iter()
            .filter_map(|row| row[..].first()?.as_int())
            .collect();
        newest.sort_unstable_by_key(|key| std::cmp::Reverse(*key));
        let mut has_more = newest.len() > MAX_DEFINITIONS;
        newest.truncate(MAX_DEFINITIONS);
        if newest.is_empty() {
            return Ok((Elements::new(), false));
        }
        let among = Op::In(newest.into_iter().map(Value::Int).collect());
        let filter = vec![is(DEFINITION, among), lately];
        let mut rows = self.duration_groups(filter, vec![DEFINITION, ID]).await?;
        rows.retain(|row| row.get(2).and_then(Value::as_int) > Some(0));
        rows.sort_by_key(|row| std::cmp::Reverse(row.first().and_then(Value::as_int)));
        has_more |= rows.len() > MAX_ELEMENTS;
        rows.truncate(MAX_ELEMENTS);
        let mut elements = Elements::new();
        for row in rows {
            if let [Value::Int(definition), id, _] = &row[..] {
                elements.entry(*definition).or_default().push(id.clone());
            }
        }
        Ok((elements, has_more))
    }

    /// Includes the longest duration of each.
    async fn duration_groups(
        &mut self,
        filter: Vec<Condition>,
        by: Vec<usize>,
    ) -> Result<Vec<Row>, Problem> {
        let groups = Groups {
            search: Search::all(&ELEMENT_DURATION, filter, 0),
            by,
            span: None,
            measures: vec![Measure::Most(const { ELEMENT_DURATION.column("longest") })],
        };
        self.rows(Query::Groups(groups)).await
    }

    /// Those of its elements that are late, as far as there is time to look.
    async fn of_definition(
        &mut self,
        definition: i64,
        usually: ByElement,
        now: i64,
    ) -> Result<Vec<Overdue>, Problem> {
        let mut overdue = Vec::new();
        for (element, durations) in usually {
            let Some(usual) = usual(&durations) else {
                continue;
            };
            if self.time.is_half_over() {
                break;
            }
            let before = now - usual.max(AT_LEAST);
            let found = self.waiting_since(definition, &element, before).await?;
            let oldest = found.rows.first();
            let Some(since) = oldest.and_then(|row| row.get(START)?.as_int()) else {
                continue;
            };
            overdue.push(Overdue {
                definition,
                usual,
                since,
                found,
            });
        }
        Ok(overdue)
    }

    /// The tokens at an element that began to wait before then: the oldest, and how many.
    async fn waiting_since(
        &mut self,
        definition: i64,
        element: &Arc<str>,
        before: i64,
    ) -> Result<ResultPage, Problem> {
        let mut filter = of(definition, before);
        filter.push(equals(ELEMENT, Value::Text(Arc::clone(element))));
        let mut search = Search::all(&ELEMENT_INSTANCE, filter, 1);
        search.sort = vec![Sort {
            field: START,
            descending: false,
        }];
        let found = self.counted(search.clone()).await?;
        let oldest = found.rows.first();
        let kind = oldest.and_then(|row| row.get(TYPE)?.as_text());
        match kind {
            Some(kind) if SCOPES.contains(&kind) => Ok(ResultPage::default()),
            // A body has the id of the activity it repeats, and lasts longer: the oldest token is searched among the other instances.
            Some(BODY) => {
                search.filter.push(is(TYPE, Op::Neq(Value::text(BODY))));
                let found = self.counted(search).await?;
                let oldest = found.rows.first();
                let kind = oldest.and_then(|row| row.get(TYPE)?.as_text());
                match kind {
                    Some(kind) if SCOPES.contains(&kind) => Ok(ResultPage::default()),
                    _ => Ok(found),
                }
            }
            _ => Ok(found),
        }
    }

    async fn named_definitions(&mut self, overdue: &[Overdue]) -> Result<Vec<Row>, Problem> {
        if overdue.is_empty() {
            return Ok(Vec::new());
        }
        let keys = overdue.iter().map(|it| Value::Int(it.definition));
        let filter = vec![is(0, Op::In(keys.collect()))];
        self.found(Search::all(&PROCESS_DEFINITION, filter, MAX_ITEMS as u32))
            .await
    }
}

/// Active elements of a definition that began before then.
fn of(definition: i64, before: i64) -> Vec<Condition> {
    vec![
        equals(
            const { ELEMENT_INSTANCE.column("state") },
            Value::text("ACTIVE"),
        ),
        equals(
            const { ELEMENT_INSTANCE.column("processDefinitionKey") },
            Value::Int(definition),
        ),
        is(START, Op::Lt(Value::Int(before))),
    ]
}
