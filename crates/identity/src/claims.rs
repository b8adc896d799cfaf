//! Which mapping rules a token matches.

use serde_json::Value;
use serde_json_path::JsonPath;
use skep_protocol::value::MappingRuleValue;

/// Whether the claims of a token have what the rule asks for. A text matches by being equal, a list by holding the text; numbers, truth
/// values, what is missing and a path that cannot be read do not match.
pub fn matches(rule: &MappingRuleValue, token: &Value) -> bool {
    match rule.claim_name.starts_with('$') {
        true => JsonPath::parse(&rule.claim_name).is_ok_and(|path| {
            path.query(token)
                .iter()
                .any(|found| has(found, &rule.claim_value))
        }),
        false => token
            .get(&*rule.claim_name)
            .is_some_and(|found| has(found, &rule.claim_value)),
    }
}

fn has(found: &Value, wanted: &str) -> bool {
    match found {
        Value::String(text) => text == wanted,
        Value::Array(all) => all.iter().any(|one| one.as_str() == Some(wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
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
        ] {
            assert_eq!(
                matches(&rule(name, value), &token),
                expected,
                "{name} = {value}"
            );
        }
        assert!(!matches(&rule("$", "x"), &json!("y")));
    }
}
