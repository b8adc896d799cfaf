//! Accepted tokens and their subjects, with a provider that answers, misbehaves, and is down.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use skep_oidc::{Kind, ProviderSettings, Providers, Refused, Verified};
use skep_testbed::issuer::{Behaviour, Issuer, now};

fn settings(issuer: &Issuer) -> ProviderSettings {
    ProviderSettings {
        audiences: vec!["skep".to_string()],
        client_id_claim: Some("client_id".to_string()),
        clock_skew: Duration::ZERO,
        ..ProviderSettings::new("test", &issuer.uri())
    }
}

fn providers(settings: &[ProviderSettings]) -> Providers {
    Providers::start(settings).unwrap()
}

async fn asked(providers: &Providers, token: &str) -> Result<Verified, Refused> {
    providers.verify(token, SystemTime::now()).await
}

/// Waits until the provider's keys have been fetched again.
async fn until_taken(providers: &Providers, token: &str) {
    let began = std::time::Instant::now();
    while asked(providers, token).await.is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it is not asked again"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The reason why the token is permanently invalid.
async fn wrong(providers: &Providers, token: &str) -> String {
    match asked(providers, token).await {
        Err(Refused::Wrong(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// An object with the members of another one, which take precedence.
fn merged(mut object: Value, more: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    object
}

fn anna() -> Value {
    json!({"sub": "anna", "aud": "skep"})
}

#[tokio::test]
async fn a_token_names_a_user_or_a_client() {
    let issuer = Issuer::start();
    let plain = providers(&[settings(&issuer)]);
    let prefers = providers(&[ProviderSettings {
        prefer_username_claim: true,
        ..settings(&issuer)
    }]);
    for (claims, by_client, by_user) in [
        (anna(), (Kind::User, "anna"), (Kind::User, "anna")),
        (
            json!({"client_id": "worker", "aud": ["x", "skep"]}),
            (Kind::Client, "worker"),
            (Kind::Client, "worker"),
        ),
        (
            json!({"sub": "anna", "client_id": "worker", "aud": "skep"}),
            (Kind::Client, "worker"),
            (Kind::User, "anna"),
        ),
    ] {
        let token = issuer.token(&claims);
        for (providers, (kind, id)) in [(&plain, by_client), (&prefers, by_user)] {
            let verified = asked(providers, &token).await.unwrap();
            assert_eq!((verified.kind, &*verified.id), (kind, id), "{claims}");
            assert_eq!(verified.groups, None);
        }
    }
    for nobody in [
        json!({"aud": "skep"}),
        json!({"aud": "skep", "sub": "", "client_id": ""}),
    ] {
        let why = wrong(&plain, &issuer.token(&nobody)).await;
        assert!(
            why.contains("'sub'") && why.contains("'client_id'"),
            "{why}"
        );
    }
    let why = wrong(&plain, &issuer.token(&json!({"sub": 7, "aud": "skep"}))).await;
    assert!(why.contains("principals could not be loaded"), "{why}");
}

#[tokio::test]
async fn groups_are_a_list_of_texts() {
    let issuer = Issuer::start();
    let providers = providers(&[ProviderSettings {
        groups_claim: Some("$.realm.groups".to_string()),
        ..settings(&issuer)
    }]);
    let with = |groups: Value| json!({"sub": "anna", "aud": "skep", "realm": {"groups": groups}});
    for (groups, expected) in [
        (json!(["a", "B"]), vec!["a", "B"]),
        (json!([]), vec![]),
        (Value::Null, vec![]),
    ] {
        let verified = asked(&providers, &issuer.token(&with(groups)))
            .await
            .unwrap();
        let groups = verified.groups.unwrap();
        assert_eq!(groups.iter().map(|it| &**it).collect::<Vec<_>>(), expected);
    }
    for groups in [json!("a"), json!([7]), json!({"a": 1})] {
        let why = wrong(&providers, &issuer.token(&with(groups))).await;
        assert!(why.contains("$.realm.groups"), "{why}");
    }
}

#[tokio::test]
async fn tokens_not_signed_by_their_issuer_for_this_server_and_time_are_refused() {
    let issuer = Issuer::start();
    let stranger = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    let good = issuer.token(&anna());
    asked(&providers, &good).await.unwrap();
    let es256 = |more: Value| merged(json!({"alg": "ES256", "kid": "key-1"}), more);
    let with = |claims: Value| issuer.token(&merged(anna(), claims));
    let (body, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = body.split_once('.').unwrap();
    let otto = URL_SAFE_NO_PAD
        .encode(json!({"iss": issuer.uri(), "sub": "otto", "exp": now() + 60}).to_string());
    let deep = format!(r#"{}7{}"#, "[".repeat(40), "]".repeat(40));
    for (token, said) in [
        (String::new(), "not a JSON Web Token"),
        ("a.b.c".to_string(), "not a JSON Web Token"),
        (format!("{good}.x"), "not a JSON Web Token"),
        (format!("{body}."), "signature"),
        (format!("{header}.{otto}.{signature}"), "signature"),
        ("x".repeat(20_000), "longer than"),
        (issuer.signed(&json!({"alg": "none"}), &anna()), "(alg)"),
        (issuer.signed(&json!({"alg": "None"}), &anna()), "(alg)"),
        (
            issuer.signed(&json!({"alg": "HS256", "kid": "key-1"}), &anna()),
            "(alg)",
        ),
        (
            issuer.signed(&json!({"alg": "RS256", "kid": "key-1"}), &anna()),
            "key (kid)",
        ),
        (
            issuer.signed(&es256(json!({"crit": ["x"]})), &anna()),
            "crit",
        ),
        (
            issuer.signed(&es256(json!({"kid": "other"})), &anna()),
            "key (kid)",
        ),
        (stranger.token(&anna()), "iss"),
        (
            stranger.token(&json!({"iss": issuer.uri(), "sub": "anna", "aud": "skep"})),
            "signature",
        ),
        (with(json!({"iss": format!("{}/", issuer.uri())})), "iss"),
        (with(json!({"iss": null})), "iss"),
        (with(json!({"iss": 7})), "iss"),
        (with(json!({"aud": "other"})), "aud"),
        (with(json!({"aud": null})), "aud"),
        (with(json!({"aud": ["a", 7]})), "aud"),
        (with(json!({"exp": null})), "exp"),
        (with(json!({"exp": "tomorrow"})), "exp"),
        (with(json!({"exp": now() - 5})), "expired 5 s ago"),
        (with(json!({"nbf": now() + 100})), "nbf"),
        (
            with(json!({"deep": serde_json::from_str::<Value>(&deep).unwrap()})),
            "levels",
        ),
    ] {
        let why = wrong(&providers, &token).await;
        assert!(why.contains(said), "{said}: {why}");
        assert!(token.is_empty() || !why.contains(&token), "{why}");
    }
}

#[tokio::test]
async fn a_token_is_good_until_it_expires_and_for_the_skew_of_clocks_longer() {
    let issuer = Issuer::start();
    let providers = providers(&[ProviderSettings {
        clock_skew: Duration::from_secs(60),
        ..settings(&issuer)
    }]);
    let token =
        issuer.token(&json!({"sub": "anna", "aud": "skep", "nbf": now() + 30, "exp": now() + 100}));
    let verified = asked(&providers, &token).await.unwrap();
    let after = |seconds| SystemTime::now() + Duration::from_secs(seconds);
    assert_eq!(providers.is_still(&verified, after(155)), Ok(true));
    assert!(providers.is_still(&verified, after(161)).is_err());
    assert!(providers.verify(&token, after(161)).await.is_err());
}

#[tokio::test]
async fn keys_are_found_again_when_they_change_and_old_ones_are_no_longer_valid() {
    let issuer = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    let before = asked(&providers, &issuer.token(&anna())).await.unwrap();
    let old = issuer.token(&anna());
    issuer.rotate_to_rsa();
    // The keys have not been fetched yet.
    assert_eq!(providers.is_still(&before, SystemTime::now()), Ok(true));
    asked(&providers, &issuer.token(&anna())).await.unwrap();
    assert_eq!(providers.is_still(&before, SystemTime::now()), Ok(false));
    assert!(wrong(&providers, &old).await.contains("(kid)"));
}

#[tokio::test]
async fn a_token_waits_for_keys_that_were_asked_for_after_it_came() {
    let issuer = Issuer::start();
    issuer.behaves(Behaviour::Holds);
    let providers = providers(&[ProviderSettings {
        jwk_set_uri: Some(format!("{}/keys", issuer.uri())),
        ..settings(&issuer)
    }]);
    while issuer.asked() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The withheld answer contains the old key only.
    issuer.rotate();
    let token = issuer.token(&anna());
    let answers = async { issuer.behaves(Behaviour::Answers) };
    let (verified, ()) = tokio::join!(biased; asked(&providers, &token), answers);
    verified.unwrap();
}

#[tokio::test]
async fn made_up_key_ids_make_few_requests_to_the_issuer() {
    let issuer = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
    let made_up = |n: u32| issuer.signed(&json!({"alg": "ES256", "kid": format!("{n}")}), &anna());
    assert!(wrong(&providers, &made_up(0)).await.contains("(kid)"));
    let before = issuer.asked();
    for n in 1..200 {
        // The issuer may have got this key since.
        let answer = asked(&providers, &made_up(n)).await;
        assert!(
            matches!(answer, Err(Refused::Unknown(_))),
            "{n}: {answer:?}"
        );
    }
    assert!(wrong(&providers, &made_up(0)).await.contains("(kid)"));
    assert_eq!(issuer.asked(), before);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
}

#[tokio::test]
async fn all_requests_at_the_moment_of_a_rotation_wait_for_the_new_key() {
    let issuer = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
    issuer.rotate();
    let tokens: Vec<_> = (0..100).map(|_| issuer.token(&anna())).collect();
    let providers = std::sync::Arc::new(providers);
    let all = tokens.into_iter().map(|token| {
        let providers = std::sync::Arc::clone(&providers);
        tokio::spawn(async move { asked(&providers, &token).await })
    });
    for answer in all.collect::<Vec<_>>() {
        answer.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_limited_number_of_requests_waits_for_an_issuer_that_hesitates() {
    let issuer = Issuer::start();
    issuer.behaves(Behaviour::Holds);
    let providers = std::sync::Arc::new(providers(&[settings(&issuer)]));
    let token = issuer.token(&anna());
    let all = (0..300).map(|_| {
        let (providers, token) = (std::sync::Arc::clone(&providers), token.clone());
        tokio::spawn(async move { asked(&providers, &token).await })
    });
    let mut turned_away = 0;
    for answer in all.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Err(Refused::Unknown(why)) => {
                turned_away += usize::from(why.contains("more than 256 requests wait"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(turned_away, 300 - 256);
    issuer.behaves(Behaviour::Answers);
    until_taken(&providers, &token).await;
}

#[tokio::test]
async fn while_the_issuer_is_away_known_keys_verify_and_unknown_ones_are_undecided() {
    let issuer = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
    for behaviour in [Behaviour::Holds, Behaviour::HangsUp] {
        issuer.behaves(behaviour.clone());
        asked(&providers, &issuer.token(&anna())).await.unwrap();
        let unknown = issuer.signed(&json!({"alg": "ES256", "kid": "x"}), &anna());
        let answer = asked(&providers, &unknown).await;
        assert!(
            matches!(answer, Err(Refused::Unknown(_))),
            "{behaviour:?}: {answer:?}"
        );
    }
    issuer.behaves(Behaviour::Answers);
    issuer.rotate();
    let token = issuer.token(&anna());
    until_taken(&providers, &token).await;
}

/// What a redirect leads to, and what an endless answer begins with, would be its keys.
#[tokio::test]
async fn keys_behind_a_redirect_or_in_too_large_an_answer_are_none() {
    for (behaviour, why) in [
        (Behaviour::Redirects, "302"),
        (Behaviour::Babbles(1 << 20), "too large"),
    ] {
        let issuer = Issuer::start();
        issuer.behaves(behaviour.clone());
        let providers = providers(&[ProviderSettings {
            jwk_set_uri: Some(format!("{}/keys", issuer.uri())),
            ..settings(&issuer)
        }]);
        let token = issuer.token(&anna());
        let answer = asked(&providers, &token).await;
        assert!(
            matches!(&answer, Err(Refused::Unknown(text)) if text.contains(why)),
            "{behaviour:?}: {answer:?}"
        );
        // Blanks after the keys are no fault.
        issuer.behaves(Behaviour::Babbles(1 << 10));
        until_taken(&providers, &token).await;
    }
}

/// Otherwise whoever answers there makes tokens, and a browser's login shows the secret of this server there.
#[tokio::test]
async fn a_provider_that_is_private_does_not_lead_to_addresses_without_tls() {
    let issuer = Issuer::start();
    for member in [
        "jwks_uri",
        "token_endpoint",
        "userinfo_endpoint",
        "authorization_endpoint",
        "end_session_endpoint",
    ] {
        issuer.is_described_with(&json!({(member): "http://id.example.org/x"}));
        let providers = providers(&[settings(&issuer)]);
        let token = issuer.token(&anna());
        let answer = asked(&providers, &token).await;
        assert!(
            matches!(&answer, Err(Refused::Unknown(why)) if why.contains(member) && why.contains("without TLS")),
            "{member}: {answer:?}"
        );
    }
    // With TLS, or on this machine.
    issuer.is_described_with(&json!({"end_session_endpoint": "https://id.example.org/x"}));
    let providers = providers(&[settings(&issuer)]);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
}

/// Goal of the design: well five seconds after it is back.
#[tokio::test]
async fn a_key_that_was_made_while_the_issuer_was_away_is_good_soon_after_it_is_back() {
    let issuer = Issuer::start();
    let providers = providers(&[settings(&issuer)]);
    asked(&providers, &issuer.token(&anna())).await.unwrap();
    issuer.behaves(Behaviour::HangsUp);
    issuer.rotate();
    let token = issuer.token(&anna());
    // The server has asked in vain.
    for _ in 0..3 {
        let answer = asked(&providers, &token).await;
        assert!(matches!(answer, Err(Refused::Unknown(_))), "{answer:?}");
    }
    issuer.behaves(Behaviour::Answers);
    let back = std::time::Instant::now();
    until_taken(&providers, &token).await;
    let took = back.elapsed();
    assert!(took <= Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn an_issuer_that_is_away_at_the_start_leaves_tokens_undecided_until_it_is_found() {
    let issuer = Issuer::start();
    issuer.behaves(Behaviour::Holds);
    let providers = providers(&[settings(&issuer)]);
    let token = issuer.token(&anna());
    let answer = asked(&providers, &token).await;
    assert!(matches!(answer, Err(Refused::Unknown(_))), "{answer:?}");
    issuer.behaves(Behaviour::Answers);
    until_taken(&providers, &token).await;
}

#[tokio::test]
async fn each_of_several_providers_has_its_own_audiences_and_claims() {
    let (people, machines) = (Issuer::start(), Issuer::start());
    let providers = providers(&[
        settings(&people),
        ProviderSettings {
            audiences: vec!["machines".to_string()],
            username_claim: "name".to_string(),
            client_id_claim: Some("azp".to_string()),
            ..settings(&machines)
        },
    ]);
    let claims = json!({"sub": "anna", "azp": "robot", "aud": "skep"});
    let verified = asked(&providers, &people.token(&claims)).await.unwrap();
    assert_eq!((verified.kind, &*verified.id), (Kind::User, "anna"));
    assert!(
        wrong(&providers, &machines.token(&claims))
            .await
            .contains("aud")
    );
    let claims = json!({"sub": "anna", "azp": "robot", "aud": "machines"});
    let verified = asked(&providers, &machines.token(&claims)).await.unwrap();
    assert_eq!((verified.kind, &*verified.id), (Kind::Client, "robot"));
}

#[tokio::test]
async fn additional_keys_count_though_one_place_does_not_answer() {
    let (own, more) = (Issuer::start(), Issuer::start());
    let nobody = "http://127.0.0.1:9/keys".to_string();
    let providers = providers(&[ProviderSettings {
        jwk_set_uri: Some(nobody.clone()),
        additional_jwk_set_uris: vec![nobody, format!("{}/keys", more.uri())],
        ..settings(&own)
    }]);
    let token = more.token(&json!({"iss": own.uri(), "sub": "anna", "aud": "skep"}));
    asked(&providers, &token).await.unwrap();
}

#[tokio::test]
async fn keys_of_a_place_that_goes_down_stay_good_and_unknown_ones_are_undecided() {
    let (own, more) = (Issuer::start(), Issuer::start());
    // Its key has another id than that of the other issuer.
    more.rotate();
    let providers = providers(&[ProviderSettings {
        jwk_set_uri: Some(format!("{}/keys", own.uri())),
        additional_jwk_set_uris: vec![format!("{}/keys", more.uri())],
        ..settings(&own)
    }]);
    let first = own.token(&anna());
    let second = more.token(&json!({"iss": own.uri(), "sub": "anna", "aud": "skep"}));
    asked(&providers, &first).await.unwrap();
    let verified = asked(&providers, &second).await.unwrap();
    more.behaves(Behaviour::HangsUp);
    for id in ["x", "y"] {
        // The first one makes the server ask both places again.
        let unknown = own.signed(&json!({"alg": "ES256", "kid": id}), &anna());
        let answer = asked(&providers, &unknown).await;
        assert!(matches!(answer, Err(Refused::Unknown(_))), "{answer:?}");
        asked(&providers, &first).await.unwrap();
        asked(&providers, &second).await.unwrap();
    }
    assert_eq!(
        providers.is_still(&verified, SystemTime::now()),
        Ok(true),
        "the known keys are the same"
    );
}

#[tokio::test]
async fn settings_that_cannot_be_carried_out_are_refused() {
    let issuer = Issuer::start();
    for (wrong, said) in [
        (
            ProviderSettings {
                issuer_uri: "id.example.org".to_string(),
                ..settings(&issuer)
            },
            "issuer-uri",
        ),
        (
            ProviderSettings {
                groups_claim: Some("$.a[".to_string()),
                ..settings(&issuer)
            },
            "groups-claim",
        ),
    ] {
        let error = Providers::start(&[wrong]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
