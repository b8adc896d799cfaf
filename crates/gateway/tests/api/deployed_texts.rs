//! Deployed texts come from users, and browsers run scripts in XML: whoever opens one with a session must not run what is in it.

use std::sync::Arc;
use std::time::Duration;

use skep_model::builder::Bpmn;
use skep_testkit::rig::{Rig, decision};
use skep_testkit::stores::{Backend, Filled};

use crate::fake::start_over;
use crate::http::open;
use crate::searches::Stored;

#[tokio::test]
async fn browsers_run_nothing_in_what_was_deployed() {
    let mut rig = Rig::new();
    rig.record_batches();
    let process = Bpmn::process("p").start("s").end("e").xml();
    let deployed = rig.deployed(vec![
        ("p.bpmn", process),
        ("d.dmn", decision("file", "d", "1")),
        ("script.rpa", r#"{"id":"script","script":"x"}"#.to_string()),
    ]);
    let location = Backend::Embedded.config().location;
    let store = Filled::at(location, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    let gateway = start_over(Arc::new(Stored(store)), |_| {}).await;
    let script = deployed.resources[0].key;
    let requirements = deployed.decision_requirements[0].key;
    for path in [
        format!("process-definitions/{}/xml", deployed.processes[0].key),
        format!("decision-definitions/{}/xml", deployed.decisions[0].key),
        format!("decision-requirements/{requirements}/xml"),
        format!("resources/{script}/content"),
        format!("resources/{script}/content/binary"),
    ] {
        let answer = open(gateway.rest, "GET", &format!("/v2/{path}"), None, "").await;
        assert_eq!(answer.status(), 200, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().expect("a text");
        let policy = header("content-security-policy");
        for rule in ["default-src 'none'", "sandbox"] {
            assert!(policy.split("; ").any(|it| it == rule), "{path}: {policy}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    }
}
