//! Members of 8.10 in answers, besides those of 8.9.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_gateway::Tenancy;
use skep_model::builder::Bpmn;
use skep_protocol::ActivatedJob;
use skep_protocol::command::Command;

use crate::fake::{Running, job, start, start_over, start_with};
use crate::http::{post, send};
use crate::searches::Stored;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

/// A job of an instance with a business id, and one of an instance without.
async fn gateway() -> Running {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("work", "job")
            .end("e"),
    );
    let mut named = Rig::creation("p", "{}");
    named.business_id = Some("B-7".to_string());
    rig.send(Command::CreateProcessInstance(named))
        .expect("an instance");
    rig.create("p", "{}");
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), |_| {}).await
}

async fn items(gateway: &Running, path: &str, body: Value) -> Vec<Value> {
    let found = post(gateway.rest, path, &body.to_string()).await;
    assert_eq!(found.status, 200, "{body}: {}", found.text);
    found.json()["items"].as_array().expect("items").clone()
}

#[tokio::test]
async fn jobs_have_the_business_id_of_their_instance_and_no_priority() {
    let gateway = gateway().await;
    let path = "/v2/jobs/search";
    for order in ["ASC", "DESC"] {
        let sort = json!([{"field": "priority", "order": order}, {"field": "creationTime"}]);
        let jobs = items(&gateway, path, json!({"sort": sort})).await;
        let members: Vec<_> = jobs
            .iter()
            .map(|job| (&job["businessId"], &job["priority"]))
            .collect();
        assert_eq!(
            members,
            [(&json!("B-7"), &json!(0)), (&Value::Null, &json!(0))]
        );
    }
    // No value matches a priority that was never set.
    for (filter, count) in [(json!(0), 0), (json!({"$exists": false}), 2)] {
        let jobs = items(&gateway, path, json!({"filter": {"priority": filter}})).await;
        assert_eq!(jobs.len(), count, "{filter}");
    }
}

#[tokio::test]
async fn no_instance_is_suspended() {
    let gateway = gateway().await;
    let path = "/v2/process-instances/search";
    for (filter, count) in [
        (json!({}), 2),
        (json!({"suspendedDate": {"$exists": true}}), 0),
    ] {
        let sort = json!([{"field": "suspendedDate"}]);
        let found = items(&gateway, path, json!({"filter": filter, "sort": sort})).await;
        assert_eq!(found.len(), count, "{filter}");
        assert!(found.iter().all(|one| one["suspendedDate"] == Value::Null));
    }
}

#[tokio::test]
async fn activated_jobs_have_the_members_of_8_10_and_no_lease() {
    let gateway = start().await;
    let named = ActivatedJob {
        business_id: Some("B-7".into()),
        ..job(1)
    };
    for (offered, business_id) in [(named, json!("B-7")), (job(2), Value::Null)] {
        gateway.broker.jobs.lock().push(offered);
        let body = r#"{"type": "pay", "timeout": 1000, "maxJobsToActivate": 1}"#;
        let answer = post(gateway.rest, "/v2/jobs/activation", body).await;
        let job = answer.json()["jobs"][0].clone();
        assert_eq!(job["businessId"], business_id, "{job}");
        assert_eq!(
            (&job["priority"], &job["physicalTenantId"]),
            (&json!(0), &json!("default"))
        );
        // A client would send it back.
        assert!(job.get("jobLeaseToken").is_none(), "{job}");
    }
}

#[tokio::test]
async fn the_configuration_has_the_members_of_8_10() {
    let gateway = start_with(|config| config.multipart.max_size = 4711).await;
    let configuration = send(gateway.rest, "GET", "/v2/system/configuration", None, "")
        .await
        .json();
    assert_eq!(configuration["components"], json!({"active": []}));
    let deployment = json!({"isMultiTenancyEnabled": false, "maxRequestSize": 4711});
    assert_eq!(configuration["deployment"], deployment);
    let authentication = json!({"canLogout": false, "isLoginDelegated": false});
    assert_eq!(configuration["authentication"], authentication);
    assert_eq!(configuration["cloud"], json!({"stage": null}));
}

#[tokio::test]
async fn the_configuration_says_whether_tenants_are_kept_apart() {
    let gateway = start_with(|config| config.security.tenancy = Tenancy::On).await;
    let configuration = send(gateway.rest, "GET", "/v2/system/configuration", None, "")
        .await
        .json();
    assert_eq!(
        configuration["deployment"]["isMultiTenancyEnabled"],
        json!(true)
    );
}
