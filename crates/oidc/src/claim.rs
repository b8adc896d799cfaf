//! Where a token has some data: the name of a claim, or a path to it.

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

/// A setting such as `username-claim`.
#[derive(Clone, Debug)]
pub(crate) enum Claim {
    Name(String),
    /// Begins with `$` (RFC 9535).
    Path(String, JsonPath),
}

impl Claim {
    /// `Err`: why the path cannot be read.
    pub(crate) fn new(text: &str) -> Result<Claim, String> {
        if !text.starts_with('$') {
            return Ok(Claim::Name(text.to_string()));
        }
        let path = JsonPath::parse(text).map_err(|error| error.to_string())?;
        Ok(Claim::Path(text.to_string(), path))
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        match self {
            Claim::Name(text) | Claim::Path(text, _) => text,
        }
    }

    /// The value in the token; of several, the first.
    pub(crate) fn find(&self, claims: &Map<String, Value>) -> Option<Value> {
        let found = match self {
            Claim::Name(name) => claims.get(name).cloned(),
            Claim::Path(_, path) => path.query(&Value::Object(claims.clone())).first().cloned(),
        };
        found.filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_found_by_name_or_by_path() {
        let claims = json!({
            "sub": "anna", "a.b": "dotted", "none": null, "realm": {"user": "otto", "groups": ["x"]},
        });
        let claims = claims.as_object().unwrap();
        for (text, found) in [
            ("sub", Some(json!("anna"))),
            ("a.b", Some(json!("dotted"))),
            ("none", None),
            ("missing", None),
            ("$.realm.user", Some(json!("otto"))),
            ("$.realm.groups", Some(json!(["x"]))),
            ("$['a.b']", Some(json!("dotted"))),
            ("$.realm.missing", None),
        ] {
            assert_eq!(Claim::new(text).unwrap().find(claims), found, "{text}");
        }
        assert!(Claim::new("$.realm[").is_err());
    }
}
