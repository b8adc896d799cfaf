//! `/actuator/info` and `/actuator/configprops`.

use serde_json::{Map, Value, json};

use super::reply::{Answer, ok};
use crate::config::Effective;
use crate::config::secrets::is_secret;

pub fn info() -> Answer {
    ok(&json!({
        "build": {
            "artifact": "skep",
            "name": "Skep",
            "group": "skep",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "camunda": { "compatibleWith": "8.9" },
        // `none` in a binary that was built without it.
        "ui": { "version": skep_ui::version() },
    }))
}

/// Settings with values and sources, by the first two parts of their names.
pub fn properties(effective: &[Effective]) -> Answer {
    let mut beans: Map<String, Value> = Map::new();
    for setting in effective {
        let mut parts = setting.name.splitn(3, '.');
        let (first, second) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let (prefix, name) = match parts.next() {
            Some(rest) => (format!("{first}.{second}"), rest),
            None => (first.to_string(), second),
        };
        let bean = beans
            .entry(&prefix)
            .or_insert_with(|| json!({ "prefix": prefix, "properties": {}, "inputs": {} }));
        let value = masked(setting.name, &setting.value);
        let input = json!({ "value": value, "origin": setting.source.to_string() });
        for (part, what) in [("properties", json!(value)), ("inputs", input)] {
            if let Some(part) = bean.get_mut(part).and_then(Value::as_object_mut) {
                part.insert(name.to_string(), what);
            }
        }
    }
    ok(&json!({ "contexts": { "skep": { "beans": beans } } }))
}

/// Hides secrets, and names of users.
fn masked<'v>(name: &str, value: &'v str) -> &'v str {
    let is_hidden = is_secret(name) || name.to_ascii_lowercase().contains("user");
    if is_hidden && !value.is_empty() {
        "******"
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (name, shown) in [
            ("camunda.data.backup.s3.access-key", "******"),
            ("camunda.x.password", "******"),
            ("camunda.x.userName", "******"),
            ("a.connectionString", "******"),
            ("server.port", "v"),
        ] {
            assert_eq!(masked(name, "v"), shown, "{name}");
        }
        assert_eq!(masked("a.password", ""), "");
    }
}
