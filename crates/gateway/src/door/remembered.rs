//! Credentials that were valid before, by the header that they came in. No secret can be read from this: headers are
//! identified by a keyed hash, and the key is made at the start and stored nowhere.

use aws_lc_rs::hmac;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_metrics::Counter;

/// Headers that are remembered.
const MAX_KNOWN: usize = 10_000;

/// How often a caller was recognized by the header, and how often not.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    pub remembered: Counter,
    pub unknown: Counter,
}

/// See the [module](self).
pub struct Remembered<T> {
    key: hmac::Key,
    by_header: Mutex<FxHashMap<[u8; 32], T>>,
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
            by_header: Mutex::default(),
            looks,
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

    pub fn find(&self, header: &[u8]) -> Option<T> {
        let name = self.name(header);
        let found = self.by_header.lock().get(&name).cloned();
        match found {
            Some(_) => self.looks.remembered.inc(),
            None => self.looks.unknown.inc(),
        };
        found
    }

    pub fn forget(&self, header: &[u8]) {
        let name = self.name(header);
        self.by_header.lock().remove(&name);
    }

    pub fn remember(&self, header: &[u8], what: T) {
        let name = self.name(header);
        let mut known = self.by_header.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(name, what);
    }
}
