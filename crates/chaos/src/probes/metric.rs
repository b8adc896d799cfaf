//! A line of a node's metrics.

/// The value of this label.
pub(super) fn label<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let begin = format!("{name}=\"");
    line.split(begin.as_str()).nth(1)?.split('"').next()
}

/// The value of a metric with labels.
pub(super) fn value(line: &str) -> Option<f64> {
    let value = line.rsplit('}').next()?;
    value.split_whitespace().next()?.parse().ok()
}
