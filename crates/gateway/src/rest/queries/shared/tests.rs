//! Sharing without stores: which caller gets which answer, which answers are kept, and the cost.

use proptest::prelude::*;
use skep_protocol::origin::Principal;

use super::*;

fn question(path: &str, whose: Option<&str>) -> Question {
    let principal = |id: &str| {
        Claims::User(Arc::new(Principal {
            id: id.into(),
            ..Principal::default()
        }))
    };
    Question {
        method: http::Method::POST,
        path: path.to_string(),
        body: Bytes::from_static(b"{}"),
        whose: whose.map(principal),
    }
}

fn text(response: Response<RestBody>) -> (String, bool) {
    let is_shared = response.headers().contains_key(AGE);
    match response.into_body() {
        RestBody::Whole(Some(bytes)) => (String::from_utf8(bytes.to_vec()).unwrap(), is_shared),
        _ => panic!("a whole body"),
    }
}

/// Sends a search; the stores, if they are queried, return `says`. Also returns whether the answer was shared.
async fn asks(
    shared: &SharedAnswers,
    question: Question,
    directory: &Arc<Directory>,
    says: &str,
) -> (String, bool) {
    let answered = shared
        .answer(question, FRESH, directory, |mut spending| async move {
            spending.begin();
            tokio::task::yield_now().await;
            Ok(Response::new(RestBody::from(Bytes::from(says.to_string()))))
        })
        .await;
    text(answered.ok().unwrap())
}

/// Number of searches: queried, fresh, kept, refused.
fn counts(shared: &SharedAnswers) -> [u64; 4] {
    let SharedCounts {
        asked,
        fresh,
        kept,
        refused,
    } = &shared.counts;
    [asked, fresh, kept, refused].map(Counter::get)
}

fn is(text: &str, is_shared: bool) -> (String, bool) {
    (text.to_string(), is_shared)
}

#[tokio::test]
async fn equal_questions_of_equal_rights_have_one_answer() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    let one = || question("/a", None);
    assert_eq!(asks(&shared, one(), &directory, "1").await, is("1", false));
    assert_eq!(asks(&shared, one(), &directory, "2").await, is("1", true));
    for other in [
        question("/b", None),
        question("/a", Some("anna")),
        question("/a", Some("bert")),
        Question {
            method: http::Method::GET,
            ..one()
        },
        Question {
            body: Bytes::from_static(b"{ }"),
            ..one()
        },
    ] {
        let answer = asks(&shared, other, &directory, "3").await;
        assert_eq!(answer, is("3", false));
    }
    let of_anna = asks(&shared, question("/a", Some("anna")), &directory, "4").await;
    assert_eq!(of_anna, is("3", true));
}

#[tokio::test]
async fn an_answer_under_other_rights_is_nobodys() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let before = Arc::new(Directory::default());
    let one = || question("/a", Some("anna"));
    asks(&shared, one(), &before, "1").await;
    let after = Arc::new((*before).clone());
    assert_eq!(asks(&shared, one(), &after, "2").await, is("2", false));
    assert_eq!(asks(&shared, one(), &after, "3").await, is("2", true));
    // A search started before the change that ends after it.
    let slow = shared.answer(one(), FRESH, &before, |_| async {
        Ok(Response::new(RestBody::from(Bytes::from_static(b"old"))))
    });
    assert_eq!(text(slow.await.ok().unwrap()), is("old", false));
    let next = asks(&shared, one(), &after, "4").await;
    assert_ne!(next.0, "old");
}

#[tokio::test]
async fn concurrent_callers_wait_for_one_answer() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    let answers = ["1", "2", "3"].map(|says| asks(&shared, question("/a", None), &directory, says));
    let [first, second, third] = answers;
    let answers = tokio::join!(first, second, third);
    assert_eq!(answers, (is("1", false), is("1", true), is("1", true)));
    assert_eq!(counts(&shared), [1, 2, 0, 0]);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_question_to_the_next() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    let never = shared.answer(
        question("/a", None),
        FRESH,
        &directory,
        |mut spending| async move {
            spending.begin();
            let _spending = spending;
            std::future::pending().await
        },
    );
    let gone = tokio::time::timeout(Duration::from_millis(20), never).await;
    assert!(gone.is_err());
    let left = shared.budget.lock().left;
    assert!(left <= 980_000_000, "it was not booked: {left}");
    let answer = asks(&shared, question("/a", None), &directory, "2").await;
    assert_eq!(answer, is("2", false));
}

#[tokio::test]
async fn beyond_the_budget_the_last_answer_is_given_or_none() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    asks(&shared, question("/a", None), &directory, "1").await;
    // The answer is no longer fresh, and the budget is exhausted.
    let slot = shared.slot(&question("/a", None), &directory);
    let old = Instant::now().checked_sub(FRESH * 2).unwrap();
    slot.given.lock().as_mut().unwrap().asked = old;
    shared.budget.lock().spend(Duration::from_secs(60));
    let answered = shared
        .answer(question("/a", None), FRESH, &directory, |_| async {
            panic!("it is asked")
        })
        .await
        .ok()
        .unwrap();
    assert_eq!(answered.headers()[AGE], "10");
    assert_eq!(text(answered), is("1", true));
    let refused = shared
        .answer(question("/b", None), FRESH, &directory, |_| async {
            panic!("it is asked")
        })
        .await;
    let status = refused.map_or_else(|problem| problem.status, |response| response.status());
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    // With budget again, the stores are queried.
    shared.budget.lock().left = 1;
    let answer = asks(&shared, question("/a", None), &directory, "2").await;
    assert_eq!(answer, is("2", false));
    assert_eq!(counts(&shared), [2, 0, 1, 1]);
}

#[tokio::test]
async fn a_short_wait_is_waited_for() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    shared.budget.lock().left = -10_000_000;
    let began = Instant::now();
    let answer = asks(&shared, question("/a", None), &directory, "1").await;
    assert_eq!(answer, is("1", false));
    assert!(began.elapsed() >= Duration::from_millis(45));
}

#[tokio::test]
async fn kept_answers_are_bounded() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    for n in 0..MAX_QUESTIONS * 2 {
        let one = question(&format!("/{n}"), None);
        asks(&shared, one, &directory, "1").await;
        assert!(shared.slots.lock().len() <= MAX_QUESTIONS);
    }
    // The newest ones are kept.
    let newest = question(&format!("/{}", MAX_QUESTIONS * 2 - 1), None);
    assert_eq!(asks(&shared, newest, &directory, "2").await, is("1", true));
    let large = "x".repeat(MAX_ONE / 2);
    for n in 0..80 {
        let one = question(&format!("/large/{n}"), None);
        asks(&shared, one, &directory, &large).await;
        let slots = shared.slots.lock();
        let bytes = slots
            .iter()
            .map(|(question, slot)| question.bytes() + slot.bytes());
        assert!(bytes.sum::<usize>() <= MAX_BYTES);
    }
    let too_large = "x".repeat(MAX_ONE);
    let long = || Question {
        body: Bytes::from(vec![b'x'; MAX_QUESTION]),
        ..question("/long", None)
    };
    for is_again in [false, true] {
        let one = question("/too-large", None);
        let (_, is_shared) = asks(&shared, one, &directory, &too_large).await;
        assert!(!is_shared, "{is_again}");
        let (_, is_shared) = asks(&shared, long(), &directory, "1").await;
        assert!(!is_shared, "{is_again}");
    }
}

#[tokio::test]
async fn a_caller_that_wants_a_newer_answer_gets_one() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    asks(&shared, question("/a", None), &directory, "1").await;
    let newer = shared.answer(
        question("/a", None),
        Duration::ZERO,
        &directory,
        |_| async { Ok(Response::new(RestBody::from(Bytes::from_static(b"2")))) },
    );
    assert_eq!(text(newer.await.ok().unwrap()), is("2", false));
    let age = |headers: &[(&'static str, &'static str)]| {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        accepted_age(&headers.collect()).map(|age| age.as_secs())
    };
    let shared = ("skep-consistency", "shared");
    assert_eq!(age(&[]), None);
    assert_eq!(age(&[("skep-consistency", "eventual")]), None);
    assert_eq!(age(&[shared]), Some(5));
    for (directive, expected) in [
        ("max-age=2", 2),
        ("max-age=900", 5),
        ("no-transform, max-age=0", 0),
        ("max-age=x", 5),
        ("max-age=-1", 5),
    ] {
        let aged = age(&[shared, ("cache-control", directive)]);
        assert_eq!(aged, Some(expected), "{directive}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_all_failures_of_others() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    let slow = || {
        shared.answer(question("/a", None), FRESH, &directory, |_| async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Err(Problem::from(Failure::Unavailable("away".to_string())))
        })
    };
    let began = tokio::time::Instant::now();
    let status = |answered: Result<Response<RestBody>, Problem>| answered.err().unwrap().status;
    let all = tokio::join!(slow(), slow(), slow(), slow());
    assert!(
        began.elapsed() < Duration::from_secs(9),
        "{:?}",
        began.elapsed()
    );
    for answered in [all.0, all.1, all.2, all.3] {
        assert_eq!(status(answered), StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[tokio::test]
async fn a_failure_is_not_shared() {
    let shared = SharedAnswers::new(1, SharedCounts::default());
    let directory = Arc::new(Directory::default());
    let failed = shared
        .answer(question("/a", None), FRESH, &directory, |_| async {
            Err(Problem::from(Failure::Unavailable("gone".to_string())))
        })
        .await;
    assert!(failed.is_err());
    let answer = asks(&shared, question("/a", None), &directory, "1").await;
    assert_eq!(answer, is("1", false));
}

proptest! {
    /// However long the searches take and whenever they arrive: their total time is at most a fifth of the elapsed time, plus the savings,
    /// plus the last search.
    #[test]
    fn questions_take_a_fifth_of_a_core(
        asked in prop::collection::vec((0u64..3_000, 0u64..2_000), 1..200),
    ) {
        let began = Instant::now();
        let mut budget = Budget::new(began);
        let (mut now, mut spent, mut last) = (began, Duration::ZERO, Duration::ZERO);
        for (pause, took) in asked {
            now += Duration::from_millis(pause);
            let wait = budget.wait(now);
            if wait.is_zero() {
                last = Duration::from_millis(took);
                now += last;
                spent += last;
                budget.spend(last);
            } else {
                // After exactly this wait a search is permitted.
                let mut then = Budget { ..budget };
                prop_assert!(then.wait(now + wait).is_zero());
            }
        }
        prop_assert!(spent <= (now - began) / Budget::PART + Budget::SAVED + last);
    }
}
