//! Names of settings whose values must not be shown: also of those that the table does not have, and of texts that are not valid yet.

/// Parts of such names, without what separates their words.
const PARTS: [&str; 7] = [
    "pass",
    "secret",
    "accesskey",
    "accountkey",
    "sseckey",
    "token",
    "connectionstring",
];

/// Whether the value of a setting with this name must not be shown.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::super::table::KEYS;
    use super::super::value::Kind;
    use super::*;

    #[test]
    fn the_secrets_of_the_table_are_known_by_their_names() {
        // Names of keys, which some places show all the same, and limits.
        const PUBLIC: [&str; 2] = ["access-key", "wrong-passwords"];
        let mut secrets = 0;
        for key in KEYS {
            let expected = matches!(key.kind, Kind::Secret);
            secrets += usize::from(expected);
            for name in [&[key.name], key.old, key.also].concat() {
                if !PUBLIC.iter().any(|part| name.contains(part)) {
                    assert_eq!(is_secret(name), expected, "{name}");
                }
            }
        }
        assert!(secrets > 10, "{secrets}");
    }
}
