//! `multipart/form-data` bodies for deployments (RFC 7578).

use bytes::Bytes;
use http::HeaderValue;

use crate::{Error, Resource};

/// The content type and the body of a deployment.
pub(super) fn deployment(
    resources: &[Resource],
    tenant_id: Option<&str>,
) -> Result<(HeaderValue, Bytes), Error> {
    let boundary = boundary(resources);
    let size: usize = resources.iter().map(|r| r.content.len() + 300).sum();
    let mut body = Vec::with_capacity(size + 300);
    for resource in resources {
        // quotes and line ends in a file name would break the header
        let name = resource.name.replace(['"', '\r', '\n', '\\'], "_");
        body.extend_from_slice(
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
            )
            .as_bytes(),
        );
        body.extend_from_slice(&resource.content);
        body.extend_from_slice(b"\r\n");
    }
    if let Some(tenant_id) = tenant_id {
        body.extend_from_slice(
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"tenantId\"\r\n\r\n{tenant_id}\r\n"
            )
            .as_bytes(),
        );
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}")
        .parse()
        .map_err(|_| Error::Invalid("no boundary".into()))?;
    Ok((content_type, body.into()))
}

/// A boundary that occurs in no resource.
fn boundary(resources: &[Resource]) -> String {
    let mut number: u64 = 0;
    loop {
        let candidate = format!("skep-{number:016x}");
        let occurs = resources
            .iter()
            .any(|r| memchr::memmem::find(&r.content, candidate.as_bytes()).is_some());
        if !occurs {
            return candidate;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_none_of_the_content_and_names_are_made_safe() {
        let resources = [Resource {
            name: "a\"b.bpmn".into(),
            content: Bytes::from_static(b"x skep-0000000000000000 y"),
        }];
        let (content_type, body) = deployment(&resources, Some("t")).unwrap();
        assert_eq!(
            content_type,
            "multipart/form-data; boundary=skep-0000000000000001"
        );
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("filename=\"a_b.bpmn\""), "{body}");
        assert!(body.contains("name=\"tenantId\"\r\n\r\nt\r\n"), "{body}");
        assert!(body.ends_with("--skep-0000000000000001--\r\n"), "{body}");
    }
}
