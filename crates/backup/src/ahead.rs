//! Reads objects ahead of their use: a bucket answers after a while and sends one object more slowly than a disk takes it, and each
//! checksum takes a core.

use std::collections::VecDeque;
use std::thread::{Builder, JoinHandle};

/// Objects that are being read, or were read and wait for their turn. Each takes about [`PIECE`](crate::PIECE) of memory, and as much again
/// while it is unpacked.
pub const AHEAD: usize = 4;

/// Something read, or the thread that reads it.
enum Reading<R> {
    Begun(JoinHandle<R>),
    Done(R),
}

/// Results in the order of their items.
struct Ahead<I, F, R> {
    items: I,
    read: F,
    readings: VecDeque<Reading<R>>,
}

impl<I, F, R> Ahead<I, F, R>
where
    I: Iterator<Item: Clone + Send + 'static>,
    F: Fn(I::Item) -> R + Clone + Send + 'static,
    R: Send + 'static,
{
    /// Begins to read the next item. `None`: that was the last one.
    fn begin(&mut self) -> Option<Reading<R>> {
        let item = self.items.next()?;
        let (read, again) = (self.read.clone(), item.clone());
        let thread = Builder::new().name("backup-read".to_string());
        Some(match thread.spawn(move || read(item)) {
            Ok(thread) => Reading::Begun(thread),
            // The system has no threads left: what is read in this one comes later, but it comes.
            Err(_) => Reading::Done((self.read)(again)),
        })
    }
}

impl<I, F, R> Iterator for Ahead<I, F, R>
where
    I: Iterator<Item: Clone + Send + 'static>,
    F: Fn(I::Item) -> R + Clone + Send + 'static,
    R: Send + 'static,
{
    type Item = R;

    fn next(&mut self) -> Option<R> {
        while self.readings.len() < AHEAD
            && let Some(reading) = self.begin()
        {
            self.readings.push_back(reading);
        }
        debug_assert!(self.readings.len() <= AHEAD, "what waits is bounded");
        Some(match self.readings.pop_front()? {
            Reading::Done(result) => result,
            Reading::Begun(thread) => match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        })
    }
}

/// Reads these items, [`AHEAD`] at a time, from the first call of `next` on. Whoever stops early leaves at most as many readings, which end by
/// themselves.
pub fn ahead<I, F, R>(items: I, read: F) -> impl Iterator<Item = R> + use<I, F, R>
where
    I: IntoIterator<Item: Clone + Send + 'static>,
    F: Fn(I::Item) -> R + Clone + Send + 'static,
    R: Send + 'static,
{
    Ahead {
        items: items.into_iter(),
        read,
        readings: VecDeque::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::{AHEAD, ahead};

    const DEADLINE: Duration = Duration::from_secs(60);

    fn wait_until(is_so: impl Fn() -> bool) -> bool {
        let began = Instant::now();
        while !is_so() {
            if began.elapsed() > DEADLINE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    #[test]
    fn several_items_are_read_at_a_time_and_none_long_before_its_turn() {
        let begun = Arc::new(AtomicUsize::new(0));
        let seen = begun.clone();
        let mut results = ahead(0..40, move |item: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            // Nobody ends before the first ones are all there.
            let is_beside_others = wait_until(|| begun.load(Ordering::SeqCst) >= AHEAD);
            (item, is_beside_others)
        });
        assert_eq!(seen.load(Ordering::SeqCst), 0, "nobody has asked");
        for taken in 1..=40 {
            assert_eq!(results.next(), Some((taken - 1, true)));
            // What was begun may not have run yet.
            assert!(seen.load(Ordering::SeqCst) < taken + AHEAD);
        }
        assert_eq!(results.next(), None);
        assert_eq!(seen.load(Ordering::SeqCst), 40);
    }

    #[test]
    fn results_come_in_order_however_long_each_takes() {
        let results = ahead(0..20_u64, |item| {
            std::thread::sleep(Duration::from_millis(item * 7 % 5));
            item
        });
        assert!(results.eq(0..20));
    }
}
