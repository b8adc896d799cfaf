//! The signal that the gateways stop.

use tokio::sync::watch;

/// Held by every connection; cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Gives the signal, once.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

pub fn stop_signal() -> (Stopper, Stop) {
    let (tx, rx) = watch::channel(false);
    (Stopper(tx), Stop(rx))
}

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Resolves when the gateways stop, also when they did already.
    pub async fn stopped(mut self) {
        // An error means that the sender is gone, which is a stop as well.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
