use std::sync::Arc;

use nightshift_alert::{Flag, Indicator};
use serde_json::json;

use super::*;
use crate::{
    ConclusionDraft, Exoneration, Leaning, Reason, ToolSpec, TrustedPath, Verdict, fixture,
};

const KEY: &str = "ASIAEXAMPLEKEY000001";

/// A log tool and a register, as the tools crate declares them.
fn tools() -> Vec<ToolSpec> {
    let tool = |kind: &str, path: &str, trust| ToolSpec {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        trust: vec![TrustedPath {
            path: path.to_owned(),
            trust,
        }],
        ..fixture::tools().remove(0)
    };
    vec![
        tool(
            "log_search.cloudtrail",
            "/rows/*/source_ip",
            Trust::Platform,
        ),
        tool("identity_lookup", "/identities", Trust::Register),
        tool("watchlist", "/matches", Trust::Register),
        tool("wiki", "", Trust::External),
    ]
}

/// A case of an alert about a key, its actor cleared, with these answers of tools.
fn case(answers: &[(&str, Value)]) -> State {
    let mut opened = fixture::opened(crate::Limits::default());
    let mut alert = Alert::clone(&opened.alert);
    alert
        .indicators
        .push(Indicator::new(IndicatorKind::AccessKey, KEY, Role::Target));
    opened.alert = Arc::new(alert);
    opened.tools = tools().into();
    let mut state = fixture::opened_state();
    state.opened = Some(Arc::new(opened));
    state.exonerations = vec![Exoneration {
        kind: "identity".to_owned(),
        subject_type: IndicatorKind::Ip,
        subject: "198.51.100.7".to_owned(),
        from: None,
        until: None,
        covers: vec!["*".to_owned()],
        approved_by: "g.brandt".to_owned(),
        reference: "ci-drift".to_owned(),
        statement: "it is ours".to_owned(),
        detection_wrong: false,
        scope: crate::Scope::default(),
        extent: crate::Extent::default(),
        evidence: None,
    }];
    for (number, (kind, body)) in (2..).zip(answers) {
        let mut evidence = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        evidence.id = EvidenceId(number);
        (*kind).clone_into(&mut evidence.tool);
        (*kind).clone_into(&mut evidence.kind);
        evidence.body = body.clone().into();
        state.evidence.insert(evidence.id, Arc::new(evidence));
    }
    state
}

fn row(action: &str, source: &str) -> Value {
    json!({"at": "2026-03-02T02:41:12Z", "action": action, "source_ip": source, "access_key": KEY,
        "principal": "ci-drift", "outcome": "success", "error": null, "read_only": action != "CreateUser"})
}

fn found(rows: &[Value], others: &[(&str, Value)]) -> Option<String> {
    let mut answers = vec![("log_search.cloudtrail", json!({"rows": rows}))];
    answers.extend_from_slice(others);
    let state = case(&answers);
    let alert = Arc::clone(state.alert().unwrap());
    of(&state, &alert).map(|call| call.would_decide)
}

#[test]
fn a_deed_of_the_same_key_from_an_address_that_no_record_covers_is_found() {
    let rows = [
        row("ListUsers", "198.51.100.7"),
        row("GetObject", "203.0.113.42"),
        row("CreateUser", "203.0.113.42"),
    ];
    insta::assert_snapshot!(found(&rows, &[]).unwrap(), @"Whose 203.0.113.42 is, and whether CreateUser from there at 2026-03-02T02:41:12Z was allowed [E2]: a record that covers the address");
}

#[test]
fn addresses_of_the_alert_of_registers_and_of_the_cloud_are_accounted_for() {
    let identities = json!({"principal": "203.0.113.42", "identities": [{"principal": "ci-drift",
        "usual_networks": ["198.51.100.16/28", "0.0.0.0/0"], "outside_usual_networks": ["203.0.113.42"], "status": "active",
        "more": {"last_abuse_from": "203.0.113.42"}}]});
    let lists = json!({"indicator": "203.0.113.42", "matches": [{"meaning": "own", "entry": "192.0.2.64/27"},
        {"meaning": "malicious", "entry": "203.0.113.42"}]});
    let registers = [("identity_lookup", identities), ("watchlist", lists)];
    let rows = [
        row("ListUsers", "198.51.100.7"),
        row("ListUsers", "198.51.100.20"),
        row("ListUsers", "192.0.2.70"),
        row("ListUsers", "10.0.0.9"),
        row("ListUsers", "cloudformation.amazonaws.com"),
    ];
    assert_eq!(found(&rows, &registers), None);
    let elsewhere = [row("ListUsers", "203.0.113.42")];
    assert!(
        found(&elsewhere, &registers).is_some(),
        "a list of bad ones, a network of everything, the question itself and what is unusual account for nothing"
    );
}

#[test]
fn a_row_that_is_over_that_nobody_approved_or_that_was_switched_off_accounts_for_nothing() {
    let elsewhere = [row("CreateUser", "203.0.113.42")];
    let held_up = |kind: &str, body: Value| found(&elsewhere, &[(kind, body)]).is_some();
    let scanner = |valid: Value, approved_by: Value| json!({"scanners": [{"id": "PT-7", "subject": "203.0.113.0/24", "approved_by": approved_by, "valid_at_event": valid}]});
    for (valid, approved_by, holds_up) in [
        (json!(true), json!("ciso"), false),
        (json!(false), json!("ciso"), true),
        (Value::Null, json!("ciso"), true),
        (json!(true), Value::Null, true),
    ] {
        let told = format!("{valid} {approved_by}");
        let scanner = scanner(valid, approved_by);
        assert_eq!(held_up(SCANNERS, scanner), holds_up, "{told}");
    }
    for (status, holds_up) in [
        (json!("active"), false),
        (Value::Null, false),
        (json!("disabled"), true),
    ] {
        let told = status.to_string();
        let identity =
            json!({"identities": [{"usual_networks": ["203.0.113.0/24"], "status": status}]});
        assert_eq!(held_up("identity_lookup", identity), holds_up, "{told}");
    }
}

#[test]
fn an_address_of_the_machine_itself_is_accounted_for_and_one_in_a_text_is_not() {
    let rows = json!({"rows": [row("ListUsers", "203.0.113.42")]});
    let state = case(&[("log_search.cloudtrail", rows)]);
    let mut alert = Alert::clone(state.alert().unwrap());
    let address = Indicator::new(IndicatorKind::Ip, "203.0.113.42", Role::Related);
    alert.indicators.push(address);
    assert!(of(&state, &alert).is_some());
    alert.addresses = vec!["203.0.113.42".to_owned()];
    assert_eq!(of(&state, &alert), None);
}

#[test]
fn what_failed_what_others_did_and_what_anybody_may_write_is_no_use_of_the_key() {
    let mut failed = row("CreateUser", "203.0.113.42");
    failed["error"] = json!("AccessDenied");
    failed["outcome"] = json!("failure");
    let mut other = row("CreateUser", "203.0.113.42");
    other["access_key"] = json!("AKIAOTHER");
    let written = json!({"rows": [row("CreateUser", "203.0.113.42")]});
    assert_eq!(found(&[failed, other], &[("wiki", written)]), None);
}

#[test]
fn a_session_or_a_user_is_the_identity_that_the_alert_gives_the_bare_name_of() {
    let used_by = |who: &str, named: &str| {
        let mut call = row("GetObject", "203.0.113.42");
        (call["access_key"], call["principal"]) = (json!("ASIAANOTHER"), json!(who));
        let mut state = case(&[("log_search.cloudtrail", json!({"rows": [call]}))]);
        let mut opened = crate::Opened::clone(state.opened.as_ref().unwrap());
        let mut alert = Alert::clone(&opened.alert);
        let actor = Indicator::new(IndicatorKind::Principal, named, Role::Actor);
        alert.indicators.push(actor);
        opened.alert = Arc::new(alert);
        state.opened = Some(Arc::new(opened));
        of(&state, state.alert().unwrap()).map(|used| used.text)
    };
    let root = "arn:aws:iam::444455556666:root";
    insta::assert_snapshot!(used_by(root, "Root").unwrap(), @"Root was also used from 203.0.113.42, which no record covers");
    assert_eq!(used_by("arn:aws:iam::999900001111:root", "Root"), None);
    for who in [
        "ci-drift",
        "arn:aws:sts::444455556666:assumed-role/ci-drift/drift",
        "arn:aws:sts::444455556666:assumed-role/CI-Drift/i-0a1b",
        "arn:aws:iam::444455556666:user/robots/ci-drift",
    ] {
        let told = used_by(who, "ci-drift").unwrap_or_else(|| panic!("{who} is ci-drift"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(told, @"ci-drift was also used from 203.0.113.42, which no record covers");
        }
    }
    for who in [
        "arn:aws:sts::999900001111:assumed-role/ci-drift/drift",
        "arn:aws:sts::444455556666:assumed-role/other/ci-drift",
        "arn:aws:sts::444455556666:federated-user/ci-drift",
        "arn:aws:iam::444455556666:user/ci-drift/other",
        "ci-drift-2",
    ] {
        assert_eq!(used_by(who, "ci-drift"), None, "{who}");
    }
}

/// A case whose key was used elsewhere, and an analyst that says this.
fn concluded(draft: ConclusionDraft) -> crate::Conclusion {
    let used = json!({"rows": [row("CreateUser", "203.0.113.42")]});
    let mut state = case(&[("log_search.cloudtrail", used)]);
    let question = state.conclude_question().unwrap();
    assert!(!question.cleared);
    insta::allow_duplicates! {
        insta::assert_snapshot!(question.held_up.unwrap(), @"ASIAEXAMPLEKEY000001 was also used from 203.0.113.42, which no record covers");
    }
    state.draft = Some(draft);
    crate::conclude::conclusion(&state).unwrap()
}

fn plain_draft() -> ConclusionDraft {
    ConclusionDraft {
        would_decide: vec!["An approved record that ci-drift does this".to_owned()],
        ..crate::conclude::plain::draft(&fixture::opened_state())
    }
}

#[test]
fn no_analyst_clears_an_alert_whose_key_was_used_elsewhere() {
    let end = concluded(ConclusionDraft {
        verdict: Verdict::FalsePositive,
        ..plain_draft()
    });
    assert_eq!(
        (end.verdict, end.leaning, end.reason),
        (Verdict::Inconclusive, Leaning::None, Reason::NotExonerated)
    );
    assert!(end.summary.contains("was also used from 203.0.113.42"));
}

#[test]
fn a_report_names_the_call_also_where_the_analyst_clears_nothing() {
    let end = |leaning| {
        let end = concluded(ConclusionDraft {
            leaning,
            reason: Reason::MissingData,
            ..plain_draft()
        });
        format!(
            "{}; {}\n{}",
            end.leaning.as_str(),
            end.summary,
            end.would_decide.join("\n")
        )
    };
    insta::assert_snapshot!(end(Leaning::Benign), @"
    none; 198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. Not decided: ASIAEXAMPLEKEY000001 was also used from 203.0.113.42, which no record covers.
    Whose 203.0.113.42 is, and whether CreateUser from there at 2026-03-02T02:41:12Z was allowed [E2]: a record that covers the address
    ");
    insta::assert_snapshot!(end(Leaning::Malicious), @"
    malicious; 198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. Not decided: ASIAEXAMPLEKEY000001 was also used from 203.0.113.42, which no record covers.
    Whose 203.0.113.42 is, and whether CreateUser from there at 2026-03-02T02:41:12Z was allowed [E2]: a record that covers the address
    An approved record that ci-drift does this
    ");
}

#[test]
fn a_report_names_the_call_also_where_something_else_stands_in_the_way() {
    let used = json!({"rows": [row("CreateUser", "203.0.113.42")]});
    let mut state = case(&[("log_search.cloudtrail", used)]);
    state.plan_error = Some("no answer".to_owned());
    state.draft = Some(ConclusionDraft {
        verdict: Verdict::BenignTruePositive,
        ..plain_draft()
    });
    let end = crate::conclude::conclusion(&state).unwrap();
    assert_eq!(end.leaning, Leaning::None);
    insta::assert_snapshot!(end.would_decide.join("\n"), @r"
    Whose 203.0.113.42 is, and whether CreateUser from there at 2026-03-02T02:41:12Z was allowed [E2]: a record that covers the address
    Another run, once a plan can be made
    ");
}

/// A case whose log was searched for this value, with room for two rows from an address of the alert.
fn cut(asked: (&str, &str), sources: &Value) -> State {
    let shown = row("ListUsers", "198.51.100.7");
    let found: u64 = sources
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    let body = json!({"rows": [shown, shown], "summary": {"source_ips": sources}});
    let mut state = case(&[("log_search.cloudtrail", body)]);
    let mut evidence = Evidence::clone(state.evidence_of(EvidenceId(2)).unwrap());
    evidence
        .arguments
        .insert(asked.0.to_owned(), asked.1.into());
    evidence.rows = Some(found);
    evidence.truncated = found > 2;
    evidence.flags = vec![Flag::Truncated {
        path: "/rows".to_owned(),
    }];
    state.evidence.insert(evidence.id, Arc::new(evidence));
    state
}

fn held_up(asked: (&str, &str), sources: &Value) -> Option<String> {
    let state = cut(asked, sources);
    let found = of(&state, state.alert().unwrap())?;
    Some(format!("{}\n{}", found.text, found.would_decide))
}

#[test]
fn what_a_search_by_the_key_counts_and_does_not_show_is_not_cleared() {
    let by_key = ("access_key", KEY);
    let sources =
        json!({"198.51.100.7": 250, "203.0.113.42": 2, "10.0.0.9": 4, "s3.amazonaws.com": 1});
    insta::assert_snapshot!(held_up(by_key, &sources).unwrap(), @r"
    E2 was cut, and does not show 2 calls by ASIAEXAMPLEKEY000001 from 203.0.113.42, which no record covers
    What ASIAEXAMPLEKEY000001 did from 203.0.113.42 (2 calls that E2 counts and does not show): a search for that source, or a record that covers it [E2]
    ");
    let many = json!({"198.51.100.7": 250, "203.0.113.1": 2, "203.0.113.2": 1, "203.0.113.3": 1, "203.0.113.4": 1});
    insta::assert_snapshot!(held_up(by_key, &many).unwrap(), @r"
    E2 was cut, and does not show 5 calls by ASIAEXAMPLEKEY000001 from 203.0.113.1, 203.0.113.2, 203.0.113.3 and 1 more, which no record covers
    What ASIAEXAMPLEKEY000001 did from 203.0.113.1, 203.0.113.2, 203.0.113.3 and 1 more (5 calls that E2 counts and does not show): a search for that source, or a record that covers it [E2]
    ");
    let unnamed = json!({"198.51.100.7": 250, "(others)": 31});
    insta::assert_snapshot!(held_up(by_key, &unnamed).unwrap(), @r"
    E2 was cut, and does not tell from where all calls by ASIAEXAMPLEKEY000001 came
    From where 31 calls by ASIAEXAMPLEKEY000001 came that E2 counts and does not show: the same search over shorter times [E2]
    ");
}

#[test]
fn a_search_that_was_cut_holds_nothing_up_where_its_rows_show_each_source() {
    let by_key = ("access_key", KEY);
    let whole = json!({"198.51.100.7": 2});
    assert_eq!(held_up(by_key, &whole), None);
    let ours = json!({"198.51.100.7": 250, "10.0.0.9": 4, "s3.amazonaws.com": 1});
    assert_eq!(held_up(by_key, &ours), None);
    let strange = json!({"198.51.100.7": 250, "203.0.113.42": 2});
    assert_eq!(
        held_up(("ip", "198.51.100.7"), &strange),
        None,
        "others may call from there"
    );
    let rows_of_the_rest = json!({"203.0.113.9": 250, "(others)": 2});
    assert!(
        held_up(by_key, &rows_of_the_rest)
            .unwrap()
            .contains("203.0.113.9")
    );
    let registers = json!({"matches": [{"meaning": "own", "entry": "203.0.113.0/24"}]});
    let mut state = cut(by_key, &strange);
    let mut list = Evidence::clone(state.evidence_of(EvidenceId(2)).unwrap());
    (list.id, list.kind, list.body) = (EvidenceId(3), "watchlist".to_owned(), registers.into());
    state.evidence.insert(list.id, Arc::new(list));
    assert_eq!(of(&state, state.alert().unwrap()), None, "a list covers it");
}

#[test]
fn what_only_repeats_what_is_shown_hides_nothing() {
    let unnamed = json!({"198.51.100.7": 250, "(others)": 31});
    for (said, trust, hides) in [
        ("repeats", Trust::Platform, false),
        ("others", Trust::Platform, true),
        ("repeats", Trust::External, true),
    ] {
        let mut state = cut(("access_key", KEY), &unnamed);
        let mut evidence = Evidence::clone(state.evidence_of(EvidenceId(2)).unwrap());
        let mut body = evidence.body.value();
        body["left_out"] = json!(said);
        evidence.body = body.into();
        state.evidence.insert(evidence.id, Arc::new(evidence));
        let mut opened = crate::Opened::clone(state.opened.as_ref().unwrap());
        let mut tools = opened.tools.to_vec();
        let path = "/left_out".to_owned();
        tools[0].trust.push(TrustedPath { path, trust });
        opened.tools = tools.into();
        state.opened = Some(Arc::new(opened));
        let found = of(&state, state.alert().unwrap());
        assert_eq!(found.is_some(), hides, "{said} {trust:?}");
    }
}

#[test]
fn a_report_of_a_search_that_was_cut_says_how_much_it_shows_and_is_not_sure() {
    let ours = json!({"198.51.100.7": 250});
    let mut state = cut(("access_key", KEY), &ours);
    state.draft = Some(ConclusionDraft {
        verdict: Verdict::BenignTruePositive,
        ..crate::conclude::plain::draft(&state)
    });
    let end = crate::conclude::conclusion(&state).unwrap();
    assert_eq!(
        (end.verdict, end.confidence),
        (Verdict::BenignTruePositive, crate::Confidence::Medium)
    );
    insta::assert_snapshot!(end.gaps.join("\n"), @"E2 (log_search.cloudtrail) is not whole: 2 of 250 rows");
    let mut opened = crate::Opened::clone(state.opened.as_ref().unwrap());
    let mut tools = opened.tools.to_vec();
    tools[0].trust.push(TrustedPath {
        path: "/note".to_owned(),
        trust: Trust::Platform,
    });
    opened.tools = tools.into();
    state.opened = Some(Arc::new(opened));
    let mut evidence = Evidence::clone(state.evidence_of(EvidenceId(2)).unwrap());
    evidence.body =
        json!({"rows": [], "note": "2 of 250 rows, those nearest to the alert's events"}).into();
    state.evidence.insert(evidence.id, Arc::new(evidence));
    let end = crate::conclude::conclusion(&state).unwrap();
    insta::assert_snapshot!(end.gaps.join("\n"), @"E2 (log_search.cloudtrail) is not whole: 2 of 250 rows, those nearest to the alert's events");
}
