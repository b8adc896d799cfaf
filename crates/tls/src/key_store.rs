//! Key stores in PKCS#12 format (RFC 7292): a private key and its certificates in one file, under a password.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use p12_keystore::{CertificateBag, Pkcs12Archive, PrivateKeyBag};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::FileError;

const WHAT: &str = "a PKCS#12 key store";
const TRUST: &str = "a PKCS#12 trust store";
/// Maximum bytes of a file.
const MAX_SIZE: u64 = 1 << 20;
/// Maximum number of certificates between a server and its authority.
const MAX_CHAIN: usize = 10;
/// First bytes of Java's key stores in other formats than PKCS#12: JKS and JCEKS.
const OF_JAVA: [[u8; 4]; 2] = [[0xfe, 0xed, 0xfe, 0xed], [0xce, 0xce, 0xce, 0xce]];

/// The password of a key store. It is shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

impl Password {
    pub fn new(text: &str) -> Password {
        Password(Zeroizing::new(text.to_string()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// A key store, and the key to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyStore {
    pub path: PathBuf,
    pub password: Password,
    /// The name of the key, case-insensitive; `None`: the only key.
    pub alias: Option<String>,
    /// The password of the key, if there is one: in PKCS#12 it is that of the store.
    pub key_password: Option<Password>,
}

/// A private key with its certificates.
pub struct KeyPair {
    /// In PKCS#8 format.
    pub key: PrivateKeyDer<'static>,
    /// The certificate of the key, followed by those between it and its authority.
    pub chain: Vec<CertificateDer<'static>>,
    /// The authority that signed the last one, if the store has it.
    pub authority: Option<CertificateDer<'static>>,
    /// Both, ready for use.
    pub certified: Arc<CertifiedKey>,
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair").finish_non_exhaustive()
    }
}

impl KeyStore {
    /// Reads the key and its certificates.
    ///
    /// # Errors
    /// The file cannot be read or opened, or does not have the requested key.
    pub fn read(&self, provider: &CryptoProvider) -> Result<KeyPair, FileError> {
        self.find(provider)
            .map_err(|reason| FileError::new(&self.path, WHAT, &reason))
    }

    fn find(&self, provider: &CryptoProvider) -> Result<KeyPair, String> {
        if let Some(key_password) = &self.key_password
            && *key_password != self.password
        {
            return Err("the password of the key differs from that of the store, and in PKCS#12 format they are the same".to_string());
        }
        let bytes = Zeroizing::new(bytes(&self.path)?);
        let opened = Pkcs12Archive::from_pkcs12(&bytes, &self.password.0);
        let archive = opened.map_err(|error| reason(&error, &bytes, &self.path))?;
        let bag = self.key(&archive.keys)?;
        let der = PrivatePkcs8KeyDer::from(bag.key.as_der().to_vec());
        let key = PrivateKeyDer::from(der);
        let signing = provider.key_provider.load_private_key(key.clone_key());
        let signing = signing.map_err(|error| format!("its key cannot be used: {error}"))?;
        let fits = |der: &CertificateDer<'static>| {
            let one = CertifiedKey::new(vec![der.clone()], Arc::clone(&signing));
            one.keys_match().is_ok()
        };
        let (chain, authority) = chain(bag, &archive.certs, fits)?;
        Ok(KeyPair {
            authority,
            certified: Arc::new(CertifiedKey::new(chain.clone(), signing)),
            key,
            chain,
        })
    }

    /// The key to use.
    fn key<'k>(&self, keys: &'k [PrivateKeyBag]) -> Result<&'k PrivateKeyBag, String> {
        let names = keys.iter().filter_map(|key| key.friendly_name.as_deref());
        let names: Vec<&str> = names.collect();
        let names = names.join(", ");
        let Some(alias) = &self.alias else {
            return match keys {
                [] => Err("it has certificates, and no private key".to_string()),
                [one] => Ok(one),
                _ => Err(format!(
                    "it has several private keys; choose one by its alias: {names}"
                )),
            };
        };
        let mut named = keys.iter().filter(|key| {
            let name = key.friendly_name.as_deref();
            name.is_some_and(|name| name.to_lowercase() == alias.to_lowercase())
        });
        match (named.next(), named.next(), keys) {
            (Some(found), None, _) => Ok(found),
            (Some(_), Some(_), _) => Err(format!("it has several private keys '{alias}'")),
            (None, _, []) => Err("it has no private key".to_string()),
            (None, ..) if names.is_empty() => Err(format!(
                "it has no private key '{alias}', only ones without an alias"
            )),
            (None, ..) => Err(format!(
                "it has no private key '{alias}', only these: {names}"
            )),
        }
    }
}

/// The certificates in a trust store: those that are marked as trusted, as Java marks them, or all if it has no key.
///
/// # Errors
/// The file cannot be read or opened, or has none.
pub fn trusted(
    path: &Path,
    password: &Password,
) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let bad = |reason: &dyn fmt::Display| FileError::new(path, TRUST, reason);
    let bytes = Zeroizing::new(bytes(path).map_err(|reason| bad(&reason))?);
    let opened = Pkcs12Archive::from_pkcs12(&bytes, &password.0);
    let archive = opened.map_err(|error| bad(&reason(&error, &bytes, path)))?;
    let is_marked = archive.certs.iter().any(|bag| bag.trusted);
    if !is_marked && !archive.keys.is_empty() {
        return Err(bad(
            &"it has certificates of its own keys, but no trusted ones",
        ));
    }
    let bags = archive.certs.iter();
    let bags = bags.filter(|bag| bag.trusted || !is_marked);
    let found: Vec<_> = bags
        .map(|bag| CertificateDer::from(bag.cert.as_der().to_vec()))
        .collect();
    if found.is_empty() {
        return Err(bad(&"it has no certificate"));
    }
    Ok(found)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if size.len() > MAX_SIZE {
        return Err(format!("it has more than {} KiB", MAX_SIZE >> 10));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

type Chain = (
    Vec<CertificateDer<'static>>,
    Option<CertificateDer<'static>>,
);

/// The certificate of a key, followed by its signers; separate from them the authority, which is self-signed.
fn chain(
    key: &PrivateKeyBag,
    all: &[CertificateBag],
    fits: impl Fn(&CertificateDer<'static>) -> bool,
) -> Result<Chain, String> {
    let der = |bag: &CertificateBag| CertificateDer::from(bag.cert.as_der().to_vec());
    let belongs = |bag: &&CertificateBag| match (&key.local_key_id, &bag.local_key_id) {
        (Some(key), Some(certificate)) => key.as_ref() == certificate.as_slice(),
        _ => false,
    };
    // If a certificate was renewed for the same key, the store says which one is current.
    let said = all.iter().find(|bag| belongs(bag) && fits(&der(bag)));
    let found = said.or_else(|| all.iter().find(|bag| fits(&der(bag))));
    let mut last = found.ok_or("it has no certificate of this key")?;
    let mut chain = vec![der(last)];
    while last.cert.issuer() != last.cert.subject() && chain.len() <= MAX_CHAIN {
        let issuer = |bag: &&CertificateBag| {
            bag.cert.subject() == last.cert.issuer() && bag.cert.subject() != bag.cert.issuer()
        };
        let Some(next) = all.iter().find(issuer) else {
            break;
        };
        if chain.contains(&der(next)) {
            break;
        }
        chain.push(der(next));
        last = next;
    }
    let signed_itself = |bag: &&CertificateBag| {
        bag.cert.subject() == last.cert.issuer() && bag.cert.subject() == bag.cert.issuer()
    };
    let authority = all.iter().find(signed_itself).map(der);
    let authority = authority.filter(|it| !chain.contains(it));
    Ok((chain, authority))
}

/// Why a file cannot be opened, and the remedy.
fn reason(error: &p12_keystore::error::Error, bytes: &[u8], path: &Path) -> String {
    use p12_keystore::error::Error;

    let path = path.display();
    if OF_JAVA.iter().any(|begin| bytes.starts_with(begin)) {
        return format!(
            "it is a key store of Java (JKS). `keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12 -deststoretype PKCS12` \
             converts it"
        );
    }
    if bytes.starts_with(b"-----BEGIN") {
        return "it is in PEM format: set it as certificate and as private key".to_string();
    }
    match error {
        Error::MacError(_) => "the password is wrong, or the file is damaged".to_string(),
        // Without a checksum nothing else reveals a wrong password.
        Error::UnpadError | Error::Pkcs5Error(_) => {
            "it cannot be decrypted: the password is wrong, or the file is damaged".to_string()
        }
        Error::UnsupportedEncryptionScheme | Error::UnsupportedMacAlgorithm => format!(
            "its encryption is not supported. `openssl pkcs12 -in {path} -nodes -out all.pem` and `openssl pkcs12 -export -in all.pem \
             -out {path}.new` convert it"
        ),
        Error::DerError(error) => {
            format!("it is damaged or not a key store ({error})")
        }
        error => format!("it is damaged or not a key store ({error})"),
    }
}

#[cfg(test)]
#[path = "key_store/tests.rs"]
mod tests;
