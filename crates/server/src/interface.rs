//! The web interface on the port of REST.

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use skep_gateway::Pages;

/// Answers requests of browsers that are not for the API.
#[derive(Debug)]
pub struct ForBrowsers(pub skep_ui::Interface);

impl Pages for ForBrowsers {
    fn answer(&self, request: &Parts) -> Option<Response<Bytes>> {
        let (path, query) = (request.uri.path(), request.uri.query());
        self.0
            .answer(&request.method, path, query, &request.headers)
    }
}
