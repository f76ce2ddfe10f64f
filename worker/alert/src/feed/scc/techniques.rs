//! Lists SCC's names of ATT&CK techniques, with their ids.
//!
//! The names are in
//! <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.findings#technique>;
//! the ids in <https://attack.mitre.org/techniques/enterprise/>.

use super::super::{Draft, Node};
use crate::Technique;

const TECHNIQUES: &[(&str, &str)] = &[
    ("ABUSE_ELEVATION_CONTROL_MECHANISM", "T1548"),
    (
        "ABUSE_ELEVATION_CONTROL_MECHANISM_SETUID_AND_SETGID",
        "T1548.001",
    ),
    (
        "ABUSE_ELEVATION_CONTROL_MECHANISM_SUDO_AND_SUDO_CACHING",
        "T1548.003",
    ),
    ("ACCESS_TOKEN_MANIPULATION", "T1134"),
    ("ACCOUNT_ACCESS_REMOVAL", "T1531"),
    ("ACCOUNT_DISCOVERY_LOCAL_ACCOUNT", "T1087.001"),
    ("ACCOUNT_MANIPULATION", "T1098"),
    ("ACTIVE_SCANNING", "T1595"),
    ("ADDITIONAL_CLOUD_CREDENTIALS", "T1098.001"),
    ("ADDITIONAL_CLOUD_ROLES", "T1098.003"),
    ("ADDITIONAL_CONTAINER_CLUSTER_ROLES", "T1098.006"),
    ("APPLICATION_LAYER_PROTOCOL", "T1071"),
    ("AUTOMATED_COLLECTION", "T1119"),
    ("AUTOMATED_EXFILTRATION", "T1020"),
    ("BASH_HISTORY", "T1552.003"),
    ("BOOT_OR_LOGON_AUTOSTART_EXECUTION", "T1547"),
    ("BOOT_OR_LOGON_INITIALIZATION_SCRIPTS", "T1037"),
    ("BRUTE_FORCE", "T1110"),
    ("CLOUD_ACCOUNTS", "T1078.004"),
    ("CLOUD_GROUPS", "T1069.003"),
    ("CLOUD_INFRASTRUCTURE_DISCOVERY", "T1580"),
    ("CLOUD_SERVICE_DISCOVERY", "T1526"),
    ("COMMAND_AND_SCRIPTING_INTERPRETER", "T1059"),
    ("COMMAND_OBFUSCATION", "T1027.010"),
    ("COMPILE_AFTER_DELIVERY", "T1027.004"),
    ("COMPROMISE_HOST_SOFTWARE_BINARY", "T1554"),
    (
        "COMPROMISE_SOFTWARE_DEPENDENCIES_AND_DEVELOPMENT_TOOLS",
        "T1195.001",
    ),
    ("CONTAINER_ADMINISTRATION_COMMAND", "T1609"),
    ("CONTAINER_AND_RESOURCE_DISCOVERY", "T1613"),
    ("CONTAINER_ORCHESTRATION_JOB", "T1053.007"),
    ("CREATE_ACCOUNT", "T1136"),
    ("CREATE_OR_MODIFY_SYSTEM_PROCESS", "T1543"),
    ("CREATE_SNAPSHOT", "T1578.001"),
    ("CREDENTIALS_FROM_PASSWORD_STORES", "T1555"),
    ("CREDENTIALS_IN_FILES", "T1552.001"),
    ("DATA_DESTRUCTION", "T1485"),
    ("DATA_ENCODING", "T1132"),
    ("DATA_ENCRYPTED_FOR_IMPACT", "T1486"),
    ("DATA_FROM_CLOUD_STORAGE", "T1530"),
    ("DATA_FROM_LOCAL_SYSTEM", "T1005"),
    ("DATA_OBFUSCATION", "T1001"),
    ("DATA_OBFUSCATION_STEGANOGRAPHY", "T1001.002"),
    ("DEFAULT_ACCOUNTS", "T1078.001"),
    ("DEOBFUSCATE_DECODE_FILES_OR_INFO", "T1140"),
    ("DEPLOY_CONTAINER", "T1610"),
    ("DEVELOP_CAPABILITIES", "T1587"),
    ("DEVELOP_CAPABILITIES_MALWARE", "T1587.001"),
    ("DISABLE_OR_MODIFY_LINUX_AUDIT_SYSTEM", "T1562.012"),
    ("DISABLE_OR_MODIFY_TOOLS", "T1562.001"),
    ("DNS", "T1071.004"),
    ("DOMAIN_POLICY_MODIFICATION", "T1484"),
    ("DYNAMIC_RESOLUTION", "T1568"),
    ("ESCAPE_TO_HOST", "T1611"),
    ("EVENT_TRIGGERED_EXECUTION", "T1546"),
    ("EXFILTRATION_OVER_WEB_SERVICE", "T1567"),
    ("EXFILTRATION_TO_CLOUD_STORAGE", "T1567.002"),
    ("EXPLOITATION_FOR_CLIENT_EXECUTION", "T1203"),
    ("EXPLOITATION_FOR_PRIVILEGE_ESCALATION", "T1068"),
    ("EXPLOIT_PUBLIC_FACING_APPLICATION", "T1190"),
    ("EXTERNAL_PROXY", "T1090.002"),
    ("FILE_AND_DIRECTORY_DISCOVERY", "T1083"),
    ("FINANCIAL_THEFT", "T1657"),
    ("FIRMWARE_CORRUPTION", "T1495"),
    ("HIDDEN_FILES_AND_DIRECTORIES", "T1564.001"),
    ("HIDDEN_USERS", "T1564.002"),
    ("HIDE_ARTIFACTS", "T1564"),
    ("HIJACK_EXECUTION_FLOW", "T1574"),
    (
        "HIJACK_EXECUTION_FLOW_DYNAMIC_LINKER_HIJACKING",
        "T1574.006",
    ),
    ("IMPAIR_DEFENSES", "T1562"),
    ("INDICATOR_BLOCKING", "T1562.006"),
    ("INDICATOR_REMOVAL", "T1070"),
    ("INDICATOR_REMOVAL_CLEAR_COMMAND_HISTORY", "T1070.003"),
    (
        "INDICATOR_REMOVAL_CLEAR_LINUX_OR_MAC_SYSTEM_LOGS",
        "T1070.002",
    ),
    ("INDICATOR_REMOVAL_CLEAR_MAILBOX_DATA", "T1070.008"),
    ("INDICATOR_REMOVAL_FILE_DELETION", "T1070.004"),
    ("INDICATOR_REMOVAL_TIMESTOMP", "T1070.006"),
    ("INGRESS_TOOL_TRANSFER", "T1105"),
    ("INHIBIT_SYSTEM_RECOVERY", "T1490"),
    ("INPUT_CAPTURE", "T1056"),
    ("INPUT_CAPTURE_KEYLOGGING", "T1056.001"),
    ("INSTALL_ROOT_CERTIFICATE", "T1553.004"),
    ("KERNEL_MODULES_AND_EXTENSIONS", "T1547.006"),
    ("LATERAL_TOOL_TRANSFER", "T1570"),
    (
        "LINUX_AND_MAC_FILE_AND_DIRECTORY_PERMISSIONS_MODIFICATION",
        "T1222.002",
    ),
    ("LOCAL_ACCOUNT", "T1136.001"),
    ("LOCAL_ACCOUNTS", "T1078.003"),
    ("MASQUERADING", "T1036"),
    ("MATCH_LEGITIMATE_NAME_OR_LOCATION", "T1036.005"),
    ("MODIFY_AUTHENTICATION_PROCESS", "T1556"),
    ("MODIFY_CLOUD_COMPUTE_INFRASTRUCTURE", "T1578"),
    ("MULTI_FACTOR_AUTHENTICATION", "T1556.006"),
    ("MULTI_HOP_PROXY", "T1090.003"),
    ("MULTI_STAGE_CHANNELS", "T1104"),
    ("NATIVE_API", "T1106"),
    ("NETWORK_DENIAL_OF_SERVICE", "T1498"),
    ("NETWORK_SERVICE_DISCOVERY", "T1046"),
    ("OBFUSCATED_FILES_OR_INFO", "T1027"),
    ("OBTAIN_CAPABILITIES", "T1588"),
    ("OBTAIN_CAPABILITIES_MALWARE", "T1588.001"),
    ("OBTAIN_CAPABILITIES_VULNERABILITIES", "T1588.006"),
    ("OS_CREDENTIAL_DUMPING", "T1003"),
    (
        "OS_CREDENTIAL_DUMPING_ETC_PASSWORD_AND_ETC_SHADOW",
        "T1003.008",
    ),
    ("OS_CREDENTIAL_DUMPING_PROC_FILESYSTEM", "T1003.007"),
    ("PERMISSION_GROUPS_DISCOVERY", "T1069"),
    ("PLUGGABLE_AUTHENTICATION_MODULES", "T1556.003"),
    ("PRIVATE_KEYS", "T1552.004"),
    ("PROCESS_DISCOVERY", "T1057"),
    ("PROCESS_INJECTION", "T1055"),
    ("PROXY", "T1090"),
    ("PYTHON", "T1059.006"),
    ("REFLECTIVE_CODE_LOADING", "T1620"),
    ("RESOURCE_HIJACKING", "T1496"),
    ("SCANNING_IP_BLOCKS", "T1595.001"),
    ("SCHEDULED_TASK_JOB", "T1053"),
    ("SCHEDULED_TASK_JOB_CRON", "T1053.003"),
    ("SCHEDULED_TRANSFER", "T1029"),
    ("SERVICE_STOP", "T1489"),
    ("SHARED_MODULES", "T1129"),
    ("SHORTCUT_MODIFICATION", "T1547.009"),
    ("SOFTWARE_DEPLOYMENT_TOOLS", "T1072"),
    ("SSH_AUTHORIZED_KEYS", "T1098.004"),
    ("STAGE_CAPABILITIES", "T1608"),
    ("STANDARD_ENCODING", "T1132.001"),
    ("STARTUP_ITEMS", "T1037.005"),
    ("STEAL_APPLICATION_ACCESS_TOKEN", "T1528"),
    ("STEAL_OR_FORGE_AUTHENTICATION_CERTIFICATES", "T1649"),
    ("STEAL_WEB_SESSION_COOKIE", "T1539"),
    ("STEGANOGRAPHY", "T1027.003"),
    ("SUBVERT_TRUST_CONTROL", "T1553"),
    ("SUPPLY_CHAIN_COMPROMISE", "T1195"),
    ("SYSTEM_OWNER_USER_DISCOVERY", "T1033"),
    ("TOKEN_IMPERSONATION_OR_THEFT", "T1134.001"),
    ("TRANSFER_DATA_TO_CLOUD_ACCOUNT", "T1537"),
    ("UNIX_SHELL", "T1059.004"),
    ("UNSECURED_CREDENTIALS", "T1552"),
    ("UPLOAD_MALWARE", "T1608.001"),
    ("USER_EXECUTION", "T1204"),
    ("VALID_ACCOUNTS", "T1078"),
];

/// The id of a technique whose name is not known here.
const UNKNOWN_TECHNIQUE: &str = "T?";

/// Returns the technique with this SCC name, or `None` if the name is not that of a technique.
pub(super) fn by_name(name: &str) -> Option<Technique> {
    let is_name = name != "TECHNIQUE_UNSPECIFIED"
        && name.contains(|c: char| c.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_uppercase());
    let known = TECHNIQUES.binary_search_by_key(&name, |(known, _)| known);
    let id = known.ok().and_then(|index| TECHNIQUES.get(index));
    is_name.then(|| Technique {
        id: id.map_or(UNKNOWN_TECHNIQUE, |(_, id)| id).to_owned(),
        name: Some(title_case(name)),
    })
}

/// Returns `RESOURCE_HIJACKING` as `Resource Hijacking`.
fn title_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            format!("{first}{}", letters.as_str().to_lowercase())
        })
    };
    name.split('_').map(capital).collect::<Vec<_>>().join(" ")
}

pub(super) fn read_techniques(draft: &mut Draft, finding: Node<'_>, source: Node<'_>) {
    let attack = finding.at("mitreAttack");
    let names = attack
        .at("primaryTechniques")
        .items()
        .chain(attack.at("additionalTechniques").items());
    let rule = source.path("detectionCategory/technique");
    for name in names.chain(rule.items()).filter_map(Node::str) {
        draft.techniques.extend(by_name(name));
    }
    // `https://attack.mitre.org/techniques/T1078/004/`
    for uri in source.path("contextUris/mitreUri").items() {
        let path = uri
            .at("url")
            .str()
            .and_then(|url| url.split_once("/techniques/"));
        let Some((_, path)) = path else { continue };
        let id = path.trim_end_matches('/').replace('/', ".");
        let known = draft.techniques.iter().any(|technique| technique.id == id);
        if !known && id.starts_with('T') && id.len() <= 9 {
            draft.techniques.insert(Technique {
                id,
                name: uri.at("displayName").text(),
            });
        }
    }
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
        for none in ["TECHNIQUE_UNSPECIFIED", "T1496", "persistence", "_", ""] {
            assert_eq!(by_name(none), None);
        }
    }

    /// Names of `MitreAttack.Technique` in Google's client library for API v2, with the ids of its comments.
    #[test]
    fn every_name_of_the_api_is_known_and_one_that_is_newer_is_kept() {
        let names = include_str!("../../../../../tests/fixtures/findings/scc-techniques.txt");
        let pairs: Vec<(&str, &str)> = names
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect();
        assert_eq!(pairs.len(), 137);
        for (name, id) in pairs {
            assert_eq!(by_name(name).unwrap().id, id, "{name}");
        }
        let newer = by_name("PROMPT_INJECTION").unwrap();
        let shown = (newer.id.as_str(), newer.name.as_deref());
        assert_eq!(shown, ("T?", Some("Prompt Injection")));
    }
}
