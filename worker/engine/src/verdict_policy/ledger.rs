//! The ledger: every subject of an alert, and which of them a benign verdict requires to be covered.
//!
//! The ledger is made from the normalised alert alone, before any look-up, so that no tool and no analyst can
//! influence it. What the platform's log shows of these subjects is added later (see [`super::log`]).

use chrono::{DateTime, Utc};
use nightshift_alert::{
    Alert, Class, Direction, Indicator, IndicatorKind, Resource, Role, is_public,
};

use crate::cloud_name;
use crate::evidence::EvidenceId;
use crate::exoneration::type_matches;
use crate::tool::Trust;

/// Kinds of what runs, stores, serves or may act: where an alert names no actor, all that it names of these stand as the actor.
const RESOURCES: [IndicatorKind; 9] = [
    IndicatorKind::Container,
    IndicatorKind::Instance,
    IndicatorKind::Function,
    IndicatorKind::Database,
    IndicatorKind::Bucket,
    IndicatorKind::Image,
    IndicatorKind::AccessKey,
    IndicatorKind::Principal,
    IndicatorKind::Email,
];
/// Other names and containers of these resources. When none of them is named, the first of these kinds that is stands
/// as the actor.
const OTHERS: [IndicatorKind; 3] = [
    IndicatorKind::Arn,
    IndicatorKind::Cluster,
    IndicatorKind::Ip,
];
const CODE: [IndicatorKind; 4] = [
    IndicatorKind::Process,
    IndicatorKind::Image,
    IndicatorKind::File,
    IndicatorKind::Hash,
];
/// Finding types about executed code, for alerts that name no process.
const ABOUT_CODE: [&str; 4] = [
    "*Malware*",
    "*:Runtime/*",
    "Execution:*",
    "*/Container Threat*",
];

/// Names of anonymous callers, which only their address identifies. No IAM user can have such a name.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-requests>
const NOBODY: [&str; 2] = ["system:anonymous", "system:unauthenticated"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Typed value.
    Value(IndicatorKind),
    /// Mutating call of an actor that the log shows.
    Call,
    /// Field about the actor that cannot be read; the subject is its place.
    Unreadable,
    /// Subject that a limit dropped.
    Unseen,
    /// The alert names nothing that could be covered.
    Nothing,
}

impl Kind {
    /// Returns the word used in JSON and reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Value(kind) => kind.as_str(),
            Self::Call => "call",
            Self::Unreadable => "unreadable",
            Self::Unseen => "unseen",
            Self::Nothing => "nothing",
        }
    }
}

/// One subject of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    pub(crate) role: Role,
    /// Place of the subject: evidence and JSON pointer.
    pub(crate) place: String,
    pub(crate) trust: Trust,
    /// Account of the subject: its own, else that of the alert.
    pub(crate) account: Option<String>,
    /// Whether the same value may mean something else in another account, so that a record must name the account.
    pub(crate) is_local: bool,
    /// Whether a benign verdict requires the subject to be covered.
    pub(crate) required: bool,
    /// Principal that the log shows with the subject.
    pub(crate) shown_with: Option<String>,
    /// Time in the log; `None` for subjects of the alert.
    pub(crate) at: Option<DateTime<Utc>>,
}

impl Subject {
    /// Creates the subject of the alert's indicator at this index.
    pub(crate) fn from_indicator(alert: &Alert, index: usize, one: &Indicator) -> Self {
        // A bare id may belong to a resource whose ARN names another account.
        let of_resource = || {
            let mut resources = alert.resources.iter();
            let named = resources.find(|resource| resource.short_id() == one.value)?;
            cloud_name::account(&named.id)
        };
        let own = cloud_name::account(&one.value).or_else(of_resource);
        let is_local = match one.kind {
            IndicatorKind::Ip => !one.value.parse().is_ok_and(is_public),
            IndicatorKind::Domain
            | IndicatorKind::Url
            | IndicatorKind::Hash
            | IndicatorKind::Cve
            | IndicatorKind::Wallet
            | IndicatorKind::Process
            | IndicatorKind::File
            | IndicatorKind::Image => false,
            _ => true,
        };
        Self {
            kind: Kind::Value(one.kind),
            value: one.value.clone(),
            role: one.role,
            place: format!("{}:/indicators/{index}", EvidenceId::ALERT),
            trust: trust(one.kind),
            account: own.map(str::to_owned).or_else(|| alert.account.clone()),
            is_local,
            required: false,
            shown_with: None,
            at: None,
        }
    }

    /// Creates a subject that a log shows.
    pub(super) fn in_log(
        kind: Kind,
        value: &str,
        who: &Self,
        place: String,
        at: Option<DateTime<Utc>>,
    ) -> Self {
        Self {
            kind,
            value: value.to_owned(),
            role: Role::Actor,
            place,
            trust: Trust::Platform,
            account: who.account.clone(),
            is_local: kind == Kind::Value(IndicatorKind::AccessKey),
            required: true,
            shown_with: Some(who.value.clone()),
            at,
        }
    }

    /// Returns whether both are the same subject at the same time, in any place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.value, &self.shown_with, self.at)
            == (other.kind, &other.value, &other.shown_with, other.at)
    }

    /// Creates a subject that no record can be about.
    pub(super) fn without_value(kind: Kind, value: &str) -> Self {
        Self {
            kind,
            value: value.to_owned(),
            role: Role::Actor,
            place: EvidenceId::ALERT.to_string(),
            trust: Trust::Platform,
            account: None,
            is_local: false,
            required: true,
            shown_with: None,
            at: None,
        }
    }

    /// Returns whether the subject is a value of this kind.
    pub(crate) fn is(&self, kind: IndicatorKind) -> bool {
        self.kind == Kind::Value(kind)
    }

    /// Whether it is a value, or a call, that a record can be about.
    pub(crate) fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Value(_) | Kind::Call)
    }

    /// Returns whether only a record about the subject itself covers it. What belongs to a principal or a machine may
    /// be covered with that.
    pub(super) fn stands_alone(&self) -> bool {
        self.shown_with.is_none() && (self.is_principal() || self.role == Role::Target)
    }

    /// Returns whether the subject is an actor: a person, a role or a service.
    pub(crate) fn is_principal(&self) -> bool {
        self.is(IndicatorKind::Principal) || self.is(IndicatorKind::Email)
    }

    /// Returns whether the subject is something that runs, stores or serves.
    pub(crate) fn is_resource(&self) -> bool {
        matches!(self.kind, Kind::Value(kind) if RESOURCES.contains(&kind) || OTHERS.contains(&kind))
    }
}

/// Returns every value of an alert as a subject, in the order of its indicators. None is required yet.
pub(super) fn values(alert: &Alert) -> Vec<Subject> {
    let values = alert.indicators.iter().enumerate();
    values
        .map(|(index, one)| Subject::from_indicator(alert, index, one))
        .collect()
}

/// Returns the trust in values of this kind. An actor chooses the names of what runs and of what is called.
fn trust(kind: IndicatorKind) -> Trust {
    let is_chosen = CODE.contains(&kind)
        || matches!(
            kind,
            IndicatorKind::Domain | IndicatorKind::Url | IndicatorKind::Container
        );
    match is_chosen && kind != IndicatorKind::Hash {
        true => Trust::External,
        false => Trust::Platform,
    }
}

/// Returns the subjects of an alert, in the order of its indicators.
pub(crate) fn subjects(alert: &Alert) -> Vec<Subject> {
    let required = Required::of(alert);
    let mut all = values(alert);
    for (subject, one) in all.iter_mut().zip(&alert.indicators) {
        subject.required = required.holds(one);
    }
    all.retain(|subject| subject.role != Role::Related || subject.required);
    let unreadable = alert.unreadable.iter();
    all.extend(unreadable.map(|place| Subject::without_value(Kind::Unreadable, place)));
    if alert.unseen {
        all.push(Subject::without_value(
            Kind::Unseen,
            "what a limit left out",
        ));
    }
    if !all.iter().any(|one| one.required) {
        all.push(Subject::without_value(Kind::Nothing, &alert.kind));
    }
    all
}

/// Which subjects of an alert a benign verdict requires.
struct Required<'a> {
    /// The alert names who acted.
    has_actor: bool,
    /// Whether the alert names an address of the actor.
    has_address: bool,
    has_principal: bool,
    /// Kinds that stand as the actor when the alert names none.
    stand_ins: Vec<IndicatorKind>,
    /// The ids of resources that stand as the actor too, and have no name of these kinds.
    resources: Vec<&'a str>,
    /// Whether far ends count too.
    far_ends: bool,
    code: bool,
}

impl<'a> Required<'a> {
    fn of(alert: &'a Alert) -> Self {
        let has = |kind, role| {
            let mut all = alert.with_role(role);
            all.any(|one| one.kind == kind)
        };
        let has_actor = alert.with_role(Role::Actor).next().is_some();
        let is_threat = alert.class == Class::Threat;
        let names_code = alert
            .indicators
            .iter()
            .any(|one| matches!(one.kind, IndicatorKind::Process | IndicatorKind::Hash));
        let stand_ins = stand_ins(|kind| has(kind, Role::Target));
        let resources = match has_actor {
            true => Vec::new(),
            false => unnamed_resources(alert, &stand_ins),
        };
        Self {
            has_actor,
            has_address: has(IndicatorKind::Ip, Role::Actor),
            has_principal: has(IndicatorKind::Principal, Role::Actor),
            stand_ins,
            resources,
            far_ends: !has_actor || alert.direction == Some(Direction::Outbound),
            code: is_threat
                && (names_code
                    || ABOUT_CODE
                        .iter()
                        .any(|glob| type_matches(glob, &alert.kind))),
        }
    }

    /// Returns whether another value identifies this actor: the address of an anonymous caller, the principal of a
    /// service.
    fn is_nobody(&self, one: &Indicator) -> bool {
        match one.kind {
            IndicatorKind::Principal => self.has_address && NOBODY.contains(&one.value.as_str()),
            IndicatorKind::Domain => self.has_principal && cloud_name::is_service(&one.value),
            _ => false,
        }
    }

    fn holds(&self, one: &Indicator) -> bool {
        match one.role {
            Role::Actor => !self.is_nobody(one),
            _ if self.code && CODE.contains(&one.kind) => true,
            _ if self.resources.contains(&one.value.as_str()) => true,
            Role::Target => !self.has_actor && self.stand_ins.contains(&one.kind),
            Role::Remote => self.far_ends,
            Role::Related => false,
        }
    }
}

/// The kinds of targets that stand as the actor. A cluster is told by the containers that run in it.
fn stand_ins(has: impl Fn(IndicatorKind) -> bool) -> Vec<IndicatorKind> {
    let mut named: Vec<IndicatorKind> = RESOURCES.into_iter().filter(|kind| has(*kind)).collect();
    if named.is_empty() {
        named.extend(OTHERS.into_iter().find(|kind| has(*kind)));
    } else if has(IndicatorKind::Cluster) && !has(IndicatorKind::Container) {
        named.push(IndicatorKind::Cluster);
    }
    named
}

/// Returns the ids of listed resources that no target of these kinds names, as those of secrets and queues. A part of another
/// one, as an object of a bucket, is told by that; what EC2 lists beside a machine are its parts.
fn unnamed_resources<'a>(alert: &'a Alert, kinds: &[IndicatorKind]) -> Vec<&'a str> {
    let is_named = |resource: &Resource| {
        let names = [
            resource.short_id(),
            resource.name.as_deref().unwrap_or_default(),
        ];
        let is_it = |other: &&Resource, value: &str| {
            other.short_id() == value || other.name.as_deref() == Some(value)
        };
        let mut targets = alert.with_role(Role::Target);
        targets.any(|one| {
            let value = one.value.as_str();
            let alike = || alert.resources.iter().filter(|other| is_it(other, value));
            kinds.contains(&one.kind)
                && (value == resource.id || names.contains(&value) && alike().count() == 1)
        })
    };
    let is_part = |id: &str| {
        let mut others = alert.resources.iter();
        let service = id
            .strip_prefix("arn:")
            .and_then(|arn| arn.split(':').nth(1));
        !kinds.is_empty() && service == Some("ec2")
            || others.any(|other| {
                let rest = id.strip_prefix(other.id.as_str());
                rest.is_some_and(|rest| rest.starts_with('/'))
            })
    };
    let resources = alert.resources.iter();
    resources
        .filter(|one| !is_named(one) && !is_part(&one.id))
        .map(|one| one.id.as_str())
        .collect()
}
