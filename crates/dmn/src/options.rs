//! How a model is read: its dialect, and the limits it has to keep.

use skep_protocol::names::MAX_CHARS;

/// How a model is read, and the limits it has to keep.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of the XML file.
    pub max_xml_bytes: usize,
    /// Characters of an id.
    pub max_id_length: usize,
    /// Characters of a name or label, and of the resource's name.
    pub max_name_length: usize,
    /// The interpretation of the standard.
    pub dialect: Dialect,
}

impl Default for Options {
    /// 4 MiB, 32 768 characters, Camunda's dialect.
    fn default() -> Options {
        Options {
            max_xml_bytes: 4 * 1024 * 1024,
            max_id_length: MAX_CHARS,
            max_name_length: MAX_CHARS,
            dialect: Dialect::Camunda,
        }
    }
}

/// Where Camunda's engine and the DMN standard part ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As Camunda deploys and evaluates: names with spaces need backticks, declared types and allowed values are
    /// documentation, and a broken expression refuses the file.
    Camunda,
    /// As the standard says: names of the model may contain spaces and operators, values are coerced to their declared
    /// types and checked against allowed values, and a broken expression fails the decision when it is evaluated.
    Standard,
}
