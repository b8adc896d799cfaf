//! Back-pressure: refused requests, their error texts, and requests that are never refused.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skep_broker::flow_control::{Algorithm, Fixed, FlowControlConfig, MAX_WAITING};
use skep_broker::partition::{PartitionStatus, Report};
use skep_protocol::command::{Draft, Held, IdentityCommand, Membership, NewParent, Request};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::{EntityType, Member};
use skep_protocol::{Command, Document, Failure, Key, TenantId};
use skep_service::{Answer, Broker as _};
use support::{Rig, create, one_task};

fn fixed(limit: u32) -> FlowControlConfig {
    FlowControlConfig {
        algorithm: Algorithm::Fixed,
        fixed: Fixed { limit },
        ..FlowControlConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_creations_are_refused_and_completions_are_not() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    for _ in 0..20 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let jobs = rig.activate(20, Duration::ZERO).await;
    let status = rig.broker.partitions()[0].status.clone();
    status.limit.reconfigure(&fixed(2));
    // Nothing is processed, so nothing is answered: the requests stay in flight.
    status.processing_paused.store(true, Ordering::Relaxed);
    let mut accepted = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..5 {
        let mut reply = rig
            .broker
            .execute(Request::internal(create("one-task", "{}", None)));
        match reply.take_arrived_or_pending().await {
            Some(answer) => refused.push(answer.result.unwrap_err()),
            None => accepted.push(reply),
        }
    }
    assert_eq!((accepted.len(), refused.len()), (2, 3));
    for failure in refused {
        let Failure::ResourceExhausted(text) = failure else {
            panic!("{failure:?}")
        };
        assert!(
            text.contains("Partition 1") && text.contains("its limit now"),
            "{text}"
        );
    }
    let completions: Vec<_> = jobs
        .iter()
        .map(|job| {
            let variables = skep_protocol::Document::new();
            let command = skep_protocol::Command::CompleteJob {
                job_key: job.key,
                variables,
                result: None,
            };
            rig.broker.execute(Request::internal(command))
        })
        .collect();
    status.processing_paused.store(false, Ordering::Relaxed);
    // Wakes the partition.
    rig.broker.partitions()[0]
        .inbox
        .send(skep_broker::partition::Report::TakeSnapshot(None));
    for reply in completions {
        reply.await.result.unwrap();
    }
    for reply in accepted {
        reply.await.result.unwrap();
    }
}

trait Look {
    /// The answer, if the broker gave it immediately.
    fn take_arrived_now(&mut self) -> Option<Answer>;
    async fn take_arrived_or_pending(&mut self) -> Option<Answer>;
}

impl Look for skep_service::Reply {
    fn take_arrived_now(&mut self) -> Option<Answer> {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(self).poll(&mut cx) {
            std::task::Poll::Ready(answer) => Some(answer),
            std::task::Poll::Pending => None,
        }
    }

    /// The answer, if it arrives within 50 ms.
    async fn take_arrived_or_pending(&mut self) -> Option<Answer> {
        tokio::time::timeout(Duration::from_millis(50), self)
            .await
            .ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_nearly_full_disk_new_work_is_refused_and_jobs_are_completed() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let jobs = rig.activate(1, Duration::ZERO).await;
    // No disk has that much free space.
    let rig = rig
        .restart(|config| config.disk.processing = u64::MAX / 2)
        .await;
    let failure = rig.create("one-task", "{}").await.unwrap_err();
    let Failure::ResourceExhausted(text) = failure else {
        panic!("{failure:?}")
    };
    assert!(text.contains("MiB are free on the disk"), "{text}");
    // The refusal is counted in the back-pressure metric.
    let limit = &rig.broker.partitions()[0].status.limit;
    assert_eq!(limit.dropped.load(Ordering::Relaxed), 1);
    assert!(limit.received.load(Ordering::Relaxed) >= 1);
    rig.complete(jobs[0].key).await.unwrap();
    let rig = rig.restart(|_| {}).await;
    rig.create("one-task", "{}").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_tenant_gets_its_share_of_the_limit_and_others_are_not_affected() {
    let rig = Rig::new(|config| config.flow_control.tenant_share = 0.5).await;
    let paused = Paused::begin(&rig);
    let status = paused.status();
    status.limit.reconfigure(&fixed(4));
    let start = |tenant: &str| Request {
        tenant: TenantId::new(tenant),
        ..Request::internal(create("nothing", "{}", None))
    };
    let mut accepted = Vec::new();
    let mut refused = Vec::new();
    for tenant in ["acme", "acme", "acme", "globex", "acme", "", "globex"] {
        let mut reply = rig.broker.execute(start(tenant));
        match reply.take_arrived_or_pending().await {
            Some(answer) => refused.push(answer.result.unwrap_err()),
            None => accepted.push(tenant),
        }
        // In flight until it is answered.
        std::mem::forget(reply);
    }
    assert_eq!(accepted, ["acme", "acme", "globex", ""]);
    for (failure, said) in refused.iter().zip([
        "Partition 1 has 2 requests of the tenant 'acme' in flight",
        "skep.tenants.in-flight-share",
        "Partition 1 has 4 requests in flight, which is its limit now",
    ]) {
        let Failure::ResourceExhausted(text) = failure else {
            panic!("{failure:?}")
        };
        assert!(text.contains(said), "{text}");
    }
    let counted = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    assert_eq!(
        (
            counted(&status.limit.dropped),
            counted(&status.limit.of_tenants_refused)
        ),
        (3, 2)
    );
    // Commands that finish work are accepted, and commands without a tenant do not count towards any tenant's share.
    status.limit.reconfigure(&fixed(20));
    for _ in 0..8 {
        let by_key = Command::CancelProcessInstance {
            process_instance_key: Key::new(1, 77),
        };
        let mut reply = rig.broker.execute(Request::internal(by_key));
        assert!(reply.take_arrived_now().is_none());
        std::mem::forget(reply);
    }
    paused.resume();
    until("all are answered", || status.limit.inflight() == 0).await;
    let answer = rig.broker.execute(start("acme")).await;
    assert!(
        !matches!(answer.result, Err(Failure::ResourceExhausted(_))),
        "{answer:?}"
    );
}

/// A client, added to the tenant as a member.
async fn joins(rig: &Rig, client: &str, tenant: &str) -> Claims {
    let member = Member {
        entity_type: EntityType::Client,
        id: client.into(),
    };
    let membership = Membership {
        parent: tenant.into(),
        member,
    };
    let join = IdentityCommand::AddToTenant(membership);
    rig.send(Command::Identity(join)).await.unwrap();
    Claims::Client(Arc::new(Principal {
        id: client.into(),
        groups: None,
        token: "".into(),
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_by_key_count_for_the_sole_tenant_of_their_caller() {
    let rig = Rig::new(|config| config.flow_control.tenant_share = 0.5).await;
    for tenant in ["acme", "globex"] {
        let new = NewParent {
            id: tenant.into(),
            name: tenant.into(),
            description: "".into(),
        };
        let make = IdentityCommand::CreateTenant(new);
        rig.send(Command::Identity(make)).await.unwrap();
    }
    let sole = joins(&rig, "sole", "acme").await;
    joins(&rig, "both", "acme").await;
    let both = joins(&rig, "both", "globex").await;
    let paused = Paused::begin(&rig);
    let status = paused.status();
    status.limit.reconfigure(&fixed(4));
    let change = |by: &Claims| {
        let command = Command::SetVariables {
            element_instance_key: Key::new(1, 77),
            variables: Document::new(),
            local: false,
        };
        Draft::from(command).by(by.clone())
    };
    let finish = |by: &Claims| Draft::from(complete(Key::new(1, 78), 1)).by(by.clone());
    let accepts = async |request: Request| {
        let mut reply = rig.broker.execute(request);
        let answer = reply.take_arrived_or_pending().await;
        // In flight until it is answered.
        std::mem::forget(reply);
        match answer.map(|answer| answer.result) {
            None => true,
            Some(Err(Failure::ResourceExhausted(text))) => {
                assert!(text.contains("2 requests of the tenant 'acme'"), "{text}");
                false
            }
            Some(other) => panic!("{other:?}"),
        }
    };
    assert!(accepts(change(&sole)).await);
    // Commands that finish work are counted, but never refused.
    assert!(accepts(finish(&sole)).await);
    assert!(!accepts(change(&sole)).await);
    assert!(accepts(finish(&sole)).await);
    // The tenant of a caller with several tenants is ambiguous.
    assert!(accepts(change(&both)).await);
    paused.resume();
    until("all are answered", || status.limit.inflight() == 0).await;
}

/// A partition that takes no commands until [`Paused::go_on`].
struct Paused<'a>(&'a Rig);

impl Paused<'_> {
    fn status(&self) -> std::sync::Arc<PartitionStatus> {
        self.0.broker.partitions()[0].status.clone()
    }

    fn begin(rig: &Rig) -> Paused<'_> {
        let paused = Paused(rig);
        paused
            .status()
            .processing_paused
            .store(true, Ordering::Relaxed);
        paused
    }

    fn resume(&self) {
        self.status()
            .processing_paused
            .store(false, Ordering::Relaxed);
        self.0.broker.partitions()[0].inbox.send(Report::Wake);
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !condition() {
        assert!(Instant::now() < deadline, "not so: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn complete(job_key: Key, bytes: usize) -> Command {
    let variables = format!("{{\"x\":\"{}\"}}", "x".repeat(bytes));
    Command::CompleteJob {
        job_key,
        variables: Document::parse(&variables).unwrap(),
        result: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_whose_clients_have_gone_are_not_carried_out_and_hold_no_place() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let job = rig.activate(1, Duration::ZERO).await[0].key;
    let paused = Paused::begin(&rig);
    let (limit, capacity) = (
        &paused.status().limit,
        paused.status().inbox_capacity.clone(),
    );
    let patient = rig
        .broker
        .execute(Request::internal(create("one-task", "{}", None)));
    // The gateway's reservation for a request is released as soon as the partition has dropped it.
    let slot = Arc::new(());
    let held = Request {
        held: Held::new(slot.clone()),
        ..Request::internal(complete(job, 100))
    };
    let reply = rig.broker.execute(held);
    assert_eq!(Arc::strong_count(&slot), 2);
    drop(reply);
    for _ in 0..3 {
        drop(rig.broker.execute(Request::internal(complete(job, 100))));
        drop(
            rig.broker
                .execute(Request::internal(create("one-task", "{}", None))),
        );
    }
    until("only the patient client holds a place", || {
        (
            limit.inflight(),
            capacity.commands(),
            Arc::strong_count(&slot),
        ) == (1, 1, 1)
    })
    .await;
    // A request abandoned just before the partition continues, and not found by a check.
    drop(rig.broker.execute(Request::internal(complete(job, 100))));
    paused.resume();
    patient.await.result.unwrap();
    rig.complete(job).await.unwrap();
    assert_eq!(
        (limit.inflight(), capacity.commands(), capacity.bytes()),
        (0, 0, 0)
    );
    let created = rig.activate(10, Duration::ZERO).await;
    assert_eq!(created.len(), 1, "an abandoned creation was carried out");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_is_bounded_in_bytes_and_in_number() {
    let rig = Rig::new(|_| {}).await;
    let paused = Paused::begin(&rig);
    let capacity = paused.status().inbox_capacity.clone();
    for (bytes, accepted) in [(1 << 20, 60..=64), (10, MAX_WAITING..=MAX_WAITING)] {
        let mut waiting = Vec::new();
        let refused = loop {
            let mut reply = rig
                .broker
                .execute(Request::internal(complete(Key::new(1, 1), bytes)));
            match reply.take_arrived_now() {
                Some(answer) => break answer.result.unwrap_err(),
                None => waiting.push(reply),
            }
        };
        let Failure::ResourceExhausted(text) = refused else {
            panic!("{refused:?}")
        };
        assert!(
            text.contains("Partition 1 has") && text.contains("its processing is paused"),
            "{text}"
        );
        assert!(accepted.contains(&waiting.len()), "{}", waiting.len());
        drop(waiting);
        // The memory of a command is released just before its place.
        until("room and places are free again", || {
            (capacity.bytes(), paused.status().limit.inflight()) == (0, 0)
        })
        .await;
    }
    paused.resume();
}

/// As many clients as a partition takes evaluations at a time, each of which asks again at once.
#[tokio::test(flavor = "multi_thread")]
async fn evaluations_that_run_to_their_budget_refuse_no_creation() {
    const CLIENTS: usize = 100;
    let rig = Arc::new(Rig::new(|_| {}).await);
    rig.deploy(&one_task()).await;
    let (asked, over) = (Arc::new(AtomicUsize::new(0)), Arc::<AtomicBool>::default());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (rig, asked, over) = (rig.clone(), asked.clone(), over.clone());
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let expression = "=sum(for i in 1..n, j in 1..n, k in 1..n return i)";
                    let evaluated = rig.send(Command::EvaluateExpression {
                        expression: expression.into(),
                        variables: Document::parse(r#"{"n":2000}"#).unwrap(),
                    });
                    drop(evaluated.await);
                    asked.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        })
        .collect();
    until("all of them have asked", || {
        asked.load(Ordering::Relaxed) > 2 * CLIENTS
    })
    .await;
    for n in 0..156 {
        let created = rig.create("one-task", "{}").await;
        assert!(created.is_ok(), "{n}: {created:?}");
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        // It may wait for an answer, and is not to be waited for.
        client.abort();
        let panicked = client.await.is_err_and(|error| error.is_panic());
        assert!(!panicked);
    }
}
