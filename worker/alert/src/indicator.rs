//! Defines typed values that a parser took from an alert or a tool result.
//!
//! Only a parser makes an indicator. The engine's argument checks let a tool look up indicators of the case and nothing
//! else. Values are stored undefanged and canonical: lower-case domains and hashes, compressed IPv6.

use std::fmt;

use serde::{Deserialize, Serialize};

mod extract;
mod linkable;
mod parse;
mod wallet;

pub use extract::{embedded_addresses, extract};
pub(crate) use linkable::{dots, linkable_spans, linkable_spans_of_value, linkable_spans_with};
pub(crate) use wallet::{is_wallet, wallets};

/// Kind of an indicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndicatorKind {
    /// An IPv4 or IPv6 address.
    Ip,
    /// A fully qualified domain name.
    Domain,
    /// A URL with its scheme.
    Url,
    /// An email address that is not a principal.
    Email,
    /// An MD5, SHA-1, SHA-256 or SHA-512 digest in hex.
    Hash,
    /// An identity: user, role, service account, Kubernetes user.
    Principal,
    /// The id of an access key (never its secret).
    AccessKey,
    /// An Amazon resource name, or a Google full resource name.
    Arn,
    /// A virtual machine.
    Instance,
    /// An object storage bucket.
    Bucket,
    /// A Kubernetes or ECS cluster.
    Cluster,
    /// A container, task or pod.
    Container,
    /// A container or machine image.
    Image,
    /// A serverless function.
    Function,
    /// A database instance.
    Database,
    /// A process by name.
    Process,
    /// A file by path.
    File,
    /// A vulnerability by CVE id.
    Cve,
    /// A cryptocurrency wallet.
    Wallet,
}

impl IndicatorKind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Self; 19] = [
        Self::Ip,
        Self::Domain,
        Self::Url,
        Self::Email,
        Self::Hash,
        Self::Principal,
        Self::AccessKey,
        Self::Arn,
        Self::Instance,
        Self::Bucket,
        Self::Cluster,
        Self::Container,
        Self::Image,
        Self::Function,
        Self::Database,
        Self::Process,
        Self::File,
        Self::Cve,
        Self::Wallet,
    ];

    /// Returns the word used in JSON, playbooks and tool arguments.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Domain => "domain",
            Self::Url => "url",
            Self::Email => "email",
            Self::Hash => "hash",
            Self::Principal => "principal",
            Self::AccessKey => "access_key",
            Self::Arn => "arn",
            Self::Instance => "instance",
            Self::Bucket => "bucket",
            Self::Cluster => "cluster",
            Self::Container => "container",
            Self::Image => "image",
            Self::Function => "function",
            Self::Database => "database",
            Self::Process => "process",
            Self::File => "file",
            Self::Cve => "cve",
            Self::Wallet => "wallet",
        }
    }
}

impl fmt::Display for IndicatorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Role of an indicator in the alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndicatorRole {
    /// The caller, scanning address, login source or other actor.
    Actor,
    /// The target of the action.
    Target,
    /// The far end of the target's connection: a mining pool, a queried domain.
    Remote,
    /// Named in addition to the others: a parent resource, a file, a hash.
    Related,
}

impl IndicatorRole {
    /// Returns the word used in JSON, playbooks and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Target => "target",
            Self::Remote => "remote",
            Self::Related => "related",
        }
    }
}

/// A typed value with its role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Indicator {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: IndicatorKind,
    /// The canonical value, not defanged.
    pub value: String,
    /// The role.
    pub role: IndicatorRole,
}

impl Indicator {
    /// Creates an indicator whose value is already canonical.
    #[must_use]
    pub fn new(kind: IndicatorKind, value: impl Into<String>, role: IndicatorRole) -> Self {
        Self {
            kind,
            value: value.into(),
            role,
        }
    }
}
