//! SCC's names of ATT&CK techniques, with their ids.
//!
//! Names: <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.findings#technique>;
//! ids: <https://attack.mitre.org/techniques/enterprise/>.

use crate::Technique;

const TECHNIQUES: &[(&str, &str)] = &[
    ("ABUSE_ELEVATION_CONTROL_MECHANISM", "T1548"),
    ("ACCESS_TOKEN_MANIPULATION", "T1134"),
    ("ACCOUNT_ACCESS_REMOVAL", "T1531"),
    ("ACCOUNT_MANIPULATION", "T1098"),
    ("ACTIVE_SCANNING", "T1595"),
    ("ADDITIONAL_CLOUD_CREDENTIALS", "T1098.001"),
    ("ADDITIONAL_CLOUD_ROLES", "T1098.003"),
    ("APPLICATION_LAYER_PROTOCOL", "T1071"),
    ("AUTOMATED_EXFILTRATION", "T1020"),
    ("BRUTE_FORCE", "T1110"),
    ("CLOUD_ACCOUNTS", "T1078.004"),
    ("CLOUD_GROUPS", "T1069.003"),
    ("COMMAND_AND_SCRIPTING_INTERPRETER", "T1059"),
    ("CONTAINER_ADMINISTRATION_COMMAND", "T1609"),
    ("CREATE_OR_MODIFY_SYSTEM_PROCESS", "T1543"),
    ("CREDENTIALS_FROM_PASSWORD_STORES", "T1555"),
    ("DATA_DESTRUCTION", "T1485"),
    ("DATA_ENCRYPTED_FOR_IMPACT", "T1486"),
    ("DATA_FROM_CLOUD_STORAGE", "T1530"),
    ("DEFAULT_ACCOUNTS", "T1078.001"),
    ("DEPLOY_CONTAINER", "T1610"),
    ("DNS", "T1071.004"),
    ("DOMAIN_POLICY_MODIFICATION", "T1484"),
    ("DYNAMIC_RESOLUTION", "T1568"),
    ("ESCAPE_TO_HOST", "T1611"),
    ("EXFILTRATION_OVER_WEB_SERVICE", "T1567"),
    ("EXFILTRATION_TO_CLOUD_STORAGE", "T1567.002"),
    ("EXPLOITATION_FOR_PRIVILEGE_ESCALATION", "T1068"),
    ("EXPLOIT_PUBLIC_FACING_APPLICATION", "T1190"),
    ("EXTERNAL_PROXY", "T1090.002"),
    ("FILE_AND_DIRECTORY_DISCOVERY", "T1083"),
    ("IMPAIR_DEFENSES", "T1562"),
    ("INDICATOR_REMOVAL", "T1070"),
    ("INGRESS_TOOL_TRANSFER", "T1105"),
    ("INHIBIT_SYSTEM_RECOVERY", "T1490"),
    ("LOCAL_ACCOUNTS", "T1078.003"),
    ("MASQUERADING", "T1036"),
    ("MODIFY_AUTHENTICATION_PROCESS", "T1556"),
    ("MODIFY_CLOUD_COMPUTE_INFRASTRUCTURE", "T1578"),
    ("MULTI_HOP_PROXY", "T1090.003"),
    ("NATIVE_API", "T1106"),
    ("NETWORK_DENIAL_OF_SERVICE", "T1498"),
    ("NETWORK_SERVICE_DISCOVERY", "T1046"),
    ("OBFUSCATED_FILES_OR_INFO", "T1027"),
    ("PERMISSION_GROUPS_DISCOVERY", "T1069"),
    ("PROCESS_DISCOVERY", "T1057"),
    ("PROCESS_INJECTION", "T1055"),
    ("PROXY", "T1090"),
    ("RESOURCE_HIJACKING", "T1496"),
    ("SCANNING_IP_BLOCKS", "T1595.001"),
    ("SCHEDULED_TASK_JOB", "T1053"),
    ("SERVICE_STOP", "T1489"),
    ("SHARED_MODULES", "T1129"),
    ("SSH_AUTHORIZED_KEYS", "T1098.004"),
    ("STAGE_CAPABILITIES", "T1608"),
    ("STEAL_OR_FORGE_AUTHENTICATION_CERTIFICATES", "T1649"),
    ("STEAL_WEB_SESSION_COOKIE", "T1539"),
    ("TOKEN_IMPERSONATION_OR_THEFT", "T1134.001"),
    ("UNIX_SHELL", "T1059.004"),
    ("UNSECURED_CREDENTIALS", "T1552"),
    ("USER_EXECUTION", "T1204"),
    ("VALID_ACCOUNTS", "T1078"),
];

/// The technique that SCC calls by this name.
pub(super) fn by_name(name: &str) -> Option<Technique> {
    let index = TECHNIQUES
        .binary_search_by_key(&name, |(known, _)| known)
        .ok()?;
    let (name, id) = TECHNIQUES.get(index)?;
    Some(Technique {
        id: (*id).to_owned(),
        name: Some(words(name)),
    })
}

/// `RESOURCE_HIJACKING` is `Resource Hijacking`.
fn words(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            format!("{first}{}", letters.as_str().to_lowercase())
        })
    };
    name.split('_').map(capital).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(TECHNIQUES.is_sorted_by_key(|(name, _)| *name));
        let technique = by_name("RESOURCE_HIJACKING").unwrap();
        assert_eq!(
            (technique.id.as_str(), technique.name.as_deref()),
            ("T1496", Some("Resource Hijacking"))
        );
        assert_eq!(by_name("NOTHING"), None);
    }
}
