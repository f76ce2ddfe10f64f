//! Defines a draft of an alert: the values that a feed read, before they are cleaned, bounded and hashed.
//!
//! All feeds fill in a draft, so that [`finish`] treats every alert alike. Typed values are validated when they are
//! added. Invalid values stay in the raw JSON only.

use std::collections::{BTreeMap, BTreeSet};

use super::Node;
use super::check_name::non_placeholder;
use crate::caller::CallRecord;
use crate::key::OUR_PRODUCT;
use crate::text::{redact_known_kinds, without_partial_word};
use crate::{
    Caller, CloudProvider, Detail, DetailKind, Direction, EventTimes, FeedState, FindingClass,
    Indicator, IndicatorKind, IndicatorRole, Outcome, Principal, PrincipalKind, Resource, Severity,
    Technique, indicator,
};

mod aliases;
mod callers;
mod encoded_command;
mod finish;
mod values;

use values::UnreadField;
pub(crate) use values::addresses_of;

/// Maximum number of indicator candidates while reading.
const MAX_CANDIDATES: usize = 4096;
const MAX_RESOURCES: usize = 64;
/// Maximum number of principals whose kind is kept.
const MAX_PRINCIPALS: usize = 64;
/// Maximum number of addresses of the resource.
const MAX_ADDRESSES: usize = 64;
const MAX_DESCRIPTION_BYTES: usize = 8192;

/// Kinds of details that hold a command.
const COMMANDS: [DetailKind; 3] = [
    DetailKind::CommandLine,
    DetailKind::ParentCommandLine,
    DetailKind::Persistence,
];

/// Values that a feed read from a finding.
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
    /// True if the severity is a word or number of unknown meaning.
    pub(crate) unknown_severity: bool,
    pub(crate) provider: CloudProvider,
    pub(crate) account: Option<String>,
    pub(crate) account_name: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) class: FindingClass,
    pub(crate) class_sent: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) remediation: Option<String>,
    /// The finding's full id, where `id` is a part of it.
    pub(crate) finding_id: Option<String>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) techniques: BTreeSet<Technique>,
    pub(crate) times: EventTimes,
    pub(crate) count: u64,
    pub(crate) state: FeedState,
    /// Account of the credentials that were used, where it is not the alert's account.
    pub(crate) caller_account: Option<String>,
    /// Number and id of the project, where the finding has both.
    pub(crate) project: Option<(String, String)>,
    indicators: BTreeSet<(IndicatorRole, IndicatorKind, String)>,
    principals: BTreeSet<Principal>,
    /// Addresses of the resource that the alert concerns.
    addresses: BTreeSet<String>,
    callers: BTreeSet<Caller>,
    /// Identities among the resources that may or may not be actors.
    identities: BTreeSet<String>,
    /// Credentials that the finding names beside the call that used them.
    credentials: Vec<CallRecord>,
    pub(crate) direction: Option<Direction>,
    /// JSON pointers of fields that name an actor but cannot be read.
    unreadable: BTreeSet<String>,
    /// Unread fields whose pointers are not yet looked up.
    unread_fields: Vec<UnreadField>,
    /// True if a limit dropped values that name an actor or target.
    pub(crate) is_actor_dropped: bool,
    details: BTreeSet<Detail>,
    has_overflow: bool,
}

/// Products whose findings have a reader of their own. Findings of other feeds cannot claim to be theirs.
const BUILT_IN_PRODUCTS: [&str; 2] = ["guardduty", "scc"];

impl Draft {
    /// Creates an empty draft: `feed` read it, `product` made it under `id`, and its type is `kind`.
    pub(crate) fn new(feed: &str, product: &str, id: &str, kind: &str) -> Self {
        let product = product_word(product);
        Self {
            feed: feed.to_owned(),
            // Only Nightshift makes findings of its own product.
            product: if product == OUR_PRODUCT {
                format!("{feed}_{product}")
            } else {
                product
            },
            id: id.to_owned(),
            key_account: String::new(),
            kind: kind.to_owned(),
            title: String::new(),
            description: String::new(),
            severity: Severity::Medium,
            severity_sent: String::new(),
            unknown_severity: false,
            provider: CloudProvider::Other,
            account: None,
            account_name: None,
            region: None,
            class: FindingClass::Threat,
            class_sent: None,
            action: None,
            outcome: None,
            remediation: None,
            finding_id: None,
            resources: Vec::new(),
            techniques: BTreeSet::new(),
            times: EventTimes::default(),
            count: 1,
            state: FeedState::default(),
            caller_account: None,
            project: None,
            indicators: BTreeSet::new(),
            principals: BTreeSet::new(),
            addresses: BTreeSet::new(),
            callers: BTreeSet::new(),
            identities: BTreeSet::new(),
            credentials: Vec::new(),
            direction: None,
            unreadable: BTreeSet::new(),
            unread_fields: Vec::new(),
            is_actor_dropped: false,
            details: BTreeSet::new(),
            has_overflow: false,
        }
    }

    /// Creates an empty draft whose product name comes from the sender of the finding.
    pub(crate) fn new_third_party(feed: &str, product: &str, id: &str, kind: &str) -> Self {
        let mut draft = Self::new(feed, product, id, kind);
        if BUILT_IN_PRODUCTS.contains(&draft.product.as_str()) {
            draft.product = format!("{feed}_{}", draft.product);
        }
        draft
    }

    /// Adds a typed value, if the node holds one, and returns it in the indicator's form. For actors and far ends all
    /// values are returned, and unreadable fields are kept: see [`values`].
    pub(crate) fn add(
        &mut self,
        kind: IndicatorKind,
        role: IndicatorRole,
        node: Node<'_>,
    ) -> Vec<String> {
        let text = node.str();
        if text.is_some_and(|text| values::is_placeholder_value(kind, text)) {
            return Vec::new();
        }
        if let Some(value) = text.and_then(|text| self.add_text(kind, role, text)) {
            return vec![value];
        }
        match role {
            IndicatorRole::Actor | IndicatorRole::Remote => {
                self.add_actor_values(kind, role, node, 0)
            }
            IndicatorRole::Target | IndicatorRole::Related => Vec::new(),
        }
    }

    /// Adds a typed value, if the text is one, and returns it in the indicator's form.
    pub(crate) fn add_text(
        &mut self,
        kind: IndicatorKind,
        role: IndicatorRole,
        text: &str,
    ) -> Option<String> {
        let text = non_placeholder(text)?;
        if role == IndicatorRole::Related && self.indicators.len() >= MAX_CANDIDATES {
            self.has_overflow = true;
            return None;
        }
        let value = Indicator::parse(kind, text, role)?.value;
        self.insert(kind, role, value.clone());
        Some(value)
    }

    /// Adds a value in the indicator's form.
    fn insert(&mut self, kind: IndicatorKind, role: IndicatorRole, value: String) {
        self.indicators.insert((role, kind, value));
        // Actors come before all others, however late they are read.
        if self.indicators.len() > MAX_CANDIDATES
            && let Some((role, ..)) = self.indicators.pop_last()
        {
            self.has_overflow = true;
            self.is_actor_dropped |= role < IndicatorRole::Related;
        }
    }

    /// Adds an address of the resource as related, because it played no part in the event.
    pub(crate) fn add_address(&mut self, node: Node<'_>) {
        let told = node.str();
        let address =
            told.and_then(|text| Indicator::parse(IndicatorKind::Ip, text, IndicatorRole::Related));
        if let Some(address) = address.filter(|_| self.addresses.len() < MAX_ADDRESSES) {
            self.addresses.insert(address.value);
        }
        self.add(IndicatorKind::Ip, IndicatorRole::Related, node);
    }

    /// Returns whether the text is an address of the resource.
    pub(crate) fn is_own_address(&self, text: &str) -> bool {
        let address = Indicator::parse(IndicatorKind::Ip, text, IndicatorRole::Related);
        address.is_some_and(|address| self.addresses.contains(&address.value))
    }

    /// Adds a typed value as related and returns it in the indicator's form.
    pub(crate) fn add_related(&mut self, kind: IndicatorKind, node: Node<'_>) -> Option<String> {
        self.add_text(kind, IndicatorRole::Related, node.str()?)
    }

    /// Records the kind of a principal, where its unique id or AWS's type word gives it.
    pub(crate) fn set_principal_kind(&mut self, name: &str, id: Option<&str>, word: Option<&str>) {
        let kind = PrincipalKind::from_word_or_id(word, id);
        if let (Some(name), Some(kind)) = (canonical_name(name), kind) {
            let id = id.and_then(canonical_name);
            let principal = Principal { name, kind, id };
            if self.principals.len() < MAX_PRINCIPALS {
                self.principals.insert(principal);
            } else {
                self.is_actor_dropped |= !self.principals.contains(&principal);
            }
        }
    }

    /// Returns whether a key or identity among the resources acted. That holds for threats, but AWS Health reports
    /// exposed credentials, not their use.
    pub(crate) fn credentials_acted(&self) -> bool {
        self.class == FindingClass::Threat && self.product != "health"
    }

    /// Returns whether an indicator of this kind has this role.
    pub(crate) fn has_kind_in_role(&self, kind: IndicatorKind, role: IndicatorRole) -> bool {
        self.indicators
            .iter()
            .any(|(its, known, _)| (*its, *known) == (role, kind))
    }

    /// Returns whether this value has this role.
    pub(crate) fn has_indicator(
        &self,
        kind: IndicatorKind,
        role: IndicatorRole,
        text: &str,
    ) -> bool {
        Indicator::parse(kind, text, role).is_some_and(|found| {
            self.indicators
                .contains(&(found.role, found.kind, found.value))
        })
    }

    /// Returns the addresses and domains that are actors or remotes.
    pub(crate) fn far_ends(&self) -> impl Iterator<Item = &str> {
        let is_end = |role, kind| {
            matches!(role, IndicatorRole::Actor | IndicatorRole::Remote)
                && matches!(kind, IndicatorKind::Ip | IndicatorKind::Domain)
        };
        self.indicators
            .iter()
            .filter(move |(role, kind, _)| is_end(*role, *kind))
            .map(|(_, _, value)| value.as_str())
    }

    /// Adds a detail, if the node has a value. Numbers and booleans are written as text.
    pub(crate) fn add_detail(&mut self, kind: DetailKind, node: Node<'_>) {
        self.add_detail_about(kind, node, None);
    }

    /// Adds a detail that describes an indicator or resource.
    pub(crate) fn add_detail_about(
        &mut self,
        kind: DetailKind,
        node: Node<'_>,
        about: Option<&str>,
    ) {
        if let Some(text) = node.text() {
            self.add_detail_text(kind, &text, about);
        }
    }

    /// Adds a text as a detail. Base64 in a command line becomes a detail of its own, because it is redacted in the
    /// command as a possible secret.
    pub(crate) fn add_detail_text(&mut self, kind: DetailKind, text: &str, about: Option<&str>) {
        let Some(text) = non_placeholder(text) else {
            return;
        };
        if COMMANDS.contains(&kind)
            && let Some(carried) = encoded_command::decode_command(text)
        {
            self.add_from_text(&carried);
            self.add_detail_text(DetailKind::DecodedCommand, &carried, about);
        }
        if self.details.len() >= MAX_CANDIDATES {
            self.has_overflow = true;
            return;
        }
        self.details.insert(Detail {
            kind,
            value: text.to_owned(),
            about: about.map(str::to_owned),
        });
    }

    /// Adds an address or a domain, depending on the node. A port after it is ignored.
    pub(crate) fn add_host(&mut self, role: IndicatorRole, node: Node<'_>) {
        let text = node.str().unwrap_or_default();
        match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') && port.parse::<u16>().is_ok() => {
                if self.add_text(IndicatorKind::Ip, role, host).is_none() {
                    self.add_derived(IndicatorKind::Domain, role, host, node);
                }
            }
            _ => {
                self.add(IndicatorKind::Domain, role, node);
            }
        }
    }

    /// Returns whether this command line is known, and short enough that all its values were added with it.
    pub(crate) fn has_command_line(&self, line: &str) -> bool {
        let mut details = self.details.iter();
        line.len() <= MAX_DESCRIPTION_BYTES
            && details.any(|one| one.kind == DetailKind::CommandLine && one.value == line)
    }

    /// Adds the values that free text names, as [`IndicatorRole::Related`] unless they already have a role.
    pub(crate) fn add_from_text(&mut self, text: &str) {
        let mut head = text
            .get(..text.floor_char_boundary(MAX_DESCRIPTION_BYTES))
            .unwrap_or_default();
        if head.len() < text.len() {
            head = without_partial_word(head);
        }
        // Values are exempt from redaction, so a part of a secret, such as its hexadecimal tail, must not become one.
        let (head, _) = redact_known_kinds(head);
        for (kind, value) in indicator::extract(&head) {
            self.insert(kind, IndicatorRole::Related, value);
        }
        for wallet in indicator::wallets(&head) {
            self.add_text(IndicatorKind::Wallet, IndicatorRole::Related, wallet);
        }
    }

    /// Adds a resource. The first one is the main resource.
    pub(crate) fn add_resource(
        &mut self,
        kind: &str,
        id: &str,
        name: Option<&str>,
        tags: BTreeMap<String, String>,
    ) {
        let name = name.and_then(non_placeholder);
        let Some(id) = non_placeholder(id).or(name) else {
            return;
        };
        if self.resources.iter().any(|known| known.id == id) {
            return;
        }
        if self.resources.len() >= MAX_RESOURCES {
            self.has_overflow = true;
            self.is_actor_dropped = true;
            return;
        }
        self.resources.push(Resource {
            kind: non_placeholder(kind).unwrap_or("Resource").to_owned(),
            id: id.to_owned(),
            name: name.map(str::to_owned),
            tags,
        });
    }

    /// Replaces the project's number by its id in the names of resources, so that each resource has one name.
    pub(crate) fn unify_project(&mut self) {
        let Some((number, id)) = self.project.take() else {
            return;
        };
        let (from, to) = (format!("/projects/{number}"), format!("/projects/{id}"));
        let unified = |name: &str| {
            let (head, tail) = name.split_once(from.as_str())?;
            let is_whole = tail.is_empty() || tail.starts_with('/');
            is_whole.then(|| format!("{head}{to}{tail}"))
        };
        let names = self.indicators.iter();
        let names = names.filter(|(_, kind, _)| *kind == IndicatorKind::Arn);
        let changed: Vec<_> = names
            .filter_map(|one| Some((one.clone(), unified(&one.2)?)))
            .collect();
        for (one, name) in changed {
            self.indicators.remove(&one);
            self.indicators.insert((one.0, one.1, name));
        }
        for resource in std::mem::take(&mut self.resources) {
            let name = unified(&resource.id).unwrap_or(resource.id);
            self.add_resource(
                &resource.kind,
                &name,
                resource.name.as_deref(),
                resource.tags,
            );
        }
        let details = std::mem::take(&mut self.details).into_iter();
        self.details = details
            .map(|detail| Detail {
                about: detail.about.map(|about| unified(&about).unwrap_or(about)),
                ..detail
            })
            .collect();
    }

    /// Sets the known event times in `times`.
    pub(crate) fn set_event_times(&mut self, first: Node<'_>, last: Node<'_>) {
        self.times.first_seen = first.time().or(self.times.first_seen);
        self.times.last_seen = last.time().or(self.times.last_seen);
    }

    /// Widens the event window by another one.
    pub(crate) fn widen_event_times(&mut self, first: Node<'_>, last: Node<'_>) {
        let times = &mut self.times;
        times.first_seen = match (times.first_seen, first.time()) {
            (Some(known), Some(other)) => Some(known.min(other)),
            (known, other) => known.or(other),
        };
        times.last_seen = times.last_seen.max(last.time());
    }
}

/// Returns the name of a principal in the form that its indicator has.
fn canonical_name(name: &str) -> Option<String> {
    Indicator::parse(IndicatorKind::Principal, name, IndicatorRole::Related).map(|one| one.value)
}

/// Returns the product's name as one lower-case word with `_` for other characters.
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
