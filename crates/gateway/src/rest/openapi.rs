//! The API's description, in our own words; served at `/v2/openapi.json`. `openapi/` has a file for each tag; `build.rs` joins them.

use bytes::Bytes;
use http::Response;

use super::{RestBody, encode};

/// OpenAPI 3.0 document of the operations that exist.
pub const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

pub fn document() -> Response<RestBody> {
    encode::json(Bytes::from_static(OPENAPI.as_bytes()))
}

#[cfg(test)]
mod tests {
    //! Compares the document with the routes, and both with the facts about the reference API where available.

    use std::collections::{BTreeMap, BTreeSet};
    use std::io::Write as _;
    use std::path::Path;

    use serde_json::{Map, Value};

    use super::OPENAPI;
    use crate::rest::operations::{Needs, OPERATIONS};
    use skep_protocol::command::Need;
    use skep_protocol::permission::Permission;

    type Operations = BTreeMap<(String, String), Value>;

    fn operations(document: &Value) -> Operations {
        let mut found = Operations::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if operation.get("operationId").is_some() {
                    // Operations on the whole cluster, and Skep's own ones, have other base paths.
                    let base = if path.starts_with("/cluster/") || path.starts_with("/skep/") {
                        ""
                    } else {
                        "/v2"
                    };
                    found.insert(
                        (method.to_uppercase(), format!("{base}{path}")),
                        operation.clone(),
                    );
                }
            }
        }
        found
    }

    fn document() -> Value {
        serde_json::from_str(OPENAPI).expect("the document is JSON")
    }

    fn facts() -> Option<Value> {
        facts_of("8.9")
    }

    fn facts_of(release: &str) -> Option<Value> {
        let name = &*format!("shared/api/rest-v2-{release}.facts.json");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let Some(file) = here.ancestors().map(|a| a.join(name)).find(|f| f.exists()) else {
            // Bypasses the test harness, which hides the output of passing tests.
            let _ = writeln!(
                std::io::stderr(),
                "NOT RUN (facts): {name} is missing beside the repository"
            );
            return None;
        };
        let text = std::fs::read(file).expect("the facts can be read");
        Some(serde_json::from_slice(&text).expect("the facts are JSON"))
    }

    #[test]
    fn every_route_is_described_and_every_description_has_a_route() {
        let document = document();
        let described = operations(&document);
        let routes: BTreeMap<_, _> = OPERATIONS
            .iter()
            .filter(|o| o.is_there())
            .map(|o| ((o.method.to_string(), o.path.to_string()), o.id))
            .collect();
        assert!(routes.keys().eq(described.keys()));
        for (at, operation) in &described {
            assert_eq!(operation["operationId"], routes[at], "{at:?}");
        }
    }

    #[test]
    fn every_operation_of_the_reference_has_a_route() {
        for (release, count) in [("8.9", 183), ("8.10", 244)] {
            let Some(facts) = facts_of(release) else {
                return;
            };
            let reference = operations(&facts);
            assert_eq!(reference.len(), count);
            for ((method, path), operation) in reference {
                let route = OPERATIONS
                    .iter()
                    .find(|r| r.method == method && r.path == path);
                assert_eq!(
                    route.map(|r| r.id),
                    operation["operationId"].as_str(),
                    "{release}: {method} {path}"
                );
            }
        }
    }

    #[test]
    fn described_operations_have_the_reference_s_names_types_and_codes() {
        let Some(facts) = facts() else { return };
        let document = document();
        let reference = operations(&facts);
        for (at, ours) in operations(&document) {
            let Some(theirs) = reference.get(&at) else {
                continue;
            };
            same_codes(&at.1, &ours, theirs);
            let (mut ours, mut theirs) = (
                Shape::of(&document, request(&document, &ours)),
                Shape::of(&facts, request(&facts, theirs)),
            );
            if at.1.starts_with("/v2/cluster-variables/") {
                // Documented as an object there, but accepted with any value.
                for shape in [&mut ours, &mut theirs] {
                    if let Some(value) = shape.properties.get_mut("value") {
                        value.kind.clear();
                    }
                }
            }
            if at.1.starts_with("/v2/authorizations") {
                // Documented, but without an owner.
                if let Some(owner) = theirs.properties.get_mut("ownerType") {
                    owner.values.retain(|value| value != "UNSPECIFIED");
                }
            }
            let forward = at.1.starts_with("/v2/jobs/statistics/");
            if (forward || at.1.ends_with("/statistics/message-subscriptions"))
                && let Some(page) = theirs.properties.get_mut("page")
            {
                // Documented as always having a cursor, but the first page has none.
                page.required.clear();
            }
            let ours = ours.without_newer(&theirs);
            assert_eq!(ours, theirs, "request of {at:?}");
        }
        for (at, ours) in operations(&document) {
            let Some(theirs) = reference.get(&at) else {
                continue;
            };
            let (ours, theirs) = (
                Shape::of(&document, answer(&document, &ours)),
                Shape::of(&facts, answer(&facts, theirs)),
            );
            let ours = ours.without_newer(&theirs);
            assert_eq!(ours, theirs, "answer of {at:?}");
        }
    }

    /// The needs of commands are in their own table.
    #[test]
    fn operations_without_command_need_the_permissions_of_the_reference() {
        let Some(facts) = facts_of("8.10") else {
            return;
        };
        let reference = operations(&facts);
        let mut compared = 0;
        for row in OPERATIONS.iter() {
            let at = (row.method.to_string(), row.path.to_string());
            let (Needs::Stated(need), Some(theirs)) = (row.needs, reference.get(&at)) else {
                continue;
            };
            let filters = theirs["x-permission-enforcement"] == "filter";
            let theirs: BTreeSet<String> = theirs["x-required-permissions"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|one| {
                    one["anyOf"]
                        .as_array()
                        .map_or(vec![one], |any| any.iter().collect())
                })
                .map(|one| {
                    let text = |name: &str| one[name].as_str().unwrap_or_default();
                    format!("{}:{}", text("resourceType"), text("permissionType"))
                })
                .collect();
            let (ours, filter): (&[Permission], bool) = match need {
                Need::AnyOf(permissions, _) => (permissions, false),
                Need::Filters(permissions) => (permissions, true),
                _ => (&[], false),
            };
            let ours: BTreeSet<String> = ours.iter().map(Permission::to_string).collect();
            assert_eq!((ours, filter), (theirs, filters), "{}", row.id);
            compared += 1;
        }
        assert!(compared > 60, "{compared}");
    }

    /// Success codes must be equal; ours may have more error codes. 401 and 403 depend on authentication.
    fn same_codes(path: &str, ours: &Value, theirs: &Value) {
        let codes = |operation: &Value| -> Vec<String> {
            operation["responses"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(code, _)| code.clone())
                .collect()
        };
        let (ours, theirs) = (codes(ours), codes(theirs));
        let success = |codes: &[String]| {
            codes
                .iter()
                .filter(|c| c.starts_with('2'))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(success(&ours), success(&theirs), "{path}");
        for code in theirs
            .iter()
            .filter(|c| !["401", "403", "500"].contains(&c.as_str()))
        {
            assert!(ours.contains(code), "{path} lacks {code}");
        }
    }

    fn request(_: &Value, operation: &Value) -> Value {
        content(&operation["requestBody"])
    }

    fn answer(root: &Value, operation: &Value) -> Value {
        let responses = operation["responses"].as_object().into_iter().flatten();
        let ok = responses
            .filter(|(code, _)| code.starts_with('2'))
            .map(|(_, r)| resolve(root, r))
            .next();
        ok.map(|r| content(&r)).unwrap_or(Value::Null)
    }

    fn content(holder: &Value) -> Value {
        let first = holder["content"]
            .as_object()
            .and_then(|c| c.values().next());
        first.map_or(Value::Null, |c| c["schema"].clone())
    }

    fn resolve(root: &Value, schema: &Value) -> Value {
        match schema["$ref"].as_str() {
            Some(reference) => {
                let pointer = reference.trim_start_matches('#');
                resolve(root, root.pointer(pointer).expect("a $ref leads nowhere"))
            }
            None => schema.clone(),
        }
    }

    /// Names, types and required members of an object and its content, without descriptions.
    #[derive(Debug, PartialEq, Default)]
    struct Shape {
        kind: String,
        required: Vec<String>,
        values: Vec<String>,
        properties: BTreeMap<String, Shape>,
        items: Option<Box<Shape>>,
    }

    /// Objects whose content this release does not have.
    const LEFT_OUT: [&str; 8] = [
        "decisionDefinition",
        "decisionRequirements",
        "form",
        "resource",
        "userTask",
        "batchOperation",
        "corrections",
        "activateElements",
    ];

    /// Members of 8.10, which the facts of 8.9 partly lack, and Skep's own members.
    const NEWER: [&str; 33] = [
        "$or",
        "BACKUP",
        "CREATE_BATCH_OPERATION_SUSPEND_PROCESS_INSTANCE",
        "CREATE_BATCH_OPERATION_UPDATE_JOB",
        "EXPORTER",
        "PAUSE",
        "RESTORE",
        "REVEAL",
        "SECRET",
        "SUSPEND_PROCESS_INSTANCE",
        "authentication",
        "cloud",
        "components",
        "deployment",
        "physicalTenantId",
        "skepVersion",
        "brokerId",
        "businessId",
        "creationTime",
        "inboundChannelToolName",
        "inboundChannelType",
        "inboundConnectorType",
        "kind",
        "messageSubscriptionType",
        "metadata",
        "priority",
        "processDefinitionName",
        "processDefinitionVersion",
        "referencedSecrets",
        "state",
        "suspendedDate",
        "toolName",
        "toolProperties",
    ];

    impl Shape {
        /// Removes members that an earlier version of the API does not have.
        fn without_newer(mut self, earlier: &Shape) -> Shape {
            let is_newer = |name: &str| NEWER.contains(&name);
            self.required
                .retain(|name| !is_newer(name) || earlier.required.contains(name));
            self.values
                .retain(|name| !is_newer(name) || earlier.values.contains(name));
            let properties = std::mem::take(&mut self.properties).into_iter();
            let known = properties.filter_map(|(name, own)| match earlier.properties.get(&name) {
                Some(of_it) => Some((name, own.without_newer(of_it))),
                None if is_newer(&name) => None,
                None => Some((name, own)),
            });
            self.properties = known.collect();
            self.items = match (self.items, &earlier.items) {
                (Some(own), Some(of_it)) => Some(Box::new(own.without_newer(of_it))),
                (own, _) => own,
            };
            self
        }

        fn of(root: &Value, schema: Value) -> Shape {
            let schema = merged(root, &schema);
            let texts = |name: &str| -> Vec<String> {
                let list = schema
                    .get(name)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                let mut texts: Vec<_> =
                    list.filter_map(Value::as_str).map(str::to_string).collect();
                texts.sort();
                // Several parts of a schema may require the same member.
                texts.dedup();
                texts
            };
            let mut properties = BTreeMap::new();
            for (name, property) in schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let shape = if LEFT_OUT.contains(&name.as_str()) {
                    Shape::default()
                } else {
                    Shape::of(root, property.clone())
                };
                properties.insert(name.clone(), shape);
            }
            Shape {
                kind: schema
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_string(),
                required: texts("required"),
                values: texts("enum"),
                properties,
                items: schema
                    .get("items")
                    .map(|i| Box::new(Shape::of(root, i.clone()))),
            }
        }
    }

    /// Adds those members of a part to a schema that it lacks.
    fn add(all: &mut Map<String, Value>, part: Map<String, Value>) {
        for (name, value) in part {
            match (all.get_mut(&name), value) {
                (Some(Value::Object(own)), Value::Object(more)) => {
                    for (name, value) in more {
                        own.entry(name).or_insert(value);
                    }
                }
                (Some(Value::Array(own)), Value::Array(more)) if name == "required" => {
                    own.extend(more);
                }
                (Some(_), _) => {}
                (None, value) => {
                    all.insert(name, value);
                }
            }
        }
    }

    /// A schema merged with everything that it refers to and consists of. A member is required if all alternatives require it.
    fn merged(root: &Value, schema: &Value) -> Map<String, Value> {
        let mut all = resolve(root, schema)
            .as_object()
            .cloned()
            .unwrap_or_default();
        for part in all
            .remove("allOf")
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            add(&mut all, merged(root, part));
        }
        let alternatives: Vec<_> = all
            .remove("oneOf")
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|a| merged(root, a))
            .collect();
        if let Some(first) = alternatives.first() {
            add_alternatives(&mut all, first, &alternatives);
        }
        all
    }

    /// Requires the members that all alternatives require; each may add its own properties.
    fn add_alternatives(
        all: &mut Map<String, Value>,
        first: &Map<String, Value>,
        alternatives: &[Map<String, Value>],
    ) {
        let required_by_all = |name: &Value| {
            alternatives.iter().all(|a| {
                a.get("required")
                    .and_then(Value::as_array)
                    .is_some_and(|r| r.contains(name))
            })
        };
        let required = first
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let required: Vec<Value> = required.into_iter().filter(required_by_all).collect();
        let mut properties = Map::new();
        for alternative in alternatives {
            let of_it = alternative.get("properties").and_then(Value::as_object);
            properties.extend(
                of_it
                    .into_iter()
                    .flatten()
                    .map(|(n, v)| (n.clone(), v.clone())),
            );
        }
        for (name, value) in [
            ("required", required.into()),
            ("properties", properties.into()),
        ] {
            all.insert(name.to_string(), value);
        }
        let kind = first.get("type").cloned().unwrap_or(Value::Null);
        all.entry("type").or_insert(kind);
    }
}
