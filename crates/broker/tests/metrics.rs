//! Metrics of work: everything is counted once, also over a restart.

mod support;

use skep_protocol::origin::Claims;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::registry::Registry;
use skep_broker::Broker;
use skep_broker::metrics::{BrokerMetrics, WorkCounter};
use skep_engine::Noted;
use skep_engine::state::{RowStore, State, StoreError};
use skep_protocol::batch::Kind;
use skep_protocol::command::{
    AwaitResult, BatchCommand, Command, CreateBatchOperation, DecisionRef, Deploy,
    EvaluateDecision, FailJob, Request, Resource,
};
use skep_protocol::record::RecordType;
use skep_protocol::value::{BatchOperationType, BatchPlan};
use skep_protocol::{Document, Key, ValueType};
use skep_service::Broker as _;
use support::{Rig, create, jobs, one_task};

fn scrape(broker: &Broker) -> String {
    broker.refresh_metrics();
    let mut registry = Registry::default();
    broker.metrics().register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

/// The value of a series; labels may be in any order, and some may be left out.
fn value(text: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let line = text.lines().find(|line| {
        let rest = line.strip_prefix(name);
        let of_name = rest.is_some_and(|rest| rest.starts_with(['{', ' ']));
        let has = |(label, value): &(&str, &str)| line.contains(&format!("{label}=\"{value}\""));
        of_name && labels.iter().all(has)
    });
    line?.rsplit(' ').next()?.parse().ok()
}

/// Name, some labels, value.
type Series<'a> = (&'a str, &'a [(&'a str, &'a str)], f64);

/// Counting follows the answers, so a look right after an answer may come too early.
async fn shows(broker: &Broker, expected: &[Series<'_>]) {
    let deadline = std::time::Instant::now() + Duration::from_secs(180);
    loop {
        let text = scrape(broker);
        let wrong = expected
            .iter()
            .find(|(name, labels, wanted)| value(&text, name, labels) != Some(*wanted));
        let Some(wrong) = wrong else { return };
        assert!(
            std::time::Instant::now() < deadline,
            "{wrong:?} not in\n{text}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const ELEMENTS: &str = "zeebe_element_instance_events_total";
const INSTANCES: &str = "zeebe_executed_instances_total";
const JOBS: &str = "zeebe_job_events_total";

#[tokio::test(flavor = "multi_thread")]
async fn instances_elements_and_jobs_are_counted_by_their_life_cycle() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    for _ in 0..3 {
        rig.create("one-task", "{\"text\":\"0123456789\"}")
            .await
            .unwrap();
    }
    for job in rig.activate(2, Duration::ZERO).await {
        rig.complete(job.key).await.unwrap();
    }
    let work = |action| {
        [
            ("type", "work"),
            ("job_kind", "BPMN_ELEMENT"),
            ("action", action),
        ]
    };
    let process = |action| [("type", "PROCESS"), ("action", action)];
    let root = |action| [("type", "ROOT_PROCESS_INSTANCE"), ("action", action)];
    shows(
        &rig.broker,
        &[
            (INSTANCES, &root("activated"), 3.0),
            (INSTANCES, &root("completed"), 2.0),
            (ELEMENTS, &process("activated"), 3.0),
            (ELEMENTS, &process("completed"), 2.0),
            (
                ELEMENTS,
                &[
                    ("type", "START_EVENT"),
                    ("eventType", "NONE"),
                    ("action", "completed"),
                ],
                3.0,
            ),
            (
                ELEMENTS,
                &[
                    ("type", "SERVICE_TASK"),
                    ("eventType", "UNSPECIFIED"),
                    ("action", "completed"),
                ],
                2.0,
            ),
            (JOBS, &work("created"), 3.0),
            (JOBS, &work("activated"), 2.0),
            (JOBS, &work("completed"), 2.0),
            (
                "zeebe_process_instance_creations_total",
                &[("creation_mode", "creation_at_default_start_event")],
                3.0,
            ),
            (
                "zeebe_process_instance_execution_time_seconds_count",
                &[],
                2.0,
            ),
            ("zeebe_job_activation_time_seconds_count", &[], 2.0),
            ("zeebe_job_life_time_seconds_count", &[], 2.0),
            (
                "zeebe_execution_latency_current_cached_instances",
                &[("type", "jobs")],
                1.0,
            ),
            (
                "zeebe_execution_latency_current_cached_instances",
                &[("type", "processInstances")],
                1.0,
            ),
            (
                "zeebe_variable_created_size_sum",
                &[("bpmnProcessId", "one-task")],
                36.0,
            ),
            (
                "zeebe_log_appender_record_appended_total",
                &[
                    ("recordType", "EVENT"),
                    ("valueType", "JOB"),
                    ("intent", "COMPLETED"),
                ],
                2.0,
            ),
            (
                "zeebe_stream_processor_processing_duration_seconds_count",
                &[("valueType", "JOB"), ("intent", "COMPLETE")],
                2.0,
            ),
            (
                "zeebe_flow_control_total",
                &[("context", "userCommand"), ("outcome", "accepted")],
                // the deployment, three creations, one activation, two completions
                7.0,
            ),
            (
                "zeebe_stream_processor_records_total",
                &[("action", "skipped")],
                0.0,
            ),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn called_and_cancelled_instances_are_counted_apart_from_completed_roots() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    let key = rig.create("one-task", "{}").await.unwrap();
    let cancel = Command::CancelProcessInstance {
        process_instance_key: key,
    };
    rig.send(cancel).await.unwrap();
    shows(
        &rig.broker,
        &[
            (INSTANCES, &[("action", "terminated")], 1.0),
            (
                ELEMENTS,
                &[("type", "SERVICE_TASK"), ("action", "terminated")],
                1.0,
            ),
            (JOBS, &[("action", "canceled")], 1.0),
            ("zeebe_job_life_time_seconds_count", &[], 1.0),
        ],
    )
    .await;
    assert_eq!(
        value(&scrape(&rig.broker), INSTANCES, &[("action", "completed")]),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_job_is_activated_and_pushed_and_one_that_waits_is_announced() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    shows(
        &rig.broker,
        &[(JOBS, &[("action", "workers notified")], 1.0)],
    )
    .await;
    let mut stream = rig.broker.open_job_stream(jobs(10), Claims::Internal);
    std::future::poll_fn(|cx| stream.poll_recv(cx))
        .await
        .unwrap();
    shows(
        &rig.broker,
        &[
            (JOBS, &[("action", "activated")], 1.0),
            (JOBS, &[("action", "pushed")], 1.0),
            ("zeebe_broker_jobs_pushed_count_total", &[], 1.0),
            ("zeebe_broker_open_job_stream_count", &[], 1.0),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn incidents_are_counted_when_they_come_and_when_they_go() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    shows(
        &rig.broker,
        &[("zeebe_incident_events_total", &[("action", "created")], 0.0)],
    )
    .await;
    rig.create("one-task", "{}").await.unwrap();
    let job_key = rig.activate(1, Duration::ZERO).await[0].key;
    let fail = FailJob {
        job_key,
        retries: 0,
        retry_back_off: 0,
        error_message: "broken".into(),
        variables: Default::default(),
    };
    rig.send(Command::FailJob(fail)).await.unwrap();
    shows(
        &rig.broker,
        &[
            ("zeebe_incident_events_total", &[("action", "created")], 1.0),
            ("zeebe_pending_incidents", &[("partition", "1")], 1.0),
            (JOBS, &[("action", "failed")], 1.0),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluated_decisions_are_counted_and_those_that_fail() {
    const DECISIONS: &str = "zeebe_evaluated_dmn_elements_total";
    let rig = Rig::new(|_| {}).await;
    let dmn = r##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="f" name="f" namespace="n">
        <decision id="fee" name="fee"><informationRequirement><requiredDecision href="#base"/></informationRequirement>
        <literalExpression><text>assert(base, x != null)</text></literalExpression></decision>
        <decision id="base" name="base"><literalExpression><text>1</text></literalExpression></decision></definitions>"##;
    let resources = vec![Resource {
        name: "f.dmn".into(),
        content: dmn.into(),
    }];
    let deployed = rig.send(Command::Deploy(Deploy { resources })).await;
    deployed.unwrap();
    for variables in [r#"{"x":1}"#, "{}"] {
        let evaluate = EvaluateDecision {
            decision: DecisionRef::Id("fee".into()),
            variables: Document::parse(variables).unwrap(),
        };
        rig.send(Command::EvaluateDecision(evaluate)).await.unwrap();
    }
    shows(
        &rig.broker,
        &[
            (DECISIONS, &[("action", "evaluated_successfully")], 3.0),
            (DECISIONS, &[("action", "evaluated_failed")], 1.0),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replayed_records_are_not_counted_again() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    shows(
        &rig.broker,
        &[
            ("zeebe_command_distributions_total", &[], 1.0),
            (
                "zeebe_command_distributions_acknowledged_received_total",
                &[("targetPartition", "2")],
                1.0,
            ),
            ("zeebe_command_distributions_active", &[], 0.0),
        ],
    )
    .await;
    let rig = rig.restart(|config| config.partitions = 2).await;
    let text = scrape(&rig.broker);
    assert_eq!(value(&text, INSTANCES, &[]), None, "{text}");
    for job in rig.activate(1, Duration::ZERO).await {
        rig.complete(job.key).await.unwrap();
    }
    shows(
        &rig.broker,
        &[
            (INSTANCES, &[("action", "completed")], 1.0),
            (JOBS, &[("action", "completed")], 1.0),
        ],
    )
    .await;
}

#[test]
fn every_kind_of_record_is_counted_under_its_own_name() {
    let families = BrokerMetrics::default();
    let metrics = families.partition(1);
    let state = State::open(1, Arc::new(Nothing)).unwrap();
    let mut work = WorkCounter::new(&families.work, 1);
    let mut noted = Noted::default();
    for record_type in [RecordType::Event, RecordType::CommandRejection] {
        for value_type in ValueType::ALL {
            noted.kinds.push(Kind {
                record_type,
                value_type,
                intent: 0,
            });
        }
    }
    work.committed(&noted, 100, &state, &metrics);
    let mut registry = Registry::default();
    families.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for kind in noted.kinds {
        let labels = [
            ("recordType", kind.record_type.name()),
            ("valueType", kind.value_type.name()),
        ];
        let counted = value(&text, "zeebe_log_appender_record_appended_total", &labels);
        assert_eq!(counted, Some(1.0), "{labels:?}");
    }
}

/// An empty store.
struct Nothing;

impl RowStore for Nothing {
    fn get(&self, _: u8, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    fn scan(
        &self,
        _: u8,
        _: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn job_types_beyond_the_bound_share_one_series() {
    let rig = Rig::new(|_| {}).await;
    let process = skep_model::builder::Bpmn::process("any-type")
        .start("start")
        .service_task("task", "=kind")
        .end("end");
    rig.deploy(&process).await;
    for n in 0..1010 {
        let variables = format!("{{\"kind\":\"kind-{n}\"}}");
        rig.create("any-type", &variables).await.unwrap();
    }
    shows(
        &rig.broker,
        &[(JOBS, &[("type", "(other)"), ("action", "created")], 10.0)],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_awaits_its_result_is_counted_as_a_creation() {
    let rig = Rig::new(|_| {}).await;
    let straight = skep_model::builder::Bpmn::process("straight")
        .start("start")
        .end("end");
    rig.deploy(&straight).await;
    let await_result = AwaitResult {
        fetch_variables: vec![],
    };
    rig.send(create("straight", "{}", Some(await_result)))
        .await
        .unwrap();
    shows(
        &rig.broker,
        &[
            (INSTANCES, &[("action", "completed")], 1.0),
            ("zeebe_process_instance_creations_total", &[], 1.0),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_records_and_the_exporters_positions_are_measured() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    for _ in 0..3 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let jobs = [("action", "exported"), ("valueType", "JOB")];
    let job_rows = [("statementId", "job")];
    shows(
        &rig.broker,
        &[
            ("zeebe_exporter_events_total", &jobs, 3.0),
            ("zeebe_exporting_latency_seconds_count", &jobs[1..], 3.0),
            (
                "zeebe_exporter_exporting_duration_seconds_count",
                &[("exporter", "secondary-storage"), ("valueType", "JOB")],
                3.0,
            ),
            ("zeebe_exporter_state", &[], 0.0),
            ("zeebe_flow_control_write_rate_limit", &[], -1.0),
            ("skep_exporter_failing", &[], 0.0),
            ("skep_exporter_failures_total", &[], 0.0),
            (
                "zeebe_rdbms_exporter_executed_queue_item_total",
                &job_rows,
                3.0,
            ),
        ],
    )
    .await;
    let text = scrape(&rig.broker);
    let secondary = [("exporter", "secondary-storage")];
    assert_eq!(
        value(&text, "zeebe_exporter_last_exported_position", &secondary),
        value(&text, "zeebe_log_appender_last_committed_position", &[]),
    );
    let available = value(&text, "skep_data_availability_seconds_count", &secondary);
    let flushes = value(
        &text,
        "zeebe_rdbms_exporter_flush_duration_seconds_count",
        &[],
    );
    assert!(available >= Some(4.0) && flushes >= Some(1.0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_the_write_limit_refuses_are_counted() {
    let rig = Rig::new(|config| {
        config.write_limit.enabled = true;
        config.write_limit.limit = 1;
    })
    .await;
    let limit = ("zeebe_flow_control_write_rate_limit", &[][..], 1.0);
    shows(&rig.broker, &[limit]).await;
    let mut refused = 0.0;
    while refused < 3.0 {
        let answer = rig.send(create("nothing", "{}", None)).await;
        if let Err(skep_protocol::Failure::ResourceExhausted(why)) = answer {
            assert!(why.contains("write.limit"), "{why}");
            refused += 1.0;
        }
    }
    let refusals = [
        ("context", "userCommand"),
        ("outcome", "writeRateLimitExhausted"),
    ];
    shows(
        &rig.broker,
        &[("zeebe_flow_control_total", &refusals, refused)],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_beyond_the_share_of_their_tenant_are_counted_by_themselves() {
    let rig = Rig::new(|config| config.flow_control.tenant_share = 0.01).await;
    let status = rig.broker.partitions()[0].status.clone();
    status.processing_paused.store(true, Ordering::Relaxed);
    // One request may always be in flight.
    let _first = rig
        .broker
        .execute(Request::internal(create("nothing", "{}", None)));
    for _ in 0..3 {
        let answer = rig.send(create("nothing", "{}", None)).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    let of = |outcome| [("context", "userCommand"), ("outcome", outcome)];
    shows(
        &rig.broker,
        &[
            ("zeebe_flow_control_total", &of("tenantShareExhausted"), 3.0),
            (
                "zeebe_flow_control_total",
                &of("requestLimitExhausted"),
                0.0,
            ),
            ("zeebe_dropped_request_count_total", &[], 3.0),
        ],
    )
    .await;
}

/// The cause of excessive work of a partition can be stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_operation_can_be_suspended_and_cancelled_where_new_work_is_refused() {
    let rig = Rig::new(|config| {
        config.write_limit.enabled = true;
        config.write_limit.limit = 1;
    })
    .await;
    let key = Key::new(1, 1);
    let is_refused = async |command| {
        let answer = rig.send(command).await;
        matches!(answer, Err(skep_protocol::Failure::ResourceExhausted(_)))
    };
    let resume = || BatchCommand::Resume {
        batch_operation_key: key,
    };
    while !is_refused(Command::Batch(resume())).await {}
    let stops = [
        BatchCommand::Suspend {
            batch_operation_key: key,
        },
        BatchCommand::Cancel {
            batch_operation_key: key,
        },
    ];
    for command in stops {
        assert!(!is_refused(Command::Batch(command)).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_operation_is_counted_from_its_creation_to_its_end() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    for _ in 0..4 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let command = CreateBatchOperation {
        kind: BatchOperationType::CancelProcessInstance,
        filter: r#"{"processDefinitionId": "one-task"}"#.into(),
        plan: BatchPlan::None,
        follow_up: None,
    };
    let command = Command::Batch(BatchCommand::Create(Box::new(command)));
    rig.send(command).await.unwrap();
    let kind = ("type", "CANCEL_PROCESS_INSTANCE");
    let event = |action| [("partition", "1"), kind, ("action", action)];
    let of_two = [("partition", "2"), kind];
    let items = "zeebe_batchoperations_items_sum";
    let events = "zeebe_batchoperations_events_total";
    shows(
        &rig.broker,
        &[
            (events, &event("created"), 1.0),
            (events, &event("initialized"), 1.0),
            (events, &event("chunkCreated"), 1.0),
            (events, &event("execute"), 1.0),
            (events, &event("completed"), 1.0),
            (items, &of_two, 2.0),
            ("zeebe_batchoperations_duration_seconds_count", &of_two, 1.0),
            ("zeebe_command_distributions_active", &[], 0.0),
            (
                "zeebe_command_distributions_pending",
                &[("targetPartition", "2")],
                0.0,
            ),
        ],
    )
    .await;
    let text = scrape(&rig.broker);
    let sent = value(
        &text,
        "zeebe_command_distributions_acknowledged_sent_total",
        &[("targetPartition", "1")],
    );
    assert!(sent >= Some(2.0), "deployment, batch operation: {text}");
}
