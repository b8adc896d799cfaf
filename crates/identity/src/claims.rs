//! Matching of mapping rules with tokens, and the claims that the rules look at.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use serde_json_path::JsonPath;
use skep_protocol::value::MappingRuleValue;

use crate::directory::Directory;

/// Maximum number of recursive segments (`..`) of a path. Each multiplies the time that a deep token takes.
pub const MAX_RECURSIVE: usize = 3;

/// Whether a claim is a path with too many recursive segments.
pub fn is_too_recursive(claim: &str) -> bool {
    claim.starts_with('$') && recursive(claim) > MAX_RECURSIVE
}

/// The number of `..` outside of quoted names.
fn recursive(path: &str) -> usize {
    let (mut count, mut quote, mut last) = (0, None, '$');
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            // The next character belongs to the name, even if it is the quote.
            (Some(_), '\\') => _ = chars.next(),
            (Some(end), _) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '.') if last == '.' => count += 1,
            (None, _) => {}
        }
        last = c;
    }
    count
}

/// Whether the claims of a token satisfy the rule. A text matches if it is equal, a list if it contains the text. Numbers,
/// booleans, missing claims, and paths that are invalid or too recursive do not match.
pub fn matches(rule: &MappingRuleValue, token: &Value) -> bool {
    if is_too_recursive(&rule.claim_name) {
        return false;
    }
    if rule.claim_name.starts_with('$') {
        JsonPath::parse(&rule.claim_name).is_ok_and(|path| {
            path.query(token)
                .iter()
                .any(|found| has(found, &rule.claim_value))
        })
    } else {
        token
            .get(&*rule.claim_name)
            .is_some_and(|found| has(found, &rule.claim_value))
    }
}

fn has(found: &Value, wanted: &str) -> bool {
    match found {
        Value::String(text) => text == wanted,
        Value::Array(all) => all.iter().any(|one| one.as_str() == Some(wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The claims that rules look at. Only these accompany a command: a whole token is many times as large as the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// All claims, because the path of some rule does not begin with a name.
    All,
    These(BTreeSet<String>),
}

impl Default for Named {
    fn default() -> Named {
        Named::These(BTreeSet::new())
    }
}

impl Named {
    /// The claims of all existing rules.
    pub fn by(directory: &Directory) -> Named {
        let names = directory.rules().map(|rule| first_name(&rule.claim_name));
        match names.collect::<Option<BTreeSet<String>>>() {
            Some(names) => Named::These(names),
            None => Named::All,
        }
    }

    /// JSON object text with these claims of a token; empty if it has none of them.
    pub fn of(&self, token: &Map<String, Value>) -> String {
        let is_named = |name: &str| match self {
            Named::All => true,
            Named::These(names) => names.contains(name),
        };
        let named = token.iter().filter(|(name, _)| is_named(name));
        let named: Map<String, Value> =
            named.map(|(name, it)| (name.clone(), it.clone())).collect();
        if named.is_empty() {
            String::new()
        } else {
            Value::Object(named).to_string()
        }
    }
}

/// The claim at which a rule begins: its name, or the first name of its path (`$.a.b`, `$['a'].b`). `None`: it cannot be
/// determined.
fn first_name(rule: &str) -> Option<String> {
    let Some(path) = rule.strip_prefix('$') else {
        return Some(rule.to_string());
    };
    for quote in ['\'', '"'] {
        let quoted = path
            .strip_prefix('[')
            .and_then(|path| path.strip_prefix(quote));
        if let Some((name, rest)) = quoted.and_then(|it| it.split_once(quote)) {
            let is_plain = !name.contains('\\') && rest.starts_with(']');
            return is_plain.then(|| name.to_string());
        }
    }
    let name = path.strip_prefix('.')?;
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let name = name.get(..end)?;
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_plain && !name.is_empty()).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skep_protocol::Key;

    use super::*;

    fn rule(name: &str, value: &str) -> MappingRuleValue {
        MappingRuleValue {
            mapping_rule_key: Key::NONE,
            mapping_rule_id: "r".into(),
            claim_name: name.into(),
            claim_value: value.into(),
            name: "r".into(),
        }
    }

    #[test]
    fn a_claim_matches_as_text_or_in_a_list_by_name_or_by_path() {
        let token = json!({
            "dept": "sales",
            "groups": ["a", "b"],
            "age": 30,
            "admin": true,
            "nothing": null,
            "https://example.org/team": "x",
            "a.b": "dotted",
            "realm": {"roles": ["clerk", "boss"], "name": "r"},
        });
        for (name, value, expected) in [
            ("dept", "sales", true),
            ("dept", "Sales", false),
            ("groups", "b", true),
            ("groups", "c", false),
            ("age", "30", false),
            ("admin", "true", false),
            ("nothing", "null", false),
            ("missing", "", false),
            ("https://example.org/team", "x", true),
            ("a.b", "dotted", true),
            ("$.realm.roles", "boss", true),
            ("$.realm.roles[0]", "clerk", true),
            ("$.realm.roles[0]", "boss", false),
            ("$['realm']['name']", "r", true),
            ("$.realm.roles[", "clerk", false),
            ("$.missing.leaf", "x", false),
            ("$..roles", "boss", true),
            ("$..*..*..*", "boss", true),
            ("$..*..*..*..*", "boss", false),
        ] {
            assert_eq!(
                matches(&rule(name, value), &token),
                expected,
                "{name} = {value}"
            );
        }
        assert!(!matches(&rule("$", "x"), &json!("y")));
    }

    #[test]
    fn a_path_has_few_recursive_segments() {
        for (claim, is_too_recursive) in [
            ("a..b..c..d..e", false),
            ("$..a..b..c", false),
            ("$..a..b..c..d", true),
            ("$..*..*..*..*", true),
            ("$..[0]..[0]..[0]..[0]", true),
            ("$[?@..a]..b..c..d", true),
            ("$['a..b..c..d..e']", false),
            (r"$['it\'s..a..b..c..d']", false),
            (r#"$["'"]..a..b..c..d"#, true),
        ] {
            assert_eq!(super::is_too_recursive(claim), is_too_recursive, "{claim}");
        }
    }

    #[test]
    fn only_claims_that_a_rule_looks_at_go_with_a_command() {
        for (name, first) in [
            ("dept", Some("dept")),
            ("https://example.org/team", Some("https://example.org/team")),
            ("$.realm.roles[0]", Some("realm")),
            ("$.realm", Some("realm")),
            ("$['realm']['name']", Some("realm")),
            ("$[\"a.b\"].c", Some("a.b")),
            ("$['it\\'s']", None),
            ("$", None),
            ("$..name", None),
            ("$.*", None),
            ("$[?@.a]", None),
            ("$['a','b']", None),
        ] {
            assert_eq!(first_name(name).as_deref(), first, "{name}");
        }
        let token = json!({"sub": "anna", "dept": "sales", "realm": {"roles": ["boss"]}});
        let token = token.as_object().unwrap();
        let with = |names: &[&str]| {
            let mut directory = Directory::default();
            for (key, name) in names.iter().enumerate() {
                let key = Key(key as i64);
                let rule = MappingRuleValue {
                    mapping_rule_key: key,
                    mapping_rule_id: (*name).into(),
                    ..rule(name, "x")
                };
                directory.add(key, &crate::Entry::MappingRule(rule));
            }
            Named::by(&directory).of(token)
        };
        assert_eq!(with(&[]), "");
        assert_eq!(with(&["missing"]), "");
        assert_eq!(with(&["dept", "missing"]), r#"{"dept":"sales"}"#);
        assert_eq!(
            with(&["dept", "$.realm.roles"]),
            r#"{"dept":"sales","realm":{"roles":["boss"]}}"#
        );
        assert_eq!(
            with(&["$..roles"]),
            Value::Object(token.clone()).to_string()
        );
    }
}
