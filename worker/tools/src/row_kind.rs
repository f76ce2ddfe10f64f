//! Determines the kind of resource that a row of a register is about.
//!
//! Names recur across kinds: a container may have the name of a machine, and a user the name of a role. So a row
//! matches only values of its kind. The kind comes from the `kind` cell or the form of the subject, else from the
//! register.

use nightshift_alert::{IndicatorKind, PrincipalKind};

use IndicatorKind::{
    AccessKey, Bucket, Cluster, Container, Database, Domain, Email, File, Function, Hash, Image,
    Instance, Ip, Principal, Process, Url,
};

/// Synonyms in a `kind` cell, and the kinds that they mean.
struct KindSynonyms {
    synonyms: &'static [&'static str],
    kinds: &'static [IndicatorKind],
    principal: Option<PrincipalKind>,
}

const fn resource(words: &'static [&'static str], kinds: &'static [IndicatorKind]) -> KindSynonyms {
    KindSynonyms {
        synonyms: words,
        kinds,
        principal: None,
    }
}

const fn principal(
    words: &'static [&'static str],
    principal: Option<PrincipalKind>,
) -> KindSynonyms {
    KindSynonyms {
        synonyms: words,
        kinds: &[Principal, Email],
        principal,
    }
}

/// Words that keepers write, without spaces, hyphens and underscores.
const KIND_SYNONYMS: &[KindSynonyms] = &[
    resource(
        &[
            "instance",
            "ec2instance",
            "ec2",
            "computeinstance",
            "gceinstance",
            "vm",
            "virtualmachine",
            "machine",
            "host",
            "server",
            "node",
            "workstation",
            "awsec2instance",
        ],
        // A machine may also be named by its address or host name.
        &[Instance, Ip, Domain],
    ),
    resource(
        &[
            "bucket",
            "s3bucket",
            "s3",
            "gcsbucket",
            "storagebucket",
            "awss3bucket",
        ],
        &[Bucket],
    ),
    resource(
        &[
            "cluster",
            "ekscluster",
            "gkecluster",
            "ecscluster",
            "kubernetescluster",
        ],
        &[Cluster],
    ),
    resource(&["container", "pod", "task", "ecstask"], &[Container]),
    resource(
        &[
            "function",
            "lambda",
            "lambdafunction",
            "cloudfunction",
            "cloudrun",
            "cloudrunservice",
        ],
        &[Function],
    ),
    resource(
        &[
            "database",
            "db",
            "rds",
            "rdsinstance",
            "dbinstance",
            "cloudsql",
            "table",
        ],
        &[Database, Ip, Domain],
    ),
    resource(
        &["image", "containerimage", "machineimage", "ami"],
        &[Image],
    ),
    resource(
        &[
            "address",
            "ip",
            "ipaddress",
            "network",
            "range",
            "cidr",
            "egress",
            "nat",
            "vpn",
        ],
        &[Ip],
    ),
    resource(&["domain", "hostname", "fqdn"], &[Domain]),
    resource(&["url"], &[Url]),
    resource(&["key", "accesskey"], &[AccessKey]),
    resource(&["process"], &[Process]),
    resource(&["file"], &[File]),
    resource(&["hash"], &[Hash]),
    principal(&["user", "iamuser"], Some(PrincipalKind::User)),
    principal(
        &["role", "iamrole", "assumedrole"],
        Some(PrincipalKind::Role),
    ),
    principal(&["root"], Some(PrincipalKind::Root)),
    principal(
        &[
            "kubernetes",
            "kubernetesuser",
            "k8s",
            "federated",
            "federateduser",
            "samluser",
            "identitycenteruser",
            "ssouser",
        ],
        Some(PrincipalKind::Other),
    ),
    principal(
        &[
            "principal",
            "identity",
            "service",
            "serviceaccount",
            "ci",
            "bot",
            "robot",
            "workload",
            "application",
            "app",
            "automation",
            "machineidentity",
            "person",
            "human",
            "employee",
            "contractor",
            "email",
        ],
        None,
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The cell is empty: the form of the subject decides, else the register.
    Empty,
    /// A known kind.
    Recognised {
        kinds: &'static [IndicatorKind],
        principal: Option<PrincipalKind>,
    },
    /// A word that is unknown here or in this register. The row clears nothing.
    Unknown,
}

impl RowKind {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else {
            return Self::Empty;
        };
        let word = text.to_ascii_lowercase().replace([' ', '-', '_', ':'], "");
        let known = KIND_SYNONYMS
            .iter()
            .find(|it| it.synonyms.contains(&word.as_str()));
        known.map_or(Self::Unknown, |it| Self::Recognised {
            kinds: it.kinds,
            principal: it.principal,
        })
    }
}

impl RowKind {
    /// Returns the kind, or `Unknown` when the register does not support it.
    pub(crate) fn restrict_to(self, asked: &[IndicatorKind]) -> Self {
        match self {
            Self::Recognised { kinds, .. } if !kinds.iter().any(|kind| asked.contains(kind)) => {
                Self::Unknown
            }
            kind => kind,
        }
    }
}

/// Returns whether a user, a role and a cluster user could all have this name.
pub(crate) fn is_bare_name(name: &str) -> bool {
    !name.contains([':', '/', '@']) && !name.ends_with(".amazonaws.com")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_keepers_are_kinds() {
        let kinds = |text| match RowKind::parse(Some(text)) {
            RowKind::Recognised { kinds, .. } => kinds.first().copied(),
            _ => None,
        };
        assert_eq!(kinds("EC2 instance"), Some(Instance));
        assert_eq!(kinds("service_account"), Some(Principal));
        assert_eq!(kinds("Cloud Run service"), Some(Function));
        assert_eq!(RowKind::parse(Some("teapot")), RowKind::Unknown);
        assert_eq!(RowKind::parse(None), RowKind::Empty);
    }

    #[test]
    fn no_word_stands_for_two_kinds() {
        let mut all: Vec<&str> = KIND_SYNONYMS
            .iter()
            .flat_map(|it| it.synonyms)
            .copied()
            .collect();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
