//! Streams of length-prefixed messages, and jobs among them.

use std::marker::PhantomData;

use bytes::{Buf as _, Bytes, BytesMut};
use http::HeaderMap;
use prost::Message;
use skep_proto::gateway_protocol::{ActivatedJob, activated_job};

use super::{PREFIX, status};
use crate::{Error, Job, net::Decode};

/// Messages of one type.
#[derive(Debug)]
pub(crate) struct Messages<T>(PhantomData<fn() -> T>);

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + Default> Decode for Messages<T> {
    type Item = T;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<T>, Error> {
        let Some(end) = message_end(buffer)? else {
            return Ok(None);
        };
        let body = buffer.get(PREFIX..end).unwrap_or_default();
        let message = T::decode(body).map_err(|error| Error::Protocol(error.to_string()))?;
        buffer.advance(end);
        Ok(Some(message))
    }

    fn end(&mut self, rest: &[u8], trailers: Option<&HeaderMap>) -> Result<(), Error> {
        status::check_end(trailers)?;
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Error::broken("the stream ended inside a message"))
        }
    }
}

/// Where the first message ends, once all of it is there.
fn message_end(buffer: &[u8]) -> Result<Option<usize>, Error> {
    let [compressed, a, b, c, d, rest @ ..] = buffer else {
        return Ok(None);
    };
    if *compressed != 0 {
        return Err(Error::Protocol(
            "a compressed gRPC message, though no compression was offered".into(),
        ));
    }
    let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
    Ok((rest.len() >= length).then(|| PREFIX + length))
}

/// Takes the first message's body off a buffer.
pub(super) fn split_message(buffer: &mut Bytes) -> Result<Option<Bytes>, Error> {
    Ok(message_end(buffer)?.map(|end| {
        let mut message = buffer.split_to(end);
        message.advance(PREFIX);
        message
    }))
}

/// Jobs pushed by the server.
#[derive(Debug, Default)]
pub(crate) struct GrpcJobs(Messages<ActivatedJob>);

impl Decode for GrpcJobs {
    type Item = Job;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Job>, Error> {
        Ok(self.0.decode(buffer)?.map(job))
    }

    fn end(&mut self, rest: &[u8], trailers: Option<&HeaderMap>) -> Result<(), Error> {
        self.0.end(rest, trailers)
    }
}

/// A job as this crate has it.
pub(super) fn job(job: ActivatedJob) -> Job {
    let kind =
        activated_job::JobKind::try_from(job.kind).map_or("UNKNOWN", |kind| kind.as_str_name());
    let event = activated_job::ListenerEventType::try_from(job.listener_event_type)
        .map_or("UNSPECIFIED", |event| event.as_str_name());
    Job {
        key: job.key,
        job_type: job.r#type,
        process_instance_key: job.process_instance_key,
        process_id: job.bpmn_process_id,
        process_definition_version: job.process_definition_version,
        process_definition_key: job.process_definition_key,
        element_id: job.element_id,
        element_instance_key: job.element_instance_key,
        custom_headers: job.custom_headers,
        worker: job.worker,
        retries: job.retries,
        deadline: job.deadline,
        variables: job.variables,
        tenant_id: job.tenant_id,
        kind: kind.into(),
        listener_event_type: event.into(),
        tags: job.tags,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::framed, *};

    fn pushed(key: i64) -> ActivatedJob {
        ActivatedJob {
            key,
            variables: r#"{"a": 1.50}"#.into(),
            ..ActivatedJob::default()
        }
    }

    #[test]
    fn messages_become_jobs_however_they_are_cut() {
        let bytes: Vec<u8> = [framed(&pushed(1)), framed(&pushed(2))].concat();
        for step in [1, 3, 5, bytes.len()] {
            let mut decoder = GrpcJobs::default();
            let mut buffer = BytesMut::new();
            let mut keys = Vec::new();
            for chunk in bytes.chunks(step) {
                buffer.extend_from_slice(chunk);
                while let Some(job) = decoder.decode(&mut buffer).unwrap() {
                    assert_eq!(job.variables, r#"{"a": 1.50}"#);
                    keys.push(job.key);
                }
            }
            assert_eq!(keys, [1, 2], "in steps of {step}");
        }
    }

    #[test]
    fn a_compressed_message_is_refused() {
        let mut buffer = BytesMut::from(&[1, 0, 0, 0, 0][..]);
        assert!(GrpcJobs::default().decode(&mut buffer).is_err());
    }
}
