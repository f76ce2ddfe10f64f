//! Turns a draft into an alert: bounds typed values, then cleans text, then hashes the content.
//!
//! The order matters. Typed values and ids are exempt from redaction, so they must be known before text is cleaned.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::{Draft, MAX_DESCRIPTION_BYTES};
use crate::decode::push_segment;
use crate::detail::MAX_DETAILS;
use crate::feed::check_name::non_placeholder;
use crate::key::sha256;
use crate::text::{
    CleanTexts, JsonBounds, clean_json_recording, clean_text, random_parts_of_name, single_line,
};
use crate::{
    Alert, AlertKey, Caller, ContentFlag, ContentHash, Detail, Indicator, IndicatorKind,
    IndicatorRole, Outcome, Principal, Resource, Technique,
};

/// Maximum number of indicators of an alert. Main roles come first.
const MAX_INDICATORS: usize = 256;
/// Maximum number of decoding flags that are kept.
const MAX_DECODING_FLAGS: usize = 64;
const MAX_TAGS: usize = 64;
const MAX_TECHNIQUES: usize = 64;
const MAX_TITLE_BYTES: usize = 512;
const MAX_FIELD_BYTES: usize = 256;
const MAX_ID_BYTES: usize = 1024;
const MAX_DETAIL_BYTES: usize = 1024;

impl Draft {
    /// Cleans and bounds all values and makes the alert; `decoding` holds the flags of decoding `raw`.
    pub(crate) fn finish(mut self, mut raw: Value, decoding: Vec<ContentFlag>) -> Alert {
        use ContentFlag::{
            DuplicateKey, HiddenText, Instructions, Redacted, Replaced, Truncated, UnknownSeverity,
        };
        self.drop_placeholders();
        self.add_from_text(&format!("{}\n{}", self.title, self.description));
        self.settle_identities();
        self.drop_duplicates();
        // Decoding drops subtrees that are too deep and all but the last of equal keys. Those may name an actor.
        let is_loss = |flag: &ContentFlag| matches!(flag, Truncated { .. } | DuplicateKey { .. });
        self.is_actor_dropped |= decoding.iter().any(is_loss);
        let mut flags: BTreeSet<ContentFlag> =
            decoding.into_iter().take(MAX_DECODING_FLAGS).collect();
        let indicators = self.bounded_indicators(&mut flags);
        let principals = self.principals_among(&indicators);
        let callers = self.callers_among(&indicators);
        self.resolve_unread_fields(&raw);
        let addresses = std::mem::take(&mut self.addresses).into_iter().collect();
        let identity = [
            self.id.clone(),
            self.key_account.clone(),
            self.account.clone().unwrap_or_default(),
            self.finding_id.clone().unwrap_or_default(),
        ];
        let keep: HashSet<&str> = indicators
            .iter()
            .map(|found| found.value.as_str())
            .chain(
                identity
                    .iter()
                    .map(String::as_str)
                    .filter(|text| !text.is_empty()),
            )
            .collect();
        let names = self.random_names();
        let keep = |text: &str| {
            keep.contains(text) || names.iter().any(|name| is_name_with_words(text, name))
        };
        let unknown_severity = self.unknown_severity;
        let (in_raw, clean) = clean_json_recording(&mut raw, &JsonBounds::default(), &keep);
        let mut alert = self.clean(&mut FieldCleaner {
            keep: &keep,
            clean: &clean,
            flags: &mut flags,
        });
        // A field's text is cleaned in the raw finding too, where its flag has a path. If the raw field was pruned
        // first, an instructions flag is still added.
        let is_told = in_raw.iter().any(is_instructions);
        flags.retain(|flag| match flag {
            Truncated { .. } | Replaced { .. } | DuplicateKey { .. } => true,
            Instructions { .. } => !is_told,
            Redacted { .. } | HiddenText { .. } | UnknownSeverity { .. } => false,
        });
        flags.extend(in_raw);
        flags.extend(unknown_severity.then(|| UnknownSeverity {
            value: alert.severity_sent.clone(),
        }));
        alert.indicators = indicators;
        alert.principals = principals;
        alert.addresses = addresses;
        alert.callers = callers;
        alert.raw = raw.into();
        alert.flags = flags.into_iter().collect();
        alert.content = content_hash(&alert);
        alert
    }

    /// Empties the fields that hold a placeholder. A type that is one becomes the title, or the name of the feed.
    fn drop_placeholders(&mut self) {
        for text in [
            &mut self.title,
            &mut self.description,
            &mut self.key_account,
        ] {
            if non_placeholder(text).is_none() {
                text.clear();
            }
        }
        for field in [
            &mut self.account,
            &mut self.account_name,
            &mut self.region,
            &mut self.class_sent,
            &mut self.action,
            &mut self.remediation,
            &mut self.finding_id,
        ] {
            field.take_if(|text| non_placeholder(text).is_none());
        }
        if non_placeholder(&self.kind).is_none() {
            let kind = non_placeholder(&self.title).unwrap_or(&self.feed);
            self.kind = kind.to_owned();
        }
        self.techniques
            .retain(|technique| non_placeholder(&technique.id).is_some());
    }

    /// Cleans the alert's own fields. Indicators, raw JSON, flags and content are added later.
    fn clean(self, cleaner: &mut FieldCleaner<'_>) -> Alert {
        let kind = cleaner.line(&self.kind, MAX_FIELD_BYTES);
        let title = cleaner.line(&self.title, MAX_TITLE_BYTES);
        Alert {
            key: AlertKey {
                product: self.product,
                id: stable_id(&self.id),
                account: stable_id(&self.key_account),
            },
            content: ContentHash(String::new()),
            feed: self.feed,
            title: if title.is_empty() {
                kind.clone()
            } else {
                title
            },
            kind,
            description: cleaner.text(&self.description),
            severity: self.severity,
            severity_sent: cleaner.line(&self.severity_sent, 64),
            provider: self.provider,
            account: cleaner.field(self.account),
            account_name: cleaner.field(self.account_name),
            region: cleaner.field(self.region),
            class: self.class,
            class_sent: cleaner.field(self.class_sent),
            action: cleaner.field(self.action),
            outcome: self.outcome,
            details: cleaner.details(self.details),
            remediation: self
                .remediation
                .map(|text| cleaner.text(&text))
                .filter(|text| !text.is_empty()),
            finding_id: self.finding_id.map(|id| cleaner.line(&id, MAX_ID_BYTES)),
            resources: self
                .resources
                .into_iter()
                .map(|resource| cleaner.resource(resource))
                .collect(),
            techniques: self
                .techniques
                .into_iter()
                .take(MAX_TECHNIQUES)
                .map(|technique| cleaner.technique(technique))
                .collect(),
            times: self.times,
            count: self.count.max(1),
            state: self.state,
            indicators: Vec::new(),
            principals: Vec::new(),
            addresses: Vec::new(),
            callers: Vec::new(),
            direction: self.direction,
            unreadable: cleaner.pointers(self.unreadable),
            unseen: self.is_actor_dropped,
            flags: Vec::new(),
            trace: None,
            raw: Value::Null.into(),
        }
    }

    /// Returns the random-looking parts of the alert's type and of the ids and names of its resources, which are
    /// exempt from redaction: tails by CloudFormation, ids of users at an identity provider. A location or free text
    /// may hold a secret and exempts nothing.
    fn random_names(&self) -> BTreeSet<String> {
        let resources = self.resources.iter();
        let names = resources.flat_map(|one| std::iter::once(&one.id).chain(&one.name));
        names
            .chain(std::iter::once(&self.kind))
            .filter(|name| !name.contains(char::is_whitespace) && !name.contains("://"))
            .filter(|name| name.len() <= MAX_ID_BYTES)
            .flat_map(|name| std::iter::once(name.as_str()).chain(name.split('/')))
            .flat_map(random_parts_of_name)
            .map(str::to_owned)
            .collect()
    }

    /// Removes related values that also have a main role.
    fn drop_duplicates(&mut self) {
        let main: HashSet<(IndicatorKind, String)> = self
            .indicators
            .iter()
            .filter(|(role, ..)| *role < IndicatorRole::Related)
            .map(|(_, kind, value)| (*kind, value.clone()))
            .collect();
        self.indicators.retain(|(role, kind, value)| {
            *role < IndicatorRole::Related || !main.contains(&(*kind, value.clone()))
        });
    }

    /// Returns the sorted indicators, bounded with main roles first.
    fn bounded_indicators(&mut self, flags: &mut BTreeSet<ContentFlag>) -> Vec<Indicator> {
        let all = std::mem::take(&mut self.indicators);
        if all.len() > MAX_INDICATORS || self.has_overflow {
            flags.insert(ContentFlag::Truncated {
                path: String::new(),
            });
        }
        let mut all = all.into_iter();
        let mut indicators: Vec<Indicator> = all
            .by_ref()
            .take(MAX_INDICATORS)
            .map(|(role, kind, value)| Indicator::new(kind, value, role))
            .collect();
        self.is_actor_dropped |= all.any(|(role, ..)| role < IndicatorRole::Related);
        indicators.sort();
        indicators
    }

    /// Returns the kinds of principals that are whole values among the indicators, which were checked for secrets.
    fn principals_among(&mut self, indicators: &[Indicator]) -> Vec<Principal> {
        let names = |value: &str| {
            let mut all = indicators.iter();
            all.any(|one| one.kind == IndicatorKind::Principal && one.value == value)
        };
        let all = std::mem::take(&mut self.principals).into_iter();
        all.filter(|one| names(&one.name))
            .map(|one| Principal {
                id: one.id.filter(|id| names(id)),
                ..one
            })
            .collect()
    }

    /// Returns the callers whose values are actors among the indicators, without callers that are part of another
    /// one.
    fn callers_among(&mut self, indicators: &[Indicator]) -> Vec<Caller> {
        let actors: HashSet<(IndicatorKind, &str)> = indicators
            .iter()
            .filter(|one| one.role == IndicatorRole::Actor)
            .map(|one| (one.kind, one.value.as_str()))
            .collect();
        let acting = |kind, value: Option<String>| {
            value.filter(|value| actors.contains(&(kind, value.as_str())))
        };
        let callers = std::mem::take(&mut self.callers).into_iter();
        let callers: BTreeSet<Caller> = callers
            .map(|one| Caller {
                principal: acting(IndicatorKind::Principal, one.principal),
                access_key: acting(IndicatorKind::AccessKey, one.access_key),
                address: acting(IndicatorKind::Ip, one.address),
            })
            .filter(Caller::is_named)
            .collect();
        let is_whole = |one: &&Caller| {
            let mut others = callers.iter();
            !others.any(|other| *one != other && one.is_part_of(other))
        };
        callers.iter().filter(is_whole).cloned().collect()
    }
}

/// Returns whether a random-looking text is this name, alone or between words that do not look random.
fn is_name_with_words(text: &str, name: &str) -> bool {
    text.split_once(name).is_some_and(|(before, after)| {
        let mut rest = [before, after].into_iter();
        rest.all(|rest| random_parts_of_name(rest).is_empty())
    })
}

fn is_instructions(flag: &ContentFlag) -> bool {
    matches!(flag, ContentFlag::Instructions { .. })
}

struct FieldCleaner<'a> {
    keep: &'a dyn Fn(&str) -> bool,
    /// Texts of the raw finding that need no cleaning. Most fields are among them.
    clean: &'a CleanTexts,
    flags: &'a mut BTreeSet<ContentFlag>,
}

impl FieldCleaner<'_> {
    fn line(&mut self, text: &str, max_bytes: usize) -> String {
        let line = single_line(text);
        if line.len() <= max_bytes && self.clean.contains(&*line) {
            return line.into_owned();
        }
        let (clean, flags) = clean_text(&line, max_bytes, self.keep);
        self.flags.extend(flags);
        clean
    }

    fn field(&mut self, text: Option<String>) -> Option<String> {
        text.map(|text| self.line(&text, MAX_FIELD_BYTES))
            .filter(|text| !text.is_empty())
    }

    fn text(&mut self, text: &str) -> String {
        let text = text.trim();
        if self.clean.contains(text) {
            return text.to_owned();
        }
        let (clean, flags) = clean_text(text, MAX_DESCRIPTION_BYTES, self.keep);
        self.flags.extend(flags);
        clean
    }

    /// Cleans JSON pointers, because their keys may come from an attacker.
    fn pointers(&mut self, pointers: BTreeSet<String>) -> Vec<String> {
        let mut clean = |pointer: &String| {
            let mut path = String::new();
            for segment in pointer.split('/').skip(1) {
                let key = segment.replace("~1", "/").replace("~0", "~");
                push_segment(&mut path, &self.line(&key, MAX_FIELD_BYTES));
            }
            path
        };
        let clean: BTreeSet<String> = pointers.iter().map(&mut clean).collect();
        clean.into_iter().collect()
    }

    /// Returns the details in the order of their kinds, up to the limit.
    fn details(&mut self, details: BTreeSet<Detail>) -> Vec<Detail> {
        if details.len() > MAX_DETAILS {
            self.flags.insert(ContentFlag::Truncated {
                path: String::new(),
            });
        }
        let mut clean: Vec<Detail> = details
            .into_iter()
            .take(MAX_DETAILS)
            .map(|detail| Detail {
                kind: detail.kind,
                value: self.line(&detail.value, MAX_DETAIL_BYTES),
                about: detail.about.map(|about| match (self.keep)(&about) {
                    // A typed value is clean already.
                    true => about,
                    false => self.line(&about, MAX_ID_BYTES),
                }),
            })
            .filter(|detail| !detail.value.is_empty())
            .collect();
        clean.sort();
        clean.dedup();
        clean
    }

    fn resource(&mut self, resource: Resource) -> Resource {
        if resource.tags.len() > MAX_TAGS {
            self.flags.insert(ContentFlag::Truncated {
                path: String::new(),
            });
        }
        Resource {
            kind: self.line(&resource.kind, MAX_FIELD_BYTES),
            id: self.line(&resource.id, MAX_ID_BYTES),
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

/// Returns an id for comparing and showing: unchanged if it is short and visible, else its digest, so that two ids
/// never become one.
fn stable_id(id: &str) -> String {
    let clean = crate::text::strip_hidden(id).0;
    if clean == id && id.len() <= MAX_FIELD_BYTES && !id.contains(['\n', '\t']) {
        return id.to_owned();
    }
    format!("sha256:{}", sha256(id))
}

/// Returns the hash of the fields that all wrappings of a finding share, without counters, times and text for people.
fn content_hash(alert: &Alert) -> ContentHash {
    let indicators: Vec<_> = alert
        .indicators
        .iter()
        .filter(|found| found.role < IndicatorRole::Related)
        .map(|found| [found.role.as_str(), found.kind.as_str(), &found.value])
        .collect();
    // Wrappings name the same resource by its ARN or by its name.
    let resources: BTreeSet<&str> = alert.resources.iter().map(Resource::short_id).collect();
    let state = alert.state;
    let fields = (
        &alert.kind,
        alert.severity.as_str(),
        &alert.account,
        &alert.region,
        [
            state.archived,
            state.inactive,
            state.resolved,
            state.suppressed,
            state.passed,
        ],
        &alert.action,
        alert.outcome.map(Outcome::as_str),
        indicators,
        resources,
    );
    // Texts and flags always serialise to JSON.
    let written = serde_json::to_vec(&fields).unwrap_or_default();
    ContentHash(sha256(written))
}
