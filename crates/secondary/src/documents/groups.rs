//! Statistics by paged composite aggregations, so that no group is missing and no number is an estimate.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};
use skep_query::entities::ELEMENT_INSTANCE;
use skep_query::groups::MAX_GROUPS;
use skep_query::{Condition, Conditions, Groups, Kind, Measure, Op, Row, Search, Value};

use super::document::{self, may_stand_in};
use super::filter::{all_of, named, value_of};
use super::related::{Loose, Resolver, too_many};
use super::server::{Failure, Server, strange};

/// Groups read per page.
const PAGE: usize = 2_000;

/// The rows of the groups, or `None` if there are too many.
pub fn groups(server: &Server, groups: &Groups) -> Result<Option<Vec<Row>>, Failure> {
    let mut resolver = Resolver::new(server, None);
    let query = resolver.of_search(&groups.search)?;
    let mut aggregations = Map::new();
    for (n, measure) in groups.measures.iter().enumerate() {
        if let Some(aggregation) = aggregation(&mut resolver, groups, measure)? {
            aggregations.insert(format!("m{n}"), aggregation);
        }
    }
    if resolver.loose != Loose::Nothing {
        return Err(too_many(server));
    }
    let mut found: Vec<Row> = Vec::new();
    let sources = sources(groups);
    let done = each_bucket(server, groups, &query, sources, aggregations, |bucket| {
        found.push(row(groups, bucket));
        found.len() <= MAX_GROUPS
    })?;
    if !done {
        return Ok(None);
    }
    for (n, measure) in groups.measures.iter().enumerate() {
        if let Measure::Distinct(column) = measure {
            distinct(server, groups, &query, (n, *column), &mut found)?;
        }
    }
    for row in &mut found {
        complete(server, groups, row)?;
    }
    Ok(Some(found))
}

/// Element statistics of a process instance or definition.
pub fn of_elements(server: &Server, column: usize, key: i64) -> Result<Option<Vec<Row>>, Failure> {
    let is = |field: usize, value: Value| Condition::Field {
        field,
        op: Op::Eq(value),
    };
    let state = |state: &str| {
        is(
            const { ELEMENT_INSTANCE.column("state") },
            Value::text(state),
        )
    };
    let incident = |has: bool| {
        is(
            const { ELEMENT_INSTANCE.column("hasIncident") },
            Value::from(has),
        )
    };
    let measures = [
        vec![state("ACTIVE"), incident(false)],
        vec![state("TERMINATED")],
        vec![state("ACTIVE"), incident(true)],
        vec![state("COMPLETED")],
    ];
    let wanted = Groups {
        search: Search::all(&ELEMENT_INSTANCE, vec![is(column, Value::Int(key))], 0),
        by: vec![const { ELEMENT_INSTANCE.column("elementId") }],
        span: None,
        measures: measures.map(Measure::RowsWhere).into(),
    };
    groups(server, &wanted)
}

fn name_of(groups: &Groups, column: usize) -> &'static str {
    groups.search.entity.field(column).name
}

fn sources(groups: &Groups) -> Vec<Json> {
    let by = groups.by.iter().enumerate();
    let sources = by.map(|(n, column)| {
        let field = groups.search.entity.field(*column);
        let of = match groups.span {
            Some(span) if field.kind == Kind::Time => json!({
                "histogram": {"field": field.name, "interval": span, "missing_bucket": true},
            }),
            _ => json!({"terms": {"field": field.name, "missing_bucket": true}}),
        };
        named(&format!("g{n}"), of)
    });
    sources.collect()
}

/// The aggregation of a measure. `None`: the measure is computed in another way.
fn aggregation(
    resolver: &mut Resolver<'_>,
    groups: &Groups,
    measure: &Measure,
) -> Result<Option<Json>, Failure> {
    let of = |name: &str, column: &usize| {
        let field = name_of(groups, *column);
        Some(named(name, json!({"field": field})))
    };
    Ok(match measure {
        Measure::Rows | Measure::Distinct(_) => None,
        Measure::RowsWhere(conditions) => {
            let conditions: &Conditions = conditions;
            let query = resolver.conditions(groups.search.entity, conditions)?;
            Some(json!({"filter": query}))
        }
        Measure::Sum(column) => of("sum", column),
        Measure::Least(column) => of("min", column),
        Measure::Most(column) => of("max", column),
    })
}

/// Passes buckets to the callback until it returns false. Returns false in that case.
fn each_bucket(
    server: &Server,
    groups: &Groups,
    query: &Json,
    sources: Vec<Json>,
    aggregations: Map<String, Json>,
    mut take: impl FnMut(&Json) -> bool,
) -> Result<bool, Failure> {
    let index = server.documents.index(groups.search.entity.table);
    let mut composite = json!({"size": PAGE, "sources": sources});
    loop {
        let body = json!({
            "size": 0, "track_total_hits": false, "query": query,
            "aggs": {"groups": {"composite": composite, "aggs": aggregations}},
        });
        let mut answer = server.search(&index, &body)?;
        let Some(buckets) = answer.pointer("/aggregations/groups/buckets") else {
            // The index does not exist yet.
            return Ok(true);
        };
        let buckets = buckets
            .as_array()
            .ok_or_else(|| strange("an aggregation"))?;
        if !buckets.iter().all(&mut take) {
            return Ok(false);
        }
        let is_last = buckets.len() < PAGE;
        let after = answer.pointer_mut("/aggregations/groups/after_key");
        match after.map(Json::take) {
            Some(after) if !is_last => {
                if let Json::Object(fields) = &mut composite {
                    fields.insert("after".to_string(), after);
                }
            }
            _ => return Ok(true),
        }
    }
}

/// A row: the group columns, followed by the measures.
fn row(groups: &Groups, bucket: &Json) -> Row {
    let mut row = key(groups, bucket);
    for (n, measure) in groups.measures.iter().enumerate() {
        let of = |name: &str| {
            let found = bucket.get(format!("m{n}")).and_then(|it| it.get(name));
            value_of(Kind::Int, found.unwrap_or(&Json::Null))
        };
        row.push(match measure {
            Measure::Rows => value_of(Kind::Int, bucket.get("doc_count").unwrap_or(&Json::Null)),
            Measure::RowsWhere(_) => of("doc_count"),
            Measure::Distinct(_) => Value::Int(0),
            Measure::Sum(_) | Measure::Least(_) | Measure::Most(_) => of("value"),
        });
    }
    row
}

fn key(groups: &Groups, bucket: &Json) -> Row {
    let by = groups.by.iter().enumerate();
    let values = by.map(|(n, column)| {
        let value = bucket.get("key").and_then(|key| key.get(format!("g{n}")));
        let kind = groups.search.entity.field(*column).kind;
        value_of(kind, value.unwrap_or(&Json::Null))
    });
    values.collect()
}

/// Counts the distinct values of a column, by adding the column to the group key.
fn distinct(
    server: &Server,
    groups: &Groups,
    query: &Json,
    (measure, column): (usize, usize),
    found: &mut [Row],
) -> Result<(), Failure> {
    let mut sources = sources(groups);
    let field = name_of(groups, column);
    sources.push(json!({"value": {"terms": {"field": field}}}));
    let mut counts: HashMap<String, i64> = HashMap::new();
    each_bucket(server, groups, query, sources, Map::new(), |bucket| {
        let group = format!("{:?}", key(groups, bucket));
        *counts.entry(group).or_default() += 1;
        true
    })?;
    let width = groups.by.len();
    for row in found {
        let group = format!("{:?}", row.iter().take(width).collect::<Vec<_>>());
        let count = counts.get(&group).copied().unwrap_or_default();
        if let Some(place) = row.get_mut(width + measure) {
            *place = Value::Int(count);
        }
    }
    Ok(())
}

/// Replaces stand-ins of long texts with the whole texts.
fn complete(server: &Server, groups: &Groups, row: &mut Row) -> Result<(), Failure> {
    let entity = groups.search.entity;
    for (value, column) in row.iter_mut().zip(&groups.by) {
        let Some(text) = value.as_text().filter(|text| may_stand_in(text)) else {
            continue;
        };
        let field = entity.field(*column);
        // The stand-in itself is the value in the index.
        let body = json!({
            "size": 1, "query": all_of(vec![json!({"term": named(field.name, json!(text))})]),
        });
        let answer = server.search(&server.documents.index(entity.table), &body)?;
        if let Some(source) = answer.pointer("/hits/hits/0/_source") {
            *value = document::value(field, source);
        }
    }
    Ok(())
}
