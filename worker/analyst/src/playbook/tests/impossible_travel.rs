use nightshift_alert::{Alert, IndicatorKind, Severity};
use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::sample;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, known_identity, logged, nothing, on_list, record,
};

const ALERT: &str = "ocsf-impossible-travel";

/// Returns the alert as an identity provider with a specific type sends it. The sample's type is `Identity`.
fn travel() -> Alert {
    let mut alert = sample(ALERT);
    "Impossible Travel".clone_into(&mut alert.kind);
    alert
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn vpn(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    if kind == "watchlist" && arguments["indicator"] == "198.51.100.77" {
        return Ok(
            json!({"indicator": "198.51.100.77", "listed": true, "lists_searched": ["vpn"], "entries_searched": 2,
            "matches": [{"list": "vpn", "meaning": "vpn", "entry": "198.51.100.64/27", "note": "egress Sao Paulo"}]}),
        );
    }
    quiet(kind, arguments)
}

/// Returns the record of who signed in, with the networks that it lists.
fn person(networks: &[&str]) -> Exoneration {
    let networks = networks.iter().map(|one| (*one).to_owned());
    let mut person = record("identity", IndicatorKind::Principal, "maria.lopez");
    person.extent.networks = ListedValues::These(networks.collect());
    person
}

#[test]
fn our_vpn_makes_the_detection_wrong() {
    let mut egress = record("asset", IndicatorKind::Ip, "198.51.100.77");
    egress.detection_wrong = true;
    let ran = PlaybookCase::with(&ALL, vpn)
        .clearing(egress)
        .clearing(person(&["192.0.2.0/24"]))
        .run(travel());
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.reason),
        (Verdict::FalsePositive, VerdictReason::WrongDetectionLogic)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert has a sign-in of maria.lopez from 198.51.100.77 besides 192.0.2.14
    For [E6 E0] The identity register does not know maria.lopez
    Against [E3 E0] 198.51.100.77 is listed as vpn (watch list vpn, entry 198.51.100.64/27): it says nothing about where the person is
    Against [E10 E0] The logs that were searched (log_search_json_lines) show nothing from 198.51.100.77
    ");
}

#[test]
fn a01_a_title_that_others_write_leads_to_no_rule_that_clears() {
    let mut alert = sample(ALERT);
    "DLP.MassDownload".clone_into(&mut alert.kind);
    "14,201 files, among them 'Q3 impossible travel claims.xlsx'".clone_into(&mut alert.title);
    alert.severity = Severity::Critical;
    let world = PlaybookCase::with(&ALL, vpn);
    assert_eq!(world.playbooks.find(&alert).name, "impossible-travel");
    let end = world.run(alert).conclusion;
    assert_eq!(
        (end.verdict, end.assessed_severity),
        (Verdict::Inconclusive, Severity::Critical)
    );
    assert!(end.exonerations.is_empty());
}

#[test]
fn usual_network_clears_only_with_a_record_for_the_account() {
    let usual: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => {
            let mut known = known_identity("person", &["198.51.100.0/24"], arguments);
            known["identities"][0]["mfa"] = json!(true);
            Ok(known)
        }
        _ => quiet(kind, arguments),
    };
    // A record of another account, an expired one, or one for other findings is shown in the register and clears
    // nothing.
    let end = PlaybookCase::with(&ALL, usual).run(travel()).conclusion;
    assert_eq!(
        (end.verdict, end.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    // A record for any network says nothing about a finding that is about the address.
    let anywhere = record("identity", IndicatorKind::Principal, "maria.lopez");
    for (account, verdict) in [
        (anywhere, Verdict::Inconclusive),
        (
            person(&["198.51.100.0/24", "192.0.2.14"]),
            Verdict::BenignTruePositive,
        ),
    ] {
        let world = PlaybookCase::with(&ALL, usual).clearing(account);
        assert_eq!(world.run(travel()).conclusion.verdict, verdict);
    }
}

#[test]
fn login_without_mfa_stays_so_whatever_the_register_says() {
    let usual: ToolAnswers = |kind, arguments| match kind {
        "identity_lookup" => {
            let mut known = known_identity("person", &["198.51.100.0/24"], arguments);
            known["identities"][0]["mfa"] = json!(true);
            Ok(known)
        }
        "log_search.json_lines" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:50:00Z", "action": "ConsoleLogin", "principal": "maria.lopez",
                "source_ip": "198.51.100.77", "outcome": "success", "error": null, "mfa": false}]),
        )),
        _ => quiet(kind, arguments),
    };
    let account = record("identity", IndicatorKind::Principal, "maria.lopez");
    let world = PlaybookCase::with(&ALL, usual).clearing(account);
    let end = world.run(travel()).conclusion;
    assert_ne!(end.verdict, Verdict::FalsePositive);
    let facts = end.exonerations.iter();
    let said: Vec<_> = facts.map(|fact| fact.statement.as_str()).collect();
    assert_eq!(said, ["it is allowed"]);
}

#[test]
fn g06_f24_a_vpn_clears_only_where_the_logs_were_read_whole() {
    let failed: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Err(ToolError::Timeout { secs: 30 }),
        _ => vpn(kind, arguments),
    };
    let cut: ToolAnswers = |kind, arguments| {
        let mut answer = vpn(kind, arguments)?;
        if kind == "log_search.json_lines" {
            answer["truncated"] = json!(true);
        }
        Ok(answer)
    };
    let empty: ToolAnswers = |kind, arguments| {
        let mut answer = vpn(kind, arguments)?;
        if kind == "log_search.json_lines" {
            answer["searched"] = json!({"records_in_time": 0});
        }
        Ok(answer)
    };
    for answers in [failed, cut, empty] {
        let end = PlaybookCase::with(&ALL, answers).run(travel()).conclusion;
        assert_eq!(end.verdict, Verdict::Inconclusive);
    }
    let without: Vec<_> = ALL
        .into_iter()
        .filter(|kind| !kind.contains("log"))
        .collect();
    let end = PlaybookCase::with(&without, vpn).run(travel()).conclusion;
    assert_eq!(
        end.verdict,
        Verdict::Inconclusive,
        "no log was there to read"
    );
}

#[test]
fn a_mail_rule_from_the_address_is_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(
            json!({"source": "idp", "rows_scanned": 40, "rows_matched": 1, "truncated": false,
            "rows": [{"at": "2026-03-02T02:51:00Z", "action": "New-InboxRule", "principal": "maria.lopez", "source_ip": "198.51.100.77", "outcome": "success"}]}),
        ),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(sample(ALERT));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert has a sign-in of maria.lopez from 198.51.100.77 besides 192.0.2.14
    For [E10 E0] From 198.51.100.77 came New-InboxRule by maria.lopez at 2026-03-02T02:51:00Z: what intruders do to stay
    For [E6 E0] The identity register does not know maria.lopez
    Against [E11 E0] The logs that were searched (log_search_cloudtrail) show nothing from 198.51.100.77
    Against [E2] Neither address is on a watch list (2 looked up)
    ");
}

#[test]
fn with_the_default_tools_it_stays_open() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(sample(ALERT));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    assert!(ran.state.steps().len() >= 3);
    insta::assert_snapshot!(ran.claims(), @r#"
    For [E0] The alert has a sign-in of maria.lopez from 198.51.100.77 besides 192.0.2.14
    Against [E2] Neither address is on a watch list (2 looked up)
    "#);
    insta::assert_snapshot!(ran.would_decide(), @"
    What maria.lopez says when called: whether the sign-in from 198.51.100.77 was theirs
    What 198.51.100.77 is: a watch list of our VPN egresses, or the usual networks of the account in the identity register
    Sign-in and audit logs of the session from 198.51.100.77: mail rules, new factors, downloads
    ");
}

#[test]
fn own_usual_address_does_not_clear_the_other_address() {
    let home: ToolAnswers = |kind, arguments| match (kind, arguments["indicator"].as_str()) {
        ("watchlist", Some("192.0.2.14")) => Ok(on_list("own", arguments)),
        ("watchlist", Some("198.51.100.77")) => Ok(on_list("malicious", arguments)),
        ("log_search.json_lines", _) => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:51:00Z", "action": "sign-in", "principal": "maria.lopez", "source_ip": "198.51.100.77", "outcome": "success"}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, home).run(travel());
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    assert!(
        !ran.claims().contains("192.0.2.14 is on"),
        "{}",
        ran.claims()
    );
}

#[test]
fn login_from_usual_address_does_not_clear_a_listed_one() {
    let home: ToolAnswers = |kind, arguments| match (kind, arguments["indicator"].as_str()) {
        ("watchlist", Some("192.0.2.14")) => Ok(on_list("own", arguments)),
        ("watchlist", Some("198.51.100.77")) => Ok(on_list("malicious", arguments)),
        ("log_search.json_lines", _) if arguments["ip"] == "192.0.2.14" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:31:00Z", "action": "sign-in", "principal": "maria.lopez", "source_ip": "192.0.2.14", "outcome": "success"}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, home).run(travel());
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
}
