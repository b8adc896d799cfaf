//! The CPU time that the partition's thread takes.

use rustix::time::{ClockId, clock_gettime};
use skep_metrics::RealCounter;

/// What the thread had taken when it was last counted, in seconds.
#[derive(Debug, Default)]
pub(super) struct CpuTime(f64);

impl CpuTime {
    /// Counts what the calling thread has taken since the last time.
    pub(super) fn count(&mut self, counter: &RealCounter) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let now = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        counter.inc_by((now - self.0).max(0.0));
        self.0 = now;
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuTime, RealCounter};

    #[test]
    fn what_a_thread_takes_is_counted_once() {
        let (counter, mut time) = (RealCounter::default(), CpuTime::default());
        let mut sum = 0_u64;
        while counter.get() < 0.02 {
            for number in 0..10_000_u64 {
                sum = std::hint::black_box(sum.wrapping_add(number));
            }
            time.count(&counter);
        }
        // All that the thread has taken so far, added to what is counted already.
        let counted = counter.get();
        CpuTime::default().count(&counter);
        let own = counter.get() - counted;
        assert!(own >= counted, "{own} {counted}");
    }
}
