//! `private_key_jwt`: this server authenticates to the provider with a JWT that it signs for each request (RFC 7523, section 2.2). The
//! private key comes from a key store; the provider has the certificate.

use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, RSA_PKCS1_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use skep_tls::{KeyPair, KeyStore};

use crate::browsers::{ClientSecret, chance};
use crate::{Refused, unknown};

/// How long an assertion is valid: it only travels to the provider.
const LIFE: Duration = Duration::from_secs(60);

/// As configured (`…oidc.assertion.*`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssertionSettings {
    pub store: KeyStore,
    pub key_id: KeyId,
}

/// How the id of the key (`kid`) is derived, by which the provider finds its certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyId {
    pub source: Source,
    pub digest: Digest,
    pub encoding: Encoding,
}

/// The bytes that the digest is taken of, in DER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// `SubjectPublicKeyInfo`.
    #[default]
    PublicKey,
    Certificate,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digest {
    #[default]
    Sha256,
    Sha1,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Without padding.
    #[default]
    Base64Url,
    LowerHex,
    UpperHex,
}

impl KeyId {
    fn of(self, pair: &KeyPair) -> Result<String, String> {
        let public = pair.certified.key.public_key();
        let bytes = match self.source {
            Source::Certificate => pair.chain.first().map(AsRef::as_ref),
            Source::PublicKey => public.as_ref().map(AsRef::as_ref),
        };
        let bytes: &[u8] = bytes.ok_or("its key has no public part")?;
        let algorithm = match self.digest {
            Digest::Sha256 => &SHA256,
            Digest::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
        };
        let digest = digest(algorithm, bytes);
        let digest = digest.as_ref();
        Ok(match self.encoding {
            Encoding::Base64Url => URL_SAFE_NO_PAD.encode(digest),
            Encoding::LowerHex => digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            Encoding::UpperHex => digest.iter().map(|byte| format!("{byte:02X}")).collect(),
        })
    }
}

enum Signer {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(&'static str, EcdsaKeyPair),
}

/// See the [module](self). It shows nothing of its key.
pub(crate) struct Assertion {
    signer: Signer,
    key_id: String,
}

impl std::fmt::Debug for Assertion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Assertion").field(&self.key_id).finish()
    }
}

impl Assertion {
    /// Reads the key, and derives from it the secret that seals sessions of browsers: nodes with the same key derive the same secret.
    ///
    /// # Errors
    /// There is no key, or none that can sign.
    pub(crate) fn open(settings: &AssertionSettings) -> Result<(Assertion, ClientSecret), String> {
        let provider = skep_tls::provider();
        let pair = settings.store.read(&provider);
        let pair = pair.map_err(|error| error.to_string())?;
        let path = settings.store.path.display();
        let about = |why: String| format!("{path}: {why}");
        let der = pair.key.secret_der();
        let assertion = Assertion {
            signer: signer(der).map_err(about)?,
            key_id: settings.key_id.of(&pair).map_err(about)?,
        };
        let derived = digest(&SHA256, &[b"skep sessions 1 ".as_slice(), der].concat());
        Ok((
            assertion,
            ClientSecret::new(URL_SAFE_NO_PAD.encode(derived)),
        ))
    }

    /// An assertion for `audience` that this client is the sender.
    pub(crate) fn made(&self, client_id: &str, audience: &str) -> Result<String, Refused> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let algorithm = match &self.signer {
            Signer::Rsa(_) => "RS256",
            Signer::Ecdsa(algorithm, _) => algorithm,
        };
        let header = json!({"alg": algorithm, "typ": "JWT", "kid": self.key_id});
        let claims = json!({
            "iss": client_id, "sub": client_id, "aud": audience, "jti": chance()?,
            "iat": now, "exp": now + LIFE.as_secs(),
        });
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = self.signature(text.as_bytes());
        let signature = signature.ok_or_else(|| unknown("This server cannot sign."))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.signer {
            Signer::Ecdsa(_, key) => {
                let signature = key.sign(&random, text).ok()?;
                Some(signature.as_ref().to_vec())
            }
            Signer::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                let signed = key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature);
                signed.ok().map(|()| signature)
            }
        }
    }
}

/// Of a key in PKCS#8 format.
fn signer(der: &[u8]) -> Result<Signer, String> {
    if let Ok(key) = RsaKeyPair::from_pkcs8(der) {
        return Ok(Signer::Rsa(Box::new(key)));
    }
    let curves: [(&str, &'static EcdsaSigningAlgorithm); 2] = [
        ("ES256", &ECDSA_P256_SHA256_FIXED_SIGNING),
        ("ES384", &ECDSA_P384_SHA384_FIXED_SIGNING),
    ];
    let mut keys = curves.into_iter().filter_map(|(name, algorithm)| {
        let key = EcdsaKeyPair::from_pkcs8(algorithm, der).ok()?;
        Some(Signer::Ecdsa(name, key))
    });
    keys.next().ok_or_else(|| {
        "its key cannot sign here: it has to be one for RSA, of 2048 bits at least, or for ECDSA with P-256 or P-384".to_string()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use skep_tls::Password;

    use super::*;

    fn store(name: &str) -> KeyStore {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        KeyStore {
            path: here.join("../tls/tests/key_stores").join(name),
            password: Password::new("hush"),
            ..KeyStore::default()
        }
    }

    fn key_id(name: &str, key_id: KeyId) -> String {
        let store = store(name);
        let opened = Assertion::open(&AssertionSettings { store, key_id });
        opened.unwrap().0.key_id
    }

    /// The expected values are the output of `openssl x509 -pubkey`, `-outform DER`, `openssl dgst` and `basenc --base64url` for the
    /// certificates.
    #[test]
    fn the_id_of_a_key_is_made_as_configured() {
        let of = |source, digest, encoding| KeyId {
            source,
            digest,
            encoding,
        };
        use Digest::{Sha1, Sha256};
        use Encoding::{Base64Url, LowerHex, UpperHex};
        use Source::{Certificate, PublicKey};
        assert_eq!(KeyId::default(), of(PublicKey, Sha256, Base64Url));
        for (store, settings, expected) in [
            (
                "rsa.p12",
                of(PublicKey, Sha256, Base64Url),
                "SMX22yWRDu1YNS4-5SDkBy4tb2umArRAEL7nu0Ln_Kk",
            ),
            (
                "openssl.p12",
                of(PublicKey, Sha256, Base64Url),
                "YG-WpymY063W6Qlwy6I7gDAfozlLDz9uNIjAeylBYeQ",
            ),
            (
                "rsa.p12",
                of(Certificate, Sha1, UpperHex),
                "EEC78D3195EBD1DFE18BA6042D2B67A2CDCAD227",
            ),
            (
                "rsa.p12",
                of(Certificate, Sha256, LowerHex),
                "630bd41239df989576cc6590061e20f1dbefe07618da656239c5a9e24ffd3a3d",
            ),
        ] {
            assert_eq!(key_id(store, settings), expected, "{store} {settings:?}");
        }
    }

    #[test]
    fn key_stores_that_cannot_sign_are_refused_and_debug_output_hides_the_key() {
        let open = |store| {
            Assertion::open(&AssertionSettings {
                store,
                key_id: KeyId::default(),
            })
        };
        let refused = open(store("certificates.p12")).unwrap_err();
        assert!(refused.contains("certificates.p12"), "{refused}");
        let (assertion, secret) = open(store("rsa.p12")).unwrap();
        let (_, other) = open(store("openssl.p12")).unwrap();
        assert_ne!(secret.reveal(), other.reveal());
        let shown = format!("{assertion:?}");
        assert!(shown.len() < 100, "{shown}");
    }
}
