//! Derives GuardDuty's finding types from their names in ASFF.
//!
//! The names and their meanings are in <https://docs.aws.amazon.com/guardduty/latest/ug/securityhub-integration.html>.

/// Types whose ASFF names lack a part.
const RENAMED: [(&str, &str); 3] = [
    (
        "EC2:Unusual-DNS-Resolver",
        "DefenseEvasion:EC2/UnusualDNSResolver",
    ),
    (
        "EC2:Unusual-DoH-Activity",
        "DefenseEvasion:EC2/UnusualDoHActivity",
    ),
    (
        "EC2:Unusual-DoT-Activity",
        "DefenseEvasion:EC2/UnusualDoTActivity",
    ),
];

/// Returns GuardDuty's type: `TTPs/Discovery/IAMUser-AnomalousBehavior` is `Discovery:IAMUser/AnomalousBehavior`. A
/// type of GuardDuty is returned unchanged.
///
/// The type begins at the segment with `:`; most names have `-` for its `/`. Without a `:`, the last segment is the
/// rest of the type and the segment before it the purpose.
pub(in crate::feed) fn native_type(name: &str) -> String {
    let before = name.split_once(':').map_or(name, |(before, _)| before);
    let head = before.rsplit_once('/').map_or("", |(head, _)| head);
    let own = name.strip_prefix(head).unwrap_or(name);
    let own = own.trim_start_matches('/');
    let category = head.rsplit('/').next().unwrap_or_default();
    if let Some((_, native)) = RENAMED.iter().find(|(name, _)| *name == own) {
        return (*native).to_owned();
    }
    let typed = if own.contains(':') || category.is_empty() {
        own.to_owned()
    } else {
        format!("{}:{own}", category.replace(' ', ""))
    };
    match typed.split_once('-') {
        // After the `/` a `-` belongs to the name.
        Some((front, rest)) if front.contains(':') && !front.contains('/') => {
            let family = match category {
                "AnomalousBehavior" => "AnomalousBehavior.",
                _ => "",
            };
            format!("{front}/{family}{rest}")
        }
        _ => typed,
    }
}

#[cfg(test)]
mod tests {
    use super::native_type;

    /// ASFF types and the corresponding GuardDuty types.
    const TYPES: &[(&str, &str)] = &[
        (
            "TTPs/AttackSequence:IAM/CompromisedCredentials",
            "AttackSequence:IAM/CompromisedCredentials",
        ),
        (
            "TTPs/AttackSequence:EKS/CompromisedCluster",
            "AttackSequence:EKS/CompromisedCluster",
        ),
        (
            "TTPs/PenTest:IAMUser/KaliLinux",
            "PenTest:IAMUser/KaliLinux",
        ),
        ("TTPs/PenTest:S3-KaliLinux", "PenTest:S3/KaliLinux"),
        (
            "TTPs/AnomalousBehavior/CredentialAccess:Kubernetes-SecretsAccessed",
            "CredentialAccess:Kubernetes/AnomalousBehavior.SecretsAccessed",
        ),
        (
            "TTPs/AnomalousBehavior/Persistence:Kubernetes-WorkloadDeployed!ContainerWithSensitiveMount",
            "Persistence:Kubernetes/AnomalousBehavior.WorkloadDeployed!ContainerWithSensitiveMount",
        ),
        (
            "TTPs/DefenseEvasion/EC2:Unusual-DNS-Resolver",
            "DefenseEvasion:EC2/UnusualDNSResolver",
        ),
        (
            "TTPs/DefenseEvasion/EC2:Unusual-DoH-Activity",
            "DefenseEvasion:EC2/UnusualDoHActivity",
        ),
        (
            "TTPs/DefenseEvasion/EC2:Unusual-DoT-Activity",
            "DefenseEvasion:EC2/UnusualDoTActivity",
        ),
        (
            "TTPs/Command and Control/Backdoor:EC2-C&CActivity.B!DNS",
            "Backdoor:EC2/C&CActivity.B!DNS",
        ),
        (
            "TTPs/Credential Access/CredentialAccess:RDS-AnomalousBehavior.FailedLogin",
            "CredentialAccess:RDS/AnomalousBehavior.FailedLogin",
        ),
        (
            "TTPs/Privilege Escalation/IAMUser-AnomalousBehavior",
            "PrivilegeEscalation:IAMUser/AnomalousBehavior",
        ),
        (
            "TTPs/Discovery/RDS-TorIPCaller",
            "Discovery:RDS/TorIPCaller",
        ),
        (
            "Discovery:IAMUser/AnomalousBehavior",
            "Discovery:IAMUser/AnomalousBehavior",
        ),
        (
            "Trojan:EC2/Domain-Name.B/Odd",
            "Trojan:EC2/Domain-Name.B/Odd",
        ),
        ("No-Type", "No-Type"),
        ("", ""),
    ];

    #[test]
    fn names_in_asff_are_the_types_of_guardduty_s_own_table() {
        for (asff, guardduty) in TYPES {
            assert_eq!(native_type(asff), *guardduty, "{asff}");
        }
    }
}
