//! Requests and answers between nodes survive encoding and decoding.

use skep_protocol::command::{
    ActivateJobs, Command, CreateProcessInstance, Deploy, ProcessRef, Request, Resource,
};
use skep_protocol::findings::{Invalid, Rule};
use skep_protocol::record::encode;
use skep_protocol::response::{ActivatedJob, JobActivation, ProcessInstanceCreated};
use skep_protocol::value::JobKind;
use skep_protocol::{Document, Failure, Key, Rejection, RejectionType, Response, TenantId, record};

/// Commands cannot be compared; their debug output is complete.
fn as_received(request: &Request) -> String {
    let read: Request = record::decode(&encode(request)).unwrap();
    format!("{read:?}")
}

#[test]
fn requests_are_read_as_they_were_sent() {
    let variables = Document::parse(r#"{"a": 1.50, "b": {"c": ["x\u0041", null]}}"#).unwrap();
    let commands = [
        Command::Deploy(Deploy {
            resources: vec![Resource {
                name: "a.bpmn".into(),
                content: vec![0, 255, 7].into(),
            }],
        }),
        Command::CreateProcessInstance(CreateProcessInstance {
            process: ProcessRef::Id {
                bpmn_process_id: "order".into(),
                version: -1,
            },
            variables: variables.clone(),
            start_instructions: vec!["s".into()],
            terminate_after: vec![],
            tags: vec!["t".into()],
            business_id: Some("b".into()),
            await_result: None,
        }),
        Command::CompleteJob {
            job_key: Key(7),
            variables,
            result: None,
        },
        Command::ActivateJobs(ActivateJobs {
            job_type: "work".into(),
            max_jobs: 3,
            ..ActivateJobs::default()
        }),
        Command::ResetClock,
    ];
    for command in commands {
        let request = Request {
            operation_reference: Some(11),
            tenant: TenantId::new("t"),
            ..Request::internal(command)
        };
        assert_eq!(as_received(&request), format!("{request:?}"));
    }
}

#[test]
fn answers_are_read_as_they_were_sent() {
    let created = ProcessInstanceCreated {
        process_definition_key: Key(1),
        bpmn_process_id: "order".into(),
        version: 2,
        process_instance_key: Key(3),
        tags: ["a".to_string()].into(),
        business_id: None,
    };
    let job = ActivatedJob {
        key: Key(4),
        job_type: "work".into(),
        process_instance_key: Key(3),
        root_process_instance_key: Key(3),
        bpmn_process_id: "order".into(),
        process_definition_version: 1,
        process_definition_key: Key(1),
        element_id: "t".into(),
        element_instance_key: Key(5),
        custom_headers: "{}".into(),
        worker: "w".into(),
        retries: 3,
        deadline: 1_700_000_000_000,
        variables: r#"{"a":1}"#.into(),
        tags: [].into(),
        business_id: None,
        kind: JobKind::default(),
        user_task: None,
        tenant: TenantId::default(),
    };
    let activation = JobActivation {
        key: Key(4),
        deadline: 1_700_000_000_000,
    };
    assert_eq!(job.activation(), activation);
    let mut rejection = Rejection::new(RejectionType::NotFound, "COMPLETE", "no such job");
    rejection.findings = vec![Invalid::of_resource(
        "a.bpmn",
        Rule::NotAModel,
        "it is empty",
    )];
    let answers: [Result<Response, Failure>; 6] = [
        Ok(Response::Empty),
        Ok(Response::ProcessInstanceCreated(created)),
        Ok(Response::JobsActivated {
            jobs: vec![job],
            truncated: true,
        }),
        Err(Failure::Rejected(rejection)),
        Err(Failure::Aborted("perhaps".into())),
        Err(Failure::Unavailable("no leader".into())),
    ];
    for answer in answers {
        let read: Result<Response, Failure> = record::decode(&encode(&answer)).unwrap();
        assert_eq!(read, answer);
    }
}

#[test]
fn an_intent_of_another_version_is_unknown() {
    let sent = (
        RejectionType::InvalidState,
        "LATER",
        "reason",
        Vec::<Invalid>::new(),
    );
    let read: Rejection = record::decode(&encode(&sent)).unwrap();
    assert_eq!((read.intent, &*read.reason), ("UNKNOWN", "reason"));
}
