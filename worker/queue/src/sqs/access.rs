//! Keeps the client of a queue with its credentials, which may change.
//!
//! The SDK reads the files of a profile once and keeps their content, so after a rotation every call would be refused
//! until a restart. After a refused call a new client is therefore created from the present environment and files. The
//! SDK itself renews credentials of other providers (web identity, container, instance).

use std::sync::Arc;
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::SharedCredentialsProvider;
use aws_sdk_sqs::error::SdkError;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::sqs_config::SqsConfig;

/// Shortest time between two new clients, because a call may be refused for another reason. With the longest wait
/// between two polls, 30 s, changed keys are used within a minute.
const RENEW_INTERVAL: Duration = Duration::from_secs(30);

/// Reads the environment and its files.
pub(super) type ConfigLoader = Arc<dyn Fn() -> BoxFuture<'static, SdkConfig> + Send + Sync>;

/// Credentials of the latest client.
#[derive(Debug)]
pub(super) struct CurrentCredentials(Mutex<SharedCredentialsProvider>);

impl CurrentCredentials {
    pub(super) fn current(&self) -> SharedCredentialsProvider {
        let held = self.0.lock();
        held.clone()
    }
}

/// A client and the means to create the next one.
pub(super) struct ClientAccess {
    config: SqsConfig,
    region: Option<Region>,
    client: Mutex<Client>,
    credentials: Option<Arc<CurrentCredentials>>,
    load: Option<ConfigLoader>,
    /// Time when the client was last renewed; locked during a renewal.
    renewed: tokio::sync::Mutex<Option<Instant>>,
}

impl ClientAccess {
    /// Creates the client with the credentials and, unless configured, the region of the AWS environment. One attempt
    /// of a call takes no longer than `attempt`.
    ///
    /// # Errors
    ///
    /// Returns an error when no region is known.
    pub(super) async fn load(config: &SqsConfig, attempt: Duration) -> Result<Self, String> {
        let region = config.region().map(Region::new);
        let load = move || {
            let timeouts = TimeoutConfig::builder().operation_attempt_timeout(attempt);
            let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
                .timeout_config(timeouts.build());
            if let Some(region) = &region {
                loader = loader.region(region.clone());
            }
            loader.load().boxed()
        };
        Self::with_loader(config, Arc::new(load)).await
    }

    /// Creates the client with the configuration that `load` returns, now and later.
    pub(super) async fn with_loader(
        config: &SqsConfig,
        load: ConfigLoader,
    ) -> Result<Self, String> {
        let mut access = Self::with_sdk_config(config, &load().await)?;
        access.load = Some(load);
        Ok(access)
    }

    /// Creates the client for a fixed configuration of the SDK.
    pub(super) fn with_sdk_config(config: &SqsConfig, sdk: &SdkConfig) -> Result<Self, String> {
        if sdk.region().is_none() {
            return Err("region: neither the configuration, the queue's URL nor the AWS environment names one".to_owned());
        }
        let credentials = sdk.credentials_provider();
        Ok(Self {
            config: config.clone(),
            region: sdk.region().cloned(),
            client: Mutex::new(build_client(config, sdk)),
            credentials: credentials.map(|found| Arc::new(CurrentCredentials(Mutex::new(found)))),
            load: None,
            renewed: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn region(&self) -> Option<&str> {
        self.region.as_ref().map(Region::as_ref)
    }

    /// Returns the current client, which must not be kept.
    pub(super) fn current_client(&self) -> Client {
        let held = self.client.lock();
        held.clone()
    }

    /// Returns credentials that always resolve to those of the current client.
    pub(super) fn credentials(&self) -> Option<Arc<CurrentCredentials>> {
        self.credentials.clone()
    }

    /// Creates a new client after a refused call, unless that was done a short time ago. Returns whether a retry is
    /// worthwhile.
    pub(super) async fn renew(&self) -> bool {
        let Some(load) = &self.load else {
            return false;
        };
        let mut renewed = self.renewed.lock().await;
        if renewed.is_some_and(|at| at.elapsed() < RENEW_INTERVAL) {
            return false;
        }
        let sdk = load().await;
        *renewed = Some(Instant::now());
        tracing::debug!(
            source.name = self.config.name,
            "call refused; reloaded AWS credentials"
        );
        *self.client.lock() = build_client(&self.config, &sdk);
        if let (Some(held), Some(found)) = (&self.credentials, sdk.credentials_provider()) {
            *held.0.lock() = found;
        }
        true
    }
}

fn build_client(config: &SqsConfig, sdk: &SdkConfig) -> Client {
    let mut own = aws_sdk_sqs::config::Builder::from(sdk);
    if let Some(endpoint) = &config.endpoint_url {
        own = own.endpoint_url(endpoint);
    }
    Client::from_conf(own.build())
}

/// Returns whether other credentials may help. The error codes for that are many and differ by protocol and
/// partition, so any client error counts, and so do missing credentials.
pub(super) fn is_refused<E>(error: &SdkError<E>) -> bool {
    match error {
        SdkError::ConstructionFailure(_) => true,
        SdkError::DispatchFailure(dispatch) => !dispatch.is_io() && !dispatch.is_timeout(),
        other => other
            .raw_response()
            .is_some_and(|response| response.status().is_client_error()),
    }
}

#[cfg(test)]
mod tests;
