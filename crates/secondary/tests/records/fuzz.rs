//! Random searches: for any filter, sort and page the store finds the same as a linear scan of all rows, or the search is refused in
//! advance. A search server may itself refuse a pattern as too complex.
//!
//! `SKEP_SEEDS=500 cargo test -p skep-secondary --test records fuzz` tries more; `SKEP_SEED=7` only this one.

use std::io::Write as _;

use serde_json::{Map, Value as Json, json};
use skep_query::entities::{self, PROCESS_INSTANCE};
use skep_query::{
    Answer, Condition, Entity, Field, Kind, Op, Query, QueryError, ResultPage, Row, Search, Value,
    answer, merge, search,
};

use super::property;
use skep_random::Random;
use skep_testkit::stores::Filled;

const SEARCHES: usize = 40;

fn rows_of(store: &Filled, entity: &'static Entity) -> Vec<Row> {
    let mut all = Search::all(entity, Vec::new(), 10_000);
    (all.details, all.whole_texts) = (true, true);
    found(store, all).rows
}

fn found(store: &Filled, search: Search) -> ResultPage {
    match store.ask(Query::Search(search)) {
        Answer::Page(found) => found,
        other => panic!("{other:?}"),
    }
}

/// `None`: the pattern has too many wildcards for the server.
fn found_or_refused(store: &Filled, search: Search, body: &str) -> Option<ResultPage> {
    match store.ask_or_be_refused(Query::Search(search)) {
        Ok(Answer::Page(found)) => Some(found),
        Err(QueryError::TooComplex) if body.contains("$like") => None,
        other => panic!("{body}: {other:?}"),
    }
}

/// A value of the field as JSON: mostly one that a row has.
fn value(random: &mut Random, field: &Field, at: usize, rows: &[Row]) -> Json {
    let there: Vec<&Value> = rows
        .iter()
        .map(|row| &row[at])
        .filter(|value| **value != Value::Null)
        .collect();
    if !there.is_empty() && random.below(4) > 0 {
        let value = there[random.below(there.len() as u64) as usize];
        if let (Kind::Text | Kind::Json, Value::Text(text)) = (field.kind, value) {
            return json!(**text);
        }
        let mut text = String::new();
        answer::write_value(field, value, &mut text);
        return serde_json::from_str(&text).unwrap();
    }
    match field.kind {
        Kind::Key => json!(random.below(1 << 52).to_string()),
        Kind::Text | Kind::Json => {
            json!(["", "p", "a'b\"c;--", "*", "ä%_"][random.below(5) as usize])
        }
        Kind::Int => json!(random.below(200) as i64 - 100),
        Kind::Bool => json!(random.below(2) == 0),
        Kind::Time => json!(skep_query::render_time(random.below(1 << 41) as i64)),
        Kind::Enum(names) => json!(names[random.below(names.len() as u64) as usize]),
    }
}

/// A pattern derived from a text by replacing some letters with wildcards.
fn pattern(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match random.below(8) {
            0 => out.push('*'),
            1 => out.push('?'),
            _ if matches!(letter, '*' | '?' | '\\') => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

fn filter(random: &mut Random, entity: &Entity, rows: &[Row]) -> Json {
    let fields = entity.fields.iter().enumerate();
    let fields: Vec<_> = fields.filter(|(_, field)| !field.ops.is_none()).collect();
    let mut out = Map::new();
    for _ in 0..random.below(4).min(fields.len() as u64) {
        let (at, field) = fields[random.below(fields.len() as u64) as usize];
        let operators = field.ops.names();
        let one = value(random, field, at, rows);
        if operators.is_empty() || random.below(3) == 0 {
            out.insert(field.name.to_string(), one);
            continue;
        }
        let operator = operators[random.below(operators.len() as u64) as usize];
        let operand = match operator {
            "$in" | "$notIn" => json!([one, value(random, field, at, rows)]),
            "$exists" => json!(random.below(2) == 0),
            "$like" => json!(pattern(random, one.as_str().unwrap_or("*"))),
            _ => one,
        };
        out.insert(field.name.to_string(), json!({operator: operand}));
    }
    if std::ptr::eq(entity, &PROCESS_INSTANCE) && random.below(4) == 0 {
        let alternatives = [filter_of_one(random, rows), filter_of_one(random, rows)];
        out.insert("$or".to_string(), json!(alternatives));
    }
    out.into()
}

fn filter_of_one(random: &mut Random, rows: &[Row]) -> Json {
    let at = PROCESS_INSTANCE.column("state");
    let state = value(random, PROCESS_INSTANCE.field(at), at, rows);
    json!({"state": state, "hasIncident": random.below(2) == 0})
}

fn body(random: &mut Random, entity: &Entity, rows: &[Row], cursor: Option<&str>) -> Json {
    let sortable = entity.fields.iter().filter(|field| field.sortable);
    let sortable: Vec<&Field> = sortable.collect();
    let mut sort: Vec<Json> = Vec::new();
    for _ in 0..random.below(3).min(sortable.len() as u64) {
        let field = sortable[random.below(sortable.len() as u64) as usize].name;
        let order = ["ASC", "DESC"][random.below(2) as usize];
        sort.push(json!({"field": field, "order": order}));
    }
    let limit = 1 + random.below(7);
    let page = match (random.below(3), cursor) {
        (0, _) => json!({"from": random.below(5), "limit": limit}),
        (1, Some(cursor)) => json!({"after": cursor, "limit": limit}),
        (_, Some(cursor)) => json!({"before": cursor, "limit": limit}),
        _ => json!({"limit": limit}),
    };
    json!({"filter": filter(random, entity, rows), "sort": sort, "page": page})
}

/// Whether a text matches a pattern: `*` is any sequence, `?` one letter, a backslash escapes the next character.
fn fits(pattern: &[char], text: &[char]) -> bool {
    match (pattern, text) {
        ([], text) => text.is_empty(),
        (['*', rest @ ..], _) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
        (['?', rest @ ..], [_, text @ ..]) => fits(rest, text),
        (['\\', letter, rest @ ..], [first, text @ ..]) => letter == first && fits(rest, text),
        ([letter, rest @ ..], [first, text @ ..]) => letter == first && fits(rest, text),
        _ => false,
    }
}

fn holds(op: &Op, value: &Value) -> bool {
    let is_there = *value != Value::Null;
    let order = |other: &Value| value.compare(other, false);
    match op {
        Op::Eq(other) => value == other,
        Op::Neq(other) => value != other,
        Op::Exists(exists) => *exists == is_there,
        Op::Gt(other) => is_there && order(other).is_gt(),
        Op::Gte(other) => is_there && order(other).is_ge(),
        Op::Lt(other) => is_there && order(other).is_lt(),
        Op::Lte(other) => is_there && order(other).is_le(),
        Op::In(others) => others.contains(value),
        Op::NotIn(others) => !others.contains(value),
        Op::Like(pattern) => value.as_text().is_some_and(|text| {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            fits(&letters(pattern), &letters(text))
        }),
    }
}

fn all_hold(conditions: &[Condition], row: &Row) -> bool {
    conditions.iter().all(|condition| match condition {
        Condition::Field { field, op } => holds(op, &row[*field]),
        // A value in the spellings stored by earlier versions.
        Condition::Any(alternatives) => alternatives.iter().any(|one| all_hold(one, row)),
        other => panic!("no such filter is made: {other:?}"),
    })
}

fn expected(search: &Search, rows: &[Row]) -> ResultPage {
    let matches = |row: &&Row| {
        let any = search.any_of.is_empty();
        let any = any || search.any_of.iter().any(|one| all_hold(one, row));
        any && all_hold(&search.filter, row)
    };
    let rows = rows.iter().filter(matches).cloned().collect();
    merge::page(search, rows)
}

/// Searches one entity of a store at random; returns the number of rows found.
fn searches(store: &Filled, entity: &'static Entity, seed: u64) -> usize {
    let mut random = Random(seed ^ entities::number(entity) as u64);
    let rows = rows_of(store, entity);
    let (mut cursor, mut count) = (None::<String>, 0);
    for _ in 0..SEARCHES {
        let body = body(&mut random, entity, &rows, cursor.as_deref()).to_string();
        let Ok(mut search) = search(entity, &body) else {
            // The cursor belongs to another sort.
            cursor = None;
            continue;
        };
        // Without details rows lack some columns, but rows and cursors are the same.
        let whole = random.below(2) == 0;
        (search.details, search.whole_texts) = (whole, whole);
        let Some(is) = found_or_refused(store, search.clone(), &body) else {
            continue;
        };
        let should = expected(&search, &rows);
        let keys = |found: &ResultPage| {
            found
                .rows
                .iter()
                .map(|row| row[0].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (keys(&is), is.total),
            (keys(&should), should.total),
            "seed {seed}: {}: {body}",
            entity.title
        );
        if whole {
            assert_eq!(
                is.rows, should.rows,
                "seed {seed}: {}: {body}",
                entity.title
            );
        }
        let cursors = |found: &ResultPage| {
            let of = |row| merge::cursor_of(&search, row).encode(search.entity);
            found.rows.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(
            cursors(&is),
            cursors(&should),
            "seed {seed}: {}: {body}",
            entity.title
        );
        let last = is.rows.last().map(|row| merge::cursor_of(&search, row));
        cursor = last.map(|cursor| cursor.encode(search.entity));
        count += is.rows.len();
    }
    count
}

#[test]
fn random_searches_find_the_expected_rows() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seeds: Vec<u64> = match number("SKEP_SEED") {
        Some(seed) => vec![seed],
        None => {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
            let _ = writeln!(std::io::stderr(), "random searches: fresh seed {now}");
            (0..number("SKEP_SEEDS").unwrap_or(super::BACKEND.searched()))
                .chain([now])
                .collect()
        }
    };
    let mut count = 0;
    for seed in &seeds {
        let store = property::run(*seed);
        for entity in entities::ALL {
            count += searches(&store, entity, *seed);
        }
    }
    // Many must find something for the test to be meaningful.
    assert!(count > 100 * seeds.len(), "{count} rows");
}
