//! Defines details of an alert: typed facts that are not indicators, such as ports, threat lists, error codes and
//! command lines.
//!
//! A detail has a kind from a closed set, a value, and optionally the indicator or resource that it describes. Reports
//! list details as facts. Playbooks match on them and fill actions in. No tool looks one up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum number of details of an alert.
pub(crate) const MAX_DETAILS: usize = 128;

macro_rules! detail_kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// Kind of a [`Detail`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum DetailKind {
            $($(#[doc = $doc])* $name,)*
        }

        impl DetailKind {
            /// All kinds, in the order in which reports list them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the word used in JSON, playbooks and `[[feed]]` fields.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// Returns a description of the kind.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),*).trim(),)*
                }
            }
        }
    };
}

detail_kinds! {
    /// The person behind a shared or borrowed identity: an EKS session name, an impersonated user, `runAs`.
    Session = "session",
    /// A group that the actor is in, or that was changed.
    Group = "group",
    /// The permission, role or OAuth scope that was used or granted.
    Permission = "permission",
    /// Principal that was given a right.
    Grantee = "grantee",
    /// The application or OAuth client.
    Application = "application",
    /// Database or schema that was logged in to or read, by its name within the server.
    DatabaseName = "database_name",
    /// The operation as the platform's API calls it, with its service where that is known: `cloudtrail.amazonaws.com
    /// StopLogging`.
    Operation = "operation",
    /// The platform's error code, e.g. `AccessDenied`.
    ErrorCode = "error_code",
    /// User agent of a caller.
    UserAgent = "user_agent",
    /// Port at the resource that the alert concerns.
    LocalPort = "local_port",
    /// Port at the far end.
    RemotePort = "remote_port",
    /// Transport or application protocol.
    Protocol = "protocol",
    /// Direction of a connection: `inbound` or `outbound`.
    Direction = "direction",
    /// Country of an address.
    Country = "country",
    /// City of an address.
    City = "city",
    /// Autonomous system number of an address, e.g. `AS64500`.
    Asn = "asn",
    /// Organisation that an address belongs to.
    Organisation = "organisation",
    /// VPC or virtual network.
    Vpc = "vpc",
    /// Subnet.
    Subnet = "subnet",
    /// Security group or firewall rule.
    SecurityGroup = "security_group",
    /// Account of the owner of a shared VPC, or of the far end.
    OtherAccount = "other_account",
    /// Threat list that the feed found the value on.
    ThreatList = "threat_list",
    /// Threat or malware by name.
    ThreatName = "threat_name",
    /// Signature that matched: a YARA rule, a memory hash signature.
    Signature = "signature",
    /// Command line of the process.
    CommandLine = "command_line",
    /// The decoded base64 content of a command line.
    DecodedCommand = "decoded_command",
    /// User of the machine that a process ran as.
    ProcessUser = "process_user",
    /// Process that started the process.
    ParentProcess = "parent_process",
    /// Command line of that process.
    ParentCommandLine = "parent_command_line",
    /// File that was written, created or renamed.
    FileWritten = "file_written",
    /// Registry key or value that was set.
    RegistryKey = "registry_key",
    /// Name of a service, a scheduled task or a cron entry that was made.
    Persistence = "persistence",
    /// HTTP request: method, path and query.
    HttpRequest = "http_request",
    /// DNS query as it was asked.
    DnsQuery = "dns_query",
    /// Query of a database as it was run.
    DatabaseQuery = "database_query",
    /// Kind of log-on or of authentication, e.g. `network`, `RDP`, `NTLM`, `RC4_HMAC`.
    LogonType = "logon_type",
    /// Result of a log-on or of multi-factor authentication.
    AuthResult = "auth_result",
    /// Device that somebody signed in with, by its id at the identity provider.
    Device = "device",
    /// Result of a check that neither passed nor failed: `WARNING`, `MANUAL`, `NOT_AVAILABLE`.
    CheckResult = "check_result",
    /// Number of events of the kind that the alert counts: requests, attempts, files, queries.
    EventCount = "event_count",
    /// Number of bytes that were sent or read.
    Bytes = "bytes",
    /// Interval between connections, in seconds.
    IntervalSecs = "interval_secs",
    /// Subject of a mail.
    MailSubject = "mail_subject",
    /// Control or check of a benchmark, with its standard.
    Control = "control",
    /// Package with its version.
    Package = "package",
    /// Version that fixes a vulnerability.
    FixedVersion = "fixed_version",
    /// The exposure of something to the outside, and the means to exploit it.
    Exposure = "exposure",
    /// Model, agent or guardrail of an artificial intelligence service, and what it did.
    AiModel = "ai_model",
    /// A detection rule of the customer's own.
    CustomRule = "custom_rule",
    /// Another finding that belongs to this one: the attack sequence, the related findings of a toxic combination.
    RelatedFinding = "related_finding",
    /// A signal or trait of the finding that has no other place.
    Trait = "trait",
    /// A statement of the feed in the alert's favour ("maintenance window"). It clears nothing; a register could
    /// confirm it.
    Claim = "claim",
}

impl DetailKind {
    /// Returns the kind with this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for DetailKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One detail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Detail {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: DetailKind,
    /// The value.
    pub value: String,
    /// The indicator value or resource id that the detail describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detail_words_round_trip_and_are_those_of_json() {
        for kind in DetailKind::ALL.iter().copied() {
            assert_eq!(DetailKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
