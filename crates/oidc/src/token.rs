//! The three parts of a token (RFC 7515, 7519), before any of it is trusted.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Refused, wrong};

/// Maximum bytes of a token.
const MAX_TOKEN: usize = 16 << 10;
/// Maximum nesting of objects and lists in a token.
const MAX_DEPTH: usize = 32;

/// Not for printing: whoever reads the signed text and its signature has the token.
pub(crate) struct Unverified<'t> {
    signed: &'t str,
    signature: &'t str,
    pub(crate) algorithm: Algorithm,
    pub(crate) key_id: Option<String>,
    pub(crate) claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that a reader must understand; none are supported.
    crit: Option<Value>,
}

impl<'t> Unverified<'t> {
    pub(crate) fn read(token: &'t str) -> Result<Unverified<'t>, Refused> {
        if token.len() > MAX_TOKEN {
            return Err(wrong(&format!("it is longer than {MAX_TOKEN} bytes")));
        }
        let no_token = || wrong("it is not a JSON Web Token");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(no_token)?;
        let (header, claims) = signed.split_once('.').ok_or_else(no_token)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| no_token());
        let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| no_token())?;
        if header.crit.is_some() {
            return Err(wrong(
                "its header requires extensions (crit), and none are supported",
            ));
        }
        let algorithm = header.alg.parse().ok().filter(is_public);
        let Some(algorithm) = algorithm else {
            return Err(wrong(
                "its signature (alg) is not one of RS256 to RS512, PS256 to PS512, ES256, ES384 and EdDSA",
            ));
        };
        let claims: Map<String, Value> =
            serde_json::from_slice(&bytes(claims)?).map_err(|_| no_token())?;
        if !is_flat_enough(&claims) {
            return Err(wrong(&format!(
                "its claims are nested more than {MAX_DEPTH} levels"
            )));
        }
        Ok(Unverified {
            signed,
            signature,
            algorithm,
            key_id: header.kid,
            claims,
        })
    }

    pub(crate) fn issuer(&self) -> Result<&str, Refused> {
        let issuer = self.claims.get("iss").and_then(Value::as_str);
        issuer.ok_or_else(|| wrong("it names no issuer (iss)"))
    }

    pub(crate) fn is_signed_by(&self, key: &DecodingKey) -> bool {
        let signed = self.signed.as_bytes();
        jsonwebtoken::crypto::verify(self.signature, signed, key, self.algorithm).unwrap_or(false)
    }
}

/// With a shared secret both sides could sign, and with `none` everybody.
fn is_public(algorithm: &Algorithm) -> bool {
    use Algorithm::{HS256, HS384, HS512};
    !matches!(algorithm, HS256 | HS384 | HS512)
}

/// Whether the claims have few enough levels.
pub(crate) fn is_flat_enough(claims: &Map<String, Value>) -> bool {
    claims.values().all(|value| is_flat(value, MAX_DEPTH - 1))
}

fn is_flat(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| levels > 0 && is_flat(value, levels - 1);
    match value {
        Value::Array(all) => all.iter().all(below),
        Value::Object(all) => all.values().all(below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
