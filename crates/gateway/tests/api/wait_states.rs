//! Wait states of element instances, an operation of 8.10.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_model::builder::Bpmn;
use skep_protocol::Key;

use crate::fake::{Running, start_over};
use crate::http::{post, send};
use crate::searches::Stored;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

const PATH: &str = "/v2/element-instances/wait-states/search";

/// An instance with one wait of every kind, in a process and in one that it called.
fn waiting() -> (Rig, Key) {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("called")
            .start("cs")
            .catch_signal("signal", "go")
            .end("ce"),
    );
    rig.deploy(
        Bpmn::process("waits")
            .start("s")
            .parallel("fork")
            .service_task("work", "job")
            .boundary_message("news", "work", "told", "=order")
            .non_interrupting()
            .end("e1")
            .from("work")
            .end("e2")
            .from("fork")
            .user_task("ask")
            .end("e3")
            .from("fork")
            .catch_duration("later", "PT1M")
            .end("e4")
            .from("fork")
            .catch_condition("once", "=late = true")
            .variable_filter("late", "update")
            .end("e5")
            .from("fork")
            .call_activity("call", "called")
            .end("e6"),
    );
    let instance = rig.create("waits", r#"{"order": "o-1"}"#);
    (rig, instance)
}

async fn gateway(rig: &mut Rig) -> Running {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), |_| {}).await
}

async fn search(gateway: &Running, body: Value) -> Value {
    let answer = post(gateway.rest, PATH, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{body}: {}", answer.text);
    answer.json()
}

fn elements(found: &Value) -> Vec<&str> {
    let items = found["items"].as_array().expect("items");
    let ids = items.iter().map(|item| item["elementId"].as_str());
    ids.map(|id| id.expect("an id")).collect()
}

/// Sorted by element id.
const SORTED: [&str; 6] = ["ask", "later", "news", "once", "signal", "work"];

fn by_element() -> Value {
    json!([{"field": "elementId"}])
}

#[tokio::test]
async fn every_wait_state_is_listed_with_its_details() {
    let (mut rig, instance) = waiting();
    let job = rig.job("job").key.to_string();
    let gateway = gateway(&mut rig).await;
    let found = search(&gateway, json!({"sort": by_element()})).await;
    assert_eq!(elements(&found), SORTED);
    assert_eq!(found["page"]["totalItems"], 6);
    let wait_state = |at: usize| {
        let item = &found["items"][at];
        (item["elementType"].as_str(), item["details"].clone())
    };
    let task = &found["items"][0]["details"]["taskKey"];
    for (at, element_type, details) in [
        (
            0,
            "USER_TASK",
            json!({"waitStateType": "USER_TASK", "taskKey": task, "dueDate": null}),
        ),
        (
            1,
            "INTERMEDIATE_CATCH_EVENT",
            json!({"waitStateType": "TIMER", "dueDate": 1_767_225_660_000i64, "repetitions": 1}),
        ),
        (
            2,
            "BOUNDARY_EVENT",
            json!({"waitStateType": "MESSAGE", "messageName": "told", "correlationKey": "o-1"}),
        ),
        (
            3,
            "INTERMEDIATE_CATCH_EVENT",
            json!({"waitStateType": "CONDITION", "expression": "late = true", "events": ["update"]}),
        ),
        (
            4,
            "INTERMEDIATE_CATCH_EVENT",
            json!({"waitStateType": "SIGNAL", "signalName": "go"}),
        ),
        (
            5,
            "SERVICE_TASK",
            json!({"waitStateType": "JOB", "jobKey": job, "jobType": "job", "jobKind": "BPMN_ELEMENT",
                "listenerEventType": "UNSPECIFIED", "retries": 3}),
        ),
    ] {
        assert_eq!(wait_state(at), (Some(element_type), details));
    }
    let items = found["items"].as_array().expect("items");
    for item in items {
        let process = if item["elementId"] == "signal" {
            "called"
        } else {
            "waits"
        };
        assert_eq!(item["bpmnProcessId"], process);
        assert_eq!(item["tenantId"], "<default>");
        assert_eq!(item["rootProcessInstanceKey"], instance.to_string());
    }
    // A boundary event has the element instance that it is attached to.
    assert_eq!(
        items[2]["elementInstanceKey"],
        items[5]["elementInstanceKey"]
    );
}

#[tokio::test]
async fn filters_choose_among_all_kinds() {
    let (mut rig, instance) = waiting();
    let gateway = gateway(&mut rig).await;
    for (filter, expected) in [
        (
            json!({"processInstanceKey": instance.to_string()}),
            &["ask", "later", "news", "once", "work"][..],
        ),
        (
            json!({"rootProcessInstanceKey": instance.to_string()}),
            &SORTED,
        ),
        (
            json!({"rootProcessInstanceKey": {"$neq": instance.to_string()}}),
            &[],
        ),
        (
            json!({"elementId": {"$in": ["work", "later"]}}),
            &["later", "work"],
        ),
        (
            json!({"elementId": {"$like": "*s*"}}),
            &["ask", "news", "signal"],
        ),
        (json!({"elementType": "USER_TASK"}), &["ask"]),
        (
            json!({"elementType": {"$like": "*EVENT"}}),
            &["later", "news", "once", "signal"],
        ),
        (
            json!({"elementType": {"$neq": "USER_TASK"}, "waitStateType": "job"}),
            &["work"],
        ),
        (
            json!({"waitStateType": {"$in": ["TIMER", "MESSAGE", "USER_TASK"]}}),
            &["ask", "later", "news"],
        ),
        (
            json!({"waitStateType": {"$like": "*I*N*"}}),
            &["once", "signal"],
        ),
        (json!({"waitStateType": {"$exists": false}}), &[]),
        (
            json!({"waitStateType": {"$exists": true}, "elementInstanceKey": {"$exists": true}}),
            &SORTED,
        ),
        (json!({"elementInstanceKey": "1"}), &[]),
    ] {
        let found = search(&gateway, json!({"filter": filter, "sort": by_element()})).await;
        assert_eq!(elements(&found), expected, "{filter}");
        assert_eq!(found["page"]["totalItems"], expected.len(), "{filter}");
    }
}

/// Page by page, forwards and backwards, with each sort and by offset.
#[tokio::test]
async fn pages_go_across_all_kinds() {
    let (mut rig, _) = waiting();
    rig.create("waits", r#"{"order": "o-2"}"#);
    let gateway = gateway(&mut rig).await;
    for sort in [
        json!([]),
        by_element(),
        json!([{"field": "rootProcessInstanceKey", "order": "DESC"}]),
        json!([{"field": "processInstanceKey"}, {"field": "elementId", "order": "DESC"}]),
        json!([{"field": "elementInstanceKey", "order": "DESC"}]),
    ] {
        let all = search(&gateway, json!({"sort": sort})).await;
        let all = all["items"].as_array().expect("items").clone();
        assert_eq!(all.len(), 12);
        let (mut page, mut walked) = (json!({"limit": 5}), Vec::new());
        let mut last = Value::Null;
        for from in [0, 5, 10] {
            let found = search(&gateway, json!({"sort": sort, "page": page})).await;
            let by_offset = json!({"from": from, "limit": 5});
            let same = search(&gateway, json!({"sort": sort, "page": by_offset})).await;
            assert_eq!(found, same, "{sort} from {from}");
            assert_eq!(found["page"]["totalItems"], 12);
            walked.extend(found["items"].as_array().expect("items").clone());
            page = json!({"limit": 5, "after": found["page"]["endCursor"]});
            last = found["page"]["startCursor"].clone();
        }
        assert_eq!(walked, all, "{sort}");
        let before = json!({"limit": 5, "before": last});
        let found = search(&gateway, json!({"sort": sort, "page": before})).await;
        assert_eq!(found["items"], json!(all[5..10]), "{sort}");
    }
}

/// A non-interrupting boundary event still waits after its message has arrived.
#[tokio::test]
async fn an_event_that_occurred_is_no_longer_waited_for_unless_it_may_recur() {
    let (mut rig, instance) = waiting();
    rig.publish("told", "o-1", 0, "{}");
    rig.broadcast("go", "{}");
    rig.advance(60_000);
    rig.work("job", "{}");
    let gateway_after = gateway(&mut rig).await;
    let found = search(&gateway_after, json!({"sort": by_element()})).await;
    assert_eq!(elements(&found), ["ask", "once"]);

    let (mut rig, again) = waiting();
    assert_eq!(again, instance, "the same story");
    rig.publish("told", "o-1", 0, "{}");
    let gateway = gateway(&mut rig).await;
    let found = search(&gateway, json!({"sort": by_element()})).await;
    assert_eq!(elements(&found), SORTED);
    let path = format!("/v2/process-instances/{again}/statistics/wait-states");
    let counted = send(gateway.rest, "GET", &path, None, "").await.json();
    let counts = ["ask", "later", "news", "once", "work"];
    let counts = counts.map(|id| json!({"elementId": id, "waitingCount": 1}));
    assert_eq!(counted["items"], json!(counts));
}

#[tokio::test]
async fn other_filters_and_sorts_are_refused() {
    let (mut rig, _) = waiting();
    let gateway = gateway(&mut rig).await;
    for (body, detail) in [
        (r#"{"filter": {"tenantId": "a"}}"#, "'filter.tenantId'"),
        (r#"{"filter": {"key": "1"}}"#, "'filter.key'"),
        (
            r#"{"filter": {"waitStateType": "OTHER"}}"#,
            "JOB, MESSAGE, USER_TASK, TIMER, SIGNAL, CONDITION",
        ),
        (
            r#"{"filter": {"elementType": {"$notIn": ["TASK"]}}}"#,
            "$eq, $neq, $exists, $in, $like",
        ),
        (r#"{"sort": [{"field": "elementType"}]}"#, "elementType"),
        (r#"{"page": {"from": 9990, "limit": 11}}"#, "10000"),
        (r#"{"page": {"after": "eA=="}}"#, "cursor"),
    ] {
        let answer = post(gateway.rest, PATH, body).await;
        let (status, _, text) = answer.problem();
        assert_eq!(status, 400, "{body}");
        assert!(text.contains(detail), "{body}: {text}");
    }
}
