//! Lists naming schemes of finding types. They distinguish a glob that matches every type of a product from one that
//! selects some types.

use nightshift_engine::exoneration::type_matches;

/// Unlike names per naming scheme. A glob that matches a whole row matches nearly everything with that scheme.
const SCHEMES: [&[&str]; 5] = [
    // GuardDuty: https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-active.html
    &[
        "Recon:EC2/Portscan",
        "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.OutsideAWS",
        "Policy:S3/AccountBlockPublicAccessDisabled",
        "CryptoCurrency:EC2/BitcoinTool.B!DNS",
        "Execution:Runtime/NewBinaryExecuted",
        "AttackSequence:EKS/CompromisedCluster",
    ],
    // Threats of Security Command Center: https://cloud.google.com/security-command-center/docs/concepts-event-threat-detection-overview
    &[
        "Malware: Cryptomining Bad Domain",
        "Privilege Escalation: Anomalous Impersonation of Service Account for Admin Activity",
        "Exfiltration: BigQuery Data Exfiltration",
        "Added Binary Executed",
        "Initial Access: Log4j Compromise Attempt",
    ],
    // Misconfigurations of Security Command Center.
    &["PUBLIC_BUCKET_ACL", "OPEN_SSH_PORT", "MFA_NOT_ENFORCED"],
    // Controls of Security Hub.
    &["S3.8", "IAM.1", "CloudTrail.5", "EC2.19"],
    // Words of other products.
    &["x", "Beaconing", "impossible-travel", "malware"],
];

/// Returns whether a glob matches all names of at least one product.
pub(crate) fn matches_whole_scheme(glob: &str) -> bool {
    SCHEMES.into_iter().any(|names| matches_all(glob, names))
}

/// Returns whether a glob matches all names of all products.
pub(crate) fn matches_every_scheme(glob: &str) -> bool {
    SCHEMES.into_iter().all(|names| matches_all(glob, names))
}

fn matches_all(glob: &str, names: &[&str]) -> bool {
    names.iter().all(|name| type_matches(glob, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x16_glob_that_fits_a_whole_scheme_is_found_however_spelt() {
        for glob in [
            "*", "**", "?*", "*?", "{a,*}", "{,?}*", "[a-z]*", "*:*", "*/*", "* *", "[!x]*",
            "[!x]*:*", "*.*", "*_*", "?*:?*/?*",
        ] {
            assert!(matches_whole_scheme(glob), "{glob}");
        }
        for glob in ["*", "**", "?*", "*?", "{a,*}"] {
            assert!(matches_every_scheme(glob), "{glob}");
        }
        assert!(!matches_every_scheme("*:*"));
    }

    #[test]
    fn glob_that_means_some_types_fits_no_whole_scheme() {
        for glob in [
            "",
            "Recon:EC2/Port*",
            "*:EC2/*",
            "*:S3/*",
            "Discovery:*",
            "*!DNS",
            "*Exfiltration*",
            "Malware: *",
            "PUBLIC_*",
            "S3.*",
            "*.1",
            "{Recon,Discovery}:*",
            "malware",
        ] {
            assert!(!matches_whole_scheme(glob), "{glob}");
        }
    }
}
