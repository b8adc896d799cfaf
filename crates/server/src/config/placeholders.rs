//! `${NAME}` and `${NAME:default}` in values, as in Spring. A name is an environment variable or another setting.

use skep_exporting::without_password;

use super::docs::environment_name;
use super::secrets::is_secret;
use super::source::Given;

/// Maximum depth of values that refer to each other.
const MAX_DEPTH: usize = 16;

/// Replaces the placeholders in all values. `variable` reads the environment. Returns the placeholders that could not be replaced.
pub fn fill(given: &mut [Given], variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let all = given.to_vec();
    let sources = Sources {
        given: &all,
        variable,
    };
    for one in given.iter_mut().filter(|one| one.text.contains("${")) {
        match sources.expand(&one.text, 0) {
            Ok(text) => one.text = text,
            Err(why) => problems.push(format!(
                "{} = '{}' ({}): {why}",
                one.name,
                shown(one),
                one.source
            )),
        }
    }
    problems
}

/// The text to show, without secrets.
fn shown(given: &Given) -> String {
    if is_secret(&given.name) {
        "***".to_string()
    } else {
        without_password(&given.text)
    }
}

struct Sources<'a> {
    given: &'a [Given],
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    fn expand(&self, text: &str, depth: usize) -> Result<String, String> {
        if depth > MAX_DEPTH {
            return Err("the placeholders refer to each other without end".to_string());
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let end = closing(after).ok_or("a '${' has no '}'")?;
            let (inner, after) = after.split_at(end);
            out.push_str(&self.value_of(inner, depth)?);
            rest = after.get(1..).unwrap_or_default();
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value_of(&self, inner: &str, depth: usize) -> Result<String, String> {
        // The default may hold placeholders with colons of their own; a name does not.
        let (name, default) = match inner.split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.trim();
        let variable = (self.variable)(name).or_else(|| (self.variable)(&environment_name(name)));
        let setting = || self.given.iter().rev().find(|given| given.matches(name));
        match (variable, default) {
            (Some(text), _) => Ok(text),
            (None, default) => match (setting(), default) {
                (Some(given), _) => self.expand(&given.text, depth + 1),
                (None, Some(default)) => self.expand(default, depth + 1),
                (None, None) => Err(format!(
                    "there is neither an environment variable nor a setting '{name}'; \
                     ${{{name}:default}} gives a default"
                )),
            },
        }
    }
}

/// The end of a placeholder, given the text after its `${`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    for (at, _) in text.match_indices(['{', '}']) {
        if text.get(at..)?.starts_with('}') {
            open -= 1;
        } else if text.get(..at)?.ends_with('$') {
            open += 1;
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(settings: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let given = |(name, text): &(&str, &str)| Given::flag("--set", name, text);
        let mut given: Vec<Given> = settings.iter().map(given).collect();
        let variable = |name: &str| match name {
            "DATA_ROOT" => Some("/var/lib".to_string()),
            "SERVER_PORT" => Some("81".to_string()),
            _ => None,
        };
        match fill(&mut given, &variable).into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(given.into_iter().map(|given| given.text).collect()),
        }
    }

    fn one(text: &str) -> String {
        filled(&[("a", text)]).unwrap().remove(0)
    }

    #[test]
    fn variables_settings_and_defaults_take_the_place() {
        assert_eq!(one("${DATA_ROOT}/skep"), "/var/lib/skep");
        assert_eq!(one("${MISSING:5m}"), "5m");
        assert_eq!(one("${MISSING:http://host:4318}"), "http://host:4318");
        assert_eq!(one("${MISSING:}"), "");
        assert_eq!(
            one("${MISSING:${ALSO:${DATA_ROOT}}}-${DATA_ROOT:x}"),
            "/var/lib-/var/lib"
        );
        assert_eq!(
            one("${server.port}"),
            "81",
            "a setting by its environment name"
        );
        assert_eq!(one("no $PLACE {here}"), "no $PLACE {here}");
        let filled = filled(&[("my.size", "8MB"), ("b", "${my.size}")]).unwrap();
        assert_eq!(filled, ["8MB", "8MB"]);
    }

    #[test]
    fn placeholders_that_cannot_be_replaced_prevent_the_start() {
        for (text, expected) in [
            (
                "${MISSING}",
                "neither an environment variable nor a setting 'MISSING'",
            ),
            ("${MISSING", "a '${' has no '}'"),
            ("${a}", "refer to each other"),
        ] {
            let problem = filled(&[("a", text)]).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
            assert!(problem.starts_with("a = '"), "{problem}");
        }
    }

    #[test]
    fn problems_show_no_secrets() {
        for (name, text) in [
            ("backup.azure.account-key", "geheim${"),
            (
                "backup.azure.connectionString",
                "AccountKey=geheim;${MISSING}",
            ),
            ("backup.s3.ssec-key", "geheim${"),
            ("authentication.oidc.client-secret", "geheim${"),
            ("rdbms.url", "postgres://anna:geheim@${MISSING}/d"),
        ] {
            let problem = filled(&[(name, text)]).unwrap_err();
            assert!(problem.contains(name), "{problem}");
            assert!(!problem.contains("geheim"), "{problem}");
        }
    }
}
