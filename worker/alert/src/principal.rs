//! Defines facts about an AWS principal beside its name.
//!
//! GuardDuty, and products that forward its findings, name users and roles by bare names, which may be equal.
//! Containing the wrong one has no effect or stops another principal. The kind is kept beside the indicator, so that
//! the content hash of an alert does not depend on it.

use serde::{Deserialize, Serialize};

/// Kind word for an identity that a cluster knows and IAM does not.
pub(crate) const NON_IAM_PRINCIPAL: &str = "elsewhere";

/// Kind of an AWS principal, as far as IAM commands distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// An IAM user.
    User,
    /// A role, or a session of one.
    Role,
    /// The root user of an account.
    Root,
    /// Another identity: a federated user, a service, a principal of another account or of a cluster.
    Other,
}

/// A principal whose kind the feed reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Principal {
    /// The name, equal to the indicator's value.
    pub name: String,
    /// The kind.
    pub kind: PrincipalKind,
    /// The unique id, which for a role session includes the session name: `AROA…:i-0abc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Principal {
    /// Returns the session name of a role, which CloudTrail uses as user name.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        let (_, session) = self.id.as_deref()?.split_once(':')?;
        (self.kind == PrincipalKind::Role && !session.is_empty()).then_some(session)
    }
}

/// Returns a principal of another account as its ARN, or in the form of federated user ids where it has none.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns>
pub(crate) fn qualify_with_account(
    account: &str,
    name: &str,
    id: Option<&str>,
    kind: Option<PrincipalKind>,
) -> String {
    if name.starts_with("arn:") {
        return name.to_owned();
    }
    match (kind, session_name(id)) {
        (Some(PrincipalKind::User), _) => format!("arn:aws:iam::{account}:user/{name}"),
        (Some(PrincipalKind::Role), Some(session)) => {
            format!("arn:aws:sts::{account}:assumed-role/{name}/{session}")
        }
        (Some(PrincipalKind::Role), None) => format!("arn:aws:iam::{account}:role/{name}"),
        (Some(PrincipalKind::Root), _) => format!("arn:aws:iam::{account}:root"),
        _ => format!("{account}:{name}"),
    }
}

/// Returns the person behind the credentials of a role: the session name, where the caller does not choose it.
///
/// IAM Identity Center names its sessions after the user. Identity providers do so with a mail address.
/// <https://docs.aws.amazon.com/singlesignon/latest/userguide/logging-using-cloudtrail.html>
pub(crate) fn person_behind<'a>(name: &'a str, id: Option<&'a str>) -> Option<&'a str> {
    let session = session_name(id).or_else(|| session_name_in_arn(name))?;
    let is_person = name.contains("AWSReservedSSO_") || session.contains('@');
    (is_person && !session.is_empty() && session != name).then_some(session)
}

/// Returns the session name from the unique id of a role, `AROA…:session`, or from the ARN of the session.
pub(crate) fn session_name(id: Option<&str>) -> Option<&str> {
    let id = id?;
    if id.starts_with("arn:") {
        return session_name_in_arn(id);
    }
    let (_, session) = id.split_once(':')?;
    Some(session)
}

fn session_name_in_arn(arn: &str) -> Option<&str> {
    let (_, path) = arn.split_once(":assumed-role/")?;
    path.rsplit_once('/').map(|(_, session)| session)
}

/// Returns the name in an ARN without its path. For a session this is the name of its role.
pub(crate) fn base_name_in_arn(arn: &str) -> &str {
    if let Some((_, path)) = arn.split_once(":assumed-role/") {
        return path.split('/').next().unwrap_or(path);
    }
    arn.rsplit(['/', ':']).next().unwrap_or(arn)
}

/// Returns the role name in an ARN without its path.
pub(crate) fn role_name_in_arn(arn: &str) -> Option<&str> {
    let (_, path) = arn.split_once(":role/")?;
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

pub(crate) fn account_in_arn(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.split(':').nth(3)
}

impl PrincipalKind {
    /// Returns the kind by CloudTrail's word, which GuardDuty uses too, or by a resource type. Otherwise the prefix
    /// of the unique id or the ARN decides. Returns `None` where all of them are unknown.
    ///
    /// <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-user-identity.html>,
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>
    pub(crate) fn from_word_or_id(word: Option<&str>, id: Option<&str>) -> Option<Self> {
        match word.unwrap_or_default() {
            "IAMUser" | "AwsIamUser" | "AWS::IAM::User" => Some(Self::User),
            "AssumedRole" | "Role" | "AwsIamRole" | "AWS::IAM::Role" => Some(Self::Role),
            "Root" => Some(Self::Root),
            "FederatedUser" | "SAMLUser" | "WebIdentityUser" | "IdentityCenterUser"
            | "Directory" | "AWSService" | "AWSAccount" | NON_IAM_PRINCIPAL => Some(Self::Other),
            _ => match id?.get(..4)? {
                "AIDA" => Some(Self::User),
                "AROA" => Some(Self::Role),
                "arn:" if id?.contains(":user/") => Some(Self::User),
                "arn:" if id?.contains(":role/") => Some(Self::Role),
                "arn:" if id?.contains(":assumed-role/") => Some(Self::Role),
                _ => None,
            },
        }
    }
}
