//! A batch operation does to its items what its creator may do to each: the right to create one is none to what it does.

use super::super::eventually;
use super::*;

/// Each batch operation, what is made for it, and the permission that one item takes.
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

/// What each caller may do besides: create operations, read everything, and see what came of it.
const BESIDES: [(&str, &str); 4] = [
    ("BATCH", "CREATE"),
    ("BATCH", "READ"),
    ("PROCESS_DEFINITION", "READ_PROCESS_INSTANCE"),
    ("DECISION_DEFINITION", "READ_DECISION_INSTANCE"),
];

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
    callers.sort();
    callers.dedup();
    for caller in callers {
        for besides in BESIDES {
            settings.grant(("USER", &caller), besides, "all");
        }
    }
    settings.authorizations
}

/// The text with which each item failed; the empty one: it was done.
fn items(things: &Things<'_>, key: &str) -> Vec<String> {
    let state = |expected: &[&str]| {
        let (_, operation) = things.ask("GET", &format!("/batch-operations/{key}"), "");
        expected.iter().any(|state| operation["state"] == *state)
    };
    eventually("the operation has ended", || {
        state(&["COMPLETED", "PARTIALLY_COMPLETED", "FAILED"])
    });
    let asked = json!({"filter": {"batchOperationKey": key}}).to_string();
    let (_, found) = things.ask("POST", "/batch-operation-items/search", &asked);
    let items = found["items"].as_array().unwrap().iter();
    let text = |item: &Value| match item["state"].as_str() {
        Some("COMPLETED") => String::new(),
        _ => item["errorMessage"]
            .as_str()
            .unwrap_or_default()
            .to_string(),
    };
    items.map(text).collect()
}

#[test]
fn what_a_batch_operation_does_to_an_item_takes_the_right_to_do_it() {
    let rows = table();
    let many = rows.iter().filter(|row| row.needs[0] == "BATCH:CREATE");
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
        let outcome = |who: &str| {
            let token = token(&issuer, "user", who);
            let made = send(
                &server,
                ("POST", &row.path),
                &body.to_string(),
                Some(&token),
            );
            assert_eq!(made.0, 200, "{id} by {who}: {}", made.1);
            let key = made.1["batchOperationKey"].as_str().unwrap();
            items(&things, key)
        };
        for who in ["nothing", &name("user", need, "other")] {
            for text in outcome(who) {
                assert!(
                    text.contains("Insufficient permissions"),
                    "{id} by {who}: '{text}'"
                );
            }
        }
        let done = outcome(&name("user", need, "thing"));
        assert_eq!(done.len(), 1, "{id}: it is there still, and chosen");
        assert!(!done[0].contains("permissions"), "{id}: {}", done[0]);
    }
}
