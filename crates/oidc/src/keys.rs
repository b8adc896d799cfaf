//! The currently known keys of a provider. A task fetches them, at intervals and when a token names a missing one.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use jsonwebtoken::Algorithm;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::fetch::Fetcher;
use crate::key_set::KeySet;
use crate::last_good::{Answer, LastGood, NoKeySet};
use crate::provider::is_private;
use crate::{Refused, wrong};

/// Time between two requests to a provider that answers, and to one that does not.
const REFRESH: Duration = Duration::from_secs(10 * 60);
const RETRY: Duration = Duration::from_secs(2);
/// Time between two requests to the provider because of missing keys: made-up key ids cause no more of them.
const ASK_PACE: Duration = Duration::from_secs(10);
/// How long a request waits for a missing key, and how many requests may wait.
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_WAITING: usize = 256;
/// Key ids that are known to be missing.
const MAX_MISSING: usize = 1024;

/// Addresses of keys.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) issuer: String,
    pub(crate) discovery: Uri,
    pub(crate) own: Option<Uri>,
    /// Whether the discovery document is read even if it is not needed to find the keys.
    pub(crate) endpoints: bool,
    pub(crate) additional: Vec<Uri>,
}

impl Places {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Uri> {
        let own = self.own.as_ref().unwrap_or(&self.discovery);
        std::iter::once(own).chain(&self.additional)
    }
}

/// Knowledge about the keys after a request to the provider.
#[derive(Clone, Debug, Default)]
struct Known {
    keys: Arc<KeySet>,
    /// The keys before the last change.
    former: Arc<KeySet>,
    /// Counts changes of the keys.
    generation: u64,
    /// Requests to the provider, whatever their outcome: begun ones, and ended ones.
    begun: u64,
    looks: u64,
    /// When all addresses answered last.
    fetched: Option<Instant>,
    /// The provider's endpoints for browsers, as far as the discovery document has them.
    endpoints: Arc<Endpoints>,
    /// Why keys may be missing since the last request: some address did not answer.
    failed: Option<String>,
}

impl Known {
    /// Whether the provider surely has no such key: it has just replaced it, or uses it with another algorithm.
    fn excludes(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        // An address that does not answer may have the key.
        let is_recent =
            self.failed.is_none() && self.fetched.is_some_and(|at| at.elapsed() < ASK_PACE);
        let has_other_algorithm = id.is_some_and(|id| self.keys.has(id));
        has_other_algorithm || is_recent && self.former.fitting(id, algorithm).next().is_some()
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Keys {
    known: watch::Receiver<Known>,
    ask: Arc<Notify>,
    /// The last request because of a missing key.
    asked: Mutex<Option<Asking>>,
    missing: Mutex<Missing>,
    waiting: Semaphore,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Keys {
    pub(crate) fn start(name: &str, places: Places, fetcher: Fetcher) -> Keys {
        let (sender, known) = watch::channel(Known::default());
        let ask = Arc::new(Notify::new());
        let look = Look {
            name: name.to_string(),
            places,
            fetcher,
            sender,
            last: LastGood::default(),
        };
        Keys {
            known,
            task: tokio::spawn(look.again_and_again(Arc::clone(&ask))),
            ask,
            asked: Mutex::default(),
            missing: Mutex::default(),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// How often the keys have changed.
    pub(crate) fn generation(&self) -> u64 {
        self.known.borrow().generation
    }

    /// How long ago all keys were fetched; `None`: they never were.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.known.borrow().fetched.map(|at| at.elapsed())
    }

    /// Whether the last request found keys at all addresses; `None`: there was none yet.
    pub(crate) fn are_given(&self) -> Option<bool> {
        let known = self.known.borrow();
        (known.looks > 0).then_some(known.failed.is_none())
    }

    /// As the provider last stated them.
    pub(crate) fn endpoints(&self) -> Arc<Endpoints> {
        Arc::clone(&self.known.borrow().endpoints)
    }

    /// The keys, with one that may have made the signature, and their generation.
    pub(crate) async fn with(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<(Arc<KeySet>, u64), Refused> {
        let fits = |known: &Known| known.keys.fitting(id, algorithm).next().is_some();
        let mut known = self.known.borrow().clone();
        if known.looks == 0 {
            known = self.once(known, fits).await;
            if let (Some(why), 0) = (&known.failed, known.looks) {
                return Err(cannot_check(why));
            }
        }
        if fits(&known) {
            return Ok((known.keys, known.generation));
        }
        if known.excludes(id, algorithm) || self.missing.lock().has(id, algorithm) {
            return Err(none_of_its_issuer());
        }
        let begun = known.begun;
        self.ask(begun);
        let known = self.once(known, fits).await;
        if fits(&known) {
            return Ok((known.keys, known.generation));
        }
        match &known.failed {
            Some(why) => Err(cannot_check(why)),
            // The request began after the token came.
            None if known.looks > begun => {
                self.missing.lock().add(id, algorithm);
                Err(none_of_its_issuer())
            }
            // The key may be newer than the last answer.
            None => Err(cannot_check(&format!(
                "they were fetched a moment ago, and are fetched at most once in {} s because of an unknown one",
                ASK_PACE.as_secs()
            ))),
        }
    }

    /// The knowledge once a key fits, or once the requests have ended that callers wait for.
    async fn once(&self, before: Known, fits: impl Fn(&Known) -> bool) -> Known {
        let last = self.asked.lock().map_or(0, |asked| asked.request);
        let last = last.max(before.begun).max(1);
        if before.looks >= last {
            return before;
        }
        let Ok(_permit) = self.waiting.try_acquire() else {
            let failed = Some(format!(
                "more than {MAX_WAITING} requests wait for its keys"
            ));
            return Known { failed, ..before };
        };
        let mut known = self.known.clone();
        let ended = known.wait_for(|known| fits(known) || known.looks >= last);
        match timeout(PATIENCE, ended).await {
            Ok(Ok(known)) => known.clone(),
            _ => Known {
                failed: Some(format!("no answer within {} s", PATIENCE.as_secs())),
                ..before
            },
        }
    }

    /// Asks the provider for a missing key, if it was not asked a moment ago.
    fn ask(&self, begun: u64) {
        let mut asked = self.asked.lock();
        if asked.is_none_or(|asked| asked.at.elapsed() >= ASK_PACE) {
            *asked = Some(Asking {
                at: Instant::now(),
                // A request in progress may have been answered before the key was there.
                request: begun + 1,
            });
            self.ask.notify_one();
        }
    }
}

/// A request to the provider because of a missing key.
#[derive(Clone, Copy, Debug)]
struct Asking {
    at: Instant,
    /// Its number among all requests.
    request: u64,
}

/// Key ids that the provider was asked for in vain, for as long as it is not asked again. The oldest ones give way.
#[derive(Debug, Default)]
struct Missing {
    hasher: RandomState,
    ids: VecDeque<(u64, Instant)>,
}

impl Missing {
    fn has(&mut self, id: Option<&str>, algorithm: Algorithm) -> bool {
        self.ids.retain(|(_, at)| at.elapsed() < ASK_PACE);
        let hash = self.hasher.hash_one((id, algorithm));
        self.ids.iter().any(|(known, _)| *known == hash)
    }

    fn add(&mut self, id: Option<&str>, algorithm: Algorithm) {
        if self.ids.len() == MAX_MISSING {
            self.ids.pop_front();
        }
        let hash = self.hasher.hash_one((id, algorithm));
        self.ids.push_back((hash, Instant::now()));
    }
}

fn none_of_its_issuer() -> Refused {
    wrong("its key (kid) is not one of its issuer's")
}

fn cannot_check(why: &str) -> Refused {
    Refused::Unknown(format!(
        "The token cannot be checked now: the keys of its issuer are missing ({why}). Keep the token, and send the request again."
    ))
}

/// The task that fetches keys.
struct Look {
    name: String,
    places: Places,
    fetcher: Fetcher,
    sender: watch::Sender<Known>,
    last: LastGood,
}

#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
    #[serde(flatten)]
    endpoints: Endpoints,
}

impl Discovered {
    /// An address without TLS, with the name of its member. A document that came over TLS must not lead away from it.
    fn in_the_open(&self) -> Option<(&'static str, &str)> {
        let endpoints = &self.endpoints;
        let optional = [
            ("token_endpoint", &endpoints.token_endpoint),
            ("userinfo_endpoint", &endpoints.userinfo_endpoint),
            ("authorization_endpoint", &endpoints.authorization_endpoint),
            ("end_session_endpoint", &endpoints.end_session_endpoint),
        ];
        let optional = optional
            .into_iter()
            .filter_map(|(name, place)| Some((name, place.as_deref()?)));
        let mut all = std::iter::once(("jwks_uri", self.jwks_uri.as_str())).chain(optional);
        // A text that is not an address leads nowhere, and is reported where it is used.
        all.find(|(_, place)| place.parse().is_ok_and(|place: Uri| !is_private(&place)))
    }
}

/// See [`crate::browsers`].
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Endpoints {
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) end_session_endpoint: Option<String>,
    pub(crate) userinfo_endpoint: Option<String>,
}

impl Look {
    async fn again_and_again(mut self, ask: Arc<Notify>) {
        loop {
            self.sender.send_modify(|known| known.begun += 1);
            let answers = self.ask_all().await;
            let (keys, failed) = self.last.take(answers, Instant::now());
            let pause = if failed.is_some() { RETRY } else { REFRESH };
            self.is_known(keys, failed);
            tokio::select! {
                () = sleep(pause) => {}
                () = ask.notified() => {}
            }
        }
    }

    /// The answers of all addresses, its own one first.
    async fn ask_all(&self) -> Vec<Answer> {
        let mut answers = vec![self.own_keys().await];
        for place in &self.places.additional {
            answers.push(self.key_set(place).await);
        }
        answers
    }

    async fn own_keys(&self) -> Answer {
        if let Some(place) = &self.places.own {
            if self.places.endpoints
                && let Err(why) = self.discover().await
            {
                tracing::warn!(provider = self.name, %why, "browsers cannot log in at an identity provider");
            }
            return self.key_set(place).await;
        }
        let keys = self.discover().await?;
        self.key_set(&keys).await
    }

    /// The address of its keys. Also reads the endpoints for browsers.
    async fn discover(&self) -> Result<Uri, String> {
        let place = &self.places.discovery;
        let text = self.fetcher.get(place).await?;
        let found: Discovered = serde_json::from_slice(&text)
            .map_err(|error| format!("{place}: not a discovery document: {error}"))?;
        if found.issuer != self.places.issuer {
            return Err(format!(
                "{place}: it names the issuer {}, and issuer-uri is {}; both must be identical",
                found.issuer, self.places.issuer
            ));
        }
        if is_private(place)
            && let Some((name, open)) = found.in_the_open()
        {
            return Err(format!(
                "{place}: its {name} {open} is an address without TLS, so anyone in between could forge tokens or read the secret of this \
                 server. Have the provider name https addresses, or set them (jwk-set-uri, authorization-uri, token-uri)"
            ));
        }
        self.sender
            .send_modify(|known| known.endpoints = Arc::new(found.endpoints));
        let keys = found.jwks_uri.parse();
        keys.map_err(|error| format!("{place}: its jwks_uri is not an address: {error}"))
    }

    async fn key_set(&self, place: &Uri) -> Answer {
        let text = self.fetcher.get(place).await?;
        KeySet::read(&text).map_err(|why| NoKeySet(format!("{place}: {why}")))
    }

    /// Publishes the valid keys, and why some may be missing.
    fn is_known(&self, keys: KeySet, failed: Option<String>) {
        self.sender.send_modify(|known| {
            match &failed {
                Some(why) if known.failed.as_ref() != Some(why) => tracing::warn!(
                    code = "IDENTITY_PROVIDER",
                    provider = self.name,
                    %why,
                    "the keys of an identity provider cannot be fetched"
                ),
                None if known.fetched.is_none() || known.failed.is_some() => tracing::info!(
                    provider = self.name,
                    keys = keys.len(),
                    "keys of an identity provider"
                ),
                _ => {}
            }
            if !known.keys.is_same(&keys) {
                known.former = std::mem::replace(&mut known.keys, Arc::new(keys));
                known.generation += 1;
            }
            known.looks += 1;
            if failed.is_none() {
                known.fetched = Some(Instant::now());
            }
            known.failed = failed;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_number_of_missing_ids_is_remembered_and_the_oldest_give_way() {
        let mut missing = Missing::default();
        let algorithm = Algorithm::ES256;
        for number in 0..=MAX_MISSING {
            missing.add(Some(&number.to_string()), algorithm);
        }
        assert_eq!(missing.ids.len(), MAX_MISSING);
        assert!(!missing.has(Some("0"), algorithm));
        let newest = MAX_MISSING.to_string();
        assert!(missing.has(Some("1"), algorithm) && missing.has(Some(&newest), algorithm));
        assert!(!missing.has(Some("1"), Algorithm::RS256));
    }
}
