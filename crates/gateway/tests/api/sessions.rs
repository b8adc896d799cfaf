//! Browser sessions kept by the cluster, whose users are regularly verified with the provider.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skep_testbed::issuer::{Behaviour, Issuer};

use crate::bearer::{arrived, departed, location, protected, set};
use crate::fake::Running;
use crate::login::{BODY, JSON, PIN, ask};
use crate::metrics::exposed;

/// Time limit of waits in tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// A logged-in browser.
struct Browser {
    cookie: String,
    csrf: String,
}

async fn logged_in(gateway: &Running, issuer: &Issuer, user: &str) -> Browser {
    let (there, kept) = departed(gateway, "/").await;
    let back = issuer.logs_in(&there, &json!({"sub": user, "groups": ["first"]}));
    let answer = arrived(gateway, &back, &kept).await;
    assert_eq!(location(&answer), "/");
    Browser {
        cookie: set(&answer, "camunda-session="),
        csrf: answer.headers["x-csrf-token"].to_str().unwrap().to_string(),
    }
}

impl Browser {
    /// Status, and the server's information about the user.
    async fn me(&self, gateway: &Running) -> (u16, Value) {
        let cookie = [("cookie", &*self.cookie)];
        let answer = ask(gateway, ("GET", "/v2/authentication/me"), &cookie, "").await;
        let said = serde_json::from_str(&answer.text).unwrap_or_default();
        (answer.status, said)
    }

    async fn status(&self, gateway: &Running) -> u16 {
        self.me(gateway).await.0
    }

    async fn group(&self, gateway: &Running) -> String {
        let (status, me) = self.me(gateway).await;
        assert_eq!(status, 200, "{me}");
        me["groups"][0].as_str().unwrap().to_string()
    }

    async fn logs_out(&self, gateway: &Running) -> u16 {
        let shown = [("cookie", &*self.cookie), ("x-csrf-token", &*self.csrf)];
        ask(gateway, ("POST", "/logout"), &shown, "").await.status
    }
}

/// Number of session refreshes with the provider by this node, by result.
fn refreshes(node: &Running) -> [u64; 3] {
    let text = exposed(node);
    ["renewed", "ended", "unanswered"].map(|result| {
        let series = format!("skep_session_refreshes_total{{result=\"{result}\"}} ");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(&series));
        values.next().unwrap().parse().unwrap()
    })
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Nodes of one cluster.
async fn nodes(issuer: &Issuer) -> [Running; 2] {
    let nodes = [protected(issuer).await, protected(issuer).await];
    let keeper = nodes[0].broker.reports.keeper.lock().clone();
    *nodes[1].broker.reports.keeper.lock() = keeper;
    nodes
}

#[tokio::test]
async fn changes_at_the_provider_take_effect_when_its_tokens_expire() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(1);
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    assert_eq!(anna.group(&node).await, "first");
    issuer.says_at_refresh(&json!({"groups": ["second"]}));
    eventually("the other group", async || {
        anna.group(&node).await == "second"
    })
    .await;
    // The other node receives the session from the first partition, and shows the refreshed data, not those of the login.
    issuer.says_at_refresh(&json!({"groups": ["third"]}));
    eventually("the third group", async || {
        anna.group(&other).await == "third"
    })
    .await;
    let shown = issuer.redeemed().pop().unwrap();
    assert_eq!(shown.form["grant_type"], "refresh_token");
    assert_eq!(shown.authorization.as_deref(), Some("Basic c2tlcDpodXNo"));
    assert!(issuer.refreshed() >= 2 && issuer.all_last());
    // A different subject: the session can no longer be attributed.
    issuer.says_at_refresh(&json!({"sub": "bert"}));
    eventually("the end", async || anna.status(&node).await == 401).await;
    let [renewed, ended, unanswered] = refreshes(&node);
    assert!(renewed >= 1, "{renewed}");
    assert_eq!((ended, unanswered), (1, 0));
}

#[tokio::test]
async fn two_nodes_at_once_show_no_refresh_token_twice() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(1);
    let [node, other] = nodes(&issuer).await;
    let anna = Arc::new(logged_in(&node, &issuer, "anna").await);
    let (node, other) = (Arc::new(node), Arc::new(other));
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..12 {
        let (anna, issuer) = (Arc::clone(&anna), issuer.clone());
        let node = Arc::clone(if number % 2 == 0 { &node } else { &other });
        asking.spawn(async move {
            while issuer.refreshed() < 5 {
                assert_eq!(anna.status(&node).await, 200);
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked.unwrap();
    }
    assert!(issuer.all_last());
    assert_eq!(anna.status(&node).await, 200);
}

#[tokio::test]
async fn a_logout_ends_the_session_on_every_node() {
    let issuer = Issuer::start();
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    let also = logged_in(&other, &issuer, "anna").await;
    for gateway in [&node, &other] {
        assert_eq!(anna.status(gateway).await, 200);
    }
    assert_eq!(anna.logs_out(&node).await, 204);
    // The cookie may have been stolen.
    assert_eq!(anna.status(&node).await, 401);
    eventually("the other node", async || anna.status(&other).await == 401).await;
    let (refused, _) = anna.me(&other).await;
    assert_eq!(refused, 401);
    assert_eq!(also.status(&node).await, 200);
    let keeper = node.broker.reports.keeper.lock().clone();
    assert_eq!(keeper.count(), 1);
    // A logout that is not recorded fails.
    keeper.is_away(true);
    assert_eq!(also.logs_out(&node).await, 503);
    keeper.is_away(false);
    assert_eq!(also.status(&node).await, 200);
}

#[tokio::test]
async fn a_login_that_the_provider_ends_ends_here() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(1);
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    issuer.revokes();
    eventually("the end", async || anna.status(&node).await == 401).await;
    assert_eq!(anna.status(&other).await, 401);
    assert_eq!(node.broker.reports.keeper.lock().count(), 0);
    assert_eq!(refreshes(&node)[1..], [1, 0]);
}

#[tokio::test]
async fn a_provider_that_is_away_or_does_not_know_us_ends_no_session() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(1);
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    issuer.says_at_refresh(&json!({"groups": ["second"]}));
    let keeper = node.broker.reports.keeper.lock().clone();
    let mut tried = 0;
    for error in [
        None,
        Some("invalid_client"),
        Some("temporarily_unavailable"),
    ] {
        issuer.at_token(match error {
            None => Behaviour::HangsUp,
            Some(_) => Behaviour::Answers,
        });
        issuer.refuses_tokens(error);
        eventually("an attempt", async || {
            assert_eq!(anna.group(&node).await, "first");
            assert_eq!(anna.group(&other).await, "first");
            issuer.refreshed() > tried
        })
        .await;
        tried = issuer.refreshed();
        // The next attempt is due when the claim of the last one expires.
        keeper.advance(31);
    }
    let unanswered = refreshes(&node)[2] + refreshes(&other)[2];
    assert_eq!(unanswered, 3, "one node asks at a time");
    issuer.refuses_tokens(None);
    eventually("news", async || anna.group(&node).await == "second").await;
    assert_eq!(refreshes(&node)[1], 0);
}

#[tokio::test]
async fn without_the_first_partition_known_sessions_stay_valid_and_logins_fail() {
    let issuer = Issuer::start();
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    assert_eq!(anna.status(&node).await, 200);
    let keeper = node.broker.reports.keeper.lock().clone();
    keeper.is_away(true);
    // As long as a node does not hear the leader.
    *node.broker.reports.directory_age.lock() = Duration::from_secs(3600);
    let asked = keeper.asked();
    eventually("the first partition is asked", async || {
        assert_eq!(anna.status(&node).await, 200);
        keeper.asked() > asked
    })
    .await;
    assert_eq!(anna.status(&other).await, 503);
    let (there, kept) = departed(&node, "/").await;
    let back = issuer.logs_in(&there, &json!({"sub": "anna"}));
    let answer = arrived(&node, &back, &kept).await;
    assert_eq!(location(&answer), "ui/login?failed=failed");
    keeper.is_away(false);
    assert_eq!(anna.status(&other).await, 200);
}

/// Whoever hears the leader may log the user out meanwhile: at another node, where the first partition answers.
#[tokio::test]
async fn while_the_leader_is_heard_a_session_that_nobody_confirms_counts_for_seconds() {
    let issuer = Issuer::start();
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    assert_eq!(anna.status(&node).await, 200);
    assert_eq!(anna.logs_out(&other).await, 204);
    let keeper = node.broker.reports.keeper.lock().clone();
    keeper.is_away(true);
    eventually("the node no longer trusts the session", async || {
        anna.status(&node).await == 503
    })
    .await;
    keeper.is_away(false);
    assert_eq!(anna.status(&node).await, 401);
}

/// A command of the caller is in doubt then; a session is not, as it may be asked for, begun and ended again.
#[tokio::test]
async fn while_the_first_partition_moves_requests_with_a_session_are_to_be_sent_again() {
    let issuer = Issuer::start();
    let [node, other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    let keeper = node.broker.reports.keeper.lock().clone();
    keeper.is_moving(true);
    let (status, refused) = anna.me(&other).await;
    let text = refused["detail"].as_str().unwrap();
    assert_eq!((status, &refused["title"]), (503, &"UNAVAILABLE".into()));
    assert!(text.contains("Send the request again"), "{text}");
    let (there, kept) = departed(&other, "/").await;
    let back = issuer.logs_in(&there, &json!({"sub": "bert"}));
    let answer = arrived(&other, &back, &kept).await;
    assert_eq!(location(&answer), "ui/login?failed=failed");
    // The logout was carried out, and may be sent again.
    assert_eq!(anna.logs_out(&other).await, 503);
    keeper.is_moving(false);
    assert_eq!(anna.status(&other).await, 401);
    assert_eq!(anna.logs_out(&other).await, 204);
}

#[tokio::test]
async fn while_a_node_is_older_the_cookie_alone_has_the_session() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(1);
    let [node, other] = nodes(&issuer).await;
    let keeper = node.broker.reports.keeper.lock().clone();
    keeper.is_mixed(true);
    let anna = logged_in(&node, &issuer, "anna").await;
    assert_eq!(keeper.asked(), 0);
    keeper.is_mixed(false);
    for gateway in [&node, &other] {
        assert_eq!(anna.group(gateway).await, "first");
    }
    assert_eq!(anna.logs_out(&node).await, 204);
    assert_eq!((keeper.asked(), issuer.refreshed()), (0, 0));
}

#[tokio::test]
async fn a_cookie_that_no_node_has_made_costs_the_first_partition_nothing() {
    let issuer = Issuer::start();
    let [node, _other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    let bert = logged_in(&node, &issuer, "bert").await;
    let keeper = node.broker.reports.keeper.lock().clone();
    let asked = keeper.asked();
    let mark = |it: &Browser| it.cookie.rsplit_once('.').unwrap().1.to_string();
    let id = |it: &Browser| it.cookie.rsplit_once('.').unwrap().0.to_string();
    for cookie in [
        format!("{}.{}", id(&anna), mark(&bert)),
        format!("{}.", id(&anna)),
        id(&anna),
        format!("{}A", anna.cookie),
        anna.cookie.replace("oidc~", "other~"),
        format!("camunda-session=oidc~.{}", mark(&anna)),
    ] {
        let stranger = Browser {
            cookie: cookie.clone(),
            csrf: anna.csrf.clone(),
        };
        assert_eq!(stranger.status(&node).await, 401, "{cookie}");
    }
    assert_eq!(keeper.asked(), asked);
    // A token of another session is refused.
    for csrf in ["", &*bert.csrf, "x"] {
        let shown = [JSON, ("cookie", &*anna.cookie), ("x-csrf-token", csrf)];
        assert_eq!(ask(&node, PIN, &shown, BODY).await.status, 403, "{csrf}");
        let out = ask(&node, ("POST", "/logout"), &shown, "").await;
        assert_eq!(out.status, 403, "{csrf}");
    }
    let own = [
        JSON,
        ("cookie", &*anna.cookie),
        ("x-csrf-token", &*anna.csrf),
    ];
    assert_eq!(ask(&node, PIN, &own, BODY).await.status, 204);
    assert_eq!(bert.status(&node).await, 200);
}

#[tokio::test]
async fn the_data_on_disk_open_no_session_and_contain_no_token() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(300);
    let [node, _other] = nodes(&issuer).await;
    let anna = logged_in(&node, &issuer, "anna").await;
    assert_eq!(anna.status(&node).await, 200);
    let disk = node.broker.reports.keeper.lock().disk();
    let has = |text: &str| disk.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("anna"));
    let [token] = &*issuer.refresh_tokens() else {
        panic!("one login");
    };
    let (rest, mark) = anna.cookie.rsplit_once('.').unwrap();
    let id = rest.rsplit_once('~').unwrap().1;
    for secret in [&**token, id, mark, &anna.csrf, "first"] {
        assert!(!has(secret), "{secret}");
    }
}

#[tokio::test]
async fn the_65th_session_of_a_user_is_one_too_many() {
    let issuer = Issuer::start();
    let [node, other] = nodes(&issuer).await;
    let bert = logged_in(&node, &issuer, "bert").await;
    let first = logged_in(&node, &issuer, "anna").await;
    let second = logged_in(&node, &issuer, "anna").await;
    for _ in 0..63 {
        logged_in(&node, &issuer, "anna").await;
    }
    assert_eq!(first.status(&other).await, 401);
    for others in [&second, &bert] {
        assert_eq!(others.status(&other).await, 200);
    }
}
