//! The same operations, called with every permission: by a member of the entities' tenant, and by a caller without any tenant. The expected
//! answers follow the API's documentation.

use super::*;

/// Path prefixes of entities that belong to tenants.
const OF_TENANTS: [&str; 20] = [
    "/audit-logs/",
    "/cluster-variables/tenants/",
    "/conditionals/",
    "/correlated-message-subscriptions/",
    "/decision-definitions/",
    "/decision-instances/",
    "/decision-requirements/",
    "/deployments",
    "/element-instances/",
    "/expression/",
    "/forms/",
    "/incidents/",
    "/jobs/",
    "/message-subscriptions/",
    "/messages/",
    "/process-definitions/",
    "/process-instances",
    "/resources/",
    "/signals/",
    "/user-tasks/",
];

/// Lists with entities of the cluster and of tenants.
const OF_BOTH: [&str; 2] = ["searchAuditLogs", "searchClusterVariables"];

/// Operations that return a list without being a search, and never 404.
const LISTS: [&str; 1] = ["getProcessInstanceSequenceFlows"];

/// Expected answer to a caller without any tenant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stranger {
    /// Served like anybody else: the operation concerns the cluster.
    Served,
    /// The entity appears not to exist.
    NotFound,
    /// Nothing can be created for the tenant.
    Forbidden,
    /// Nothing of the tenant can be read.
    Unauthorized,
    /// Nothing is found or counted.
    Nothing,
    /// Only entities of the cluster are found.
    Anything,
}

fn expected(row: &Row) -> Stranger {
    let makes_batch = row.needs.iter().any(|need| need.starts_with("BATCH:"));
    let below = row.path.strip_prefix("/skep/v1").unwrap_or(&row.path);
    let is_owned = OF_TENANTS.iter().any(|path| below.starts_with(path))
        || below.starts_with("/variables/")
        || row.operation == "getUsageMetrics";
    match &*row.operation {
        it if OF_BOTH.contains(&it) => Stranger::Anything,
        "activateJobs" | "evaluateExpression" => Stranger::Unauthorized,
        // These always concern a tenant named in the body or the path.
        "createProcessInstance"
        | "createDeployment"
        | "checkDeployment"
        | "createTenantClusterVariable"
        | "evaluateDecision"
        | "evaluateConditionals"
        | "publishMessage"
        | "correlateMessage"
        | "broadcastSignal" => Stranger::Forbidden,
        // These concern instances or jobs.
        "searchBatchOperationItems" | "getJobTypes" => Stranger::Nothing,
        _ if !is_owned || makes_batch => Stranger::Served,
        _ if row.is_list() || LISTS.contains(&&*row.operation) => Stranger::Nothing,
        _ => Stranger::NotFound,
    }
}

/// Whether a list contains an entity of the tenant.
fn has_of_tenant(things: &Things<'_>, answer: &Value) -> bool {
    let items = answer["items"].as_array().into_iter().flatten();
    let mut tenants = items.map(|item| item["tenantId"].as_str());
    tenants.any(|tenant| tenant.is_some() && tenant == things.tenant())
}

/// Returns a wrong answer to a stranger.
fn wrong(row: &Row, things: &Things<'_>, token: &str) -> Option<String> {
    let expected = expected(row);
    if expected == Stranger::Served {
        return row.wrong(things, Some(token), Some(true));
    }
    let (status, answer) = row.answer(things, Some(token));
    let is_right = match expected {
        Stranger::Served => unreachable!("it was asked above"),
        Stranger::Anything => status == 200 && !has_of_tenant(things, &answer),
        Stranger::NotFound => status == 404,
        Stranger::Forbidden => status == 403,
        Stranger::Unauthorized => status == 401,
        // A list that belongs to a hidden object may be refused like the object.
        Stranger::Nothing => status == 404 || status == 200 && row.shows_nothing(&answer),
    };
    let text: String = answer.to_string().chars().take(300).collect();
    (!is_right).then(|| format!("{expected:?}, not {status} {text}"))
}

fn ask_stranger(row: &Row, things: &mut Things<'_>, issuer: &Issuer, list: &mut Vec<String>) {
    if row.kind == "closed" {
        return;
    }
    things.again(&row.before);
    let stranger = token(issuer, "user", "stranger");
    if let Some(answer) = wrong(row, things, &stranger) {
        list.push(format!("{} by a stranger: {answer}", row.operation));
    }
    things.again(&row.before);
    let member = token(issuer, "user", "member");
    if let Some(answer) = row.wrong(things, Some(&member), Some(true)) {
        list.push(format!("{} by a member: {answer}", row.operation));
    }
    if expected(row) == Stranger::Anything {
        let (_, answer) = row.answer(things, Some(&member));
        if !has_of_tenant(things, &answer) {
            list.push(format!(
                "{} by a member has nothing of the tenant",
                row.operation
            ));
        }
    }
}

/// A server that checks tenants, and two callers with every permission: a member of the default tenant, and one without any tenant.
pub fn started(here: &Path, issuer: &Issuer, more: &[&str]) -> Server {
    let mut grants = String::new();
    for owner in ["stranger", "member"] {
        for on in ResourceType::ALL {
            let all = on
                .permissions()
                .iter()
                .map(|(permission, _)| permission.name());
            let all: Vec<&str> = all.collect();
            writeln!(
                grants,
                "      - {{owner-type: USER, owner-id: {owner}, resource-type: {}, resource-id: \"*\", permissions: [{}]}}",
                on.name(),
                all.join(", ")
            )
            .unwrap();
        }
    }
    let text = format!(
        "camunda.security:\n  multi-tenancy.checks-enabled: true\n  authentication:\n    method: oidc\n    \
         oidc: {{issuer-uri: \"{}\", audiences: [skep], client-id-claim: client_id}}\n  initialization:\n    \
         default-roles:\n      admin: {{users: [admin]}}\n    tenants:\n      - {{tenant-id: \"<default>\", users: [member]}}\n    \
         authorizations:\n{grants}",
        issuer.uri()
    );
    let file = here.join("tenants.yaml");
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    Server::start(here, &[&["--config", &file], more].concat(), &[])
}

fn ask_all(more: &[&str]) {
    let directory = TempDir::new().unwrap();
    let issuer = Issuer::start();
    let server = started(directory.path(), &issuer, more);
    let admin = issuer.token(&json!({"sub": "admin", "aud": "skep", "exp": now() + 3600}));
    let mut things = Things::make(&server, &admin, true);
    let mut list = Vec::new();
    for row in &table() {
        ask_stranger(row, &mut things, &issuer, &mut list);
    }
    assert!(
        list.is_empty(),
        "{} wrong:\n{}",
        list.len(),
        list.join("\n")
    );
}

#[test]
fn only_members_reach_what_belongs_to_a_tenant_whatever_their_permissions() {
    ask_all(&[]);
}

#[test]
fn tenants_are_checked_where_permissions_are_not() {
    ask_all(&["--set", "camunda.security.authorizations.enabled=false"]);
}
