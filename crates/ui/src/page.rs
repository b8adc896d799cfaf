//! The page: a template filled with its location (the prefix of a proxy), its theme and its security policy.

use bytes::Bytes;
use http::header::{COOKIE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::{Interface, files};

const CSP: HeaderName = http::header::CONTENT_SECURITY_POLICY;
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// The cookie in which a browser stores the theme; without it the pages follow the system.
const THEME: &str = "skep-theme";

/// The two documents made from the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    Main,
    /// The modeller sets style attributes, and its styles contain the icons as a font.
    Studio,
}

impl Document {
    /// The document for a path below `/ui/`.
    pub fn of(within: &str) -> Document {
        match within.split('/').next() {
            Some("studio") => Document::Studio,
            _ => Document::Main,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Document::Main => "main",
            Document::Studio => "studio",
        }
    }
}

pub fn answer(of: &Interface, document: Document, headers: &HeaderMap) -> Response<Bytes> {
    let nonce = format!("{:032x}", rand::random::<u128>());
    let template = files::find("index.html").and_then(files::unpacked);
    let mut response = match template.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(template) => {
            let look = (theme(headers), document);
            let page = filled(&template, (of, of.base(headers)), &nonce, look);
            crate::html(StatusCode::OK, page)
        }
        None => crate::html(
            StatusCode::NOT_IMPLEMENTED,
            WITHOUT.replace("NONCE", &nonce),
        ),
    };
    let answered = response.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(policy(&nonce, document)) {
        answered.insert(CSP, policy);
    }
    answered.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answered.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answered.insert(OPENER, HeaderValue::from_static("same-origin"));
    response
}

/// The content security policy: nothing is loaded from elsewhere, and only our own scripts and styles run.
fn policy(nonce: &str, document: Document) -> String {
    let (attributes, font) = match document {
        Document::Main => ("", "'self'"),
        Document::Studio => ("style-src-attr 'unsafe-inline'; ", "'self' data:"),
    };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; {attributes}img-src 'self' data: blob:; \
         font-src {font}; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// Fills the template. The build writes addresses relative to the page's directory; pages at any depth need absolute ones.
fn filled(
    template: &str,
    (of, base): (&Interface, &str),
    nonce: &str,
    (theme, document): (&str, Document),
) -> String {
    template
        .replace("=\"./", &format!("=\"{base}/ui/"))
        .replace("{{base}}", base)
        .replace("{{grafana}}", &attribute(&of.grafana))
        .replace("{{access}}", of.access.name())
        .replace("{{nonce}}", nonce)
        .replace("{{theme}}", theme)
        .replace("{{document}}", document.name())
}

/// A text as it stands in an attribute of a page.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

fn theme(headers: &HeaderMap) -> &'static str {
    let cookies = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|c| c.to_str().ok());
    let chosen = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(name, _)| *name == THEME)
        .map(|(_, value)| value);
    match chosen {
        Some("light") => "light",
        Some("dark") => "dark",
        _ => "system",
    }
}

const WITHOUT: &str = r##"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Skep has no web interface in this build</title>
<meta name="viewport" content="width=device-width"><style nonce="NONCE">
body { font: 16px/24px system-ui, sans-serif; background: #faf9f6; color: #1c1b17; max-width: 640px; margin: 96px auto; padding: 0 24px }
code { background: #f1efe9; padding: 2px 6px; border-radius: 4px }
@media (prefers-color-scheme: dark) { body { background: #12110f; color: #edebe4 } code { background: #33312b } a { color: inherit } }
</style></head><body><h1>The server runs, without its web interface</h1>
<p>This binary was built by <code>cargo build</code> alone, or with <code>UI=0</code>. The API is there as always.</p>
<p>To get the interface, run <code>make build</code> (or <code>make ui</code> and then cargo again) in the repository and start the
binary that it leaves. Node.js is fetched where it is missing.</p></body></html>
"##;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Settings};

    #[test]
    fn a_template_learns_its_place_and_its_look() {
        let template = r#"<html data-theme="{{theme}}"><meta content="{{base}}"><script nonce="{{nonce}}" src="./assets/a.js">"#;
        let settings = Settings {
            base_path: "/bpm/".to_string(),
            ..Default::default()
        };
        let of = Interface::new(&settings, Access::Open);
        assert_eq!(
            filled_for(&of, template, &HeaderMap::new()),
            r#"<html data-theme="dark"><meta content="/bpm"><script nonce="n1" src="/bpm/ui/assets/a.js">"#
        );
    }

    fn filled_for(of: &Interface, template: &str, headers: &HeaderMap) -> String {
        let place = (of, of.base(headers));
        filled(template, place, "n1", ("dark", Document::Main))
    }

    #[test]
    fn a_template_learns_the_prefix_of_a_proxy_that_is_trusted() {
        let template = r#"<meta content="{{base}}"><script src="./assets/a.js">"#;
        let at = |trust: bool, forwarded: &'static str| {
            let settings = Settings {
                base_path: "/own".to_string(),
                trust_forwarded_prefix: trust,
                ..Default::default()
            };
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-prefix", HeaderValue::from_static(forwarded));
            filled_for(&Interface::new(&settings, Access::Open), template, &headers)
        };
        let own = r#"<meta content="/own"><script src="/own/ui/assets/a.js">"#;
        assert_eq!(at(false, "/bpm"), own);
        assert_eq!(
            at(true, "/bpm/"),
            r#"<meta content="/bpm"><script src="/bpm/ui/assets/a.js">"#
        );
        assert_eq!(
            at(true, "/"),
            r#"<meta content=""><script src="/ui/assets/a.js">"#
        );
        for hostile in [
            "/\"><script>alert(1)</script>",
            "//evil.example",
            "/{{nonce}}",
        ] {
            assert_eq!(at(true, hostile), own, "{hostile}");
        }
    }

    #[test]
    fn a_template_learns_where_grafana_is_and_what_the_server_asks_of_callers() {
        let template = r#"<meta content="{{grafana}}"><meta content="{{access}}">"#;
        let settings = Settings {
            grafana_url: "https://h/d/skep?orgId=1&from=\"<now".to_string(),
            ..Default::default()
        };
        for (access, name) in [
            (Access::Open, "open"),
            (Access::Login, "login"),
            (Access::Grants, "grants"),
        ] {
            let of = Interface::new(&settings, access);
            assert_eq!(
                filled_for(&of, template, &HeaderMap::new()),
                format!(
                    r#"<meta content="https://h/d/skep?orgId=1&amp;from=&quot;&lt;now"><meta content="{name}">"#
                )
            );
        }
    }

    #[test]
    fn the_studio_alone_may_style_by_attributes() {
        for (path, document) in [
            ("", Document::Main),
            ("processes", Document::Main),
            ("studios", Document::Main),
            ("studio", Document::Studio),
            ("studio/12", Document::Studio),
        ] {
            assert_eq!(Document::of(path), document, "{path}");
            let policy = policy("n", document);
            let loose = document == Document::Studio;
            assert_eq!(policy.contains("style-src-attr"), loose, "{policy}");
            assert_eq!(policy.contains("font-src 'self' data:"), loose, "{policy}");
            assert!(policy.contains("script-src 'self';"), "{policy}");
        }
    }

    #[test]
    fn the_theme_comes_from_the_cookie_and_only_known_values_reach_the_page() {
        for (cookie, expected) in [
            ("skep-theme=dark", "dark"),
            ("a=b; skep-theme=light", "light"),
            ("skep-theme=\"><script>", "system"),
            ("other=dark", "system"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_static(cookie));
            assert_eq!(theme(&headers), expected, "{cookie}");
        }
    }
}
