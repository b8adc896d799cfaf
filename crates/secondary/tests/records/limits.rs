//! Searches beyond the limits of an answer are refused, and no others.

use std::time::Duration;

use serde_json::json;
use skep_query::entities::VARIABLE;
use skep_query::groups::MAX_GROUPS;
use skep_query::{Answer, Condition, Groups, Measure, Op, Query, QueryError, Search, Value};

use skep_testkit::one_task::rig;
use skep_testkit::stores::{Backend, Filled, follow};

#[test]
fn statistics_have_so_many_groups_at_most() {
    let (mut rig, store) = (
        rig(),
        Filled::new(super::BACKEND, 1, Duration::from_millis(5)),
    );
    let variables: Vec<String> = (0..=MAX_GROUPS).map(|n| format!("\"v{n}\":0")).collect();
    rig.create("p", &format!("{{{}}}", variables.join(",")));
    follow(&mut rig, &store);
    let name = VARIABLE.column("name");
    let groups = |filter: Vec<Condition>| {
        Query::Groups(Groups {
            search: Search::all(&VARIABLE, filter, 0),
            by: vec![name],
            span: None,
            measures: vec![Measure::Rows],
        })
    };
    let refused = QueryError::TooMany { groups: MAX_GROUPS };
    assert_eq!(store.try_ask(groups(Vec::new())), Err(refused));
    let op = Op::Neq(Value::text("v0"));
    let fewer = groups(vec![Condition::Field { field: name, op }]);
    let Answer::Rows(rows) = store.ask(fewer) else {
        panic!("no groups");
    };
    assert_eq!(rows.len(), MAX_GROUPS);
}

/// Stored values and patterns are longer than what is sent: JSON escapes characters, and so does the language of the store. Search servers
/// have limits of their own, which they name.
#[test]
fn a_database_can_look_for_the_longest_pattern() {
    if !matches!(super::BACKEND, Backend::Embedded | Backend::Postgres) {
        return;
    }
    let (mut rig, store) = (
        rig(),
        Filled::new(super::BACKEND, 1, Duration::from_millis(5)),
    );
    rig.create("p", r#"{"v": "[["}"#);
    follow(&mut rig, &store);
    for part in ["[", "?", "\\*", "\u{1}", "ü"] {
        let pattern = part.repeat(8_000 / part.len());
        let filter = json!({ "value": { "$like": pattern } }).to_string();
        assert!(store.find(&VARIABLE, &filter).is_empty(), "{part}");
    }
}
