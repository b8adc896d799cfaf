//! Containers of Azure Blob Storage.

use std::time::Duration;

use http::{Method, Request};
use object_store::azure::{AzureAuthorizer, AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::client::{HttpConnector, HttpError, HttpRequestBody};
use object_store::{ClientOptions, RetryConfig};

use crate::http::HyperConnector;

/// An incomplete connection string. The error does not contain the string, which is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadConnectionString {
    #[error("it has a part without '='")]
    NoPairs,
    #[error("it has neither AccountName nor BlobEndpoint")]
    NoAccount,
}

/// Reasons why a container could not be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotMade {
    #[error(transparent)]
    Request(#[from] http::Error),
    #[error(transparent)]
    Credential(#[from] object_store::Error),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("the service answered {0}")]
    Answer(u16),
}

/// A container and its credentials. Without key and token, the credentials come from the environment, as Azure's own tools read
/// them, or from the machine's identity.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Azure {
    pub container: String,
    pub account: String,
    /// Address of the account; `None`: Azure's own.
    pub endpoint: Option<String>,
    pub key: Option<String>,
    /// A shared access signature: the query of a URL signed by Azure.
    pub sas: Option<String>,
    /// Create the container if it is missing.
    pub create: bool,
}

impl std::fmt::Debug for Azure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Azure")
            .field("container", &self.container)
            .field("account", &self.account)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Azure {
    /// Takes account, key, token and address from a connection string, if they are not set.
    ///
    /// # Errors
    /// The string is incomplete.
    pub fn connect(mut self, text: &str) -> Result<Azure, BadConnectionString> {
        let (mut suffix, mut scheme) = ("core.windows.net", "https");
        let mut blob_endpoint = None;
        for part in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(BadConnectionString::NoPairs);
            };
            let or = |set: &Option<String>| set.clone().or_else(|| Some(value.to_string()));
            match name {
                "AccountName" if self.account.is_empty() => self.account = value.to_string(),
                "AccountKey" => self.key = or(&self.key),
                "SharedAccessSignature" => self.sas = or(&self.sas),
                "BlobEndpoint" => blob_endpoint = Some(value.to_string()),
                "EndpointSuffix" => suffix = value,
                "DefaultEndpointsProtocol" => scheme = value,
                // Addresses of queues, tables and files are ignored.
                _ => {}
            }
        }
        if self.account.is_empty() && blob_endpoint.is_none() && self.endpoint.is_none() {
            return Err(BadConnectionString::NoAccount);
        }
        let of_account = || format!("{scheme}://{}.blob.{suffix}", self.account);
        let endpoint = self.endpoint.take().or(blob_endpoint);
        self.endpoint = Some(endpoint.unwrap_or_else(of_account));
        if self.account.is_empty() {
            self.account = self.account_in_endpoint();
        }
        Ok(self)
    }

    /// The account in the address: the first part of the host, or of the path.
    fn account_in_endpoint(&self) -> String {
        let endpoint = self.endpoint.as_deref().unwrap_or_default();
        let place = endpoint.split_once("://").map_or(endpoint, |(_, it)| it);
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let of_host = host.split_once(".blob.").map(|(account, _)| account);
        let of_path = path.split('/').next().unwrap_or_default();
        of_host.unwrap_or(of_path).to_string()
    }

    fn account_or_found(&self) -> String {
        if self.account.is_empty() {
            self.account_in_endpoint()
        } else {
            self.account.clone()
        }
    }

    /// The address of the account.
    fn address(&self) -> String {
        let account = self.account_or_found();
        let endpoint = self.endpoint.clone();
        let endpoint =
            endpoint.unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
        endpoint.trim_end_matches('/').to_string()
    }
}

/// A client for the container. Sends no request yet.
pub fn azure_builder(container: &Azure, retry_for: Duration) -> MicrosoftAzureBuilder {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_account(container.account_or_found())
        .with_container_name(&container.container)
        .with_endpoint(container.address())
        // Emulators and services in private networks may use http.
        .with_allow_http(true)
        .with_http_connector(HyperConnector)
        .with_retry(RetryConfig {
            retry_timeout: retry_for,
            ..RetryConfig::default()
        });
    if let Some(key) = &container.key {
        builder = builder.with_access_key(key);
    } else if let Some(sas) = &container.sas {
        let sas = sas.trim_start_matches('?');
        builder = builder.with_config(AzureConfigKey::SasKey, sas);
    }
    builder
}

/// Creates the container. It is no error if the container exists.
///
/// # Errors
/// The service cannot be reached, or refuses.
pub(crate) async fn make_container(
    store: &MicrosoftAzure,
    container: &Azure,
) -> Result<(), NotMade> {
    let credential = store.credentials().get_credential().await?;
    let uri = format!(
        "{}/{}?restype=container",
        container.address(),
        container.container
    );
    let mut request = Request::builder()
        .method(Method::PUT)
        .uri(uri)
        .header("content-length", 0)
        .body(HttpRequestBody::empty())?;
    AzureAuthorizer::new(&credential, &container.account_or_found()).try_authorize(&mut request)?;
    let client = HyperConnector.connect(&ClientOptions::default())?;
    let answer = client.execute(request).await?;
    // 409: another node has created it in the meantime.
    match answer.status().as_u16() {
        200..=299 | 409 => Ok(()),
        status => Err(NotMade::Answer(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_has_the_credentials_and_the_address() {
        let read = |text: &str| Azure::default().connect(text);
        let usual = read(
            "DefaultEndpointsProtocol=https;AccountName=bees;AccountKey=a2V5==;EndpointSuffix=core.windows.net",
        );
        let usual = usual.unwrap();
        assert_eq!(usual.account, "bees");
        assert_eq!(usual.key.as_deref(), Some("a2V5=="));
        assert_eq!(usual.address(), "https://bees.blob.core.windows.net");
        let shared = read(
            "BlobEndpoint=https://bees.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=x%3D",
        );
        let shared = shared.unwrap();
        assert_eq!((shared.account.as_str(), shared.key), ("bees", None));
        assert_eq!(shared.sas.as_deref(), Some("sv=1&sig=x%3D"));
        let local = read("AccountName=a;AccountKey=k;BlobEndpoint=http://127.0.0.1:1/a;").unwrap();
        assert_eq!(local.address(), "http://127.0.0.1:1/a");
        let set = Azure {
            account: "mine".to_string(),
            ..Azure::default()
        };
        let set = set.connect("AccountName=other;AccountKey=k").unwrap();
        assert_eq!(set.address(), "https://mine.blob.core.windows.net");
        for wrong in ["secret", "AccountKey=secret"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(!format!("{usual:?}").contains("a2V5"));
    }

    #[test]
    fn an_address_names_its_account() {
        for (endpoint, account) in [
            ("https://bees.blob.core.windows.net", "bees"),
            (
                "http://127.0.0.1:10000/devstoreaccount1/",
                "devstoreaccount1",
            ),
            ("http://somewhere", ""),
        ] {
            let azure = Azure {
                endpoint: Some(endpoint.to_string()),
                ..Azure::default()
            };
            assert_eq!(azure.account_or_found(), account, "{endpoint}");
        }
    }
}
