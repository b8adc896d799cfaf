//! Logins of browsers where people choose one of several identity providers.

use serde_json::{Value, json};
use skep_testbed::issuer::{Behaviour, Issuer};

use crate::bearer::{arrived, location, protected_by, provider, sent_to, set};
use crate::fake::Running;
use crate::login::ask;

/// A gateway with a provider for the staff and one for partners.
async fn with_two() -> (Running, Issuer, Issuer) {
    let (staff, partners) = (Issuer::start(), Issuer::start());
    let settings = vec![provider("staff", &staff), provider("partners", &partners)];
    (protected_by(settings).await, staff, partners)
}

#[tokio::test]
async fn people_choose_where_they_log_in_and_are_who_that_provider_says() {
    let (gateway, staff, partners) = with_two().await;
    let ways = ask(&gateway, ("GET", "/oauth2/providers"), &[], "").await;
    assert_eq!(
        ways.text,
        r#"[{"id":"staff","name":"Example"},{"id":"partners","name":"Example"}]"#
    );
    for (name, issuer) in [("staff", &staff), ("partners", &partners)] {
        let (there, kept) = sent_to(name, &gateway, "/").await;
        let authorize = format!("{}/authorize?", issuer.uri());
        assert!(there.starts_with(&authorize), "{name}: {there}");
        let who = format!("anna-of-{name}");
        let back = issuer.logs_in(&there, &json!({"sub": who}));
        let answer = arrived(&gateway, &back, &kept).await;
        assert_eq!((answer.status, location(&answer)), (302, "/"), "{name}");
        let cookie = set(&answer, "camunda-session=");
        let csrf = answer.headers["x-csrf-token"].to_str().unwrap();
        let me = ("GET", "/v2/authentication/me");
        let me = ask(&gateway, me, &[("cookie", &*cookie)], "").await;
        let me: Value = serde_json::from_str(&me.text).unwrap();
        assert_eq!(me["username"], who);
        // The session ends where it began.
        let own = [("cookie", &*cookie), ("x-csrf-token", csrf)];
        let out = ask(&gateway, ("POST", "/logout"), &own, "").await;
        let there = out.headers["skep-logout-uri"].to_str().unwrap();
        assert!(there.starts_with(&issuer.uri()), "{name}: {there}");
    }
}

#[tokio::test]
async fn a_login_at_one_provider_is_not_ended_with_the_code_of_another() {
    let (gateway, staff, partners) = with_two().await;
    // Codes of the two are numbered alike: this one makes them differ.
    let (there, _) = sent_to("partners", &gateway, "/").await;
    partners.logs_in(&there, &json!({"sub": "earlier"}));
    let (to_staff, kept) = sent_to("staff", &gateway, "/").await;
    let (to_partners, others_kept) = sent_to("partners", &gateway, "/").await;
    let back = staff.logs_in(&to_staff, &json!({"sub": "anna"}));
    let others = partners.logs_in(&to_partners, &json!({"sub": "mallory"}));
    let (state, code) = back.split_once('&').unwrap();
    let (others_state, others_code) = others.split_once('&').unwrap();
    assert_ne!(code, others_code);
    for (query, cookie, why) in [
        (format!("{state}&{others_code}"), &kept, "failed"),
        (format!("{others_state}&{code}"), &others_kept, "failed"),
        // The answer of one provider beside what the browser keeps for the other.
        (others.clone(), &kept, "expired"),
    ] {
        let answer = arrived(&gateway, &query, cookie).await;
        assert_eq!(
            location(&answer),
            format!("ui/login?failed={why}"),
            "{query}"
        );
        assert!(!answer.headers.contains_key("x-csrf-token"), "{query}");
    }
    let answer = arrived(&gateway, &back, &kept).await;
    assert_eq!(location(&answer), "/");
}

#[tokio::test]
async fn while_one_provider_is_away_people_log_in_at_the_other() {
    let (staff, partners) = (Issuer::start(), Issuer::start());
    staff.behaves(Behaviour::HangsUp);
    let settings = vec![provider("staff", &staff), provider("partners", &partners)];
    let gateway = protected_by(settings).await;
    let (there, kept) = sent_to("partners", &gateway, "/").await;
    let back = partners.logs_in(&there, &json!({"sub": "bert"}));
    let answer = arrived(&gateway, &back, &kept).await;
    assert_eq!(location(&answer), "/");
    let away = ask(&gateway, ("GET", "/oauth2/authorization/staff"), &[], "").await;
    assert_eq!(away.status, 503, "{}", away.text);
}
