//! Defines exonerations: facts, made by code, that clear an alert.
//!
//! A register tool or a `benign_when` expression proposes an exoneration, and the verdict policy decides what it
//! covers. No analyst can make one, because the answers of the port have no field for it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use globset::{Glob, GlobMatcher};
use ipnet::IpNet;
use nightshift_alert::IndicatorKind;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceId;

/// A fact that may clear an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exoneration {
    /// Kind of the record: `authorised_scanner`, `change`, `asset`, `identity`, `benign_when`, `person_verdict`.
    pub kind: String,
    /// Type of the subject.
    pub subject_type: IndicatorKind,
    /// Value that the record is about.
    pub subject: String,
    /// Start of validity; open when `None`.
    pub from: Option<DateTime<Utc>>,
    /// End of validity; open when `None`.
    pub until: Option<DateTime<Utc>>,
    /// Minutes by which an event may lie outside the validity, because clocks differ and people round. The maximum is
    /// [`MAX_SLACK_MINS`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slack_mins: u8,
    /// Globs of the finding types that the record covers. An empty list covers nothing.
    pub covers: Vec<String>,
    /// Approver of the record; empty when nobody approved it.
    pub approved_by: String,
    /// Reference of the record, such as a ticket id or a rule's name.
    #[serde(rename = "ref")]
    pub reference: String,
    /// One sentence about the record, for the report.
    pub statement: String,
    /// True if the detection was wrong, not just the activity allowed.
    pub detection_wrong: bool,
    /// The scope in which the record is valid.
    #[serde(default, skip_serializing_if = "RecordScope::is_empty")]
    pub scope: RecordScope,
    /// The values that the record covers besides its subject.
    #[serde(default, skip_serializing_if = "RecordExtent::is_empty")]
    pub extent: RecordExtent,
    /// Evidence that holds the record; filled in by the engine.
    #[serde(default)]
    pub evidence: Option<EvidenceId>,
}

/// Maximum slack of a record in minutes.
pub const MAX_SLACK_MINS: u8 = 15;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(slack_mins: &u8) -> bool {
    *slack_mins == 0
}

/// The scope in which a record is valid. An empty field means anywhere. The exception is the account: an empty one is
/// valid only for subjects without an account, and any account is written `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordScope {
    /// Account, subscription or project; `*` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Partition of AWS: `aws`, `aws-cn`, `aws-us-gov`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}

impl RecordScope {
    /// Returns whether the scope is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The values that a record covers besides its own subject, one column each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordExtent {
    /// Ids of an identity's long-lived access keys.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub keys: ListedValues,
    /// People who may act through a shared identity.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub persons: ListedValues,
    /// Networks that an identity calls from.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub networks: ListedValues,
    /// Resources that are acted on, and far ends that are contacted.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub targets: ListedValues,
    /// Addresses of a machine.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub addresses: ListedValues,
    /// Expected mutating calls.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub calls: ListedValues,
    /// Processes, files and images of a machine.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub processes: ListedValues,
    /// Hashes of files of a machine.
    #[serde(skip_serializing_if = "ListedValues::is_none")]
    pub hashes: ListedValues,
}

impl RecordExtent {
    /// Returns whether all columns are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Values of a column: none, a list, or any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedValues {
    /// The column is empty.
    #[default]
    None,
    /// The keeper wrote `any`.
    Any,
    /// Values as they were written; `*` matches any characters but `/`.
    These(Vec<String>),
}

impl ListedValues {
    /// Reads the values of a cell; `any` alone matches every value.
    #[must_use]
    pub fn from_cell(values: Vec<String>) -> Self {
        match values.as_slice() {
            [] => Self::None,
            [one] if one.eq_ignore_ascii_case("any") => Self::Any,
            _ => Self::These(values),
        }
    }

    /// Returns whether the column is empty.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Returns whether the column lists a value: literally, by a network, by a name with `*`, or by `any`.
    #[must_use]
    pub fn lists(&self, value: &str) -> bool {
        let address: Option<IpAddr> = value.parse().ok();
        let is_meant = |entry: &String| {
            let network = entry.parse::<IpNet>().ok();
            let network = network.or_else(|| entry.parse::<IpAddr>().ok().map(IpNet::from));
            match (network, address) {
                (Some(network), Some(address)) => network.contains(&address.to_canonical()),
                (Some(_), None) => false,
                (None, _) => matches_entry(entry, value),
            }
        };
        match self {
            Self::None => false,
            Self::Any => true,
            Self::These(entries) => entries.iter().any(is_meant),
        }
    }

    /// Returns whether the column lists a call, such as `s3:PutObject`. An entry may omit the service.
    #[must_use]
    pub fn lists_call(&self, call: &str) -> bool {
        let name = call.rsplit_once(':').map_or(call, |(_, name)| name);
        let is_meant = |entry: &String| match entry.contains(':') {
            true => matches_entry(entry, call),
            false => matches_entry(entry, name),
        };
        match self {
            Self::None => false,
            Self::Any => true,
            Self::These(entries) => entries.iter().any(is_meant),
        }
    }
}

/// Returns whether a value matches an entry; `*` matches any characters but `/`. Case matters in paths.
fn matches_entry(entry: &str, value: &str) -> bool {
    let same = |left: &str, right: &str| match entry.contains('/') {
        true => left == right,
        false => left.eq_ignore_ascii_case(right),
    };
    let Some((front, rest)) = entry.split_once('*') else {
        return same(entry, value);
    };
    let Some((head, tail)) = value.split_at_checked(front.len()) else {
        return false;
    };
    let until = tail.find('/').unwrap_or(tail.len());
    let mut ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
    same(front, head)
        && ends.any(|end| {
            let behind = tail.get(end..).unwrap_or_default();
            end <= until && matches_entry(rest, behind)
        })
}

/// Reason why an exoneration does not count for this alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RecordMismatch {
    /// The subject is no actor, target or far end of this alert.
    #[error("its subject is no actor or target of this alert")]
    OtherSubject,
    /// Nobody approved the record.
    #[error("nobody approved it")]
    NotApproved,
    /// The validity does not cover the events.
    #[error("its window does not cover the events")]
    OtherTime,
    /// The alert has no time of its events.
    #[error("the alert tells no time of its events")]
    NoTime,
    /// The record does not cover findings of this type.
    #[error("it does not cover findings of this type")]
    OtherType,
    /// The record is of another account, region, zone or cluster than the alert, which may have none, or it names no
    /// account.
    #[error(
        "it is of another account, region or cluster than the finding tells, or names no account"
    )]
    OtherPlace,
}

/// Maximum number of compiled globs in the cache. Playbooks, registers and the configuration have far fewer.
const MAX_MATCHERS: usize = 4096;

/// Cache of compiled globs with alternatives or classes. Compiling one costs a hundred times as much as matching with
/// it, and every question about every alert asks for the same ones.
static MATCHERS: LazyLock<RwLock<HashMap<String, Option<GlobMatcher>>>> =
    LazyLock::new(RwLock::default);

/// Returns whether a finding type matches a glob. Case does not matter, and `*` also spans `/` and `:`.
#[must_use]
pub fn type_matches(pattern: &str, kind: &str) -> bool {
    if let Some(matches) = match_simple_glob(pattern, kind) {
        return matches;
    }
    let is_match = |matcher: &Option<GlobMatcher>| {
        matcher
            .as_ref()
            .is_some_and(|matcher| matcher.is_match(kind))
    };
    let known = MATCHERS.read();
    if let Some(matcher) = known.get(pattern) {
        return is_match(matcher);
    }
    drop(known);
    let matcher = compile_glob(pattern);
    let matches = is_match(&matcher);
    let mut known = MATCHERS.write();
    if known.len() >= MAX_MATCHERS {
        known.clear();
    }
    known.insert(pattern.to_owned(), matcher);
    matches
}

/// Matches a glob of letters, `*` and `?` alone, which nearly all globs are. Returns `None` for other globs. Nothing
/// is allocated, because every alert is matched against all globs of all playbooks.
fn match_simple_glob(pattern: &str, kind: &str) -> Option<bool> {
    if !kind.is_ascii() {
        return None;
    }
    let (mut pattern, mut kind) = (pattern.as_bytes(), kind.as_bytes());
    // Position behind the last `*`, and where its match began. When the rest does not match, the `*` takes one more
    // character.
    let mut last_star = None;
    loop {
        match (pattern.split_first(), kind.split_first()) {
            (None, None) => return Some(true),
            (Some((b'*', [])), _) => return Some(true),
            (Some((b'*', after)), _) => {
                (pattern, kind) = (after, skip_to_first_letter(after, kind));
                last_star = Some((pattern, kind));
            }
            (Some((b'[' | b']' | b'{' | b'}' | b'\\' | 0x80.., _)), _) => {
                return None;
            }
            (Some((wanted, after)), Some((byte, rest)))
                if *wanted == b'?' || wanted.eq_ignore_ascii_case(byte) =>
            {
                (pattern, kind) = (after, rest);
            }
            _ => {
                let Some((after, [_, from @ ..])) = last_star else {
                    return Some(false);
                };
                (pattern, kind) = (after, skip_to_first_letter(after, from));
                last_star = Some((pattern, kind));
            }
        }
    }
}

/// Skips to the first position where the text after a `*` can match: that of its first letter.
fn skip_to_first_letter<'a>(after: &[u8], kind: &'a [u8]) -> &'a [u8] {
    let Some(letter) = after.first().filter(|byte| byte.is_ascii_alphanumeric()) else {
        return kind;
    };
    let (small, large) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
    let at = memchr::memchr2(small, large, kind);
    let skipped = at.unwrap_or(kind.len());
    kind.get(skipped..).unwrap_or_default()
}

fn compile_glob(pattern: &str) -> Option<GlobMatcher> {
    globset::GlobBuilder::new(pattern)
        .case_insensitive(true)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
        .ok()
        .as_ref()
        .map(Glob::compile_matcher)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_with_stars_matches_as_a_glob_would(pattern in "[aBc:/.?*é{},\\[\\]\\\\]{0,8}", kind in "[AbC:/.é]{0,10}") {
            let fits = compile_glob(&pattern).is_some_and(|glob| glob.is_match(&kind));
            prop_assert_eq!(type_matches(&pattern, &kind), fits);
        }
    }

    #[test]
    fn types_match_as_a_glob_would() {
        let patterns = [
            "",
            "*",
            "**",
            "Recon:*",
            "recon:ec2/PortProbe*",
            "Recon:EC2/PortProbeUnprotectedPort",
            "*:EC2/*",
            "Recon:EC2/Port?robe*",
            "{Recon,Trojan}:*",
            "[RT]*",
            "a\\*",
            "é*",
            "É",
            "?",
            "k*",
            "*K",
        ];
        let kinds = [
            "",
            "Recon:EC2/PortProbeUnprotectedPort",
            "RECON:ec2/portprobeunprotectedport",
            "Recon:EC2",
            "Recon",
            "Trojan:EC2/DropPoint",
            "a*",
            "a\\x",
            "é",
            "éa",
            "\u{212a}",
        ];
        for pattern in patterns {
            let glob = compile_glob(pattern).unwrap();
            for kind in kinds {
                let expected = glob.is_match(kind);
                assert_eq!(type_matches(pattern, kind), expected, "{pattern} {kind}");
            }
        }
        assert!(!type_matches("[", "["), "what is no glob matches nothing");
    }
}
