//! Pods that are ended, and that their StatefulSet starts again. Kubernetes takes minutes for both: whoever waits for it keeps nothing of the
//! run from others meanwhile.

use std::io;
use std::time::{Duration, Instant};

use super::found::Found;
use super::{Allowed, Kubernetes, Pods, START};

/// Time limit for a pod to end by itself; longer than the chart grants it.
const END: Duration = Duration::from_secs(150);
const PAUSE: Duration = Duration::from_millis(500);

/// The deletion of a pod.
#[derive(Debug)]
pub(in crate::drivers) struct Deletion {
    kubernetes: Kubernetes,
    words: Vec<String>,
}

impl Deletion {
    /// Deletes the pod, and waits for its end if it may end by itself.
    pub(in crate::drivers) fn carry_out(&self) -> io::Result<()> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        self.kubernetes.ask(&words, "", END).map(drop)
    }
}

/// A pod that is to be started again.
#[derive(Debug)]
pub(in crate::drivers) struct Awaited {
    kubernetes: Kubernetes,
    number: u32,
    before: Found,
}

/// A pod that was started again.
#[derive(Debug)]
pub(in crate::drivers) struct Started {
    number: u32,
    found: Found,
}

impl Awaited {
    /// Waits until the StatefulSet has started it, and it is ready: `kubectl` ends the forwarding of all ports if nobody listens on one of
    /// them yet.
    pub(in crate::drivers) fn wait(self, end: Instant) -> io::Result<Started> {
        loop {
            let found = self.kubernetes.find()?.remove(&self.number);
            let is_new =
                |found: &Found| !found.is_same(&self.before) && found.is_running && found.is_ready;
            if let Some(found) = found.filter(is_new) {
                return Ok(Started {
                    number: self.number,
                    found,
                });
            }
            if Instant::now() >= end {
                let seconds = START.as_secs();
                return Err(io::Error::other(format!(
                    "{} has not become ready again within {seconds} s",
                    self.before.name
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Pods {
    /// Begins to end a pod: at once, or with the time that it has to end by itself. From now on its end is the run's doing.
    pub(in crate::drivers) fn begin_end(
        &mut self,
        number: u32,
        gently: bool,
    ) -> io::Result<Deletion> {
        self.permit(number, Allowed::Kill)?;
        let kubernetes = self.kubernetes.clone();
        let pod = self.pod(number)?;
        if pod.forward.is_none() {
            return Err(io::Error::other(format!("{} is not up", pod.found.name)));
        }
        pod.ends = true;
        let how: &[&str] = if gently {
            &["--wait=true"]
        } else {
            &["--grace-period=0", "--force", "--wait=false"]
        };
        let delete = ["delete", "pod", pod.found.name.as_str()];
        let words = [&delete[..], how].concat();
        Ok(Deletion {
            kubernetes,
            words: words.into_iter().map(String::from).collect(),
        })
    }

    /// Notes the outcome of the deletion, and returns it.
    pub(in crate::drivers) fn ended(
        &mut self,
        number: u32,
        deleted: io::Result<()>,
    ) -> io::Result<()> {
        let guard = self.guard.clone();
        self.pod(number)?.ends = false;
        deleted?;
        // Its limit was that of the pod.
        self.unlimited(number)?;
        match self.pod(number)?.forward.take() {
            Some(forward) => forward.end(&guard),
            None => Ok(()),
        }
    }

    /// The first pod that has ended.
    pub(in crate::drivers) fn next_down(&self) -> Option<Awaited> {
        let mut pods = self.pods.iter();
        let (number, pod) = pods.find(|(_, pod)| pod.forward.is_none())?;
        Some(Awaited {
            kubernetes: self.kubernetes.clone(),
            number: *number,
            before: pod.found.clone(),
        })
    }

    /// Reaches a pod that was started again. Returns its number.
    pub(in crate::drivers) fn started(&mut self, started: Started) -> io::Result<u32> {
        let Started { number, found } = started;
        self.pod(number)?.found = found;
        self.forward(number)?;
        Ok(number)
    }
}
