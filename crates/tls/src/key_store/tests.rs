//! Key stores written by `openssl` and `keytool` (`tests/key_stores/make`), and the faults of others.

use tokio_rustls::rustls::crypto::aws_lc_rs;

use super::*;

fn written(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/key_stores").join(name)
}

fn store(path: PathBuf, password: &str) -> KeyStore {
    KeyStore {
        path,
        password: Password::new(password),
        ..KeyStore::default()
    }
}

fn read(store: &KeyStore) -> Result<KeyPair, String> {
    let read = store.read(&aws_lc_rs::default_provider());
    read.map_err(|error| error.to_string())
}

#[test]
fn the_key_and_its_certificates_are_found_in_stores_of_all_writers() {
    let expected = read(&store(written("openssl.p12"), "hush")).unwrap();
    // Those of the server and one intermediate; the self-signed authority is not part of the chain.
    assert_eq!(expected.chain.len(), 2);
    for (name, password) in [
        ("legacy.p12", "hush"),
        ("nomac.p12", "hush"),
        ("keytool.p12", "hush-hush"),
    ] {
        for alias in ["skep", "SKEP"] {
            let store = KeyStore {
                alias: Some(alias.to_string()),
                ..store(written(name), password)
            };
            let found = read(&store).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found.chain, expected.chain, "{name}");
            assert_eq!(found.key.secret_der(), expected.key.secret_der(), "{name}");
        }
    }
    let rsa = read(&store(written("rsa.p12"), "hush")).unwrap();
    let pem = crate::certificates(&written("rsa.pem")).unwrap();
    assert_eq!(rsa.chain, pem);
}

#[test]
fn of_several_keys_an_alias_names_one() {
    let keytool = store(written("keytool.p12"), "hush-hush");
    let why = read(&keytool).unwrap_err();
    assert!(
        why.contains("several private keys") && why.contains("other") && why.contains("skep"),
        "{why}"
    );
    let other = KeyStore {
        alias: Some("other".to_string()),
        ..keytool.clone()
    };
    assert_eq!(read(&other).unwrap().chain.len(), 1);
    let missing = KeyStore {
        alias: Some("tomcat".to_string()),
        ..keytool
    };
    let why = read(&missing).unwrap_err();
    assert!(
        why.contains("has no private key 'tomcat', only these: ") && why.contains("skep"),
        "{why}"
    );
}

#[test]
fn unreadable_key_stores_are_named_with_the_reason_but_without_the_password() {
    let directory = tempfile::tempdir().unwrap();
    let made = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let whole = std::fs::read(written("openssl.p12")).unwrap();
    let half = made("half", &whole[..whole.len() / 2]);
    let large = made("large", &vec![0; 2 << 20]);
    for (path, password, why) in [
        (written("openssl.p12"), "tell", "the password is wrong"),
        (written("openssl.p12"), "", "the password is wrong"),
        (written("legacy.p12"), "tell", "the password is wrong"),
        (written("nomac.p12"), "tell", "the password is wrong"),
        (half, "hush", "damaged or not a key store"),
        (made("empty", b""), "hush", "damaged or not a key store"),
        (large, "hush", "more than 1024 KiB"),
        (written("none.p12"), "hush", "No such file"),
        (written("authority.pem"), "hush", "it is in PEM format"),
        (
            written("certificates.p12"),
            "hush-hush",
            "certificates, and no private key",
        ),
        (
            written("rc2-128.p12"),
            "hush",
            "its encryption is not supported",
        ),
        (
            written("store.jks"),
            "hush-hush",
            "key store of Java (JKS). `keytool -importkeystore -srckeystore",
        ),
    ] {
        let refused = read(&store(path.clone(), password)).unwrap_err();
        let begin = format!("{} cannot be read as a PKCS#12 key store: ", path.display());
        assert!(refused.starts_with(&begin), "{refused}");
        assert!(refused.contains(why), "{refused}");
        let rest = refused.replace(&begin, "");
        assert!(!rest.contains("tell") && !rest.contains("hush"), "{rest}");
    }
}

#[test]
fn the_password_of_a_key_is_that_of_its_store() {
    let with = |key_password: &str| KeyStore {
        key_password: Some(Password::new(key_password)),
        ..store(written("openssl.p12"), "hush")
    };
    assert!(read(&with("hush")).is_ok());
    let refused = read(&with("tell")).unwrap_err();
    assert!(refused.contains("the password of the key differs"));
    let shown = format!("{:?}", with("hush"));
    assert!(!shown.contains("hush"), "{shown}");
}

/// A truncated store is an error, and never a panic.
#[test]
fn no_part_of_a_store_is_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("part");
    let whole = std::fs::read(written("openssl.p12")).unwrap();
    for length in (0..whole.len()).step_by(37) {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(read(&store(path.clone(), "hush")).is_err(), "{length}");
    }
}

#[test]
fn a_trust_store_has_authorities_and_no_keys() {
    let found = |name: &str, password: &str| {
        trusted(&written(name), &Password::new(password)).map_err(|error| error.to_string())
    };
    let authority = crate::certificates(&written("authority.pem")).unwrap();
    // Java marks trusted certificates, openssl does not.
    for (name, password) in [("certificates.p12", "hush-hush"), ("nokeys.p12", "hush")] {
        assert_eq!(found(name, password).unwrap(), authority, "{name}");
    }
    for (name, password, why) in [
        ("keytool.p12", "hush-hush", "no trusted ones"),
        ("certificates.p12", "wrong", "the password is wrong"),
        ("store.jks", "hush", "-importkeystore"),
        (
            "none.p12",
            "hush",
            "cannot be read as a PKCS#12 trust store",
        ),
    ] {
        let error = found(name, password).unwrap_err();
        assert!(error.contains(why), "{name}: {error}");
    }
}
