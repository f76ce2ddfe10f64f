//! Builds the ledger: every subject of an alert, and which of them a benign verdict requires to be covered.
//!
//! The ledger is made from the normalised alert alone, before any look-up, so that no tool and no analyst can influence
//! it. What the platform's log shows of these subjects is added later (see [`super::audit_log`]).

use chrono::{DateTime, Utc};
use nightshift_alert::{
    Alert, Direction, FindingClass, Indicator, IndicatorKind, IndicatorRole, Resource, is_public,
};

use crate::cloud_name;
use crate::evidence::EvidenceId;
use crate::exoneration::type_matches;
use crate::tool::Trust;

/// Kinds of resources that run, store, serve or may act. If an alert names no actor, all of its resources of these
/// kinds are required in place of the actor.
const RESOURCE_KINDS: [IndicatorKind; 9] = [
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
/// Other names and containers of these resources. If the alert names none of those, the first of these kinds that it
/// names is required in place of the actor.
const FALLBACK_KINDS: [IndicatorKind; 3] = [
    IndicatorKind::Arn,
    IndicatorKind::Cluster,
    IndicatorKind::Ip,
];
const CODE_KINDS: [IndicatorKind; 4] = [
    IndicatorKind::Process,
    IndicatorKind::Image,
    IndicatorKind::File,
    IndicatorKind::Hash,
];
/// Finding types about executed code, for alerts that name no process.
const CODE_FINDING_TYPES: [&str; 4] = [
    "*Malware*",
    "*:Runtime/*",
    "Execution:*",
    "*/Container Threat*",
];

/// Names of anonymous callers, which only their address identifies. No IAM user can have such a name.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-requests>
const ANONYMOUS_PRINCIPALS: [&str; 2] = ["system:anonymous", "system:unauthenticated"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SubjectKind {
    /// Typed value.
    Value(IndicatorKind),
    /// Mutating call of an actor that the log shows.
    Call,
    /// Field about the actor that cannot be read; the subject is its place.
    Unreadable,
    /// Subject that a limit dropped.
    Truncated,
    /// The alert names nothing that could be covered.
    NoSubject,
}

impl SubjectKind {
    /// Returns the word used in JSON and reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Value(kind) => kind.as_str(),
            Self::Call => "call",
            Self::Unreadable => "unreadable",
            Self::Truncated => "unseen",
            Self::NoSubject => "nothing",
        }
    }
}

/// One subject of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: SubjectKind,
    pub(crate) value: String,
    pub(crate) role: IndicatorRole,
    /// Place of the subject: evidence and JSON pointer.
    pub(crate) place: String,
    pub(crate) trust: Trust,
    /// Account of the subject: its own, else that of the alert.
    pub(crate) account: Option<String>,
    /// True if the same value may mean something else in another account, so that a record must name the account.
    pub(crate) is_local: bool,
    /// True if a benign verdict requires the subject to be covered.
    pub(crate) required: bool,
    /// Principal that the log shows with the subject.
    pub(crate) logged_principal: Option<String>,
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
            kind: SubjectKind::Value(one.kind),
            value: one.value.clone(),
            role: one.role,
            place: format!("{}:/indicators/{index}", EvidenceId::ALERT),
            trust: trust(one.kind),
            account: own.map(str::to_owned).or_else(|| alert.account.clone()),
            is_local,
            required: false,
            logged_principal: None,
            at: None,
        }
    }

    /// Creates a subject that a log shows.
    pub(super) fn from_log(
        kind: SubjectKind,
        value: &str,
        who: &Self,
        place: String,
        at: Option<DateTime<Utc>>,
    ) -> Self {
        Self {
            kind,
            value: value.to_owned(),
            role: IndicatorRole::Actor,
            place,
            trust: Trust::Platform,
            account: who.account.clone(),
            is_local: kind == SubjectKind::Value(IndicatorKind::AccessKey),
            required: true,
            logged_principal: Some(who.value.clone()),
            at,
        }
    }

    /// Returns whether both are the same subject at the same time, in any place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.value, &self.logged_principal, self.at)
            == (other.kind, &other.value, &other.logged_principal, other.at)
    }

    /// Creates a subject that no record can be about.
    pub(super) fn without_value(kind: SubjectKind, value: &str) -> Self {
        Self {
            kind,
            value: value.to_owned(),
            role: IndicatorRole::Actor,
            place: EvidenceId::ALERT.to_string(),
            trust: Trust::Platform,
            account: None,
            is_local: false,
            required: true,
            logged_principal: None,
            at: None,
        }
    }

    /// Returns whether the subject is a value of this kind.
    pub(crate) fn is_of_kind(&self, kind: IndicatorKind) -> bool {
        self.kind == SubjectKind::Value(kind)
    }

    /// Returns whether a record can be about the subject: a value or a call.
    pub(crate) fn is_value(&self) -> bool {
        matches!(self.kind, SubjectKind::Value(_) | SubjectKind::Call)
    }

    /// Returns whether only a record about the subject itself covers it. A value that belongs to a principal or a
    /// machine may be covered by the record about that one.
    pub(super) fn needs_own_record(&self) -> bool {
        self.logged_principal.is_none()
            && (self.is_principal() || self.role == IndicatorRole::Target)
    }

    /// Returns whether the subject is an actor: a person, a role or a service.
    pub(crate) fn is_principal(&self) -> bool {
        self.is_of_kind(IndicatorKind::Principal) || self.is_of_kind(IndicatorKind::Email)
    }

    /// Returns whether the subject is something that runs, stores or serves.
    pub(crate) fn is_resource(&self) -> bool {
        matches!(self.kind, SubjectKind::Value(kind) if RESOURCE_KINDS.contains(&kind) || FALLBACK_KINDS.contains(&kind))
    }
}

/// Returns every value of an alert as a subject, in the order of its indicators. None is required yet.
pub(super) fn alert_values(alert: &Alert) -> Vec<Subject> {
    let values = alert.indicators.iter().enumerate();
    values
        .map(|(index, one)| Subject::from_indicator(alert, index, one))
        .collect()
}

/// Returns the trust in values of this kind. An actor chooses the names of programs and of the hosts that they call.
fn trust(kind: IndicatorKind) -> Trust {
    let is_chosen = CODE_KINDS.contains(&kind)
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
    let required = RequiredSubjects::from_alert(alert);
    let mut all = alert_values(alert);
    for (subject, one) in all.iter_mut().zip(&alert.indicators) {
        subject.required = required.requires(one);
    }
    all.retain(|subject| subject.role != IndicatorRole::Related || subject.required);
    let unreadable = alert.unreadable.iter();
    all.extend(unreadable.map(|place| Subject::without_value(SubjectKind::Unreadable, place)));
    if alert.unseen {
        all.push(Subject::without_value(
            SubjectKind::Truncated,
            "what a limit left out",
        ));
    }
    if !all.iter().any(|one| one.required) {
        all.push(Subject::without_value(SubjectKind::NoSubject, &alert.kind));
    }
    all
}

/// Rules about which subjects of an alert a benign verdict requires.
struct RequiredSubjects<'a> {
    /// The alert names who acted.
    has_actor: bool,
    /// True if the alert names an address of the actor.
    has_address: bool,
    has_principal: bool,
    /// Kinds that stand as the actor when the alert names none.
    stand_ins: Vec<IndicatorKind>,
    /// The ids of further resources that are required in place of the actor and have no name of these kinds.
    resources: Vec<&'a str>,
    /// True if far ends count too.
    includes_remotes: bool,
    is_about_code: bool,
}

impl<'a> RequiredSubjects<'a> {
    fn from_alert(alert: &'a Alert) -> Self {
        let has = |kind, role| {
            let mut all = alert.with_role(role);
            all.any(|one| one.kind == kind)
        };
        let has_actor = alert.with_role(IndicatorRole::Actor).next().is_some();
        let is_threat = alert.class == FindingClass::Threat;
        let names_code = alert
            .indicators
            .iter()
            .any(|one| matches!(one.kind, IndicatorKind::Process | IndicatorKind::Hash));
        let stand_ins = stand_ins(|kind| has(kind, IndicatorRole::Target));
        let resources = match has_actor {
            true => Vec::new(),
            false => unnamed_resources(alert, &stand_ins),
        };
        Self {
            has_actor,
            has_address: has(IndicatorKind::Ip, IndicatorRole::Actor),
            has_principal: has(IndicatorKind::Principal, IndicatorRole::Actor),
            stand_ins,
            resources,
            includes_remotes: !has_actor || alert.direction == Some(Direction::Outbound),
            is_about_code: is_threat
                && (names_code
                    || CODE_FINDING_TYPES
                        .iter()
                        .any(|glob| type_matches(glob, &alert.kind))),
        }
    }

    /// Returns whether another value identifies this actor: the address of an anonymous caller, the principal of a
    /// service.
    fn is_redundant_actor(&self, one: &Indicator) -> bool {
        match one.kind {
            IndicatorKind::Principal => {
                self.has_address && ANONYMOUS_PRINCIPALS.contains(&one.value.as_str())
            }
            IndicatorKind::Domain => self.has_principal && cloud_name::is_service(&one.value),
            _ => false,
        }
    }

    fn requires(&self, one: &Indicator) -> bool {
        match one.role {
            IndicatorRole::Actor => !self.is_redundant_actor(one),
            _ if self.is_about_code && CODE_KINDS.contains(&one.kind) => true,
            _ if self.resources.contains(&one.value.as_str()) => true,
            IndicatorRole::Target => !self.has_actor && self.stand_ins.contains(&one.kind),
            IndicatorRole::Remote => self.includes_remotes,
            IndicatorRole::Related => false,
        }
    }
}

/// Returns the kinds of targets that are required in place of the actor. Containers are named instead of the cluster in
/// which they run.
fn stand_ins(has: impl Fn(IndicatorKind) -> bool) -> Vec<IndicatorKind> {
    let mut named: Vec<IndicatorKind> = RESOURCE_KINDS
        .into_iter()
        .filter(|kind| has(*kind))
        .collect();
    if named.is_empty() {
        named.extend(FALLBACK_KINDS.into_iter().find(|kind| has(*kind)));
    } else if has(IndicatorKind::Cluster) && !has(IndicatorKind::Container) {
        named.push(IndicatorKind::Cluster);
    }
    named
}

/// Returns the ids of listed resources that no target of these kinds names, for example those of secrets and queues. A
/// part of another resource, such as an object of a bucket, is left out. So are the resources that EC2 lists beside a
/// machine, which are its parts.
fn unnamed_resources<'a>(alert: &'a Alert, kinds: &[IndicatorKind]) -> Vec<&'a str> {
    let is_named = |resource: &Resource| {
        let names = [
            resource.short_id(),
            resource.name.as_deref().unwrap_or_default(),
        ];
        let is_it = |other: &&Resource, value: &str| {
            other.short_id() == value || other.name.as_deref() == Some(value)
        };
        let mut targets = alert.with_role(IndicatorRole::Target);
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
