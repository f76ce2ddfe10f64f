//! Parses indicators: refangs, validates by kind and writes canonically.
//!
//! A value that fails validation is not an indicator. It stays in the raw JSON, where the analyst sees it as text.

use std::net::IpAddr;
use std::sync::LazyLock;

use regex::Regex;

use super::{Indicator, IndicatorKind, IndicatorRole, is_wallet};
use crate::text::{redact_known_kinds, redact_url, refang, single_line, strip_hidden};

/// Maximum length of an indicator, in bytes.
const MAX_VALUE_BYTES: usize = 1024;

static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,24}$")
        .ok()
});
static ACCESS_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,124}|GOOG[A-Z0-9]{16,60}|[0-9a-f]{40}|GeneratedFinding[A-Za-z0-9]{1,60})$").ok()
});
static CVE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^CVE-\d{4}-\d{4,9}$").ok());
static ARN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:arn:[a-z0-9-]+:[A-Za-z0-9-]+:[^:\s]*:[^:\s]*:\S.*|//[a-z0-9.-]+\.googleapis\.com/\S+|/subscriptions/\S+)$").ok()
});
static LABEL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$").ok());

impl Indicator {
    /// Parses an indicator from the text of a feed, a tool or a person. Returns `None` where the text is not of that
    /// kind.
    #[must_use]
    pub fn parse(kind: IndicatorKind, text: &str, role: IndicatorRole) -> Option<Self> {
        if text.len() > 4 * MAX_VALUE_BYTES {
            return None;
        }
        let (visible, hidden) = strip_hidden(text);
        let line = single_line(&visible);
        let (sent, text) = (text, line.as_ref());
        let name = || match hidden {
            0 => text.to_owned(),
            _ => mark_disguised(text, sent),
        };
        let value = match kind {
            IndicatorKind::Ip => ip(&refang(text)),
            IndicatorKind::Domain => domain(&refang(text)),
            IndicatorKind::Url => url(&refang(text)),
            // Only ASCII is folded, because folding other letters would make two mailboxes one.
            IndicatorKind::Email => matching(&EMAIL, refang(text).to_ascii_lowercase()),
            IndicatorKind::Hash => hash(text),
            IndicatorKind::AccessKey => matching(&ACCESS_KEY, text.to_owned()),
            IndicatorKind::Arn => matching(&ARN, name()),
            IndicatorKind::Cve => matching(&CVE, text.to_ascii_uppercase()),
            IndicatorKind::Wallet => is_wallet(text).then(|| text.to_owned()),
            IndicatorKind::Instance => {
                (!text.is_empty()).then(|| without_scrape_port(&name()).to_owned())
            }
            IndicatorKind::Principal
            | IndicatorKind::Bucket
            | IndicatorKind::Cluster
            | IndicatorKind::Container
            | IndicatorKind::Image
            | IndicatorKind::Function
            | IndicatorKind::Database
            | IndicatorKind::Process
            | IndicatorKind::File => (!text.is_empty()).then(name),
        }?;
        // A secret of a known kind must not become a typed value, because those are exempt from redaction. A URL may
        // hold a secret of any kind.
        let value = match kind {
            IndicatorKind::Url => redact_url(&value),
            // These values consist of numbers that were formatted here.
            IndicatorKind::Ip | IndicatorKind::Cve => value,
            _ => redact_known_kinds(&value).0.into_owned(),
        };
        (!value.is_empty() && value.len() <= MAX_VALUE_BYTES).then_some(Self { kind, value, role })
    }
}

/// Returns a name with hidden characters as its visible part with a mark that distinguishes it from the name that it
/// imitates.
fn mark_disguised(visible: &str, sent: &str) -> String {
    let mut digest = crate::key::sha256(sent.trim());
    digest.truncate(16);
    format!("{visible}#hidden-{digest}")
}

/// Returns a machine without the port of its metrics scraper.
fn without_scrape_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((host, port)) if !host.contains([':', '/']) && port.parse::<u16>().is_ok() => host,
        _ => name,
    }
}

fn matching(pattern: &LazyLock<Option<Regex>>, text: String) -> Option<String> {
    pattern.as_ref()?.is_match(&text).then_some(text)
}

/// Parses an address. IPv4 in IPv6 becomes IPv4; brackets, a port and a zone are removed.
fn ip(text: &str) -> Option<String> {
    let plain = match text.strip_prefix('[') {
        Some(inner) => match inner.split_once(']')? {
            (address, "") => address,
            (address, port) => without_port(address, port.strip_prefix(':')?)?,
        },
        None => match text.split_once(':') {
            Some((address, port)) if !port.contains(':') && address.contains('.') => {
                without_port(address, port)?
            }
            _ => text,
        },
    };
    let plain = match plain.split_once('%') {
        Some((address, zone)) if address.contains(':') && is_zone(zone) => address,
        _ => plain,
    };
    let address: IpAddr = plain.parse().ok()?;
    Some(address.to_canonical().to_string())
}

fn without_port<'a>(address: &'a str, port: &str) -> Option<&'a str> {
    port.parse::<u16>().is_ok().then_some(address)
}

/// Returns whether a text is the name or number of an interface: <https://www.rfc-editor.org/rfc/rfc4007#section-11>.
fn is_zone(zone: &str) -> bool {
    let is_plain = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'-' | b'_' | b'.');
    !zone.is_empty() && zone.len() <= 32 && zone.bytes().all(is_plain)
}

/// Parses a domain of two labels or more, in lower-case ASCII (IDNA).
fn domain(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let name = name.strip_prefix("*.").unwrap_or(name).to_lowercase();
    let name = if name.is_ascii() {
        name
    } else {
        url::Host::parse(&name).ok()?.to_string()
    };
    let label = LABEL.as_ref()?;
    let labels: Vec<&str> = name.split('.').collect();
    let last = labels.last()?;
    let is_name = labels.len() >= 2
        && name.len() <= 253
        && labels.iter().all(|part| label.is_match(part))
        && last.len() >= 2
        && !last.bytes().all(|byte| byte.is_ascii_digit());
    is_name.then_some(name)
}

fn url(text: &str) -> Option<String> {
    let parsed = url::Url::parse(text).ok()?;
    if !parsed.has_host() {
        return None;
    }
    let mut written = parsed.to_string();
    // `http://a.b` and `http://a.b/` are the same URL.
    if parsed.path() == "/"
        && parsed.query().is_none()
        && parsed.fragment().is_none()
        && !text.ends_with('/')
    {
        written.pop();
    }
    Some(written)
}

fn hash(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let digest = lower
        .split_once(':')
        .filter(|(name, _)| {
            matches!(
                *name,
                "md5" | "sha1" | "sha256" | "sha512" | "sha-1" | "sha-256" | "sha-512"
            )
        })
        .map_or(lower.as_str(), |(_, digest)| digest);
    let is_digest = matches!(digest.len(), 32 | 40 | 64 | 128)
        && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| digest.to_owned())
}
