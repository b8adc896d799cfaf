//! The two text formats for metrics.
//!
//! The registry writes OpenMetrics, where a counter's `# TYPE` line names it without the `_total` of its samples. In the older
//! Prometheus text format both have the same name; read as that, an OpenMetrics counter would have no type.

use http::HeaderMap;
use http::header::ACCEPT;

const OPEN_METRICS: &str = "application/openmetrics-text";

/// Content type and text for the requested format: OpenMetrics for callers that accept it, such as Prometheus, otherwise version 0.0.4 of
/// the Prometheus text format.
pub fn negotiated(headers: &HeaderMap, open_metrics: String) -> (&'static str, String) {
    let accepted = headers.get_all(ACCEPT).iter().any(|value| {
        let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
        text.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            let named = parts.next() == Some(OPEN_METRICS);
            named && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
        })
    });
    if accepted {
        (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            open_metrics,
        )
    } else {
        (
            "text/plain; version=0.0.4; charset=utf-8",
            prometheus(&open_metrics),
        )
    }
}

/// Converts OpenMetrics to Prometheus text: `HELP` and `TYPE` of a counter get the name of its samples.
fn prometheus(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len() + 1024);
    // HELP precedes TYPE, which tells the type of metric.
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or((rest, "unknown"));
            let (ending, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some((_, text)) = help.take().filter(|(of, _)| *of == name) {
                push(&mut out, &["# HELP ", name, ending, " ", text]);
            }
            push(&mut out, &["# TYPE ", name, ending, " ", kind]);
        } else if !line.starts_with('#') {
            push(&mut out, &[line]);
        }
    }
    out
}

fn push(out: &mut String, parts: &[&str]) {
    out.extend(parts.iter().copied());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::registry::Registry;

    use super::*;

    fn registry() -> String {
        let mut registry = Registry::default();
        registry.register("requests", "all requests", Counter::<u64>::default());
        registry.register("open", "what is open", Gauge::<i64>::default());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn type_lines_name_the_samples() {
        assert_eq!(
            prometheus(&registry()),
            "# HELP requests_total all requests.\n# TYPE requests_total counter\nrequests_total 0\n\
             # HELP open what is open.\n# TYPE open gauge\nopen 0\n"
        );
    }

    #[test]
    fn open_metrics_are_served_to_those_who_accept_them() {
        let text = registry();
        for (accept, open_metrics) in [
            (None, false),
            (Some("*/*"), false),
            (Some("text/plain;version=0.0.4"), false),
            (Some("application/openmetrics-text;q=0"), false),
            (Some("application/openmetrics-text; version=1.0.0"), true),
            (
                Some("text/plain;q=0.3,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"),
                true,
            ),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let (content_type, shown) = negotiated(&headers, text.clone());
            assert_eq!(content_type.starts_with(OPEN_METRICS), open_metrics);
            assert_eq!(shown == text, open_metrics, "{accept:?}");
        }
    }
}
