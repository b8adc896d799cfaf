//! Names of indices, and templates for new ones.

use serde_json::{Value, json};
use skep_protocol::ValueType;

use super::settings::{Flavor, Retention, SearchSettings};

/// Longer texts are not searchable, but the document still contains them.
const MAX_KEYWORD: u32 = 8191;

/// Value type with dashes, such as `process-instance`.
fn dashed(value_type: ValueType) -> String {
    value_type.name().to_ascii_lowercase().replace('_', "-")
}

/// Index name, such as `zeebe-record_process-instance_8.9.0_2026-11-22`.
pub fn index_name(settings: &SearchSettings, value_type: ValueType, timestamp: i64) -> String {
    let date = settings.index.date(timestamp);
    format!("{}_{date}", family(settings, value_type))
}

/// The index name without the date.
fn family(settings: &SearchSettings, value_type: ValueType) -> String {
    let prefix = &settings.index.prefix;
    let version = &settings.broker_version;
    format!("{prefix}_{}_{version}", dashed(value_type))
}

fn component_name(settings: &SearchSettings) -> String {
    let version = &settings.broker_version;
    format!("{}-{version}", settings.index.prefix)
}

/// The template component that all indices share: path and body.
pub fn component(settings: &SearchSettings) -> (String, Value) {
    let index = &settings.index;
    let mut of_index = json!({
        "number_of_shards": index.number_of_shards,
        "number_of_replicas": index.number_of_replicas,
        "queries.cache.enabled": false,
    });
    if let (Some(retention), Flavor::Elasticsearch, Value::Object(fields)) =
        (&settings.retention, settings.flavor, &mut of_index)
    {
        let name = json!(retention.policy_name);
        fields.insert("lifecycle.name".to_string(), name);
    }
    let body = json!({"template": {"settings": {"index": of_index}, "mappings": mappings()}});
    let path = format!("/_component_template/{}", component_name(settings));
    (path, body)
}

/// The index template of a value type: path and body.
pub fn index(settings: &SearchSettings, value_type: ValueType) -> (String, Value) {
    let family = family(settings, value_type);
    let alias = format!("{}-{}", settings.index.prefix, dashed(value_type));
    let body = json!({
        "index_patterns": [format!("{family}_*")],
        "composed_of": [component_name(settings)],
        "priority": 20,
        "version": 1,
        "template": {"aliases": {alias: {}}},
    });
    (format!("/_index_template/{family}"), body)
}

fn mappings() -> Value {
    let keyword = json!({"type": "keyword"});
    let long = json!({"type": "long"});
    let unsearched = json!({"type": "object", "enabled": false});
    let text = json!({"type": "keyword", "ignore_above": MAX_KEYWORD});
    let content = json!({"type": "keyword", "index": false, "doc_values": false});
    json!({
        "dynamic": true,
        "date_detection": false,
        "numeric_detection": false,
        "properties": {
            "position": long, "sourceRecordPosition": long, "key": long, "sequence": long,
            "timestamp": {"type": "date"},
            "partitionId": {"type": "integer"},
            "recordType": keyword, "valueType": keyword, "intent": keyword, "rejectionType": keyword,
            "rejectionReason": {"type": "text"},
            "brokerVersion": keyword,
            "recordVersion": {"type": "integer"},
            "operationReference": long, "batchOperationReference": long,
            "authorizations": unsearched,
            // Keys in these objects are chosen by users; mapping them would create a field for each.
            "value": {"properties": {"variables": unsearched, "customHeaders": unsearched}},
        },
        "dynamic_templates": [
            {"variables": {"path_match": "value.*.variables", "match_mapping_type": "object", "mapping": unsearched}},
            {"resources": {"path_match": "value.*resource", "match_mapping_type": "string", "mapping": content}},
            {"texts": {"path_match": "value.*", "match_mapping_type": "string", "mapping": text}},
        ],
    })
}

/// The body of the policy that deletes old indices.
pub fn policy(settings: &SearchSettings, retention: &Retention) -> Value {
    let age = &retention.minimum_age;
    match settings.flavor {
        Flavor::Elasticsearch => json!({"policy": {"phases": {
            "hot": {"min_age": "0ms", "actions": {}},
            "delete": {"min_age": age, "actions": {"delete": {}}},
        }}}),
        Flavor::Opensearch => json!({"policy": {
            "description": "Deletes old records",
            "default_state": "kept",
            "states": [
                {"name": "kept", "actions": [], "transitions": [
                    {"state_name": "deleted", "conditions": {"min_index_age": age}},
                ]},
                {"name": "deleted", "actions": [{"delete": {}}], "transitions": []},
            ],
            "ism_template": [{"index_patterns": [format!("{}_*", settings.index.prefix)], "priority": 1}],
        }}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_reference() {
        let settings = SearchSettings::new(Flavor::Elasticsearch);
        let timestamp = 1_760_000_000_000;
        let name = index_name(&settings, ValueType::ProcessInstance, timestamp);
        assert_eq!(name, "zeebe-record_process-instance_8.9.0_2025-10-09");
        let (path, body) = index(&settings, ValueType::ProcessInstance);
        assert_eq!(path, "/_index_template/zeebe-record_process-instance_8.9.0");
        let pattern = body["index_patterns"][0].as_str().unwrap();
        assert!(name.starts_with(pattern.trim_end_matches('*')), "{pattern}");
        let aliases = body["template"]["aliases"].as_object().unwrap();
        assert!(aliases.contains_key("zeebe-record-process-instance"));
    }
}
