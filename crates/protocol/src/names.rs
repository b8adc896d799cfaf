//! The length of names: of messages, signals and workers, of job types, correlation keys and message ids.
//!
//! Indices and open streams keep them in memory, some for ever, so a long one would take memory that no limit counts.

use std::fmt::Display;

/// Maximum characters of a name, as in models.
pub const MAX_CHARS: usize = 32_768;

/// A name has too many characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Its characters.
    pub length: usize,
}

impl TooLong {
    /// Says how long it is and what to do. `what` begins the text.
    pub fn text(self, what: impl Display) -> String {
        format!(
            "{what} has {} characters, but at most {MAX_CHARS} are allowed. Shorten it.",
            self.length
        )
    }
}

/// # Errors
/// The name has more than [`MAX_CHARS`] characters.
pub fn check(name: &str) -> Result<(), TooLong> {
    // No character takes less than a byte, so a usual name is not even counted.
    if name.len() <= MAX_CHARS {
        return Ok(());
    }
    let length = name.chars().count();
    if length > MAX_CHARS {
        return Err(TooLong { length });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_measured_in_characters() {
        for longest in ["a".repeat(MAX_CHARS), "ä".repeat(MAX_CHARS), String::new()] {
            assert_eq!(check(&longest), Ok(()));
        }
        let refused = check(&"ä".repeat(MAX_CHARS + 1)).unwrap_err();
        let said = "The name has 32769 characters, but at most 32768 are allowed. Shorten it.";
        assert_eq!(refused.text("The name"), said);
    }
}
