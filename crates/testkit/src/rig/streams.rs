//! Job streams with a credit per job type.

use std::collections::HashMap;
use std::sync::Arc;

use skep_engine::{JobStreams, Reservation, StreamId};
use skep_protocol::origin::Claims;
use skep_protocol::{ActivatedJob, Tenants};

pub struct Streams {
    /// The claims of the client that opened the streams.
    pub claims: Claims,
    pub credit: HashMap<String, usize>,
    pub pushed: Vec<(StreamId, ActivatedJob)>,
    pub fetch_variables: Vec<Arc<str>>,
    pub tenants: Tenants,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams {
            claims: Claims::Anonymous,
            credit: HashMap::new(),
            pushed: Vec::new(),
            fetch_variables: Vec::new(),
            tenants: Tenants::default(),
        }
    }
}

impl Streams {
    pub fn open(&mut self, job_type: &str, credit: usize) {
        *self.credit.entry(job_type.to_string()).or_default() += credit;
    }

    pub fn take(&mut self) -> Vec<ActivatedJob> {
        self.pushed.drain(..).map(|(_, job)| job).collect()
    }
}

impl JobStreams for Streams {
    fn reserve(
        &mut self,
        job_type: &str,
        may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Reservation> {
        if !may(&self.claims, &self.tenants) {
            return None;
        }
        let credit = self.credit.get_mut(job_type).filter(|c| **c > 0)?;
        *credit -= 1;
        Some(Reservation {
            stream: 7,
            worker: "streamer".into(),
            timeout: super::MINUTE,
            fetch_variables: self.fetch_variables.iter().cloned().collect(),
            tenant_filter: self.tenants.filter,
        })
    }

    fn has_credit(&mut self, job_type: &str) -> bool {
        self.credit.get(job_type).is_some_and(|credit| *credit > 0)
    }

    fn release(&mut self, _reservation: Reservation) {
        for credit in self.credit.values_mut() {
            *credit += 1;
        }
    }
}
