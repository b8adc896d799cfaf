//! Kinds of jobs – work of an element, listener, ad-hoc sub-process – and the results of their workers.

use serde_json::json;
use skep_model::builder::Bpmn;
use skep_protocol::batch::BatchWriter;
use skep_protocol::command::*;
use skep_protocol::intent::JobIntent;
use skep_protocol::value::*;
use skep_protocol::{Document, Key, Rejection, Response};

use skep_testkit::rig::*;

const USER_TASK_HEADERS: &str =
    r#"{"io.camunda.zeebe:action":"complete","io.camunda.zeebe:priority":"50"}"#;

/// A rig with an instance whose service task has a job of this kind instead of its own.
fn with_job(kind: JobKind, headers: Option<&str>) -> (Rig, Key) {
    let process = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .header("own", "1")
        .end("e");
    let mut rig = Rig::with(process);
    let instance = rig.create("p", "{}");
    let own = rig.job("work");
    let task = rig.engine(1).state.elements.get(own.element_instance_key);
    let definition = task.unwrap().process_definition_key;
    let job = JobValue {
        job_type: "listen".into(),
        process_definition_key: definition,
        process_instance_key: instance,
        root_process_instance_key: instance,
        element: 2,
        element_instance_key: own.element_instance_key,
        retries: 3,
        extra: Some(Box::new(JobExtra {
            kind,
            headers: headers.map(Into::into),
            ..JobExtra::default()
        })),
        worker: "".into(),
        deadline: -1,
        error_message: "".into(),
        variables: vec![],
    };
    let partition = &mut rig.partitions[0];
    let key = partition.engine.state.next_key();
    let mut out = BatchWriter::new(partition.engine.next_position());
    out.event(own.key, JobIntent::Canceled, &job);
    out.event(key, JobIntent::Created, &job);
    let batch = out.take().unwrap();
    partition.engine.apply(&batch).unwrap();
    partition.twin.apply(&batch).unwrap();
    (rig, key)
}

fn complete(rig: &mut Rig, key: Key, result: JobResult) -> Result<Response, Rejection> {
    rig.send(Command::CompleteJob {
        job_key: key,
        variables: Document::new(),
        result: Some(Box::new(result)),
    })
}

#[test]
fn a_job_carries_its_kind_and_headers() {
    let kinds = [
        JobKind::ExecutionListener(ListenerEvent::Start),
        JobKind::TaskListener(ListenerEvent::Completing),
        JobKind::AdHocSubProcess,
    ];
    for kind in kinds {
        let (mut rig, _) = with_job(kind, Some(USER_TASK_HEADERS));
        let job = rig.job("listen");
        assert_eq!((job.kind, &*job.custom_headers), (kind, USER_TASK_HEADERS));
        let of_task = matches!(kind, JobKind::TaskListener(_));
        let priority = job.user_task.map(|task| (task.action, task.priority));
        assert_eq!(priority, of_task.then(|| ("complete".into(), Some(50))));
    }
}

#[test]
fn a_job_without_headers_has_those_of_its_element() {
    let (mut rig, _) = with_job(JobKind::AdHocSubProcess, None);
    assert_eq!(&*rig.job("listen").custom_headers, r#"{"own":"1"}"#);
}

#[test]
fn all_records_of_a_job_contain_its_kind() {
    let listener = r#"<zeebe:taskListener eventType="updating" type="listen"/>"#;
    let bpmn = Bpmn::process("q")
        .start("s")
        .user_task("ask")
        .extension(&format!(
            "<zeebe:taskListeners>{listener}</zeebe:taskListeners>"
        ));
    let mut rig = Rig::with(bpmn.end("e"));
    rig.create("q", "{}");
    let priority = Corrections {
        priority: Some(1),
        ..Corrections::default()
    };
    rig.send_async(Rig::task_update(rig.user_task(), priority));
    let job = rig.job("listen");
    let key = job.key;
    rig.fail(&job, 2, 100);
    rig.advance(MINUTE);
    let result = JobResult {
        denied: true,
        denied_reason: "no".into(),
        ..JobResult::default()
    };
    complete(&mut rig, key, result).unwrap();
    let records: Vec<_> = rig.events("JOB").filter(|r| r.key == key).collect();
    let intents: Vec<_> = records.iter().map(|r| r.intent).collect();
    let expected = ["CREATED", "FAILED", "RECURRED_AFTER_BACKOFF", "COMPLETED"];
    assert_eq!(intents, expected);
    for record in &records {
        assert_eq!(record.text("jobKind"), "TASK_LISTENER");
        assert_eq!(record.text("jobListenerEventType"), "UPDATING");
    }
    assert_eq!(records[1].field("retryBackoff"), &json!(100));
    assert_eq!(records[2].field("retryBackoff"), &json!(0));
    let result = records[3].field("result");
    assert_eq!(
        (&result["denied"], &result["deniedReason"]),
        (&json!(true), &json!("no"))
    );
}

#[test]
fn a_job_without_retries_has_the_incident_of_its_kind() {
    let start = ListenerEvent::Start;
    let expected = [
        (JobKind::BpmnElement, "JOB_NO_RETRIES"),
        (
            JobKind::ExecutionListener(start),
            "EXECUTION_LISTENER_NO_RETRIES",
        ),
        (
            JobKind::TaskListener(ListenerEvent::Creating),
            "TASK_LISTENER_NO_RETRIES",
        ),
        (JobKind::AdHocSubProcess, "AD_HOC_SUB_PROCESS_NO_RETRIES"),
    ];
    for (kind, incident) in expected {
        let (mut rig, key) = with_job(kind, None);
        let job = rig.job("listen");
        rig.fail(&job, 0, 0);
        let raised = rig.incident();
        assert_eq!(raised.kind, incident);
        rig.set_retries(key, 1).unwrap();
        rig.resolve(raised.key).unwrap();
        assert_eq!(rig.job("listen").key, key, "offered again");
    }
}

#[test]
fn a_listener_throws_no_error() {
    for kind in [
        JobKind::ExecutionListener(ListenerEvent::End),
        JobKind::TaskListener(ListenerEvent::Completing),
    ] {
        let (mut rig, key) = with_job(kind, None);
        let thrown = rig.send(Command::ThrowError(ThrowError {
            job_key: key,
            error_code: "E".into(),
            error_message: "".into(),
            variables: Document::new(),
        }));
        let (rejection, reason) = rejected(thrown);
        assert_eq!(rejection, "INVALID_STATE");
        assert!(reason.contains("of a listener"), "{reason}");
    }
}

#[test]
fn a_denied_result_must_not_have_corrections() {
    let (mut rig, key) = with_job(JobKind::TaskListener(ListenerEvent::Completing), None);
    let result = JobResult {
        denied: true,
        corrections: Corrections {
            priority: Some(1),
            assignee: Some("".into()),
            ..Corrections::default()
        },
        ..JobResult::default()
    };
    let (rejection, reason) = rejected(complete(&mut rig, key, result));
    assert_eq!(rejection, "INVALID_ARGUMENT");
    assert!(reason.contains("corrects assignee, priority"), "{reason}");
    assert_eq!(rig.job("listen").key, key, "it is still there");
}
