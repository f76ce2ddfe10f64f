//! Builds the body of a post: a CloudEvent whose data is the report as `--format json` prints it.
//!
//! Nothing in the envelope comes from an alert, a tool or an analyst. The data may contain foreign values, which are
//! not defanged.

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::render_json;
use serde::Serialize;

use super::super::case_id;
use super::trace::Trace;

/// The type of an event. It changes when the meaning of the data changes.
const TYPE: &str = "dev.nightshift.report.v1";
/// The type of a canary's second event. It tells the receiver to clean up what the first one made.
const CANARY_OVER: &str = "dev.nightshift.canary.over.v1";
/// The source of events. Source and id together are unique, because case ids are random.
const SOURCE: &str = "/nightshift";

/// The event without its data.
#[derive(Serialize)]
struct Envelope<'a> {
    specversion: &'static str,
    id: &'a str,
    source: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    subject: &'a str,
    time: DateTime<Utc>,
    datacontenttype: &'static str,
    #[serde(flatten)]
    trace: &'a Trace,
}

/// Returns the id and the body of a report's post. Both are the same for the same report. `is_over` makes the second
/// event of a canary.
pub(super) fn event(
    report: &Report,
    is_over: bool,
    trace: &Trace,
) -> Result<(String, String), DeliveryError> {
    let case = case_id(report)?;
    let (kind, end) = if is_over {
        (CANARY_OVER, ".over")
    } else {
        (TYPE, "")
    };
    let id = format!("{case}.r{}{end}", report.revision);
    let envelope = Envelope {
        specversion: "1.0",
        id: &id,
        source: SOURCE,
        kind,
        subject: case,
        time: report.concluded_at,
        datacontenttype: "application/json",
        trace,
    };
    let envelope = serde_json::to_string(&envelope).unwrap_or_default();
    let data = render_json(report);
    match envelope.strip_suffix('}') {
        Some(head) if !data.is_empty() => {
            let body = format!("{head},\"data\":{data}}}");
            Ok((id, body))
        }
        _ => Err(DeliveryError::Permanent {
            what: format!("the report of case {case} cannot be written as JSON"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::fixture;
    use crate::fixture::{replace, strings};

    fn told(report: &Report, is_over: bool) -> Result<(String, String), DeliveryError> {
        event(report, is_over, &Trace::from_report(report, 1.0))
    }

    /// Returns the attributes of CloudEvents 1.0 that a receiver reads, and the report in the data.
    fn read(report: &Report) -> (Value, Report) {
        let (id, body) = told(report, false).unwrap();
        let moves = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!body.chars().any(moves), "{body}");
        let mut value: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(value["id"], id.as_str());
        let data = value["data"].take();
        (value, serde_json::from_value(data).unwrap())
    }

    #[test]
    fn that_a_canary_is_over_is_a_second_event() {
        let report = fixture::canary().report;
        let (first, _) = told(&report, false).unwrap();
        let (id, body) = told(&report, true).unwrap();
        assert_eq!(id, format!("{first}.over"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["type"], CANARY_OVER);
        assert_eq!(body["data"]["alert"]["feed"], "canary");
    }

    #[test]
    fn the_envelope_says_what_it_is_and_the_data_is_the_report() {
        let report = fixture::true_positive();
        let (_, body) = told(&report, false).unwrap();
        let (envelope, data) = body.split_once("\"data\":").unwrap();
        insta::assert_snapshot!(envelope, @r#"{"specversion":"1.0","id":"k3f9-x2mq-7d1w.r1","source":"/nightshift","type":"dev.nightshift.report.v1","subject":"k3f9-x2mq-7d1w","time":"2026-11-20T03:14:00Z","datacontenttype":"application/json","traceparent":"00-15c91ee222f9b008e6f603b59409623d-e43aaae221671387-01","#);
        assert_eq!(data.strip_suffix('}').unwrap(), render_json(&report));
        assert_eq!(read(&report).1, report);
    }

    #[test]
    fn the_body_of_a_failed_run() {
        insta::assert_snapshot!(told(&fixture::failed(), false).unwrap().1, @r#"{"specversion":"1.0","id":"k3f9-x2mq-7d1w.r1","source":"/nightshift","type":"dev.nightshift.report.v1","subject":"k3f9-x2mq-7d1w","time":"2026-11-20T03:14:00Z","datacontenttype":"application/json","traceparent":"00-15c91ee222f9b008e6f603b59409623d-e43aaae221671387-01","data":{"schema":"nightshift.report/1","case_id":"k3f9-x2mq-7d1w","revision":1,"status":"failed","alert":{"feed":"scc","key":"scc b9c8d7e6f5a4b3c2d1e0 production-project-12345","type":"Execution: Cryptocurrency Mining Hash Match","title":"Crypto miner","description":"","provider":"gcp","account":"production-project-12345","account_name":null,"region":"us-central1-a","resource_type":"google.compute.Instance","subject":"web-server-prod-01","action":null,"product":"","class":"threat","severity_sent":"HIGH","first_seen":"2026-11-20T02:41:00Z","last_seen":"2026-11-20T03:02:00Z","count":3,"sightings":0,"members":0,"sample":false,"flags":[]},"verdict":"inconclusive","leaning":"none","reason":"tool_failure","confidence":"low","severity":"high","assessed_severity":"high","urgency":"now","title":"Crypto miner on web-server-prod-01","summary":"Not triaged: No plan could be made: the model gave no answer within 60 s.","meaning":"","findings":[],"gaps":[],"would_decide":[],"actions":[],"steps":[],"insights":[],"updates":[],"timeline":[],"timeline_left":0,"since":{"logs":"not_known"},"indicators":[{"type":"instance","value":"web-server-prod-01","role":"target"},{"type":"domain","value":"pool.minexmr.com","role":"remote"},{"type":"ip","value":"185.220.101.42","role":"remote"}],"techniques":[{"id":"T1496","name":"Resource Hijacking"}],"exonerations":[],"ledger":[],"cost":{"usd":0.002,"input_tokens":900,"cached_tokens":0,"output_tokens":0,"model_calls":1},"analyst":"model","models":["openai/gpt-x"],"source":"","degraded":true,"stopped_by":null,"failed":"no plan could be made: the model gave no answer within 60 s","overridden":[],"manipulation":false,"signals":[],"coverage":{"read":1,"wanted":1,"missing":[]},"reach":{"environment":null,"internet_facing":null,"owner":null,"role":null,"data":null,"evidence":null,"other_cases":[]},"evidence":[],"opened_at":"2026-11-20T03:13:00Z","concluded_at":"2026-11-20T03:14:00Z","took_ms":12400,"sender":{"version":"0.1.0"}}}"#);
    }

    #[test]
    fn the_same_report_is_the_same_event_and_a_revision_another() {
        let mut report = fixture::true_positive();
        let first = told(&report, false).unwrap();
        assert_eq!(first, told(&report, false).unwrap());
        report.revision = 2;
        assert_eq!(told(&report, false).unwrap().0, "k3f9-x2mq-7d1w.r2");
        report.case_id = "a\r\nx-injected: 1".into();
        assert!(matches!(
            told(&report, false),
            Err(DeliveryError::Permanent { .. })
        ));
    }

    #[test]
    fn a04_a05_a06_a15_nothing_of_the_attackers_leaves_the_data() {
        let clean = read(&fixture::true_positive()).0;
        let report = fixture::hostile();
        let (envelope, data) = read(&report);
        assert_eq!(envelope, clean);
        assert_eq!(data, report);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn whatever_stands_in_a_report_the_body_is_one_event(strings in strings()) {
            for report in [fixture::true_positive(), fixture::overridden(), fixture::failed()] {
                let clean = read(&report).0;
                let mut value = serde_json::to_value(&report).unwrap();
                replace(&mut value, &mut strings.iter().cycle().cloned());
                value["case_id"] = report.case_id.clone().into();
                let hostile: Report = serde_json::from_value(value).unwrap();
                let (envelope, data) = read(&hostile);
                prop_assert_eq!(envelope, clean);
                prop_assert_eq!(data, hostile);
            }
        }
    }
}
