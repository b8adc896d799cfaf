//! Pushed jobs: newline-delimited JSON, one job per line; blank lines keep the connection alive.

use bytes::{Buf as _, BytesMut};
use http::HeaderMap;

use super::answers::JobAnswer;
use crate::{Error, Job, net::Decode};

/// Cuts lines into jobs.
#[derive(Debug, Default)]
pub(crate) struct RestJobs {
    /// Bytes at the front of the buffer that hold no line end, so that none is looked at twice.
    scanned: usize,
}

impl Decode for RestJobs {
    type Item = Job;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<Job>, Error> {
        loop {
            let fresh = buffer.get(self.scanned..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', fresh) else {
                self.scanned = buffer.len();
                return Ok(None);
            };
            let end = self.scanned + found;
            self.scanned = 0;
            let line = buffer.get(..end).unwrap_or_default().trim_ascii();
            let job = match line {
                [] => None,
                _ => Some(super::decode::<JobAnswer>(line)?.into_job()),
            };
            buffer.advance(end + 1);
            if job.is_some() {
                return Ok(job);
            }
        }
    }

    fn end(&mut self, rest: &[u8], _trailers: Option<&HeaderMap>) -> Result<(), Error> {
        if rest.trim_ascii().is_empty() {
            Ok(())
        } else {
            Err(Error::broken("the job stream ended inside a line"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: i64) -> String {
        format!(
            r#"{{"jobKey":"{key}","type":"t","processInstanceKey":"7","processDefinitionId":"p","processDefinitionVersion":1,"processDefinitionKey":"3","elementId":"task","elementInstanceKey":"8","customHeaders":{{}},"worker":"w","retries":3,"deadline":9,"variables":{{"a": 1.50}},"tenantId":"<default>","kind":"BPMN_ELEMENT","listenerEventType":"UNSPECIFIED","userTask":null,"tags":[],"rootProcessInstanceKey":null}}"#
        )
    }

    #[test]
    fn lines_become_jobs_however_they_are_cut() {
        let text = format!("\n{}\n\n\r\n{}\n", line(1), line(2));
        for step in [1, 2, 7, 100, text.len()] {
            let mut decoder = RestJobs::default();
            let mut buffer = BytesMut::new();
            let mut keys = Vec::new();
            for chunk in text.as_bytes().chunks(step) {
                buffer.extend_from_slice(chunk);
                while let Some(job) = decoder.decode(&mut buffer).unwrap() {
                    assert_eq!(job.variables, r#"{"a": 1.50}"#, "text is passed through");
                    keys.push(job.key);
                }
            }
            assert_eq!(keys, [1, 2], "in steps of {step}");
            assert!(decoder.end(&buffer, None).is_ok());
        }
    }

    #[test]
    fn half_a_line_at_the_end_is_a_broken_stream() {
        let mut decoder = RestJobs::default();
        let mut buffer = BytesMut::from(r#"{"jobKey":"#);
        assert_eq!(decoder.decode(&mut buffer).unwrap(), None);
        assert!(decoder.end(&buffer, None).is_err());
    }

    #[test]
    fn a_line_that_is_no_job_is_an_error() {
        let mut buffer = BytesMut::from("{\"jobKey\":\"x\"}\n");
        let error = RestJobs::default().decode(&mut buffer).unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{error}");
    }
}
