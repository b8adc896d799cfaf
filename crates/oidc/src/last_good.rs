//! The last good key set of each address of a provider. It stays valid for a while when its address does not answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::key_set::KeySet;

/// How long keys stay valid while their address does not answer.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The key set of an address.
pub(crate) type Answer = Result<KeySet, NoKeySet>;

/// Why an address has no key set.
#[derive(Debug)]
pub(crate) struct NoKeySet(pub(crate) String);

impl From<String> for NoKeySet {
    fn from(why: String) -> NoKeySet {
        NoKeySet(why)
    }
}

#[derive(Debug)]
struct Good {
    keys: KeySet,
    fetched: Instant,
}

/// See the [module](self). In the order of the addresses.
#[derive(Debug, Default)]
pub(crate) struct LastGood(Vec<Option<Good>>);

impl LastGood {
    /// Takes the answers of all addresses, always in the same order. Returns all valid keys, and why some may be missing.
    pub(crate) fn take(&mut self, answers: Vec<Answer>, now: Instant) -> (KeySet, Option<String>) {
        let found: usize = answers.iter().flatten().map(KeySet::len).sum();
        let mut failures = Vec::new();
        self.0.resize_with(answers.len(), || None);
        for (last, answer) in self.0.iter_mut().zip(answers) {
            match answer {
                Ok(keys) if found > 0 => *last = Some(Good { keys, fetched: now }),
                // A provider without any key is as broken as one that does not answer.
                Ok(_) => {}
                Err(NoKeySet(why)) => failures.push(why),
            }
            let age = last.as_ref().map(|good| now.duration_since(good.fetched));
            if age.is_some_and(|age| age > KEPT) {
                *last = None;
            }
        }
        if found == 0 && failures.is_empty() {
            failures.push("none of the keys can check a token".to_string());
        }
        let good = self.0.iter().flatten();
        let keys = good.fold(KeySet::default(), |all, good| all.with(good.keys.clone()));
        (keys, (!failures.is_empty()).then(|| failures.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn set(id: &str) -> Answer {
        let text = format!(r#"{{"keys":[{{"kty":"RSA","kid":"{id}","n":"AQAB","e":"AQAB"}}]}}"#);
        Ok(KeySet::read(text.as_bytes())?)
    }

    fn down() -> Answer {
        Err(NoKeySet("no answer".to_string()))
    }

    #[test]
    fn keys_of_an_address_that_does_not_answer_stay_for_a_day() {
        let mut last = LastGood::default();
        let start = Instant::now();
        for (hours, answers, known, is_whole) in [
            (0, [set("a"), down()], "a", false),
            (1, [set("a"), set("b")], "ab", true),
            (2, [set("a"), down()], "ab", false),
            (3, [down(), down()], "ab", false),
            (4, [set("c"), down()], "bc", false),
            (25, [set("c"), down()], "bc", false),
            (26, [set("c"), down()], "c", false),
            (27, [set("c"), set("d")], "cd", true),
        ] {
            let (keys, failed) = last.take(answers.into(), start + HOUR * hours);
            for id in ["a", "b", "c", "d"] {
                assert_eq!(keys.has(id), known.contains(id), "{id} after {hours} h");
            }
            assert_eq!(failed.is_none(), is_whole, "{failed:?} after {hours} h");
        }
    }

    #[test]
    fn a_provider_without_keys_keeps_its_former_ones() {
        let empty = || Ok(KeySet::read(br#"{"keys":[]}"#)?);
        let mut last = LastGood::default();
        let now = Instant::now();
        let (keys, failed) = last.take(vec![set("a"), empty()], now);
        assert!(keys.has("a") && failed.is_none(), "{failed:?}");
        let (keys, failed) = last.take(vec![empty(), empty()], now);
        assert!(keys.has("a"), "{failed:?}");
        assert_eq!(
            failed.as_deref(),
            Some("none of the keys can check a token")
        );
    }
}
