//! The path of one answer from a partition to the client's connection.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{Answer, Sleeper, Timings, Wakes};
use skep_protocol::failure::Failure;
use skep_protocol::response::Response;

/// State shared by both ends. Like a oneshot channel, except that the sender may leave the waking to [`Wakes`].
#[derive(Debug, Default)]
struct Letter {
    state: Mutex<State>,
    /// The command may have been carried out, whether or not there is an answer.
    begun: AtomicBool,
}

#[derive(Debug, Default)]
enum State {
    /// Nobody waits yet.
    #[default]
    Open,
    Awaited(Sleeper),
    Arrived(Answer, Instant),
    /// The answer was taken, or nobody wants it.
    Closed,
    /// No answer will come.
    Orphaned,
}

impl Letter {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending half of a [`Reply`].
#[derive(Debug)]
pub struct Responder(Option<Arc<Letter>>);

/// The answer to come. Resolves exactly once. Dropping it abandons the answer, and also the command if that has not begun.
#[derive(Debug)]
pub struct Reply(Arc<Letter>);

pub fn reply_channel() -> (Responder, Reply) {
    let letter = Arc::new(Letter::default());
    (Responder(Some(Arc::clone(&letter))), Reply(letter))
}

impl Responder {
    /// That of a command which nobody waits for, and which is carried out all the same.
    pub fn of_nobody() -> Responder {
        Responder(None)
    }

    /// From now on the command may be carried out. Without an answer, nobody knows whether it was.
    pub fn begins(&self) {
        if let Some(letter) = &self.0 {
            letter.begun.store(true, Ordering::Relaxed);
        }
    }

    /// Hands the answer over; returns it if the client is gone.
    pub fn send(self, answer: Answer) -> Result<(), Box<Answer>> {
        if let Some(sleeper) = self.put(answer)? {
            sleeper.wake();
        }
        Ok(())
    }

    /// Like [`Responder::send`], but the waiting task is woken by `wakes`, together with all others that have something new.
    pub fn send_quietly(self, answer: Answer, wakes: &mut Wakes) -> Result<(), Box<Answer>> {
        if let Some(sleeper) = self.put(answer)? {
            wakes.add(sleeper);
        }
        Ok(())
    }

    fn put(mut self, answer: Answer) -> Result<Option<Sleeper>, Box<Answer>> {
        // Only dropping takes the letter out, and nothing else happens after that.
        let Some(letter) = self.0.take() else {
            return Ok(None);
        };
        let mut state = letter.state();
        if matches!(*state, State::Closed) {
            return Err(Box::new(answer));
        }
        match mem::replace(&mut *state, State::Arrived(answer, Instant::now())) {
            State::Awaited(sleeper) => Ok(Some(sleeper)),
            _ => Ok(None),
        }
    }

    pub fn is_abandoned(&self) -> bool {
        let letter = self.0.as_ref();
        letter.is_some_and(|letter| matches!(*letter.state(), State::Closed))
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let Some(letter) = self.0.take() else { return };
        let mut state = letter.state();
        if matches!(*state, State::Closed) {
            return;
        }
        if let State::Awaited(sleeper) = mem::replace(&mut *state, State::Orphaned) {
            sleeper.wake();
        }
    }
}

impl Reply {
    /// An answer that is known at once.
    pub fn ready(result: Result<Response, Failure>) -> Reply {
        let answer = Answer {
            result,
            timings: Timings::default(),
        };
        Reply(Arc::new(Letter {
            state: Mutex::new(State::Arrived(answer, Instant::now())),
            begun: AtomicBool::new(true),
        }))
    }

    /// Takes an answer that has arrived but was not polled for. For callers that must not lose it when they are dropped.
    pub fn take_arrived(&mut self) -> Option<Answer> {
        match mem::replace(&mut *self.0.state(), State::Closed) {
            State::Arrived(answer, _) => Some(answer),
            _ => None,
        }
    }
}

impl Future for Reply {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut state = self.0.state();
        match &mut *state {
            State::Open => *state = State::Awaited(Sleeper::of(cx)),
            State::Awaited(sleeper) => sleeper.follow(cx),
            State::Arrived(..) => {
                if let State::Arrived(mut answer, at) = mem::replace(&mut *state, State::Closed) {
                    answer.timings.wake = nanos(at.elapsed());
                    return Poll::Ready(answer);
                }
            }
            State::Orphaned if !self.0.begun.load(Ordering::Relaxed) => {
                return Poll::Ready(answer_of(not_begun()));
            }
            State::Closed | State::Orphaned => return Poll::Ready(answer_of(in_doubt())),
        }
        Poll::Pending
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let left = mem::replace(&mut *self.0.state(), State::Closed);
        // An answer may be large: it is dropped when nobody holds the lock.
        drop(left);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn answer_of(failure: Failure) -> Answer {
    Answer {
        result: Err(failure),
        timings: Timings::default(),
    }
}

fn in_doubt() -> Failure {
    let text = "The partition stopped before it answered; the command may or may not have been carried out. \
                Read the state, then send the command again if it is not there.";
    Failure::Aborted(text.to_string())
}

fn not_begun() -> Failure {
    let text = "The partition stopped before it began with the command. Nothing was done; send the request again after a moment.";
    Failure::Unavailable(text.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn answer() -> Answer {
        Answer {
            result: Ok(Response::Empty),
            timings: Timings::default(),
        }
    }

    fn poll(reply: &mut Reply, count: &Arc<Count>) -> Poll<Answer> {
        let waker = Waker::from(Arc::clone(count));
        Pin::new(reply).poll(&mut Context::from_waker(&waker))
    }

    #[test]
    fn an_answer_wakes_the_last_poller_and_is_taken_once() {
        let (responder, mut reply) = reply_channel();
        let (first, second) = (Arc::<Count>::default(), Arc::<Count>::default());
        assert!(poll(&mut reply, &first).is_pending());
        assert!(poll(&mut reply, &second).is_pending());
        assert!(!responder.is_abandoned());
        responder.send(answer()).unwrap();
        let woken = [&first, &second].map(|count| count.0.load(Ordering::SeqCst));
        assert_eq!(woken, [0, 1]);
        assert!(matches!(poll(&mut reply, &first), Poll::Ready(answer) if answer.result.is_ok()));
        assert!(reply.take_arrived().is_none());
    }

    #[test]
    fn an_answer_that_nobody_wants_comes_back() {
        let (responder, reply) = reply_channel();
        drop(reply);
        assert!(responder.is_abandoned());
        assert!(responder.send(answer()).is_err());
        let (responder, mut reply) = reply_channel();
        assert!(reply.take_arrived().is_none());
        assert!(
            responder
                .send_quietly(answer(), &mut Wakes::default())
                .is_err()
        );
        let (responder, mut reply) = reply_channel();
        responder.send(answer()).unwrap();
        assert!(reply.take_arrived().is_some());
    }

    #[test]
    fn a_command_of_nobody_is_not_abandoned() {
        let responder = Responder::of_nobody();
        responder.begins();
        assert!(!responder.is_abandoned());
        responder.send(answer()).unwrap();
    }

    #[test]
    fn a_quiet_answer_wakes_when_the_wakes_are_given() {
        let (responder, mut reply) = reply_channel();
        let (count, mut wakes) = (Arc::<Count>::default(), Wakes::default());
        assert!(poll(&mut reply, &count).is_pending());
        responder.send_quietly(answer(), &mut wakes).unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        wakes.give();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(poll(&mut reply, &count).is_ready());
    }

    #[test]
    fn a_responder_that_goes_away_says_whether_the_command_was_begun() {
        for begun in [false, true] {
            let (responder, mut reply) = reply_channel();
            let count = Arc::<Count>::default();
            assert!(poll(&mut reply, &count).is_pending());
            if begun {
                responder.begins();
            }
            drop(responder);
            assert_eq!(count.0.load(Ordering::SeqCst), 1);
            let Poll::Ready(answer) = poll(&mut reply, &count) else {
                panic!("it waits for nobody");
            };
            match answer.result {
                Err(Failure::Aborted(_)) if begun => {}
                Err(Failure::Unavailable(text)) if !begun => {
                    assert!(text.contains("Nothing was done"))
                }
                result => panic!("{result:?}"),
            }
        }
    }
}
