//! Data that a browser keeps for this server and can neither read nor change: sealed with AES-256-GCM, under a key that all
//! nodes derive from the secret they share with the identity provider.

use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use skep_oidc::ClientSecret;

/// Bytes in front of the sealed data.
const NONCE: usize = 12;

/// Seals and opens for one purpose; data sealed for another cannot be opened.
pub struct Seal {
    key: RandomizedNonceKey,
    derived: hmac::Key,
    purpose: &'static str,
}

impl Seal {
    /// `None`: cryptography is out of order.
    pub fn of(secret: &ClientSecret, purpose: &'static str) -> Option<Seal> {
        let extract = hmac::Key::new(hmac::HMAC_SHA256, b"skep sealed 1");
        let extracted = hmac::sign(&extract, secret.reveal().as_bytes());
        let expand = hmac::Key::new(hmac::HMAC_SHA256, extracted.as_ref());
        let bytes = hmac::sign(&expand, purpose.as_bytes());
        Some(Seal {
            key: RandomizedNonceKey::new(&AES_256_GCM, bytes.as_ref()).ok()?,
            derived: expand,
            purpose,
        })
    }

    /// A mark of a text that only owners of the secret can make.
    pub fn mark(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.derived, text.as_bytes()))
    }

    pub fn close(&self, what: &impl Serialize) -> Option<String> {
        let mut text = serde_json::to_vec(what).ok()?;
        let purpose = Aad::from(self.purpose.as_bytes());
        let nonce = self.key.seal_in_place_append_tag(purpose, &mut text).ok()?;
        let mut bytes = nonce.as_ref().to_vec();
        bytes.append(&mut text);
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    pub fn open<T: DeserializeOwned>(&self, text: &str) -> Option<T> {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let purpose = Aad::from(self.purpose.as_bytes());
        let opened = self.key.open_in_place(nonce, purpose, sealed).ok()?;
        serde_json::from_slice(opened).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn altered_text_and_text_sealed_otherwise_cannot_be_opened() {
        let seal = |secret: &str, purpose| Seal::of(&ClientSecret::new(secret.into()), purpose);
        let ours = seal("hush", "a").unwrap();
        let text = ours.close(&"anna").unwrap();
        assert_eq!(ours.open::<String>(&text).as_deref(), Some("anna"));
        assert!(!text.contains("anna") && text != ours.close(&"anna").unwrap());
        for other in [seal("hush", "b"), seal("hash", "a")] {
            assert_eq!(other.unwrap().open::<String>(&text), None);
        }
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ours.open::<String>(&changed), None, "{at}");
        }
        for short in ["", "AAAA", "!"] {
            assert_eq!(ours.open::<String>(short), None);
        }
    }
}
