//! Values of settings: their notation, their bounds, and how they are shown.

use std::time::Duration;

use skep_exporting::without_password;

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Counts, bytes, milliseconds.
    Number(u64),
    Real(f64),
    Flag(bool),
    Time(Duration),
    Text(String),
}

/// The type of a setting's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number within bounds, both included.
    Number(u64, u64),
    /// A size in bytes within bounds: `4MB`, `128KB`, plain bytes. Units are powers of 1024.
    Bytes(u64, u64),
    /// A time span of at least this many milliseconds: `250ms`, `15s`, `PT15S`, plain milliseconds.
    Time(u64),
    /// A number within bounds, both included.
    Real(f64, f64),
    Flag,
    /// One of these words; case, `-` and `_` do not matter.
    Choice(&'static [&'static str]),
    /// Any of these words with commas between them, or `none`; a list in YAML. Case, `-` and `_` do not matter.
    Words(&'static [&'static str]),
    /// An IP address.
    Ip,
    /// Log levels: a level, or a level with exceptions by module (`info,skep_broker=debug`).
    Levels,
    /// Any text that is not empty.
    Text,
    /// A text that is never shown.
    Secret,
    /// A URL, whose password is never shown.
    Url,
    /// An address that browsers open: `http` or `https`, without a password.
    WebUrl,
    /// An absolute path of a URL.
    UrlPath,
    /// A release: three numbers separated by dots.
    Release,
    /// Texts separated by commas.
    List,
}

const UNITS: [(&str, u64); 5] = [
    ("gb", 1 << 30),
    ("mb", 1 << 20),
    ("kb", 1 << 10),
    ("b", 1),
    ("", 1),
];

impl Kind {
    /// Parses a value; `None` if it is not of this kind.
    pub fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        match *self {
            Kind::Number(min, max) => {
                let number = text.parse().ok()?;
                (min..=max)
                    .contains(&number)
                    .then_some(Value::Number(number))
            }
            Kind::Bytes(min, max) => {
                let bytes = bytes(text)?;
                (min..=max).contains(&bytes).then_some(Value::Number(bytes))
            }
            Kind::Time(min) => {
                let time = duration(text)?;
                (time >= Duration::from_millis(min)).then_some(Value::Time(time))
            }
            Kind::Real(min, max) => {
                let number = text.parse().ok()?;
                (min..=max).contains(&number).then_some(Value::Real(number))
            }
            Kind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(Value::Flag(true)),
                "false" | "no" | "off" | "0" => Some(Value::Flag(false)),
                _ => None,
            },
            Kind::Choice(words) => {
                let wanted = squeeze(text);
                let word = words.iter().find(|word| squeeze(word) == wanted)?;
                Some(Value::Text((*word).to_string()))
            }
            Kind::Words(words) => {
                let mut named: Vec<&str> = Vec::new();
                let given = text.split(',').map(|word| squeeze(word.trim()));
                let given = given.filter(|word| word != "none");
                for wanted in given {
                    named.push(words.iter().find(|word| squeeze(word) == wanted)?);
                }
                Some(Value::Text(named.join(",")))
            }
            Kind::Ip => {
                let address: std::net::IpAddr = text.parse().ok()?;
                Some(Value::Text(address.to_string()))
            }
            Kind::Levels => {
                let lower = text.to_ascii_lowercase();
                crate::logs::levels(&lower).ok()?;
                Some(Value::Text(lower))
            }
            Kind::Text | Kind::Secret | Kind::Url => {
                (!text.is_empty()).then(|| Value::Text(text.to_string()))
            }
            Kind::List => Some(Value::Text(text.to_string())),
            Kind::WebUrl => is_web_url(text).then(|| Value::Text(text.to_string())),
            Kind::Release => {
                let numbers: Vec<&str> = text.split('.').collect();
                let valid = numbers.len() == 3 && numbers.iter().all(|n| n.parse::<u32>().is_ok());
                valid.then(|| Value::Text(text.to_string()))
            }
            Kind::UrlPath => skep_ui::prefix::of(text).map(|path| Value::Text(path.to_string())),
        }
    }

    /// A description of valid values, as in "expected …".
    pub fn expected(&self) -> String {
        match *self {
            Kind::Number(min, u64::MAX) => format!("a whole number, at least {min}"),
            Kind::Number(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Bytes(0, u64::MAX) => "a size such as 4MB, 128KB or 2GB".to_string(),
            Kind::Bytes(min, u64::MAX) => {
                format!("a size such as 4MB or 2GB, at least {}", show_bytes(min))
            }
            Kind::Bytes(min, max) => {
                let (min, max) = (show_bytes(min), show_bytes(max));
                format!("a size from {min} to {max}")
            }
            Kind::Time(0) => "a time span such as 250ms, 15s, 5m, 1h, 30d or PT15S".to_string(),
            Kind::Time(min) => {
                let min = show_time(Duration::from_millis(min));
                format!("a time span such as 250ms, 15s, 5m, 1h or PT15S, at least {min}")
            }
            Kind::Real(min, max) => format!("a number from {min} to {max}"),
            Kind::Flag => "true or false".to_string(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Words(words) => format!("none, or any of {}, separated by commas", words.join(", ")),
            Kind::Ip => "an IP address such as 0.0.0.0 or 127.0.0.1".to_string(),
            Kind::Levels => {
                "a log level (off, error, warn, info, debug, trace), also by module as in info,skep_broker=debug".to_string()
            }
            Kind::Text | Kind::Secret | Kind::Url => "a text".to_string(),
            Kind::WebUrl => {
                "an address such as https://grafana.example.com, with http or https and without a password".to_string()
            }
            Kind::UrlPath => "a path such as /actuator".to_string(),
            Kind::Release => "a release such as 8.9.0".to_string(),
            Kind::List => "texts separated by commas".to_string(),
        }
    }

    /// The value in the notation of settings.
    pub fn show(&self, value: &Value) -> String {
        match value {
            Value::Number(bytes) if matches!(self, Kind::Bytes(..)) => show_bytes(*bytes),
            // Times kept as a number are milliseconds.
            Value::Number(millis) if matches!(self, Kind::Time(..)) => {
                show_time(Duration::from_millis(*millis))
            }
            Value::Number(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Time(time) => show_time(*time),
            Value::Text(text) if matches!(self, Kind::Secret) && !text.is_empty() => {
                "***".to_string()
            }
            Value::Text(text) if matches!(self, Kind::Url) => without_password(text),
            Value::Text(text) if matches!(self, Kind::List) => {
                let items: Vec<String> = text.split(',').map(without_password).collect();
                items.join(",")
            }
            Value::Text(text) if text.is_empty() && matches!(self, Kind::Words(_)) => {
                "none".to_string()
            }
            Value::Text(text) => text.clone(),
        }
    }
}

/// Maximum length of an address that browsers open.
const MAX_WEB_URL: usize = 2_048;

/// Addresses of other schemes (`javascript:`) would run in the page that links to them.
fn is_web_url(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !"\"'<>\\^`{|}".contains(c);
    if text.len() > MAX_WEB_URL || !text.chars().all(plain) {
        return false;
    }
    let Ok(address) = text.parse::<http::Uri>() else {
        return false;
    };
    let is_web = matches!(address.scheme_str(), Some("http" | "https"));
    let host = address.host().unwrap_or_default();
    let authority = address.authority().map_or("", |named| named.as_str());
    is_web && !host.is_empty() && !authority.contains('@')
}

/// Lower case without `-` and `_`: the same for all spellings of a name.
pub fn squeeze(text: &str) -> String {
    text.chars()
        .filter(|c| *c != '-' && *c != '_')
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((lower.strip_suffix(suffix)?, unit)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(*unit)
}

fn show_bytes(bytes: u64) -> String {
    let fits = |unit: u64| bytes >= unit && bytes.is_multiple_of(unit);
    match UNITS.iter().find(|(_, unit)| fits(*unit)) {
        Some((suffix, unit)) => format!("{}{}", bytes / unit, suffix.to_ascii_uppercase()),
        None => format!("{bytes}B"),
    }
}

/// Parses a time span: `90s`, `2h`, `PT15M`; a plain number counts milliseconds.
pub fn duration(text: &str) -> Option<Duration> {
    if text.starts_with(['P', 'p']) {
        let span: jiff::SignedDuration = text.parse().ok()?;
        return Duration::try_from(span).ok();
    }
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(millis)?))
}

fn show_time(time: Duration) -> String {
    let millis = time.as_millis();
    for (unit, name) in [(3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if millis >= unit && millis.is_multiple_of(unit) {
            return format!("{}{name}", millis / unit);
        }
    }
    format!("{millis}ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_url_leads_to_no_other_host() {
        for (text, path) in [
            ("/actuator", Some("/actuator")),
            ("/bpm/one/", Some("/bpm/one")),
            ("/", Some("")),
            ("actuator", None),
            ("//evil.example", None),
            ("/a/../b", None),
            ("/a?b", None),
        ] {
            let expected = path.map(|path| Value::Text(path.to_string()));
            assert_eq!(Kind::UrlPath.parse(text), expected, "{text}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (kind, value, shown) in [
            (Kind::Secret, "secret", "***"),
            (Kind::Url, "jdbc:postgresql://h/d", "jdbc:postgresql://h/d"),
            (
                Kind::Url,
                "jdbc:postgresql://h/d?user=a&password=secret",
                "jdbc:postgresql://h/d?user=a&password=***",
            ),
            (
                Kind::Url,
                "postgres://a:se@cret@h/d",
                "postgres://a:***@h/d",
            ),
            (Kind::Url, "postgres://a@h/d", "postgres://a@h/d"),
            (
                Kind::List,
                "https://a:secret@h:9200, https://b:secret@i:9200",
                "https://a:***@h:9200, https://b:***@i:9200",
            ),
            (Kind::List, "a:26502,b:26502", "a:26502,b:26502"),
            (Kind::Url, "jdbc:oracle:thin:a/secret@h", "***@h"),
            (Kind::Url, "a:secret@h:9200", "***@h:9200"),
            (Kind::List, "anna@example.org", "anna@example.org"),
        ] {
            assert_eq!(kind.show(&Value::Text(value.to_string())), shown);
        }
    }

    #[test]
    fn addresses_that_browsers_open_are_of_the_web_and_have_no_password() {
        for text in [
            "http://localhost:3000",
            "https://grafana.example.com/d/skep?orgId=1&refresh=10s",
            "https://[::1]:3000/",
        ] {
            let value = Value::Text(text.to_string());
            assert_eq!(Kind::WebUrl.parse(text), Some(value), "{text}");
        }
        let long = format!("https://h/{}", "a".repeat(MAX_WEB_URL));
        for text in [
            "",
            "grafana.example.com",
            "/grafana",
            "https://",
            "ftp://h/",
            "javascript:alert(1)",
            "https://h/\"onclick=",
            "https://h/{{nonce}}",
            "https://h/a b",
            "https://anna:secret@h/",
            long.as_str(),
        ] {
            assert_eq!(Kind::WebUrl.parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_have_binary_units() {
        let any = Kind::Bytes(0, u64::MAX);
        for (text, bytes, shown) in [
            ("4MB", 4 << 20, "4MB"),
            ("4 mb", 4 << 20, "4MB"),
            ("128KB", 128 << 10, "128KB"),
            ("2GB", 2 << 30, "2GB"),
            ("1500", 1500, "1500B"),
            ("1024B", 1024, "1KB"),
            ("0", 0, "0B"),
        ] {
            let value = any.parse(text);
            assert_eq!(value, Some(Value::Number(bytes)), "{text}");
            assert_eq!(any.show(&Value::Number(bytes)), shown);
        }
        for text in ["", "4XB", "-1MB", "1.5MB", "99999999999GB", "MB"] {
            assert_eq!(any.parse(text), None, "{text}");
        }
        assert_eq!(Kind::Bytes(1024, 2048).parse("1023"), None);
    }

    #[test]
    fn time_spans_have_units_or_are_iso_8601() {
        let any = Kind::Time(0);
        for (text, millis, shown) in [
            ("250ms", 250, "250ms"),
            ("15s", 15_000, "15s"),
            ("5m", 300_000, "5m"),
            ("1h", 3_600_000, "1h"),
            ("30d", 30 * 86_400_000, "720h"),
            ("PT15S", 15_000, "15s"),
            ("PT0.25S", 250, "250ms"),
            ("10000", 10_000, "10s"),
        ] {
            let time = Duration::from_millis(millis);
            assert_eq!(any.parse(text), Some(Value::Time(time)), "{text}");
            assert_eq!(any.show(&Value::Time(time)), shown);
        }
        for text in ["", "s", "1w", "-1s", "PT-1S", "15 minutes", "P1M"] {
            assert_eq!(any.parse(text), None, "{text}");
        }
        assert_eq!(Kind::Time(1000).parse("999ms"), None);
    }

    #[test]
    fn words_are_found_in_any_spelling() {
        let kind = Kind::Choice(&["aimd", "legacy-vegas"]);
        for text in ["legacy-vegas", "LEGACY_VEGAS", "legacyVegas"] {
            let value = Value::Text("legacy-vegas".to_string());
            assert_eq!(kind.parse(text), Some(value));
        }
        assert_eq!(kind.parse("vegas"), None);
    }
}
