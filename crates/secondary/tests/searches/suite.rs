//! The store supports every search.

use std::sync::{Arc, mpsc};

use skep_exporting::LogProgress;
use skep_query::{
    Answer, Consistency, Cursor, Entity, Field, Kind, Query, QueryError, Value, entities, search,
};
use skep_secondary::Store;

use skep_testkit::committed_log::Log;
use skep_testkit::stores::partition;

pub fn open(directory: &tempfile::TempDir) -> Store {
    let progress = Arc::new(LogProgress::default());
    let of = partition(1, directory.path());
    let opened = Store::open(of, super::BACKEND.config(), Log::default(), progress);
    opened.expect("a store")
}

fn ask(store: &Store, query: Query) -> Result<Answer, QueryError> {
    let (done, answer) = mpsc::channel();
    store.query(query, Consistency::ReadYourWrites, move |answered| {
        let _ = done.send(answered);
    });
    let answered = answer.recv().expect("an answer");
    answered.map(|(answer, _)| answer)
}

/// A value, as JSON, that the field can be compared with.
fn sample(field: &Field) -> String {
    match field.kind {
        Kind::Key => "\"12\"".to_string(),
        Kind::Text | Kind::Json => r#""a'b\"c;--""#.to_string(),
        Kind::Int => "1".to_string(),
        Kind::Bool => "true".to_string(),
        Kind::Time => "\"2026-11-22T10:00:00Z\"".to_string(),
        Kind::Enum(names) => format!("\"{}\"", names[0]),
    }
}

fn filters(field: &Field) -> Vec<String> {
    let value = sample(field);
    let mut all = vec![value.clone()];
    for operator in field.ops.names() {
        let operand = match operator {
            "$in" | "$notIn" => format!("[{value}, {value}]"),
            "$exists" => "false".to_string(),
            "$like" => r#""*a?\\*[x]""#.to_string(),
            _ => value.clone(),
        };
        all.push(format!(r#"{{"{operator}": {operand}}}"#));
    }
    all
}

fn finds_nothing(store: &Store, entity: &'static Entity, body: &str) {
    let search = search(entity, body).unwrap_or_else(|error| panic!("{body}: {error}"));
    match ask(store, Query::Search(search)) {
        Ok(Answer::Page(found)) => assert_eq!((found.rows.len(), found.total), (0, 0), "{body}"),
        other => panic!("{}: {body:.200}: {other:?}", entity.title),
    }
}

#[test]
fn every_operator_of_every_field() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory);
    for entity in entities::ALL {
        let is_list = |field: &Field| entity.items.iter().any(|(name, ..)| *name == field.name);
        for field in entity.fields.iter().filter(|field| !field.ops.is_none()) {
            for filter in filters(field) {
                // Operators on a list apply to its items.
                let filter = if is_list(field) {
                    format!("[{}]", filter.replace(r#"a'b\"c;--"#, "creating"))
                } else {
                    filter
                };
                let body = format!(r#"{{"filter": {{"{}": {filter}}}}}"#, field.name);
                finds_nothing(&store, entity, &body);
            }
        }
    }
}

#[test]
fn every_sort_of_every_entity_with_every_kind_of_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory);
    for entity in entities::ALL {
        for field in entity.fields.iter().filter(|field| field.sortable) {
            let value = |field: &Field| match field.kind {
                Kind::Text | Kind::Enum(_) | Kind::Json => Value::text("x"),
                _ => Value::Int(5),
            };
            let (key, value) = (value(entity.key()), value(field));
            let there = Cursor(vec![value, key.clone()]).encode(entity);
            let absent = Cursor(vec![Value::Null, key]).encode(entity);
            for order in ["ASC", "DESC"] {
                for page in [
                    r#""from": 3"#.to_string(),
                    format!(r#""after": "{there}""#),
                    format!(r#""before": "{there}""#),
                    format!(r#""after": "{absent}""#),
                    format!(r#""before": "{absent}""#),
                ] {
                    let body = format!(
                        r#"{{"sort": [{{"field": "{}", "order": "{order}"}}], "page": {{{page}}}}}"#,
                        field.name
                    );
                    finds_nothing(&store, entity, &body);
                }
            }
        }
    }
}

#[test]
fn filters_on_related_entities_of_a_process_instance() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory);
    for filter in [
        r#""variables": [{"name": "a", "value": {"$like": "*"}}, {"name": "b", "value": "1"}]"#,
        r#""elementId": {"$in": ["a"]}, "elementInstanceState": "ACTIVE", "hasElementInstanceIncident": true"#,
        r#""errorMessage": {"$exists": true}, "incidentErrorHashCode": {"$gt": 1}, "hasRetriesLeft": false"#,
        r#""tags": ["a", "b'"], "$or": [{"tags": ["c"]}, {"elementId": "x", "state": "ACTIVE"}]"#,
        r#""$or": []"#,
    ] {
        let body = format!(r#"{{"filter": {{{filter}}}}}"#);
        finds_nothing(&store, &entities::PROCESS_INSTANCE, &body);
    }
    let within = skep_query::Condition::Within {
        field: 0,
        key: skep_protocol::Key(3),
    };
    let search = skep_query::Search::all(&entities::INCIDENT, vec![within], 10);
    let answer = ask(&store, Query::Search(search));
    assert!(matches!(answer, Ok(Answer::Page(_))), "{answer:?}");
    for query in [
        Query::SequenceFlows {
            process_instance_key: skep_protocol::Key(3),
        },
        Query::ElementStatistics {
            process_instance_key: skep_protocol::Key(3),
        },
    ] {
        assert_eq!(ask(&store, query), Ok(Answer::Rows(Vec::new())));
    }
}

#[test]
fn as_many_conditions_as_a_search_may_have() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory);
    let conditions = |count: u32, condition: &dyn Fn(u32) -> String| {
        let all: Vec<String> = (0..count).map(condition).collect();
        all.join(", ")
    };
    let keys = conditions(4_000, &|n| format!("\"{n}\""));
    let any_of = conditions(2_400, &|n| format!(r#"{{"processInstanceKey": "{n}"}}"#));
    let variables = conditions(50, &|n| format!(r#"{{"name": "v{n}", "value": "1"}}"#));
    for filter in [
        format!(r#""processInstanceKey": {{"$in": [{keys}]}}"#),
        format!(r#""processInstanceKey": {{"$notIn": [{keys}]}}"#),
        format!(r#""$or": [{any_of}]"#),
        format!(r#""variables": [{variables}]"#),
    ] {
        let body = format!(r#"{{"filter": {{{filter}}}}}"#);
        finds_nothing(&store, &entities::PROCESS_INSTANCE, &body);
    }
}

#[test]
fn a_stopped_store_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(&directory);
    store.stop();
    let query = Query::Get {
        entity: &entities::JOB,
        key: skep_protocol::Key(1),
    };
    let answer = ask(&store, query);
    assert!(matches!(answer, Err(QueryError::Unavailable(_))));
}
