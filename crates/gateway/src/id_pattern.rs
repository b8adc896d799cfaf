//! The pattern of ids of users, groups, roles, tenants, mapping rules and resources (`camunda.security.id-validation-pattern`).

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The default pattern of an id; [`fits`] is equivalent to it.
pub const DEFAULT_PATTERN: &str = "^[a-zA-Z0-9_~@.+-]+$";
/// Bytes of a compiled pattern at most: ids are matched for each request.
const MAX_SIZE: usize = 256 << 10;
/// Parentheses within parentheses at most.
const MAX_DEPTH: u32 = 50;

/// See the [module](self). The pattern must always match the whole id.
#[derive(Clone, Default)]
pub struct IdPattern(Option<Given>);

#[derive(Clone)]
struct Given {
    text: String,
    whole: Regex,
}

fn fits(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_~@.+-".contains(c)
}

impl IdPattern {
    /// # Errors
    /// Why it is no pattern, or none that can be had.
    pub fn new(text: &str) -> Result<IdPattern, String> {
        if text == DEFAULT_PATTERN {
            return Ok(IdPattern(None));
        }
        let compiled = |text: &str| {
            RegexBuilder::new(text)
                .size_limit(MAX_SIZE)
                .nest_limit(MAX_DEPTH)
                .build()
                .map_err(|error| reason(&error))
        };
        // On its own first: `a)|(b` is no pattern, though it is one in parentheses.
        compiled(text)?;
        Ok(IdPattern(Some(Given {
            text: text.to_string(),
            whole: compiled(&format!(r"\A(?:{text})\z"))?,
        })))
    }

    /// As configured.
    pub fn text(&self) -> &str {
        let given = self.0.as_ref();
        given.map_or(DEFAULT_PATTERN, |given| &given.text)
    }

    pub(crate) fn matches(&self, id: &str) -> bool {
        match &self.0 {
            None => !id.is_empty() && id.chars().all(fits),
            Some(given) => given.whole.is_match(id),
        }
    }
}

impl fmt::Debug for IdPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IdPattern").field(&self.text()).finish()
    }
}

/// In one line: the last of those that show where in the pattern the error is.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => format!(
            "it is too large: its compiled form has more than {} KiB",
            MAX_SIZE >> 10
        ),
        error => {
            let text = error.to_string();
            let last = text.lines().next_back().unwrap_or_default();
            last.trim_start_matches("error: ").to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_to_match_as_a_whole() {
        for (pattern, id, matches) in [
            ("[a-z]+", "anna", true),
            ("[a-z]+", "anna1", false),
            ("[a-z]+", "1anna", false),
            ("^[a-z]+$", "anna\n", false),
            ("a|ab", "ab", true),
            ("(?x) a b # both", "ab", true),
            ("^[\\w/ äöü]+$", "Köln/Süd 1", true),
            ("", "a", false),
        ] {
            let compiled = IdPattern::new(pattern);
            // The comment swallows the closing parenthesis.
            if pattern.contains('#') {
                assert!(compiled.is_err(), "{pattern}");
                continue;
            }
            let compiled = compiled.unwrap();
            assert_eq!(compiled.matches(id), matches, "{pattern} {id}");
            assert_eq!(compiled.text(), pattern);
        }
    }

    #[test]
    fn the_default_is_the_pattern_that_it_shows() {
        let (default, shown) = (
            IdPattern::default(),
            Regex::new(&format!(r"\A(?:{DEFAULT_PATTERN})\z")).unwrap(),
        );
        assert_eq!(default.text(), DEFAULT_PATTERN);
        let ids = (0..0x250).filter_map(char::from_u32).map(String::from);
        for id in ids.chain(["".into(), "a b".into(), "a.B_9~@+-".into()]) {
            assert_eq!(default.matches(&id), shown.is_match(&id), "{id:?}");
        }
    }

    #[test]
    fn invalid_and_oversized_patterns_are_refused_with_the_reason() {
        for (pattern, why) in [
            ("[a-z", "unclosed character class"),
            ("a)|(b", "unopened group"),
            ("(?=a).*", "look-around"),
            (r"(a)\1", "backreferences are not supported"),
            ("(?:[a-z]{1000}){1000}", "more than 256 KiB"),
            (&"(".repeat(60), "unclosed group"),
            (
                &format!("{}a{}", "(".repeat(60), ")".repeat(60)),
                "nested parentheses/brackets",
            ),
        ] {
            let refused = IdPattern::new(pattern).unwrap_err();
            assert!(refused.contains(why), "{pattern}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }

    /// The time is linear in the length of the id, even for ids on which a back-tracking matcher would take years.
    #[test]
    fn no_id_keeps_a_pattern_busy() {
        let pattern = IdPattern::new("^(a+)+$").unwrap();
        assert!(!pattern.matches(&format!("{}!", "a".repeat(255))));
    }
}
