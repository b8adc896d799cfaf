//! Buckets of Google Cloud Storage.

use std::sync::Arc;
use std::time::Duration;

use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::{RetryConfig, StaticCredentialProvider};

use crate::http::HyperConnector;

/// A bucket. Credentials come from the environment, as Google's own tools read them: a file that `GOOGLE_APPLICATION_CREDENTIALS`
/// names, or the service account of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gcs {
    pub bucket: String,
    /// Address of a service other than Google's.
    pub host: Option<String>,
    /// Requests carry no credentials.
    pub anonymous: bool,
}

/// A client for the bucket. Sends no request yet.
pub fn gcs_builder(bucket: &Gcs, retry_for: Duration) -> GoogleCloudStorageBuilder {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&bucket.bucket)
        .with_skip_signature(bucket.anonymous)
        .with_http_connector(HyperConnector)
        .with_retry(RetryConfig {
            retry_timeout: retry_for,
            ..RetryConfig::default()
        });
    if bucket.anonymous {
        // Writes request a token even without credentials.
        let nobody = StaticCredentialProvider::new(GcpCredential {
            bearer: String::new(),
        });
        builder = builder.with_credentials(Arc::new(nobody));
    }
    if let Some(host) = &bucket.host {
        builder = builder.with_base_url(host.trim_end_matches('/'));
    }
    builder
}
