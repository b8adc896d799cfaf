//! Valid searches and refused ones.

use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_DEFINITION, PROCESS_INSTANCE, VARIABLE};
use skep_query::{Condition, Cursor, Op, Search, Start, Value, search};

fn parsed(body: &str) -> Search {
    search(&PROCESS_INSTANCE, body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refused(body: &str) -> String {
    match search(&PROCESS_INSTANCE, body) {
        Ok(search) => panic!("{body} is taken: {search:?}"),
        Err(error) => error.to_string(),
    }
}

fn field(name: &str, op: Op) -> Condition {
    let field = PROCESS_INSTANCE.index_of(name).expect("a field");
    Condition::Field { field, op }
}

#[test]
fn nothing_asks_for_the_first_hundred() {
    for body in [
        "",
        " ",
        "{}",
        "null",
        r#"{"filter": null, "sort": null, "page": null}"#,
    ] {
        let search = parsed(body);
        assert_eq!(
            (search.page.limit, &search.page.start),
            (100, &Start::Offset(0))
        );
        assert!(search.filter.is_empty() && search.sort.is_empty());
    }
}

#[test]
fn a_plain_value_means_equals() {
    let search = parsed(
        r#"{"filter": {"state": "active", "processInstanceKey": "12", "hasIncident": true}}"#,
    );
    assert_eq!(
        search.filter,
        [
            field("hasIncident", Op::Eq(Value::Int(1))),
            field("processInstanceKey", Op::Eq(Value::Int(12))),
            field("state", Op::Eq(Value::text("ACTIVE"))),
        ]
    );
}

#[test]
fn an_object_takes_the_operators_of_the_field() {
    let search = parsed(
        r#"{"filter": {
            "processDefinitionVersion": {"$gte": 2, "$lt": 5},
            "processDefinitionId": {"$like": "a*", "$notIn": ["ab"]},
            "startDate": {"$gt": "2026-01-01T00:00:00Z"},
            "endDate": {"$exists": false}}}"#,
    );
    assert_eq!(search.filter.len(), 6);
    assert!(search.filter.contains(&field("endDate", Op::Exists(false))));
    assert!(
        search
            .filter
            .contains(&field("processDefinitionId", Op::Like("a*".into())))
    );
    let at = Value::Int(1_767_225_600_000);
    assert!(search.filter.contains(&field("startDate", Op::Gt(at))));
}

#[test]
fn an_empty_list_beside_another_operator_says_nothing() {
    let search = parsed(r#"{"filter": {"state": {"$eq": "ACTIVE", "$in": []}}}"#);
    let active = Op::Eq(Value::text("ACTIVE"));
    assert_eq!(search.filter, [field("state", active)]);
    let search = parsed(r#"{"filter": {"state": {"$in": []}}}"#);
    assert_eq!(search.filter, [field("state", Op::In(Vec::new()))]);
}

#[test]
fn filters_on_elements_ask_for_one_and_the_same_element_instance() {
    let search = parsed(r#"{"filter": {"elementId": "task", "elementInstanceState": "ACTIVE"}}"#);
    let [Condition::Related(related)] = &search.filter[..] else {
        panic!("{:?}", search.filter);
    };
    assert_eq!(
        (related.entity.table, related.conditions.len()),
        ("element_instance", 2)
    );
}

#[test]
fn each_variable_may_match_a_different_row() {
    let search = parsed(
        r#"{"filter": {"variables": [{"name": "a", "value": "1"}, {"name": "b", "value": {"$neq": "2"}}]}}"#,
    );
    assert_eq!(search.filter.len(), 2);
    assert!(
        search
            .filter
            .iter()
            .all(|c| matches!(c, Condition::Related(_)))
    );
}

#[test]
fn alternatives_are_joined_to_the_rest() {
    let search = parsed(
        r#"{"filter": {"hasIncident": false, "$or": [{"state": "ACTIVE"}, {"businessId": "b"}]}}"#,
    );
    assert_eq!((search.filter.len(), search.any_of.len()), (1, 2));
    let error = refused(r#"{"filter": {"$or": [{"$or": []}]}}"#);
    assert!(error.contains("$or"), "{error}");
    assert!(skep_query::search(&VARIABLE, r#"{"filter": {"$or": []}}"#).is_err());
}

/// Otherwise each alternative would be tried on each row when thousands of values of one field are looked up.
#[test]
fn alternatives_that_name_values_of_one_field_become_one() {
    let keys = |keys: &[i64]| Op::In(keys.iter().copied().map(Value::Int).collect());
    let search = parsed(
        r#"{"filter": {"$or": [{"processInstanceKey": "1"}, {"processInstanceKey": "2"}]}}"#,
    );
    assert_eq!(search.filter, [field("processInstanceKey", keys(&[1, 2]))]);
    assert!(search.any_of.is_empty());

    let search = parsed(
        r#"{"filter": {"$or": [{"processInstanceKey": "1"}, {"businessId": "b"}, {"processInstanceKey": "2"},
            {"processInstanceKey": "3", "state": "ACTIVE"}, {"processInstanceKey": {"$neq": "4"}}]}}"#,
    );
    assert!(search.filter.is_empty());
    assert_eq!(search.any_of.len(), 4);
    assert_eq!(
        search.any_of[0],
        [field("processInstanceKey", keys(&[1, 2]))]
    );
}

#[test]
fn invalid_parts_of_a_search_are_named() {
    for (body, said) in [
        ("[]", "The request body is a list"),
        ("{", "not valid JSON"),
        (r#"{"filters": {}}"#, "'filters'"),
        (r#"{"filter": {"colour": 1}}"#, "'filter.colour'"),
        (r#"{"filter": {"tags": "a"}}"#, "'filter.tags'"),
        (
            r#"{"filter": {"activeIncidents": 1}}"#,
            "'filter.activeIncidents'",
        ),
        (
            r#"{"filter": {"state": "SLEEPING"}}"#,
            "[ACTIVE, COMPLETED, TERMINATED]",
        ),
        (
            r#"{"filter": {"state": {"$gt": "ACTIVE"}}}"#,
            "'filter.state.$gt'",
        ),
        (
            r#"{"filter": {"hasIncident": {"$eq": true}}}"#,
            "takes a plain value",
        ),
        (
            r#"{"filter": {"processInstanceKey": 5}}"#,
            "a string of decimal digits",
        ),
        (r#"{"filter": {"processInstanceKey": "x"}}"#, "no key"),
        (r#"{"filter": {"startDate": "yesterday"}}"#, "no date-time"),
        (
            r#"{"filter": {"processDefinitionVersion": 1.5}}"#,
            "32 bits",
        ),
        (
            r#"{"filter": {"processDefinitionVersion": {"$in": 1}}}"#,
            "must be a list",
        ),
        (r#"{"filter": {"variables": [{"name": "a"}]}}"#, "'value'"),
        (r#"{"sort": [{"field": "tags"}]}"#, "'tags'"),
        (r#"{"sort": [{"field": "state", "order": "UP"}]}"#, "'UP'"),
        (r#"{"sort": [{"order": "ASC"}]}"#, "no 'field'"),
        (r#"{"sort": {}}"#, "must be a list"),
        (r#"{"page": {"limit": 0}}"#, "from 1 to 10000"),
        (r#"{"page": {"limit": 10001}}"#, "from 1 to 10000"),
        (r#"{"page": {"from": -1}}"#, "page.from"),
        (r#"{"page": {"from": 9999, "limit": 2}}"#, "'endCursor'"),
        (
            r#"{"page": {"after": "abc", "before": "abc"}}"#,
            "no cursor",
        ),
        (r#"{"page": {"after": "WzFd", "from": 1}}"#, "more than one"),
        (r#"{"page": {"size": 1}}"#, "'page.size'"),
    ] {
        let error = refused(body);
        assert!(error.contains(said), "{body}: {error}");
    }
}

#[test]
fn a_filter_is_bounded() {
    let keys = vec!["\"1\""; 5_001].join(",");
    let error = refused(&format!(
        r#"{{"filter": {{"processInstanceKey": {{"$in": [{keys}]}}}}}}"#
    ));
    assert!(error.contains("more than 5000"), "{error}");
    let alternatives = vec!["{}"; 5_001].join(",");
    let error = refused(&format!(r#"{{"filter": {{"$or": [{alternatives}]}}}}"#));
    assert!(error.contains("more than 5000"), "{error}");
    let variables = vec![r#"{"name": "a", "value": {}}"#; 51].join(",");
    let error = refused(&format!(r#"{{"filter": {{"variables": [{variables}]}}}}"#));
    assert!(
        error.contains("'filter.variables'") && error.contains("more than 50"),
        "{error}"
    );
}

/// A store could not look for it, and would say so in its own words.
#[test]
fn a_pattern_is_bounded() {
    let like = |bytes: usize| {
        let pattern = "a".repeat(bytes);
        format!(r#"{{"filter": {{"processDefinitionId": {{"$like": "{pattern}"}}}}}}"#)
    };
    parsed(&like(8_000));
    let error = refused(&like(8_001));
    let said = "processDefinitionId.$like' has 8001 bytes. At most 8000 can be looked for";
    assert!(error.contains(said), "{error}");
    let variable = |bytes: usize| {
        let pattern = "a".repeat(bytes);
        format!(
            r#"{{"filter": {{"variables": [{{"name": "v", "value": {{"$like": "{pattern}"}}}}]}}}}"#
        )
    };
    parsed(&variable(8_000));
    assert!(refused(&variable(8_001)).contains("has 8001 bytes"));
}

#[test]
fn a_sort_is_bounded() {
    let fields = |count| vec![r#"{"field": "state"}"#; count].join(",");
    let error = refused(&format!(r#"{{"sort": [{}]}}"#, fields(33)));
    assert!(error.contains("32 fields at most"), "{error}");
    parsed(&format!(r#"{{"sort": [{}]}}"#, fields(32)));
}

#[test]
fn a_cursor_belongs_to_the_sort_that_it_came_of() {
    let one = Cursor(vec![Value::Int(1)]).encode(&PROCESS_DEFINITION);
    assert!(
        search(
            &PROCESS_DEFINITION,
            &format!(r#"{{"page": {{"after": "{one}"}}}}"#)
        )
        .is_ok()
    );
    let body = format!(r#"{{"page": {{"after": "{one}"}}, "sort": [{{"field": "name"}}]}}"#);
    assert!(search(&PROCESS_DEFINITION, &body).is_err());
}

#[test]
fn a_cursor_belongs_to_the_rows_that_it_came_of() {
    let one = Cursor(vec![Value::Int(1)]);
    for entity in skep_query::entities::ALL {
        let body = format!(
            r#"{{"page": {{"after": "{}"}}}}"#,
            one.encode(&PROCESS_DEFINITION)
        );
        let refused = search(entity, &body).is_err();
        assert_eq!(
            refused,
            entity.table != PROCESS_DEFINITION.table,
            "{}",
            entity.table
        );
    }
}

#[test]
fn latest_versions_are_sorted_by_id_and_a_page_continues_after_all_versions() {
    let latest = r#""filter": {"isLatestVersion": true}"#;
    let asked = |body: &str| search(&PROCESS_DEFINITION, body).unwrap();
    let fields = |search: &Search| -> Vec<&str> {
        let fields = search.sort.iter();
        fields
            .map(|sort| search.entity.field(sort.field).name)
            .collect()
    };
    let first = asked(&format!("{{{latest}}}"));
    assert_eq!(fields(&first), ["processDefinitionId", "tenantId"]);
    let place = |key| Cursor(vec![Value::text("p"), Value::text("t"), Value::Int(key)]);
    let text = place(7).encode(&PROCESS_DEFINITION);
    for (direction, start) in [
        ("after", Start::After(place(i64::MAX))),
        ("before", Start::Before(place(i64::MIN))),
    ] {
        let next = asked(&format!(
            r#"{{"page": {{"{direction}": "{text}"}}, {latest}}}"#
        ));
        assert_eq!(next.page.start, start);
    }
    // An explicit sort is kept, and so are other searches.
    let own = asked(&format!(
        r#"{{"sort": [{{"field": "version"}}], {latest}}}"#
    ));
    assert_eq!(fields(&own), ["version"]);
    assert!(
        asked(r#"{"filter": {"isLatestVersion": false}}"#)
            .sort
            .is_empty()
    );
}

/// The fields of a sort are an enum of the API, and the names in a filter are not.
#[test]
fn every_sort_of_every_entity_is_read_in_any_letter_case() {
    let sorted_by = |entity, name: &str| {
        let body = format!(r#"{{"sort": [{{"field": "{name}"}}]}}"#);
        let search = search(entity, &body).unwrap_or_else(|error| panic!("{body}: {error}"));
        search.sort
    };
    for entity in skep_query::entities::ALL {
        for field in entity.fields.iter().filter(|field| field.sortable) {
            let exact = sorted_by(entity, field.name);
            assert_eq!(sorted_by(entity, &field.name.to_uppercase()), exact);
            assert_eq!(sorted_by(entity, &field.name.to_lowercase()), exact);
        }
    }
    let error = refused(r#"{"filter": {"STATE": "ACTIVE"}}"#);
    assert!(error.contains("'filter.STATE'"), "{error}");
}

#[test]
fn every_sort_and_plain_filter_of_every_entity_can_be_asked_for() {
    for entity in skep_query::entities::ALL {
        for field in entity.fields.iter().filter(|field| field.sortable) {
            let body = format!(
                r#"{{"sort": [{{"field": "{}", "order": "desc"}}]}}"#,
                field.name
            );
            assert!(search(entity, &body).is_ok(), "{body}");
        }
    }
    assert!(search(&ELEMENT_INSTANCE, r#"{"filter": {"type": "service_task"}}"#).is_ok());
}
