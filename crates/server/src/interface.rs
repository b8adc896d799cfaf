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
        self.0.answer(skep_ui::Asked {
            method: &request.method,
            path: request.uri.path(),
            query: request.uri.query(),
            headers: &request.headers,
            takes_gzip: skep_gateway::takes_gzip(&request.headers),
        })
    }
}
