//! Tests which records cover a subject, with small alerts and records.

use nightshift_alert::{Caller, Direction, FindingClass, Indicator, IndicatorKind};

use super::subject::SubjectKind;
use super::*;
use crate::evidence::EvidenceId;
use crate::exoneration::{ListedValues, RecordScope};
use crate::fixture::{self, ACCOUNT, record};

const ROLE: &str = "ci-inventory";
const KEY: &str = "ASIAEXAMPLE00000001";
const OURS: &str = "198.51.100.23";
const STRANGER: &str = "203.0.113.66";

fn alert(indicators: &[(IndicatorKind, &str, IndicatorRole)]) -> Alert {
    let mut alert = fixture::alert();
    "Discovery:IAMUser/AnomalousBehavior".clone_into(&mut alert.kind);
    alert.action = Some("AWS_API_CALL ListUsers".to_owned());
    alert.indicators = indicators
        .iter()
        .map(|(kind, value, role)| Indicator::new(*kind, *value, *role))
        .collect();
    alert
}

/// Returns the alert of a role that called with a temporary key from an address, all three written by the platform.
fn call() -> Alert {
    let mut alert = alert(&[
        (IndicatorKind::Principal, ROLE, IndicatorRole::Actor),
        (IndicatorKind::AccessKey, KEY, IndicatorRole::Actor),
        (IndicatorKind::Ip, OURS, IndicatorRole::Actor),
    ]);
    alert.callers = vec![Caller {
        principal: Some(ROLE.to_owned()),
        access_key: Some(KEY.to_owned()),
        address: Some(OURS.to_owned()),
    }];
    alert
}

/// Returns the alert of a machine that contacts a far end.
fn contact() -> Alert {
    let mut alert = alert(&[
        (IndicatorKind::Instance, "i-1", IndicatorRole::Target),
        (
            IndicatorKind::Domain,
            "pool.example.com",
            IndicatorRole::Remote,
        ),
    ]);
    alert.direction = Some(Direction::Outbound);
    alert
}

fn add(alert: &mut Alert, kind: IndicatorKind, value: &str, role: IndicatorRole) {
    alert.indicators.push(Indicator::new(kind, value, role));
}

/// Returns the row of the role, which lists its network.
fn role() -> Exoneration {
    let mut role = record(IndicatorKind::Principal, ROLE);
    role.extent.networks = these(&["198.51.100.0/24"]);
    role
}

/// Returns the row of the machine, which lists the addresses that the machine contacts.
fn machine() -> Exoneration {
    let mut machine = record(IndicatorKind::Instance, "i-1");
    "asset".clone_into(&mut machine.kind);
    machine.extent.targets = these(&["*.example.com"]);
    machine
}

fn these(values: &[&str]) -> ListedValues {
    ListedValues::These(values.iter().map(|value| (*value).to_owned()).collect())
}

fn missing(alert: &Alert, records: &[Exoneration]) -> Vec<String> {
    let records = CaseRecords {
        alert,
        all: records.iter().collect(),
        malicious_addresses: crate::watch_list::feed_listed_addresses(alert),
    };
    let rows = Ledger::new(alert, records, None).rows();
    let missing = rows.into_iter().filter(|row| row.missing.is_some());
    missing
        .map(|row| format!("{} {}", row.subject_type, row.subject))
        .collect()
}

#[test]
fn role_with_its_key_and_network_is_covered() {
    assert!(clears(&[role()], &call()));
    assert_eq!(missing(&call(), &[]).len(), 3);
}

#[test]
fn x01_record_of_one_subject_covers_no_other_actor() {
    let mut two = call();
    add(
        &mut two,
        IndicatorKind::Principal,
        "mallory",
        IndicatorRole::Actor,
    );
    assert_eq!(missing(&two, &[role()]), ["principal mallory"]);
    let mut by_address = call();
    add(
        &mut by_address,
        IndicatorKind::Ip,
        STRANGER,
        IndicatorRole::Actor,
    );
    assert_eq!(missing(&by_address, &[role()]), [format!("ip {STRANGER}")]);
    let scanner = Exoneration {
        kind: "authorised_scanner".to_owned(),
        ..record(IndicatorKind::Ip, OURS)
    };
    assert_eq!(
        missing(&call(), &[scanner]),
        [format!("principal {ROLE}"), format!("access_key {KEY}")]
    );
    let mut with_target = call();
    add(
        &mut with_target,
        IndicatorKind::Bucket,
        "logs",
        IndicatorRole::Target,
    );
    let bucket = record(IndicatorKind::Bucket, "logs");
    assert!(!clears(&[bucket], &with_target));
    assert!(clears(&[role()], &with_target));
}

#[test]
fn x02_actor_that_cannot_be_read_is_not_covered() {
    let mut unreadable = call();
    unreadable.unreadable = vec!["/service/action/who".to_owned()];
    assert_eq!(
        missing(&unreadable, &[role()]),
        ["unreadable /service/action/who"]
    );
    let nobody = alert(&[]);
    assert_eq!(missing(&nobody, &[role()]).len(), 1);
}

#[test]
fn x03_record_of_other_account_region_cluster_covers_nothing() {
    let scoped = |change: fn(&mut RecordScope)| {
        let mut record = role();
        change(&mut record.scope);
        record
    };
    type ScopeChange = fn(&mut RecordScope);
    let cases: [(ScopeChange, bool); 7] = [
        (
            |scope| scope.account = Some("111122223333".to_owned()),
            false,
        ),
        (|scope| scope.account = None, false),
        (|scope| scope.account = Some("*".to_owned()), true),
        (|scope| scope.region = Some("eu-west-1".to_owned()), true),
        (|scope| scope.region = Some("us-east-1".to_owned()), false),
        (|scope| scope.partition = Some("aws-cn".to_owned()), false),
        (|scope| scope.cluster = Some("prod".to_owned()), false),
    ];
    for (number, (change, covers)) in cases.into_iter().enumerate() {
        assert_eq!(clears(&[scoped(change)], &call()), covers, "{number}");
    }
    let mut without_account = call();
    without_account.account = None;
    assert!(!clears(&[role()], &without_account));
    assert!(clears(
        &[scoped(|scope| scope.account = None)],
        &without_account
    ));
}

#[test]
fn x03_private_address_needs_an_account_and_public_does_not() {
    for (address, covers) in [(STRANGER, true), ("10.1.2.3", false)] {
        let scanned = alert(&[(IndicatorKind::Ip, address, IndicatorRole::Actor)]);
        let mut scanner = record(IndicatorKind::Ip, address);
        scanner.scope = RecordScope::default();
        assert_eq!(clears(&[scanner], &scanned), covers, "{address}");
        assert!(
            clears(&[record(IndicatorKind::Ip, address)], &scanned),
            "{address}"
        );
    }
}

#[test]
fn x04_record_of_a_name_covers_no_other_kind() {
    let container = alert(&[(IndicatorKind::Container, "i-1", IndicatorRole::Target)]);
    assert!(!clears(
        &[record(IndicatorKind::Instance, "i-1")],
        &container
    ));
}

#[test]
fn x08_dropped_actor_is_not_covered() {
    let mut cut = call();
    cut.unseen = true;
    assert_eq!(missing(&cut, &[role()]).len(), 1);
}

#[test]
fn x11_far_end_is_covered_by_a_record_that_names_it() {
    assert!(clears(&[machine()], &contact()));
    let mut other = contact();
    add(
        &mut other,
        IndicatorKind::Ip,
        STRANGER,
        IndicatorRole::Remote,
    );
    assert_eq!(missing(&other, &[machine()]), [format!("ip {STRANGER}")]);
    let mut whatever = machine();
    whatever.extent.targets = ListedValues::Any;
    assert!(clears(&[whatever], &other));
    let far_end = record(IndicatorKind::Domain, "pool.example.com");
    assert_eq!(missing(&contact(), &[far_end]), ["instance i-1"]);
}

#[test]
fn x12_direction_makes_the_far_end_a_subject_beside_an_actor() {
    let mut sequence = call();
    add(
        &mut sequence,
        IndicatorKind::Ip,
        STRANGER,
        IndicatorRole::Remote,
    );
    assert!(clears(&[role()], &sequence));
    sequence.direction = Some(Direction::Outbound);
    assert_eq!(missing(&sequence, &[role()]), [format!("ip {STRANGER}")]);
}

#[test]
fn x13_person_behind_a_borrowed_identity_is_named_by_its_record() {
    let mut borrowed = call();
    add(
        &mut borrowed,
        IndicatorKind::Principal,
        "mallory@evil.example",
        IndicatorRole::Actor,
    );
    let mut any = role();
    any.extent.persons = ListedValues::Any;
    assert_eq!(
        missing(&borrowed, &[any]),
        ["principal mallory@evil.example"]
    );
    let mut named = role();
    named.extent.persons = these(&["mallory@evil.example"]);
    assert!(clears(&[named], &borrowed));
}

#[test]
fn address_is_covered_by_its_own_caller_only() {
    let mut two = call();
    add(&mut two, IndicatorKind::Ip, STRANGER, IndicatorRole::Actor);
    two.callers.push(Caller {
        address: Some(STRANGER.to_owned()),
        ..Caller::default()
    });
    let mut anywhere = role();
    anywhere.extent.networks = ListedValues::Any;
    assert_eq!(
        missing(&two, &[anywhere.clone()]),
        [format!("ip {STRANGER}")]
    );
    two.callers.last_mut().unwrap().principal = Some(ROLE.to_owned());
    assert!(clears(&[anywhere.clone()], &two));
    // A finding about the address is not covered by `any` address.
    "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.OutsideAWS"
        .clone_into(&mut two.kind);
    assert!(!clears(&[anywhere.clone()], &two));
    let mut listed = role();
    listed.extent.networks = these(&["198.51.100.0/24", STRANGER]);
    assert!(clears(&[listed], &two));
    // An empty column lists nothing.
    assert!(!clears(&[record(IndicatorKind::Principal, ROLE)], &call()));
}

#[test]
fn long_lived_key_needs_listing_and_temporary_one_its_holder() {
    let lasting = "AKIAEXAMPLE000000001";
    let mut alert = call();
    alert.indicators[1].value = lasting.to_owned();
    alert.callers[0].access_key = Some(lasting.to_owned());
    assert_eq!(
        missing(&alert, &[role()]),
        [format!("access_key {lasting}")]
    );
    let mut listed = role();
    listed.extent.keys = these(&[lasting]);
    assert!(clears(&[listed], &alert));
    let mut alone = call();
    alone.callers[0].principal = None;
    assert!(missing(&alone, &[role()]).contains(&format!("access_key {KEY}")));
}

#[test]
fn windows_of_one_subject_add_up_and_have_no_hole() {
    let from_to = |from, until| Exoneration {
        from: Some(fixture::at(from)),
        until: Some(fixture::at(until)),
        ..role()
    };
    // The events span 60 seconds.
    assert!(clears(&[from_to(-9, 30), from_to(30, 90)], &call()));
    assert!(clears(&[from_to(20, 90), from_to(-9, 30)], &call()));
    assert!(!clears(&[from_to(-9, 20), from_to(30, 90)], &call()));
    assert!(!clears(&[from_to(1, 90)], &call()));
    let change = Exoneration {
        slack_mins: 5,
        ..from_to(240, 900)
    };
    let starts_at = |from, slack_mins| Exoneration {
        from: Some(fixture::at(from)),
        slack_mins,
        ..change.clone()
    };
    assert!(clears(std::slice::from_ref(&change), &call()));
    assert!(!clears(&[starts_at(301, 5)], &call()));
    assert!(clears(&[starts_at(890, 15)], &call()));
    assert!(
        !clears(&[starts_at(901, 60)], &call()),
        "15 minutes at most"
    );
}

#[test]
fn expired_record_covers_no_single_moment() {
    let mut alert = call();
    let times = &mut alert.times;
    (times.first_seen, times.last_seen) = (Some(fixture::at(60)), Some(fixture::at(60)));
    let until = |until| Exoneration {
        until: Some(fixture::at(until)),
        ..role()
    };
    assert!(clears(&[until(60)], &alert));
    assert!(!clears(&[until(59)], &alert));
    assert!(!clears(&[until(-600), until(59)], &alert));
}

#[test]
fn expected_call_needs_one_of_adjoining_records_at_its_time() {
    let half = |from, until, calls: &[&str]| {
        let mut half = role();
        (half.from, half.until) = (Some(fixture::at(from)), Some(fixture::at(until)));
        half.extent.calls = these(calls);
        half
    };
    let alert = call();
    let covers = |all: &[Exoneration], at| {
        let mut subjects = subject::subjects(&alert);
        let mut made = subjects[0].clone();
        (made.kind, made.value) = (SubjectKind::Call, "s3:PutObject".to_owned());
        (made.logged_principal, made.at) = (Some(ROLE.to_owned()), Some(fixture::at(at)));
        subjects.push(made.clone());
        let records = CaseRecords {
            alert: &alert,
            all: all.iter().collect(),
            malicious_addresses: Vec::new(),
        };
        records.covering_records(&made, &subjects).is_some()
    };
    let listed = &["s3:PutObject"];
    let both = [half(-9, 30, listed), half(30, 90, listed)];
    assert!(covers(&both, 10) && covers(&both, 50));
    assert!(!covers(&both, 100), "no record is in force then");
    let one = [half(-9, 30, listed), half(30, 90, &[])];
    assert!(!covers(&one, 10), "the other half expects no such call");
}

#[test]
fn whoever_another_may_list_does_not_end_the_questions() {
    let mut opened = fixture::opened(crate::limits::TriageLimits::default());
    let people = [
        (IndicatorKind::Principal, "ben", IndicatorRole::Actor),
        (IndicatorKind::Principal, ROLE, IndicatorRole::Actor),
    ];
    opened.alert = std::sync::Arc::new(alert(&people));
    let mut register = fixture::tools().remove(1);
    register.kind = "identity_lookup".to_owned();
    register.arguments[0].kind = crate::tool::ArgumentKind::Indicator {
        types: vec![IndicatorKind::Principal],
    };
    opened.tools = vec![register].into();
    let mut state = fixture::opened_state();
    state.setup = Some(std::sync::Arc::new(opened));
    let mut asked = Vec::new();
    while let [call, ..] = lookup::required_calls(&state).as_slice() {
        let alert = state.evidence_of(EvidenceId::ALERT).unwrap();
        let mut answer = crate::evidence::Evidence::clone(alert);
        answer.id = EvidenceId(9 + asked.len() as u32);
        (answer.tool, answer.arguments) = (call.tool.clone(), call.arguments.clone());
        asked.push(call.arguments["indicator"].clone());
        let answer = std::sync::Arc::new(answer);
        state.evidence.insert(answer.id, answer);
    }
    assert_eq!(asked, ["ben", ROLE]);
}

#[test]
fn machine_covers_the_code_that_its_record_lists() {
    let mut malware = contact();
    malware.indicators.pop();
    add(
        &mut malware,
        IndicatorKind::Process,
        "xmrig",
        IndicatorRole::Related,
    );
    assert_eq!(missing(&malware, &[machine()]), ["process xmrig"]);
    let mut listed = machine();
    listed.extent.processes = these(&["xmrig"]);
    assert!(clears(&[listed], &malware));
    malware.class = FindingClass::Posture;
    assert!(clears(&[machine()], &malware));
}

#[test]
fn record_of_an_address_covers_the_one_machine_that_has_it() {
    let mut scans = contact();
    scans.addresses = vec!["10.20.40.8".to_owned()];
    let mut scanner = record(IndicatorKind::Ip, "10.20.40.8");
    scanner.extent.targets = ListedValues::Any;
    assert!(clears(&[scanner.clone()], &scans));
    add(
        &mut scans,
        IndicatorKind::Instance,
        "i-2",
        IndicatorRole::Target,
    );
    assert!(!clears(&[scanner], &scans));
}

#[test]
fn what_is_missing_is_told_with_the_row_that_would_cover_it() {
    let alert = call();
    let records = CaseRecords {
        alert: &alert,
        all: Vec::new(),
        malicious_addresses: Vec::new(),
    };
    let lines = Ledger::new(&alert, records, None).would_decide();
    insta::assert_snapshot!(lines.join("\n"), @"Whether this was allowed: ci-inventory; ASIAEXAMPLE00000001; 198.51.100.23. If it was, a row in the register of identities: subject=ci-inventory, account=444455556666, networks=198.51.100.23, expected_findings=Discovery:IAMUser/AnomalousBehavior, approved_by=…, valid_until=…");
}

#[test]
fn resources_of_several_kinds_all_stand_as_the_actor() {
    let mut two = contact();
    two.indicators.pop();
    add(
        &mut two,
        IndicatorKind::Principal,
        "mallory",
        IndicatorRole::Target,
    );
    add(
        &mut two,
        IndicatorKind::Arn,
        "arn:aws:ec2:eu-west-1:444455556666:instance/i-1",
        IndicatorRole::Target,
    );
    assert_eq!(missing(&two, &[machine()]), ["principal mallory"]);
}

#[test]
fn only_a_name_that_no_user_can_have_is_nobody() {
    for (name, is_somebody) in [("anonymous", true), ("system:anonymous", false)] {
        let scanned = alert(&[
            (IndicatorKind::Ip, OURS, IndicatorRole::Actor),
            (IndicatorKind::Principal, name, IndicatorRole::Actor),
        ]);
        let scanner = record(IndicatorKind::Ip, OURS);
        assert_ne!(clears(&[scanner], &scanned), is_somebody, "{name}");
    }
}

#[test]
fn columns_list_names_calls_and_paths() {
    for (entry, value, lists) in [
        ("xmrig", "XMRig", true),
        ("/opt/*", "/opt/backup", true),
        ("/opt/*", "/opt/../tmp/backup", false),
        ("/OPT/backup", "/opt/backup", false),
        ("*.example.com", "pool.example.com", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b", "a/b", false),
        ("198.51.100.0/24", "198.51.100.23", true),
        ("?", "x", false),
    ] {
        assert_eq!(these(&[entry]).lists(value), lists, "{entry} {value}");
    }
    for (entry, call, lists) in [
        ("PutObject", "s3:PutObject", true),
        ("s3:Put*", "s3:PutObject", true),
        ("cognito-idp:CreateUser", "iam:CreateUser", false),
        ("PutObject", "PutObject", true),
    ] {
        assert_eq!(these(&[entry]).lists_call(call), lists, "{entry} {call}");
    }
}

#[test]
fn person_behind_a_role_calls_with_its_key_from_its_network() {
    let mut borrowed = call();
    let ana = "ana@shop.example";
    add(
        &mut borrowed,
        IndicatorKind::Principal,
        ana,
        IndicatorRole::Actor,
    );
    let mut twice = borrowed.callers[0].clone();
    twice.principal = Some(ana.to_owned());
    borrowed.callers.push(twice);
    assert!(!clears(&[role()], &borrowed));
    let mut named = role();
    named.extent.persons = these(&[ana]);
    assert!(clears(&[named], &borrowed));
}

#[test]
fn x03_resource_is_of_the_account_that_its_arn_tells() {
    let mut foreign = contact();
    foreign.indicators.pop();
    foreign.resources[0].id = "arn:aws:ec2:eu-west-1:111122223333:instance/i-1".to_owned();
    assert!(!clears(&[machine()], &foreign));
    foreign.resources[0].id = format!("arn:aws:ec2:eu-west-1:{ACCOUNT}:instance/i-1");
    assert!(clears(&[machine()], &foreign));
}

/// Returns whether these records cover an alert with these rows of a log.
fn covers_with_log(alert: Alert, records: Vec<Exoneration>, rows: Vec<serde_json::Value>) -> bool {
    let mut opened = fixture::opened(crate::limits::TriageLimits::default());
    opened.alert = std::sync::Arc::new(alert);
    let mut tools = fixture::tools();
    tools[1].trust.push(crate::tool::TrustedPath {
        path: String::new(),
        trust: crate::tool::Trust::Platform,
    });
    opened.tools = tools.into();
    let mut state = fixture::opened_state();
    let told = state.evidence_of(EvidenceId::ALERT).unwrap();
    let mut trail = crate::evidence::Evidence::clone(told);
    trail.tool = "lookup".to_owned();
    trail.id = EvidenceId(2);
    trail.body = serde_json::json!({ "rows": rows }).into();
    state.setup = Some(std::sync::Arc::new(opened));
    state.exonerations = records;
    state.evidence.insert(trail.id, std::sync::Arc::new(trail));
    Ledger::from_state(&state).unwrap().is_covered()
}

fn read_from(source: &str) -> serde_json::Value {
    serde_json::json!({"principal": ROLE, "source_ip": source, "action": "ListUsers", "read_only": true})
}

#[test]
fn what_logs_show_beyond_a_limit_is_not_covered() {
    let mut anywhere = role();
    anywhere.extent.networks = ListedValues::Any;
    let covers = |rows: usize| {
        let source = |number| format!("198.51.{}.{}", number / 250, number % 250 + 1);
        let rows = (0..rows).map(|number| read_from(&source(number)));
        covers_with_log(call(), vec![anywhere.clone()], rows.collect())
    };
    assert!(covers(400));
    assert!(!covers(600));
}

#[test]
fn address_of_another_caller_is_new_where_a_log_shows_it() {
    let mut two = call();
    add(
        &mut two,
        IndicatorKind::Principal,
        "deploy",
        IndicatorRole::Actor,
    );
    add(&mut two, IndicatorKind::Ip, STRANGER, IndicatorRole::Actor);
    two.callers.push(Caller {
        principal: Some("deploy".to_owned()),
        access_key: None,
        address: Some(STRANGER.to_owned()),
    });
    let mut deploy = record(IndicatorKind::Principal, "deploy");
    deploy.extent.networks = these(&[STRANGER]);
    let covers = |source| {
        let records = vec![role(), deploy.clone()];
        covers_with_log(two.clone(), records, vec![read_from(source)])
    };
    assert!(covers(OURS));
    assert!(!covers(STRANGER), "that is where another one calls from");
}

/// Returns a finding that names no actor, and lists these resources beside a machine.
fn resources(ids: &[&str]) -> Alert {
    let mut alert = contact();
    alert.indicators.pop();
    alert.resources[0].id = "i-1".to_owned();
    alert.resources[0].name = None;
    let first = alert.resources[0].clone();
    for id in ids {
        let id = (*id).to_owned();
        add(&mut alert, IndicatorKind::Arn, &id, IndicatorRole::Related);
        alert.resources.push(nightshift_alert::Resource {
            id,
            ..first.clone()
        });
    }
    alert
}

#[test]
fn x04_each_resource_that_stands_as_the_actor_is_covered() {
    for arn in [
        "arn:aws:secretsmanager:eu-west-1:444455556666:secret:prod",
        "arn:aws:secretsmanager:eu-west-1:444455556666:secret:i-1",
        "arn:aws:sqs:eu-west-1:444455556666:q",
    ] {
        let two = resources(&[arn]);
        assert_eq!(missing(&two, &[machine()]), [format!("arn {arn}")]);
        let secret = record(IndicatorKind::Arn, arn);
        assert!(clears(&[machine(), secret], &two), "{arn}");
    }
    let mut with_more = resources(&[]);
    add(
        &mut with_more,
        IndicatorKind::Cluster,
        "evil",
        IndicatorRole::Target,
    );
    add(
        &mut with_more,
        IndicatorKind::Image,
        "x",
        IndicatorRole::Target,
    );
    assert_eq!(
        missing(&with_more, &[machine()]),
        ["cluster evil", "image x"]
    );
    // The container is named instead of the cluster in which it runs.
    add(
        &mut with_more,
        IndicatorKind::Container,
        "web",
        IndicatorRole::Target,
    );
    assert_eq!(
        missing(&with_more, &[machine()]),
        ["image x", "container web"]
    );
}

#[test]
fn x04_parts_of_a_resource_are_told_by_it() {
    let parts = [
        "arn:aws:ec2:eu-west-1:444455556666:instance/i-1",
        "arn:aws:ec2:eu-west-1:444455556666:network-interface/eni-1",
    ];
    assert!(clears(&[machine()], &resources(&parts)));
    let bucket = resources(&["arn:aws:s3:::logs", "arn:aws:s3:::logs/a/b"]);
    assert_eq!(missing(&bucket, &[machine()]), ["arn arn:aws:s3:::logs"]);
    // If the alert names an actor, its resources are context.
    let mut by_role = resources(&["arn:aws:sqs:eu-west-1:444455556666:q"]);
    add(
        &mut by_role,
        IndicatorKind::Principal,
        ROLE,
        IndicatorRole::Actor,
    );
    assert!(clears(&[role()], &by_role));
}

fn advice(alert: &Alert, records: &[Exoneration]) -> String {
    let records = CaseRecords {
        alert,
        all: records.iter().collect(),
        malicious_addresses: Vec::new(),
    };
    Ledger::new(alert, records, None).would_decide().join("\n")
}

#[test]
fn advice_names_the_column_that_a_row_lacks() {
    let mut identity = role();
    "identity".clone_into(&mut identity.kind);
    let reference = identity.reference.clone();
    // A row without networks.
    let mut nowhere = identity.clone();
    nowhere.extent.networks = ListedValues::None;
    assert_eq!(
        advice(&call(), &[nowhere]),
        format!(
            "Whether this was allowed: {OURS}. If it was, the row {reference} in the register of identities lacks it: add {OURS} to `networks`"
        )
    );
    // A row that does not list the person who calls with the same key from the same address.
    let ana = "ana@shop.example";
    let mut borrowed = call();
    add(
        &mut borrowed,
        IndicatorKind::Principal,
        ana,
        IndicatorRole::Actor,
    );
    let mut twice = borrowed.callers[0].clone();
    twice.principal = Some(ana.to_owned());
    borrowed.callers.push(twice);
    assert_eq!(
        advice(&borrowed, std::slice::from_ref(&identity)),
        format!(
            "Whether this was allowed: {ana}. If it was, the row {reference} in the register of identities lacks it: add {ana} to `persons`"
        )
    );
    // A row of the person alone does not cover the role, which belongs to nobody else.
    let mut person = record(IndicatorKind::Principal, ana);
    "identity".clone_into(&mut person.kind);
    borrowed.principals = vec![nightshift_alert::Principal {
        name: ROLE.to_owned(),
        kind: nightshift_alert::PrincipalKind::Role,
        id: None,
    }];
    let line = advice(&borrowed, &[person]);
    assert!(line.contains(&format!("subject={ROLE}")), "{line}");
    // A row without the key that lasts.
    let lasting = "AKIAEXAMPLE000000001";
    let mut with_key = call();
    with_key.indicators[1].value = lasting.to_owned();
    with_key.callers[0].access_key = Some(lasting.to_owned());
    assert!(advice(&with_key, &[identity]).ends_with(&format!("add {lasting} to `keys`")));
}

#[test]
fn advice_says_which_place_differs() {
    let mut foreign = role();
    foreign.scope.account = Some("111122223333".to_owned());
    let told = advice(&call(), &[foreign]);
    let wanted = format!("it holds in account 111122223333, and this is of account {ACCOUNT}");
    assert!(told.contains(&wanted), "{told}");
    let mut by_region = role();
    by_region.scope.region = Some("us-east-1".to_owned());
    let mut without_region = call();
    without_region.region = None;
    let told = advice(&without_region, &[by_region]);
    assert!(
        told.contains("it holds in region us-east-1, and the finding tells no region"),
        "{told}"
    );
}

#[test]
fn part_of_the_time_that_was_not_searched_is_named() {
    // The events are those of 60 seconds.
    let alert = call();
    let gap = |spans: &[(i64, i64)]| {
        let spans = spans.iter();
        let spans = spans.map(|(from, until)| (fixture::at(*from), fixture::at(*until)));
        audit_log::gap(spans.collect(), &alert)
    };
    let part = |from, until| Some((fixture::at(from), fixture::at(until)));
    assert_eq!(gap(&[(30, 90), (-9, 30)]), None);
    assert_eq!(gap(&[(-9, 20)]), part(20, 60));
    assert_eq!(gap(&[(40, 90), (-9, 20)]), part(20, 40));
    assert_eq!(gap(&[]), part(0, 60));
}
