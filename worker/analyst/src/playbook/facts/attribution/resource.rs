//! Decides whether a call was made on the resource that a record is about.
//!
//! The resource that a log names depends on the call: a user, a secret, a function, an object. The caller chooses those
//! names, so a resource is identified by its kind and its service, never by a name alone.

use nightshift_alert::IndicatorKind;

/// The names that a service gives to resources of one kind.
struct Naming {
    /// AWS services, without their domain, that log these resources by bare name.
    aws: &'static [&'static str],
    /// Google Cloud services that log these resources by bare name.
    google: &'static [&'static str],
    /// The collections that precede the name in an ARN or a path.
    collections: &'static [&'static str],
}

/// Returns how resources of this kind are named, or `None` when no call names such a resource.
fn naming(kind: IndicatorKind) -> Option<Naming> {
    let (aws, google, collections): (&[_], &[_], &[_]) = match kind {
        IndicatorKind::Instance => (
            &[
                "ec2",
                "ec2-instance-connect",
                "ssm",
                "autoscaling",
                "elasticloadbalancing",
            ],
            &["compute.googleapis.com"],
            &["instance", "instances"],
        ),
        IndicatorKind::Cluster => (
            &["eks", "ecs"],
            &["container.googleapis.com"],
            &["cluster", "clusters"],
        ),
        IndicatorKind::Function => (
            &["lambda"],
            &["cloudfunctions.googleapis.com", "run.googleapis.com"],
            &["function", "functions", "services", "jobs"],
        ),
        IndicatorKind::Database => (
            &["rds"],
            &[
                "cloudsql.googleapis.com",
                "spanner.googleapis.com",
                "alloydb.googleapis.com",
                "bigquery.googleapis.com",
            ],
            &[
                "db",
                "cluster",
                "clusters",
                "instances",
                "datasets",
                "tables",
            ],
        ),
        _ => return None,
    };
    Some(Naming {
        aws,
        google,
        collections,
    })
}

/// Returns whether the resource of a call to this service is the record's subject. Resources of other accounts can
/// have the same name.
pub(super) fn is_subject(
    resource: &str,
    service: Option<&str>,
    (kind, subject): (IndicatorKind, &str),
    account: Option<&str>,
) -> bool {
    match kind {
        IndicatorKind::Arn => resource == subject,
        IndicatorKind::Bucket => bucket(resource, service) == Some(subject),
        _ => naming(kind).is_some_and(|naming| naming.names(resource, service, subject, account)),
    }
}

impl Naming {
    fn names(
        &self,
        resource: &str,
        service: Option<&str>,
        subject: &str,
        account: Option<&str>,
    ) -> bool {
        let is_tail = |tail: &str, between: &[char]| {
            tail.strip_suffix(subject)
                .and_then(|before| before.strip_suffix(between))
                .is_some_and(|collection| self.collections.contains(&collection))
        };
        if let Some([of, _, owner, tail]) = arn(resource) {
            return self.aws.contains(&of)
                && account.is_none_or(|ours| ours == owner)
                && is_tail(tail, &['/', ':']);
        }
        let Some(service) = service else { return false };
        if self.google.contains(&service) {
            let mut parts = resource.rsplitn(3, '/');
            let name = parts.next();
            let collection = parts.next();
            return name == Some(subject)
                && collection.is_some_and(|it| self.collections.contains(&it));
        }
        let bare = service.strip_suffix(".amazonaws.com");
        bare.is_some_and(|service| self.aws.contains(&service)) && resource == subject
    }
}

/// Returns the bucket of a call on a bucket or on an object in it.
fn bucket<'a>(resource: &'a str, service: Option<&str>) -> Option<&'a str> {
    let path = match arn(resource) {
        Some(["s3", "", "", path]) => path,
        Some(_) => return None,
        None => match service? {
            "s3.amazonaws.com" => return Some(resource),
            "storage.googleapis.com" => resource.strip_prefix("projects/_/buckets/")?,
            _ => return None,
        },
    };
    path.split('/').next()
}

/// Returns service, region, account and resource of an ARN.
fn arn(text: &str) -> Option<[&str; 4]> {
    let mut parts = text.splitn(6, ':');
    let is_arn = parts.next()? == "arn";
    let (_partition, service) = (parts.next()?, parts.next()?);
    let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
    is_arn.then_some([service, region, account, resource])
}

#[cfg(test)]
mod tests {
    use IndicatorKind as K;

    use super::*;

    fn about(kind: K, subject: &str, service: &str, resource: &str) -> bool {
        let account = Some("444455556666");
        is_subject(resource, Some(service), (kind, subject), account)
    }

    #[test]
    fn a_thing_is_known_by_its_kind_and_service() {
        for (kind, subject, service, resource) in [
            (K::Bucket, "claims", "s3.amazonaws.com", "claims"),
            (
                K::Bucket,
                "claims",
                "s3.amazonaws.com",
                "arn:aws:s3:::claims",
            ),
            (
                K::Bucket,
                "claims",
                "s3.amazonaws.com",
                "arn:aws:s3:::claims/a/b",
            ),
            (
                K::Bucket,
                "claims",
                "storage.googleapis.com",
                "projects/_/buckets/claims/objects/a",
            ),
            (K::Instance, "i-1", "ssm.amazonaws.com", "i-1"),
            (
                K::Instance,
                "i-1",
                "ec2.amazonaws.com",
                "arn:aws:ec2:eu-west-1:444455556666:instance/i-1",
            ),
            (
                K::Instance,
                "web",
                "compute.googleapis.com",
                "projects/p/zones/z/instances/web",
            ),
            (K::Cluster, "shop", "eks.amazonaws.com", "shop"),
            (
                K::Function,
                "fn",
                "lambda.amazonaws.com",
                "arn:aws:lambda:eu-west-1:444455556666:function:fn",
            ),
            (
                K::Database,
                "db-1",
                "rds.amazonaws.com",
                "arn:aws:rds:eu-west-1:444455556666:db:db-1",
            ),
            (
                K::Arn,
                "arn:aws:iam::444455556666:role/ci",
                "iam.amazonaws.com",
                "arn:aws:iam::444455556666:role/ci",
            ),
        ] {
            assert!(about(kind, subject, service, resource), "{resource}");
        }
    }

    #[test]
    fn a_name_that_somebody_chose_like_it_is_another_thing() {
        for (kind, subject, service, resource) in [
            (K::Bucket, "claims", "iam.amazonaws.com", "claims"),
            (
                K::Bucket,
                "claims",
                "s3.amazonaws.com",
                "arn:aws:s3:::other/claims",
            ),
            (
                K::Bucket,
                "claims",
                "s3.amazonaws.com",
                "arn:aws:s3:eu-west-1:444455556666:accesspoint/claims",
            ),
            (
                K::Bucket,
                "claims",
                "iam.amazonaws.com",
                "arn:aws:iam::444455556666:role/claims/x",
            ),
            (
                K::Bucket,
                "claims",
                "storage.googleapis.com",
                "projects/_/buckets/other/objects/claims",
            ),
            (K::Instance, "i-1", "secretsmanager.amazonaws.com", "i-1"),
            (
                K::Instance,
                "i-1",
                "iam.amazonaws.com",
                "arn:aws:iam::444455556666:user/instance/i-1",
            ),
            (
                K::Instance,
                "i-1",
                "ec2.amazonaws.com",
                "arn:aws:ec2:eu-west-1:999900001111:instance/i-1",
            ),
            (
                K::Instance,
                "web",
                "cloudsql.googleapis.com",
                "projects/p/instances/web",
            ),
            (K::Cluster, "shop", "cognito-idp.amazonaws.com", "shop"),
            (K::Function, "fn", "secretsmanager.amazonaws.com", "fn"),
            (K::Process, "claims", "iam.amazonaws.com", "claims"),
        ] {
            assert!(!about(kind, subject, service, resource), "{resource}");
        }
    }
}
