//! Credentials that were valid before. No secret can be read from this: they are identified by a keyed hash, and the key is
//! made at the start and stored nowhere.

use aws_lc_rs::hmac;
use parking_lot::Mutex;
use skep_metrics::Counter;

use super::generations::Generations;

/// Credentials that are remembered whatever comes; up to as many older ones stay until there are more.
const MAX_YOUNG: usize = 10_000;

/// How often a caller was recognized by the credentials, and how often not.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    pub remembered: Counter,
    pub unknown: Counter,
}

/// See the [module](self).
pub struct Remembered<T> {
    key: hmac::Key,
    known: Mutex<Generations<[u8; 32], T>>,
    looks: Looks,
}

impl<T> std::fmt::Debug for Remembered<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

impl<T: Clone> Remembered<T> {
    pub fn new(looks: Looks) -> Remembered<T> {
        let mut bytes = [0; 32];
        // Without randomness there is no TLS either; and with a predictable key the remembered headers would help nobody.
        let filled = aws_lc_rs::rand::fill(&mut bytes);
        debug_assert!(filled.is_ok(), "the system has random numbers");
        Remembered {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            known: Mutex::new(Generations::new(MAX_YOUNG)),
            looks,
        }
    }

    fn name(&self, shown: &[u8]) -> [u8; 32] {
        let mut name = [0; 32];
        let tag = hmac::sign(&self.key, shown);
        for (to, from) in name.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        name
    }

    pub fn find(&self, shown: &[u8]) -> Option<T> {
        let name = self.name(shown);
        let found = self.known.lock().get(&name).cloned();
        match found {
            Some(_) => self.looks.remembered.inc(),
            None => self.looks.unknown.inc(),
        };
        found
    }

    pub fn forget(&self, shown: &[u8]) {
        let name = self.name(shown);
        self.known.lock().remove(&name);
    }

    pub fn remember(&self, shown: &[u8], what: T) {
        let name = self.name(shown);
        self.known.lock().add(name, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_again_and_again_is_remembered_however_many_others_come() {
        let remembered = Remembered::new(Looks::default());
        remembered.remember(b"anna", 1);
        remembered.remember(b"bert", 2);
        for number in 0..3 * MAX_YOUNG {
            remembered.remember(format!("another {number}").as_bytes(), 0);
            if number % 1000 == 0 {
                assert_eq!(remembered.find(b"anna"), Some(1), "{number}");
            }
            let known = remembered.known.lock();
            assert!(known.count() <= 2 * MAX_YOUNG);
        }
        assert_eq!(remembered.find(b"bert"), None);
    }

    #[test]
    fn what_is_forgotten_or_changed_is_so_in_both_generations() {
        let remembered = Remembered::new(Looks::default());
        for others in [0, MAX_YOUNG] {
            remembered.remember(b"anna", 1);
            for number in 0..others {
                remembered.remember(&number.to_le_bytes(), 0);
            }
            remembered.remember(b"anna", 2);
            assert_eq!(remembered.find(b"anna"), Some(2));
            remembered.forget(b"anna");
            assert_eq!(remembered.find(b"anna"), None, "{others}");
        }
    }
}
