//! Two tenants on one server: nothing of one is revealed to the other, neither by key, nor text, nor number. Both callers have all
//! permissions that a role can have: only their tenants separate them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{PATIENCE, Server, ask, basic, does_not_start, eventually, exchange, log_of};

type Login = Option<(&'static str, &'static str)>;

const ANNA: Login = Some(("anna", "hush"));
const BERT: Login = Some(("bert", "hush"));
const CHECKS: (&str, &str) = ("CAMUNDA_SECURITY_MULTITENANCY_CHECKSENABLED", "true");

/// A word that occurs in all entities of acme, and nowhere else.
const SECRET: &str = "zyzzyva";

const CONFIGURATION: &str = "\
skep.management.authentication: api
camunda.security:
  authentication.method: basic
  initialization:
    users:
      - {username: anna, password: hush, name: Anna, email: anna@example.org}
      - {username: bert, password: hush, name: Bert, email: bert@example.org}
    roles:
      - role-id: everything
        name: Everything
        users: [anna, bert]
    tenants:
      - {tenant-id: acme, name: A, users: [anna]}
      - {tenant-id: globex, name: G, users: [bert]}
    authorizations:
";

/// A configuration with all permissions in one role of both callers. The role of administrators belongs to the default tenant, and would
/// add it.
fn configuration(directory: &Path) -> String {
    let mut text = CONFIGURATION.to_string();
    for on in skep_protocol::permission::ResourceType::ALL {
        let names = on
            .permissions()
            .iter()
            .map(|(permission, _)| permission.name());
        let names: Vec<_> = names.collect();
        text.push_str(&format!(
            "      - {{owner-type: ROLE, owner-id: everything, resource-type: {}, resource-id: \"*\", permissions: [{}]}}\n",
            on.name(),
            names.join(", ")
        ));
    }
    let file = directory.join("tenants.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn bpmn(id: &str, inside: &str) -> String {
    format!(
        r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">
<message id="m" name="{SECRET}-message"><extensionElements><zeebe:subscription correlationKey="=key"/></extensionElements></message>
<message id="e" name="{SECRET}-end"><extensionElements><zeebe:subscription correlationKey="=key"/></extensionElements></message>
<signal id="g" name="{SECRET}-signal"/>
<process id="{id}" name="{id}" isExecutable="true"><startEvent id="s"/><sequenceFlow id="f" sourceRef="s" targetRef="{SECRET}-t"/>{inside}</process>
</definitions>"#
    )
}

/// Processes for each kind of searchable entity.
fn models() -> Vec<(String, String)> {
    let process = |kind: &str, inside: String| {
        let id = format!("{SECRET}-{kind}");
        (format!("{id}.bpmn"), bpmn(&id, &inside))
    };
    let decision = format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="{SECRET}-file" name="{SECRET}" namespace="n">
<decision id="{SECRET}-decision" name="{SECRET}"><variable name="v"/><literalExpression><text>1</text></literalExpression></decision></definitions>"#
    );
    vec![
        process(
            "job",
            format!(
                r#"<serviceTask id="{SECRET}-t"><extensionElements><zeebe:taskDefinition type="work" retries="1"/></extensionElements></serviceTask>"#
            ),
        ),
        process(
            "task",
            format!(
                r#"<userTask id="{SECRET}-t"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="{SECRET}-form"/></extensionElements></userTask>"#
            ),
        ),
        process(
            "ended",
            format!(r#"<receiveTask id="{SECRET}-t" messageRef="e"/>"#),
        ),
        process(
            "message",
            format!(
                r#"<intermediateCatchEvent id="{SECRET}-t"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>"#
            ),
        ),
        process(
            "signal",
            format!(
                r#"<intermediateCatchEvent id="{SECRET}-t"><signalEventDefinition signalRef="g"/></intermediateCatchEvent>"#
            ),
        ),
        (format!("{SECRET}.dmn"), decision),
        (
            format!("{SECRET}.form"),
            json!({"id": format!("{SECRET}-form"), "components": []}).to_string(),
        ),
    ]
}

pub fn deploy(server: &Server, login: Login, tenant: Option<&str>) -> (u16, Value) {
    let mut body = String::new();
    let head = "--xx\r\nContent-Disposition: form-data; name=";
    for (name, text) in models() {
        body.push_str(&format!(
            "{head}\"resources\"; filename=\"{name}\"\r\n\r\n{text}\r\n"
        ));
    }
    if let Some(tenant) = tenant {
        body.push_str(&format!("{head}\"tenantId\"\r\n\r\n{tenant}\r\n"));
    }
    body.push_str("--xx--\r\n");
    let shown = login.map(basic);
    exchange(
        &server.rest,
        ("POST", "/v2/deployments"),
        shown.as_deref(),
        &body,
    )
}

fn post(server: &Server, path: &str, body: &Value, login: Login) -> (u16, Value) {
    server.post(path, &body.to_string(), login)
}

/// The items found by a search.
fn items(server: &Server, of: &str, login: Login) -> Vec<Value> {
    let (status, found) = server.post(&format!("/v2/{of}/search"), "{}", login);
    assert_eq!(status, 200, "{of}: {found}");
    found["items"].as_array().unwrap().clone()
}

/// Searches, with the name of the key field.
const SEARCHES: [(&str, &str); 16] = [
    ("process-definitions", "processDefinitionKey"),
    ("process-instances", "processInstanceKey"),
    ("element-instances", "elementInstanceKey"),
    ("jobs", "jobKey"),
    ("user-tasks", "userTaskKey"),
    ("variables", "variableKey"),
    ("incidents", "incidentKey"),
    ("message-subscriptions", "messageSubscriptionKey"),
    ("decision-definitions", "decisionDefinitionKey"),
    ("decision-requirements", "decisionRequirementsKey"),
    ("decision-instances", "decisionEvaluationInstanceKey"),
    ("cluster-variables", "name"),
    ("audit-logs", "auditLogKey"),
    ("element-instances/wait-states", "elementInstanceKey"),
    ("batch-operation-items", "itemKey"),
    ("correlated-message-subscriptions", "messageKey"),
];

/// Creates entities of acme for every search.
fn fill(server: &Server) {
    let (status, deployed) = deploy(server, ANNA, Some("acme"));
    assert_eq!(status, 200, "{deployed}");
    assert_eq!(deployed["tenantId"], "acme");
    for kind in ["job", "task", "message", "signal", "message", "ended"] {
        let creation = json!({
            "processDefinitionId": format!("{SECRET}-{kind}"),
            "tenantId": "acme",
            "variables": {"key": SECRET},
        });
        let (status, created) = post(server, "/v2/process-instances", &creation, ANNA);
        assert_eq!(status, 200, "{created}");
        assert_eq!(created["tenantId"], "acme");
    }
    let message =
        json!({"name": format!("{SECRET}-message"), "correlationKey": SECRET, "tenantId": "acme"});
    let (status, correlated) = post(server, "/v2/messages/correlation", &message, ANNA);
    assert_eq!(
        (status, &correlated["tenantId"]),
        (200, &"acme".into()),
        "{correlated}"
    );
    let decision =
        json!({"decisionDefinitionId": format!("{SECRET}-decision"), "tenantId": "acme"});
    let (status, evaluated) = post(
        server,
        "/v2/decision-definitions/evaluation",
        &decision,
        ANNA,
    );
    assert_eq!(
        (status, &evaluated["tenantId"]),
        (200, &"acme".into()),
        "{evaluated}"
    );
    let variable = json!({"name": SECRET, "value": SECRET});
    let path = "/v2/cluster-variables/tenants/acme";
    assert_eq!(post(server, path, &variable, ANNA).0, 200);
    let jobs = json!({"type": "work", "timeout": 60_000, "maxJobsToActivate": 1, "tenantFilter": "ASSIGNED"});
    let (status, activated) = post(server, "/v2/jobs/activation", &jobs, ANNA);
    assert_eq!(status, 200, "{activated}");
    assert_eq!(activated["jobs"][0]["tenantId"], "acme");
    let job = activated["jobs"][0]["jobKey"].as_str().unwrap();
    let failure = json!({"retries": 0, "errorMessage": SECRET});
    assert_eq!(
        post(server, &format!("/v2/jobs/{job}/failure"), &failure, ANNA).0,
        204
    );
    // A batch operation of anna, whose items contain keys.
    let of_one = json!({"filter": {"processDefinitionId": format!("{SECRET}-ended")}});
    let path = "/v2/process-instances/cancellation";
    assert_eq!(post(server, path, &of_one, ANNA).0, 200);
    eventually("there is something of acme in every search", || {
        SEARCHES
            .iter()
            .all(|(of, _)| !items(server, of, ANNA).is_empty())
    });
    // Operators see all tenants, whichever they are assigned to.
    let (_, open) = ask(&server.management, "GET", "/actuator/incidents", "", BERT);
    assert_eq!(open["items"][0]["tenantId"], "acme", "{open}");
    // A refused operation: the job has no retries left.
    let path = format!("/v2/incidents/{}/resolution", key_of(server, "incidents"));
    let (status, refused) = post(server, &path, &json!({}), ANNA);
    assert_eq!(status, 409, "{refused}");
    eventually("the refused operation is in the audit log", || {
        let entries = items(server, "audit-logs", ANNA);
        let mut failed = entries.iter().filter(|entry| entry["result"] == "FAIL");
        failed.any(|entry| entry["tenantId"] == "acme")
    });
}

/// Bert's answers to the same request about a key of acme, and about an unknown one.
fn answers(server: &Server, method: &str, path: &str, body: &str, key: &str) -> [String; 2] {
    const OF_NOTHING: &str = "2251799900000000";
    [key, OF_NOTHING].map(|one| {
        let (status, answer) = ask(&server.rest, method, &path.replace("KEY", one), body, BERT);
        format!("{status} {}", answer.to_string().replace(one, "KEY"))
    })
}

fn key_of(server: &Server, of: &str) -> String {
    let (_, field) = SEARCHES.iter().find(|(name, _)| *name == of).unwrap();
    let items = items(server, of, ANNA);
    let key = items.iter().find_map(|item| item[field].as_str());
    key.unwrap_or_else(|| panic!("{of}: {items:?}")).to_string()
}

/// Asserts that the answer contains nothing of acme; the caller's own keys are not secret.
fn assert_reveals_nothing(what: &str, answer: &Value) {
    let text = answer.to_string();
    assert!(
        !text.contains(SECRET) && !text.contains("acme"),
        "{what}: {text}"
    );
}

#[test]
fn nothing_of_a_tenant_is_revealed_to_another() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = configuration(here);
    let server = Server::start(here, &["--config", &file], &[CHECKS]);
    fill(&server);
    no_search_reveals_it(&server);
    no_statistics_reveal_it(&server);
    no_cursor_leads_to_it(&server);
    no_key_reveals_it(&server);
    no_command_reaches_it(&server);
    nothing_is_made_for_it(&server);
    no_job_of_it_is_handed_out(&server);
    a_stream_for_it_is_logged(&server, here);
    no_event_reaches_it(&server);
    no_batch_operation_reaches_it(&server);
    server.stop();
    // Without checks the tenant is out of reach, for anna as well.
    let server = Server::start(here, &["--config", &file], &[]);
    let (status, found) = server.post("/v2/process-instances/search", "{}", ANNA);
    assert_eq!(
        (status, &found["page"]["totalItems"]),
        (200, &0.into()),
        "{found}"
    );
    let creation = json!({"processDefinitionId": format!("{SECRET}-job"), "tenantId": "acme"});
    assert_eq!(
        post(&server, "/v2/process-instances", &creation, ANNA).0,
        400
    );
    server.stop();
    let server = Server::start(here, &["--config", &file], &[CHECKS]);
    assert_eq!(
        items(&server, "process-instances", ANNA).len(),
        7,
        "one was cancelled by key"
    );
}

fn no_search_reveals_it(server: &Server) {
    for (of, field) in SEARCHES {
        let path = format!("/v2/{of}/search");
        let (status, found) = server.post(&path, "{}", BERT);
        assert_eq!(status, 200, "{of}: {found}");
        assert_reveals_nothing(of, &found);
        let theirs: Vec<Value> = items(server, of, ANNA);
        // Entries about the cluster, such as batch operations, belong to no tenant.
        let theirs = theirs
            .iter()
            .filter(|item| of != "audit-logs" || item["tenantId"] == "acme");
        let keys = theirs.filter_map(|item| item[field].as_str());
        for key in keys {
            let text = found["items"].to_string();
            assert!(
                !text.contains(&format!("\"{key}\"")),
                "{of}: {key} in {text}"
            );
        }
        if of != "audit-logs" {
            assert_eq!(found["page"]["totalItems"], 0, "{of}: {found}");
        }
    }
    let of_acme = json!({"filter": {"tenantId": "acme"}});
    for of in [
        "process-instances",
        "jobs",
        "user-tasks",
        "incidents",
        "audit-logs",
        "variables",
    ] {
        let (status, found) = post(server, &format!("/v2/{of}/search"), &of_acme, BERT);
        assert_eq!(
            (status, &found["page"]["totalItems"]),
            (200, &0.into()),
            "{of}"
        );
    }
}

fn no_statistics_reveal_it(server: &Server) {
    let times = json!({"filter": {"from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}});
    for (path, body) in [
        (
            "process-definitions/statistics/process-instances",
            json!({}),
        ),
        (
            "process-definitions/statistics/message-subscriptions",
            json!({}),
        ),
        ("incidents/statistics/process-instances-by-error", json!({})),
        ("jobs/statistics/by-types", times.clone()),
    ] {
        let path = format!("/v2/{path}");
        let (status, found) = post(server, &path, &body, BERT);
        assert_eq!(status, 200, "{path}: {found}");
        assert_reveals_nothing(&path, &found);
        assert_eq!(found["items"], json!([]), "{path}");
        let (_, theirs) = post(server, &path, &body, ANNA);
        assert_ne!(theirs["items"], json!([]), "{path}");
    }
    let period = "startTime=2020-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z&withTenants=true";
    for named in ["", "&tenantId=acme"] {
        let usage = format!("/v2/system/usage-metrics?{period}{named}");
        let (status, used) = server.get(&usage, BERT);
        assert_eq!(
            (status, &used["processInstances"]),
            (200, &0.into()),
            "{used}"
        );
        assert_reveals_nothing("usage", &used);
    }
}

/// Another caller's cursor pages through one's own rows only.
fn no_cursor_leads_to_it(server: &Server) {
    let first = json!({"page": {"limit": 1}});
    let (_, page) = post(server, "/v2/process-instances/search", &first, ANNA);
    let after = json!({"page": {"after": page["page"]["endCursor"], "limit": 10}});
    let (status, found) = post(server, "/v2/process-instances/search", &after, BERT);
    assert_eq!(status, 200, "{found}");
    assert_eq!(
        (&found["items"], &found["page"]["totalItems"]),
        (&json!([]), &0.into())
    );
}

fn no_key_reveals_it(server: &Server) {
    for (of, path) in [
        ("process-definitions", "process-definitions/KEY"),
        ("process-definitions", "process-definitions/KEY/xml"),
        ("process-definitions", "process-definitions/KEY/form"),
        ("process-instances", "process-instances/KEY"),
        ("process-instances", "process-instances/KEY/call-hierarchy"),
        ("process-instances", "process-instances/KEY/sequence-flows"),
        (
            "process-instances",
            "process-instances/KEY/statistics/element-instances",
        ),
        ("element-instances", "element-instances/KEY"),
        ("user-tasks", "user-tasks/KEY"),
        ("user-tasks", "user-tasks/KEY/form"),
        ("variables", "variables/KEY"),
        ("incidents", "incidents/KEY"),
        ("decision-definitions", "decision-definitions/KEY"),
        ("decision-definitions", "decision-definitions/KEY/xml"),
        ("decision-requirements", "decision-requirements/KEY"),
        ("audit-logs", "audit-logs/KEY"),
    ] {
        let key = match of {
            "audit-logs" => {
                let entries = items(server, of, ANNA);
                let own = entries.iter().find(|entry| entry["tenantId"] == "acme");
                own.unwrap()["auditLogKey"].as_str().unwrap().to_string()
            }
            of => key_of(server, of),
        };
        let [foreign, nothing] = answers(server, "GET", &format!("/v2/{path}"), "", &key);
        assert_eq!(foreign, nothing, "{path}");
    }
    let (status, _) = server.get(
        &format!("/v2/cluster-variables/tenants/acme/{SECRET}"),
        BERT,
    );
    assert_eq!(status, 404);
    for (of, path) in [
        (
            "process-instances",
            "process-instances/KEY/incidents/search",
        ),
        ("user-tasks", "user-tasks/KEY/variables/search"),
        (
            "process-definitions",
            "process-definitions/KEY/statistics/element-instances",
        ),
    ] {
        let key = key_of(server, of);
        let [foreign, nothing] = answers(server, "POST", &format!("/v2/{path}"), "{}", &key);
        assert_eq!(foreign, nothing, "{path}");
    }
}

/// A search, and a command about an entity found by it.
type About = (&'static str, &'static str, &'static str, Value);

fn commands_about_instances() -> Vec<About> {
    vec![
        (
            "process-instances",
            "POST",
            "process-instances/KEY/cancellation",
            json!({}),
        ),
        (
            "process-instances",
            "POST",
            "process-instances/KEY/deletion",
            json!({}),
        ),
        (
            "process-instances",
            "POST",
            "process-instances/KEY/incident-resolution",
            json!({}),
        ),
        (
            "process-instances",
            "POST",
            "process-instances/KEY/migration",
            json!({
                "targetProcessDefinitionKey": "2251799900000001",
                "mappingInstructions": [{"sourceElementId": "a", "targetElementId": "b"}],
            }),
        ),
        (
            "process-instances",
            "POST",
            "process-instances/KEY/modification",
            json!({"terminateInstructions": [{"elementInstanceKey": "1"}]}),
        ),
    ]
}

fn commands_about_other_things() -> Vec<About> {
    vec![
        (
            "element-instances",
            "PUT",
            "element-instances/KEY/variables",
            json!({"variables": {"a": 1}}),
        ),
        ("jobs", "POST", "jobs/KEY/completion", json!({})),
        ("jobs", "POST", "jobs/KEY/failure", json!({})),
        (
            "jobs",
            "PATCH",
            "jobs/KEY",
            json!({"changeset": {"retries": 5}}),
        ),
        ("incidents", "POST", "incidents/KEY/resolution", json!({})),
        (
            "user-tasks",
            "POST",
            "user-tasks/KEY/assignment",
            json!({"assignee": "bert"}),
        ),
        ("user-tasks", "POST", "user-tasks/KEY/completion", json!({})),
        (
            "process-definitions",
            "POST",
            "resources/KEY/deletion",
            json!({}),
        ),
        (
            "decision-requirements",
            "POST",
            "resources/KEY/deletion",
            json!({}),
        ),
    ]
}

fn no_command_reaches_it(server: &Server) {
    let commands = [commands_about_instances(), commands_about_other_things()];
    for (of, method, path, body) in commands.concat() {
        let key = key_of(server, of);
        let path = format!("/v2/{path}");
        let [foreign, nothing] = answers(server, method, &path, &body.to_string(), &key);
        assert_eq!(foreign, nothing, "{path}");
        assert!(foreign.starts_with("404 "), "{path}: {foreign}");
    }
}

/// The id of the process for this kind.
pub fn name_of(kind: &str) -> String {
    format!("{SECRET}-{kind}")
}

fn nothing_is_made_for_it(server: &Server) {
    let name = name_of;
    for (tenant, expected) in [(None, 400), (Some("acme"), 403), (Some("nobody"), 403)] {
        assert_eq!(deploy(server, BERT, tenant).0, expected);
        for (path, mut body) in [
            (
                "process-instances",
                json!({"processDefinitionId": name("job")}),
            ),
            (
                "process-instances",
                json!({"processDefinitionKey": key_of(server, "process-definitions")}),
            ),
            (
                "messages/publication",
                json!({"name": "m", "correlationKey": "k"}),
            ),
            (
                "messages/correlation",
                json!({"name": "m", "correlationKey": "k"}),
            ),
            ("signals/broadcast", json!({"signalName": name("signal")})),
            ("conditionals/evaluation", json!({"variables": {}})),
            (
                "decision-definitions/evaluation",
                json!({"decisionDefinitionId": name("decision")}),
            ),
        ] {
            if let Some(tenant) = tenant {
                body["tenantId"] = tenant.into();
            }
            let (status, problem) = post(server, &format!("/v2/{path}"), &body, BERT);
            assert_eq!(status, expected, "{path}: {problem}");
        }
    }
    // A key of acme is unknown within his own tenant.
    let key = key_of(server, "process-definitions");
    let body = r#"{"processDefinitionKey": "KEY", "tenantId": "globex"}"#;
    let created = |key: &str| {
        let (status, answer) =
            server.post("/v2/process-instances", &body.replace("KEY", key), BERT);
        format!("{status} {}", answer.to_string().replace(key, "KEY"))
    };
    assert_eq!(created(&key), created("2251799900000000"));
    assert!(created(&key).starts_with("404 "));
}

fn no_job_of_it_is_handed_out(server: &Server) {
    // A waiting job.
    let creation = json!({"processDefinitionId": format!("{SECRET}-job"), "tenantId": "acme"});
    let (_, created) = post(server, "/v2/process-instances", &creation, ANNA);
    let instance = created["processInstanceKey"].as_str().unwrap();
    let mut asked =
        json!({"type": "work", "timeout": 60_000, "maxJobsToActivate": 9, "requestTimeout": -1});
    let (status, _) = post(server, "/v2/jobs/activation", &asked, BERT);
    assert_eq!(status, 400, "it names no tenant");
    for tenants in [json!(["acme"]), json!(["globex", "acme"])] {
        asked["tenantIds"] = tenants;
        let (status, problem) = post(server, "/v2/jobs/activation", &asked, BERT);
        assert_eq!(status, 401, "{problem}");
    }
    asked["tenantIds"] = json!(["globex"]);
    assert_eq!(
        post(server, "/v2/jobs/activation", &asked, BERT),
        (200, json!({"jobs": []}))
    );
    asked["tenantIds"] = json!([]);
    asked["tenantFilter"] = "ASSIGNED".into();
    assert_eq!(
        post(server, "/v2/jobs/activation", &asked, BERT),
        (200, json!({"jobs": []}))
    );
    let cancel = format!("/v2/process-instances/{instance}/cancellation");
    assert_eq!(post(server, &cancel, &json!({}), ANNA).0, 204);
}

/// It opens and gets nothing, and its client would not learn why.
fn a_stream_for_it_is_logged(server: &Server, here: &Path) {
    const LINE: &str = "job streams name tenants";
    let open = |tenants: Value, filter: &str| {
        let body = json!({
            "type": "work", "timeout": 60_000, "worker": "w", "tenantIds": tenants, "tenantFilter": filter
        });
        let (body, shown) = (body.to_string(), basic(BERT.unwrap()));
        let mut socket = TcpStream::connect(&server.rest).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "POST /v2/jobs/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: {shown}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut status = [0; 12];
        socket.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    };
    open(json!(["globex"]), "PROVIDED");
    open(json!([]), "ASSIGNED");
    assert!(!log_of(here).contains(LINE));
    open(json!(["acme", "globex"]), "PROVIDED");
    eventually("the stream is in the log", || {
        let log = log_of(here);
        let mut lines = log.lines();
        lines.any(|line| line.contains(LINE) && line.contains("bert") && line.contains("acme"))
    });
}

fn no_event_reaches_it(server: &Server) {
    let waiting = || {
        let (_, found) = server.post(
            "/v2/process-instances/search",
            r#"{"filter": {"state": "ACTIVE"}}"#,
            ANNA,
        );
        found["page"]["totalItems"].clone()
    };
    let before = waiting();
    let mut correlation = json!({
        "name": format!("{SECRET}-message"), "correlationKey": SECRET, "tenantId": "globex"
    });
    let (status, problem) = post(server, "/v2/messages/correlation", &correlation, BERT);
    assert_eq!(status, 404, "{problem}");
    correlation["timeToLive"] = 0.into();
    assert_eq!(
        post(server, "/v2/messages/publication", &correlation, BERT).0,
        200
    );
    let signal = json!({"signalName": format!("{SECRET}-signal"), "tenantId": "globex"});
    let (status, answer) = post(server, "/v2/signals/broadcast", &signal, BERT);
    assert_eq!((status, &answer["tenantId"]), (200, &"globex".into()));
    assert_eq!(waiting(), before);
}

fn no_batch_operation_reaches_it(server: &Server) {
    let key = key_of(server, "process-instances");
    let running = items(server, "process-instances", ANNA).len();
    for filter in [
        json!({"state": "ACTIVE"}),
        json!({"processInstanceKey": key}),
    ] {
        let body = json!({"filter": filter});
        let (status, made) = post(server, "/v2/process-instances/cancellation", &body, BERT);
        assert_eq!(status, 200, "{made}");
        let path = format!(
            "/v2/batch-operations/{}",
            made["batchOperationKey"].as_str().unwrap()
        );
        eventually("the operation has ended", || {
            let (_, operation) = server.get(&path, BERT);
            operation["state"] == "COMPLETED"
        });
        let (_, operation) = server.get(&path, BERT);
        assert_eq!(operation["operationsTotalCount"], 0, "{operation}");
    }
    assert_eq!(items(server, "process-instances", ANNA).len(), running);
}

#[test]
fn checks_of_tenants_need_callers_with_names() {
    let directory = TempDir::new().unwrap();
    let reasons = ["multi-tenancy.checks-enabled", "method: basic"];
    does_not_start(directory.path(), &[], &[CHECKS], &reasons);
}
