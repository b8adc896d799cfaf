//! Parameters in the query of a URI.

use super::path;

/// The decoded value of a parameter; the last one, if there are several.
pub fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let pairs = query?.rsplit('&');
    let mut values = pairs.filter_map(|pair| {
        let (own, value) = pair.split_once('=').unwrap_or((pair, ""));
        (path::unescaped(own) == name).then_some(value)
    });
    values.next().map(path::unescaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_values_are_decoded_and_the_last_one_counts() {
        let query =
            Some("a=1&from=2026-01-31T13%3A05%3A00%2B01:00&b=x+y%2Fz&a=2&empty=&alone&bad=%ff");
        for (name, value) in [
            ("a", Some("2")),
            ("from", Some("2026-01-31T13:05:00+01:00")),
            ("b", Some("x y/z")),
            ("empty", Some("")),
            ("alone", Some("")),
            ("bad", Some("%ff")),
            ("c", None),
        ] {
            assert_eq!(parameter(query, name).as_deref(), value, "{name}");
        }
        assert_eq!(parameter(None, "a"), None);
    }
}
