//! Passwords as clients send them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use zeroize::Zeroizing;

/// A password in plain text. It is never printed, and its bytes are overwritten when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// Nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Only for computing a hash, or for its length.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Errors do not quote a value of another type: it may still be the password.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Strings;

        const WRONG: &str = "it must be a string";

        impl<'de> Visitor<'de> for Strings {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret::new(text.to_string()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Secret, E> {
                Ok(Secret::new(text))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Secret, E> {
                Err(E::custom(WRONG))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Secret, E> {
                Err(E::custom(WRONG))
            }

            fn visit_u64<E: Error>(self, _: u64) -> Result<Secret, E> {
                Err(E::custom(WRONG))
            }

            fn visit_f64<E: Error>(self, _: f64) -> Result<Secret, E> {
                Err(E::custom(WRONG))
            }
        }

        // If asked for a string, a JSON reader would itself quote the value.
        deserializer.deserialize_any(Strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_and_errors_do_not_reveal_it() {
        let secret: Secret = serde_json::from_str(r#""h\u0075sh""#).unwrap();
        assert_eq!(secret.reveal(), "hush");
        for wrong in ["4711", "-4711", "47.11", "true", "[4711]", r#"{"a":4711}"#] {
            let error = serde_json::from_str::<Secret>(wrong).err().unwrap();
            let error = error.to_string();
            assert!(!error.contains("47") && !error.contains("true"), "{error}");
        }
    }
}
