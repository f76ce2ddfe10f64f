//! Builds findings of every OCSF class.

use super::*;
use crate::vendor_names::{OCSF_CLASSES, pairs};

pub(super) fn cases() -> Vec<CorpusCase> {
    pairs(OCSF_CLASSES)
        .map(|(id, name)| case(id.parse().unwrap(), name))
        .collect()
}

fn case(class: u32, name: &str) -> CorpusCase {
    let info = json!({"uid": "f-1", "title": format!("A finding of the class {name}"), "desc": "Something was found.",
        "analytic": {"name": format!("{name} rule"), "uid": "r-1", "type_id": 1},
        "created_time": 1_795_654_800_000_u64});
    let mut finding = json!({
        "class_uid": class, "class_name": name, "category_uid": 2, "type_uid": class * 100 + 1, "activity_id": 1,
        "severity_id": 4, "severity": "High", "status_id": 1, "time": 1_795_654_800_000_u64,
        "metadata": {"version": "1.6.0", "product": {"name": "Example EDR", "vendor_name": "Example"}, "uid": "m-1"},
        "cloud": {"provider": "AWS", "region": "eu-west-1", "account": {"uid": "111122223333"}},
        "resources": [{"uid": INSTANCE, "type": "AwsEc2Instance", "name": "web-1"}],
        "finding_info": info,
    });
    shape(&mut finding, class, name);
    let roles = match class {
        2004 | 2007 => vec![
            role(IndicatorRole::Actor, IndicatorKind::Principal, "alice"),
            role(IndicatorRole::Remote, IndicatorKind::Ip, FAR_END),
        ],
        _ => Vec::new(),
    };
    CorpusCase {
        finding,
        // The type of a vulnerability is its CVE, that of a check its control or rule.
        kind: match class {
            2002 => "CVE-2026-1000".to_owned(),
            2003 => "S3.8".to_owned(),
            2007 | 2008 => "r-1".to_owned(),
            _ => format!("{name} rule"),
        },
        resource: Some(INSTANCE.to_owned()),
        roles,
        class: match class {
            2002 => FindingClass::Vulnerability,
            2003 | 2007 | 2008 => FindingClass::Posture,
            2006 => FindingClass::SensitiveData,
            _ => FindingClass::Threat,
        },
        severity: Severity::High,
    }
}

/// Adds the fields that only the finding's class has.
fn shape(finding: &mut Value, class: u32, name: &str) {
    match class {
        2001 => {
            let info = finding["finding_info"].take();
            finding["finding"] = info;
            finding.as_object_mut().unwrap().remove("finding_info");
            extend(
                finding,
                json!({"state_id": 1, "analytic": {"name": format!("{name} rule")}}),
            );
        }
        2002 => extend(
            finding,
            json!({"vulnerabilities": [{"cve": {"uid": "CVE-2026-1000"}, "severity": "High"}]}),
        ),
        2003 => extend(
            finding,
            json!({"compliance": {"status": "Fail", "status_id": 3, "control": "S3.8", "standards": ["Example"]}}),
        ),
        2005 => finding["finding_info_list"] = json!([finding["finding_info"]]),
        2006 => extend(
            finding,
            json!({"data_security": {"category": "PII", "confidentiality": "Confidential"}}),
        ),
        2008 => extend(
            finding,
            json!({"user": {"name": "alice", "uid": "AIDACKCEVSQ6C2EXAMPLE"}}),
        ),
        _ => extend(
            finding,
            json!({"evidences": [{"actor": {"user": {"name": "alice"}},
                "src_endpoint": {"ip": "10.0.0.7"}, "dst_endpoint": {"ip": FAR_END, "port": 443},
                "connection_info": {"direction_id": 2, "direction": "Outbound"}}]}),
        ),
    }
}
