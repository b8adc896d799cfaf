//! Where commands about correlation keys are carried out, as the broker decides it.

use std::collections::HashMap;

use skep_engine::{Place, Prepared, RequestId};
use skep_protocol::command::Request;
use skep_protocol::{Rejection, Response};

use super::Rig;

/// Requests of clients.
#[derive(Default)]
pub(super) struct Requests {
    pub last: RequestId,
    pub answers: HashMap<RequestId, Result<Response, Rejection>>,
    /// Those about correlation keys that are about to move, each with its partition.
    frozen: Vec<(u32, RequestId, Request)>,
    pub aborted: Vec<RequestId>,
}

impl Rig {
    /// Requests that got no answer because their correlation keys have moved.
    pub fn aborted(&self) -> &[RequestId] {
        &self.requests.aborted
    }

    /// Processes the command where it belongs, or keeps it until that is known.
    pub(super) fn ask(&mut self, mut partition: u32, id: RequestId, mut request: Request) {
        // More than it takes until a partition adopts a slot that none has.
        while request.hops < 100 {
            let engine = self.engine(partition);
            match engine.place_of(&request) {
                Place::Here => return self.process(partition, id, &request),
                Place::Waits => return self.requests.frozen.push((partition, id, request)),
                Place::At(other) => partition = other,
                Place::Lost => return self.requests.aborted.push(id),
            }
            request.hops += 1;
        }
        panic!("the partitions send a command on for ever: {request:?}");
    }

    fn process(&mut self, partition: u32, id: RequestId, request: &Request) {
        let now = self.now;
        let engine = &mut self.partitions[partition as usize - 1].engine;
        if self.prepares {
            engine.prepare(Prepared::of_command(&request.command));
        }
        engine.process(now, Some(id), request, &mut self.streams);
        self.settle(partition);
    }

    /// Tries commands again that have waited for their correlation keys to move.
    pub(super) fn thaw(&mut self) {
        for (partition, id, request) in std::mem::take(&mut self.requests.frozen) {
            self.ask(partition, id, request);
        }
    }
}
