//! What a feed tells of a principal of AWS beside its name.
//!
//! GuardDuty and those who pass it on give a user and a role by their bare names, which may be the same: what contains the
//! one does nothing to the other, or stops somebody else. The kind is kept beside the indicator, not in it, so that the
//! content of an alert stays what it was.

use serde::{Deserialize, Serialize};

/// Our word for somebody whom a cluster knows, not IAM.
pub(crate) const ELSEWHERE: &str = "elsewhere";

/// What a principal of AWS is, as far as commands of IAM tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// An IAM user.
    User,
    /// A role, or a session of one.
    Role,
    /// The root user of an account.
    Root,
    /// None of these: a federated user, a service, somebody of another account or of a cluster.
    Other,
}

/// A principal whose kind the feed told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Principal {
    /// Its name, as the indicator has it.
    pub name: String,
    /// What it is.
    pub kind: PrincipalKind,
    /// Its unique id, for a session of a role with the session's name: `AROA…:i-0abc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl Principal {
    /// The name of the session of a role, which is what CloudTrail calls its user.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        let (_, session) = self.id.as_deref()?.split_once(':')?;
        (self.kind == PrincipalKind::Role && !session.is_empty()).then_some(session)
    }
}

/// A principal of another account, as its ARN; where it has none, as AWS writes the ids of federated users.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns>
pub(crate) fn in_account(
    account: &str,
    name: &str,
    id: Option<&str>,
    kind: Option<PrincipalKind>,
) -> String {
    if name.starts_with("arn:") {
        return name.to_owned();
    }
    match (kind, session_in(id)) {
        (Some(PrincipalKind::User), _) => format!("arn:aws:iam::{account}:user/{name}"),
        (Some(PrincipalKind::Role), Some(session)) => {
            format!("arn:aws:sts::{account}:assumed-role/{name}/{session}")
        }
        (Some(PrincipalKind::Role), None) => format!("arn:aws:iam::{account}:role/{name}"),
        (Some(PrincipalKind::Root), _) => format!("arn:aws:iam::{account}:root"),
        _ => format!("{account}:{name}"),
    }
}

/// Returns the person behind the credentials of a role: the name of the session, where the caller does not choose it.
///
/// IAM Identity Center names its sessions after the user, and so do identity providers, by the address of a mailbox.
/// <https://docs.aws.amazon.com/singlesignon/latest/userguide/logging-using-cloudtrail.html>
pub(crate) fn person_behind<'a>(name: &'a str, id: Option<&'a str>) -> Option<&'a str> {
    let session = session_in(id).or_else(|| session_of_arn(name))?;
    let is_person = name.contains("AWSReservedSSO_") || session.contains('@');
    (is_person && !session.is_empty() && session != name).then_some(session)
}

/// Returns the name of a session in the unique id of a role, `AROA…:session`, or in the ARN of the session.
pub(crate) fn session_in(id: Option<&str>) -> Option<&str> {
    let id = id?;
    if id.starts_with("arn:") {
        return session_of_arn(id);
    }
    let (_, session) = id.split_once(':')?;
    Some(session)
}

fn session_of_arn(arn: &str) -> Option<&str> {
    let (_, path) = arn.split_once(":assumed-role/")?;
    path.rsplit_once('/').map(|(_, session)| session)
}

/// Returns the name of who an ARN names, without its path: of a session that of its role.
pub(crate) fn base_name_of(arn: &str) -> &str {
    if let Some((_, path)) = arn.split_once(":assumed-role/") {
        return path.split('/').next().unwrap_or(path);
    }
    arn.rsplit(['/', ':']).next().unwrap_or(arn)
}

/// Returns the name of the role that an ARN names, without its path.
pub(crate) fn role_in(arn: &str) -> Option<&str> {
    let (_, path) = arn.split_once(":role/")?;
    path.rsplit('/').next().filter(|name| !name.is_empty())
}

/// The account that an ARN names.
pub(crate) fn account_of(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.split(':').nth(3)
}

impl PrincipalKind {
    /// The kind by the word that CloudTrail, and GuardDuty after it, has for it, or by the type of a resource; else by the
    /// letters that its unique id begins with, or by its ARN. None where neither tells.
    ///
    /// <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-user-identity.html>,
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>
    pub(crate) fn of(word: Option<&str>, id: Option<&str>) -> Option<Self> {
        match word.unwrap_or_default() {
            "IAMUser" | "AwsIamUser" | "AWS::IAM::User" => Some(Self::User),
            "AssumedRole" | "Role" | "AwsIamRole" | "AWS::IAM::Role" => Some(Self::Role),
            "Root" => Some(Self::Root),
            "FederatedUser" | "SAMLUser" | "WebIdentityUser" | "IdentityCenterUser"
            | "Directory" | "AWSService" | "AWSAccount" | ELSEWHERE => Some(Self::Other),
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
