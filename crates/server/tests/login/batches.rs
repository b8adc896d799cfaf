//! A batch operation is limited by its creator's permissions on each item: the permission to create one is not sufficient.

use super::super::eventually;
use super::*;

/// Each batch operation, the entities created for it, and the permission required per item.
const OPERATIONS_ON_MANY: [(&str, &str, &str); 6] = [
    (
        "cancelProcessInstancesBatchOperation",
        "instance",
        "PROCESS_DEFINITION:CANCEL_PROCESS_INSTANCE",
    ),
    (
        "deleteProcessInstancesBatchOperation",
        "ended",
        "PROCESS_DEFINITION:DELETE_PROCESS_INSTANCE",
    ),
    (
        "resolveIncidentsBatchOperation",
        "incident",
        "PROCESS_DEFINITION:UPDATE_PROCESS_INSTANCE",
    ),
    (
        "migrateProcessInstancesBatchOperation",
        "instance",
        "PROCESS_DEFINITION:UPDATE_PROCESS_INSTANCE",
    ),
    (
        "modifyProcessInstancesBatchOperation",
        "instance",
        "PROCESS_DEFINITION:MODIFY_PROCESS_INSTANCE",
    ),
    (
        "deleteDecisionInstancesBatchOperation",
        "decision",
        "DECISION_DEFINITION:DELETE_DECISION_INSTANCE",
    ),
];

/// Other permissions of each caller: creating operations, reading everything, and reading the outcome.
const BESIDES: [(&str, &str); 4] = [
    ("BATCH", "CREATE"),
    ("BATCH", "READ"),
    ("PROCESS_DEFINITION", "READ_PROCESS_INSTANCE"),
    ("DECISION_DEFINITION", "READ_DECISION_INSTANCE"),
];

/// The permission of the caller who has no other, and on what.
const ONLY_UPDATES: [&str; 2] = ["PROCESS_DEFINITION:UPDATE_PROCESS_INSTANCE", "all"];

fn grants() -> String {
    let mut settings = Settings {
        groups: String::new(),
        roles: String::new(),
        rules: String::new(),
        authorizations: String::new(),
        known: BTreeSet::new(),
    };
    let mut callers = vec!["nothing".to_string()];
    for (_, _, need) in OPERATIONS_ON_MANY {
        for on in ["thing", "other"] {
            settings.caller("user", need, on);
            callers.push(name("user", need, on));
        }
    }
    let [need, on] = ONLY_UPDATES;
    settings.caller("user", need, on);
    callers.sort();
    callers.dedup();
    for caller in callers {
        for besides in BESIDES {
            settings.grant(("USER", &caller), besides, "all");
        }
    }
    settings.authorizations
}

/// Outcome of an operation: its items, the completed ones, and the errors of the others.
struct Outcome {
    items: u64,
    done: u64,
    failures: Vec<String>,
}

fn outcome(things: &Things<'_>, key: &str) -> Outcome {
    let mut operation = Value::Null;
    eventually("the operation has ended", || {
        (_, operation) = things.ask("GET", &format!("/batch-operations/{key}"), "");
        let ended = ["COMPLETED", "PARTIALLY_COMPLETED", "FAILED"];
        ended.iter().any(|state| operation["state"] == *state)
    });
    let asked = json!({"filter": {"batchOperationKey": key, "state": "FAILED"}}).to_string();
    let (_, found) = things.ask("POST", "/batch-operation-items/search", &asked);
    let items = found["items"].as_array().unwrap().iter();
    let text = |item: &Value| {
        item["errorMessage"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    Outcome {
        items: operation["operationsTotalCount"].as_u64().unwrap(),
        done: operation["operationsCompletedCount"].as_u64().unwrap(),
        failures: items.map(text).collect(),
    }
}

#[test]
fn a_batch_operation_needs_the_permission_for_each_item() {
    let rows = table();
    let many = rows
        .iter()
        .filter(|row| row.needs.iter().any(|need| need == "BATCH:CREATE"));
    let many: BTreeSet<&str> = many.map(|row| &*row.operation).collect();
    let named: BTreeSet<&str> = OPERATIONS_ON_MANY.iter().map(|(id, _, _)| *id).collect();
    assert_eq!(named, many);
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let issuer = Issuer::start();
    let text = format!(
        "camunda.security:\n  authentication:\n    method: oidc\n    oidc: {{issuer-uri: \"{}\", audiences: [skep], client-id-claim: client_id}}\n  \
         initialization:\n    default-roles:\n      admin: {{users: [admin]}}\n    authorizations:\n{}",
        issuer.uri(),
        grants()
    );
    let file = here.join("batches.yaml");
    std::fs::write(&file, text).unwrap();
    let server = Server::start(here, &["--config", &file.display().to_string()], &[]);
    let admin = issuer.token(&json!({"sub": "admin", "aud": "skep", "exp": now() + 3600}));
    let mut things = Things::make(&server, &admin, false);
    for (id, before, need) in OPERATIONS_ON_MANY {
        let row = rows.iter().find(|row| row.operation == id).unwrap();
        things.again(before);
        let of_one = match before {
            "decision" => "decisionEvaluationKey",
            _ => "processInstanceKey",
        };
        let mut body: Value = serde_json::from_str(&things.filled(&row.body)).unwrap();
        body["filter"] = json!({of_one: things.keys[of_one]});
        let by = |who: &str| {
            let token = token(&issuer, "user", who);
            let request = ("POST", &*row.path);
            let (status, made) = send(&server, request, &body.to_string(), Some(&token));
            assert_eq!(status, 200, "{id} by {who}: {made}");
            outcome(&things, made["batchOperationKey"].as_str().unwrap())
        };
        for who in ["nothing", &name("user", need, "other")] {
            let Outcome { done, failures, .. } = by(who);
            assert_eq!(done, 0, "{id} by {who}");
            for text in failures {
                assert!(
                    text.contains("Insufficient permissions"),
                    "{id} by {who}: '{text}'"
                );
            }
        }
        let Outcome {
            items, failures, ..
        } = by(&name("user", need, "thing"));
        assert_eq!(items, 1, "{id}: it is there still, and chosen");
        for text in failures {
            assert!(!text.contains("permissions"), "{id}: {text}");
        }
    }
    things.again("incident");
    let path = things.filled("/process-instances/{processInstanceKey}/incident-resolution");
    let [need, on] = ONLY_UPDATES;
    let only_updates = token(&issuer, "user", &name("user", need, on));
    let (status, made) = send(&server, ("POST", &path), "{}", Some(&only_updates));
    assert_eq!(status, 200, "{made}");
    let Outcome { items, done, .. } = outcome(&things, made["batchOperationKey"].as_str().unwrap());
    assert_eq!((items, done), (1, 1), "no right to read it is needed");
}
