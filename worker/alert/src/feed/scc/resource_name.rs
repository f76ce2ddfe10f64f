//! Parses full resource names: `//compute.googleapis.com/projects/p/zones/z/instances/i`, and the names of AWS and
//! Azure resources.
//!
//! <https://cloud.google.com/asset-inventory/docs/asset-names>

use super::super::Draft;
use crate::{CloudProvider, IndicatorKind, IndicatorRole};

/// The parts of a full resource name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResourceName<'a> {
    /// The name as the resource's own cloud writes it.
    pub(super) id: &'a str,
    /// The resource's cloud.
    pub(super) provider: CloudProvider,
    /// Project id or number; AWS account id; Azure subscription id.
    pub(super) account: Option<&'a str>,
    /// Number of the organisation or folder of a resource outside of projects.
    pub(super) parent: Option<&'a str>,
    /// Zone, region or location.
    pub(super) place: Option<&'a str>,
    /// The last collection: `instances`, `clusters`, …
    pub(super) kind: &'a str,
    /// The last segment.
    pub(super) name: Option<&'a str>,
    /// The indicator kind of the name.
    pub(super) indicator: Option<IndicatorKind>,
}

impl<'a> ResourceName<'a> {
    pub(super) fn parse(full: &'a str) -> Self {
        let host = full
            .strip_prefix("//")
            .and_then(|name| name.split_once('/'));
        // The host of another cloud precedes that cloud's own name.
        let id = match host {
            Some((host, _)) if host.ends_with(".googleapis.com") => full,
            Some((host, _)) => full.get(host.len() + 2..).unwrap_or(full),
            None => full,
        };
        let arn = id.trim_start_matches('/');
        if let Some(parsed) = Some(arn)
            .filter(|arn| arn.starts_with("arn:"))
            .and_then(Self::parse_arn)
        {
            return parsed;
        }
        if id.starts_with("/subscriptions/") {
            return Self::parse_path(id, CloudProvider::Azure);
        }
        Self::parse_path(full, CloudProvider::Gcp)
    }

    /// Parses an ARN such as `arn:aws:ec2:eu-west-1:444455556666:instance/i-1`.
    fn parse_arn(arn: &'a str) -> Option<Self> {
        let mut parts = arn.splitn(6, ':').skip(2);
        let (service, region, account) = (parts.next()?, parts.next()?, parts.next()?);
        let rest = parts.next()?;
        let (kind, name) = match rest.split_once(['/', ':']) {
            Some((bucket, _)) if service == "s3" => ("bucket", bucket),
            Some((kind, name)) => (kind, name.rsplit('/').next().unwrap_or(name)),
            None => (if service == "s3" { "bucket" } else { service }, rest),
        };
        let told = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Some(Self {
            id: arn,
            provider: CloudProvider::Aws,
            account: told(account),
            parent: None,
            place: told(region),
            kind,
            name: told(name),
            indicator: indicator(AWS, service, kind),
        })
    }

    fn parse_path(id: &'a str, provider: CloudProvider) -> Self {
        let path = id.trim_start_matches('/');
        let segments: Vec<&str> = path.split('/').collect();
        let after = |wanted: &[&str]| {
            segments
                .windows(2)
                .find(|pair| pair.first().is_some_and(|key| wanted.contains(key)))
                .and_then(|pair| pair.last().copied())
                .filter(|value| !matches!(*value, "" | "_" | "-"))
        };
        let service = segments.first().copied().unwrap_or_default();
        let name = segments.last().copied().filter(|_| segments.len() > 1);
        let kind = match segments.len() {
            0 | 1 => "resource",
            2 if service.starts_with("storage.") => "buckets",
            length => segments.get(length - 2).copied().unwrap_or("resource"),
        };
        let is_azure = provider == CloudProvider::Azure;
        let service = match after(&["providers"]).filter(|_| is_azure) {
            Some(provider) => provider,
            None => service.split('.').next().unwrap_or(service),
        };
        Self {
            id,
            provider,
            account: after(&["projects", "subscriptions"]),
            parent: after(&["organizations", "folders"]),
            place: after(&["zones", "regions", "locations"]).filter(|place| *place != "global"),
            kind,
            name,
            indicator: indicator(if is_azure { AZURE } else { GOOGLE }, service, kind),
        }
    }

    /// Adds the resource and its name, where they are indicators, with this role. Returns whether one was added.
    pub(super) fn add(&self, draft: &mut Draft, role: IndicatorRole) -> bool {
        let arn = draft.add_text(IndicatorKind::Arn, role, self.id);
        let name = self
            .indicator
            .zip(self.name)
            .and_then(|(kind, name)| draft.add_text(kind, role, name));
        arn.is_some() || name.is_some()
    }
}

/// Service, collection and indicator kind; `*` matches any collection.
type KindTable = &'static [(&'static str, &'static str, IndicatorKind)];

const GOOGLE: KindTable = &[
    ("compute", "instances", IndicatorKind::Instance),
    ("compute", "images", IndicatorKind::Image),
    ("storage", "*", IndicatorKind::Bucket),
    ("container", "clusters", IndicatorKind::Cluster),
    ("gkehub", "clusters", IndicatorKind::Cluster),
    ("dataproc", "clusters", IndicatorKind::Cluster),
    ("cloudsql", "instances", IndicatorKind::Database),
    ("sqladmin", "instances", IndicatorKind::Database),
    ("spanner", "instances", IndicatorKind::Database),
    ("bigquery", "datasets", IndicatorKind::Database),
    ("bigquery", "tables", IndicatorKind::Database),
    ("alloydb", "clusters", IndicatorKind::Database),
    ("alloydb", "instances", IndicatorKind::Database),
    ("cloudfunctions", "functions", IndicatorKind::Function),
    ("run", "services", IndicatorKind::Function),
    ("run", "jobs", IndicatorKind::Function),
    ("iam", "serviceAccounts", IndicatorKind::Principal),
    ("iam", "roles", IndicatorKind::Principal),
    ("cloudidentity", "groups", IndicatorKind::Principal),
];

/// <https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html>
const AWS: KindTable = &[
    ("ec2", "instance", IndicatorKind::Instance),
    ("ec2", "image", IndicatorKind::Image),
    ("s3", "bucket", IndicatorKind::Bucket),
    ("eks", "cluster", IndicatorKind::Cluster),
    ("ecs", "cluster", IndicatorKind::Cluster),
    ("ecs", "task", IndicatorKind::Container),
    ("rds", "db", IndicatorKind::Database),
    ("rds", "cluster", IndicatorKind::Database),
    ("dynamodb", "table", IndicatorKind::Database),
    ("lambda", "function", IndicatorKind::Function),
    ("iam", "user", IndicatorKind::Principal),
    ("iam", "role", IndicatorKind::Principal),
];

/// <https://learn.microsoft.com/azure/azure-resource-manager/management/resource-providers-and-types>
const AZURE: KindTable = &[
    (
        "Microsoft.Compute",
        "virtualMachines",
        IndicatorKind::Instance,
    ),
    (
        "Microsoft.Compute",
        "virtualMachineScaleSets",
        IndicatorKind::Instance,
    ),
    ("Microsoft.Compute", "images", IndicatorKind::Image),
    (
        "Microsoft.Storage",
        "storageAccounts",
        IndicatorKind::Bucket,
    ),
    ("Microsoft.Storage", "containers", IndicatorKind::Bucket),
    (
        "Microsoft.ContainerService",
        "managedClusters",
        IndicatorKind::Cluster,
    ),
    ("Microsoft.Sql", "*", IndicatorKind::Database),
    ("Microsoft.DocumentDB", "*", IndicatorKind::Database),
    ("Microsoft.DBforPostgreSQL", "*", IndicatorKind::Database),
    ("Microsoft.DBforMySQL", "*", IndicatorKind::Database),
    ("Microsoft.Web", "sites", IndicatorKind::Function),
    (
        "Microsoft.ManagedIdentity",
        "userAssignedIdentities",
        IndicatorKind::Principal,
    ),
];

fn indicator(kinds: KindTable, service: &str, kind: &str) -> Option<IndicatorKind> {
    // Pods are nested under the resource that serves their cluster.
    if kind == "pods" {
        return Some(IndicatorKind::Container);
    }
    kinds
        .iter()
        .find(|(known, collection, _)| {
            known.eq_ignore_ascii_case(service)
                && (*collection == "*" || collection.eq_ignore_ascii_case(kind))
        })
        .map(|(_, _, indicator)| *indicator)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns account, location, indicator kind and name as text.
    fn parts(full: &str) -> String {
        let parsed = ResourceName::parse(full);
        let kind = parsed.indicator.map(IndicatorKind::as_str);
        [parsed.account, parsed.place, kind, parsed.name]
            .map(|part| part.unwrap_or("-"))
            .join(" ")
    }

    #[test]
    fn names_of_google_tell_account_place_and_kind() {
        for (full, told) in [
            (
                "//compute.googleapis.com/projects/p1/zones/us-central1-a/instances/web",
                "p1 us-central1-a instance web",
            ),
            ("//storage.googleapis.com/my-bucket", "- - bucket my-bucket"),
            (
                "//container.googleapis.com/projects/p/locations/eu/clusters/c",
                "p eu cluster c",
            ),
            (
                "//cloudresourcemanager.googleapis.com/organizations/1",
                "- - - 1",
            ),
            (
                "//cloudidentity.googleapis.com/groups/admins@example.com",
                "- - principal admins@example.com",
            ),
            ("", "- - - -"),
            // The creator of the resource chooses the end of these names.
            (
                "//pubsub.googleapis.com/projects/p/subscriptions/s",
                "p - - s",
            ),
            (
                "//storage.googleapis.com/arn:aws:iam::444455556666:user",
                "- - bucket arn:aws:iam::444455556666:user",
            ),
        ] {
            assert_eq!(parts(full), told, "{full}");
        }
    }

    #[test]
    fn names_of_other_clouds_tell_account_place_and_kind() {
        for (full, told) in [
            (
                "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1",
                "444455556666 eu-west-1 instance i-0a1",
            ),
            (
                "//s3.amazonaws.com/arn:aws:s3:::payroll/2026/a.csv",
                "- - bucket payroll",
            ),
            (
                "arn:aws:iam::444455556666:role/service/deploy",
                "444455556666 - principal deploy",
            ),
            (
                "//storage.azure.com/subscriptions/1-2/resourcegroups/rg/providers/microsoft.storage/storageaccounts/logs",
                "1-2 - bucket logs",
            ),
        ] {
            assert_eq!(parts(full), told, "{full}");
        }
    }
}
