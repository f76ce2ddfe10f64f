//! Google's full resource names: `//compute.googleapis.com/projects/p/zones/z/instances/i`.
//!
//! <https://cloud.google.com/asset-inventory/docs/asset-names>

use crate::IndicatorKind;

/// The parts of a full resource name that we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResourceName<'a> {
    /// Project id, or number where the name has that.
    pub(super) project: Option<&'a str>,
    /// Zone, region or location.
    pub(super) place: Option<&'a str>,
    /// The last collection: `instances`, `clusters`, …
    pub(super) kind: &'a str,
    /// The last segment.
    pub(super) name: Option<&'a str>,
    /// What kind of indicator the name is.
    pub(super) indicator: Option<IndicatorKind>,
}

impl<'a> ResourceName<'a> {
    pub(super) fn parse(full: &'a str) -> Self {
        let path = full.trim_start_matches("//");
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
        Self {
            project: after(&["projects"]),
            place: after(&["zones", "regions", "locations"]).filter(|place| *place != "global"),
            kind,
            name,
            indicator: indicator(service, kind),
        }
    }
}

fn indicator(service: &str, kind: &str) -> Option<IndicatorKind> {
    Some(match (service.split('.').next()?, kind) {
        ("compute", "instances") => IndicatorKind::Instance,
        ("compute", "images") => IndicatorKind::Image,
        ("storage", _) => IndicatorKind::Bucket,
        ("container" | "gkehub" | "dataproc", "clusters") => IndicatorKind::Cluster,
        ("cloudsql" | "sqladmin" | "spanner", "instances") => IndicatorKind::Database,
        ("bigquery", "datasets" | "tables") => IndicatorKind::Database,
        ("alloydb", "clusters" | "instances") => IndicatorKind::Database,
        ("cloudfunctions", "functions") | ("run", "services" | "jobs") => IndicatorKind::Function,
        ("iam", "serviceAccounts" | "roles") => IndicatorKind::Principal,
        (_, "pods") => IndicatorKind::Container,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_project_place_and_kind() {
        let parse = |full| {
            let name = ResourceName::parse(full);
            (name.project, name.place, name.name, name.indicator)
        };
        assert_eq!(
            parse("//compute.googleapis.com/projects/p1/zones/us-central1-a/instances/web"),
            (
                Some("p1"),
                Some("us-central1-a"),
                Some("web"),
                Some(IndicatorKind::Instance)
            )
        );
        assert_eq!(
            parse("//storage.googleapis.com/my-bucket"),
            (None, None, Some("my-bucket"), Some(IndicatorKind::Bucket))
        );
        assert_eq!(
            parse("//container.googleapis.com/projects/p/locations/eu/clusters/c"),
            (
                Some("p"),
                Some("eu"),
                Some("c"),
                Some(IndicatorKind::Cluster)
            )
        );
        assert_eq!(
            parse("//cloudresourcemanager.googleapis.com/organizations/1"),
            (None, None, Some("1"), None)
        );
        assert_eq!(parse(""), (None, None, None, None));
    }
}
