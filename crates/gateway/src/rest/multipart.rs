//! `multipart/form-data`, sliced out of the body without copying; and deployments, which use it.

use std::ops::Range;

use bytes::Bytes;
use memchr::memmem;
use skep_protocol::Failure;
use skep_protocol::command::{Deploy, Resource};

use crate::check::invalid;

/// Limit for the headers of a part. One of them may be the metadata of a document, which takes up to 16 KiB, and more with escapes.
const MAX_HEAD: usize = 32 << 10;

/// Reads a deployment: parts `resources`, each with a file name, and at most one part `tenantId`, whose text is the second result.
///
/// `content_type` is the whole header. More than `max_parts` parts are refused.
pub fn deployment(
    content_type: &str,
    body: &Bytes,
    max_parts: usize,
) -> Result<(Deploy, Option<String>), Failure> {
    let (mut resources, mut tenant) = (Vec::new(), None);
    for part in read(content_type, body, max_parts)? {
        match part.name.as_str() {
            "resources" => resources.push(resource(part)?),
            "tenantId" => {
                let text = String::from_utf8_lossy(&part.content);
                if tenant.replace(text.trim().to_string()).is_some() {
                    return invalid("The deployment has two parts 'tenantId'. Name one tenant.");
                }
            }
            other => {
                return invalid(format!(
                    "The deployment has the unknown part '{other}'; its parts are 'resources' (one per file) and 'tenantId'."
                ));
            }
        }
    }
    if resources.is_empty() {
        return invalid("The deployment has no part 'resources'. Send at least one file.");
    }
    Ok((Deploy { resources }, tenant))
}

/// The parts of a body in their order.
pub fn read(content_type: &str, body: &Bytes, max_parts: usize) -> Result<Vec<Part>, Failure> {
    match boundary(content_type) {
        Some(boundary) => parts(body, &boundary, max_parts),
        None => invalid(
            "The Content-Type of a multipart body has to name its boundary: multipart/form-data; boundary=…",
        ),
    }
}

fn resource(part: Part) -> Result<Resource, Failure> {
    match part.file_name.filter(|name| !name.trim().is_empty()) {
        Some(name) => Ok(Resource {
            name,
            content: part.content,
        }),
        None => invalid(
            "A part 'resources' has no file name. Give each file its name, such as filename=\"process.bpmn\": the extension determines \
             its type.",
        ),
    }
}

#[derive(Debug)]
pub struct Part {
    pub name: String,
    pub file_name: Option<String>,
    /// Its lines.
    head: String,
    pub content: Bytes,
}

impl Part {
    /// The value of a line of its head.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.split("\r\n").find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn malformed<T>(what: &str) -> Result<T, Failure> {
    invalid(format!(
        "The multipart body is malformed: {what}. Send it as RFC 7578 defines."
    ))
}

fn parts(body: &Bytes, boundary: &str, max_parts: usize) -> Result<Vec<Part>, Failure> {
    // A delimiter is a line of its own, so that the body is searched for the line break before it as well. The first one may
    // stand at the very beginning.
    let first = format!("--{boundary}");
    let delimiter = format!("\r\n{first}");
    let finder = memmem::Finder::new(delimiter.as_bytes());
    let mut at = if body.starts_with(first.as_bytes()) {
        first.len()
    } else {
        match finder.find(body) {
            Some(found) => found + delimiter.len(),
            None => return malformed("its boundary does not occur"),
        }
    };
    let mut parts = Vec::new();
    loop {
        let rest = body.get(at..).unwrap_or_default();
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let is_padding = |byte: &u8| matches!(byte, b' ' | b'\t');
        let padding = rest.iter().take_while(|byte| is_padding(byte)).count();
        if !rest.iter().skip(padding).take(2).eq(b"\r\n") {
            return malformed("a boundary is not followed by a line break");
        }
        let start = at + padding + 2;
        let Some(length) = body.get(start - 2..).and_then(|rest| finder.find(rest)) else {
            return malformed("its last part is not closed");
        };
        // The search began at the line break before the part, so an empty part's delimiter is found as well.
        let end = (start - 2 + length).max(start);
        if parts.len() == max_parts {
            return invalid(format!(
                "The body has more than the {max_parts} parts that are allowed. Split it up."
            ));
        }
        parts.push(part(body, start..end, parts.len() + 1)?);
        at = start - 2 + length + delimiter.len();
    }
}

fn part(body: &Bytes, range: Range<usize>, number: usize) -> Result<Part, Failure> {
    let all = body.get(range.clone()).unwrap_or_default();
    let head = memmem::find(all, b"\r\n\r\n").and_then(|blank| all.get(..blank));
    let Some(head) = head else {
        return malformed("a part has no head");
    };
    if head.len() > MAX_HEAD {
        return invalid(format!(
            "The headers of part {number} of the multipart body take {} bytes; at most {MAX_HEAD} are allowed. Shorten them.",
            head.len()
        ));
    }
    let content = range.start + head.len() + 4;
    let Ok(head) = std::str::from_utf8(head) else {
        return malformed("the head of a part is not UTF-8");
    };
    let Some(disposition) = header(head, "content-disposition") else {
        return malformed("a part has no Content-Disposition");
    };
    let Some(name) = parameter(disposition, "name") else {
        return malformed("a part has no name");
    };
    let file_name = parameter(disposition, "filename*")
        .and_then(|value| extended(&value))
        .or_else(|| parameter(disposition, "filename"));
    Ok(Part {
        name,
        file_name,
        head: head.to_string(),
        content: body.slice(content..range.end),
    })
}

fn boundary(content_type: &str) -> Option<String> {
    let boundary = parameter(content_type, "boundary")?;
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// The first `name=value` or `name="value"` of this name in a header value, after its first `;`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((own, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (text, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => match after.split_once(';') {
                Some((text, next)) => (text.trim().to_string(), next),
                None => (after.trim().to_string(), ""),
            },
        };
        let own = own.trim_matches([' ', '\t', ';']);
        if own.eq_ignore_ascii_case(name) {
            return Some(text);
        }
        rest = next;
    }
    None
}

/// Reads to the closing quote. A backslash escapes a quote or itself only: some clients send Windows paths as they are.
fn unquote(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return (out, text.get(i + 1..).unwrap_or_default()),
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => out.push(escaped),
                None => out.push(c),
            },
            // Browsers and the WHATWG form encoding escape quotes like this.
            '%' if text[i..].starts_with("%22") => {
                out.push('"');
                chars.nth(1);
            }
            _ => out.push(c),
        }
    }
    (out, "")
}

/// `UTF-8''na%C3%AFve.bpmn` (RFC 5987).
fn extended(value: &str) -> Option<String> {
    let mut fields = value.splitn(3, '\'');
    let (charset, _language, text) = (fields.next()?, fields.next()?, fields.next()?);
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xx";

    fn deploy(body: &str) -> Result<Vec<(String, String)>, String> {
        let body = Bytes::from(body.replace('\n', "\r\n"));
        let (deploy, _) = deployment(TYPE, &body, 3).map_err(|e| e.to_string())?;
        let text = |r: Resource| (r.name, String::from_utf8_lossy(&r.content).into_owned());
        Ok(deploy.resources.into_iter().map(text).collect())
    }

    #[test]
    fn each_file_is_a_resource_with_its_name_and_bytes() {
        let body = "--xx\nContent-Disposition: form-data; name=\"resources\"; filename=\"a.bpmn\"\n\
                    Content-Type: text/xml\n\n<a>\n--x\n</a>\n\
                    --xx\ncontent-disposition: form-data; filename=b.dmn; name=resources\n\n\n\
                    --xx\nContent-Disposition: form-data; name=\"tenantId\"\n\n<default>\n--xx--\n";
        let expected = [("a.bpmn", "<a>\r\n--x\r\n</a>"), ("b.dmn", "")];
        assert_eq!(
            deploy(body).unwrap(),
            expected.map(|(n, c)| (n.to_string(), c.to_string()))
        );
    }

    #[test]
    fn file_names_may_be_quoted_escaped_and_extended() {
        let named = |parameter: &str| {
            let body = format!(
                "--xx\nContent-Disposition: form-data; name=\"resources\"; {parameter}\n\nx\n--xx--"
            );
            deploy(&body).unwrap()[0].0.clone()
        };
        assert_eq!(named(r#"filename="a \"b\" c.bpmn""#), r#"a "b" c.bpmn"#);
        assert_eq!(named(r#"filename="C:\x\a;b.bpmn""#), r"C:\x\a;b.bpmn");
        assert_eq!(named("filename=\"a%22b.bpmn\""), "a\"b.bpmn");
        assert_eq!(
            named("filename=\"x\"; filename*=UTF-8''%C3%BC.bpmn"),
            "ü.bpmn"
        );
    }

    #[test]
    fn the_headers_of_a_part_are_limited() {
        let head = "Content-Disposition: form-data; name=\"resources\"; filename=\"a\"";
        let first = format!("--xx\n{head}\n\nx\n");
        // Line breaks of two bytes are part of the head.
        let with = |length: usize| {
            let other = "\nX-Other: ";
            let filler = "x".repeat(length - head.len() - other.len() - 1);
            deploy(&format!("{first}--xx\n{head}{other}{filler}\n\nx\n--xx--"))
        };
        assert_eq!(with(MAX_HEAD).unwrap().len(), 2);
        let error = with(MAX_HEAD + 1).unwrap_err();
        assert!(error.contains("part 2 of the"), "{error}");
        assert!(error.contains("at most 32768"), "{error}");
    }

    #[test]
    fn a_parameter_is_found_behind_many_others() {
        let value = format!("form-data; {}NAME=\"a;b\"; name=c", "x=y; ".repeat(1000));
        assert_eq!(parameter(&value, "name").as_deref(), Some("a;b"));
        assert_eq!(parameter(&value, "filename"), None);
    }

    #[test]
    fn errors_in_a_multipart_body_are_named() {
        let head = "--xx\nContent-Disposition: form-data; name=";
        for (body, said) in [
            ("nothing".to_string(), "boundary does not occur"),
            ("--xx".into(), "not followed by a line break"),
            ("--xx\nX: y\n\n\n--xx--".into(), "no Content-Disposition"),
            (
                format!("{head}\"resources\"; filename=\"a\"\n\nx"),
                "not closed",
            ),
            (format!("{head}\"resources\"\n--xx--"), "has no head"),
            (format!("{head}\"resources\"\n\nx\n--xx--"), "no file name"),
            (format!("{head}\"other\"\n\nx\n--xx--"), "'other'"),
            (
                format!("{head}\"tenantId\"\n\nacme\n{head}\"tenantId\"\n\nacme\n--xx--"),
                "two parts 'tenantId'",
            ),
            (
                format!("{head}\"tenantId\"\n\n<default>\n--xx--"),
                "at least one file",
            ),
            (
                format!(
                    "{}--xx--",
                    format!("{head}\"resources\"; filename=\"a\"\n\nx\n").repeat(4)
                ),
                "more than the 3 parts",
            ),
        ] {
            let error = deploy(&body).unwrap_err();
            assert!(error.contains(said), "{body:?} gave {error}");
        }
        let no_boundary = deployment("multipart/form-data", &Bytes::new(), 3);
        assert!(no_boundary.unwrap_err().to_string().contains("boundary"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::sample::select(b"-x\r\n:;=\" aname".to_vec()), 0..80)) {
            let _ = deployment(TYPE, &Bytes::from(bytes), 3);
        }
    }
}
