//! Metadata of a document.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::DocumentError;

/// Maximum size of a document's metadata as JSON, in bytes.
pub const MAX_METADATA: usize = 16 << 10;
/// Maximum length of an id, in bytes.
const MAX_ID: usize = 200;
const MAX_FILE_NAME: usize = 255;
const MAX_CONTENT_TYPE: usize = 255;
/// Content type of a document that has none of its own.
pub const ANY_TYPE: &str = "application/octet-stream";

/// Metadata given by a client; all of it may be absent.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub content_type: Option<String>,
    pub file_name: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub process_definition_id: Option<String>,
    pub process_instance_key: Option<i64>,
    /// A JSON object, as the client sent it.
    pub custom_properties: Option<Box<RawValue>>,
}

/// Metadata kept by a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub content_type: String,
    pub file_name: String,
    pub expires_at: Option<Timestamp>,
    /// Size of the content in bytes.
    pub size: u64,
    pub process_definition_id: Option<String>,
    pub process_instance_key: Option<i64>,
    /// A JSON object, as the client sent it.
    pub custom_properties: Box<RawValue>,
    /// SHA-256 of the content, as hex digits; `None` if another program stored it.
    pub content_hash: Option<String>,
}

impl Metadata {
    /// The metadata of new content.
    ///
    /// # Errors
    /// [`DocumentError::Invalid`]
    pub fn new(
        id: &str,
        given: Given,
        content: &[u8],
        now: Timestamp,
    ) -> Result<Metadata, DocumentError> {
        check_id(id)?;
        if let Some(at) = given.expires_at.filter(|at| *at <= now) {
            return Err(DocumentError::Invalid(format!(
                "The document is to expire at {at}, which lies in the past. Give a later time as 'expiresAt', or none."
            )));
        }
        let metadata = Metadata {
            content_type: given.content_type.unwrap_or_else(|| ANY_TYPE.to_string()),
            file_name: given.file_name.unwrap_or_else(|| id.to_string()),
            expires_at: given.expires_at,
            size: content.len() as u64,
            process_definition_id: given.process_definition_id,
            process_instance_key: given.process_instance_key,
            custom_properties: given.custom_properties.unwrap_or_else(no_properties),
            content_hash: Some(hex(&Sha256::digest(content))),
        };
        metadata.check()?;
        Ok(metadata)
    }

    fn check(&self) -> Result<(), DocumentError> {
        text("contentType", &self.content_type, MAX_CONTENT_TYPE)?;
        text("fileName", &self.file_name, MAX_FILE_NAME)?;
        if !self.content_type.is_ascii() || !self.content_type.contains('/') {
            return Err(DocumentError::Invalid(format!(
                "The content type '{}' is not valid. Give one such as application/pdf, or none.",
                self.content_type
            )));
        }
        if !self.custom_properties.get().trim_start().starts_with('{') {
            let text = "The field 'customProperties' must be a JSON object.";
            return Err(DocumentError::Invalid(text.to_string()));
        }
        let size = self.to_json().len();
        if size > MAX_METADATA {
            return Err(DocumentError::Invalid(format!(
                "The metadata of the document takes {size} bytes; at most {MAX_METADATA} are kept. Give less in 'customProperties', or \
                 put it into the document."
            )));
        }
        Ok(())
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The metadata as JSON, for a store.
    pub fn to_json(&self) -> String {
        // Serializing text, numbers and JSON that was parsed before cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Checks an id: it is one segment of a path, and a readable name.
///
/// # Errors
/// [`DocumentError::Invalid`]
pub fn check_id(id: &str) -> Result<(), DocumentError> {
    text("documentId", id, MAX_ID)?;
    if id.contains('/') {
        return Err(DocumentError::Invalid(format!(
            "The document id '{id}' has a '/'. Choose an id without."
        )));
    }
    Ok(())
}

fn text(name: &str, text: &str, most: usize) -> Result<(), DocumentError> {
    if text.trim().is_empty() || text.len() > most || text.chars().any(char::is_control) {
        return Err(DocumentError::Invalid(format!(
            "The '{name}' of a document must be a text of 1 to {most} bytes without control characters."
        )));
    }
    Ok(())
}

/// The `content-disposition` that names the file for a browser (RFC 6266).
pub fn attachment(file_name: &str) -> String {
    let mut text = "attachment; filename*=UTF-8''".to_string();
    for byte in file_name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

pub(crate) fn no_properties() -> Box<RawValue> {
    RawValue::from_string("{}".to_string()).unwrap_or_default()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: &str, given: Given) -> Result<Metadata, String> {
        Metadata::new(id, given, b"abc", Timestamp::UNIX_EPOCH).map_err(|e| e.to_string())
    }

    #[test]
    fn missing_metadata_have_defaults() {
        let known = of("d-1", Given::default()).unwrap();
        let expected = (ANY_TYPE, "d-1", 3, "{}");
        let found = (
            &*known.content_type,
            &*known.file_name,
            known.size,
            known.custom_properties.get(),
        );
        assert_eq!(found, expected);
        // The digest that FIPS 180-2 gives for these three letters.
        assert_eq!(
            known.content_hash.as_deref(),
            Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
    }

    #[test]
    fn invalid_metadata_are_refused() {
        let properties = |json: String| Given {
            custom_properties: Some(RawValue::from_string(json).unwrap()),
            ..Given::default()
        };
        let named = |content_type: &str, file_name: &str| Given {
            content_type: Some(content_type.to_string()),
            file_name: Some(file_name.to_string()),
            ..Given::default()
        };
        let past = Given {
            expires_at: Some(Timestamp::UNIX_EPOCH),
            ..Given::default()
        };
        for (id, given, said) in [
            ("", Given::default(), "documentId"),
            ("a/b", Given::default(), "a '/'"),
            ("a\n", Given::default(), "control characters"),
            ("d", named("text", "x"), "content type 'text'"),
            ("d", named("text/ä", "x"), "content type"),
            ("d", named("a/b", ""), "fileName"),
            ("d", past, "in the past"),
            ("d", properties("[1]".to_string()), "must be a JSON object"),
            (
                "d",
                properties(format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_METADATA))),
                "are kept",
            ),
        ] {
            let error = of(id, given).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let long = of(&"d".repeat(MAX_ID + 1), Given::default());
        assert!(long.unwrap_err().contains("1 to 200 bytes"));
    }
}
