//! Jobs: activation, completion, failure, time-outs, updates.

use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::{ActivatedJob, Document, Key, Rejection, Response};
use skep_testkit::rig::*;

fn process() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
}

fn complete(rig: &mut Rig, key: Key) -> Result<Response, Rejection> {
    rig.send(Command::CompleteJob {
        job_key: key,
        variables: Document::new(),
        result: None,
    })
}

fn activate(
    rig: &mut Rig,
    change: impl FnOnce(&mut ActivateJobs),
) -> Result<Vec<ActivatedJob>, Rejection> {
    let mut command = ActivateJobs {
        job_type: "work".into(),
        worker: "w".into(),
        timeout: MINUTE,
        max_jobs: 10,
        fetch_variables: vec![],
        tenants: skep_protocol::Tenants::default(),
    };
    change(&mut command);
    match rig.send(Command::ActivateJobs(command))? {
        Response::JobsActivated { jobs, .. } => Ok(jobs),
        other => panic!("{other:?}"),
    }
}

#[test]
fn activation_takes_the_oldest_first_and_no_more_than_asked_for() {
    let mut rig = Rig::with(process());
    let created: Vec<Key> = (0..5).map(|_| rig.create("p", "{}")).collect();
    let jobs = activate(&mut rig, |c| c.max_jobs = 2).unwrap();
    let of: Vec<Key> = jobs.iter().map(|j| j.process_instance_key).collect();
    assert_eq!(of, created[..2]);
    let jobs = activate(&mut rig, |_| {}).unwrap();
    let of: Vec<Key> = jobs.iter().map(|j| j.process_instance_key).collect();
    assert_eq!(of, created[2..]);
    assert!(activate(&mut rig, |_| {}).unwrap().is_empty());
    assert_eq!(rig.intents("JOB_BATCH").len(), 2, "no batch without jobs");
}

#[test]
fn activation_fetches_only_the_variables_asked_for() {
    let mut rig = Rig::with(process());
    rig.create("p", r#"{"a":1,"b":2,"c":3}"#);
    let jobs = activate(&mut rig, |c| {
        c.fetch_variables = vec!["c".into(), "a".into(), "x".into()]
    })
    .unwrap();
    assert_eq!(jobs[0].variables, r#"{"a":1,"c":3}"#);
}

#[test]
fn activation_checks_its_arguments() {
    let mut rig = Rig::with(process());
    for change in [
        (|c| c.job_type = "".into()) as fn(&mut ActivateJobs),
        |c| c.timeout = 0,
        |c| c.max_jobs = 0,
    ] {
        let refused = activate(&mut rig, change).unwrap_err();
        assert_eq!(refused.kind.as_str(), "INVALID_ARGUMENT");
    }
}

#[test]
fn an_answer_is_bounded_in_bytes() {
    let mut rig = Rig::with(process());
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(1_000_000));
    for _ in 0..6 {
        rig.create("p", &large);
    }
    let first = activate(&mut rig, |_| {}).unwrap();
    assert!((1..6).contains(&first.len()), "{}", first.len());
    let rest = activate(&mut rig, |_| {}).unwrap();
    assert_eq!(first.len() + rest.len(), 6);
}

#[test]
fn a_job_completes_once() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    complete(&mut rig, job.key).unwrap();
    let (kind, reason) = rejected(complete(&mut rig, job.key));
    assert_eq!(kind, "NOT_FOUND");
    assert!(reason.contains(&job.key.to_string()));
    let last = rig.seen.last().unwrap();
    assert_eq!(
        (last.intent, last.json["rejectionType"].as_str()),
        ("COMPLETE", Some("NOT_FOUND"))
    );
    rig.assert_completed(instance);
}

#[test]
fn a_failed_job_with_retries_is_offered_again() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.fail(&job, 2, 0);
    let job = rig.job("work");
    assert_eq!(job.retries, 2);
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_failed_job_brings_variables_to_its_next_try() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.send(Command::FailJob(FailJob {
        job_key: job.key,
        retries: 1,
        retry_back_off: 0,
        error_message: "".into(),
        variables: Document::parse(r#"{"tried":1}"#).unwrap(),
    }))
    .unwrap();
    assert_eq!(rig.job("work").variables, r#"{"tried":1}"#);
    assert_eq!(rig.variable(instance, "tried"), None);
}

#[test]
fn a_back_off_delays_the_next_try() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.fail(&job, 1, MINUTE);
    assert_eq!(rejected(complete(&mut rig, job.key)).0, "INVALID_STATE");
    assert_eq!(rig.engine(1).next_due(), Some(START + MINUTE));
    rig.advance(MINUTE - 1);
    assert!(rig.jobs("work").is_empty());
    rig.announced.clear();
    rig.advance(1);
    assert_eq!(rig.announced, ["work"]);
    rig.work("work", "{}");
    assert_eq!(
        rig.intents("JOB"),
        ["CREATED", "FAILED", "RECURRED_AFTER_BACKOFF", "COMPLETED"]
    );
    rig.assert_completed(instance);
}

#[test]
fn without_retries_there_is_an_incident_until_there_are_some() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job = rig.job("work");
    rig.fail(&job, 0, 0);
    let incident = rig.incident();
    assert_eq!(
        (&*incident.kind, &*incident.message),
        ("JOB_NO_RETRIES", "it broke")
    );
    assert_eq!(rejected(complete(&mut rig, job.key)).0, "INVALID_STATE");
    assert_eq!(rejected(rig.resolve(incident.key)).0, "INVALID_STATE");
    assert_eq!(rejected(rig.set_retries(job.key, 0)).0, "INVALID_ARGUMENT");
    rig.set_retries(job.key, 1).unwrap();
    rig.resolve(incident.key).unwrap();
    rig.work("work", "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_job_is_offered_again_after_its_time_out() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let first = activate(&mut rig, |_| {}).unwrap().remove(0);
    assert_eq!(rig.engine(1).next_due(), Some(START + MINUTE + 1));
    let before = rig.seen.len();
    rig.advance(MINUTE);
    assert_eq!(
        rig.seen.len(),
        before,
        "at its deadline a job is still with its worker"
    );
    rig.advance(1);
    let second = rig.job("work");
    assert_eq!(first.key, second.key);
    assert_eq!(second.retries, first.retries, "a time-out costs no retry");
    complete(&mut rig, first.key).unwrap();
    rig.assert_completed(instance);
}

/// The result of a slow worker is not lost: it counts unless another worker has finished the job.
#[test]
fn a_job_can_be_failed_after_its_time_out() {
    let mut rig = Rig::with(process());
    rig.create("p", "{}");
    let job = activate(&mut rig, |_| {}).unwrap().remove(0);
    rig.advance(MINUTE + 1);
    rig.fail(&job, 1, MINUTE);
    assert!(rig.jobs("work").is_empty(), "it backs off");
    rig.advance(MINUTE);
    assert_eq!(rig.job("work").retries, 1);
    rig.advance(10 * MINUTE + 1);
    rig.fail(&job, 0, 0);
    assert!(rig.jobs("work").is_empty(), "it waits for its incident");
    assert_eq!(rig.incident().kind, "JOB_NO_RETRIES");
}

#[test]
fn a_job_that_no_worker_has_taken_can_be_failed() {
    let mut rig = Rig::with(process());
    let instance = rig.create("p", "{}");
    let job_key = rig.events("JOB").next().unwrap().key;
    rig.send(Command::FailJob(FailJob {
        job_key,
        retries: 7,
        retry_back_off: 0,
        error_message: "".into(),
        variables: Document::new(),
    }))
    .unwrap();
    let job = rig.job("work");
    assert_eq!(job.retries, 7);
    rig.complete(&job, "{}");
    rig.assert_completed(instance);
}

#[test]
fn a_bpmn_error_counts_after_the_time_out_and_without_activation() {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_error("declined", "task", "E1")
        .end("refused");
    let mut rig = Rig::with(bpmn);
    for timed_out in [true, false] {
        let instance = rig.create("p", "{}");
        if timed_out {
            activate(&mut rig, |_| {}).unwrap();
            rig.advance(MINUTE + 1);
        }
        let job = rig.events("JOB").filter(|j| j.intent == "CREATED").last();
        let job_key = job.unwrap().key;
        rig.send(Command::ThrowError(ThrowError {
            job_key,
            error_code: "E1".into(),
            error_message: "".into(),
            variables: Document::new(),
        }))
        .unwrap();
        assert!(rig.jobs("work").is_empty());
        assert_eq!(rig.completed(instance), ["s", "declined", "refused", "p"]);
    }
    rig.assert_nothing_left();
}

#[test]
fn a_partition_under_pressure_offers_nothing_again() {
    let mut rig = Rig::with(process());
    rig.create("p", "{}");
    activate(&mut rig, |_| {}).unwrap();
    rig.now += 2 * MINUTE;
    rig.run_due_under_pressure(true);
    assert!(rig.jobs("work").is_empty());
    let (now, streams) = (rig.now, &mut rig.streams);
    let due = rig.partitions[0].engine.run_due(now, true, streams);
    assert!(
        due.next.unwrap() > now,
        "it is looked after later, not at once for ever"
    );
    rig.run_due();
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn a_worker_may_take_more_time() {
    let mut rig = Rig::with(process());
    rig.create("p", "{}");
    let job = activate(&mut rig, |_| {}).unwrap().remove(0);
    let update = |timeout| Command::UpdateJob {
        job_key: job.key,
        retries: None,
        timeout: Some(timeout),
        kind: UpdateJobKind::Timeout,
    };
    rig.advance(MINUTE / 2);
    rig.send(update(MINUTE)).unwrap();
    rig.advance(MINUTE);
    assert!(rig.jobs("work").is_empty());
    rig.advance(1);
    assert_eq!(rejected(rig.send(update(MINUTE))).0, "INVALID_STATE");
    assert_eq!(rig.jobs("work").len(), 1);
}

#[test]
fn retries_and_time_out_change_together() {
    let mut rig = Rig::with(process());
    rig.create("p", "{}");
    let job = activate(&mut rig, |_| {}).unwrap().remove(0);
    rig.send(Command::UpdateJob {
        job_key: job.key,
        retries: Some(9),
        timeout: Some(2 * MINUTE),
        kind: UpdateJobKind::Both,
    })
    .unwrap();
    let row = rig.engine(1).state.jobs.get(job.key).unwrap();
    assert_eq!((row.retries, row.due), (9, START + 2 * MINUTE));
    assert_eq!(
        rejected(rig.set_retries(Key::new(1, 999), 1)).0,
        "NOT_FOUND"
    );
}

#[test]
fn commands_for_unknown_jobs_are_refused() {
    let mut rig = Rig::with(process());
    let job = |rig: &mut Rig, c| rejected(rig.send(c)).0;
    let key = Key::new(1, 999);
    let fail = FailJob {
        job_key: key,
        retries: 1,
        retry_back_off: 0,
        error_message: "".into(),
        variables: Document::new(),
    };
    let throw = ThrowError {
        job_key: key,
        error_code: "E".into(),
        error_message: "".into(),
        variables: Document::new(),
    };
    assert_eq!(job(&mut rig, Command::FailJob(fail)), "NOT_FOUND");
    assert_eq!(job(&mut rig, Command::ThrowError(throw)), "NOT_FOUND");
    assert_eq!(
        job(
            &mut rig,
            Command::CompleteJob {
                job_key: key,
                variables: Document::new(),
                result: None,
            }
        ),
        "NOT_FOUND"
    );
}
