//! The operations on users, available with Basic authentication. Required permissions are taken from the API's documentation.

use super::*;

/// Operation, required permission, method, path, body, and the preparation.
type Call<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

const THING: &str = r#"POST /users {"username":"thing","password":"hush","name":"thing","email":"thing@example.org"}"#;
const NEW: &str = r#"{"username":"new","password":"hush","name":"new","email":"new@example.org"}"#;
const OPERATIONS: [Call<'_>; 5] = [
    (
        "searchUsers",
        "USER:READ",
        "POST",
        "/users/search",
        r#"{"filter":{"username":"thing"}}"#,
        THING,
    ),
    ("getUser", "USER:READ", "GET", "/users/thing", "", THING),
    ("createUser", "USER:CREATE", "POST", "/users", NEW, ""),
    (
        "updateUser",
        "USER:UPDATE",
        "PUT",
        "/users/thing",
        r#"{"name":"other"}"#,
        THING,
    ),
    (
        "deleteUser",
        "USER:DELETE",
        "DELETE",
        "/users/thing",
        "",
        THING,
    ),
];

/// Ways for users to have a permission.
const WAYS: [&str; 4] = ["user", "group", "role", "group-role"];

fn rows() -> Vec<Row> {
    let rows = OPERATIONS.iter().enumerate();
    let rows = rows.map(
        |(number, (operation, need, method, path, body, before))| Row {
            number,
            operation: (*operation).into(),
            kind: if path.ends_with("/search") {
                "filters".into()
            } else {
                "refuses".into()
            },
            needs: vec![(*need).into()],
            method: (*method).into(),
            path: (*path).into(),
            before: (*before).into(),
            body: (*body).into(),
        },
    );
    rows.collect()
}

fn settings(rows: &[Row]) -> String {
    let mut settings = Settings {
        groups: String::new(),
        roles: String::new(),
        rules: String::new(),
        authorizations: String::new(),
        known: BTreeSet::from(["nothing".to_string(), "admin".to_string()]),
    };
    for row in rows {
        settings.without(&row.needs);
        for need in &row.needs {
            settings.caller("user", need, "all");
            for way in WAYS {
                settings.caller(way, need, on(need));
            }
            if has_ids(need) {
                settings.caller("user", need, "other");
            }
        }
    }
    let users = settings.known.iter().map(|name| {
        format!("      - {{username: \"{name}\", password: hush, name: n, email: n@example.org}}\n")
    });
    format!(
        "camunda.security:\n  authentication.method: basic\n  initialization:\n    default-roles:\n      admin: {{users: [admin]}}\n    \
         users:\n{}    groups:\n{}    roles:\n{}    authorizations:\n{}",
        users.collect::<String>(),
        settings.groups,
        settings.roles,
        settings.authorizations
    )
}

fn on(need: &str) -> &'static str {
    if has_ids(need) { "thing" } else { "all" }
}

#[test]
fn user_operations_need_their_permission_however_it_was_granted() {
    let rows = rows();
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let file = here.join("users.yaml");
    std::fs::write(&file, settings(&rows)).unwrap();
    let server = Server::start(here, &["--config", &file.display().to_string()], &[]);
    let shown = |name: &str| super::super::basic((name, "hush"));
    let admin = shown("admin");
    let mut things = Things::none(&server, &admin, false);
    things.keys.insert("errorHashCode", String::new());
    let mut wrong = Vec::new();
    for row in &rows {
        let need = &row.needs[0];
        let mut refused = vec![None, Some("nothing".to_string()), Some(all_but(&row.needs))];
        refused.extend(has_ids(need).then(|| Some(name("user", need, "other"))));
        let of_ways = WAYS.iter().map(|way| name(way, need, on(need)));
        let allowed = std::iter::once(name("user", need, "all")).chain(of_ways);
        let callers = refused.into_iter().map(|who| (who, false));
        let callers: Vec<_> = callers
            .chain(allowed.map(|who| (Some(who), true)))
            .collect();
        for (who, may) in callers {
            things.again(&row.before);
            let token = who.as_deref().map(shown);
            let may = who.is_some().then_some(may);
            if let Some(answer) = row.wrong(&things, token.as_deref(), may) {
                wrong.push(format!("{} by {who:?} ({may:?}): {answer}", row.operation));
            }
        }
    }
    // At the end: from then on, new logins of this address wait behind each other.
    let other_password = super::super::basic(("admin", "other"));
    for row in &rows {
        if let Some(answer) = row.wrong(&things, Some(&other_password), None) {
            wrong.push(format!("{} by another password: {answer}", row.operation));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
