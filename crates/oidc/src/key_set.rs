//! The public keys of a provider (RFC 7517).

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// Maximum number of keys that are read from a set.
const MAX_KEYS: usize = 100;

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// The algorithms that the key supports and permits.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
    /// The text it was made of: equal texts are equal sets.
    text: Vec<u8>,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Keys of kinds that this server does not know are left out.
    ///
    /// # Errors
    /// Why it is no key set.
    pub(crate) fn read(text: &[u8]) -> Result<KeySet, String> {
        let document: Document =
            serde_json::from_slice(text).map_err(|error| format!("not a key set: {error}"))?;
        let keys = document.keys.into_iter().take(MAX_KEYS);
        Ok(KeySet {
            keys: keys.filter_map(key).collect(),
            text: text.to_vec(),
        })
    }

    /// All keys of both sets, those of this one first.
    pub(crate) fn with(mut self, other: KeySet) -> KeySet {
        self.keys.extend(other.keys);
        self.text.extend(other.text);
        self
    }

    pub(crate) fn is_same(&self, other: &KeySet) -> bool {
        self.text == other.text
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether a key has this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// Keys that may have made the signature. If the token names none, each may have.
    pub(crate) fn fitting(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &DecodingKey> {
        let fits = move |key: &&Key| {
            let named = id.is_none_or(|id| key.id.as_deref() == Some(id));
            named && key.algorithms.contains(&algorithm)
        };
        self.keys.iter().filter(fits).map(|key| &key.key)
    }
}

fn key(value: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let signs = jwk.common.public_key_use.as_ref();
    if signs.is_some_and(|it| *it != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = able(&jwk.algorithm);
    if let Some(only) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| is(*algorithm, only));
    }
    if algorithms.is_empty() {
        return None;
    }
    Some(Key {
        algorithms,
        key: DecodingKey::from_jwk(&jwk).ok()?,
        id: jwk.common.key_id,
    })
}

/// Signature algorithms that a key of this kind can verify. None uses a shared secret: otherwise we could impersonate a
/// provider that shares it with us, and so could anybody with its public key.
fn able(parameters: &AlgorithmParameters) -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    match parameters {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(it) => match it.curve {
            EllipticCurve::P256 => vec![ES256],
            EllipticCurve::P384 => vec![ES384],
            _ => Vec::new(),
        },
        AlgorithmParameters::OctetKeyPair(it) => match it.curve {
            EllipticCurve::Ed25519 => vec![EdDSA],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn is(algorithm: Algorithm, named: KeyAlgorithm) -> bool {
    format!("{algorithm:?}") == named.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = r#"{"keys":[
        {"kty":"RSA","kid":"r","alg":"RS256","use":"sig","n":"AQAB","e":"AQAB"},
        {"kty":"RSA","kid":"any","n":"AQAB","e":"AQAB"},
        {"kty":"RSA","kid":"enc","use":"enc","n":"AQAB","e":"AQAB"},
        {"kty":"oct","kid":"secret","k":"AQAB"},
        {"kty":"EC","kid":"e","crv":"P-256","x":"AQAB","y":"AQAB"},
        {"kty":"of tomorrow","kid":"t"}, 17
    ]}"#;

    #[test]
    fn a_key_verifies_only_the_algorithms_it_is_for() {
        let set = KeySet::read(SET.as_bytes()).unwrap();
        assert_eq!(set.len(), 3);
        for (id, algorithm, found) in [
            (Some("r"), Algorithm::RS256, 1),
            (Some("r"), Algorithm::RS512, 0),
            (Some("r"), Algorithm::HS256, 0),
            (Some("any"), Algorithm::PS384, 1),
            (Some("any"), Algorithm::HS256, 0),
            (Some("enc"), Algorithm::RS256, 0),
            (Some("secret"), Algorithm::HS256, 0),
            (Some("e"), Algorithm::ES256, 1),
            (Some("e"), Algorithm::ES384, 0),
            (Some("t"), Algorithm::RS256, 0),
            (None, Algorithm::RS256, 2),
            (Some("unknown"), Algorithm::RS256, 0),
        ] {
            let fitting = set.fitting(id, algorithm).count();
            assert_eq!(fitting, found, "{id:?} {algorithm:?}");
        }
        assert!(KeySet::read(b"{}").is_err());
        assert!(KeySet::read(b"<html>").is_err());
    }

    /// A set that a provider fills without end costs no more, and the keys that stand first are good.
    #[test]
    fn a_set_has_a_hundred_keys_at_most() {
        let key = |n: usize| format!(r#"{{"kty":"RSA","kid":"{n}","n":"AQAB","e":"AQAB"}}"#);
        let keys: Vec<String> = (0..MAX_KEYS + 50).map(key).collect();
        let text = format!(r#"{{"keys":[{}]}}"#, keys.join(","));
        let set = KeySet::read(text.as_bytes()).unwrap();
        assert_eq!(set.len(), MAX_KEYS);
        assert!(set.has("0") && set.has("99") && !set.has("100"));
    }
}
