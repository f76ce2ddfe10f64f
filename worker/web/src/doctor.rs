//! Runs the doctor checks of the server: whether its addresses are free, who could read the pages, and who could post
//! alerts.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use ipnet::IpNet;
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::hosts::is_loopback;
use secrecy::SecretString;

use crate::server::ServerOptions;
use crate::{WebConfig, WebError};

/// The time within which another process on the configured address must answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Shortest prefix lengths (IPv4, IPv6) that are plausible for a proxy network.
const MIN_PROXY_PREFIX: (u8, u8) = (16, 32);

/// Checks the configuration of the pages and this machine. The call blocks for a moment. `posted` are the names of the
/// `http` sources, and `secret` reads the value that a token refers to.
pub fn probe(
    config: &WebConfig,
    posted: &[String],
    secret: impl Fn(&str) -> Result<SecretString, String>,
) -> HealthReport {
    let mut checkup = HealthReport::default();
    let options = match config.options(secret) {
        Ok(options) => options,
        Err(error) => {
            let is_twice = matches!(error, WebError::SameAddress { .. });
            checkup.add_error(
                if is_twice {
                    "web.address"
                } else {
                    "web.access"
                },
                error.to_string(),
                "the pages are not served",
                "correct [web]; see docs/web.md for access control",
            );
            return checkup;
        }
    };
    for (key, address) in [
        ("listen", Some(options.listen)),
        ("metrics_listen", options.metrics_listen),
        ("intake_listen", options.intake_listen),
    ] {
        if let Some(address) = address {
            free(key, address, &mut checkup);
        }
    }
    check_exposure(config, &options, &mut checkup);
    if !posted.is_empty() {
        check_reachability(config, &options, &posted.join(", "), &mut checkup);
    }
    checkup
}

/// Checks that an address is free or that a worker already listens there.
fn free(key: &str, address: SocketAddr, checkup: &mut HealthReport) {
    let error = match TcpListener::bind(address) {
        Ok(_) => return checkup.add_observation(format!("{key} {address}")),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::AddrInUse && is_nightshift(address) {
        return checkup.add_observation(format!("{key} {address}, served already"));
    }
    let mend = match error.kind() {
        ErrorKind::AddrInUse => {
            "stop the process that listens there (ss -ltnp), or use another port"
        }
        ErrorKind::PermissionDenied => "take a port from 1024 on, or let a proxy have the low one",
        _ => "take an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them",
    };
    checkup.add_error(
        "web.address",
        format!("cannot listen on {address} ([web] {key}): {error}"),
        "the worker does not start",
        mend,
    );
}

/// Returns whether the process that listens there is Nightshift.
fn is_nightshift(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut at = address;
        if at.ip().is_unspecified() {
            at.set_ip(if at.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            });
        }
        let mut stream = TcpStream::connect_timeout(&at, PROBE_TIMEOUT)?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        write!(
            stream,
            "GET /healthz HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok\n"))
}

/// Checks who could read the pages or intercept their traffic.
fn check_exposure(config: &WebConfig, options: &ServerOptions, checkup: &mut HealthReport) {
    let is_near = options.listen.ip().to_canonical().is_loopback();
    let is_tls = config.public_url.starts_with("https://");
    if !is_near && !config.tokens.is_empty() && config.trusted_proxies.is_empty() && !is_tls {
        checkup.add_warning(
            "web.plain_http",
            format!(
                "{} is served without TLS, and tokens are sent to it",
                options.listen
            ),
            "anybody on the network path can read a token, and with it every case",
            "put a proxy with TLS in front, and say so with public_url = \"https://…\"",
        );
    }
    if config.public_url.starts_with("http://") && leads_elsewhere(&config.public_url) {
        checkup.add_warning(
            "web.plain_http",
            format!("public_url = {:?} is not encrypted", config.public_url),
            "links in reports lead there, so cases and credentials can be read on the network path",
            "serve it by a proxy with TLS, and write https://",
        );
    }
    for text in config
        .trusted_proxies
        .iter()
        .flat_map(|proxy| &proxy.networks)
    {
        let Ok(network) = text.parse::<IpNet>() else {
            continue;
        };
        let narrowest = match network {
            IpNet::V4(_) => MIN_PROXY_PREFIX.0,
            IpNet::V6(_) => MIN_PROXY_PREFIX.1,
        };
        if network.prefix_len() < narrowest {
            checkup.add_warning(
                "web.proxy_networks",
                format!("every machine in {text} counts as the authenticating proxy"),
                "each of them can claim any name and read every case",
                "name the proxy's own addresses in trusted_proxies",
            );
        }
    }
}

/// Checks whether other machines could post to these sources. A loopback listener is right behind a proxy on this
/// machine; an installation with such a proxy has a public name or a trusted proxy.
fn check_reachability(
    config: &WebConfig,
    options: &ServerOptions,
    posted: &str,
    checkup: &mut HealthReport,
) {
    let own = options.intake_listen.map(|at| ("intake_listen", at));
    let (key, at) = own.unwrap_or(("listen", options.listen));
    let has_name =
        leads_elsewhere(&config.public_url) || config.hosts.iter().any(|host| !is_loopback(host));
    let is_near = at.ip().to_canonical().is_loopback();
    // A client that connects to a loopback address has one itself.
    if is_near && !has_name && !options.access.has_proxy_here() {
        checkup.add_warning(
            "web.intake_on_loopback",
            format!("no other machine can post to {posted}: {at} ([web] {key}) is a loopback \
             address"),
            "remote senders such as Amazon SNS and Google Pub/Sub cannot connect, and keep or \
             drop their alerts",
            "let a proxy with TLS lead to it, and set public_url to its address; for one on another machine set \
             intake_listen = \"0.0.0.0:8081\", too; leave it if only programs here post",
        );
    }
    if !is_near && !has_name {
        checkup.add_warning(
            "web.intake_has_no_name",
            format!("posts to {posted} by host name are refused: neither [web] public_url nor \
             hosts has a name of this machine"),
            "every host name except localhost gets 403; senders give up after a while and drop \
             their alerts",
            "add the names that stand in the addresses that are posted to: hosts = [\"nightshift.example.com\"]; \
             leave it if a proxy puts an IP address in their place, or all post to one",
        );
    }
}

/// Returns whether a public URL names another machine than this one.
fn leads_elsewhere(public_url: &str) -> bool {
    let url = url::Url::parse(public_url).ok();
    let host = url.as_ref().and_then(url::Url::host_str);
    host.is_some_and(|host| !is_loopback(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrustedProxy;

    fn found(config: &WebConfig) -> Vec<&'static str> {
        found_where(config, &[])
    }

    fn found_where(config: &WebConfig, posted: &[String]) -> Vec<&'static str> {
        let looked = probe(config, posted, |_| Ok(SecretString::from("-".repeat(32))));
        looked.failed_checks.iter().map(|one| one.check).collect()
    }

    fn near() -> WebConfig {
        WebConfig {
            listen: "127.0.0.1:0".to_owned(),
            ..WebConfig::default()
        }
    }

    fn far() -> WebConfig {
        WebConfig {
            listen: "0.0.0.0:0".to_owned(),
            tokens: vec!["env:TOKEN".to_owned()],
            public_url: "https://nightshift.example.com".to_owned(),
            ..WebConfig::default()
        }
    }

    #[test]
    fn pages_in_good_order_have_no_finding() {
        for config in [near(), far()] {
            assert_eq!(found(&config), Vec::<&str>::new());
        }
    }

    #[test]
    fn port_in_use_is_reported_unless_a_worker_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = WebConfig {
            listen: address.to_string(),
            ..near()
        };
        let answering = std::thread::spawn(move || {
            for says in [
                "HTTP/1.1 404 X\r\n\r\n",
                "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n",
                "HTTP/1.1 404 X\r\n\r\n",
            ] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    let mut one = [0];
                    stream.read_exact(&mut one).unwrap();
                    asked.extend(one);
                }
                stream.write_all(says.as_bytes()).unwrap();
            }
            listener
        });
        assert_eq!(found(&config), ["web.address"]);
        assert_eq!(found(&config), Vec::<&str>::new());
        let intake = WebConfig {
            intake_listen: address.to_string(),
            ..far()
        };
        assert_eq!(found(&intake), ["web.address"]);
        let held = answering.join().unwrap();
        let own = WebConfig {
            listen: "192.0.2.7:80".to_owned(),
            ..far()
        };
        assert_eq!(found(&own), ["web.address"]);
        let same = WebConfig {
            metrics_listen: address.to_string(),
            ..config
        };
        assert_eq!(found(&same), ["web.address"]);
        drop(held);
    }

    #[test]
    fn who_could_read_it_is_told() {
        let no_token = probe(&far(), &[], |_| Err("TOKEN is not set".to_owned()));
        assert_eq!(no_token.failed_checks[0].check, "web.access");
        let clear = WebConfig {
            public_url: String::new(),
            ..far()
        };
        assert_eq!(found(&clear), ["web.plain_http"]);
        let link = WebConfig {
            public_url: "http://nightshift.example.com".to_owned(),
            ..near()
        };
        assert_eq!(found(&link), ["web.plain_http"]);
        let own = WebConfig {
            public_url: "http://localhost:8080".to_owned(),
            ..near()
        };
        assert_eq!(found(&own), Vec::<&str>::new());
        let proxy = |network: &str| WebConfig {
            trusted_proxies: vec![TrustedProxy {
                header: "x-user".to_owned(),
                networks: vec![network.to_owned()],
            }],
            tokens: Vec::new(),
            ..far()
        };
        assert_eq!(found(&proxy("10.0.0.0/8")), ["web.proxy_networks"]);
        assert_eq!(found(&proxy("10.1.2.0/24")), Vec::<&str>::new());
    }

    #[test]
    fn who_is_posted_to_by_names_that_it_refuses_is_told() {
        let posted = ["soar".to_owned()];
        for nameless in [
            WebConfig {
                intake_listen: "0.0.0.0:0".to_owned(),
                ..near()
            },
            // A name of this machine alone does not count.
            WebConfig {
                intake_listen: "0.0.0.0:0".to_owned(),
                hosts: vec!["localhost".to_owned()],
                ..near()
            },
        ] {
            assert_eq!(
                found_where(&nameless, &posted),
                ["web.intake_has_no_name"],
                "{nameless:?}"
            );
        }
    }

    #[test]
    fn unreachable_intake_is_reported_unless_behind_a_proxy() {
        let posted = ["soar".to_owned()];
        let told = |config: &WebConfig| found_where(config, &posted);
        let proxy = |network: &str| WebConfig {
            trusted_proxies: vec![TrustedProxy {
                header: "x-user".to_owned(),
                networks: vec![network.to_owned()],
            }],
            ..near()
        };
        for alone in [
            near(),
            WebConfig {
                listen: "localhost:0".to_owned(),
                ..near()
            },
            WebConfig {
                listen: "[::ffff:127.0.0.1]:0".to_owned(),
                ..near()
            },
            WebConfig {
                intake_listen: "127.0.0.1:0".to_owned(),
                public_url: String::new(),
                trusted_proxies: proxy("10.1.2.0/24").trusted_proxies,
                tokens: Vec::new(),
                ..far()
            },
            WebConfig {
                public_url: "http://localhost:8080".to_owned(),
                hosts: vec!["localhost".to_owned()],
                ..near()
            },
            // This proxy cannot connect to a loopback address.
            proxy("10.1.2.0/24"),
        ] {
            assert_eq!(told(&alone), ["web.intake_on_loopback"], "{alone:?}");
            assert_eq!(found(&alone), Vec::<&str>::new(), "nobody posts");
        }
        for reached in [
            far(),
            proxy("127.0.0.1"),
            WebConfig {
                intake_listen: "0.0.0.0:0".to_owned(),
                hosts: vec!["nightshift.soc.svc".to_owned()],
                ..near()
            },
            WebConfig {
                public_url: "https://nightshift.example.com".to_owned(),
                ..near()
            },
            WebConfig {
                hosts: vec!["nightshift.soc.svc".to_owned()],
                ..near()
            },
        ] {
            assert_eq!(told(&reached), Vec::<&str>::new(), "{reached:?}");
        }
    }
}
