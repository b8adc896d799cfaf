//! Every operation of the API, called with the required permission in each way of having it, with every other permission, and anonymously.
//! `permissions.tsv` has the expectations, taken from the API's documentation.

#[path = "batches.rs"]
mod batches;
#[path = "facts.rs"]
mod facts;
#[path = "rpcs.rs"]
mod rpcs;
#[path = "strangers.rs"]
mod strangers;
#[path = "things.rs"]
mod things;
#[path = "users.rs"]
mod users;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use skep_gateway::operations::OPERATIONS;
use skep_protocol::permission::ResourceType;
use skep_testbed::issuer::{Issuer, now};
use tempfile::TempDir;

use self::things::{Things, deployment, upload};
use super::{Server, exchange};

type Answer = (u16, Value);

/// It never ends, so `rpcs` tests it.
const OTHER: [&str; 1] = ["streamJobs"];

/// Path prefixes besides that of the API.
const ROOTS: [&str; 2] = ["/skep/v1/", "/cluster/v2/"];

/// A request with a token, or with a complete header.
fn send(server: &Server, (method, path): (&str, &str), body: &str, token: Option<&str>) -> Answer {
    let shown = token.map(|token| {
        if token.contains(' ') {
            token.to_string()
        } else {
            format!("Bearer {token}")
        }
    });
    let is_whole = ROOTS.iter().any(|root| path.starts_with(root));
    let path = format!("{}{path}", if is_whole { "" } else { "/v2" });
    exchange(&server.rest, (method, &path), shown.as_deref(), body)
}

/// A row of the table.
#[derive(Clone)]
struct Row {
    number: usize,
    operation: String,
    kind: String,
    needs: Vec<String>,
    method: String,
    path: String,
    before: String,
    body: String,
}

fn table() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/login/permissions.tsv");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.enumerate().map(|(number, line)| {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[operation, kind, needs, method, path, before, body] = &*fields else {
            panic!("a row has seven fields: {line}");
        };
        Row {
            number,
            operation: operation.into(),
            kind: kind.into(),
            needs: needs
                .split(' ')
                .filter(|it| *it != "-")
                .map(str::to_string)
                .collect(),
            method: method.into(),
            path: path.into(),
            before: before.into(),
            body: match body {
                "FILE" => upload("file"),
                "FILES" => upload("files"),
                "DEPLOYMENT" => deployment("deployed by a caller"),
                json => json.into(),
            },
        }
    });
    rows.collect()
}

/// Ways of having a permission: directly, or as a member of its owner. The member is a user unless the way says otherwise.
const WAYS: [&str; 6] = ["user", "client", "group", "role", "group-role", "rule"];
/// Further ways. Each permission is tested with one of them, in turn.
const OTHER_WAYS: [&str; 6] = [
    "client-group",
    "client-role",
    "client-group-role",
    "rule-group",
    "rule-role",
    "rule-group-role",
];

/// The ways in which a permission of the row with this number is granted.
fn ways(row: usize, need: usize) -> impl Iterator<Item = &'static str> {
    let other = OTHER_WAYS[(row + need) % OTHER_WAYS.len()];
    WAYS.into_iter().chain([other])
}

/// False for types and permissions that can be granted only on everything, and for those without ids known in advance.
fn has_ids(need: &str) -> bool {
    const WITHOUT: [&str; 8] = [
        "AUTHORIZATION",
        "BATCH",
        "DOCUMENT",
        "EXPRESSION",
        "GLOBAL_LISTENER",
        "SYSTEM",
        "USER_TASK",
        "AUDIT_LOG",
    ];
    let (on, permission) = need.split_once(':').unwrap();
    let creates = permission == "CREATE" && on != "MESSAGE";
    !WITHOUT.contains(&on) && !creates
}

/// The name of the caller with this permission in this way. `on`: `all`, `thing` or `other`.
fn name(way: &str, need: &str, on: &str) -> String {
    format!("{way}.{}.{on}", need.replace(':', "."))
}

/// The name of the caller with every permission except those sufficient for an operation.
fn all_but(needs: &[String]) -> String {
    format!("but.{}", needs.join("-").replace(':', "."))
}

/// The settings that define all callers.
struct Settings {
    groups: String,
    roles: String,
    rules: String,
    authorizations: String,
    known: BTreeSet<String>,
}

impl Settings {
    fn grant(&mut self, owner: (&str, &str), need: (&str, &str), on: &str) {
        let id = if on == "all" { "*" } else { on };
        writeln!(
            self.authorizations,
            "      - {{owner-type: {}, owner-id: \"{}\", resource-type: {}, resource-id: \"{id}\", permissions: [{}]}}",
            owner.0, owner.1, need.0, need.1
        )
        .unwrap();
    }

    /// Adds a caller with a permission in this way.
    fn caller(&mut self, way: &str, need: &str, on: &str) {
        let id = name(way, need, on);
        if !self.known.insert(id.clone()) {
            return;
        }
        let steps: Vec<&str> = way.split('-').collect();
        let (mut owner, mut members) = match steps[0] {
            "client" => ("CLIENT", "clients"),
            "rule" => ("MAPPING_RULE", "mapping-rules"),
            _ => ("USER", "users"),
        };
        if steps[0] == "rule" {
            writeln!(
                self.rules,
                "      - {{mapping-rule-id: \"{id}\", claim-name: way, claim-value: \"{id}\"}}"
            )
            .unwrap();
        }
        if steps.contains(&"group") {
            writeln!(
                self.groups,
                "      - {{group-id: \"{id}\", name: g, {members}: [\"{id}\"]}}"
            )
            .unwrap();
            (owner, members) = ("GROUP", "groups");
        }
        if steps.contains(&"role") {
            writeln!(
                self.roles,
                "      - {{role-id: \"{id}\", name: r, {members}: [\"{id}\"]}}"
            )
            .unwrap();
            owner = "ROLE";
        }
        self.grant((owner, &id), need.split_once(':').unwrap(), on);
    }

    /// Adds a caller with all permissions but these.
    fn without(&mut self, needs: &[String]) {
        let id = all_but(needs);
        if !self.known.insert(id.clone()) {
            return;
        }
        for on in ResourceType::ALL {
            let of_type = on
                .permissions()
                .iter()
                .map(|(permission, _)| permission.name());
            let others = of_type.filter(|it| !needs.contains(&format!("{}:{it}", on.name())));
            let others: Vec<&str> = others.collect();
            if !others.is_empty() {
                self.grant(("USER", &id), (on.name(), &others.join(", ")), "all");
            }
        }
    }
}

fn settings(directory: &Path, issuer: &Issuer, rows: &[Row]) -> String {
    let mut settings = Settings {
        groups: String::new(),
        roles: String::new(),
        rules: String::new(),
        authorizations: String::new(),
        known: BTreeSet::new(),
    };
    for row in rows {
        settings.without(&row.needs);
        for (number, need) in row.needs.iter().enumerate() {
            settings.caller("user", need, "all");
            let on = if has_ids(need) { "thing" } else { "all" };
            for way in ways(row.number, number) {
                settings.caller(way, need, on);
            }
            if has_ids(need) {
                settings.caller("user", need, "other");
            }
        }
    }
    let text = format!(
        "camunda.security:\n  authentication:\n    method: oidc\n    oidc: {{issuer-uri: \"{}\", audiences: [skep], client-id-claim: client_id}}\n  \
         initialization:\n    default-roles:\n      admin: {{users: [admin]}}\n    groups:\n{}    roles:\n{}    mapping-rules:\n{}    authorizations:\n{}",
        issuer.uri(),
        settings.groups,
        settings.roles,
        settings.rules,
        settings.authorizations
    );
    let file = directory.join("permissions.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn token(issuer: &Issuer, way: &str, id: &str) -> String {
    match way.split('-').next().unwrap_or_default() {
        "client" => issuer.token(&json!({"client_id": id, "aud": "skep"})),
        "rule" => issuer.token(&json!({"sub": "somebody", "aud": "skep", "way": id})),
        _ => issuer.token(&json!({"sub": id, "aud": "skep"})),
    }
}

/// Operators' requests that need several nodes, or a store for backups.
fn needs_more(operation: &str) -> bool {
    const MORE: [&str; 6] = [
        "changeCluster",
        "cancelClusterChange",
        "getBackups",
        "takeBackup",
        "getBackupState",
        "deleteBackup",
    ];
    MORE.contains(&operation)
}

impl Row {
    /// Whether the operation searches or counts.
    fn is_list(&self) -> bool {
        let path = &self.path;
        self.is_thinned() || path.ends_with("/search") || path.contains("statistics")
    }

    /// Whether a caller without the permission gets an empty answer, and no refusal.
    fn is_thinned(&self) -> bool {
        ["filters", "empty"].contains(&self.kind.as_str())
    }

    /// The same row for callers who have the permission on other resources only.
    fn of_others(&self) -> Row {
        let mut row = self.clone();
        if row.kind == "thins" {
            row.kind = "filters".into();
        }
        row
    }

    /// Whether an answer contains any information.
    fn shows(&self, answer: &Value) -> bool {
        fn some_number(value: &Value) -> bool {
            match value {
                Value::Number(number) => number.as_f64() != Some(0.0),
                Value::Object(members) => members.values().any(some_number),
                Value::Array(items) => items.iter().any(some_number),
                _ => false,
            }
        }
        let listed = answer.get("items").or_else(|| answer.get("jobs"));
        match listed.and_then(Value::as_array) {
            Some(items) => !items.is_empty(),
            None => some_number(answer),
        }
    }

    /// Whether an answer neither contains nor counts anything.
    fn shows_nothing(&self, answer: &Value) -> bool {
        let total = answer["page"]["totalItems"].as_u64();
        !self.shows(answer) && total.unwrap_or_default() == 0
    }

    fn answer(&self, things: &Things<'_>, token: Option<&str>) -> Answer {
        let (path, body) = (things.filled(&self.path), things.filled(&self.body));
        let body = things.of_tenant(&path, &body);
        send(things.server, (&self.method, &path), &body, token)
    }

    /// Sends the request. Returns a wrong answer; `None` if it is as expected.
    fn wrong(&self, things: &Things<'_>, token: Option<&str>, may: Option<bool>) -> Option<String> {
        let (status, answer) = self.answer(things, token);
        let is_right = match may {
            None => status == 401,
            // A conflict proves that the permission was checked and granted.
            Some(true) if status == 409 => !self.is_list(),
            // No request here names a revision, and nobody else reads an object that is not shared; `kept.rs` tests both.
            Some(true) if status == 428 => self.path.starts_with("/skep/v1/kept/"),
            Some(true) if self.operation == "getKept" => status == 404,
            // A single node without a store for backups; the permission is checked first.
            Some(true) if needs_more(&self.operation) => ![401, 403].contains(&status),
            // Only S3 stores have links; the permission is checked first.
            Some(true) if self.operation == "createDocumentLink" => answer["detail"]
                .as_str()
                .is_some_and(|it| it.contains("no links")),
            // Metrics are exported only occasionally.
            Some(true) if self.operation == "getUsageMetrics" => status == 200,
            Some(true) if self.kind == "empty" => status == 200,
            // Whoever has nothing finds nothing of it; the gateway's tests find something.
            Some(true) if self.operation == "searchOwnAuthorizations" => status == 200,
            Some(true) => (200..300).contains(&status) && (!self.is_list() || self.shows(&answer)),
            Some(false) if self.is_thinned() => status == 200 && self.shows_nothing(&answer),
            Some(false) => status == 403,
        };
        let text = answer.to_string();
        let text: String = text.chars().take(300).collect();
        (!is_right).then(|| format!("{status} {text}"))
    }
}

/// Calls as the owner of this token, who is permitted or not (`None`: not let in). Returns a wrong answer.
type How<'h> = &'h dyn Fn(&Row, &Things<'_>, Option<&str>, Option<bool>) -> Option<String>;

fn ask(row: &Row, things: &mut Things<'_>, issuer: &Issuer, wrong: &mut Vec<String>) {
    ask_by(&Row::wrong, row, things, issuer, wrong);
}

/// Calls one operation as all callers, and collects all wrong answers.
fn ask_by(
    how: How<'_>,
    row: &Row,
    things: &mut Things<'_>,
    issuer: &Issuer,
    wrong: &mut Vec<String>,
) {
    let mut asked =
        |row: &Row, things: &Things<'_>, who: &str, token: Option<&str>, may: Option<bool>| {
            if let Some(answer) = how(row, things, token, may) {
                wrong.push(format!("{} by {who} ({may:?}): {answer}", row.operation));
            }
        };
    if row.kind == "closed" {
        asked(
            row,
            things,
            "the administrator",
            Some(things.admin),
            Some(false),
        );
        return;
    }
    things.again(&row.before);
    let nothing = token(issuer, "user", "nothing");
    if row.kind == "public" {
        asked(row, things, "nobody", Some("Bearer nobody"), Some(true));
        return;
    }
    asked(row, things, "nobody", None, None);
    // The administrator would be permitted.
    let elsewhere = issuer.token(&json!({"sub": "admin", "aud": "other"}));
    asked(row, things, "who is elsewhere", Some(&elsewhere), None);
    if row.kind == "open" {
        asked(row, things, "who has nothing", Some(&nothing), Some(true));
    } else {
        asked(row, things, "who has nothing", Some(&nothing), Some(false));
        let others = token(issuer, "user", &all_but(&row.needs));
        asked(
            row,
            things,
            "who has all others",
            Some(&others),
            Some(false),
        );
    }
    let of_others = row.of_others();
    for need in row.needs.iter().filter(|need| has_ids(need)) {
        let id = name("user", need, "other");
        let other = token(issuer, "user", &id);
        asked(&of_others, things, &id, Some(&other), Some(false));
    }
    for (number, need) in row.needs.iter().enumerate() {
        let on = if has_ids(need) { "thing" } else { "all" };
        let ways = ways(row.number, number).map(|way| (way, name(way, need, on)));
        let all = std::iter::once(("user", name("user", need, "all")));
        let mut callers: Vec<_> = all.chain(ways).collect();
        callers.dedup();
        for (way, id) in callers {
            things.again(&row.before);
            let token = token(issuer, way, &id);
            asked(row, things, &id, Some(&token), Some(true));
        }
    }
}

/// Without checks any authenticated caller may do everything.
fn ask_without_checks(
    row: &Row,
    things: &mut Things<'_>,
    issuer: &Issuer,
    wrong: &mut Vec<String>,
) {
    let nothing = token(issuer, "user", "nothing");
    things.again(&row.before);
    let may = row.kind != "closed";
    if let Some(answer) = row.wrong(things, Some(&nothing), Some(may)) {
        wrong.push(format!("{} without checks: {answer}", row.operation));
    }
}

/// Checks one row, and adds wrong answers to the list.
type RowCheck = fn(&Row, &mut Things<'_>, &Issuer, &mut Vec<String>);

fn each_row(more: &[&str], asked: RowCheck) {
    let rows = table();
    let written: BTreeSet<&str> = rows.iter().map(|row| &*row.operation).collect();
    let there = OPERATIONS.iter().filter(|it| it.is_there());
    let missing = there.map(|it| it.id).filter(|id| !written.contains(id));
    let missing: BTreeSet<&str> = missing.collect();
    assert_eq!(missing, OTHER.into(), "operations without a row");
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let issuer = Issuer::start();
    // Without checks the grants of one row suffice, and are created faster.
    let granted = if more.is_empty() { rows.len() } else { 1 };
    let file = settings(here, &issuer, &rows[..granted]);
    let server = Server::start(here, &[&["--config", &file], more].concat(), &[]);
    let admin = json!({"sub": "admin", "aud": "skep", "exp": now() + 3600});
    let admin = issuer.token(&admin);
    let mut things = Things::make(&server, &admin, false);
    let mut wrong = Vec::new();
    for row in &rows {
        asked(row, &mut things, &issuer, &mut wrong);
    }
    let list = wrong.join("\n");
    assert!(wrong.is_empty(), "{} wrong:\n{list}", wrong.len());
}

#[test]
fn every_operation_asks_for_its_permission_in_whichever_way_one_has_it() {
    each_row(&[], ask);
}

#[test]
fn without_checks_no_operation_asks_for_a_permission() {
    let off = "camunda.security.authorizations.enabled=false";
    each_row(&["--set", off], ask_without_checks);
}
