//! Browser logins: authentication of this server at the provider, and the user's data received from it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Map, Value, json};
use skep_oidc::{
    AssertionSettings, Attempt, BrowserSettings, ClientProof, KeyId, ProviderSettings, Providers,
    Refused, Verified,
};
use skep_testbed::issuer::{Behaviour, Issuer};
use skep_tls::{KeyStore, Password};

fn made(name: &str) -> std::path::PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../tls/tests/key_stores").join(name)
}

fn by_key(store: &str) -> BrowserSettings {
    BrowserSettings {
        proof: ClientProof::Key(AssertionSettings {
            store: KeyStore {
                path: made(store),
                password: Password::new("hush"),
                ..KeyStore::default()
            },
            key_id: KeyId::default(),
        }),
        ..BrowserSettings::new("skep", "")
    }
}

fn settings(issuer: &Issuer, browsers: BrowserSettings) -> ProviderSettings {
    ProviderSettings {
        groups_claim: Some("groups".to_string()),
        username_claim: "login".to_string(),
        browsers: Some(browsers),
        ..ProviderSettings::new("oidc", &issuer.uri())
    }
}

/// Where a browser is sent that logs in at this provider.
async fn begun(providers: &Providers, name: &str) -> (String, Attempt) {
    loop {
        // The provider's login endpoint may not be known yet.
        match providers.begin(name, "https://skep.example.org/sso-callback") {
            Ok(begun) => return begun,
            Err(Refused::Unknown(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(refused) => panic!("{refused:?}"),
        }
    }
}

/// Logs a user in, with these claims in the ID token.
async fn logged_in(
    issuer: &Issuer,
    browsers: BrowserSettings,
    token: &Value,
) -> Result<Verified, Refused> {
    let providers = Providers::start(&[settings(issuer, browsers)]).unwrap();
    let (there, attempt) = begun(&providers, "oidc").await;
    assert_eq!(format!("{attempt:?}"), "Attempt(\"oidc\")", "nothing of it");
    let back = issuer.logs_in(&there, token);
    let (_, code) = back.split_once("&code=").unwrap();
    let logged_in = providers.finish(&attempt, code).await;
    logged_in.map(|it| it.verified)
}

fn claims_of(assertion: &str, store: &str) -> (jsonwebtoken::Header, BTreeMap<String, Value>) {
    // The public key, as registered with the provider.
    let key = match store {
        "rsa.p12" => DecodingKey::from_rsa_der(&public(store)),
        _ => DecodingKey::from_ec_der(&public(store)),
    };
    let mut validation = Validation::new(match store {
        "rsa.p12" => Algorithm::RS256,
        _ => Algorithm::ES256,
    });
    validation.validate_aud = false;
    let read = jsonwebtoken::decode(assertion, &key, &validation).unwrap();
    (read.header, read.claims)
}

/// The bits of a store's public key, which are at its end.
fn public(store: &str) -> Vec<u8> {
    let settings = KeyStore {
        path: made(store),
        password: Password::new("hush"),
        ..KeyStore::default()
    };
    let pair = settings.read(&skep_tls::provider()).unwrap();
    let whole = pair.certified.key.public_key().unwrap();
    match store {
        // An uncompressed point of P-256.
        "openssl.p12" => whole[whole.len() - 65..].to_vec(),
        // Modulus of 2048 bits and exponent, in a sequence.
        _ => whole[whole.len() - 270..].to_vec(),
    }
}

#[tokio::test]
async fn a_server_with_a_key_sends_a_signed_assertion_instead_of_a_secret() {
    for (store, algorithm) in [
        ("rsa.p12", Algorithm::RS256),
        ("openssl.p12", Algorithm::ES256),
    ] {
        let issuer = Issuer::start();
        let anna = json!({"sub": "1", "login": "anna"});
        let verified = logged_in(&issuer, by_key(store), &anna).await.unwrap();
        assert_eq!(&*verified.id, "anna");
        let redeemed = issuer.redeemed();
        let [redemption] = &*redeemed else {
            panic!("{redeemed:?}");
        };
        assert_eq!(redemption.authorization, None);
        let said = |name: &str| redemption.form.get(name).map(String::as_str);
        assert_eq!(said("client_id"), Some("skep"));
        assert_eq!(
            said("client_assertion_type"),
            Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        );
        let (header, claims) = claims_of(said("client_assertion").unwrap(), store);
        assert_eq!(header.alg, algorithm);
        assert_eq!(header.kid.map(|kid| kid.len()), Some(43));
        assert_eq!(
            (&claims["iss"], &claims["sub"], &claims["aud"]),
            (
                &json!("skep"),
                &json!("skep"),
                &json!(format!("{}/token", issuer.uri()))
            )
        );
        assert_eq!(claims["jti"].as_str().map(str::len), Some(43));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        let time = |name: &str| claims[name].as_u64().unwrap();
        assert!(time("iat") <= now && now - time("iat") < 60, "{claims:?}");
        assert_eq!(time("exp") - time("iat"), 60);
    }
}

#[tokio::test]
async fn a_server_with_a_secret_shows_it_and_signs_nothing() {
    let issuer = Issuer::start();
    let anna = json!({"sub": "1", "login": "anna"});
    let by_secret = BrowserSettings::new("skep", "hush");
    logged_in(&issuer, by_secret, &anna).await.unwrap();
    let redeemed = issuer.redeemed();
    let shown = redeemed[0].authorization.as_deref();
    assert_eq!(shown, Some("Basic c2tlcDpodXNo"));
    assert!(!redeemed[0].form.contains_key("client_assertion"));
}

#[tokio::test]
async fn nodes_with_the_same_key_seal_alike() {
    let issuer = Issuer::start();
    let secret = |store: &str| {
        let providers = Providers::start(&[settings(&issuer, by_key(store))]).unwrap();
        providers.secret("oidc").unwrap().reveal().to_string()
    };
    assert_eq!(secret("rsa.p12"), secret("rsa.p12"));
    assert_ne!(secret("rsa.p12"), secret("openssl.p12"));
    // The key matters, but neither the certificates nor the encryption.
    assert_eq!(secret("openssl.p12"), secret("legacy.p12"));
}

#[tokio::test]
async fn an_unusable_key_store_prevents_the_start() {
    let issuer = Issuer::start();
    for (store, why) in [
        ("none.p12", "No such file"),
        ("certificates.p12", "password is wrong"),
        ("store.jks", "keytool -importkeystore"),
    ] {
        let refused = Providers::start(&[settings(&issuer, by_key(store))]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("provider oidc") && refused.contains(store));
        assert!(
            refused.contains(why) && !refused.contains("hush"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn user_info_is_merged_and_signed_claims_take_precedence() {
    let issuer = Issuer::start();
    issuer.says_of_users(&json!({
        "sub": "1", "login": "anna", "groups": ["sales"], "dept": "north",
        "exp": 1, "nonce": "x", "aud": "y", "iss": "z",
    }));
    let by_secret = || BrowserSettings::new("skep", "hush");
    let token = json!({"sub": "1", "dept": "south"});
    let verified = logged_in(&issuer, by_secret(), &token).await.unwrap();
    assert_eq!(&*verified.id, "anna");
    assert_eq!(verified.groups, Some(vec!["sales".into()]));
    let claims: &Map<String, Value> = &verified.claims;
    assert_eq!(claims["dept"], "south");
    assert_eq!(
        (&claims["aud"], &claims["iss"]),
        (&json!("skep"), &json!(issuer.uri()))
    );

    let unasked = BrowserSettings {
        user_info: false,
        ..by_secret()
    };
    let refused = logged_in(&issuer, unasked, &token).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Wrong(ref why) if why.contains("'login'")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_login_fails_if_the_user_info_is_about_another_subject() {
    let issuer = Issuer::start();
    let token = json!({"sub": "1", "login": "anna"});
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    for said in [
        json!({"sub": "2", "groups": ["admins"]}),
        json!({"groups": ["admins"]}),
        json!(["no object"]),
        json!({"sub": "1", "deep": deep}),
    ] {
        issuer.says_of_users(&said);
        let by_secret = BrowserSettings::new("skep", "hush");
        let refused = logged_in(&issuer, by_secret, &token).await;
        assert!(matches!(refused, Err(Refused::Wrong(_))), "{said}");
    }
}

/// A token without expiry is not accepted, whatever the other sources of claims say.
#[tokio::test]
async fn user_info_cannot_make_a_token_valid() {
    let issuer = Issuer::start();
    issuer.says_of_users(&json!({"sub": "1", "login": "anna", "exp": u32::MAX}));
    let token = json!({"sub": "1", "exp": null});
    let by_secret = BrowserSettings::new("skep", "hush");
    let refused = logged_in(&issuer, by_secret, &token).await.unwrap_err();
    assert!(
        matches!(refused, Refused::Wrong(ref why) if why.contains("(exp)")),
        "{refused:?}"
    );
}

/// Of two providers, one returns a token that the other has signed, for a client of the same name.
#[tokio::test]
async fn no_provider_says_who_has_logged_in_at_another() {
    let (here, elsewhere) = (Issuer::start(), Issuer::start());
    let of = |name: &str, issuer: &Issuer| ProviderSettings {
        name: name.to_string(),
        ..settings(issuer, BrowserSettings::new("skep", "hush"))
    };
    let providers = Providers::start(&[of("here", &here), of("elsewhere", &elsewhere)]).unwrap();
    let (there, attempt) = begun(&providers, "here").await;
    let nonce = &attempt.nonce;
    let foreign =
        elsewhere.token(&json!({"sub": "1", "login": "anna", "aud": "skep", "nonce": nonce}));
    let back = here.logs_in_with(&there, &json!({"sub": "1"}), foreign);
    let (_, code) = back.split_once("&code=").unwrap();
    let refused = providers.finish(&attempt, code).await.map(|_| ());
    assert!(
        matches!(refused, Err(Refused::Wrong(ref why)) if why.contains("(iss)")),
        "{refused:?}"
    );
}

/// Whoever has begun a login can come back from it many times at once, with made-up codes.
#[tokio::test]
async fn few_codes_are_redeemed_at_a_time() {
    let issuer = Issuer::start();
    let by_secret = BrowserSettings::new("skep", "hush");
    let providers = Arc::new(Providers::start(&[settings(&issuer, by_secret)]).unwrap());
    let (_, attempt) = begun(&providers, "oidc").await;
    issuer.at_token(Behaviour::Holds);
    let back: Vec<_> = (0..100)
        .map(|_| {
            let (providers, attempt) = (Arc::clone(&providers), attempt.clone());
            tokio::spawn(async move { providers.finish(&attempt, "made-up").await.map(|_| ()) })
        })
        .collect();
    while issuer.redeemed().len() < 32 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(issuer.redeemed().len(), 32);
    issuer.at_token(Behaviour::Answers);
    for answer in back {
        let answer = answer.await.unwrap();
        assert!(matches!(answer, Err(Refused::Wrong(_))), "{answer:?}");
    }
    assert_eq!(issuer.redeemed().len(), 100);
}
