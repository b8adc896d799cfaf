//! HTTP Basic: name and password with every request. Comparing a password takes tens of milliseconds, so a correct one is
//! remembered, by a keyed hash, for as long as the user has the same password, and for the address that has shown it: otherwise whoever
//! guesses would compare with what others have shown, as often as they like.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use skep_identity::Directory;
use skep_protocol::Failure;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::PasswordHash;

use super::guesses::{Attempt, GuessLimits, Guesses, LONGEST_NAME};
use super::passwords::Passwords;
use super::remembered::{Looks, Remembered};
use super::secret::Secret;
use super::{Refused, Scheme};

/// Maximum bytes of a header.
const MAX_HEADER: usize = 4 << 10;

/// Maximum bytes of a password: it has to fit into the header beside the longest name.
pub const MAX_PASSWORD: usize = 2_000;

const _: () = assert!(
    "Basic ".len() + (LONGEST_NAME + 1 + MAX_PASSWORD).div_ceil(3) * 4 <= MAX_HEADER,
    "every password can be shown"
);

#[derive(Debug)]
pub struct Basic {
    passwords: Arc<Passwords>,
    guesses: Arc<Guesses>,
    /// With the hash that the password was compared with.
    known: Remembered<(Claims, PasswordHash)>,
}

impl Basic {
    pub fn new(passwords: Arc<Passwords>, looks: Looks, limits: GuessLimits) -> Basic {
        Basic {
            passwords,
            guesses: Arc::new(Guesses::new(limits)),
            known: Remembered::new(looks),
        }
    }

    /// The user named by this header.
    ///
    /// # Errors
    /// It names no user, or the password is wrong.
    pub async fn check(
        &self,
        header: &HeaderValue,
        peer: IpAddr,
        directory: &Directory,
    ) -> Result<Claims, Refused> {
        if header.len() > MAX_HEADER {
            return Err(Refused::Wrong);
        }
        let (name, password) = parts(header)?;
        self.verify(&name, password, peer, directory).await
    }

    /// The user, if this address has shown this password before, and it has not changed since.
    fn remembered(&self, name: &str, shown: &Secret, directory: &Directory) -> Option<Claims> {
        let (claims, hash) = self.known.find(shown.reveal().as_bytes())?;
        let user = directory.user(name)?;
        // A name may contain what separates it from the password.
        let is_same = claims == claims_of(name);
        (is_same && user.password == hash).then_some(claims)
    }

    /// Compares the password. An unknown name takes as long as a wrong password.
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
        is_known(directory)?;
        let attempt = Attempt::new(&self.guesses, name, peer);
        let shown = attempt.shown(&password);
        if let Some(claims) = self.remembered(name, &shown, directory) {
            return Ok(claims);
        }
        if !attempt.is_allowed() {
            return Err(Refused::Wrong);
        }
        let user = directory.user(name);
        let hash = user.map(|user| user.password.clone()).unwrap_or_default();
        match self.passwords.verify(password, &hash, attempt).await {
            Ok(true) => {
                let known = (claims_of(name), hash);
                self.known.remember(shown.reveal().as_bytes(), known);
                Ok(claims_of(name))
            }
            Ok(false) => Err(Refused::Wrong),
            Err(failure) => Err(Refused::Cannot(failure)),
        }
    }
}

/// Whether this node has heard of users and permissions: without them, nobody may be called wrong, or found to have no rights.
///
/// # Errors
/// It has not yet.
pub fn is_known(directory: &Directory) -> Result<(), Refused> {
    if directory.is_empty() {
        return Err(Refused::Cannot(Failure::Unavailable(
            "The users and permissions are not known yet: this node has just started, and no other node has told it of them. Send the \
             request again."
                .to_string(),
        )));
    }
    Ok(())
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
    let encoded = Scheme::Basic.value(header)?;
    let decoded = STANDARD.decode(encoded).map_err(|_| Refused::Wrong)?;
    let decoded = String::from_utf8(decoded).map_err(|_| Refused::Wrong)?;
    let decoded = Secret::new(decoded);
    let (name, password) = decoded.reveal().split_once(':').ok_or(Refused::Wrong)?;
    Ok((name.to_string(), Secret::new(password.to_string())))
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
        let passwords = Arc::new(Passwords::start().unwrap());
        Basic::new(passwords, Looks::default(), GuessLimits::default())
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
            ("Bearer abc", Refused::Other(Scheme::Basic)),
            ("Basic", Refused::Other(Scheme::Basic)),
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
    async fn a_correct_password_is_remembered_until_it_changes() {
        let basic = basic();
        let before = with(&basic, "anna", "old").await;
        let shown = header("anna", "old");
        basic.check(&shown, PEER, &before).await.unwrap();
        let attempt = Attempt::new(&basic.guesses, "anna", PEER);
        let old = attempt.shown(&Secret::new("old".into()));
        assert!(basic.remembered("anna", &old, &before).is_some());
        let after = with(&basic, "anna", "new").await;
        assert_eq!(basic.remembered("anna", &old, &after), None);
        assert_eq!(basic.check(&shown, PEER, &after).await, Err(Refused::Wrong));
        let nobody = Directory::default();
        assert_eq!(basic.remembered("anna", &old, &nobody), None);
    }

    #[tokio::test]
    async fn the_longest_password_comes_in_with_the_longest_name() {
        let basic = basic();
        let (name, password) = ("𝒜".repeat(256), "x".repeat(MAX_PASSWORD));
        let directory = with(&basic, &name, &password).await;
        let header = header(&name, &password);
        let found = basic.check(&header, PEER, &directory).await;
        assert_eq!(found, Ok(claims_of(&name)));
    }

    /// Who is in must not fill the memory, or the queue, by writing the same in other ways, or by logging in again and again.
    #[tokio::test]
    async fn a_password_is_compared_once_however_it_is_sent() {
        let looks = Looks::default();
        let passwords = Arc::new(Passwords::start().unwrap());
        let basic = Basic::new(passwords, looks.clone(), GuessLimits::default());
        let directory = with(&basic, "anna", "right").await;
        let encoded = STANDARD.encode("anna:right");
        for written in ["Basic ", "basic ", "BASIC   ", "bAsIc  "] {
            let header = HeaderValue::try_from(format!("{written}{encoded} ")).unwrap();
            assert!(basic.check(&header, PEER, &directory).await.is_ok());
        }
        let password = Secret::new("right".into());
        let logged_in = basic.verify("anna", password, PEER, &directory);
        assert_eq!(logged_in.await, Ok(claims_of("anna")));
        assert_eq!((looks.unknown.get(), looks.remembered.get()), (1, 4));
    }

    #[tokio::test]
    async fn guessers_elsewhere_do_not_compare_with_a_remembered_password() {
        let basic = basic();
        let directory = with(&basic, "anna", "right").await;
        let right = header("anna", "right");
        basic.check(&right, PEER, &directory).await.unwrap();
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
        for n in 0..10 {
            let guess = header("anna", &format!("guess {n}"));
            let refused = basic.check(&guess, elsewhere, &directory).await;
            assert_eq!(refused, Err(Refused::Wrong));
        }
        let found = basic.check(&right, elsewhere, &directory).await;
        assert_eq!(found, Err(Refused::Wrong), "it is not compared any more");
        assert!(basic.check(&right, PEER, &directory).await.is_ok());
    }

    #[tokio::test]
    async fn a_name_with_a_colon_is_another_one() {
        let basic = basic();
        let directory = with(&basic, "a", "b:c").await;
        let verify = async |name: &str, password: &str| {
            let password = Secret::new(password.into());
            basic.verify(name, password, PEER, &directory).await
        };
        assert_eq!(verify("a", "b:c").await, Ok(claims_of("a")));
        assert_eq!(verify("a:b", "c").await, Err(Refused::Wrong));
    }

    #[tokio::test]
    async fn guessing_is_blocked_but_a_remembered_login_stays_valid() {
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
        assert!(!Attempt::new(&basic.guesses, "anna", PEER).is_allowed());
        assert!(basic.check(&right, PEER, &directory).await.is_ok());
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
        assert!(Attempt::new(&basic.guesses, "anna", elsewhere).is_allowed());
    }

    /// Also those for a name that nobody has, which must not be told by the time that an answer takes.
    #[tokio::test]
    async fn guesses_that_wait_in_the_queue_are_limited_too() {
        let basic = basic();
        let directory = with(&basic, "anna", "right").await;
        for name in ["anna", "nobody"] {
            let guesses: Vec<_> = (0..40).map(|n| header(name, &format!("{n}"))).collect();
            let all = guesses
                .iter()
                .map(|guess| basic.check(guess, PEER, &directory));
            for answer in futures_util::future::join_all(all).await {
                assert_eq!(answer, Err(Refused::Wrong));
            }
            assert_eq!(basic.guesses.compared(name, PEER), 10, "{name}");
        }
    }
}
