//! Measurements that each node takes of itself for the page Monitor of the web interface (`GET /skep/v1/monitor`). They need no other
//! server and therefore cover only the last hour.

mod rings;
mod samples;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use skep_broker::Broker;
use skep_gateway::GatewayMetrics;

use self::rings::{Rings, STEP, step_of};
use self::samples::Samples;

/// Prefix of the question from another node; the requested start time follows, in epoch milliseconds.
pub const QUESTION: &str = "measured ";

/// Measurements of one hour.
#[derive(Debug, Default)]
pub struct Monitor(Mutex<Rings>);

impl Monitor {
    /// Starts measuring, for as long as the server runs.
    pub fn start(broker: Arc<Broker>, gateway: Arc<GatewayMetrics>) -> Arc<Monitor> {
        let monitor = Arc::new(Monitor::default());
        tokio::spawn(measure(Arc::clone(&monitor), Samples::new(broker, gateway)));
        monitor
    }

    /// The answer to a question; empty if the question is not understood.
    pub fn answer(&self, since: &str) -> String {
        match since.parse() {
            Ok(since) => self.0.lock().since(since),
            // A question of a later version.
            Err(_) => String::new(),
        }
    }
}

async fn measure(monitor: Arc<Monitor>, mut samples: Samples) {
    let mut before = Instant::now();
    // Rates are relative to the current values of the counters.
    samples.take(1.0);
    loop {
        tokio::time::sleep(until_next_step()).await;
        let seconds = before.elapsed().as_secs_f64();
        before = Instant::now();
        let measured = samples.take(seconds);
        // The measurement belongs to the step that has just ended; timers are not exact.
        let step = step_of(epoch_ms() + STEP / 2) - 1;
        monitor.0.lock().put(step, measured);
    }
}

fn epoch_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// Time until the next step; steps begin at the same moments on all nodes.
fn until_next_step() -> Duration {
    let left = STEP - epoch_ms().rem_euclid(STEP);
    Duration::from_millis(u64::try_from(left).unwrap_or_default())
}
