//! Defines the canonical form in which a value of an alert and an entry of a register are compared.
//!
//! Clouds name one resource in several ways: a role by its bare name, its ARN with a path, or the ARN of a session; a
//! service account by its address or a full resource name. [`CanonicalName`] splits such a name into parts. A part that
//! the form does not contain is `None` and matches anything.

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, PrincipalKind};

/// A name, split into its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CanonicalName {
    /// The kind, by the form of the name; `None` for a bare name.
    pub(crate) kind: Option<IndicatorKind>,
    /// The kind of principal, by the form of the name.
    pub(crate) principal: Option<PrincipalKind>,
    /// Account or project.
    pub(crate) account: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
    /// The bare name, or the whole text when no form is recognised, in ASCII lower case. Folding other letters could
    /// make two names equal.
    pub(crate) text: String,
    /// The session name of an assumed role.
    pub(crate) session: Option<String>,
    /// True if the form identifies the kind for certain, as an ARN does.
    pub(crate) is_qualified: bool,
}

impl CanonicalName {
    /// Parses an entry of a register, whose kind is known only by its form.
    pub(crate) fn from_entry(text: &str) -> Self {
        let text = without_prefix(text.trim());
        let mut named = Self::parse(text);
        if named.kind.is_some() {
            return named;
        }
        let of =
            |kind| Indicator::parse(kind, text, IndicatorRole::Related).map(|found| found.value);
        let (kind, value) = if is_instance(text) {
            (Some(IndicatorKind::Instance), None)
        } else if text.contains('@') {
            (of(IndicatorKind::Email).map(|_| IndicatorKind::Email), None)
        } else if text.contains("://") {
            (Some(IndicatorKind::Url), of(IndicatorKind::Url))
        } else if is_domain(text) {
            (Some(IndicatorKind::Domain), of(IndicatorKind::Domain))
        } else if is_key(text) {
            (Some(IndicatorKind::AccessKey), None)
        } else {
            (None, None)
        };
        named.kind = kind;
        if let Some(value) = value {
            named.text = value.to_ascii_lowercase();
        }
        named
    }

    /// Parses a value of this kind. Only principals and qualified names are split.
    pub(crate) fn from_value(kind: IndicatorKind, value: &str) -> Self {
        let mut named = match kind {
            IndicatorKind::Arn | IndicatorKind::Principal => Self::parse(without_prefix(value)),
            IndicatorKind::Domain => Self::from_bare_name(value.trim_end_matches('.')),
            _ => Self::from_bare_name(value),
        };
        named.kind.get_or_insert(kind);
        named
    }

    /// Returns whether this is the address of a service account, which is unique across accounts.
    pub(crate) fn is_service_account_email(&self) -> bool {
        self.kind == Some(IndicatorKind::Principal) && self.text.contains('@')
    }

    fn from_bare_name(text: &str) -> Self {
        Self {
            text: text.to_ascii_lowercase(),
            ..Self::default()
        }
    }

    fn parse(text: &str) -> Self {
        let whole = if text.starts_with("arn:") {
            from_arn(text)
        } else if text.starts_with("//") {
            from_resource_name(text)
        } else {
            from_address(text).or_else(|| from_account_and_name(text))
        };
        whole.map_or_else(
            || Self::from_bare_name(text),
            |whole| Self {
                is_qualified: true,
                ..whole
            },
        )
    }
}

/// Removes the prefix that Google Cloud puts before a member of a policy.
fn without_prefix(text: &str) -> &str {
    let member = ["serviceAccount:", "user:"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    member.filter(|rest| rest.contains('@')).unwrap_or(text)
}

/// Parses an ARN, <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html>. Names of users and roles are
/// unique in their account regardless of their path. The caller chooses a session name, and the writer of an object
/// chooses its key. A name that anybody can choose therefore matches only itself.
fn from_arn(arn: &str) -> Option<CanonicalName> {
    use IndicatorKind::{Arn, Bucket, Cluster, Container, Database, Function, Image, Instance};
    let mut parts = arn.splitn(6, ':').skip(2);
    let (service, region, account, resource) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (kind, name) = match (service, resource.split_once(['/', ':'])) {
        ("iam" | "sts", split) => {
            let (principal, name, session) = split_principal(resource, split)?;
            return Some(CanonicalName {
                kind: Some(IndicatorKind::Principal),
                principal: Some(principal),
                account: filled(account),
                session,
                ..CanonicalName::from_bare_name(name.unwrap_or(arn))
            });
        }
        ("s3", None) => (Bucket, resource),
        ("ec2", Some(("instance", id))) => (Instance, id),
        ("ec2", Some(("image", id))) | ("ecr", Some(("repository", id))) => (Image, id),
        ("lambda", Some(("function", name))) => (Function, name),
        ("rds", Some(("db" | "cluster", id)))
        | ("redshift", Some(("cluster", id)))
        | ("dynamodb", Some(("table", id))) => (Database, id),
        ("eks" | "ecs", Some(("cluster", name))) => (Cluster, name),
        ("ecs", Some(_)) => (Container, arn),
        _ => (Arn, arn),
    };
    // `function:name:version` and `table/name/index` name parts of a resource.
    let is_whole = name.contains(['/', ':']) && kind != Image;
    Some(CanonicalName {
        kind: Some(if is_whole && kind != Container {
            Arn
        } else {
            kind
        }),
        account: filled(account),
        region: filled(region),
        ..CanonicalName::from_bare_name(if is_whole { arn } else { name })
    })
}

type PrincipalParts<'a> = (PrincipalKind, Option<&'a str>, Option<String>);

/// Returns the principal in an ARN of IAM or STS: the kind, the name if there is one, and the session.
fn split_principal<'a>(
    resource: &'a str,
    split: Option<(&str, &'a str)>,
) -> Option<PrincipalParts<'a>> {
    let last = |path: &'a str| path.rsplit('/').next();
    Some(match split {
        None if resource == "root" => (PrincipalKind::Root, Some("root"), None),
        Some(("user", path)) => (PrincipalKind::User, last(path), None),
        Some(("role", path)) => (PrincipalKind::Role, last(path), None),
        Some(("assumed-role", path)) => {
            let (role, session) = path.split_once('/')?;
            if session.contains('/') {
                return None;
            }
            let session = session.to_ascii_lowercase();
            (PrincipalKind::Role, Some(role), Some(session))
        }
        Some(("federated-user", _)) => (PrincipalKind::Other, None, None),
        _ => return None,
    })
}

/// Parses a full resource name of Google Cloud, <https://cloud.google.com/asset-inventory/docs/resource-name-format>.
fn from_resource_name(name: &str) -> Option<CanonicalName> {
    use IndicatorKind::{Arn, Bucket, Cluster, Database, Function, Instance};
    let (service, path) = name.strip_prefix("//")?.split_once('/')?;
    let service = service.strip_suffix(".googleapis.com")?;
    let segments: Vec<&str> = path.split('/').collect();
    let (place, kind, last) = match (service, segments.as_slice()) {
        ("iam", ["projects", project, "serviceAccounts", address]) => {
            return Some(CanonicalName {
                kind: Some(IndicatorKind::Principal),
                account: (*project != "-").then(|| (*project).to_owned()),
                ..CanonicalName::from_bare_name(address)
            });
        }
        // Buckets belong to the placeholder project `_`.
        ("storage", [bucket] | ["projects", "_", "buckets", bucket]) => ("", Bucket, *bucket),
        ("storage", _) => ("", Arn, name),
        ("compute", [_, _, "zones", zone, "instances", id]) => (*zone, Instance, *id),
        ("container", [_, _, "zones" | "locations", place, "clusters", id]) => {
            (*place, Cluster, *id)
        }
        ("cloudsql" | "sqladmin", [_, _, "instances", id]) => ("", Database, *id),
        ("cloudfunctions", [_, _, "locations", place, "functions", id])
        | ("run", [_, _, "locations", place, "services", id]) => (*place, Function, *id),
        _ => ("", Arn, name),
    };
    let project = match segments.as_slice() {
        ["projects", project, ..] if *project != "_" => Some((*project).to_owned()),
        _ => None,
    };
    // `europe-west1-b` is a zone, `europe-west1` a region.
    let is_zone = place.rsplit('-').next().is_some_and(|end| end.len() == 1);
    let place = (!place.is_empty()).then(|| place.to_owned());
    Some(CanonicalName {
        kind: Some(kind),
        account: project,
        zone: place.clone().filter(|_| is_zone),
        region: place.filter(|_| !is_zone),
        ..CanonicalName::from_bare_name(last)
    })
}

/// Parses the address of a service account, which contains the project.
fn from_address(text: &str) -> Option<CanonicalName> {
    let (_, host) = text.split_once('@')?;
    let project = host.strip_suffix(".iam.gserviceaccount.com")?;
    Some(CanonicalName {
        kind: Some(IndicatorKind::Principal),
        account: Some(project.to_owned()),
        ..CanonicalName::from_bare_name(text)
    })
}

/// Parses a federated user of another account, who has no ARN: `111122223333:name`.
fn from_account_and_name(text: &str) -> Option<CanonicalName> {
    let (account, name) = text.split_once(':')?;
    (account.len() == 12 && is_number(account)).then(|| CanonicalName {
        kind: Some(IndicatorKind::Principal),
        principal: Some(PrincipalKind::Other),
        account: Some(account.to_owned()),
        ..CanonicalName::from_bare_name(name)
    })
}

/// Returns whether two accounts can be the same. The number and the id of a project cannot be compared here.
pub(crate) fn may_be_one_account(left: &str, right: &str) -> bool {
    left == right || is_number(left) != is_number(right)
}

/// Normalises an account for comparison: spreadsheets drop the leading zeros of an AWS account.
pub(crate) fn normalise_account(text: &str, is_google: bool) -> String {
    let is_short = is_number(text) && (9..12).contains(&text.len()) && !is_google;
    match is_short {
        true => format!("{text:0>12}"),
        false => text.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the text looks like an EC2 instance id: `i-0a1b2c3d4e5f60718`.
fn is_instance(text: &str) -> bool {
    text.strip_prefix("i-").is_some_and(|id| {
        matches!(id.len(), 8 | 17) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Returns whether the text is a host name with a suffix of the Public Suffix List. `maria.lopez` and `*.example.com`
/// are not.
fn is_domain(text: &str) -> bool {
    let Some(name) = Indicator::parse(IndicatorKind::Domain, text, IndicatorRole::Related) else {
        return false;
    };
    let suffix = psl::suffix(name.value.as_bytes());
    let reserved = [".example", ".test", ".internal", ".local", ".invalid"];
    !text.contains('*')
        && (suffix.is_some_and(|suffix| suffix.is_known())
            || reserved.iter().any(|end| name.value.ends_with(end)))
}

/// Returns whether the text looks like an AWS access key id and not like a name.
fn is_key(text: &str) -> bool {
    ["AKIA", "ASIA"].iter().any(|start| text.starts_with(start))
        && Indicator::parse(IndicatorKind::AccessKey, text, IndicatorRole::Related).is_some()
}

#[cfg(test)]
mod tests {
    use IndicatorKind::{
        AccessKey, Arn, Bucket, Cluster, Database, Domain, Email, Function, Instance, Principal,
    };

    use super::*;

    #[test]
    fn a_role_and_its_sessions_have_one_name() {
        for text in [
            "arn:aws:iam::444455556666:role/ci-deploy",
            "arn:aws-cn:iam::444455556666:role/teams/ci/ci-deploy",
            "arn:aws:sts::444455556666:assumed-role/ci-deploy/run-1",
        ] {
            let named = CanonicalName::from_entry(text);
            assert_eq!(named.text, "ci-deploy", "{text}");
            assert_eq!(named.principal, Some(PrincipalKind::Role), "{text}");
            assert_eq!(named.account.as_deref(), Some("444455556666"), "{text}");
        }
        let user = CanonicalName::from_entry("arn:aws:iam::444455556666:user/ops/Ana");
        let told = (user.text.as_str(), user.principal);
        assert_eq!(told, ("ana", Some(PrincipalKind::User)));
        let root = CanonicalName::from_entry("arn:aws:iam::444455556666:root");
        assert_eq!(root.principal, Some(PrincipalKind::Root));
    }

    #[test]
    fn a_form_tells_the_kind() {
        for (text, kind, name) in [
            ("i-0a1b2c3d4e5f60718", Some(Instance), "i-0a1b2c3d4e5f60718"),
            (
                "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1b2c3d4e5f60718",
                Some(Instance),
                "i-0a1b2c3d4e5f60718",
            ),
            ("arn:aws:s3:::ledger", Some(Bucket), "ledger"),
            ("arn:aws:s3:::ledger/x", Some(Arn), "arn:aws:s3:::ledger/x"),
            (
                "arn:aws:lambda:eu-west-1:4:function:pay",
                Some(Function),
                "pay",
            ),
            ("arn:aws:rds:eu-west-1:4:db:pay", Some(Database), "pay"),
            ("//storage.googleapis.com/ledger", Some(Bucket), "ledger"),
            (
                "//container.googleapis.com/projects/p/zones/z/clusters/c",
                Some(Cluster),
                "c",
            ),
            (
                "//container.googleapis.com/projects/p/zones/z/clusters/c/k8s/namespaces/n/pods/d",
                Some(Arn),
                "//container.googleapis.com/projects/p/zones/z/clusters/c/k8s/namespaces/n/pods/d",
            ),
            (
                "serviceAccount:ci@p.iam.gserviceaccount.com",
                Some(Principal),
                "ci@p.iam.gserviceaccount.com",
            ),
            ("user:ana@shop.example", Some(Email), "ana@shop.example"),
            ("bücher.example", Some(Domain), "xn--bcher-kva.example"),
            ("scan.example.com", Some(Domain), "scan.example.com"),
            (
                "AKIAEXAMPLE000000001",
                Some(AccessKey),
                "akiaexample000000001",
            ),
            ("maria.lopez", None, "maria.lopez"),
            (
                "system:serviceaccount:pay:web",
                None,
                "system:serviceaccount:pay:web",
            ),
            ("payments-ledger", None, "payments-ledger"),
        ] {
            let named = CanonicalName::from_entry(text);
            assert_eq!((named.kind, named.text.as_str()), (kind, name), "{text}");
        }
    }

    #[test]
    fn places_are_read_from_full_names() {
        let named = CanonicalName::from_entry(
            "//compute.googleapis.com/projects/shop/zones/europe-west1-b/instances/web-1",
        );
        assert_eq!(named.account.as_deref(), Some("shop"));
        assert_eq!(named.zone.as_deref(), Some("europe-west1-b"));
        assert_eq!(named.region, None);
        let named = CanonicalName::from_entry("arn:aws:lambda:eu-west-1:444455556666:function:pay");
        assert_eq!(named.region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn an_account_that_lost_its_zeros_gets_them_back() {
        assert_eq!(normalise_account("11122223333", false), "011122223333");
        assert_eq!(normalise_account("11122223333", true), "11122223333");
        assert_eq!(normalise_account("shop-1", false), "shop-1");
        assert!(may_be_one_account("shop-1", "11122223333"));
        assert!(!may_be_one_account("shop-1", "shop-2"));
        assert!(!may_be_one_account("111122223333", "444455556666"));
    }
}
