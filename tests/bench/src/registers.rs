//! Generates registers and logs of a medium-sized organisation: a thousand rows each, most of them unrelated to the
//! alerts.

use std::fmt::Write as _;
use std::path::Path;

use nightshift_tools::ToolConfig;
use serde_json::json;

/// Number of rows of each register.
const ROWS: usize = 1000;

/// Writes the registers and returns the tools that read them.
pub(crate) fn registers(folder: &Path) -> anyhow::Result<Vec<ToolConfig>> {
    let mut assets = "id,name,type,account,owner,environment,addresses,purpose\n".to_owned();
    let mut changes =
        "id,subject,actor,from,until,status,approved_by,summary,expected_findings\n".to_owned();
    let mut scanners =
        "id,subject,owner,purpose,approved_by,valid_from,valid_until,expected_findings\n"
            .to_owned();
    let mut people = "principal,kind,owner,mfa,usual_countries,usual_networks,status\n".to_owned();
    for row in 0..ROWS {
        let (high, low) = (row / 250, row % 250);
        writeln!(
            assets,
            "i-{row:017x},web-{row},instance,444455556666,team-{low},prod,10.9.{high}.{low},web"
        )?;
        writeln!(
            changes,
            "CHG-{row},i-{row:017x},,2026-03-01T00:00:00Z,2026-03-02T00:00:00Z,approved,ann,restart,Recon:*"
        )?;
        writeln!(
            scanners,
            "PT-{row},192.0.{high}.{low}/32,Red Cell,test,ciso,2026-01-01,2026-12-31,Recon:*"
        )?;
        writeln!(
            people,
            "role-{row},role,team-{low},no,IE,10.9.0.0/16,active"
        )?;
    }
    let mut tools = Vec::new();
    for (kind, text) in [
        ("asset_lookup", assets),
        ("change_lookup", changes),
        ("authorised_scanners", scanners),
        ("identity_lookup", people),
    ] {
        let path = folder.join(format!("{kind}.csv"));
        std::fs::write(&path, text)?;
        tools.push(serde_json::from_value(
            json!({"kind": kind, "name": kind, "path": path}),
        )?);
    }
    Ok(tools)
}

/// Writes flow and audit logs of a thousand records each, and returns the tools that search them.
pub(crate) fn logs(folder: &Path) -> anyhow::Result<Vec<ToolConfig>> {
    let (mut flows, mut trail, mut audit) = (String::new(), String::new(), String::new());
    for row in 0..ROWS {
        let (high, low) = (row / 250, row % 250);
        let second = 1_772_418_000 + row;
        writeln!(
            flows,
            "2 444455556666 eni-0f00ba4 10.9.{high}.{low} 192.0.2.{low} 443 4{low} 6 20 4249 {second} {} ACCEPT OK",
            second + 10
        )?;
        let (minute, sec) = (row / 60, row % 60);
        let at = format!("2026-03-02T02:{minute:02}:{sec:02}Z");
        let record = json!({
            "eventTime": at, "eventName": "ListBuckets", "eventSource": "s3.amazonaws.com",
            "sourceIPAddress": format!("10.9.{high}.{low}"), "awsRegion": "eu-west-1",
            "userIdentity": {"type": "AssumedRole", "principalId": format!("AROA{row}:s"), "accessKeyId": format!("ASIA{row}")},
        });
        writeln!(trail, "{record}")?;
        let entry = json!({
            "timestamp": at, "logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity",
            "protoPayload": {
                "methodName": "v1.compute.instances.start",
                "resourceName": format!("projects/p/zones/z/instances/web-{row}"),
                "authenticationInfo": {"principalEmail": format!("user{low}@example.com")},
                "requestMetadata": {"callerIp": format!("10.9.{high}.{low}")},
            },
        });
        writeln!(audit, "{entry}")?;
    }
    let mut tools = Vec::new();
    for (format, text) in [
        ("vpc_flow", flows),
        ("cloudtrail", trail),
        ("gcp_audit", audit),
    ] {
        let path = folder.join(format!("{format}.log"));
        std::fs::write(&path, text)?;
        let tool = json!({"kind": "log_search", "name": format, "format": format, "path": path});
        tools.push(serde_json::from_value(tool)?);
    }
    Ok(tools)
}
