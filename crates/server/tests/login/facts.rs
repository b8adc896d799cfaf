//! The expectations of `permissions.tsv` are those of the API's documentation, where that is at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use super::{Row, table};

const NAME: &str = "shared/api/endpoints.md";

/// Operations whose needs the page states only in part, and what it says of them. Other pages complete it.
const IN_PART: [(&str, &str); 10] = [
    // "Reading the audit log": permissions on processes and tasks show the entries about them.
    ("searchAuditLogs", "AUDIT_LOG:READ (filter)"),
    ("getAuditLog", "AUDIT_LOG:READ"),
    (
        "searchUserTaskAuditLogs",
        "PROCESS_DEFINITION:READ_USER_TASK or USER_TASK:READ",
    ),
    // "User tasks": reading a task includes its variables.
    (
        "searchUserTaskEffectiveVariables",
        "PROCESS_DEFINITION:READ_PROCESS_INSTANCE",
    ),
    (
        "searchUserTaskVariables",
        "PROCESS_DEFINITION:READ_PROCESS_INSTANCE",
    ),
    // "Commands": these depend on what they reach, and on the kind of the resource.
    ("correlateMessage", "?:?"),
    ("broadcastSignal", "?:?"),
    ("deleteResource", "?:?"),
    ("evaluateExpression", "EXPRESSION:EVALUATE, ?:?"),
    // "First administrator": it is open until there is one.
    ("createAdminUser", "?:?"),
];

/// Operations of this server below the path of the API.
const OWN: [&str; 2] = ["getOpenApi", "getProcessInstanceWaitingStates"];

/// An operation as the page has it.
struct Documented {
    method: String,
    path: String,
    permission: String,
}

/// The page's operations; `None`: it is not beside the repository, which has been reported.
fn documented() -> Option<BTreeMap<String, Documented>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = here.ancestors().map(|it| it.join(NAME));
    let Some(file) = files.find(|it| it.exists()) else {
        // Bypasses the test harness, which hides the output of passing tests.
        let line = format!("NOT RUN (facts): {NAME} is missing beside the repository\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    };
    let page = std::fs::read_to_string(file).unwrap();
    let rows = page.lines().filter_map(|line| {
        let cells = line.trim_matches('|').split(" | ").map(str::trim);
        let cells: Vec<&str> = cells.collect();
        match &*cells {
            &[method, path, operation, .., permission] if path.starts_with("`/") => {
                let documented = Documented {
                    method: method.into(),
                    path: path.trim_matches('`').into(),
                    permission: permission.into(),
                };
                Some((operation.to_string(), documented))
            }
            _ => None,
        }
    });
    Some(rows.collect())
}

impl Documented {
    fn is_filter(&self) -> bool {
        self.permission.ends_with(" (filter)")
    }

    /// The permissions of which one is enough, as far as the page names them.
    fn needs(&self) -> BTreeSet<&str> {
        let permission = self.permission.trim_end_matches(" (filter)");
        let each = permission.split(" or ").flat_map(|it| it.split(", "));
        each.filter(|it| !["–", "?:?"].contains(it)).collect()
    }

    fn has_path(&self, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or_default();
        let (ours, theirs) = (path.split('/'), self.path.split('/'));
        let is_same = |(ours, theirs): (&str, &str)| theirs.starts_with('{') || ours == theirs;
        ours.clone().count() == theirs.clone().count() && ours.zip(theirs).all(is_same)
    }

    /// What the row has otherwise.
    fn difference(&self, row: &Row) -> Option<String> {
        let needs: BTreeSet<&str> = row.needs.iter().map(String::as_str).collect();
        let in_part = IN_PART.iter().find(|(id, _)| *id == row.operation);
        let is_needed = match in_part {
            Some((_, said)) => *said == self.permission && needs.is_superset(&self.needs()),
            None => needs == self.needs(),
        };
        let is_kind = match &*row.kind {
            "filters" => self.is_filter(),
            "refuses" | "thins" => !self.is_filter() && !needs.is_empty(),
            "open" | "public" => needs.is_empty(),
            // With another login these are operations as well (`users.rs`).
            "closed" => true,
            _ => false,
        };
        let is_same = is_needed && is_kind && self.method == row.method && self.has_path(&row.path);
        (!is_same).then(|| {
            let Documented {
                method,
                path,
                permission,
            } = self;
            format!("{}: {method} {path} needs {permission}", row.operation)
        })
    }
}

#[test]
fn the_expected_permissions_are_the_documented_ones() {
    let Some(documented) = documented() else {
        return;
    };
    assert!(documented.len() > 200, "{}", documented.len());
    let mut wrong = Vec::new();
    for row in table() {
        match documented.get(&row.operation) {
            Some(documented) => wrong.extend(documented.difference(&row)),
            None => {
                let is_own = row.path.starts_with("/skep/v1/") || OWN.contains(&&*row.operation);
                wrong.extend((!is_own).then(|| format!("{}: unknown", row.operation)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
