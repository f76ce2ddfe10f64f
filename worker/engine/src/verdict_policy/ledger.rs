//! The ledger: every subject of an alert, and which of them a benign verdict requires to be covered.
//!
//! It is made from the normalised alert alone, before anything is looked up, so that no tool and no analyst has a say in
//! it. What the log of the platform shows of these subjects is added later (see [`super::log`]).

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Class, Direction, Indicator, IndicatorKind, Role, is_public};

use crate::{EvidenceId, Trust, cloud_name, type_matches};

/// Kinds of what runs, stores, serves or may act: where an alert names no actor, all that it names of these stand as the actor.
const RESOURCES: [IndicatorKind; 8] = [
    IndicatorKind::Container,
    IndicatorKind::Instance,
    IndicatorKind::Function,
    IndicatorKind::Database,
    IndicatorKind::Bucket,
    IndicatorKind::AccessKey,
    IndicatorKind::Principal,
    IndicatorKind::Email,
];
/// Other names of these, and what they stand in: they stand as the actor where none of these is named, the first kind that is.
const OTHERS: [IndicatorKind; 3] = [
    IndicatorKind::Arn,
    IndicatorKind::Cluster,
    IndicatorKind::Ip,
];
/// Kinds of code that ran.
const CODE: [IndicatorKind; 4] = [
    IndicatorKind::Process,
    IndicatorKind::Image,
    IndicatorKind::File,
    IndicatorKind::Hash,
];
/// Finding types about code that ran, where no process is named.
const ABOUT_CODE: [&str; 4] = [
    "*Malware*",
    "*:Runtime/*",
    "Execution:*",
    "*/Container Threat*",
];

/// Names that stand for nobody: who calls without credentials is told by the address alone. No user of IAM can be called so.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-requests>
const NOBODY: [&str; 2] = ["system:anonymous", "system:unauthenticated"];

/// What a subject is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A typed value.
    Value(IndicatorKind),
    /// A call that changes something, which the log shows of an actor.
    Call,
    /// A field that says who acted and cannot be read; the subject is its place.
    Unreadable,
    /// What a limit dropped.
    Unseen,
    /// The alert names nothing that could be covered.
    Nothing,
}

impl Kind {
    /// The word used in JSON and reports.
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

/// One subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    pub(crate) role: Role,
    /// Where it stands: evidence and JSON pointer.
    pub(crate) place: String,
    pub(crate) trust: Trust,
    /// The account that it belongs to: its own, else that of the alert.
    pub(crate) account: Option<String>,
    /// Whether the same value may stand for another thing in another account, so that a record must name the account.
    pub(crate) is_local: bool,
    /// Whether a benign verdict requires it.
    pub(crate) required: bool,
    /// The principal that the log shows it with.
    pub(crate) shown_with: Option<String>,
    /// When the log shows it; none for what the alert names.
    pub(crate) at: Option<DateTime<Utc>>,
}

impl Subject {
    /// The subject of the indicator of an alert at this index.
    pub(crate) fn from_indicator(alert: &Alert, index: usize, one: &Indicator) -> Self {
        // A bare id may be that of a resource whose ARN tells another account.
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

    /// A subject that a log shows of a caller.
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

    /// Whether both are the same subject at the same time, wherever they stand.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.value, &self.shown_with, self.at)
            == (other.kind, &other.value, &other.shown_with, other.at)
    }

    /// A subject that no record can be about.
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

    /// Whether it is a value of this kind.
    pub(crate) fn is(&self, kind: IndicatorKind) -> bool {
        self.kind == Kind::Value(kind)
    }

    /// Whether it is a value, or a call, that a record can be about.
    pub(super) fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Value(_) | Kind::Call)
    }

    /// Whether only a record about itself covers it: what belongs to a principal or to a machine may be covered with that.
    pub(super) fn stands_alone(&self) -> bool {
        self.shown_with.is_none() && (self.is_principal() || self.role == Role::Target)
    }

    /// Whether it names who acted: a person, a role, a service.
    pub(crate) fn is_principal(&self) -> bool {
        self.is(IndicatorKind::Principal) || self.is(IndicatorKind::Email)
    }

    /// Whether it is what runs, stores or serves.
    pub(crate) fn is_resource(&self) -> bool {
        matches!(self.kind, Kind::Value(kind) if RESOURCES.contains(&kind) || OTHERS.contains(&kind))
    }
}

/// Every value of an alert as a subject, in the order of its indicators; none is required yet.
pub(super) fn values(alert: &Alert) -> Vec<Subject> {
    let values = alert.indicators.iter().enumerate();
    values
        .map(|(index, one)| Subject::from_indicator(alert, index, one))
        .collect()
}

/// Who wrote a value of this kind: whoever acts chooses the names of what runs and of what is called.
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

/// The subjects of an alert, in the order of its indicators.
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
struct Required {
    /// The alert names who acted.
    has_actor: bool,
    /// It names from where.
    has_address: bool,
    /// It names a principal.
    has_principal: bool,
    /// The kinds that stand as the actor, where it names nobody.
    stand_ins: Vec<IndicatorKind>,
    /// What is contacted counts too.
    far_ends: bool,
    /// It is about code that ran.
    code: bool,
}

impl Required {
    fn of(alert: &Alert) -> Self {
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
        Self {
            has_actor,
            has_address: has(IndicatorKind::Ip, Role::Actor),
            has_principal: has(IndicatorKind::Principal, Role::Actor),
            stand_ins: stand_ins(|kind| has(kind, Role::Target)),
            far_ends: !has_actor || alert.direction == Some(Direction::Outbound),
            code: is_threat
                && (names_code
                    || ABOUT_CODE
                        .iter()
                        .any(|glob| type_matches(glob, &alert.kind))),
        }
    }

    /// Whether an actor is told by another one: an anonymous caller by its address, a service by who let it call.
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
            Role::Target => !self.has_actor && self.stand_ins.contains(&one.kind),
            Role::Remote => self.far_ends,
            Role::Related => false,
        }
    }
}

fn stand_ins(has: impl Fn(IndicatorKind) -> bool) -> Vec<IndicatorKind> {
    let named: Vec<IndicatorKind> = RESOURCES.into_iter().filter(|kind| has(*kind)).collect();
    if named.is_empty() {
        OTHERS
            .into_iter()
            .find(|kind| has(*kind))
            .into_iter()
            .collect()
    } else {
        named
    }
}
