//! The hashes of passwords, made on threads of their own: one takes tens of milliseconds and 19 MiB, on purpose.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::{io, thread};

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use parking_lot::Mutex;
use skep_protocol::Failure;
use skep_protocol::value::PasswordHash;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::guesses::Attempt;
use super::secret::Secret;

/// Computations that may wait for a thread.
const MAX_WAITING: usize = 64;
/// New passwords among them: whoever sets passwords, as everybody may try to, must not keep others from logging in.
const MAX_NEW: usize = 16;

/// Cost of a hash (Argon2id): KiB of memory, passes over it, lanes.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Computes hashes of passwords, and compares passwords with them.
#[derive(Debug)]
pub struct Passwords {
    work: SyncSender<Work>,
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
    Verify {
        password: Secret,
        hash: PasswordHash,
        attempt: Attempt,
        answer: oneshot::Sender<Result<bool, Failure>>,
    },
}

impl Passwords {
    /// Starts a thread for every four processors, at least one. They end when this is dropped.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> io::Result<Passwords> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Passwords::with_threads((processors / 4).max(1))
    }

    fn with_threads(threads: usize) -> io::Result<Passwords> {
        let (work, queue) = sync_channel(MAX_WAITING);
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(format!("passwords-{number}"))
                .spawn(move || carry_out(&queue))?;
        }
        Ok(Passwords::queued(work))
    }

    fn queued(work: SyncSender<Work>) -> Passwords {
        Passwords {
            work,
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
        self.give(Work::Hash {
            password,
            answer,
            place,
        })?;
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
        let hash = hash.clone();
        self.give(Work::Verify {
            password,
            hash,
            attempt,
            answer,
        })?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    fn give(&self, work: Work) -> Result<(), Failure> {
        self.work.try_send(work).map_err(|refused| match refused {
            TrySendError::Full(_) => {
                too_many(MAX_WAITING, "passwords wait to be hashed or compared")
            }
            TrySendError::Disconnected(_) => gone(),
        })
    }
}

fn too_many(most: usize, what: &str) -> Failure {
    Failure::ResourceExhausted(format!(
        "More than {most} {what}. Send the request again later."
    ))
}

fn gone() -> Failure {
    Failure::Unavailable("The server is stopping. Send the request again when it is back.".into())
}

/// Handles requests one after the other until all senders are gone.
fn carry_out(queue: &Mutex<Receiver<Work>>) {
    loop {
        // One of the threads waits on the queue, the others for the lock.
        let taken = queue.lock().recv();
        match taken {
            // The caller may be gone already, or leave during the work.
            Ok(Work::Hash {
                answer,
                password,
                place,
            }) if !answer.is_closed() => {
                drop(place);
                let _ = answer.send(hash(&password));
            }
            Ok(Work::Verify {
                answer,
                password,
                hash,
                attempt,
            }) if !answer.is_closed() => {
                let verified = if attempt.is_allowed() {
                    verify(&password, &hash).inspect(|is_right| attempt.ended(*is_right))
                } else {
                    Ok(false)
                };
                let _ = answer.send(verified);
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

fn argon2() -> Result<Argon2<'static>, Failure> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Internal(format!(
        "The hash of a password could not be computed: {error}"
    ))
}

fn hash(password: &Secret) -> Result<PasswordHash, Failure> {
    let hash = argon2()?
        .hash_password(password.reveal().as_bytes())
        .map_err(failed)?;
    Ok(PasswordHash::new(&hash.to_string()))
}

fn verify(password: &Secret, given: &PasswordHash) -> Result<bool, Failure> {
    if given.is_empty() {
        return hash(password).map(|_| false);
    }
    // The parameters come from the hash, which is one of ours.
    let verified = argon2()?.verify_password(password.reveal().as_bytes(), given.reveal());
    match verified {
        Ok(()) => Ok(true),
        Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_string())
    }

    fn attempt() -> Attempt {
        Attempt::new(
            &Arc::default(),
            "anna",
            std::net::Ipv4Addr::LOCALHOST.into(),
        )
    }

    #[tokio::test]
    async fn a_password_is_recognized_by_its_hash_and_another_one_is_not() {
        let passwords = Passwords::start().unwrap();
        let hash = passwords.hash(secret("hush")).await.unwrap();
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(hash.reveal().starts_with(parameters), "{}", hash.reveal());
        assert_eq!(
            passwords.verify(secret("hush"), &hash, attempt()).await,
            Ok(true)
        );
        assert_eq!(
            passwords.verify(secret("Hush"), &hash, attempt()).await,
            Ok(false)
        );
        let again = passwords.hash(secret("hush")).await.unwrap();
        assert_ne!(hash.reveal(), again.reveal(), "the salt is another one");
    }

    #[tokio::test]
    async fn nobody_has_the_password_of_no_hash() {
        let passwords = Passwords::start().unwrap();
        let none = PasswordHash::default();
        assert_eq!(
            passwords.verify(secret(""), &none, attempt()).await,
            Ok(false)
        );
    }

    #[tokio::test]
    async fn more_than_can_wait_are_refused_and_the_others_are_answered() {
        let passwords = Passwords::with_threads(0).unwrap();
        // There are no threads, so the queue is closed.
        assert!(matches!(
            passwords.hash(secret("hush")).await,
            Err(Failure::Unavailable(_))
        ));
        let (work, queue) = sync_channel(MAX_WAITING);
        let passwords = Passwords::queued(work);
        let waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| {
                let (answer, answered) = oneshot::channel();
                let compared = Work::Verify {
                    password: secret("hush"),
                    hash: PasswordHash::default(),
                    attempt: attempt(),
                    answer,
                };
                passwords.give(compared).unwrap();
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
        carry_out(&Mutex::new(queue));
        assert!(first.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn new_passwords_leave_room_for_logins() {
        let (work, queue) = sync_channel(MAX_WAITING);
        let passwords = Passwords::queued(work);
        // Their callers have left, and their places are taken all the same.
        for _ in 0..MAX_NEW {
            let hashed = passwords.hash(secret("new"));
            let left = tokio::time::timeout(std::time::Duration::ZERO, hashed).await;
            assert!(left.is_err(), "there is no thread to answer");
        }
        let refused = passwords.hash(secret("new")).await;
        assert!(
            matches!(&refused, Err(Failure::ResourceExhausted(text)) if text.contains("16 new")),
            "{refused:?}"
        );
        let hash = PasswordHash::default();
        let compared = passwords.verify(secret("hush"), &hash, attempt());
        let threads = thread::spawn(move || carry_out(&Mutex::new(queue)));
        assert_eq!(compared.await, Ok(false));
        assert!(passwords.hash(secret("new")).await.is_ok());
        drop(passwords);
        threads.join().unwrap();
    }
}
