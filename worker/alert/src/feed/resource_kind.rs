//! Determines indicator kinds of resources, by the type names of clouds and products.

use crate::IndicatorKind::{self, Bucket, Cluster, Container, Database, Function, Image};
use crate::IndicatorKind::{Instance, Principal};

/// Parts of types. Specific names precede common words, because the first match counts.
const KINDS: [(&str, Option<IndicatorKind>); 37] = [
    ("snapshot", None),
    ("backup", None),
    ("instanceprofile", None),
    ("replicationinstance", None),
    ("notebookinstance", None),
    ("stepfunction", None),
    ("taskdefinition", None),
    ("containerregistry", None),
    ("roleassignment", None),
    ("rolebinding", None),
    ("roledefinition", None),
    ("userpool", None),
    ("mskcluster", None),
    ("emrcluster", None),
    ("cachecluster", None),
    ("containerimage", Some(Image)),
    ("machineimage", Some(Image)),
    ("dbinstance", Some(Database)),
    ("dbcluster", Some(Database)),
    ("dynamodbtable", Some(Database)),
    ("redshiftcluster", Some(Database)),
    ("sqladmin", Some(Database)),
    ("sqlserver", Some(Database)),
    ("cloudsql", Some(Database)),
    ("spanner", Some(Database)),
    ("alloydb", Some(Database)),
    ("database", Some(Database)),
    ("storageaccount", Some(Bucket)),
    ("bucket", Some(Bucket)),
    ("virtualmachine", Some(Instance)),
    ("instance", Some(Instance)),
    ("cluster", Some(Cluster)),
    ("ecstask", Some(Container)),
    ("container", Some(Container)),
    ("function", Some(Function)),
    ("user", Some(Principal)),
    ("role", Some(Principal)),
];

/// Returns the indicator kind of resources with this type: `AwsEc2Instance`, `AWS::S3::Bucket`, `Virtual Machine`.
pub(super) fn resource_kind(word: &str) -> Option<IndicatorKind> {
    let word: String = word
        .chars()
        .take(128)
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    if word.ends_with("serviceaccount") {
        return Some(Principal);
    }
    let mut kinds = KINDS.iter();
    kinds.find(|(part, _)| word.contains(part))?.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_clouds_are_told_apart() {
        for (word, kind) in [
            ("AwsEc2Instance", Some(Instance)),
            ("AWS::EC2::Instance", Some(Instance)),
            ("AzureVirtualMachine", Some(Instance)),
            ("virtual machine", Some(Instance)),
            ("GcpComputeInstance", Some(Instance)),
            ("AwsS3Bucket", Some(Bucket)),
            ("Storage Account", Some(Bucket)),
            ("AwsRdsDbInstance", Some(Database)),
            ("AwsRdsDbClusterSnapshot", None),
            ("AwsEksCluster", Some(Cluster)),
            ("AwsMskCluster", None),
            ("AwsEcrContainerImage", Some(Image)),
            ("AwsEcsTask", Some(Container)),
            ("AwsEcsTaskDefinition", None),
            ("AwsLambdaFunction", Some(Function)),
            ("AwsStepFunctionStateMachine", None),
            ("AwsIamUser", Some(Principal)),
            ("google.iam.ServiceAccount", Some(Principal)),
            ("AwsAccount", None),
            ("AwsS3AccountPublicAccessBlock", None),
            ("AwsSqsQueue", None),
            ("Other", None),
        ] {
            assert_eq!(resource_kind(word), kind, "{word}");
        }
    }
}
