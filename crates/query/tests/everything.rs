//! Operations with a filter refuse one that matches everything, however it is written.

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use skep_protocol::value::BatchOperationType::{self, *};
use skep_query::entities::{DECISION_INSTANCE, PROCESS_INSTANCE};
use skep_query::{Entity, Kind, Ops, selection};

const OF_INSTANCES: [BatchOperationType; 5] = [
    CancelProcessInstance,
    ResolveIncident,
    ModifyProcessInstance,
    MigrateProcessInstance,
    DeleteProcessInstance,
];

fn entity_of(kind: BatchOperationType) -> &'static Entity {
    match kind {
        DeleteDecisionInstance => &DECISION_INSTANCE,
        _ => &PROCESS_INSTANCE,
    }
}

type Entry = (String, Json);

/// Conditions with these operators that match every value of a field.
fn silent_values(ops: Ops, always_there: bool) -> Vec<Json> {
    let mut values = vec![Json::Null];
    if ops == Ops::PLAIN {
        return values;
    }
    values.push(json!({}));
    if ops.allows("$eq") {
        values.push(json!({"$eq": null, "$exists": null}));
    }
    if ops.allows("$notIn") {
        values.push(json!({"$notIn": []}));
    }
    if always_there {
        values.push(json!({"$exists": true}));
        values.push(json!({"$exists": true, "$in": []}));
    }
    if always_there && ops.allows("$like") {
        values.push(json!({"$like": "*"}));
        values.push(json!({"$like": "**", "$exists": true}));
    }
    values
}

/// Entries of a filter that match everything.
fn silent(entity: &Entity) -> Vec<Entry> {
    let fields = entity.fields.iter().filter(|field| !field.ops.is_none());
    let fields = fields.map(|field| (field.name, silent_values(field.ops, field.always_there)));
    let related = entity.related.iter().filter(|one| one.name != "variables");
    let related = related.map(|one| (one.name, silent_values(one.ops, one.name == "elementId")));
    let lists = if entity.related.is_empty() {
        vec![]
    } else {
        vec![
            ("variables", vec![json!([]), Json::Null]),
            ("tags", vec![json!([]), Json::Null]),
        ]
    };
    let all = fields.chain(related).chain(lists);
    all.flat_map(|(name, values)| {
        values
            .into_iter()
            .map(move |value| (name.to_owned(), value))
    })
    .collect()
}

/// Entries of a filter that always exclude something.
fn loud(entity: &Entity) -> Vec<Entry> {
    let overridden = ["state", "parentProcessInstanceKey"];
    let fields = entity.fields.iter().filter(|field| !field.ops.is_none());
    let fields = fields.filter(|field| !overridden.contains(&field.name));
    let mut entries: Vec<Entry> = fields
        .map(|field| {
            let value = match field.kind {
                Kind::Key => json!("17"),
                Kind::Text | Kind::Json => json!("a"),
                Kind::Int => json!(1),
                Kind::Bool => json!(false),
                Kind::Time => json!("2026-01-31T13:05:00Z"),
                Kind::Enum(names) => json!(names[0]),
            };
            (field.name.to_owned(), value)
        })
        .collect();
    if !entity.related.is_empty() {
        entries.extend([
            ("elementId".into(), json!("a")),
            ("elementInstanceState".into(), json!("ACTIVE")),
            ("errorMessage".into(), json!({"$like": "*"})),
            ("variables".into(), json!([{"name": "a", "value": {}}])),
            ("tags".into(), json!(["a"])),
            ("processInstanceKey".into(), json!({"$in": []})),
        ]);
    }
    entries
}

fn object(entries: Vec<Entry>) -> Json {
    Json::Object(Map::from_iter(entries))
}

/// A kind of operation with entries for its filter: silent ones, those of alternatives, and one that excludes something.
fn written() -> impl Strategy<Value = (BatchOperationType, Vec<Entry>, Vec<Vec<Entry>>, Entry)> {
    let kinds = OF_INSTANCES.into_iter().chain([DeleteDecisionInstance]);
    prop::sample::select(kinds.collect::<Vec<_>>()).prop_flat_map(|kind| {
        let entity = entity_of(kind);
        let entries = || prop::collection::vec(prop::sample::select(silent(entity)), 0..4);
        let alternatives = match kind {
            DeleteDecisionInstance => 0..1,
            _ => 0..4,
        };
        (
            Just(kind),
            entries(),
            prop::collection::vec(entries(), alternatives),
            prop::sample::select(loud(entity)),
        )
    })
}

fn refused(kind: BatchOperationType, filter: &Json) -> Option<String> {
    let checked = selection::check(kind, &filter.to_string());
    checked.err().map(|error| error.to_string())
}

proptest! {
    #[test]
    fn filters_that_match_everything_are_refused((kind, entries, alternatives, loud) in written(), place in 0usize..4) {
        let mut filter = object(entries);
        if !alternatives.is_empty() {
            // One alternative that matches everything suffices: the others do not matter.
            let mut alternatives: Vec<Json> = alternatives.into_iter().map(object).collect();
            alternatives.insert(place.min(alternatives.len()), object(vec![loud]));
            filter["$or"] = json!(alternatives);
        }
        let said = refused(kind, &filter);
        prop_assert!(said.is_some_and(|text| text.contains("leaves anything out")), "{kind:?} {filter}");
    }

    #[test]
    fn filters_that_exclude_something_are_accepted((kind, entries, alternatives, loud) in written(), within: bool) {
        let mut filter = object(entries);
        if within && !alternatives.is_empty() {
            // Every alternative has to exclude something.
            let said = alternatives.into_iter().map(|mut one| {
                one.push(loud.clone());
                object(one)
            });
            filter["$or"] = said.collect();
        } else {
            filter["$or"] = match kind {
                DeleteDecisionInstance => Json::Null,
                _ => alternatives.into_iter().map(object).collect(),
            };
            filter[loud.0] = loud.1;
        }
        prop_assert_eq!(refused(kind, &filter), None, "{:?} {}", kind, filter);
    }
}

#[test]
fn all_of_them_can_be_meant_on_purpose() {
    for kind in [
        CancelProcessInstance,
        ResolveIncident,
        ModifyProcessInstance,
        MigrateProcessInstance,
    ] {
        assert_eq!(refused(kind, &json!({"state": "ACTIVE"})), None);
    }
    let ended = json!({"state": {"$in": ["COMPLETED", "TERMINATED"]}});
    assert_eq!(refused(DeleteProcessInstance, &ended), None);
    let decided = json!({"state": {"$in": ["EVALUATED", "FAILED"]}});
    assert_eq!(refused(DeleteDecisionInstance, &decided), None);
}

#[test]
fn a_condition_that_the_operation_overrides_is_none() {
    for (kind, filter) in [
        (CancelProcessInstance, json!({"state": "COMPLETED"})),
        (CancelProcessInstance, json!({"state": {"$in": []}})),
        (
            CancelProcessInstance,
            json!({"parentProcessInstanceKey": "17"}),
        ),
        (
            CancelProcessInstance,
            json!({"$or": [{"state": "TERMINATED"}]}),
        ),
        (MigrateProcessInstance, json!({"state": {"$neq": "ACTIVE"}})),
        (DeleteProcessInstance, json!({"state": "ACTIVE"})),
    ] {
        let said = refused(kind, &filter);
        assert!(said.is_some(), "{kind:?} {filter}");
    }
}
