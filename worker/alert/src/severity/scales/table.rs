//! Lists known words, scales and products, each with its source.

use super::SeverityScale;
use crate::Severity;
use crate::Severity::{Critical, High, Informational, Low, Medium};

/// The default scale for numbers: that of Security Hub's normalised severity.
pub(crate) const DEFAULT: &SeverityScale = &ZERO_TO_HUNDRED;

/// Words with the same meaning in all products, in lower case and without other characters than letters and digits.
pub(super) const WORDS: &[(&str, Severity)] = &[
    ("informational", Informational),
    ("information", Informational),
    ("info", Informational),
    ("note", Informational),
    ("debug", Informational),
    ("trace", Informational),
    ("verbose", Informational),
    ("lowest", Informational),
    ("low", Low),
    ("minor", Low),
    ("notice", Low),
    ("negligible", Low),
    ("medium", Medium),
    ("moderate", Medium),
    ("warning", Medium),
    ("warn", Medium),
    ("high", High),
    ("important", High),
    ("major", High),
    ("severe", High),
    ("error", High),
    ("err", High),
    ("critical", Critical),
    ("crit", Critical),
    ("veryhigh", Critical),
    ("highest", Critical),
    ("fatal", Critical),
    ("blocker", Critical),
    ("alert", Critical),
    ("emergency", Critical),
    ("emerg", Critical),
    ("panic", Critical),
    ("p0", Critical),
    ("p1", Critical),
    ("p2", High),
    ("p3", Medium),
    ("p4", Low),
    ("p5", Informational),
    ("sev0", Critical),
    ("sev1", Critical),
    ("sev2", High),
    ("sev3", Medium),
    ("sev4", Low),
    ("sev5", Informational),
];

/// GuardDuty and CVSS.
const ZERO_TO_TEN: SeverityScale = SeverityScale {
    name: "0-10",
    about: "10 is the worst: from 1 low, 4 medium, 7 high, 9 critical, as in CVSS and GuardDuty",
    thresholds: &[
        (0.0, Informational),
        (1.0, Low),
        (4.0, Medium),
        (7.0, High),
        (9.0, Critical),
    ],
    max: 10.0,
    words: &[],
};

/// <https://docs.aws.amazon.com/securityhub/latest/userguide/asff-required-attributes.html#Severity>
const ZERO_TO_HUNDRED: SeverityScale = SeverityScale {
    name: "0-100",
    about: "100 is the worst: from 1 low, 40 medium, 70 high, 90 critical, as in Security Hub",
    thresholds: &[
        (0.0, Informational),
        (1.0, Low),
        (40.0, Medium),
        (70.0, High),
        (90.0, Critical),
    ],
    max: 100.0,
    words: &[],
};

/// CrowdStrike's alerts API: `severity` beside `severity_name`.
const FALCON: SeverityScale = SeverityScale {
    name: "falcon",
    about: "0 to 100 as CrowdStrike Falcon: from 20 low, 40 medium, 60 high, 80 critical",
    thresholds: &[
        (0.0, Informational),
        (20.0, Low),
        (40.0, Medium),
        (60.0, High),
        (80.0, Critical),
    ],
    max: 100.0,
    words: &[],
};

/// <https://www.elastic.co/docs/solutions/security/detect-and-alert/create-detection-rule>: risk scores of severities.
const ELASTIC: SeverityScale = SeverityScale {
    name: "elastic",
    about: "risk scores of Elastic Security: from 22 medium, 48 high, 74 critical",
    thresholds: &[(0.0, Low), (22.0, Medium), (48.0, High), (74.0, Critical)],
    max: 100.0,
    words: &[],
};

/// <https://documentation.wazuh.com/current/user-manual/ruleset/rules/rules-classification.html>: levels up to 3 have
/// no security relevance or are successes, and from 7 on the scale follows the dashboard's bands.
const WAZUH: SeverityScale = SeverityScale {
    name: "0-15",
    about: "levels of Wazuh and OSSEC: from 4 low, 7 medium, 12 high, 15 critical",
    thresholds: &[
        (0.0, Informational),
        (4.0, Low),
        (7.0, Medium),
        (12.0, High),
        (15.0, Critical),
    ],
    max: 16.0,
    words: &[],
};

/// <https://docs.suricata.io/en/latest/configuration/suricata-yaml.html>, `classification.config`; Snort the same.
const SURICATA: SeverityScale = SeverityScale {
    name: "1-4",
    about: "1 is the worst, as in Suricata and Snort: 1 high, 2 medium, 3 low, 4 informational",
    thresholds: &[(1.0, High), (2.0, Medium), (3.0, Low), (4.0, Informational)],
    max: 4.0,
    words: &[],
};

/// RFC 5424, table 2.
const SYSLOG: SeverityScale = SeverityScale {
    name: "syslog",
    about: "emergency, alert, critical, error, warning, notice, info, debug, or 0 to 7, where 0 is the worst",
    thresholds: &[
        (0.0, Critical),
        (3.0, High),
        (4.0, Medium),
        (5.0, Low),
        (6.0, Informational),
    ],
    max: 7.0,
    words: &[],
};

/// Opsgenie, ServiceNow, Datadog's monitors: the words P1 … P5 and Sev1 … Sev5 are known without it.
const PRIORITIES: SeverityScale = SeverityScale {
    name: "p1-p5",
    about: "1 is the worst: 1 critical, 2 high, 3 medium, 4 low, 5 informational; also written P1 or Sev1",
    thresholds: &[
        (0.0, Critical),
        (2.0, High),
        (3.0, Medium),
        (4.0, Low),
        (5.0, Informational),
    ],
    max: 5.0,
    words: &[],
};

/// <https://docs.qualys.com/en/vm/latest/knowledgebase/severity_levels.htm>
const ONE_TO_FIVE: SeverityScale = SeverityScale {
    name: "1-5",
    about: "5 is the worst, as in Qualys: 1 informational, 2 low, 3 medium, 4 high, 5 critical",
    thresholds: &[
        (0.0, Informational),
        (2.0, Low),
        (3.0, Medium),
        (4.0, High),
        (5.0, Critical),
    ],
    max: 5.0,
    words: &[],
};

/// Tenable's plugins.
const ZERO_TO_FOUR: SeverityScale = SeverityScale {
    name: "0-4",
    about: "4 is the worst, as in Tenable: 0 informational, 1 low, 2 medium, 3 high, 4 critical",
    thresholds: &[
        (0.0, Informational),
        (1.0, Low),
        (2.0, Medium),
        (3.0, High),
        (4.0, Critical),
    ],
    max: 4.0,
    words: &[],
};

/// <https://www.microfocus.com/documentation/arcsight/>: Common Event Format, agent severity.
const CEF: SeverityScale = SeverityScale {
    name: "cef",
    about: "0 to 10 as in the Common Event Format: to 3 low, from 4 medium, 7 high, 9 critical",
    thresholds: &[(0.0, Low), (4.0, Medium), (7.0, High), (9.0, Critical)],
    max: 10.0,
    words: &[],
};

/// <https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-overview>: critical, error, warning, informational, verbose.
const AZURE_MONITOR: SeverityScale = SeverityScale {
    name: "azure-monitor",
    about: "Sev0 to Sev4 of Azure Monitor: Sev0 critical, Sev1 high, Sev2 medium, Sev3 and Sev4 informational",
    thresholds: &[
        (0.0, Critical),
        (1.0, High),
        (2.0, Medium),
        (3.0, Informational),
    ],
    max: 4.0,
    words: &[
        ("sev0", Critical),
        ("sev1", High),
        ("sev2", Medium),
        ("sev3", Informational),
        ("sev4", Informational),
    ],
};

/// <https://prometheus.io/docs/practices/alerting/>: labels by convention; `none` is that of `Watchdog`.
const ALERTMANAGER: SeverityScale = SeverityScale {
    name: "alertmanager",
    about: "page, critical, error, warning, ticket, info, none, as labels of Prometheus rules have it",
    thresholds: &[],
    max: 0.0,
    words: &[("page", Critical), ("ticket", Low), ("none", Informational)],
};

/// <https://www.zabbix.com/documentation/current/en/manual/config/triggers/severity>
const ZABBIX: SeverityScale = SeverityScale {
    name: "zabbix",
    about: "not classified, information, warning, average, high, disaster, or 0 to 5",
    thresholds: &[
        (0.0, Informational),
        (2.0, Low),
        (3.0, Medium),
        (4.0, High),
        (5.0, Critical),
    ],
    max: 5.0,
    words: &[
        ("notclassified", Informational),
        ("warning", Low),
        ("average", Medium),
        ("disaster", Critical),
    ],
};

/// <https://docs.sysdig.com/en/sysdig-secure/threats/>: severities of policies.
const SYSDIG: SeverityScale = SeverityScale {
    name: "sysdig",
    about: "0 to 7 of Sysdig Secure: to 3 high, 4 and 5 medium, 6 low, 7 informational",
    thresholds: &[(0.0, High), (4.0, Medium), (6.0, Low), (7.0, Informational)],
    max: 7.0,
    words: &[],
};

/// Palo Alto Cortex XDR's API: `SEV_040_HIGH`.
const CORTEX: SeverityScale = SeverityScale {
    name: "cortex",
    about: "SEV_010_INFO to SEV_050_CRITICAL of Cortex XDR",
    thresholds: &[],
    max: 0.0,
    words: &[
        ("sev010info", Informational),
        ("sev020low", Low),
        ("sev030medium", Medium),
        ("sev040high", High),
        ("sev050critical", Critical),
    ],
};

/// Products that write only known words.
pub(super) const WORDS_ONLY: SeverityScale = SeverityScale {
    name: "words",
    about: "words alone: informational, low, medium, high, critical and what is written for them elsewhere",
    thresholds: &[],
    max: 0.0,
    words: &[],
};

/// The scales that a `[[feed]]` can name.
pub const SCALES: &[&SeverityScale] = &[
    &ZERO_TO_TEN,
    &ZERO_TO_HUNDRED,
    &WAZUH,
    &SURICATA,
    &PRIORITIES,
    &ONE_TO_FIVE,
    &ZERO_TO_FOUR,
    &SYSLOG,
    &FALCON,
    &ELASTIC,
    &CEF,
    &AZURE_MONITOR,
    &ALERTMANAGER,
    &ZABBIX,
    &SYSDIG,
    &CORTEX,
    &WORDS_ONLY,
];

/// Scales by words in product names. The first matching row counts.
pub(super) const PRODUCTS: &[(&[&str], &SeverityScale)] = &[
    (&["azure", "monitor"], &AZURE_MONITOR),
    (&["guardduty"], &ZERO_TO_TEN),
    (&["security", "hub"], &ZERO_TO_HUNDRED),
    (&["securityhub"], &ZERO_TO_HUNDRED),
    (&["inspector"], &ZERO_TO_TEN),
    (&["falcon"], &FALCON),
    (&["crowdstrike"], &FALCON),
    (&["falco"], &SYSLOG),
    (&["falcosidekick"], &SYSLOG),
    (&["wazuh"], &WAZUH),
    (&["ossec"], &WAZUH),
    (&["suricata"], &SURICATA),
    (&["snort"], &SURICATA),
    (&["snort3"], &SURICATA),
    (&["network", "firewall"], &SURICATA),
    (&["syslog"], &SYSLOG),
    (&["journald"], &SYSLOG),
    (&["auditd"], &SYSLOG),
    (&["okta"], &SYSLOG),
    (&["auth0"], &SYSLOG),
    (&["fortinet"], &SYSLOG),
    (&["fortigate"], &SYSLOG),
    (&["cisco", "asa"], &SYSLOG),
    (&["elastic"], &ELASTIC),
    (&["kibana"], &ELASTIC),
    (&["alertmanager"], &ALERTMANAGER),
    (&["prometheus"], &ALERTMANAGER),
    (&["grafana"], &ALERTMANAGER),
    (&["datadog"], &PRIORITIES),
    (&["opsgenie"], &PRIORITIES),
    (&["pagerduty"], &PRIORITIES),
    (&["servicenow"], &PRIORITIES),
    (&["lacework"], &PRIORITIES),
    (&["qualys"], &ONE_TO_FIVE),
    (&["tenable"], &ZERO_TO_FOUR),
    (&["nessus"], &ZERO_TO_FOUR),
    (&["qradar"], &ZERO_TO_TEN),
    (&["carbon", "black"], &ZERO_TO_TEN),
    (&["carbonblack"], &ZERO_TO_TEN),
    (&["arcsight"], &CEF),
    (&["cef"], &CEF),
    (&["zabbix"], &ZABBIX),
    (&["sysdig"], &SYSDIG),
    (&["cortex"], &CORTEX),
    (&["cortexxdr"], &CORTEX),
    (&["sentinelone"], &ZERO_TO_HUNDRED),
    (&["splunk"], &ZERO_TO_HUNDRED),
    (&["chronicle"], &ZERO_TO_HUNDRED),
    (&["secops"], &ZERO_TO_HUNDRED),
    (&["vectra"], &ZERO_TO_HUNDRED),
    (&["logrhythm"], &ZERO_TO_HUNDRED),
    (&["sentinel"], &WORDS_ONLY),
    (&["defender"], &WORDS_ONLY),
    (&["prisma"], &WORDS_ONLY),
    (&["wiz"], &WORDS_ONLY),
    (&["snyk"], &WORDS_ONLY),
    (&["trivy"], &WORDS_ONLY),
];
