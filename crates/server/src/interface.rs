//! The web interface on the port of REST.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};
use skep_gateway::Pages;

/// Answers requests of browsers that are not for the API.
#[derive(Debug)]
pub struct ForBrowsers(pub skep_ui::Interface);

impl Pages for ForBrowsers {
    fn answer(&self, request: &Parts) -> Option<Response<Bytes>> {
        self.0.answer(skep_ui::Asked {
            method: &request.method,
            path: request.uri.path(),
            query: request.uri.query(),
            headers: &request.headers,
            takes_gzip: skep_gateway::takes_gzip(&request.headers),
        })
    }

    fn base<'r>(&'r self, headers: &'r HeaderMap) -> &'r str {
        self.0.base(headers)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use skep_ui::{Access, Interface, Settings};

    use super::*;

    #[test]
    fn logins_learn_the_path_of_the_pages() {
        let settings = Settings {
            base_path: "/skep".to_string(),
            trust_forwarded_prefix: true,
            ..Settings::default()
        };
        let pages = ForBrowsers(Interface::new(&settings, Access::Login));
        let mut headers = HeaderMap::new();
        assert_eq!(pages.base(&headers), "/skep");
        headers.insert("x-forwarded-prefix", HeaderValue::from_static("/bpm/"));
        assert_eq!(pages.base(&headers), "/bpm");
    }
}
