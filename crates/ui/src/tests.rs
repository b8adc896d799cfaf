//! Tests of answers to browsers.

use super::*;

fn get(base: &str, path: &str) -> Option<Response<Bytes>> {
    let settings = Settings {
        base_path: base.to_string(),
        ..Default::default()
    };
    let interface = Interface::new(&settings, Access::Open);
    interface.answer(asked(&Method::GET, path, &HeaderMap::new()))
}

fn asked<'r>(method: &'r Method, path: &'r str, headers: &'r HeaderMap) -> Asked<'r> {
    Asked {
        method,
        path,
        query: None,
        headers,
        takes_gzip: false,
    }
}

fn header(response: &Response<Bytes>, name: &str) -> String {
    let value = response.headers().get(name).map(|v| v.to_str().unwrap());
    value.unwrap_or_default().to_string()
}

#[test]
fn paths_outside_the_interface_are_left_to_the_api() {
    for path in ["/v2/topology", "/uix", "/u", "/v1/ui/", "/operate/nothing"] {
        assert!(get("", path).is_none(), "{path}");
    }
}

#[test]
fn the_root_leads_to_the_interface_also_behind_a_prefix() {
    for (base, path, location) in [
        ("", "/", "/ui/"),
        ("/", "/", "/ui/"),
        ("", "/ui", "/ui/"),
        ("/bpm", "/", "/bpm/ui/"),
        ("/bpm/", "/operate/processes/7", "/bpm/ui/processes/i/7"),
    ] {
        let response = get(base, path).unwrap();
        assert_eq!(response.status(), StatusCode::FOUND);
        assert_eq!(header(&response, "location"), location, "{base} {path}");
    }
}

/// Where the root leads to, by a proxy with this header.
fn forwarded(trust: bool, path: &str, prefix: &[u8]) -> String {
    let settings = Settings {
        base_path: "/own".to_string(),
        trust_forwarded_prefix: trust,
        ..Default::default()
    };
    let mut headers = HeaderMap::new();
    let prefix = HeaderValue::from_bytes(prefix).unwrap();
    headers.insert("x-forwarded-prefix", prefix);
    let interface = Interface::new(&settings, Access::Open);
    let response = interface.answer(asked(&Method::GET, path, &headers));
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(header(&response, "cache-control"), "no-store");
    header(&response, "location")
}

#[test]
fn the_prefix_of_a_proxy_counts_where_it_is_trusted() {
    assert_eq!(forwarded(true, "/", b"/bpm"), "/bpm/ui/");
    assert_eq!(forwarded(true, "/ui", b"/bpm/"), "/bpm/ui/");
    let old = "/operate/processes/7";
    assert_eq!(forwarded(true, old, b"/a/b"), "/a/b/ui/processes/i/7");
    assert_eq!(forwarded(true, "/", b"/"), "/ui/");
    assert_eq!(forwarded(false, "/", b"/bpm"), "/own/ui/");
    assert_eq!(forwarded(false, old, b"/a"), "/own/ui/processes/i/7");
}

#[test]
fn a_hostile_prefix_is_ignored() {
    let long = format!("/{}", "a".repeat(10 << 10));
    for prefix in [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "evil.example",
        "/../..",
        "/a/../b",
        "/\"><script>",
        "/a'b",
        "/a%0d%0ab",
        "/a, /b",
        "",
        &long,
    ] {
        let location = forwarded(true, "/", prefix.as_bytes());
        assert_eq!(location, "/own/ui/", "{prefix}");
    }
    assert_eq!(forwarded(true, "/", b"/\xff"), "/own/ui/");
    // No header can contain them; a prefix that did would be none.
    assert!(HeaderValue::from_bytes(b"/a\r\nset-cookie: b=c").is_err());
    assert_eq!(prefix::of("/a\r\nset-cookie: b=c"), None);
}

#[test]
fn every_deep_link_is_the_page_which_is_never_kept_and_runs_nothing_foreign() {
    for path in ["/ui/", "/ui/processes/i/7", "/ui/no/such/screen"] {
        let response = get("", path).unwrap();
        let expected = match version() {
            "none" => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::OK,
        };
        assert_eq!(response.status(), expected, "{path}");
        assert_eq!(header(&response, "cache-control"), "no-store");
        let policy = header(&response, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        let text = String::from_utf8(response.body().to_vec()).unwrap();
        let nonce = policy.split("'nonce-").nth(1).unwrap();
        let nonce = nonce.split('\'').next().unwrap();
        assert!(
            nonce.len() == 32 && text.contains(nonce),
            "the page has the nonce {nonce}"
        );
        assert!(!text.contains("{{"), "the template is filled: {text}");
    }
}

#[test]
fn two_pages_have_different_nonces() {
    let policy = || header(&get("", "/ui/").unwrap(), "content-security-policy");
    assert_ne!(policy(), policy());
}

#[test]
fn without_a_build_the_page_says_how_to_get_one() {
    if version() == "none" {
        let response = get("", "/ui/").unwrap();
        let text = String::from_utf8(response.body().to_vec()).unwrap();
        assert!(text.contains("make build"), "{text}");
    } else {
        assert!(files::find("index.html").is_some());
    }
}

#[test]
fn hashed_files_are_kept_for_good_and_unknown_ones_are_not_the_page() {
    for file in files::EMBEDDED
        .iter()
        .filter(|f| f.name.starts_with("assets/"))
    {
        let response = get("", &format!("/ui/{}", file.name)).unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{}", file.name);
        assert!(header(&response, "cache-control").contains("immutable"));
    }
    let response = get("", "/ui/assets/gone-0000.js").unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}

#[test]
fn files_are_sent_as_they_are_stored_to_browsers_that_accept_it() {
    let interface = Interface::new(&Settings::default(), Access::Open);
    let headers = HeaderMap::new();
    for file in files::EMBEDDED
        .iter()
        .filter(|f| f.name.starts_with("assets/"))
    {
        let path = format!("/ui/{}", file.name);
        for takes_gzip in [true, false] {
            let asked = Asked {
                takes_gzip,
                ..asked(&Method::GET, &path, &headers)
            };
            let response = interface.answer(asked).unwrap();
            let coding = if takes_gzip { "gzip" } else { "" };
            assert_eq!(header(&response, "content-encoding"), coding, "{path}");
            assert_eq!(response.body() == file.gzip, takes_gzip, "{path}");
            assert_eq!(header(&response, "vary"), "accept-encoding");
        }
    }
}

#[test]
fn pages_are_only_read() {
    let interface = Interface::new(&Settings::default(), Access::Open);
    let headers = HeaderMap::new();
    let response = interface.answer(asked(&Method::POST, "/ui/", &headers));
    let response = response.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(header(&response, "allow"), "GET, HEAD");
}
