//! An alert in the making: what a feed read, before it is cleaned, bounded and hashed.
//!
//! All feeds end here, so that every alert is treated alike: typed values are taken first and bounded, then text is
//! cleaned, then the content is hashed over the fields that all wrappings of a finding share.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Node;
use crate::text::{Bounds, clean_json_keeping, clean_text, single_line};
use crate::{
    Alert, Content, FeedState, Flag, Indicator, IndicatorKind, Key, Provider, Resource, Role,
    Severity, Technique, Times, indicator,
};

/// Most indicators of an alert; main roles come first.
const MAX_INDICATORS: usize = 256;
/// Most candidates that are held while reading.
const MAX_CANDIDATES: usize = 4096;
const MAX_RESOURCES: usize = 64;
const MAX_TAGS: usize = 64;
const MAX_TITLE_BYTES: usize = 512;
const MAX_FIELD_BYTES: usize = 256;
const MAX_DESCRIPTION_BYTES: usize = 8192;

/// What a feed read from a finding.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) feed: String,
    pub(crate) product: String,
    pub(crate) id: String,
    pub(crate) key_account: String,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) severity: Severity,
    pub(crate) severity_sent: String,
    pub(crate) provider: Provider,
    pub(crate) account: Option<String>,
    pub(crate) account_name: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) class: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) techniques: BTreeSet<Technique>,
    pub(crate) times: Times,
    pub(crate) count: u64,
    pub(crate) state: FeedState,
    indicators: BTreeSet<(Role, IndicatorKind, String)>,
    overflow: bool,
}

impl Draft {
    /// An empty draft: `feed` read it, `product` made it under `id`, and its type is `kind`.
    pub(crate) fn new(feed: &str, product: &str, id: &str, kind: &str) -> Self {
        Self {
            feed: feed.to_owned(),
            product: product_word(product),
            id: id.to_owned(),
            key_account: String::new(),
            kind: kind.to_owned(),
            title: String::new(),
            description: String::new(),
            severity: Severity::Medium,
            severity_sent: String::new(),
            provider: Provider::Other,
            account: None,
            account_name: None,
            region: None,
            class: None,
            action: None,
            resources: Vec::new(),
            techniques: BTreeSet::new(),
            times: Times::default(),
            count: 1,
            state: FeedState::default(),
            indicators: BTreeSet::new(),
            overflow: false,
        }
    }

    /// Adds a typed value, if the node holds one.
    pub(crate) fn add(&mut self, kind: IndicatorKind, role: Role, node: Node<'_>) {
        if let Some(text) = node.str() {
            self.add_text(kind, role, text);
        }
    }

    /// Adds a typed value, if the text is one.
    pub(crate) fn add_text(&mut self, kind: IndicatorKind, role: Role, text: &str) {
        if self.indicators.len() >= MAX_CANDIDATES {
            self.overflow = true;
            return;
        }
        if let Some(found) = Indicator::parse(kind, text, role) {
            self.indicators
                .insert((found.role, found.kind, found.value));
        }
    }

    /// Adds an address or a domain, whichever the text is; a port after it is ignored.
    pub(crate) fn add_host(&mut self, role: Role, text: &str) {
        let host = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') && port.parse::<u16>().is_ok() => host,
            _ => text,
        };
        self.add_text(IndicatorKind::Ip, role, host);
        self.add_text(IndicatorKind::Domain, role, host);
    }

    /// Adds what free text names, as [`Role::Related`] unless it already plays a part.
    pub(crate) fn add_from_text(&mut self, text: &str) {
        let head = text
            .get(..text.floor_char_boundary(MAX_DESCRIPTION_BYTES))
            .unwrap_or_default();
        for (kind, value) in indicator::extract(head) {
            self.add_text(kind, Role::Related, &value);
        }
        for wallet in indicator::wallets(head) {
            self.add_text(IndicatorKind::Wallet, Role::Related, wallet);
        }
    }

    /// Adds a resource; the first one is the main one.
    pub(crate) fn add_resource(
        &mut self,
        kind: &str,
        id: &str,
        name: Option<&str>,
        tags: BTreeMap<String, String>,
    ) {
        if id.is_empty() || self.resources.iter().any(|known| known.id == id) {
            return;
        }
        if self.resources.len() >= MAX_RESOURCES {
            self.overflow = true;
            return;
        }
        self.resources.push(Resource {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: name.map(str::to_owned),
            tags,
        });
    }

    /// Puts the event times that are known into `times`.
    pub(crate) fn seen(&mut self, first: Node<'_>, last: Node<'_>) {
        self.times.first_seen = first.time().or(self.times.first_seen);
        self.times.last_seen = last.time().or(self.times.last_seen);
    }

    /// Widens the window of events by another one.
    pub(crate) fn seen_within(&mut self, first: Node<'_>, last: Node<'_>) {
        let times = &mut self.times;
        times.first_seen = match (times.first_seen, first.time()) {
            (Some(known), Some(other)) => Some(known.min(other)),
            (known, other) => known.or(other),
        };
        times.last_seen = times.last_seen.max(last.time());
    }

    /// Cleans and bounds everything and makes the alert; `decoding` is what was noticed while decoding `raw`.
    pub(crate) fn finish(mut self, mut raw: Value, decoding: Vec<Flag>) -> Alert {
        self.add_from_text(&format!("{}\n{}", self.title, self.description));
        self.drop_doubles();
        let mut flags: BTreeSet<Flag> = decoding.into_iter().take(64).collect();
        let indicators = self.bounded_indicators(&mut flags);
        let keep: HashSet<&str> = indicators
            .iter()
            .map(|found| found.value.as_str())
            .chain([self.id.as_str()])
            .collect();
        let mut cleaner = Cleaner {
            keep: &keep,
            flags: &mut flags,
        };
        let key = Key {
            product: cleaner.line(&self.product, MAX_FIELD_BYTES),
            id: identity(&self.id),
            account: cleaner.line(&self.key_account, MAX_FIELD_BYTES),
        };
        let mut alert = Alert {
            key,
            content: Content(String::new()),
            feed: self.feed,
            kind: cleaner.line(&self.kind, MAX_FIELD_BYTES),
            title: cleaner.line(&self.title, MAX_TITLE_BYTES),
            description: cleaner.text(&self.description),
            severity: self.severity,
            severity_sent: cleaner.line(&self.severity_sent, 64),
            provider: self.provider,
            account: self
                .account
                .map(|text| cleaner.line(&text, MAX_FIELD_BYTES)),
            account_name: self
                .account_name
                .map(|text| cleaner.line(&text, MAX_FIELD_BYTES)),
            region: self.region.map(|text| cleaner.line(&text, MAX_FIELD_BYTES)),
            class: self.class.map(|text| cleaner.line(&text, 64)),
            action: self.action.map(|text| cleaner.line(&text, MAX_FIELD_BYTES)),
            resources: self
                .resources
                .into_iter()
                .map(|resource| cleaner.resource(resource))
                .collect(),
            techniques: self
                .techniques
                .into_iter()
                .take(64)
                .map(|technique| cleaner.technique(technique))
                .collect(),
            times: self.times,
            count: self.count.max(1),
            state: self.state,
            indicators: Vec::new(),
            flags: Vec::new(),
            raw: Value::Null,
        };
        // A field's own cleaning is told of by the raw finding's flags, which have its place.
        flags.retain(|flag| {
            !matches!(
                flag,
                Flag::Redacted { .. } | Flag::HiddenText { .. } | Flag::Instructions { .. }
            )
        });
        flags.extend(clean_json_keeping(&mut raw, &Bounds::default(), &keep));
        drop(keep);
        alert.indicators = indicators;
        alert.raw = raw;
        alert.flags = flags.into_iter().collect();
        if alert.title.is_empty() {
            alert.title.clone_from(&alert.kind);
        }
        alert.content = content(&alert);
        alert
    }

    /// A value that plays a part is not also merely related.
    fn drop_doubles(&mut self) {
        let main: HashSet<(IndicatorKind, String)> = self
            .indicators
            .iter()
            .filter(|(role, ..)| *role < Role::Related)
            .map(|(_, kind, value)| (*kind, value.clone()))
            .collect();
        self.indicators.retain(|(role, kind, value)| {
            *role < Role::Related || !main.contains(&(*kind, value.clone()))
        });
    }

    /// The indicators, main roles first while there is room, then sorted.
    fn bounded_indicators(&mut self, flags: &mut BTreeSet<Flag>) -> Vec<Indicator> {
        let all = std::mem::take(&mut self.indicators);
        if all.len() > MAX_INDICATORS || self.overflow {
            flags.insert(Flag::Truncated {
                path: String::new(),
            });
        }
        let mut indicators: Vec<Indicator> = all
            .into_iter()
            .take(MAX_INDICATORS)
            .map(|(role, kind, value)| Indicator::new(kind, value, role))
            .collect();
        indicators.sort();
        indicators
    }
}

struct Cleaner<'a> {
    keep: &'a HashSet<&'a str>,
    flags: &'a mut BTreeSet<Flag>,
}

impl Cleaner<'_> {
    fn line(&mut self, text: &str, max_bytes: usize) -> String {
        let (clean, flags) = clean_text(&single_line(text), max_bytes, self.keep);
        self.flags.extend(flags);
        clean
    }

    fn text(&mut self, text: &str) -> String {
        let (clean, flags) = clean_text(text.trim(), MAX_DESCRIPTION_BYTES, self.keep);
        self.flags.extend(flags);
        clean
    }

    fn resource(&mut self, resource: Resource) -> Resource {
        if resource.tags.len() > MAX_TAGS {
            self.flags.insert(Flag::Truncated {
                path: String::new(),
            });
        }
        Resource {
            kind: self.line(&resource.kind, MAX_FIELD_BYTES),
            id: self.line(&resource.id, 1024),
            name: resource.name.map(|name| self.line(&name, MAX_FIELD_BYTES)),
            tags: resource
                .tags
                .into_iter()
                .take(MAX_TAGS)
                .map(|(key, value)| {
                    (
                        self.line(&key, MAX_FIELD_BYTES),
                        self.line(&value, MAX_FIELD_BYTES),
                    )
                })
                .collect(),
        }
    }

    fn technique(&mut self, technique: Technique) -> Technique {
        Technique {
            id: self.line(&technique.id, 32),
            name: technique.name.map(|name| self.line(&name, MAX_FIELD_BYTES)),
        }
    }
}

/// An id as it is compared and shown: whole if it is short and visible, else its digest, so that no two become one.
fn identity(id: &str) -> String {
    let clean = crate::text::strip_hidden(id).0;
    if clean == id && id.len() <= MAX_FIELD_BYTES && !id.contains(['\n', '\t']) {
        return id.to_owned();
    }
    format!("sha256:{}", hex(&Sha256::digest(id.as_bytes())))
}

/// The product's name as one word: lower case, `_` for anything else.
fn product_word(product: &str) -> String {
    let mut word = String::with_capacity(product.len());
    for character in product.trim().chars().take(64) {
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        } else if !word.ends_with('_') {
            word.push('_');
        }
    }
    word.trim_matches('_').to_owned()
}

/// The hash of what all wrappings of a finding share: no counters, no times, no text for people.
fn content(alert: &Alert) -> Content {
    let indicators: Vec<_> = alert
        .indicators
        .iter()
        .filter(|found| found.role < Role::Related)
        .map(|found| json!([found.role.as_str(), found.kind.as_str(), found.value]))
        .collect();
    let state = alert.state;
    let fields = json!([
        alert.kind,
        alert.severity.as_str(),
        alert.account,
        alert.region,
        [
            state.archived,
            state.inactive,
            state.resolved,
            state.suppressed
        ],
        alert.action,
        indicators,
    ]);
    Content(hex(&Sha256::digest(fields.to_string().as_bytes())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
