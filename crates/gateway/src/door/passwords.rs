//! Passwords are hashed and compared on threads of their own: one takes tens of milliseconds and 19 MiB, on purpose.
//!
//! Whoever guesses must take time neither from those who are in, nor from those who come with the right password. So these threads step
//! back for all others, and the attempts from addresses of wrong passwords have a thread and a queue apart, which steps back further.
//! Which thread it is depends on the address alone: a name that exists takes as long as one that does not.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use std::{io, thread};

use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::value::PasswordHash;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::argon::{self, Argon};
use super::guesses::Attempt;
use super::secret::Secret;

/// Computations that may wait for a thread, of each of the two kinds.
const MAX_WAITING: usize = 64;
/// New passwords among them: whoever sets passwords, as everybody may try to, must not keep others from logging in.
const MAX_NEW: usize = 16;

/// How far the threads step back (`nice`): where processors are short, they get a third of what another thread gets, or a tenth.
const STEP_BACK: i32 = 5;
const STEP_BACK_OF_SUSPECTS: i32 = 10;

/// After this time without work, a thread gives its memory back.
const REST: Duration = Duration::from_secs(10);

/// Computes hashes of passwords, and compares passwords with them.
#[derive(Debug)]
pub struct Passwords {
    work: SyncSender<Work>,
    /// Attempts from addresses of wrong passwords.
    suspects: SyncSender<Work>,
    /// Places of new passwords.
    new: Arc<Semaphore>,
}

/// Work for a thread, and where its answer goes.
enum Work {
    Hash {
        password: Secret,
        answer: oneshot::Sender<Result<PasswordHash, Failure>>,
        /// Its own until a thread has taken it, even if the caller leaves.
        place: OwnedSemaphorePermit,
    },
    Verify(Comparison),
}

/// A password that is to be compared with a hash.
struct Comparison {
    password: Secret,
    hash: PasswordHash,
    attempt: Attempt,
    answer: oneshot::Sender<Result<bool, Failure>>,
}

impl Passwords {
    /// Starts a thread for every four processors, at least one, and one for suspects. They end when this is dropped.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> io::Result<Passwords> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Passwords::with_threads((processors / 4).max(1))
    }

    fn with_threads(threads: usize) -> io::Result<Passwords> {
        let (suspects, queue) = sync_channel(MAX_WAITING);
        let queue = Mutex::new(queue);
        thread::Builder::new()
            .name("guesses".to_string())
            .spawn(move || {
                step_back(STEP_BACK_OF_SUSPECTS);
                carry_out(&queue, None);
            })?;
        let (work, queue) = sync_channel(MAX_WAITING);
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let (queue, suspects) = (Arc::clone(&queue), suspects.clone());
            thread::Builder::new()
                .name(format!("passwords-{number}"))
                .spawn(move || {
                    step_back(STEP_BACK);
                    carry_out(&queue, Some(&suspects));
                })?;
        }
        Ok(Passwords::queued(work, suspects))
    }

    fn queued(work: SyncSender<Work>, suspects: SyncSender<Work>) -> Passwords {
        Passwords {
            work,
            suspects,
            new: Arc::new(Semaphore::new(MAX_NEW)),
        }
    }

    /// The hash of a new password, with a salt of its own.
    ///
    /// # Errors
    /// [`Failure::ResourceExhausted`] while too many wait.
    pub async fn hash(&self, password: Secret) -> Result<PasswordHash, Failure> {
        let place = Arc::clone(&self.new).try_acquire_owned();
        let place = place.map_err(|_| too_many(MAX_NEW, "new passwords wait to be hashed"))?;
        let (answer, answered) = oneshot::channel();
        let work = Work::Hash {
            password,
            answer,
            place,
        };
        give(&self.work, work)?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Whether the attempt is allowed and the password matches the hash. An empty hash, which no password matches, takes just as
    /// long.
    ///
    /// # Errors
    /// [`Failure::ResourceExhausted`] while too many wait.
    pub async fn verify(
        &self,
        password: Secret,
        hash: &PasswordHash,
        attempt: Attempt,
    ) -> Result<bool, Failure> {
        let (answer, answered) = oneshot::channel();
        let queue = if attempt.is_suspect() {
            &self.suspects
        } else {
            &self.work
        };
        let compared = Comparison {
            password,
            hash: hash.clone(),
            attempt,
            answer,
        };
        give(queue, Work::Verify(compared))?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn give(queue: &SyncSender<Work>, work: Work) -> Result<(), Failure> {
    queue.try_send(work).map_err(|refused| match refused {
        TrySendError::Full(_) => too_many(MAX_WAITING, "passwords wait to be hashed or compared"),
        TrySendError::Disconnected(_) => gone(),
    })
}

fn too_many(most: usize, what: &str) -> Failure {
    Failure::ResourceExhausted(format!(
        "More than {most} {what}. Send the request again later."
    ))
}

fn gone() -> Failure {
    Failure::Unavailable("The server is stopping. Send the request again when it is back.".into())
}

/// From now on the calling thread gets less of the processors than others.
#[cfg(target_os = "linux")]
fn step_back(by: i32) {
    if let Err(error) = rustix::process::nice(by) {
        tracing::warn!(
            %error,
            "the threads that compare passwords keep their priority: many wrong passwords may slow other requests down"
        );
    }
}

/// Elsewhere it would be the whole process.
#[cfg(not(target_os = "linux"))]
fn step_back(_by: i32) {}

/// Handles requests one after the other until all senders are gone. `suspects`: the queue of those who turn out to be some.
fn carry_out(queue: &Mutex<Receiver<Work>>, suspects: Option<&SyncSender<Work>>) {
    let mut argon = Argon::default();
    loop {
        // One of the threads waits on the queue, the others for the lock.
        let taken = if argon.has_memory() {
            let locked = queue.try_lock_for(REST);
            let none = Err(RecvTimeoutError::Timeout);
            locked.map_or(none, |queue| queue.recv_timeout(REST))
        } else {
            queue.lock().recv().map_err(RecvTimeoutError::from)
        };
        match taken {
            Ok(work) => carry_out_one(work, &mut argon, suspects),
            Err(RecvTimeoutError::Timeout) => argon.rest(),
            Err(RecvTimeoutError::Disconnected) => return argon.rest(),
        }
    }
}

fn carry_out_one(work: Work, argon: &mut Argon, suspects: Option<&SyncSender<Work>>) {
    match work {
        // The caller may be gone already, or leave during the work.
        Work::Hash {
            answer,
            password,
            place,
        } if !answer.is_closed() => {
            drop(place);
            let _ = answer.send(argon::hash(&password));
        }
        Work::Verify(compared) if !compared.answer.is_closed() => {
            // Another attempt from there may have been wrong while this one waited.
            let suspects = suspects.filter(|_| compared.attempt.is_suspect());
            match suspects {
                Some(suspects) => compared.pass_on(suspects),
                None => compared.carry_out(argon),
            }
        }
        Work::Hash { .. } | Work::Verify(_) => {}
    }
}

impl Comparison {
    fn carry_out(self, argon: &mut Argon) {
        let verified = if self.attempt.is_allowed() {
            let verified = argon.verify(&self.password, &self.hash);
            verified.inspect(|is_right| self.attempt.ended(*is_right))
        } else {
            Ok(false)
        };
        let _ = self.answer.send(verified);
    }

    fn pass_on(self, suspects: &SyncSender<Work>) {
        let refused = suspects.try_send(Work::Verify(self));
        if let Err(TrySendError::Full(work) | TrySendError::Disconnected(work)) = refused
            && let Work::Verify(refused) = work
        {
            let failure = too_many(MAX_WAITING, "passwords wait to be hashed or compared");
            let _ = refused.answer.send(Err(failure));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::door::guesses::Guesses;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_string())
    }

    fn attempt() -> Attempt {
        Attempt::new(&Arc::default(), "anna", Ipv4Addr::LOCALHOST.into())
    }

    /// Without threads: the passwords, and the two queues.
    fn queues() -> (Passwords, Receiver<Work>, Receiver<Work>) {
        let (work, queue) = sync_channel(MAX_WAITING);
        let (suspects, of_suspects) = sync_channel(MAX_WAITING);
        (Passwords::queued(work, suspects), queue, of_suspects)
    }

    #[tokio::test]
    async fn a_password_is_recognized_by_its_hash_and_another_one_is_not() {
        let passwords = Passwords::start().unwrap();
        let hash = passwords.hash(secret("hush")).await.unwrap();
        for (password, is_right) in [("hush", true), ("Hush", false), ("", false)] {
            let verified = passwords.verify(secret(password), &hash, attempt());
            assert_eq!(verified.await, Ok(is_right), "{password}");
        }
    }

    #[tokio::test]
    async fn more_than_can_wait_are_refused_and_the_others_are_answered() {
        let passwords = Passwords::with_threads(0).unwrap();
        // There are no threads, so the queue is closed.
        assert!(matches!(
            passwords.hash(secret("hush")).await,
            Err(Failure::Unavailable(_))
        ));
        let (passwords, queue, _suspects) = queues();
        let waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| {
                let (answer, answered) = oneshot::channel();
                let compared = Comparison {
                    password: secret("hush"),
                    hash: PasswordHash::default(),
                    attempt: attempt(),
                    answer,
                };
                give(&passwords.work, Work::Verify(compared)).unwrap();
                answered
            })
            .collect();
        let refused = passwords.hash(secret("hush")).await;
        assert!(
            matches!(&refused, Err(Failure::ResourceExhausted(text)) if text.contains("64")),
            "{refused:?}"
        );
        // Callers that still wait get their answers; the others cost nothing.
        let mut waiting = waiting.into_iter();
        let (first, rest) = (waiting.next().unwrap(), waiting);
        drop(rest);
        drop(passwords);
        carry_out(&Mutex::new(queue), None);
        assert!(first.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn new_passwords_leave_room_for_logins() {
        let (passwords, queue, _suspects) = queues();
        // Their callers have left, and their places are taken all the same.
        for _ in 0..MAX_NEW {
            let hashed = passwords.hash(secret("new"));
            let left = tokio::time::timeout(Duration::ZERO, hashed).await;
            assert!(left.is_err(), "there is no thread to answer");
        }
        let refused = passwords.hash(secret("new")).await;
        assert!(
            matches!(&refused, Err(Failure::ResourceExhausted(text)) if text.contains("16 new")),
            "{refused:?}"
        );
        let hash = PasswordHash::default();
        let compared = passwords.verify(secret("hush"), &hash, attempt());
        let threads = thread::spawn(move || carry_out(&Mutex::new(queue), None));
        assert_eq!(compared.await, Ok(false));
        assert!(passwords.hash(secret("new")).await.is_ok());
        drop(passwords);
        threads.join().unwrap();
    }

    /// All places of suspects are taken and nobody works on them, as under an attack from very many addresses.
    #[tokio::test]
    async fn who_comes_from_elsewhere_does_not_wait_for_those_who_guess() {
        let guesses = Arc::<Guesses>::default();
        let of = |address: [u8; 4]| Attempt::new(&guesses, "anna", IpAddr::from(address));
        let hash = argon::hash(&secret("hush")).unwrap();
        let (passwords, queue, _suspects) = queues();
        let onward = passwords.suspects.clone();
        let threads = thread::spawn(move || carry_out(&Mutex::new(queue), Some(&onward)));
        let verify = |password: &str, address| {
            let attempt = of(address);
            passwords.verify(secret(password), &hash, attempt)
        };
        let guesser = [10, 0, 0, 1];
        assert_eq!(verify("hash", guesser).await, Ok(false));
        for _ in 0..MAX_WAITING {
            let waits = tokio::time::timeout(Duration::ZERO, verify("hash", guesser));
            assert!(waits.await.is_err(), "nobody compares for suspects");
        }
        let refused = verify("hush", guesser).await;
        assert!(
            matches!(refused, Err(Failure::ResourceExhausted(_))),
            "{refused:?}"
        );
        assert_eq!(verify("hush", [10, 0, 0, 2]).await, Ok(true));
        drop(passwords);
        threads.join().unwrap();
    }

    /// They were sent before the first one was compared, so nothing was known of their address.
    #[tokio::test]
    async fn those_who_turn_out_to_guess_while_they_wait_go_to_the_suspects() {
        let guesses = Arc::<Guesses>::default();
        let (passwords, queue, of_suspects) = queues();
        let onward = passwords.suspects.clone();
        let mut waiting = Vec::new();
        for _ in 0..3 {
            let (answer, answered) = oneshot::channel();
            let compared = Comparison {
                password: secret("guess"),
                hash: PasswordHash::default(),
                attempt: Attempt::new(&guesses, "anna", Ipv4Addr::LOCALHOST.into()),
                answer,
            };
            give(&passwords.work, Work::Verify(compared)).unwrap();
            waiting.push(answered);
        }
        drop(passwords);
        carry_out(&Mutex::new(queue), Some(&onward));
        drop(onward);
        let mut waiting = waiting.into_iter();
        assert_eq!(waiting.next().unwrap().await, Ok(Ok(false)));
        assert_eq!(guesses.compared("anna", Ipv4Addr::LOCALHOST.into()), 1);
        carry_out(&Mutex::new(of_suspects), None);
        for answered in waiting {
            assert_eq!(answered.await, Ok(Ok(false)));
        }
        assert_eq!(guesses.compared("anna", Ipv4Addr::LOCALHOST.into()), 3);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_steps_back_leaves_others_where_they_are() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let stepped = thread::spawn(move || {
            step_back(STEP_BACK);
            priority()
        });
        assert_eq!(stepped.join().unwrap(), (before + STEP_BACK).min(19));
        assert_eq!(priority(), before);
    }
}
