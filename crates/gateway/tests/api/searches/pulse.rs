//! The pulse over a real store: a change affects the versions of the changed entities, and no others. Also shared answers, over a store
//! that counts its queries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use skep_identity::Directory;
use skep_model::builder::Bpmn;
use skep_query::{Answer, BoxFuture, Consistency, Query, QueryError, ResultPage, Storage};

use super::Stored;
use crate::fake::{Running, start_over, start_with};
use crate::login::{self, ask, basic, directory};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

const PULSE: (&str, &str) = ("GET", "/skep/v1/pulse");
const DEADLINE: Duration = Duration::from_secs(60);

type Versions = BTreeMap<String, Value>;

async fn pulse(gateway: &Running) -> (Versions, String) {
    let answer = ask(gateway, PULSE, &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body: Value = serde_json::from_str(&answer.text).unwrap();
    let schema = serde_json::json!({"$ref": "#/components/schemas/Pulse"});
    let wrong = crate::schema::differences(&crate::http::OPENAPI, &schema, &body);
    assert!(wrong.is_empty(), "{wrong:?}");
    let versions = body["versions"].as_object().unwrap().clone();
    let tag = answer.headers["etag"].to_str().unwrap().to_string();
    (versions.into_iter().collect(), tag)
}

fn moved(before: &Versions, after: &Versions) -> Vec<String> {
    assert!(before.keys().eq(after.keys()));
    let other = before
        .iter()
        .filter(|(kind, version)| after[*kind] != **version);
    other.map(|(kind, _)| kind.clone()).collect()
}

/// A gateway over the store of the rig's first partition.
struct Live {
    gateway: Running,
    store: Arc<Stored>,
    rig: Rig,
}

impl Live {
    async fn start() -> Live {
        let mut rig = Rig::new();
        rig.record_batches();
        let store = Arc::new(Stored(Filled::new(Backend::Embedded, 1, Duration::ZERO)));
        let gateway = start_over(Arc::clone(&store) as Arc<dyn Storage>, |_| {}).await;
        Live {
            gateway,
            store,
            rig,
        }
    }

    /// The pulse once all written records are stored.
    async fn pulse(&mut self) -> (Versions, String) {
        self.store.0.follow(&std::mem::take(&mut self.rig.batches));
        let began = Instant::now();
        while self.store.0.exported() < self.store.0.committed() {
            assert!(began.elapsed() < DEADLINE, "the store has not caught up");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        pulse(&self.gateway).await
    }
}

fn one_job() -> Bpmn {
    Bpmn::process("order")
        .start("begin")
        .service_task("pay", "payment")
        .end("done")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pulse_changes_only_with_the_kinds_of_rows_that_changed() {
    let mut live = Live::start().await;
    live.rig.deploy(one_job());
    let (deployed, tag) = live.pulse().await;
    let again = ask(&live.gateway, PULSE, &[("if-none-match", &tag)], "").await;
    assert_eq!((again.status, &*again.text), (304, ""));
    assert_eq!(again.headers["etag"].to_str().unwrap(), tag);
    assert_eq!(live.pulse().await.1, tag, "nothing has changed");

    let instance = live.rig.create("order", r#"{"a":1}"#);
    let (created, other) = live.pulse().await;
    assert_ne!(other, tag);
    let kinds = moved(&deployed, &created);
    for kind in ["processInstance", "elementInstance", "variable", "job"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
    }
    for kind in [
        "incident",
        "processDefinition",
        "userTask",
        "user",
        "decisionInstance",
    ] {
        assert!(kinds.iter().all(|it| it != kind), "{kind}: {kinds:?}");
    }
    let moves = ask(&live.gateway, PULSE, &[("if-none-match", &tag)], "").await;
    assert_eq!(moves.status, 200);

    let job = live.rig.job("payment");
    live.rig.fail(&job, 0, 0);
    let (failed, _) = live.pulse().await;
    let kinds = moved(&created, &failed);
    // Elements and process instances show whether they contain an incident.
    for kind in ["incident", "job", "elementInstance", "processInstance"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
    }
    assert!(kinds.iter().all(|it| it != "variable"), "{kinds:?}");
    live.rig.cancel(instance).unwrap();
    let (canceled, _) = live.pulse().await;
    assert!(moved(&failed, &canceled).contains(&"incident".to_string()));
    assert_eq!(
        moved(&canceled, &live.pulse().await.0),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_store_that_does_not_count_is_never_said_to_be_unchanged() {
    let gateway = start_with(|_| {}).await;
    let (first, tag) = pulse(&gateway).await;
    let again = ask(&gateway, PULSE, &[("if-none-match", &tag)], "").await;
    assert_eq!(again.status, 200);
    let (second, _) = pulse(&gateway).await;
    assert_eq!(moved(&first, &second).len(), first.len());
}

#[tokio::test]
async fn the_pulse_requires_a_login() {
    let gateway = login::protected().await;
    assert_eq!(ask(&gateway, PULSE, &[], "").await.status, 401);
    let shown = basic("anna", "right");
    let answer = ask(&gateway, PULSE, &[("authorization", &shown)], "").await;
    assert_eq!(answer.status, 200);
}

/// Finds nothing, and counts its queries.
#[derive(Default)]
struct Counting {
    asked: AtomicUsize,
    takes: Mutex<Duration>,
}

impl Storage for Counting {
    fn query(
        &self,
        _: Query,
        consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        assert_eq!(consistency, Consistency::Eventual);
        self.asked.fetch_add(1, Ordering::Relaxed);
        let takes = *self.takes.lock();
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok((Answer::Page(ResultPage::default()), 0))
        })
    }
}

impl Counting {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

const SEARCH: (&str, &str) = ("POST", "/v2/jobs/search");
const SHARED: (&str, &str) = ("skep-consistency", "shared");
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test(flavor = "multi_thread")]
async fn equal_questions_are_asked_once_and_say_how_old_the_answer_is() {
    let store = Arc::new(Counting::default());
    let gateway = start_over(Arc::clone(&store) as Arc<dyn Storage>, |_| {}).await;
    *store.takes.lock() = Duration::from_millis(50);
    let body = r#"{"page": {"limit": 7}}"#;
    let each = || ask(&gateway, SEARCH, &[SHARED, JSON], body);
    let (a, b, c) = tokio::join!(each(), each(), each());
    let ages = [a, b, c].map(|answer| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer
            .headers
            .get("age")
            .map(|age| age.to_str().unwrap().to_string())
    });
    assert_eq!(store.asked(), 1);
    assert_eq!(ages.iter().filter(|age| age.is_none()).count(), 1);
    assert!(ages.iter().flatten().all(|age| age == "0"), "{ages:?}");
    let other = ask(
        &gateway,
        SEARCH,
        &[SHARED, JSON],
        r#"{"page": {"limit": 8}}"#,
    )
    .await;
    assert_eq!((other.headers.get("age"), store.asked()), (None, 2));
    // Without the header, every caller queries the store.
    let eventual = ("skep-consistency", "eventual");
    for _ in 0..2 {
        let own = ask(&gateway, SEARCH, &[eventual, JSON], body).await;
        assert_eq!((own.status, own.headers.get("age")), (200, None));
    }
    assert_eq!(store.asked(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_not_shared_across_callers_or_after_a_permission_was_revoked() {
    let store = Arc::new(Counting::default());
    let gateway = start_over(Arc::clone(&store) as Arc<dyn Storage>, login::protect).await;
    *gateway.broker.directory.lock() = Arc::new(directory().await);
    // Some rows are readable without permission, so the store is queried for every user.
    let (anna, bert) = (basic("anna", "right"), basic("bert", "right"));
    let search = ("POST", "/v2/users/search");
    let each = async |shown: &str| {
        let headers = [SHARED, JSON, ("authorization", shown)];
        let answer = ask(&gateway, search, &headers, "{}").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.headers.contains_key("age")
    };
    assert!(!each(&anna).await);
    assert!(each(&anna).await, "the same caller");
    assert!(!each(&bert).await, "another one");
    assert!(each(&bert).await);
    // Any change of permissions creates another directory.
    let changed: Directory = (**gateway.broker.directory.lock()).clone();
    *gateway.broker.directory.lock() = Arc::new(changed);
    assert!(!each(&anna).await, "the rights are others");
    assert!(!each(&bert).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_questions_that_take_too_long_get_the_last_answer() {
    let store = Arc::new(Counting::default());
    let gateway = start_over(Arc::clone(&store) as Arc<dyn Storage>, |_| {}).await;
    let ask_for = async |limit: u32| {
        let body = format!(r#"{{"page": {{"limit": {limit}}}}}"#);
        ask(&gateway, SEARCH, &[SHARED, JSON], &body).await
    };
    assert_eq!(ask_for(1).await.status, 200);
    // This takes all savings and the budget of the next seconds.
    *store.takes.lock() = Duration::from_millis(3_500);
    assert_eq!(ask_for(2).await.status, 200);
    *store.takes.lock() = Duration::ZERO;
    let refused = ask_for(3).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(
        refused.text.contains("RESOURCE_EXHAUSTED"),
        "{}",
        refused.text
    );
    assert_eq!(store.asked(), 2);
    let last = ask_for(1).await;
    assert_eq!((last.status, store.asked()), (200, 2));
    let age: u64 = last.headers["age"].to_str().unwrap().parse().unwrap();
    assert!(age >= 3, "{age}");
    // Other callers are not delayed.
    let own = ask(
        &gateway,
        SEARCH,
        &[("skep-consistency", "eventual"), JSON],
        "{}",
    )
    .await;
    assert_eq!(own.status, 200);
}

#[tokio::test]
async fn a_consistency_that_there_is_not_is_refused() {
    let gateway = start_with(|_| {}).await;
    let answer = ask(
        &gateway,
        SEARCH,
        &[("skep-consistency", "some"), JSON],
        "{}",
    )
    .await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.text.contains("'eventual' or 'shared'"),
        "{}",
        answer.text
    );
}
