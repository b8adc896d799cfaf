//! Buckets of S3, and of services with its API.

use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::AmazonS3Builder;

use crate::http::HyperConnector;

/// A bucket and its credentials. Settings that are not given come from the environment, as Amazon's own tools read them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct S3 {
    pub bucket: String,
    /// Address of a service other than Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// A client for the bucket. Sends no request yet. Failed requests are not retried if `retry_for` is zero.
pub fn s3_builder(bucket: &S3, retry_for: Duration) -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&bucket.bucket)
        .with_http_connector(HyperConnector)
        .with_retry(RetryConfig {
            max_retries: if retry_for.is_zero() { 0 } else { 10 },
            retry_timeout: retry_for,
            ..RetryConfig::default()
        });
    if let Some(endpoint) = &bucket.endpoint {
        // Services other than Amazon's expect the bucket in the path, and may be in private networks.
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/'))
            .with_virtual_hosted_style_request(false)
            .with_allow_http(true);
    }
    if let Some(region) = &bucket.region {
        builder = builder.with_region(region);
    }
    if let Some(key) = &bucket.access_key {
        builder = builder.with_access_key_id(key);
    }
    if let Some(key) = &bucket.secret_key {
        builder = builder.with_secret_access_key(key);
    }
    builder
}
