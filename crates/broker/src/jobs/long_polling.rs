//! Long polling: an activation that finds nothing waits until jobs of its type are announced.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Waiting clients by job type. An entry lives for as long as somebody waits.
#[derive(Debug, Default)]
pub struct JobNotifier {
    waiting: Mutex<HashMap<Arc<str>, Weak<Notify>>>,
}

impl JobNotifier {
    pub fn subscribe(&self, job_type: &Arc<str>) -> Arc<Notify> {
        let mut waiting = self.waiting.lock();
        if let Some(notify) = waiting.get(job_type).and_then(Weak::upgrade) {
            return notify;
        }
        waiting.retain(|_, notify| notify.strong_count() > 0);
        let notify = Arc::new(Notify::new());
        waiting.insert(job_type.clone(), Arc::downgrade(&notify));
        notify
    }

    pub fn announce(&self, job_type: &str) {
        let notify = self.waiting.lock().get(job_type).and_then(Weak::upgrade);
        if let Some(notify) = notify {
            notify.notify_waiters();
        }
    }
}
