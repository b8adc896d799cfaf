//! Redirects from old addresses: links to Camunda's web applications lead to the screen that shows the same.
//!
//! Filters are kept as far as our screens support them. Only addresses with a corresponding screen are listed.

use std::borrow::Cow;

/// The path below `/ui` to which a path outside of it redirects; `None` if it does not belong to a web application.
pub fn target(path: &str, query: Option<&str>) -> Option<String> {
    if path == "/" {
        return Some("/".to_string());
    }
    let mut segments = path.split('/').skip(1).filter(|s| !s.is_empty());
    let application = segments.next()?;
    let rest: Vec<&str> = segments.collect();
    match application {
        "operate" => operate(&rest, query.unwrap_or_default()),
        "tasklist" => tasklist(&rest, query.unwrap_or_default()),
        _ => None,
    }
}

fn operate(rest: &[&str], query: &str) -> Option<String> {
    Some(match rest {
        [] | ["dashboard"] => "/".to_string(),
        ["instances" | "processes"] => format!("/processes{}", filters(query)),
        ["instances" | "processes", key] if is_key(key) => format!("/processes/i/{key}"),
        ["batch-operations"] => "/batches".to_string(),
        ["batch-operations", key] if is_key(key) => format!("/batches/{key}"),
        ["decisions"] => format!("/decisions{}", decision_filters(query)),
        ["decisions", id] if is_evaluation(id) => format!("/decisions/i/{id}"),
        _ => return None,
    })
}

fn tasklist(rest: &[&str], query: &str) -> Option<String> {
    Some(match rest {
        [] => format!("/tasks{}", view(query)),
        ["processes"] => "/processes".to_string(),
        [key] if is_key(key) => format!("/tasks?task={key}"),
        _ => return None,
    })
}

/// The view for the filter of Tasklist's task list. Filters that users created there are stored nowhere else.
fn view(query: &str) -> &'static str {
    let filter = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("filter="));
    match filter {
        Some("assigned-to-me") => "?view=mine",
        Some("unassigned") => "?view=unassigned",
        Some("completed") => "?view=done",
        _ => "",
    }
}

/// Whether the text is a key with an index in its evaluation, such as `2251799813685249-1`.
fn is_evaluation(text: &str) -> bool {
    text.split_once('-')
        .is_some_and(|(key, at)| is_key(key) && is_key(at))
}

/// Converts the query of Operate's list of evaluated decisions to that of our list.
fn decision_filters(query: &str) -> String {
    let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
    let is = |name| pairs().any(|(each, value)| each == name && value == "true");
    let mut kept: Vec<String> = pairs()
        .filter_map(|(name, value)| match name {
            "name" => Some(format!("decision={}", safe(value))),
            "version" if value != "all" => Some(format!("version={}", safe(value))),
            "processInstanceId" => Some(format!("instance={}", safe(value))),
            _ => None,
        })
        .collect();
    if is("failed") && !is("evaluated") {
        kept.push("view=failed".to_string());
    }
    if kept.is_empty() {
        String::new()
    } else {
        format!("?{}", kept.join("&"))
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Converts the query of Operate's list of instances to that of our list.
fn filters(query: &str) -> String {
    let mut wanted = Vec::new();
    let mut kept = Vec::new();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let state = match name {
            "active" => Some("active"),
            "incidents" => Some("incident"),
            "completed" => Some("completed"),
            "canceled" => Some("terminated"),
            _ => None,
        };
        let ours = match name {
            "process" => Some("process"),
            "version" if value != "all" => Some("version"),
            "flowNodeId" | "elementId" => Some("element"),
            "errorMessage" => Some("error"),
            "parentInstanceId" => Some("parent"),
            "batchOperationId" | "operationId" => Some("batch"),
            "businessKey" | "businessId" => Some("business"),
            _ => None,
        };
        if let (Some(state), "true") = (state, value) {
            wanted.push(state);
        }
        if let Some(ours) = ours {
            kept.push(format!("{ours}={}", safe(value)));
        }
    }
    if !wanted.is_empty() {
        kept.push(format!("state={}", wanted.join(",")));
    }
    if kept.is_empty() {
        String::new()
    } else {
        format!("?{}", kept.join("&"))
    }
}

/// Restricts a query value to characters that can end neither the value nor the header that carries it.
fn safe(value: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~%+*:,@".contains(&b);
    if value.bytes().all(plain) {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(
            value
                .bytes()
                .filter(|b| plain(*b))
                .map(char::from)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_old_address_has_its_screen() {
        for (path, query, expected) in [
            ("/", "", Some("/")),
            ("/operate", "", Some("/")),
            ("/operate/", "", Some("/")),
            ("/operate/dashboard", "", Some("/")),
            ("/operate/processes", "", Some("/processes")),
            ("/operate/instances", "", Some("/processes")),
            (
                "/operate/processes/2251799813685249",
                "",
                Some("/processes/i/2251799813685249"),
            ),
            (
                "/operate/instances/2251799813685249",
                "",
                Some("/processes/i/2251799813685249"),
            ),
            (
                "/operate/processes",
                "process=order&version=3&active=true&incidents=true&completed=false&flowNodeId=charge",
                Some("/processes?process=order&version=3&element=charge&state=active,incident"),
            ),
            (
                "/operate/processes",
                "version=all&canceled=true&errorMessage=a%20b",
                Some("/processes?error=a%20b&state=terminated"),
            ),
            ("/operate/batch-operations", "", Some("/batches")),
            ("/operate/batch-operations/77", "", Some("/batches/77")),
            ("/operate/processes/not-a-key", "", None),
            ("/operate/nothing", "", None),
            ("/v2/topology", "", None),
            ("/operates", "", None),
        ] {
            let found = target(path, Some(query));
            assert_eq!(found.as_deref(), expected, "{path}?{query}");
        }
    }

    #[test]
    fn old_addresses_of_decisions_and_tasks_have_their_screens() {
        for (path, query, expected) in [
            ("/operate/decisions", "", Some("/decisions")),
            (
                "/operate/decisions",
                "name=discount&version=2&failed=true",
                Some("/decisions?decision=discount&version=2&view=failed"),
            ),
            (
                "/operate/decisions",
                "evaluated=true&failed=true&version=all",
                Some("/decisions"),
            ),
            (
                "/operate/decisions/2251799813685249-1",
                "",
                Some("/decisions/i/2251799813685249-1"),
            ),
            ("/operate/decisions/2251799813685249", "", None),
            ("/tasklist", "", Some("/tasks")),
            (
                "/tasklist/",
                "filter=all-open&sortBy=creation",
                Some("/tasks"),
            ),
            (
                "/tasklist",
                "filter=assigned-to-me",
                Some("/tasks?view=mine"),
            ),
            (
                "/tasklist",
                "sortBy=due&filter=unassigned",
                Some("/tasks?view=unassigned"),
            ),
            ("/tasklist", "filter=completed", Some("/tasks?view=done")),
            (
                "/tasklist/2251799813685249",
                "filter=completed",
                Some("/tasks?task=2251799813685249"),
            ),
            ("/tasklist/processes", "", Some("/processes")),
            ("/tasklist/no-key", "", None),
        ] {
            let found = target(path, Some(query));
            assert_eq!(found.as_deref(), expected, "{path}?{query}");
        }
    }

    #[test]
    fn a_filter_carries_nothing_that_ends_it() {
        let found = target("/operate/processes", Some("process=a\"b<c>#d&version=1"));
        assert_eq!(found.as_deref(), Some("/processes?process=abcd&version=1"));
    }
}
