//! Golden files: bytes as hexadecimal text, in `tests/golden` of the crate whose tests run.

use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from("tests/golden").join(name)
}

/// Whether to write missing golden files.
pub fn is_to_be_written() -> bool {
    std::env::var("SKEP_GOLDEN").as_deref() == Ok("write")
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}
