//! Start times of instances and jobs, in bounded memory.

use skep_protocol::Key;

const PLACES: usize = 1 << 15;

/// Start times by key, in a table of fixed size: a newer key may replace an older one, which is then not measured. So long-lived instances
/// and jobs on a busy partition are only sampled, and memory is at most 512 KiB.
#[derive(Debug, Default)]
pub struct Starts {
    /// Key and time; empty until the first start. A key of 0 marks a free slot.
    places: Vec<[i64; 2]>,
    len: usize,
}

impl Starts {
    /// Keys are assigned in rising order, so keys of the same time lie next to each other.
    fn place(key: Key) -> usize {
        key.counter() as usize % PLACES
    }

    #[inline]
    pub fn begin(&mut self, key: Key, at: i64) {
        if self.places.is_empty() {
            self.places = vec![[0, 0]; PLACES];
        }
        let Some(place) = self.places.get_mut(Self::place(key)) else {
            return;
        };
        self.len += usize::from(place[0] == 0);
        *place = [key.0, at];
    }

    /// Milliseconds since the start, if it is remembered.
    #[inline]
    pub fn since(&self, key: Key, now: i64) -> Option<u64> {
        let [known, at] = *self.places.get(Self::place(key))?;
        (known == key.0).then(|| u64::try_from(now.saturating_sub(at)).unwrap_or(0))
    }

    /// As [`Starts::since`], and forgets the start.
    #[inline]
    pub fn end(&mut self, key: Key, now: i64) -> Option<u64> {
        let since = self.since(key, now)?;
        if let Some(place) = self.places.get_mut(Self::place(key)) {
            *place = [0, 0];
            self.len -= 1;
        }
        Some(since)
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, PLACES, Starts};

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
        assert!(starts.len() <= PLACES, "{}", starts.len());
        assert_eq!(
            starts.end(Key::new(1, 199_999), 7),
            Some(7),
            "the newest is there"
        );
    }
}
