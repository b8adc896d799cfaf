//! The document is valid by itself.

use serde_json::Value;

use crate::http::OPENAPI;

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let mut used = Vec::new();
    collect(&OPENAPI, &mut used);
    for reference in &used {
        let pointer = reference.trim_start_matches('#');
        assert!(OPENAPI.pointer(pointer).is_some(), "{reference}");
    }
    for name in OPENAPI["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .keys()
    {
        let reference = format!("#/components/schemas/{name}");
        assert!(used.contains(&reference), "{name} is not used");
    }
}

fn collect(value: &Value, used: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            used.extend(
                object
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_string),
            );
            object.values().for_each(|v| collect(v, used));
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, used)),
        _ => {}
    }
}

#[test]
fn operations_have_ids_of_their_own_and_say_what_they_do() {
    let mut ids = Vec::new();
    for operations in OPENAPI["paths"].as_object().expect("paths").values() {
        let operations = operations.as_object().expect("operations").iter();
        for (_, operation) in operations.filter(|(name, _)| *name != "servers") {
            let text = |name: &str| operation[name].as_str().unwrap_or_default().to_string();
            assert!(!text("summary").is_empty() && !text("description").is_empty());
            ids.push(text("operationId"));
        }
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all);
}
