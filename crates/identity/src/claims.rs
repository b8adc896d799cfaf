//! Matching of mapping rules with tokens, and the claims that the rules look at.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use crate::directory::Directory;

/// Maximum length of a path in characters. This and the following limits bound the time that a path takes to be parsed, and to be
/// looked up in a token.
pub const MAX_PATH: usize = 256;
/// Each recursive segment (`..`) leads to an element once for each level above it.
const MAX_RECURSIVE: usize = 3;
/// Maximum number of recursive segments, and of selectors after the first in brackets (`['a','b']`): all may lead to the same element.
const MAX_BRANCHES: usize = 4;
/// The parser reads what is in a filter several times, and what is in a filter within it several times as often.
const MAX_FILTERS: usize = 3;
/// Brackets and parentheses within each other: the parser calls itself for each.
const MAX_NESTED: usize = 8;

/// How complex a path is, whether or not it is valid.
#[derive(Default)]
struct Shape {
    recursive: usize,
    commas: usize,
    filters: usize,
    roots: usize,
    depth: usize,
    deepest: usize,
}

impl Shape {
    fn of(path: &str) -> Shape {
        let mut shape = Shape::default();
        let (mut quote, mut last) = (None, '$');
        let mut chars = path.chars();
        while let Some(c) = chars.next() {
            match (quote, c) {
                // The next character belongs to the name, even if it is the quote.
                (Some(_), '\\') => _ = chars.next(),
                (Some(end), _) if c == end => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, _) => shape.add(last, c),
            }
            last = c;
        }
        shape
    }

    /// Adds a character outside of quoted names, and the one before.
    fn add(&mut self, last: char, c: char) {
        match c {
            '.' if last == '.' => self.recursive += 1,
            ',' => self.commas += 1,
            '?' => self.filters += 1,
            '$' => self.roots += 1,
            '[' | '(' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
            }
            ']' | ')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Why the claim of a rule is not looked up, as the end of a sentence about it: it is a path that could take too long. `None`: it is a
/// name, or a simple path.
pub fn excess(claim: &str) -> Option<String> {
    if !claim.starts_with('$') {
        return None;
    }
    if claim.chars().count() > MAX_PATH {
        return Some(format!("exceeds the limit of {MAX_PATH} characters"));
    }
    let shape = Shape::of(claim);
    // Each element that is tested would be compared with the whole token.
    if shape.roots > 1 {
        return Some("refers to the root ($) within a filter".to_string());
    }
    let limits = [
        (shape.recursive, MAX_RECURSIVE, "recursive segments (..)"),
        (
            shape.recursive + shape.commas,
            MAX_BRANCHES,
            "recursive segments (..) and further selectors (,)",
        ),
        (shape.filters, MAX_FILTERS, "filters (?)"),
        (shape.deepest, MAX_NESTED, "brackets within each other"),
    ];
    let over = limits.into_iter().find(|(count, limit, _)| count > limit);
    over.map(|(_, limit, what)| format!("has more than {limit} {what}"))
}

/// The path that a claim is. `None`: it is a name, invalid, or too complex.
pub fn path(claim: &str) -> Option<JsonPath> {
    if claim.starts_with('$') && excess(claim).is_none() {
        JsonPath::parse(claim).ok()
    } else {
        None
    }
}

/// What the claim of a rule leads to in a token; nothing if it is missing, or a path that is invalid or too complex. `parsed`: its path, if
/// that is known.
pub fn find<'t>(claim: &str, parsed: Option<&JsonPath>, token: &'t Value) -> Vec<&'t Value> {
    match parsed {
        Some(path) => path.query(token).all(),
        None if claim.starts_with('$') => {
            path(claim).map_or_else(Vec::new, |path| path.query(token).all())
        }
        None => token.get(claim).into_iter().collect(),
    }
}

/// Whether what a claim leads to satisfies a rule: a text that is equal, or a list that contains the text. Numbers and booleans never do.
pub fn has(found: &Value, wanted: &str) -> bool {
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
    use skep_protocol::value::MappingRuleValue;

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

    fn matches(claim: &str, value: &str, token: &Value) -> bool {
        let parsed = path(claim);
        let found = find(claim, parsed.as_ref(), token);
        assert_eq!(found, find(claim, None, token), "{claim}");
        found.iter().any(|found| has(found, value))
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
            assert_eq!(matches(name, value, &token), expected, "{name} = {value}");
        }
        assert!(!matches("$", "x", &json!("y")));
    }

    #[test]
    fn a_path_is_simple_enough_for_every_token() {
        const RECURSIVE: &str = "has more than 3 recursive segments (..)";
        const BRANCHES: &str = "has more than 4 recursive segments (..) and further selectors (,)";
        const FILTERS: &str = "has more than 3 filters (?)";
        const NESTED: &str = "has more than 8 brackets within each other";
        const ROOT: &str = "refers to the root ($) within a filter";
        for (claim, expected) in [
            ("a..b..c..d..e", None),
            ("$..a..b..c", None),
            ("$..a..b..c..d", Some(RECURSIVE)),
            ("$..*..*..*..*", Some(RECURSIVE)),
            ("$..[0]..[0]..[0]..[0]", Some(RECURSIVE)),
            ("$[?@..a]..b..c..d", Some(RECURSIVE)),
            ("$['a..b..c..d..e']", None),
            (r"$['it\'s..a..b..c..d']", None),
            (r#"$["'"]..a..b..c..d"#, Some(RECURSIVE)),
            ("$['a','b','c','d','e']", None),
            ("$['a,b,c,d,e,f']", None),
            ("$['a','a']['a','a']['a','a']['a','a']", None),
            ("$[*,*,*,*,*,*]", Some(BRANCHES)),
            ("$[*,*][*,*][*,*][*,*][*,*]", Some(BRANCHES)),
            ("$..*..*[*,*,*,*]", Some(BRANCHES)),
            ("$.roles[?@.name == 'a?b?c?d?'].id", None),
            ("$[?@[?@[?@.a]]]", None),
            ("$[?@[?@[?@[?@.a]]]]", Some(FILTERS)),
            ("$[?((((((((@.a))))))))]", Some(NESTED)),
            ("$[?@.a == $.b]", Some(ROOT)),
            ("$.*[?$..*]", Some(ROOT)),
        ] {
            assert_eq!(excess(claim).as_deref(), expected, "{claim}");
        }
        assert_eq!(excess(&format!("$.{}", "a".repeat(254))), None);
        let long = excess(&format!("$.{}", "a".repeat(255)));
        assert_eq!(long.as_deref(), Some("exceeds the limit of 256 characters"));
        assert_eq!(excess(&"a".repeat(1000)), None, "names are not parsed");
    }

    #[test]
    fn a_path_is_parsed_once_for_all_rules_that_have_it() {
        let mut directory = Directory::default();
        let entry = |key: Key, claim: &str, value: &str| {
            crate::Entry::MappingRule(MappingRuleValue {
                mapping_rule_key: key,
                mapping_rule_id: value.into(),
                ..rule(claim, value)
            })
        };
        let (a, b) = (entry(Key(1), "$.a", "x"), entry(Key(2), "$.a", "y"));
        directory.add(Key(1), &a);
        directory.add(Key(2), &b);
        directory.add(Key(3), &entry(Key(3), "$..*..*..*..*", "z"));
        directory.add(Key(4), &entry(Key(4), "a", "z"));
        assert!(directory.path("$.a").is_some());
        assert!(directory.path("$..*..*..*..*").is_none());
        assert!(directory.path("a").is_none());
        let before = directory.clone();
        directory.remove(Key(1), &a);
        assert!(directory.path("$.a").is_some(), "another rule has it");
        directory.remove(Key(2), &b);
        assert!(directory.path("$.a").is_none());
        assert!(before.path("$.a").is_some());
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
