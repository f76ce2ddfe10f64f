//! An alert in the making: what a feed read, before it is cleaned, bounded and hashed.
//!
//! All feeds fill one in, so that every alert is treated alike by [`finish`]. Typed values are validated as they are
//! added; what is none stays in the raw JSON only.

use std::collections::{BTreeMap, BTreeSet};

use super::Node;
use crate::key::OUR_PRODUCT;
use crate::principal::{account_of, in_account};
use crate::text::{redact_known, whole_words};
use crate::{
    Caller, Class, Detail, DetailKind, Direction, FeedState, Indicator, IndicatorKind, Outcome,
    Principal, PrincipalKind, Provider, Resource, Role, Severity, Technique, Times, indicator,
};

mod decoded;
mod finish;

/// Most candidates that are held while reading.
const MAX_CANDIDATES: usize = 4096;
const MAX_RESOURCES: usize = 64;
/// Most principals whose kind is kept.
const MAX_PRINCIPALS: usize = 64;
/// Most addresses of what an alert concerns.
const MAX_ADDRESSES: usize = 64;
const MAX_DESCRIPTION_BYTES: usize = 8192;

/// Details that hold a command.
const COMMANDS: [DetailKind; 3] = [
    DetailKind::CommandLine,
    DetailKind::ParentCommandLine,
    DetailKind::Persistence,
];

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
    /// Whether that is a word or number of which nobody told what it means.
    pub(crate) unknown_severity: bool,
    pub(crate) provider: Provider,
    pub(crate) account: Option<String>,
    pub(crate) account_name: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) class: Class,
    pub(crate) class_sent: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) remediation: Option<String>,
    /// The finding's whole id, where `id` is a part of it.
    pub(crate) finding_id: Option<String>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) techniques: BTreeSet<Technique>,
    pub(crate) times: Times,
    pub(crate) count: u64,
    pub(crate) state: FeedState,
    /// Whose credentials were used, where that is another account than the one it was made for.
    pub(crate) caller_account: Option<String>,
    indicators: BTreeSet<(Role, IndicatorKind, String)>,
    principals: BTreeSet<Principal>,
    /// Addresses of what it concerns.
    addresses: BTreeSet<String>,
    pub(crate) callers: BTreeSet<Caller>,
    pub(crate) direction: Option<Direction>,
    /// JSON pointers of fields that say who acted and cannot be read.
    pub(crate) unreadable: BTreeSet<String>,
    /// Whether a limit dropped values that say who acted, or what it was done to.
    pub(crate) unseen: bool,
    details: BTreeSet<Detail>,
    overflow: bool,
}

/// The products whose findings have a reader of their own: nobody else's take their place.
const READ_HERE: [&str; 2] = ["guardduty", "scc"];

impl Draft {
    /// An empty draft: `feed` read it, `product` made it under `id`, and its type is `kind`.
    pub(crate) fn new(feed: &str, product: &str, id: &str, kind: &str) -> Self {
        let product = product_word(product);
        Self {
            feed: feed.to_owned(),
            // Only we make ours.
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
            provider: Provider::Other,
            account: None,
            account_name: None,
            region: None,
            class: Class::Threat,
            class_sent: None,
            action: None,
            outcome: None,
            remediation: None,
            finding_id: None,
            resources: Vec::new(),
            techniques: BTreeSet::new(),
            times: Times::default(),
            count: 1,
            state: FeedState::default(),
            caller_account: None,
            indicators: BTreeSet::new(),
            principals: BTreeSet::new(),
            addresses: BTreeSet::new(),
            callers: BTreeSet::new(),
            direction: None,
            unreadable: BTreeSet::new(),
            unseen: false,
            details: BTreeSet::new(),
            overflow: false,
        }
    }

    /// The same, where whoever sent the finding says what its product is called.
    pub(crate) fn of_others(feed: &str, product: &str, id: &str, kind: &str) -> Self {
        let mut draft = Self::new(feed, product, id, kind);
        if READ_HERE.contains(&draft.product.as_str()) {
            draft.product = format!("{feed}_{}", draft.product);
        }
        draft
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

    /// Adds whose credentials were used, with the unique id and the word of AWS for what they are, and gives the name.
    /// Somebody of another account is named with the account: who is called so in ours has done nothing.
    pub(crate) fn add_caller(
        &mut self,
        account: Option<&str>,
        name: Node<'_>,
        id: Node<'_>,
        word: Node<'_>,
    ) -> Option<String> {
        self.add(IndicatorKind::Principal, Role::Related, id);
        let (name, id, word) = (name.str()?, id.str(), word.str());
        let account = account.and_then(|account| self.other_account(account));
        let name = match account.or(self.caller_account.as_deref()) {
            Some(account) => in_account(account, name, id, PrincipalKind::of(word, id)),
            None => name.to_owned(),
        };
        self.add_text(IndicatorKind::Principal, Role::Actor, &name);
        self.tell_kind(&name, id, word);
        Some(name)
    }

    /// Adds the user of an actor, as GuardDuty's attack sequences have it after OCSF.
    ///
    /// The ARN of who issued the session says whose identity it is; else the account of the user, which is where it was
    /// active and need not own it: <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Account.html>. Nothing says
    /// of somebody who was active elsewhere that they are ours.
    pub(crate) fn add_actor(&mut self, actor: Node<'_>) {
        let user = actor.at("user");
        let issuer = actor.path("session/issuer").str().and_then(account_of);
        let account = issuer.or(user.path("account/uid").str());
        self.add_caller(account, user.at("name"), user.at("uid"), user.at("type"));
    }

    /// An account of AWS, where it is not the alert's.
    pub(crate) fn other_account<'a>(&self, account: &'a str) -> Option<&'a str> {
        let is_id = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
        let is_other = self.account.as_ref().is_some_and(|ours| ours != account);
        (self.provider == Provider::Aws && is_id && is_other).then_some(account)
    }

    /// Adds an address of what it concerns, as related: it is no part of what happened.
    pub(crate) fn add_address(&mut self, node: Node<'_>) {
        let told = node.str();
        let address =
            told.and_then(|text| Indicator::parse(IndicatorKind::Ip, text, Role::Related));
        if let Some(address) = address.filter(|_| self.addresses.len() < MAX_ADDRESSES) {
            self.addresses.insert(address.value);
        }
        self.add(IndicatorKind::Ip, Role::Related, node);
    }

    /// Whether the text is an address of what it concerns.
    pub(crate) fn is_own_address(&self, text: &str) -> bool {
        let address = Indicator::parse(IndicatorKind::Ip, text, Role::Related);
        address.is_some_and(|address| self.addresses.contains(&address.value))
    }

    /// Adds a typed value as related and returns it as the indicator has it.
    pub(crate) fn add_related(&mut self, kind: IndicatorKind, node: Node<'_>) -> Option<String> {
        self.add(kind, Role::Related, node);
        let found = Indicator::parse(kind, node.str()?, Role::Related)?;
        Some(found.value)
    }

    /// Keeps what a principal is, where its unique id or the word of AWS for it tells.
    pub(crate) fn tell_kind(&mut self, name: &str, id: Option<&str>, word: Option<&str>) {
        let canonical = |text| {
            Indicator::parse(IndicatorKind::Principal, text, Role::Related).map(|one| one.value)
        };
        let kind = PrincipalKind::of(word, id);
        if let (Some(name), Some(kind)) = (canonical(name), kind)
            && self.principals.len() < MAX_PRINCIPALS
        {
            let id = id.and_then(canonical);
            self.principals.insert(Principal { name, kind, id });
        }
    }

    /// Whether anything of this kind plays this part.
    pub(crate) fn names_any(&self, kind: IndicatorKind, role: Role) -> bool {
        self.indicators
            .iter()
            .any(|(its, known, _)| (*its, *known) == (role, kind))
    }

    /// Whether this value plays this part.
    pub(crate) fn plays(&self, kind: IndicatorKind, role: Role, text: &str) -> bool {
        Indicator::parse(kind, text, role).is_some_and(|found| {
            self.indicators
                .contains(&(found.role, found.kind, found.value))
        })
    }

    /// The addresses and domains that acted or are the far end.
    pub(crate) fn far_ends(&self) -> impl Iterator<Item = &str> {
        let is_end = |role, kind| {
            matches!(role, Role::Actor | Role::Remote)
                && matches!(kind, IndicatorKind::Ip | IndicatorKind::Domain)
        };
        self.indicators
            .iter()
            .filter(move |(role, kind, _)| is_end(*role, *kind))
            .map(|(_, _, value)| value.as_str())
    }

    /// Adds a detail, if something stands there; numbers and booleans are written as text.
    pub(crate) fn add_detail(&mut self, kind: DetailKind, node: Node<'_>) {
        self.add_detail_about(kind, node, None);
    }

    /// Adds a detail of an indicator's value or of a resource's id.
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

    /// Adds a detail that is text already. What a command line carries in base64 becomes a detail of its own: of the
    /// command itself that part is redacted, for it may be a secret.
    pub(crate) fn add_detail_text(&mut self, kind: DetailKind, text: &str, about: Option<&str>) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if COMMANDS.contains(&kind)
            && let Some(carried) = decoded::text_in(text)
        {
            self.add_from_text(&carried);
            self.add_detail_text(DetailKind::DecodedCommand, &carried, about);
        }
        if self.details.len() >= MAX_CANDIDATES {
            self.overflow = true;
            return;
        }
        self.details.insert(Detail {
            kind,
            value: text.to_owned(),
            about: about.map(str::to_owned),
        });
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
        let mut head = text
            .get(..text.floor_char_boundary(MAX_DESCRIPTION_BYTES))
            .unwrap_or_default();
        if head.len() < text.len() {
            head = whole_words(head);
        }
        // Values are exempt from redaction: what is a part of a secret, such as its hexadecimal tail, must not be one.
        let (head, _) = redact_known(head);
        for (kind, value) in indicator::extract(&head) {
            self.add_text(kind, Role::Related, &value);
        }
        for wallet in indicator::wallets(&head) {
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
