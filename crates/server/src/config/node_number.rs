//! Derives the number of a node from its host name, for nodes started from one template: `skep-2` is node 2.

use super::source::{Given, Source};

const SWITCH: &str = "skep.cluster.node-id-from-hostname";
const NODE_ID: &str = "camunda.cluster.node-id";

/// The host name; each container has its own.
pub fn hostname() -> Option<String> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = kernel.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.map(|name| name.trim().to_string());
    name.filter(|name| !name.is_empty())
}

/// The number as a given setting, if it is to be taken from the host name.
///
/// # Errors
/// A host name that does not end with a number, or a number given as well.
pub fn given(all: &[Given], hostname: Option<String>) -> Result<Option<Given>, String> {
    let last = all.iter().rev().find(|given| given.matches(SWITCH));
    if !last.is_some_and(|given| given.text.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let explicit = |given: &&Given| given.matches(NODE_ID) && !given.text.is_empty();
    if let Some(other) = all.iter().find(explicit) {
        return Err(format!(
            "{SWITCH} is true, and {} = '{}' ({}): the number comes from the host name or from the setting; remove one",
            other.name, other.text, other.source
        ));
    }
    let name = hostname.ok_or_else(|| format!("{SWITCH} is true, but this host has no name"))?;
    let text = number(&name).ok_or_else(|| {
        format!(
            "{SWITCH} is true, but the name of this host, '{name}', does not end in a dash and a number as in skep-2"
        )
    })?;
    Ok(Some(Given {
        name: NODE_ID.to_string(),
        text,
        source: Source::Hostname(name),
    }))
}

/// Digits after the last dash of the name's first label.
fn number(hostname: &str) -> Option<String> {
    let label = hostname.split('.').next()?;
    let (_, digits) = label.rsplit_once('-')?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)], hostname: &str) -> Result<Option<String>, String> {
        let flags = settings
            .iter()
            .map(|(name, text)| Given::flag("--set", name, text));
        let all: Vec<Given> = flags.collect();
        Ok(given(&all, Some(hostname.to_string()))?.map(|given| given.text))
    }

    #[test]
    fn a_host_of_a_stateful_set_names_its_node() {
        let on = [(SWITCH, "true")];
        assert_eq!(with(&on, "skep-2"), Ok(Some("2".to_string())));
        let full = "my-release-skep-10.headless.prod.svc.cluster.local";
        assert_eq!(with(&on, full), Ok(Some("10".to_string())));
        assert_eq!(with(&[], "skep-2"), Ok(None));
        assert_eq!(with(&[(SWITCH, "false")], "skep"), Ok(None));
    }

    #[test]
    fn a_name_without_a_number_stops_the_start() {
        for name in ["skep", "skep-", "skep2", "skep-2a", "web.1-2"] {
            let problem = with(&[(SWITCH, "true")], name).unwrap_err();
            assert!(problem.contains(&format!("'{name}'")), "{problem}");
        }
    }

    #[test]
    fn a_number_that_was_given_besides_stops_the_start() {
        let problem = with(&[(SWITCH, "true"), (NODE_ID, "1")], "skep-2").unwrap_err();
        assert!(problem.contains("remove one"), "{problem}");
    }
}
