//! Error texts of a JSON reader for values of the wrong type, in terms of JSON.

/// `invalid type: sequence, expected i64 at line 1 column 8` as "it is an array, but must be a whole number of 64 bits". Other
/// messages stay as they are.
pub fn plain(message: &str) -> String {
    let wrong = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "));
    // The input may hold any text, so the expectation is the last one.
    let parts = wrong.and_then(|wrong| wrong.rsplit_once(", expected "));
    let Some((given, expected)) = parts else {
        return message.to_string();
    };
    // The path gives the place; the position would only repeat it.
    let expected = without_position(expected);
    format!("it is {}, but must be {}", value(given), kind(expected))
}

/// The message without the position that readers of JSON add to it.
pub fn without_position(message: &str) -> &str {
    message
        .rsplit_once(" at line ")
        .map_or(message, |(text, _)| text)
}

fn value(given: &str) -> String {
    let quoted = |prefix: &str| given.strip_prefix(prefix)?.strip_suffix('`');
    match given {
        "sequence" => return "an array".to_string(),
        "map" => return "an object".to_string(),
        _ => {}
    }
    if let Some(number) = quoted("integer `").or_else(|| quoted("floating point `")) {
        return format!("the number {number}");
    }
    if let Some(boolean) = quoted("boolean `") {
        return boolean.to_string();
    }
    match given.strip_prefix("string ") {
        Some(text) => format!("the text {text}"),
        None => given.to_string(),
    }
}

fn kind(expected: &str) -> &str {
    match expected {
        "i32" => "a whole number of 32 bits",
        "i64" => "a whole number of 64 bits",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_json() {
        for (message, said) in [
            (
                "invalid type: sequence, expected a JSON object at line 1 column 0",
                "it is an array, but must be a JSON object",
            ),
            (
                "invalid type: floating point `1.5`, expected i64",
                "it is the number 1.5, but must be a whole number of 64 bits",
            ),
            (
                "invalid value: integer `3000000000`, expected i32 at line 1 column 9",
                "it is the number 3000000000, but must be a whole number of 32 bits",
            ),
            (
                r#"invalid type: string "a, expected b", expected a boolean at line 1 column 9"#,
                r#"it is the text "a, expected b", but must be true or false"#,
            ),
            (
                "invalid type: map, expected a sequence",
                "it is an object, but must be an array",
            ),
            (
                "invalid type: boolean `true`, expected a string",
                "it is true, but must be a string",
            ),
            (
                "invalid type: null, expected a JSON object",
                "it is null, but must be a JSON object",
            ),
            ("unknown field `x`", "unknown field `x`"),
        ] {
            assert_eq!(plain(message), said);
        }
    }
}
