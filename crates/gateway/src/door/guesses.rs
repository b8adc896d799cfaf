//! Counts wrong guesses: after too many of them, a caller is turned away without a look at the password.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::generations::Generations;
use super::secret::Secret;

/// Wrong passwords for one name from one address that are allowed at any pace.
const FREE: u32 = 10;

/// After those, one attempt per this time.
const PAUSE: Duration = Duration::from_secs(5);

/// Wrong passwords from one address, over all names, in [`WINDOW`].
const MAX_OF_ADDRESS: u32 = 100;
const WINDOW: Duration = Duration::from_secs(60);

/// Names and addresses that are remembered, and as many older ones. However many others come, those that guess on are not forgotten.
const MAX_REMEMBERED: usize = 10_000;

/// Bytes of the longest name of a user: 256 characters.
pub(super) const LONGEST_NAME: usize = 256 * 4;

/// How many wrong passwords are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessLimits {
    /// For one name from one address at any pace (`skep.security.wrong-passwords.per-name`).
    pub of_name: u32,
    /// Time between two attempts after those (`skep.security.wrong-passwords.pause`).
    pub pause: Duration,
    /// From one address in a minute, over all names (`skep.security.wrong-passwords.per-address`).
    pub of_address: u32,
}

impl GuessLimits {
    /// The time without a guess after which a name is free again. Until then each of its guesses costs a pause, however long pauses are.
    fn forgets_after(&self) -> Duration {
        WINDOW.max(self.pause.saturating_mul(self.of_name))
    }
}

impl Default for GuessLimits {
    fn default() -> GuessLimits {
        GuessLimits {
            of_name: FREE,
            pause: PAUSE,
            of_address: MAX_OF_ADDRESS,
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Guesses {
    limits: GuessLimits,
    by_name: Mutex<Generations<(Box<str>, IpAddr), Wrong>>,
    by_address: Mutex<Generations<IpAddr, Wrong>>,
}

impl Default for Guesses {
    fn default() -> Guesses {
        Guesses::new(GuessLimits::default())
    }
}

#[derive(Clone, Copy, Debug)]
struct Wrong {
    count: u32,
    last: Instant,
    since: Instant,
}

impl Wrong {
    fn none(now: Instant) -> Wrong {
        Wrong {
            count: 0,
            last: now,
            since: now,
        }
    }
}

impl Guesses {
    pub fn new(limits: GuessLimits) -> Guesses {
        Guesses {
            limits,
            by_name: Mutex::new(Generations::new(MAX_REMEMBERED)),
            by_address: Mutex::new(Generations::new(MAX_REMEMBERED)),
        }
    }

    fn of_name(&self, name: &str, address: IpAddr) -> Option<Wrong> {
        self.by_name.lock().get(&(name.into(), address)).copied()
    }

    fn of_address(&self, address: IpAddr) -> Option<Wrong> {
        self.by_address.lock().get(&address).copied()
    }

    fn may_try(&self, name: &str, address: IpAddr, now: Instant) -> bool {
        // The look keeps them remembered: somebody who is turned away goes on guessing.
        let of_name = self.of_name(name, address);
        let of_address = self.of_address(address);
        let GuessLimits {
            of_name: free,
            pause,
            of_address: most,
        } = self.limits;
        let too_soon = of_name.is_some_and(|w| w.count >= free && now - w.last < pause);
        let too_many = of_address.is_some_and(|w| w.count >= most && now - w.since < WINDOW);
        !too_soon && !too_many
    }

    /// Whether somebody at the address has sent a wrong password lately, of whatever name.
    fn is_suspect(&self, address: IpAddr, now: Instant) -> bool {
        let of_address = self.of_address(address);
        of_address.is_some_and(|wrong| now - wrong.last < WINDOW)
    }

    fn was_right(&self, name: &str, address: IpAddr) {
        self.by_name.lock().remove(&(name.into(), address));
    }

    fn was_wrong(&self, name: &str, address: IpAddr, now: Instant) {
        let kept = self.limits.forgets_after();
        // A name could have any length; an impossible one is not worth its bytes.
        if name.len() <= LONGEST_NAME {
            let mut by_name = self.by_name.lock();
            let wrong = by_name.entry((name.into(), address), || Wrong::none(now));
            // The pause counts until nobody has guessed for a while.
            if now - wrong.last >= kept {
                *wrong = Wrong::none(now);
            }
            wrong.count = wrong.count.saturating_add(1);
            wrong.last = now;
        }
        let mut by_address = self.by_address.lock();
        let wrong = by_address.entry(address, || Wrong::none(now));
        if now - wrong.since >= WINDOW {
            *wrong = Wrong::none(now);
        }
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
    }
}

#[cfg(test)]
impl Guesses {
    /// Wrong passwords that were compared.
    pub fn compared(&self, name: &str, peer: IpAddr) -> u32 {
        let of_name = self.of_name(name, network(peer));
        of_name.map_or(0, |wrong| wrong.count)
    }
}

/// One attempt to log in with a password. It may wait in a queue, so the limits are checked when the password is compared.
#[derive(Debug)]
pub struct Attempt {
    guesses: Arc<Guesses>,
    name: Box<str>,
    address: IpAddr,
}

impl Attempt {
    pub fn new(guesses: &Arc<Guesses>, name: &str, peer: IpAddr) -> Attempt {
        Attempt {
            guesses: Arc::clone(guesses),
            name: name.into(),
            address: network(peer),
        }
    }

    /// What stands for a password that was right: one of this name, from this address.
    pub fn shown(&self, password: &Secret) -> Secret {
        let (address, name) = (self.address, &self.name);
        Secret::new(format!("{address} {name}:{}", password.reveal()))
    }

    /// Whether the password may be compared now.
    pub fn is_allowed(&self) -> bool {
        let now = Instant::now();
        self.guesses.may_try(&self.name, self.address, now)
    }

    /// Whether it comes from an address of wrong passwords.
    pub fn is_suspect(&self) -> bool {
        self.guesses.is_suspect(self.address, Instant::now())
    }

    /// Counts the attempt.
    pub fn ended(&self, is_right: bool) {
        if is_right {
            self.guesses.was_right(&self.name, self.address);
        } else {
            let now = Instant::now();
            self.guesses.was_wrong(&self.name, self.address, now);
        }
    }
}

/// One caller has all addresses of an IPv6 network of 64 bits.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = u128::from(address) >> 64 << 64;
            IpAddr::V6(prefix.into())
        }
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Times in milliseconds of the attempts that are admitted, all of them wrong.
    fn admitted(attempts: &[(u64, &str)]) -> Vec<u64> {
        let (guesses, start) = (Guesses::default(), Instant::now());
        let admitted = attempts.iter().filter(|(at, name)| {
            let now = start + Duration::from_millis(*at);
            let may = guesses.may_try(name, ADDRESS, now);
            if may {
                guesses.was_wrong(name, ADDRESS, now);
            }
            may
        });
        admitted.map(|(at, _)| *at).collect()
    }

    proptest! {
        /// A window begins with its first attempt, so any minute touches two of them.
        #[test]
        fn an_address_never_tries_more_than_two_windows_in_a_minute(
            pauses in prop::collection::vec(0u64..2_000, 500)
        ) {
            let mut at = 0;
            let names: Vec<String> = (0..pauses.len()).map(|n| n.to_string()).collect();
            let attempts = pauses.iter().zip(&names).map(|(pause, name)| {
                at += pause / 8;
                (at, &**name)
            });
            let admitted = admitted(&attempts.collect::<Vec<_>>());
            for from in &admitted {
                let within = admitted.iter().filter(|at| (*from..from + 60_000).contains(*at));
                prop_assert!(within.count() <= 2 * MAX_OF_ADDRESS as usize);
            }
        }

        #[test]
        fn the_pause_for_a_name_lasts_as_long_as_guessing_continues(
            pauses in prop::collection::vec(0u64..10_000, 100)
        ) {
            let mut at = 0;
            let attempts = pauses.iter().map(|pause| {
                at += pause;
                (at, "anna")
            });
            let admitted = admitted(&attempts.collect::<Vec<_>>());
            for pair in admitted.get(FREE as usize..).unwrap_or_default().windows(2) {
                prop_assert!(pair[1] - pair[0] >= 5_000);
            }
        }
    }

    #[test]
    fn the_limits_are_those_of_the_settings() {
        let limits = GuessLimits {
            of_name: 2,
            pause: Duration::from_secs(90),
            of_address: 3,
        };
        let (guesses, start) = (Guesses::new(limits), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        for _ in 0..2 {
            assert!(guesses.may_try("anna", ADDRESS, start));
            guesses.was_wrong("anna", ADDRESS, start);
        }
        assert!(!guesses.may_try("anna", ADDRESS, after(89)));
        assert!(guesses.may_try("bert", ADDRESS, start));
        guesses.was_wrong("bert", ADDRESS, start);
        assert!(!guesses.may_try("carl", ADDRESS, start), "of the address");
        assert!(guesses.may_try("carl", ADDRESS, after(60)));
        // A pause above a minute is one between each two attempts, too.
        assert!(guesses.may_try("anna", ADDRESS, after(90)));
        guesses.was_wrong("anna", ADDRESS, after(90));
        assert!(!guesses.may_try("anna", ADDRESS, after(179)));
        assert!(guesses.may_try("anna", ADDRESS, after(180)));
    }

    /// The pattern of ids may allow letters of any alphabet, which take up to four bytes.
    #[test]
    fn guesses_for_the_longest_name_are_limited_too() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        for letter in ["a", "ж", "語", "𝒜"] {
            let name = letter.repeat(256);
            for _ in 0..FREE {
                assert!(guesses.may_try(&name, ADDRESS, now), "{letter}");
                guesses.was_wrong(&name, ADDRESS, now);
            }
            assert!(!guesses.may_try(&name, ADDRESS, now), "{letter}");
        }
    }

    #[test]
    fn an_address_is_suspect_for_a_minute_after_a_wrong_password_of_any_name() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        let other = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(!guesses.is_suspect(ADDRESS, start));
        guesses.was_right("anna", ADDRESS);
        assert!(!guesses.is_suspect(ADDRESS, start));
        guesses.was_wrong("nobody", ADDRESS, start);
        // A right one says nothing of the others who are there.
        guesses.was_right("nobody", ADDRESS);
        assert!(guesses.is_suspect(ADDRESS, after(59)));
        assert!(!guesses.is_suspect(other, after(0)));
        guesses.was_wrong("anna", ADDRESS, after(50));
        assert!(guesses.is_suspect(ADDRESS, after(109)));
        assert!(!guesses.is_suspect(ADDRESS, after(110)));
    }

    /// As the networks of an IPv6 prefix of 48 bits are at hand.
    #[test]
    fn guesses_from_many_addresses_free_neither_a_name_nor_an_address_that_guesses_on() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let other = |number: u32| IpAddr::V4(number.into());
        for _ in 0..FREE {
            guesses.was_wrong("admin", ADDRESS, now);
        }
        for number in 0..MAX_OF_ADDRESS {
            guesses.was_wrong("bert", other(0), now);
            assert!(number < FREE || !guesses.may_try("bert", other(0), now));
        }
        for number in 1..=5 * MAX_REMEMBERED as u32 {
            guesses.was_wrong("carl", other(number), now);
            if number % 1_000 == 0 {
                assert!(!guesses.may_try("admin", ADDRESS, now), "{number}");
                assert!(!guesses.may_try("dora", other(0), now), "{number}");
            }
            let (names, addresses) = (&guesses.by_name, &guesses.by_address);
            for count in [names.lock().count(), addresses.lock().count()] {
                assert!(count <= 2 * MAX_REMEMBERED, "{number}");
            }
        }
        assert!(guesses.is_suspect(ADDRESS, now));
        assert_eq!(guesses.of_name("carl", other(1)).map(|it| it.count), None);
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::2:3"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:127.0.0.1"), ADDRESS);
        assert_ne!(of("127.0.0.2"), ADDRESS);
    }
}
