//! Tests the guard: spellings of private hosts, addresses that a resolver returns, and what `allow_private` opens.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::dns::Resolve as _;
use url::Url;

use super::{Endpoint, GuardedResolver, NameLookup, check_public_name, is_public};

const PRIVATE_HOSTS: &str = include_str!("../fixtures/private_hosts.txt");
const PRIVATE_ADDRESSES: &str = include_str!("../fixtures/private_addresses.txt");

/// Returns a lookup with a fixed answer.
pub(in crate::declared) fn answers(addresses: &[&str]) -> NameLookup {
    let addresses: Vec<IpAddr> = addresses.iter().map(|one| one.parse().unwrap()).collect();
    Arc::new(move |_| {
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    })
}

/// Resolves the host of an endpoint.
async fn resolve(endpoint: Endpoint, host: &str, addresses: &[&str]) -> Result<usize, String> {
    let resolver = GuardedResolver::new(endpoint, None, answers(addresses));
    let found = resolver.resolve(host.parse().unwrap()).await;
    found
        .map(Iterator::count)
        .map_err(|error| error.to_string())
}

#[test]
fn a07_every_spelling_of_a_private_host_is_refused() {
    let hosts: Vec<&str> = PRIVATE_HOSTS.lines().collect();
    assert!(hosts.len() >= 150, "{}", hosts.len());
    let accepted: Vec<&&str> = hosts
        .iter()
        .filter(|host| check_public_name(host).is_ok())
        .collect();
    assert_eq!(accepted, Vec::<&&str>::new());
    // A `base_url` may end in another host than it seems; what counts is where it leads.
    let accepted: Vec<String> = hosts
        .iter()
        .filter_map(|host| Endpoint::configured(&format!("https://{host}/"), false).ok())
        .map(|endpoint| endpoint.url.to_string())
        .collect();
    assert_eq!(accepted, Vec::<String>::new());
}

#[test]
fn public_hosts_are_accepted() {
    for host in [
        "api.abuseipdb.com",
        "API.Example.COM",
        "xn--bcher-kva.example.com",
        "8.8.8.8",
        "[2606:4700::1111]",
        "localhost.example.com",
        "10.example.com",
    ] {
        assert_eq!(check_public_name(host), Ok(()), "{host}");
    }
}

#[tokio::test]
async fn a07_every_private_address_of_a_resolver_is_refused() {
    let addresses: Vec<&str> = PRIVATE_ADDRESSES.lines().collect();
    assert!(addresses.len() >= 60, "{}", addresses.len());
    for address in addresses {
        assert!(!is_public(address.parse().unwrap()), "{address}");
        let endpoint = Endpoint::public("api.example.com").unwrap();
        let alone = resolve(endpoint.clone(), "api.example.com", &[address]).await;
        assert!(alone.is_err(), "{address}");
        // One private address among public ones is enough.
        let mixed = ["93.184.215.14", address, "2606:4700::1111"];
        let mixed = resolve(endpoint, "api.example.com", &mixed).await;
        assert!(mixed.is_err(), "{address}");
    }
}

#[tokio::test]
async fn only_the_host_of_the_tool_is_resolved() {
    let endpoint = Endpoint::public("api.example.com").unwrap();
    let public = ["93.184.215.14", "2606:4700::1111"];
    assert_eq!(
        resolve(endpoint.clone(), "api.example.com", &public).await,
        Ok(2)
    );
    let other = resolve(endpoint, "evil.example.com", &public).await;
    assert!(other.unwrap_err().contains("is not the host of this tool"));
}

#[test]
fn allow_private_opens_one_endpoint_and_never_metadata() {
    for url in [
        "http://127.0.0.1:8080/",
        "https://10.0.0.1/",
        "http://wiki.corp/x/",
    ] {
        assert!(Endpoint::configured(url, false).is_err(), "{url}");
        assert!(Endpoint::configured(url, true).is_ok(), "{url}");
    }
    for url in [
        "http://169.254.169.254/",
        "http://2852039166/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal/",
        "http://METADATA.google.internal./",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
    ] {
        let refused = Endpoint::configured(url, true).unwrap_err();
        assert!(refused.contains("metadata service"), "{url}: {refused}");
    }
}

#[tokio::test]
async fn allowed_name_that_leads_to_metadata_is_refused() {
    let endpoint = Endpoint::configured("http://wiki.corp/", true).unwrap();
    assert_eq!(
        resolve(endpoint.clone(), "wiki.corp", &["10.0.0.7"]).await,
        Ok(1)
    );
    let metadata = resolve(endpoint, "wiki.corp", &["169.254.169.254"]).await;
    assert!(metadata.unwrap_err().contains("metadata service"));
}

#[test]
fn base_url_holds_no_secret_and_no_query() {
    for url in [
        "https://user:hunter2@api.example.com/",
        "https://api.example.com/?key=hunter2",
        "https://api.example.com/#hunter2",
        "ftp://api.example.com/",
        "http://api.example.com/",
        "hunter2",
    ] {
        let refused = Endpoint::configured(url, false).unwrap_err();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    let fine = Endpoint::configured("https://api.example.com/base/", false).unwrap();
    assert_eq!(
        fine.url,
        Url::parse("https://api.example.com/base/").unwrap()
    );
}

#[test]
fn a07_metadata_is_refused_in_every_address_that_holds_it() {
    for url in [
        "http://169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[fd20:ce::254]/",
        "http://[fd00:ec2::23]/",
        "http://169.254.170.23/",
    ] {
        let refused = Endpoint::configured(url, true).unwrap_err();
        assert!(refused.contains("metadata service"), "{url}: {refused}");
    }
    assert!(Endpoint::configured("http://[64:ff9b::a00:1]/", true).is_ok());
}
