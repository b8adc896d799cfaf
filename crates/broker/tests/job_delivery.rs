//! Job streams and long polling: jobs go to clients with credit, and back when there is none.

mod support;

use skep_protocol::origin::Claims;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use skep_broker::partition::Report;
use skep_protocol::command::IdentityCommand;
use skep_protocol::origin::Principal;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::response::JobActivation;
use skep_protocol::value::{
    AuthorizationValue, OwnerType, PasswordHash, ResourceMatcher, UserValue,
};
use skep_protocol::{ActivatedJob, Command, Key, Response};
use skep_service::{Broker as _, JobReceiver};
use support::{PATIENCE, Rig, jobs, one_task};

async fn next(stream: &mut Box<dyn JobReceiver>) -> Option<ActivatedJob> {
    std::future::poll_fn(|cx| stream.poll_recv(cx)).await
}

async fn nothing_comes(stream: &mut Box<dyn JobReceiver>) -> bool {
    tokio::time::timeout(Duration::from_millis(100), next(stream))
        .await
        .is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gets_jobs_as_they_are_created_oldest_first() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    let waiting = rig.create("one-task", "{\"n\":0}").await.unwrap();
    let mut stream = rig.broker.open_job_stream(jobs(10), Claims::Internal);
    assert_eq!(
        next(&mut stream).await.unwrap().process_instance_key,
        waiting,
        "jobs that waited come too"
    );
    let mut created = Vec::new();
    for n in 1..=5 {
        created.push(
            rig.create("one-task", &format!("{{\"n\":{n}}}"))
                .await
                .unwrap(),
        );
    }
    for key in created {
        let job = next(&mut stream).await.unwrap();
        assert_eq!(job.process_instance_key, key);
        rig.complete(job.key).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_jobs_are_on_their_way_than_the_credit_and_the_rest_follows() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    let mut stream = rig.broker.open_job_stream(jobs(4), Claims::Internal);
    for _ in 0..50 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let pushed = || -> usize {
        let partitions = rig.broker.partitions().into_iter();
        let statuses = partitions.map(|p| p.status.clone());
        statuses
            .map(|s| s.jobs.activated.load(Ordering::Relaxed))
            .sum()
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(
        pushed() <= 4,
        "{} jobs activated for a credit of 4",
        pushed()
    );
    let mut seen = HashSet::new();
    for _ in 0..50 {
        let job = tokio::time::timeout(Duration::from_secs(180), next(&mut stream))
            .await
            .unwrap()
            .unwrap();
        assert!(seen.insert(job.key), "a job came twice");
    }
    assert!(nothing_comes(&mut stream).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_a_closed_stream_did_not_take_go_back_at_once() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    let stream = rig.broker.open_job_stream(jobs(10), Claims::Internal);
    let mut created = HashSet::new();
    for _ in 0..5 {
        created.insert(rig.create("one-task", "{}").await.unwrap());
    }
    drop(stream);
    let mut back = HashSet::new();
    while back.len() < 5 {
        for job in rig.activate(10, Duration::from_secs(180)).await {
            assert_eq!(job.retries, 3, "going back costs no retry");
            back.insert(job.process_instance_key);
        }
    }
    assert_eq!(back, created);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_poll_waits_for_a_job_and_a_short_one_does_not() {
    let rig = Rig::new(|config| config.partitions = 2).await;
    rig.deploy(&one_task()).await;
    assert!(rig.activate(1, Duration::ZERO).await.is_empty());
    let broker = rig.broker.clone();
    let poll = tokio::spawn(async move {
        broker
            .activate_jobs(jobs(1), Claims::Internal, Duration::from_secs(30))
            .await
    });
    let key = rig.create("one-task", "{}").await.unwrap();
    let found = poll.await.unwrap().unwrap();
    assert_eq!(found[0].process_instance_key, key);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_reach_the_polls_that_are_left_when_others_vanish() {
    let rig = Rig::new(|config| {
        config.partitions = 2;
        // Only announcements help.
        config.probe_interval = PATIENCE * 2;
    })
    .await;
    rig.deploy(&one_task()).await;
    let mut polls = Vec::new();
    for _ in 0..40 {
        let broker = rig.broker.clone();
        polls.push(tokio::spawn(async move {
            broker
                .activate_jobs(jobs(1), Claims::Internal, PATIENCE * 3)
                .await
        }));
    }
    let left = polls.split_off(20);
    let mut taken = 0;
    for poll in polls {
        rig.create("one-task", "{}").await.unwrap();
        poll.abort();
        if let Ok(found) = poll.await {
            assert_eq!(found.unwrap().len(), 1);
            taken += 1;
        }
    }
    for _ in 0..taken {
        rig.create("one-task", "{}").await.unwrap();
    }
    let mut seen = HashSet::new();
    for poll in left {
        let found = tokio::time::timeout(PATIENCE, poll).await;
        let found = found.expect("a job came").unwrap().unwrap();
        assert!(seen.insert(found[0].key), "a job came twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_on_their_way_to_a_poll_that_was_given_up_go_back() {
    // Abandoned requests are detected continuously, so also while an answer waits for its commit.
    let rig = Rig::new(|config| config.check_interval = Duration::from_millis(1)).await;
    rig.deploy(&one_task()).await;
    for _ in 0..100 {
        let key = rig.create("one-task", "{}").await.unwrap();
        // Abandoned at any time: before, while and after the partition answers.
        let wait = Duration::from_micros(u64::from(key.counter() as u32 % 7) * 100);
        let given_up = tokio::time::timeout(
            wait,
            rig.broker
                .activate_jobs(jobs(1), Claims::Internal, Duration::ZERO),
        )
        .await;
        let found: Vec<ActivatedJob> = match given_up {
            Ok(found) => found.unwrap(),
            Err(_) => Vec::new(),
        };
        let job: Key = match found.first() {
            Some(job) => job.key,
            None => rig.activate(1, Duration::from_secs(180)).await[0].key,
        };
        rig.complete(job).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_time_out_passed_is_offered_again() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let first = rig.activate(1, Duration::ZERO).await;
    assert!(rig.activate(1, Duration::ZERO).await.is_empty());
    rig.clock.add(61_000);
    let again = rig.activate(1, Duration::from_secs(180)).await;
    assert_eq!(again[0].key, first[0].key);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_ends_although_a_partition_does_not_answer_and_no_job_is_lost() {
    let short = Duration::from_millis(100);
    let rig = Rig::new(|config| config.poll_answer_timeout = short).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let paused = &rig.broker.partitions()[0].status.processing_paused;
    paused.store(true, Ordering::Relaxed);
    let poll = rig
        .broker
        .activate_jobs(jobs(1), Claims::Internal, Duration::from_millis(10));
    let failure = poll.await.unwrap_err();
    assert!(
        matches!(&failure, skep_protocol::Failure::DeadlineExceeded(text) if text.contains("Partition 1")),
        "{failure:?}"
    );
    paused.store(false, Ordering::Relaxed);
    rig.broker.partitions()[0].inbox.send(Report::Wake);
    // Jobs activated by the abandoned request are returned.
    assert_eq!(rig.activate(1, Duration::from_secs(180)).await.len(), 1);
}

/// Waits until this many jobs of the partition are activated.
async fn activated(rig: &Rig, partition: usize, jobs: usize) {
    let status = &rig.broker.partitions()[partition].status;
    let deadline = Instant::now() + Duration::from_secs(180);
    while status.jobs.activated.load(Ordering::Relaxed) != jobs {
        assert!(Instant::now() < deadline, "not {jobs} jobs with workers");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_given_up_at_the_second_partition_gives_back_the_jobs_of_the_first() {
    let rig = Rig::new(|config| {
        config.partitions = 2;
    })
    .await;
    rig.deploy(&one_task()).await;
    for _ in 0..2 {
        rig.create("one-task", "{}").await.unwrap();
    }
    let partitions = rig.broker.partitions();
    let [first, second] = &*partitions else {
        panic!("two partitions")
    };
    second
        .status
        .processing_paused
        .store(true, Ordering::Relaxed);
    // The first poll of a broker begins with partition 1.
    let broker = rig.broker.clone();
    let poll = tokio::spawn(async move {
        broker
            .activate_jobs(jobs(10), Claims::Internal, Duration::ZERO)
            .await
    });
    activated(&rig, 0, 1).await;
    poll.abort();
    assert!(poll.await.unwrap_err().is_cancelled());
    activated(&rig, 0, 0).await;
    assert_eq!(first.status.jobs.waiting.load(Ordering::Relaxed), 1);
    second
        .status
        .processing_paused
        .store(false, Ordering::Relaxed);
    second.inbox.send(Report::Wake);
    let mut found = HashSet::new();
    while found.len() < 2 {
        let jobs = rig.activate(10, Duration::from_secs(180)).await;
        assert!(!jobs.is_empty(), "jobs are lost until their time-out");
        found.extend(jobs.iter().map(|job| job.key));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_a_gateway_could_not_deliver_go_back() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let undelivered = rig.activate(1, Duration::ZERO).await;
    let late = JobActivation {
        deadline: undelivered[0].deadline - 1,
        ..undelivered[0].activation()
    };
    rig.broker.give_back(vec![late]);
    assert!(
        rig.activate(1, Duration::ZERO).await.is_empty(),
        "an earlier activation is not this one"
    );
    rig.broker.give_back(vec![undelivered[0].activation()]);
    let again = rig.activate(1, Duration::from_secs(180)).await;
    assert_eq!((again[0].key, again[0].retries), (undelivered[0].key, 3));
}

/// A gateway gives them back, and not their client: nobody's rights are asked for.
#[tokio::test(flavor = "multi_thread")]
async fn undelivered_jobs_go_back_though_their_client_has_lost_its_rights() {
    let rig = Rig::new(|config| config.engine.identity.authorizations = true).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let anna = UserValue {
        user_key: Key::NONE,
        username: "anna".into(),
        name: "".into(),
        email: "".into(),
        password: PasswordHash::default(),
    };
    let right = AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id("one-task".into()),
        permissions: vec![PermissionType::UpdateProcessInstance],
    };
    let identity = async |command| rig.send(Command::Identity(command)).await.unwrap();
    identity(IdentityCommand::CreateUser(anna)).await;
    let granted = identity(IdentityCommand::CreateAuthorization(right)).await;
    let Response::AuthorizationCreated { authorization_key } = granted else {
        panic!("{granted:?}");
    };
    let principal = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    let anna = Claims::User(principal.into());
    let poll = rig.broker.activate_jobs(jobs(1), anna, Duration::ZERO);
    let undelivered = poll.await.unwrap();
    assert_eq!(undelivered.len(), 1);
    identity(IdentityCommand::DeleteAuthorization { authorization_key }).await;
    rig.broker.give_back(vec![undelivered[0].activation()]);
    // Its time-out is 60 s.
    let again = rig.activate(1, Duration::from_secs(30)).await;
    assert_eq!((again[0].key, again[0].retries), (undelivered[0].key, 3));
}
