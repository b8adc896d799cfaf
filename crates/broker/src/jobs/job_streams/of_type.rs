//! The open streams of one job type.
//!
//! A client may open any number of streams, also without any permission. So each caller is asked about once for a job, not once for each of
//! its streams.

use std::collections::HashMap;
use std::sync::Arc;

use skep_protocol::Tenants;
use skep_protocol::origin::Claims;

use super::Stream;

/// Streams that agree in these may have the same jobs.
type Caller = (Claims, Tenants);

fn caller_of(stream: &Stream) -> Caller {
    (stream.claims.clone(), stream.spec.tenants.clone())
}

/// Callers take turns, and so do the streams of each caller.
#[derive(Debug, Default)]
pub struct StreamsOfType {
    next: usize,
    callers: Vec<StreamsOfCaller>,
    /// Where each caller is in `callers`.
    places: HashMap<Caller, usize>,
}

/// The streams of one caller; there is at least one.
#[derive(Debug)]
struct StreamsOfCaller {
    caller: Caller,
    next: usize,
    streams: Vec<Arc<Stream>>,
}

impl StreamsOfType {
    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    pub fn open(&mut self, stream: Arc<Stream>) {
        let caller = caller_of(&stream);
        let behind = self.callers.len();
        let place = *self.places.entry(caller.clone()).or_insert(behind);
        match self.callers.get_mut(place) {
            Some(known) => known.streams.push(stream),
            None => self.callers.push(StreamsOfCaller {
                caller,
                next: 0,
                streams: vec![stream],
            }),
        }
    }

    pub fn close(&mut self, stream: &Stream) {
        let caller = caller_of(stream);
        let Some(place) = self.places.get(&caller).copied() else {
            return;
        };
        let Some(known) = self.callers.get_mut(place) else {
            return;
        };
        known.streams.retain(|it| it.id != stream.id);
        if !known.streams.is_empty() {
            return;
        }
        self.callers.swap_remove(place);
        self.places.remove(&caller);
        if let Some(moved) = self.callers.get(place) {
            self.places.insert(moved.caller.clone(), place);
        }
    }

    /// Whether any stream has credit. If none has, all are marked as starving: each of them notifies the partitions when it gets some.
    pub fn has_credit(&self) -> bool {
        debug_assert!(
            self.callers.iter().all(|known| !known.streams.is_empty()),
            "a caller without streams is forgotten"
        );
        let streams = || self.callers.iter().flat_map(|known| &known.streams);
        if streams().any(|stream| stream.has_credit()) {
            return true;
        }
        for stream in streams() {
            stream.starve();
        }
        // Credit that was returned between the check and the flag.
        streams().any(|stream| stream.has_credit())
    }

    /// Takes one credit of the next stream whose caller may have the job. `None` if no such stream has credit.
    pub fn take_credit(
        &mut self,
        may: &mut dyn FnMut(&Claims, &Tenants) -> bool,
    ) -> Option<Arc<Stream>> {
        let (first, count) = (self.next, self.callers.len());
        let mut without_credit = Vec::new();
        for place in (0..count).map(|offset| (first + offset) % count) {
            let Some(known) = self.callers.get_mut(place) else {
                continue;
            };
            let (claims, tenants) = &known.caller;
            if !may(claims, tenants) {
                continue;
            }
            if let Some(stream) = known.take_credit(false) {
                self.next = place + 1;
                return Some(stream);
            }
            without_credit.push(place);
        }
        // The second round sees credit that was returned between the check and the flag.
        for place in without_credit {
            let known = self.callers.get_mut(place);
            if let Some(stream) = known.and_then(|known| known.take_credit(true)) {
                self.next = place + 1;
                return Some(stream);
            }
        }
        None
    }
}

impl StreamsOfCaller {
    /// `mark`: whether streams are marked as starving before their credit is looked at.
    fn take_credit(&mut self, mark: bool) -> Option<Arc<Stream>> {
        let count = self.streams.len();
        for offset in 0..count {
            let index = (self.next + offset) % count;
            let Some(stream) = self.streams.get(index) else {
                continue;
            };
            if mark {
                stream.starve();
            }
            if stream.take_credit() {
                self.next = index + 1;
                return Some(Arc::clone(stream));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skep_engine::{JobStreams, StreamId};
    use skep_protocol::command::ActivateJobs;
    use skep_protocol::origin::{Claims, Principal};

    use crate::job_streams::{Stream, StreamRegistry};

    /// A stream with a credit of one, opened by a request of its own.
    fn stream(id: StreamId, caller: &str) -> Arc<Stream> {
        let spec = ActivateJobs {
            job_type: "work".into(),
            max_jobs: 1,
            ..ActivateJobs::default()
        };
        let claims = Claims::User(Arc::new(Principal {
            id: caller.into(),
            ..Principal::default()
        }));
        Stream::new(id, (spec, claims), None, None)
    }

    fn is(claims: &Claims, name: &str) -> bool {
        matches!(claims, Claims::User(principal) if &*principal.id == name)
    }

    /// Reserves credit for a job that the callers of these names may have. Returns the stream, and how often a caller was checked.
    fn reserve(streams: &mut StreamRegistry, names: &[&str]) -> (Option<StreamId>, usize) {
        let mut checks = 0;
        let reserved = streams.reserve("work", &mut |claims, _| {
            checks += 1;
            names.iter().any(|name| is(claims, name))
        });
        (reserved.map(|it| it.stream), checks)
    }

    #[test]
    fn a_caller_is_checked_once_for_a_job_however_many_streams_it_has() {
        let mut streams = StreamRegistry::default();
        for id in 0..2_000 {
            let caller = ["anna", "bert"][id as usize % 2];
            streams.open(stream(id, caller));
        }
        assert_eq!(reserve(&mut streams, &[]), (None, 2));
        streams.open(stream(2_000, "carl"));
        assert_eq!(reserve(&mut streams, &["carl"]), (Some(2_000), 3));
        // Its credit is used up.
        assert_eq!(reserve(&mut streams, &["carl"]), (None, 3));
    }

    #[test]
    fn callers_take_turns_and_so_do_the_streams_of_each() {
        let mut streams = StreamRegistry::default();
        for (id, caller) in [(1, "anna"), (2, "anna"), (3, "bert"), (4, "bert")] {
            streams.open(stream(id, caller));
        }
        let mut turn = || reserve(&mut streams, &["anna", "bert"]).0;
        assert_eq!([turn(), turn(), turn(), turn()], [1, 3, 2, 4].map(Some));
        assert_eq!(turn(), None);
    }

    #[test]
    fn a_closed_stream_gets_nothing_and_the_others_stay() {
        let mut streams = StreamRegistry::default();
        for (id, caller) in [(1, "anna"), (2, "bert"), (3, "carl"), (4, "anna")] {
            streams.open(stream(id, caller));
        }
        streams.close(1);
        streams.close(4);
        streams.open(stream(5, "carl"));
        streams.close(3);
        let all = ["anna", "bert", "carl"];
        let mut taken = [reserve(&mut streams, &all).0, reserve(&mut streams, &all).0];
        taken.sort_unstable();
        assert_eq!(taken, [Some(2), Some(5)]);
        streams.close(2);
        streams.close(5);
        assert_eq!(reserve(&mut streams, &all), (None, 0));
        assert!(streams.is_empty());
    }
}
