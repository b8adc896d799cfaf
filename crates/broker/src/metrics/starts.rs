//! When things began, remembered without growing.

use skep_protocol::Key;

const BITS: u32 = 15;

/// Start times by key, in a table of fixed size: a newer key may take the place of an older one, which then is not
/// measured. So what lives long on a busy partition is measured by sample, and memory is 512 KiB at most.
#[derive(Debug, Default)]
pub struct Starts {
    /// Empty until the first start. A key of 0 is a free place.
    keys: Vec<i64>,
    times: Vec<i64>,
    len: usize,
}

impl Starts {
    fn slot(key: Key) -> usize {
        (key.counter().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize
    }

    pub fn begin(&mut self, key: Key, at: i64) {
        if self.keys.is_empty() {
            self.keys = vec![0; 1 << BITS];
            self.times = vec![0; 1 << BITS];
        }
        let slot = Self::slot(key);
        self.len += usize::from(self.keys[slot] == 0);
        self.keys[slot] = key.0;
        self.times[slot] = at;
    }

    /// Milliseconds since the start, if it is remembered.
    pub fn since(&self, key: Key, now: i64) -> Option<u64> {
        let slot = Self::slot(key);
        let known = self.keys.get(slot) == Some(&key.0);
        known.then(|| u64::try_from(now.saturating_sub(self.times[slot])).unwrap_or(0))
    }

    /// As [`Starts::since`], and forgets the start.
    pub fn end(&mut self, key: Key, now: i64) -> Option<u64> {
        let since = self.since(key, now)?;
        self.keys[Self::slot(key)] = 0;
        self.len -= 1;
        Some(since)
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_known_until_its_end_and_places_are_limited() {
        let mut starts = Starts::default();
        assert_eq!(starts.end(Key::new(1, 1), 5), None);
        starts.begin(Key::new(1, 1), 1000);
        assert_eq!(starts.since(Key::new(1, 1), 1250), Some(250));
        assert_eq!(
            starts.since(Key::new(2, 1), 1250),
            None,
            "another partition's key"
        );
        assert_eq!(starts.end(Key::new(1, 1), 900), Some(0), "a clock set back");
        assert_eq!(starts.end(Key::new(1, 1), 1300), None);
        for counter in 0..200_000 {
            starts.begin(Key::new(1, counter), 0);
        }
        assert!(starts.len() <= 1 << BITS, "{}", starts.len());
        assert_eq!(
            starts.end(Key::new(1, 199_999), 7),
            Some(7),
            "the newest is there"
        );
    }
}
