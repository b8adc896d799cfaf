//! JSON in and out, and looking into JSON text without building values.

mod read;
mod scan;
mod write;

pub use read::JsonError;
pub(crate) use read::read;
pub(crate) use scan::{find_path, members, unescape};

/// Deepest nesting of JSON that becomes values.
pub const MAX_JSON_DEPTH: u32 = 200;
