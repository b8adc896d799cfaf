//! Sessions of a node whose first partition is a stand-in.

use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use skep_identity::Directory;
use skep_protocol::ActivatedJob;
use skep_protocol::command::ActivateJobs;
use skep_protocol::response::JobActivation;
use skep_protocol::value::SessionValue;
use skep_service::{
    Answer, BoxFuture, JobReceiver, NodeStates, Reply, Responder, Timings, Topology, Work,
    reply_channel,
};
use tokio::task::JoinSet;

use super::*;

fn kept(expires: u64) -> Kept {
    Kept {
        provider: "oidc".to_string(),
        id: "anna".into(),
        groups: None,
        token: String::new(),
        lasting: Some(Token {
            refresh_token: "refresh-me".to_string(),
            subject: "1".to_string(),
            expires,
        }),
    }
}

#[test]
fn sessions_outlive_an_absent_provider_by_five_minutes() {
    for (expires, due, overdue) in [
        (now() + 60, false, false),
        (now() - 1, true, false),
        (now() - GRACE + 60, true, false),
        (now() - GRACE, true, true),
    ] {
        let kept = kept(expires);
        assert_eq!((kept.is_due(), kept.is_overdue()), (due, overdue));
    }
    let without = Kept {
        lasting: None,
        ..kept(0)
    };
    assert!(!without.is_due() && !without.is_overdue());
}

#[test]
fn a_stored_session_opens_only_with_its_id_and_reveals_nothing() {
    let shown = |id| Shown::new("oidc", id).unwrap();
    let row = shown("one").close(&kept(7)).unwrap();
    assert!(!row.contains("anna") && !row.contains("refresh"));
    let opened = shown("one").open(&row).unwrap();
    assert_eq!(opened.lasting.as_ref().unwrap().refresh_token, "refresh-me");
    assert!(shown("two").open(&row).is_none());
    // The stored hash is not accepted as an id.
    let stolen = shown("one").id.map(|byte| format!("{byte:02x}")).concat();
    assert!(shown(&stolen).open(&row).is_none());
    assert_ne!(shown(&stolen).id, shown("one").id);
    let elsewhere = Shown::new("other", "one").unwrap();
    assert!(elsewhere.open(&row).is_none());
    assert_ne!(shown("one").csrf(), shown("two").csrf());
}

/// A partition with one session, which another node has claimed.
#[derive(Default)]
struct Partition {
    row: SessionValue,
    /// Whether questions wait for their answers.
    is_holding: bool,
    held: Mutex<Vec<Responder>>,
    asked: AtomicUsize,
    /// For how long its leader has not been heard.
    unheard: Duration,
}

impl Broker for Partition {
    fn execute(&self, request: Request) -> Reply {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_holding {
            let (responder, reply) = reply_channel();
            self.held.lock().push(responder);
            return reply;
        }
        Reply::ready(Ok(match request.command {
            Command::Session(SessionCommand::UseSession { .. }) => {
                Response::Session(Some(Box::new(self.row.clone())))
            }
            _ => Response::SessionClaimed,
        }))
    }

    fn is_known_everywhere(&self, _: &Request) -> bool {
        true
    }

    fn waiting_jobs(&self) -> usize {
        0
    }

    fn activate_jobs(
        &self,
        _: ActivateJobs,
        _: Claims,
        _: Duration,
    ) -> BoxFuture<'_, Result<Vec<ActivatedJob>, Failure>> {
        unreachable!("nobody asks for jobs")
    }

    fn give_back(&self, _: Vec<JobActivation>) {}

    fn open_job_stream(&self, _: ActivateJobs, _: Claims) -> Box<dyn JobReceiver> {
        unreachable!("nobody asks for jobs")
    }

    fn directory(&self) -> Arc<Directory> {
        Arc::default()
    }

    fn directory_age(&self) -> Duration {
        self.unheard
    }

    fn topology(&self) -> Topology {
        unreachable!("nobody asks where partitions are")
    }

    fn work(&self) -> BoxFuture<'_, Arc<Work>> {
        Box::pin(std::future::ready(Arc::default()))
    }

    fn node_states(&self) -> BoxFuture<'_, Arc<NodeStates>> {
        Box::pin(std::future::ready(Arc::default()))
    }

    fn measured(&self, _: i64) -> BoxFuture<'_, Arc<NodeStates>> {
        Box::pin(std::future::ready(Arc::default()))
    }
}

#[tokio::test]
async fn a_session_that_nobody_could_renew_for_long_is_neither_good_nor_over() {
    let providers = Arc::new(Providers::start(&[]).unwrap());
    let shown = Shown::new("oidc", "one").unwrap();
    for (expires, is_good) in [
        (now() + 60, true),
        (now() - GRACE + 60, true),
        (now() - GRACE, false),
    ] {
        let row = SessionValue {
            sealed: shown.close(&kept(expires)).unwrap(),
            ..SessionValue::default()
        };
        let broker = Arc::new(Partition {
            row,
            ..Partition::default()
        });
        let sessions = Arc::new(Sessions::new(
            Arc::clone(&providers),
            Refreshes::default(),
            broker,
        ));
        let caller = sessions.caller(&shown, Arc::default()).await;
        match (is_good, caller) {
            (true, Ok(Claims::User(user))) => assert_eq!(&*user.id, "anna"),
            (false, Err(Refused::Cannot(Failure::Unavailable(why)))) => {
                assert!(why.contains("'oidc'"), "{why}");
            }
            (_, other) => panic!("{expires}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn requests_that_come_together_ask_the_first_partition_once() {
    let providers = Arc::new(Providers::start(&[]).unwrap());
    let shown = Shown::new("oidc", "one").unwrap();
    let own = kept(now() + 60);
    let row = SessionValue {
        sealed: shown.close(&own).unwrap(),
        ..SessionValue::default()
    };
    let failure = Failure::Unavailable("no leader".to_string());
    for (answer, expected) in [
        (Ok(Response::Session(Some(Box::new(row)))), Ok(own.claims())),
        (
            Ok(Response::Session(None)),
            Err(Refused::NoSession(Scheme::Bearer)),
        ),
        (Err(failure.clone()), Err(Refused::Cannot(failure))),
    ] {
        let partition = Arc::new(Partition {
            is_holding: true,
            ..Partition::default()
        });
        let sessions = Arc::new(Sessions::new(
            Arc::clone(&providers),
            Refreshes::default(),
            Arc::clone(&partition) as Arc<dyn Broker>,
        ));
        let mut asking: JoinSet<_> = (0..10)
            .map(|_| {
                let (sessions, shown) = (Arc::clone(&sessions), shown.clone());
                async move { sessions.caller(&shown, Arc::default()).await }
            })
            .collect();
        // All requests run until they wait: this is their only thread.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let responder = partition.held.lock().pop().unwrap();
        let answered = responder.send(Answer {
            result: answer,
            timings: Timings::default(),
        });
        assert!(answered.is_ok());
        while let Some(told) = asking.join_next().await {
            assert_eq!(told.unwrap(), expected);
        }
        assert_eq!(partition.asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn without_an_answer_a_session_counts_until_the_leader_is_heard_and_a_minute_at_most() {
    let providers = Arc::new(Providers::start(&[]).unwrap());
    let seconds = Duration::from_secs;
    for (unheard, confirmed, counts) in [
        (seconds(0), seconds(3), true),
        (seconds(0), seconds(6), false),
        (seconds(10), seconds(14), true),
        (seconds(10), seconds(16), false),
        (seconds(3600), seconds(59), true),
        (seconds(3600), seconds(61), false),
        // A node that has never heard of a leader.
        (Duration::MAX, seconds(59), true),
        (Duration::MAX, seconds(61), false),
    ] {
        let sessions = Sessions::new(
            Arc::clone(&providers),
            Refreshes::default(),
            Arc::new(Partition {
                unheard,
                ..Partition::default()
            }),
        );
        let at = Instant::now().checked_sub(confirmed);
        let at = at.expect("the machine has run for more than a minute");
        let slot = Slot::default();
        slot.confirm(kept(7).claims(), at, at);
        let failure = Failure::Unavailable("no leader".to_string());
        let owner = sessions.unconfirmed(&slot, failure);
        assert_eq!(owner.is_ok(), counts, "{unheard:?} {confirmed:?}");
    }
}

#[test]
fn a_session_has_a_size() {
    let large = Kept {
        token: "x".repeat(MAX_SEALED),
        ..kept(7)
    };
    assert!(Shown::new("oidc", "one").unwrap().close(&large).is_none());
}
