//! Provides shared test helpers of the tools: an alert, a context, a call.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use nightshift_alert::{
    Alert, AlertKey, CloudProvider, ContentHash, EventTimes, FeedState, Indicator, IndicatorKind,
    IndicatorRole, Severity,
};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::output_guard;
use crate::tool::Tool;

pub(crate) fn at(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

/// Returns an alert: discovery by a role on an instance, from outside, between 02:00 and 02:40.
pub(crate) fn alert() -> Alert {
    Alert {
        key: AlertKey {
            product: "guardduty".to_owned(),
            id: "f1".to_owned(),
            account: "444455556666".to_owned(),
        },
        content: ContentHash("c1".to_owned()),
        feed: "guardduty".to_owned(),
        kind: "Discovery:IAMUser/AnomalousBehavior".to_owned(),
        title: "Anomalous discovery".to_owned(),
        description: String::new(),
        severity: Severity::Medium,
        severity_sent: "5".to_owned(),
        provider: CloudProvider::Aws,
        account: Some("444455556666".to_owned()),
        account_name: None,
        region: Some("eu-west-1".to_owned()),
        class: nightshift_alert::FindingClass::Threat,
        class_sent: None,
        outcome: None,
        details: Vec::new(),
        remediation: None,
        finding_id: None,
        action: None,
        resources: Vec::new(),
        indicators: indicators(),
        principals: Vec::new(),
        addresses: Vec::new(),
        callers: Vec::new(),
        direction: None,
        unreadable: Vec::new(),
        unseen: false,
        techniques: Vec::new(),
        times: EventTimes {
            first_seen: Some(at("2026-03-02T02:00:00Z")),
            last_seen: Some(at("2026-03-02T02:40:00Z")),
            created: None,
            updated: None,
        },
        count: 1,
        state: FeedState::default(),
        flags: Vec::new(),
        trace: None,
        raw: Value::Null.into(),
    }
}

fn indicators() -> Vec<Indicator> {
    let indicator = |kind, value: &str, role| Indicator::new(kind, value, role);
    vec![
        indicator(IndicatorKind::Ip, "203.0.113.42", IndicatorRole::Actor),
        indicator(
            IndicatorKind::Principal,
            "prod-payments-worker",
            IndicatorRole::Actor,
        ),
        indicator(
            IndicatorKind::AccessKey,
            "ASIAEXAMPLEKEY000001",
            IndicatorRole::Actor,
        ),
        indicator(
            IndicatorKind::Instance,
            "i-0a1b2c3d4e5f60718",
            IndicatorRole::Target,
        ),
        indicator(
            IndicatorKind::Bucket,
            "payments-ledger",
            IndicatorRole::Target,
        ),
        indicator(
            IndicatorKind::Domain,
            "pool.minexmr.com",
            IndicatorRole::Remote,
        ),
    ]
}

pub(crate) fn context() -> CallContext {
    about(alert())
}

fn about(alert: Alert) -> CallContext {
    CallContext {
        case_id: "case-1".to_owned(),
        alert: Arc::new(alert),
        now: at("2026-03-02T06:00:00Z"),
    }
}

/// Calls a tool as the toolbox does.
pub(crate) async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_about(alert(), tool, arguments).await
}

/// Calls a tool in the case of another alert.
pub(crate) async fn call_about(
    alert: Alert,
    tool: &dyn Tool,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let context = about(alert);
    let map = arguments.as_object().cloned().unwrap_or_default();
    let arguments = Arguments {
        map: &map,
        alert: &context.alert,
    };
    let output = tool.call(arguments, &context).await?;
    let is_typed = tool.answers_typed_fields();
    Ok(output_guard::clean_output(
        output,
        &map,
        &context.alert,
        is_typed,
    ))
}
