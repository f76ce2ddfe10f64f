//! Tests how often credentials are read again. `conformance` tests that they are then used.

use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_sqs::config::{Credentials as Keys, ProvideCredentials as _};

use super::*;

#[tokio::test(start_paused = true)]
async fn f33_credentials_are_read_again_at_most_twice_a_minute() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let load = move || {
        let count = counted.fetch_add(1, Ordering::Relaxed);
        let keys = Keys::new(format!("key {count}"), "secret", None, None, "tests");
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("eu-west-1"))
            .credentials_provider(SharedCredentialsProvider::new(keys));
        std::future::ready(sdk.build()).boxed()
    };
    let config = "name = 'sqs'\nqueue_url = 'https://sqs.eu-west-1.amazonaws.com/1/q'";
    let config = toml::from_str(config).unwrap();
    let access = ClientAccess::with_loader(&config, Arc::new(load))
        .await
        .unwrap();
    // The object store keeps these credentials.
    let credentials = access.credentials().unwrap();
    let key = async || {
        let found = credentials.current().provide_credentials().await.unwrap();
        found.access_key_id().to_owned()
    };
    assert_eq!(key().await, "key 0");
    let several = tokio::join!(access.renew(), access.renew(), access.renew());
    assert_eq!(several, (true, false, false), "polls run side by side");
    assert_eq!(key().await, "key 1");
    tokio::time::advance(RENEW_INTERVAL - Duration::from_secs(1)).await;
    assert!(!access.renew().await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(access.renew().await);
    assert_eq!(key().await, "key 2");
    assert_eq!(loads.load(Ordering::Relaxed), 3);
}
