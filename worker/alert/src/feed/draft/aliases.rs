//! Adds further names beside the name of an actor: spellings of the same name, or another actor.
//!
//! A generated id (a number, a UUID, a SID, a unique id of AWS) belongs to the actor named beside it. Any other name
//! that is not a spelling of the known one is another actor: a record of the one does not cover the other.

use super::Draft;
use crate::feed::Node;
use crate::feed::check_name::non_placeholder;
use crate::feed::cloud::account_id;
use crate::principal::{account_in_arn, base_name_in_arn};
use crate::{CloudProvider, IndicatorKind, IndicatorRole};

/// Fields of a user that may repeat its name.
const IDS: [&str; 3] = ["uid", "email_addr", "uid_alt"];

/// Prefixes of AWS unique ids:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids>.
const AWS_IDS: [&str; 8] = [
    "AIDA", "AROA", "AGPA", "AIPA", "ANPA", "ASCA", "AKIA", "ASIA",
];

/// OCSF account types, by `type_id`, of accounts that belong to a person: LDAP, Windows, IAM user and role, Entra ID,
/// macOS, Apple, Linux. <https://schema.ocsf.io/1.6.0/objects/account>
const PERSONAL_ACCOUNT_TYPES: [u64; 8] = [1, 2, 3, 4, 6, 7, 8, 9];

impl Draft {
    /// Adds other actors that the user, its account or its session issuer names beside these names, and returns them.
    pub(super) fn add_aliases(&mut self, actor: Node<'_>, names: &[String]) -> Vec<String> {
        let mut added = Vec::new();
        if names.is_empty() {
            return added;
        }
        let user = actor.at("user");
        let account = user.at("account");
        let is_personal = account
            .at("type_id")
            .count()
            .is_some_and(|id| PERSONAL_ACCOUNT_TYPES.contains(&id));
        let of_user = IDS.iter().map(|key| user.at(key));
        // The account of an organisation has its own name.
        let of_account = ["name", "uid"].map(|key| account.at(key));
        let of_account = of_account.into_iter().filter(|node| {
            let text = node.str().unwrap_or_default();
            is_personal || text.contains('@') || text.starts_with("arn:")
        });
        let issuer = actor.path("session/issuer");
        let issuer = Some(issuer).filter(|node| node.str().is_some_and(|text| !is_issuer(text)));
        for node in of_user.chain(of_account).chain(issuer) {
            added.extend(self.add_alias(node, names, &added));
        }
        added
    }

    /// Adds another user that acted, unless its name is a spelling of one of these names or an id of theirs.
    pub(crate) fn add_other_user(&mut self, user: Node<'_>, names: &[String]) {
        let given = ["name", "email_addr", "full_name", "uid_alt", "uid"].map(|key| user.at(key));
        let is_object = user.is_object();
        let mut given = given.into_iter().chain(Some(user).filter(|_| !is_object));
        let Some(name) = given.find(|node| node.exists()) else {
            return;
        };
        if names.is_empty() || name.str().is_none() {
            self.add(IndicatorKind::Principal, IndicatorRole::Actor, name);
        } else {
            self.add_alias(name, names, &[]);
        }
    }

    /// Adds a name, unless it is a spelling of one of these names.
    fn add_alias(&mut self, node: Node<'_>, names: &[String], others: &[String]) -> Option<String> {
        if node
            .value()
            .is_some_and(|value| value.is_object() || value.is_array())
        {
            return self
                .add(IndicatorKind::Principal, IndicatorRole::Actor, node)
                .pop();
        }
        let text = non_placeholder(node.str()?)?;
        let ours = self.account.as_deref();
        let mut known = names.iter().chain(others);
        if is_opaque_id(text) || known.any(|name| is_same_name(name, text, ours)) {
            return None;
        }
        self.add_derived(IndicatorKind::Principal, IndicatorRole::Actor, text, node)
    }

    /// Adds an acting account that is not the alert's, unless a principal of that account is named. The account is
    /// written as in policies.
    ///
    /// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html#principal-accounts>
    pub(crate) fn add_account(&mut self, account: Node<'_>) {
        let id = account_id(account, CloudProvider::Aws).unwrap_or_default();
        let Some(account) = self.other_account(&id) else {
            return;
        };
        let is_of_account = |name: &str| {
            let bare = name.split_once(':').map(|(account, _)| account);
            account_in_arn(name) == Some(account) || bare == Some(account)
        };
        let mut all = self.indicators.iter();
        let is_named = all.any(|(role, kind, name)| {
            *role == IndicatorRole::Actor
                && *kind == IndicatorKind::Principal
                && is_of_account(name)
        });
        if !is_named {
            let root = format!("arn:aws:iam::{account}:root");
            self.set_principal_kind(&root, None, Some("AWSAccount"));
            self.add_text(IndicatorKind::Principal, IndicatorRole::Actor, &root);
        }
    }
}

/// Returns whether a text is a generated id, which does not name its owner. For an id with several parts one
/// generated part suffices, unless an account precedes it: `444455556666:alice` is a name.
fn is_opaque_id(text: &str) -> bool {
    if text.starts_with("arn:") {
        return false;
    }
    match text.split_once(':') {
        Some((first, _)) if is_aws_unique_id(first) => true,
        Some((_, rest)) => {
            let last = rest.rsplit(':').next().unwrap_or(rest);
            is_generated_id(last)
        }
        None => is_generated_id(text),
    }
}

fn is_generated_id(text: &str) -> bool {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_digest = text.len() >= 16
        && text.bytes().all(is_hex)
        && text.bytes().any(|byte| byte.is_ascii_digit());
    let is_sid = text.strip_prefix("S-1-").is_some_and(|rest| {
        let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'-';
        rest.bytes().all(is_part)
    });
    // Okta ids: <https://developer.okta.com/docs/api/openapi/okta-management/management/tag/User/>.
    let is_okta = text.len() == 20
        && text.starts_with("00u")
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_number || is_digest || is_sid || is_okta || is_aws_unique_id(text)
}

fn is_aws_unique_id(text: &str) -> bool {
    let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    AWS_IDS.iter().any(|start| text.starts_with(start))
        && text.len() >= 8
        && text.bytes().all(is_upper)
}

/// Returns whether a session issuer is a service or an identity provider: a URL, a host, an IAM provider. A role that
/// issued a session is read separately.
fn is_issuer(text: &str) -> bool {
    let parts = [":role/", ":saml-provider/", ":oidc-provider/"];
    let is_host = !text.contains('@')
        && crate::Indicator::parse(IndicatorKind::Domain, text, IndicatorRole::Related).is_some();
    is_host || text.contains("://") || parts.iter().any(|part| text.contains(part))
}

/// Returns whether both texts are the same name, ignoring case, account, domain and word separators.
fn is_same_name(one: &str, other: &str, ours: Option<&str>) -> bool {
    let (one, other) = (NameParts::new(one), NameParts::new(other));
    let is_same_domain = match (one.domain, other.domain) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => true,
    };
    let account = |name: &NameParts<'_>| name.account.or(ours).map(str::to_owned);
    let same_account =
        account(&one) == account(&other) || one.account.is_none() && other.account.is_none();
    is_same_domain && same_account && !one.letters.is_empty() && one.letters == other.letters
}

struct NameParts<'a> {
    account: Option<&'a str>,
    /// The domain of a mail address.
    domain: Option<&'a str>,
    letters: String,
}

impl<'a> NameParts<'a> {
    fn new(text: &'a str) -> Self {
        let (account, name) = match text.split_once(':') {
            Some(("arn", _)) => (account_in_arn(text), base_name_in_arn(text)),
            Some(("user" | "serviceAccount", name)) => (None, name),
            Some((account, name)) if account.len() == 12 && is_generated_id(account) => {
                (Some(account), name)
            }
            _ => (None, text),
        };
        let (name, domain) = match name.rsplit_once('@') {
            Some((local, domain)) if !local.is_empty() => (local, Some(domain)),
            _ => (name, None),
        };
        // A Windows domain precedes the name.
        let name = name.rsplit_once('\\').map_or(name, |(_, name)| name);
        let letters = name.chars().filter(|one| one.is_alphanumeric());
        Self {
            account,
            domain,
            letters: letters.flat_map(char::to_lowercase).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_the_same() {
        let ours = Some("444455556666");
        for (one, other) in [
            ("alice", "Alice@corp.example"),
            ("Alice Smith", "alice.smith@corp.example"),
            (r"CORP\alice", "alice"),
            ("ci", "arn:aws:sts::444455556666:assumed-role/ci/run-1"),
            ("ci", "arn:aws:iam::444455556666:role/path/ci"),
            ("alice", "444455556666:alice"),
        ] {
            assert!(is_same_name(one, other, ours), "{one} {other}");
        }
        for (one, other) in [
            ("alice", "mallory"),
            ("alice@corp.example", "alice@evil.example"),
            ("ci", "arn:aws:iam::999988887777:role/ci"),
            ("run-1", "arn:aws:sts::444455556666:assumed-role/ci/run-1"),
            ("alice", "999988887777:alice"),
        ] {
            assert!(!is_same_name(one, other, ours), "{one} {other}");
        }
    }

    #[test]
    fn ids_that_nobody_chose_are_told_from_names() {
        for id in [
            "1000",
            "AROAEXAMPLE1:run-1",
            "AIDAEXAMPLE0000000011",
            "S-1-5-21-1004336348-1177238915-682003330-512",
            "3d2a6f0e-9c1b-4f1a-8a55-0f6b1f7c9d21",
            "00u1a2b3c4d5e6f7g8h9",
            "aws-iam-authenticator:444455556666:AROAEXAMPLE1",
        ] {
            assert!(is_opaque_id(id), "{id}");
        }
        for name in [
            "mallory",
            "444455556666:mallory",
            "arn:aws:iam::1:user/m",
            "svc-2",
            "deadbeefdeadbeef",
        ] {
            assert!(!is_opaque_id(name), "{name}");
        }
    }
}
