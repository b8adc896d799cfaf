//! HTTP Basic: name and password with every request. To compare a password takes tens of milliseconds, so what was right is remembered,
//! by a keyed hash of the header, for as long as the user has the same password.

use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_identity::Directory;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::PasswordHash;

use super::Refused;
use super::guesses::Guesses;
use super::passwords::Passwords;
use super::secret::Secret;

/// Headers that are remembered.
const MAX_KNOWN: usize = 10_000;

/// Bytes of a header that is looked at.
const MAX_HEADER: usize = 4 << 10;

#[derive(Debug)]
pub struct Basic {
    passwords: Arc<Passwords>,
    guesses: Guesses,
    known: Known,
}

impl Basic {
    pub fn new(passwords: Arc<Passwords>) -> Basic {
        Basic {
            passwords,
            guesses: Guesses::default(),
            known: Known::new(),
        }
    }

    /// Who this header names.
    ///
    /// # Errors
    /// It names nobody, or the password is another one.
    pub async fn check(
        &self,
        header: &HeaderValue,
        peer: IpAddr,
        directory: &Directory,
    ) -> Result<Claims, Refused> {
        if header.len() > MAX_HEADER {
            return Err(Refused::Wrong);
        }
        if let Some(claims) = self.known.find(header.as_bytes(), directory) {
            return Ok(claims);
        }
        let (name, password) = parts(header)?;
        let claims = self.verify(&name, password, peer, directory).await?;
        let user = directory.user(&name).ok_or(Refused::Wrong)?;
        self.known
            .remember(header.as_bytes(), &claims, &user.password);
        Ok(claims)
    }

    /// Compares the password. A name that nobody has takes as long as a wrong password.
    ///
    /// # Errors
    /// As [`Basic::check`].
    pub async fn verify(
        &self,
        name: &str,
        password: Secret,
        peer: IpAddr,
        directory: &Directory,
    ) -> Result<Claims, Refused> {
        if !self.guesses.may_try(name, peer) {
            return Err(Refused::Wrong);
        }
        let hash = directory.user(name).map(|user| user.password.clone());
        let verified = self
            .passwords
            .verify(password, &hash.unwrap_or_default())
            .await;
        match verified {
            Ok(true) => {
                self.guesses.was_right(name, peer);
                Ok(claims_of(name))
            }
            Ok(false) => {
                self.guesses.was_wrong(name, peer);
                Err(Refused::Wrong)
            }
            Err(failure) => Err(Refused::Cannot(failure)),
        }
    }
}

/// The claims of a user who is managed here.
pub(super) fn claims_of(name: &str) -> Claims {
    Claims::User(Arc::new(Principal {
        id: name.into(),
        groups: None,
        token: "".into(),
    }))
}

/// Name and password of a header.
fn parts(header: &HeaderValue) -> Result<(String, Secret), Refused> {
    let text = header.to_str().map_err(|_| Refused::Wrong)?;
    let (scheme, encoded) = text.split_once(' ').ok_or(Refused::Scheme)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(Refused::Scheme);
    }
    let decoded = STANDARD
        .decode(encoded.trim())
        .map_err(|_| Refused::Wrong)?;
    let decoded = String::from_utf8(decoded).map_err(|_| Refused::Wrong)?;
    let decoded = Secret::new(decoded);
    let (name, password) = decoded.reveal().split_once(':').ok_or(Refused::Wrong)?;
    Ok((name.to_string(), Secret::new(password.to_string())))
}

/// Headers that were right. No password can be read out of it: the key is made at the start, and kept nowhere.
struct Known {
    key: hmac::Key,
    by_header: Mutex<FxHashMap<[u8; 32], (Claims, PasswordHash)>>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

impl Known {
    fn new() -> Known {
        let mut bytes = [0; 32];
        // Without chance there is no TLS either; with a key that could be guessed nothing would be remembered that helps anybody.
        let filled = aws_lc_rs::rand::fill(&mut bytes);
        debug_assert!(filled.is_ok(), "the system has random numbers");
        Known {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            by_header: Mutex::default(),
        }
    }

    fn name(&self, header: &[u8]) -> [u8; 32] {
        let mut name = [0; 32];
        let tag = hmac::sign(&self.key, header);
        for (to, from) in name.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        name
    }

    /// Whose header it is, if he still has the password that it was right with.
    fn find(&self, header: &[u8], directory: &Directory) -> Option<Claims> {
        let name = self.name(header);
        let (claims, hash) = self.by_header.lock().get(&name).cloned()?;
        let Claims::User(principal) = &claims else {
            return None;
        };
        let user = directory.user(&principal.id)?;
        (user.password == hash).then_some(claims)
    }

    fn remember(&self, header: &[u8], claims: &Claims, hash: &PasswordHash) {
        let mut known = self.by_header.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(self.name(header), (claims.clone(), hash.clone()));
    }
}

#[cfg(test)]
mod tests {
    use skep_identity::Entry;
    use skep_protocol::Key;
    use skep_protocol::value::UserValue;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn header(name: &str, password: &str) -> HeaderValue {
        let encoded = STANDARD.encode(format!("{name}:{password}"));
        HeaderValue::try_from(format!("Basic {encoded}")).unwrap()
    }

    async fn with(basic: &Basic, name: &str, password: &str) -> Directory {
        let hash = basic.passwords.hash(Secret::new(password.into())).await;
        let mut directory = Directory::default();
        let user = UserValue {
            user_key: Key::new(1, 1),
            username: name.into(),
            name: "".into(),
            email: "".into(),
            password: hash.unwrap(),
        };
        directory.add(Key::new(1, 1), &Entry::User(user));
        directory
    }

    fn basic() -> Basic {
        Basic::new(Arc::new(Passwords::start().unwrap()))
    }

    #[tokio::test]
    async fn the_right_password_comes_in_and_nothing_else_does() {
        let basic = basic();
        let directory = with(&basic, "anna", "a:b").await;
        let check = async |header: HeaderValue| basic.check(&header, PEER, &directory).await;
        assert_eq!(check(header("anna", "a:b")).await, Ok(claims_of("anna")));
        for (name, password) in [("anna", "a"), ("Anna", "a:b"), ("", "a:b"), ("anna", "")] {
            assert_eq!(check(header(name, password)).await, Err(Refused::Wrong));
        }
        for (text, refused) in [
            ("Bearer abc", Refused::Scheme),
            ("Basic", Refused::Scheme),
            ("Basic !!!", Refused::Wrong),
            ("Basic YW5uYQ==", Refused::Wrong),
        ] {
            let header = HeaderValue::from_static(text);
            assert_eq!(check(header).await, Err(refused), "{text}");
        }
        let huge = HeaderValue::try_from(format!("Basic {}", "A".repeat(10_000))).unwrap();
        assert_eq!(check(huge).await, Err(Refused::Wrong));
    }

    #[tokio::test]
    async fn what_was_right_is_remembered_until_the_password_is_another_one() {
        let basic = basic();
        let before = with(&basic, "anna", "old").await;
        let shown = header("anna", "old");
        basic.check(&shown, PEER, &before).await.unwrap();
        assert!(basic.known.find(shown.as_bytes(), &before).is_some());
        let after = with(&basic, "anna", "new").await;
        assert_eq!(basic.known.find(shown.as_bytes(), &after), None);
        assert_eq!(basic.check(&shown, PEER, &after).await, Err(Refused::Wrong));
        assert_eq!(
            basic.known.find(shown.as_bytes(), &Directory::default()),
            None
        );
    }

    #[tokio::test]
    async fn who_guesses_is_turned_away_and_who_is_in_stays_in() {
        let basic = basic();
        let directory = with(&basic, "anna", "right").await;
        let right = header("anna", "right");
        basic.check(&right, PEER, &directory).await.unwrap();
        for n in 0..10 {
            let guess = header("anna", &format!("guess {n}"));
            assert_eq!(
                basic.check(&guess, PEER, &directory).await,
                Err(Refused::Wrong)
            );
        }
        assert!(!basic.guesses.may_try("anna", PEER));
        assert!(basic.check(&right, PEER, &directory).await.is_ok());
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
        assert!(basic.guesses.may_try("anna", elsewhere));
    }
}
