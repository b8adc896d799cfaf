//! The pulse over a real store: it moves with what changes, for what changes, and for nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use skep_model::builder::Bpmn;
use skep_query::Storage;

use super::Stored;
use crate::fake::{Running, start_over, start_with};
use crate::login::{self, ask, basic};
use skep_testkit::stores::{Backend, Filled};
use skep_testkit::rig::Rig;

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

/// A gateway over a store of the rig's first partition.
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

    /// The pulse once everything is stored that the rig has written.
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
async fn a_pulse_moves_with_what_changes_and_stays_while_nothing_does() {
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
    // Element and process instance say that there is an incident within.
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
async fn the_pulse_is_for_those_who_have_logged_in_and_is_the_same_for_all_of_them() {
    let gateway = login::protected().await;
    assert_eq!(ask(&gateway, PULSE, &[], "").await.status, 401);
    let shown = basic("anna", "right");
    let answer = ask(&gateway, PULSE, &[("authorization", &shown)], "").await;
    assert_eq!(answer.status, 200);
}
