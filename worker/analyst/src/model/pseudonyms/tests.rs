mod hostile;

use nightshift_engine::fold::fold;
use nightshift_engine::question::QuestionContext;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::tests::case_fixture::{ModelCase, sample, usual};
use crate::model::tests::scripted::{
    ScriptedChatModel, conclusion, makes, plan, request_text, result, says, step,
};
use nightshift_llm::chat::{ChatMessage, QuestionKind, ToolCallPart};

fn mask(names: &[&str]) -> Pseudonymizer {
    let raw = json!({"owner": "alice", "user_name": "CORP\\bob", "hostname": "db-7"});
    mask_of(raw, names).unwrap()
}

fn mask_of(raw: Value, names: &[&str]) -> Result<Pseudonymizer, String> {
    let question = fold(&ModelCase::miner().events()).plan_question().unwrap();
    let mut alert = sample("scc-crypto-miner");
    alert.raw = raw.into();
    let setting: QuestionContext = question.context.clone();
    let about = PromptContext {
        question: &setting,
        alert: &std::sync::Arc::new(alert),
        past_cases: None,
        steps: &[],
        step: None,
        tools: &question.tools,
    };
    let settings = PseudonymSettings {
        names: names.iter().map(ToString::to_string).collect(),
        ranges: vec!["203.0.113.0/24".parse().unwrap()],
    };
    Pseudonymizer::new(&settings, &about)
}

#[test]
fn all_value_kinds_are_masked_but_not_words_containing_them() {
    let mask = mask(&["examplecorp"]);
    for (text, hidden) in [
        ("by alice at Alice@examplecorp.com", 2),
        ("malice and alice2", 0),
        ("arn:aws:iam::444455556666:user/x", 1),
        ("10.1.2.3, 203.0.113.9 and fd00::1", 3),
        ("185.220.101.42 and 2001:db8::1", 0),
        ("ip-10-0-0-7.ec2.internal", 1),
        ("db.EXAMPLECORP.com", 1),
        ("2025-11-08T05:23:47.891Z is 1234567890123456789", 0),
        (r#"{"user":"CORP\\bob"}"#, 1),
        (r#"{"log":"\nalice\tDB-7\n444455556666"}"#, 3),
        (r#"{"path":"C:\\nalice"}"#, 0),
    ] {
        let masked = mask.hide_data(text, true).into_owned();
        let tokens = PSEUDONYM_PATTERN
            .as_ref()
            .unwrap()
            .find_iter(&masked)
            .count();
        assert_eq!(tokens, hidden, "{text} became {masked}");
        assert_eq!(mask.reveal(&masked, true), text);
    }
}

/// Checks that a reader who knows the whole prompt cannot find the hidden values. Accounts and addresses are few enough
/// to try one by one.
#[test]
fn prompt_does_not_reveal_which_value_a_pseudonym_hides() {
    let question = fold(&ModelCase::miner().events()).plan_question().unwrap();
    let token = |key: &str| {
        let mut setting: QuestionContext = question.context.clone();
        setting.pseudonym_key = key.into();
        let about = PromptContext {
            question: &setting,
            alert: &question.alert,
            past_cases: None,
            steps: &[],
            step: None,
            tools: &question.tools,
        };
        let mask = Pseudonymizer::new(&PseudonymSettings::default(), &about).unwrap();
        mask.hide_data("10.1.2.3", false).into_owned()
    };
    let delimiter = question.context.delimiter.to_string();
    assert!(token("drawn").starts_with("address-"), "{}", token("drawn"));
    assert_eq!(token("drawn"), token("drawn"));
    assert_ne!(token("drawn"), token("drawn anew"));
    assert_ne!(token("drawn"), token(&delimiter));
}

/// Hides values in a text that shows these values, which stand under keys.
fn masked_raw(raw: Value, text: &str) -> String {
    let hidden = mask_of(raw, &[])
        .unwrap()
        .hide_data(text, true)
        .into_owned();
    PSEUDONYM_PATTERN
        .as_ref()
        .unwrap()
        .replace_all(&hidden, |found: &Captures<'_>| {
            let (word, _) = found[0].split_once('-').unwrap();
            format!("[{word}]")
        })
        .into_owned()
}

#[test]
fn host_is_masked_without_port_and_path_and_name_by_parts() {
    for (raw, text, hidden) in [
        (
            json!({"instance": "web-01:9100"}),
            "web-01, web-01:9100",
            "[host], [host]:9100",
        ),
        (
            json!({"host": "db-7.corp.local:5432"}),
            "db-7.corp.local:5432",
            "[host]:5432",
        ),
        (
            json!({"host": "https://jenkins.corp.local:8443/login?x=1"}),
            "https://jenkins.corp.local/login",
            "https://[host]/login",
        ),
        (json!({"hostname": "db-7/"}), "db-7", "[host]"),
        (
            json!({"owner": "alice:dev-team"}),
            "alice:dev-team, alice",
            "[principal], [principal]",
        ),
        (
            json!({"principalId": "AROAEXAMPLE:build-7"}),
            "AROAEXAMPLE and build-7",
            "[principal] and [principal]",
        ),
        (
            json!({"instance": "arn:aws:ec2:eu-west-1:1:instance/i-0abc"}),
            "instance/i-0abc in eu-west-1",
            "instance/[host] in eu-west-1",
        ),
        (
            json!({"instance": "//compute.googleapis.com/projects/p1/zones/z/instances/web-1"}),
            "zones/z/instances/web-1",
            "zones/z/instances/[host]",
        ),
        (
            json!({"user_name": "system:serviceaccount:shop:web-sa"}),
            "serviceaccount web-sa of system",
            "serviceaccount [principal] of system",
        ),
        (
            json!({"host": "[2001:db8::1]:80"}),
            "2001:db8::1",
            "2001:db8::1",
        ),
        (
            json!({"host": "localhost:80"}),
            "localhost 80",
            "localhost 80",
        ),
    ] {
        assert_eq!(masked_raw(raw.clone(), text), hidden, "{raw}");
    }
}

#[test]
fn names_stand_under_the_ends_of_keys_and_in_objects_below_them() {
    for raw in [
        json!({"host": {"name": "payments-db"}, "user": {"name": "alice"}}),
        json!({"source_host": "payments-db", "target_user_name": "alice"}),
        json!({"DestHost": ["payments-db"], "actor": "alice"}),
        json!({"computer_name": "payments-db", "user": "alice"}),
        json!({"user": [{"id": "alice"}], "instance": {"id": "payments-db", "state": "on"}}),
    ] {
        assert_eq!(
            masked_raw(raw.clone(), "alice on payments-db is on"),
            "[principal] on [host] is on",
            "{raw}"
        );
    }
    assert_eq!(
        masked_raw(json!({"project_name": "blue-sky"}), "blue-sky"),
        "[account]"
    );
    let ordinary = json!({
        "user": "root", "actor": "system", "source_user": "true", "remote_user": 1000, "user_name": "1000",
        "ghost": "sheet", "host": {"os": {"name": "linux"}, "state": "running", "name": "localhost"},
        "threat_actor": "lazarus", "user_agent": "curl", "dest_host": "POOL.minexmr.com",
        "process": {"name": "miner", "user": "NT AUTHORITY\\SYSTEM"},
    });
    let text = ordinary.to_string();
    assert_eq!(masked_raw(ordinary, &text), text);
}

#[test]
fn a_mail_address_behind_an_escape_is_the_one_that_it_is() {
    let mask = mask(&[]);
    let principal = |text: &str| {
        let hidden = mask.hide_data(text, true).into_owned();
        assert_eq!(mask.reveal(&hidden, true), text);
        (token(&hidden, "principal-"), hidden)
    };
    let (alice, _) = principal("alice@corp.com");
    for text in [
        r#"{"log":"sent by:\nalice@corp.com"}"#,
        r#"{"log":"\t\talice@corp.com\r\n"}"#,
        r#"{"log":"a\\\nalice@corp.com"}"#,
    ] {
        assert_eq!(principal(text).0, alice, "{text}");
    }
    let (nalice, _) = principal("nalice@corp.com");
    assert_eq!(principal(r#"{"path":"C:\\nalice@corp.com"}"#).0, nalice);
    for text in [
        "josé@corp.es",
        "ann@münchen.example",
        "von jürgen.groß@corp.de an",
    ] {
        let (_, hidden) = principal(text);
        assert!(!hidden.contains(['@', 'é', 'ü', 'ß']), "{hidden}");
    }
}

#[test]
fn call_arguments_are_masked_with_the_same_pseudonyms() {
    let mask = mask(&[]);
    let hidden = mask.hide_data(r#"{"user":"CORP\\bob"}"#, true).into_owned();
    let arguments = json!({"user": "CORP\\bob"});
    let call = ToolCallPart {
        id: "c1".into(),
        name: "log_search".into(),
        arguments: CallArguments::Object(arguments.as_object().unwrap().clone()),
        opaque: None,
    };
    let request = ChatRequest {
        question: QuestionKind::Turn,
        urgent: false,
        system: "You look into alerts.".into(),
        messages: vec![ChatMessage {
            role: ChatRole::Assistant,
            parts: vec![ChatPart::Call(call)],
        }],
        tools: std::sync::Arc::default(),
        may_call: true,
        output: None,
        max_output_tokens: 100,
        deadline: tokio::time::Instant::now(),
    };
    let masked = mask.mask_request(&request);
    let ChatPart::Call(call) = &masked.messages[0].parts[0] else {
        panic!("{masked:?}");
    };
    let CallArguments::Object(arguments) = &call.arguments else {
        panic!("{call:?}");
    };
    let name = arguments["user"].as_str().unwrap();
    assert_eq!(name, token(&hidden, "principal-"));
    assert_eq!(mask.reveal(name, false), r"CORP\bob");
}

#[test]
fn a_value_has_one_token_in_all_questions_of_its_case() {
    assert_eq!(
        mask(&[]).hide_data("alice on db-7", true),
        mask(&["x-y"]).hide_data("alice on db-7", true)
    );
}

/// Returns the first token of a kind in a text.
fn token(text: &str, word: &str) -> String {
    let tokens = PSEUDONYM_PATTERN.as_ref().unwrap();
    tokens
        .find_iter(text)
        .map(|one| one.as_str().to_owned())
        .find(|one| one.starts_with(word))
        .unwrap()
}

/// Answers as a model that writes, requests and quotes tokens.
fn speaks_in_tokens(request: &ChatRequest) -> ChatAnswer {
    let text = request_text(request);
    match request.question {
        QuestionKind::Plan => plan(
            &format!("Who runs {}?", token(&text, "host-")),
            vec![step("s1", "Look", &[])],
        ),
        QuestionKind::Turn if request.messages.len() == 1 => {
            makes(&[("asset_lookup", json!({"indicator": token(&text, "host-")}))])
        }
        QuestionKind::Turn => {
            let (_, results) = text.split_once("\"assets\"").unwrap();
            result("met", &format!("{} owns it", token(results, "principal-")))
        }
        QuestionKind::Reflect => {
            says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
        }
        _ => {
            let (_, results) = text.split_once("\"assets\"").unwrap();
            conclusion("true_positive", "E2", &token(results, "address-"))
        }
    }
}

#[test]
fn the_engine_sees_no_token_and_the_model_no_value() {
    let mut world = ModelCase::miner();
    world.settings.pseudonyms = Some(PseudonymSettings {
        names: vec!["production-project-12345".into()],
        ranges: Vec::new(),
    });
    world.settings.environment = "production-project-12345 belongs to the web team".into();
    world.answers = Box::new(|call| match call.tool.as_str() {
        "asset_lookup" => Ok(
            json!({"assets": [{"owner": "alice", "addresses": ["10.1.2.3"], "name": "web-server-prod-01"}]}),
        ),
        _ => usual(call),
    });
    let ran = world.run(ScriptedChatModel::new(|request| {
        Ok(speaks_in_tokens(request))
    }));
    let journal = serde_json::to_string(&ran.state.plan).unwrap()
        + &format!("{:?} {:?}", ran.state.evidence, ran.state.work);
    assert!(journal.contains("parts"), "memos are looked at too");
    assert!(
        PSEUDONYM_PATTERN.as_ref().unwrap().find(&journal).is_none(),
        "{journal}"
    );
    assert_eq!(ran.state.steps()[0].summary, "alice owns it");
    assert_eq!(ran.conclusion.findings[0].evidence[0].quote, "10.1.2.3");
    assert!(
        ran.conclusion.findings[0].evidence[0].path.is_some(),
        "the quote is put back and resolves"
    );
    for request in &ran.requests {
        let text = format!("{}{}", request.system, request_text(request));
        for value in [
            "production-project-12345",
            "web-server-prod-01",
            "alice",
            "10.1.2.3",
            "attacker@external-domain.com",
        ] {
            let whole = text
                .match_indices(value)
                .any(|(at, _)| is_word(&text, at, at + value.len()));
            assert!(!whole, "{value} in {:?}", request.question);
        }
        assert!(text.contains("185.220.101.42"), "what is outside stays");
    }
}

#[test]
fn a_value_between_underscores_is_put_back() {
    let mask = mask(&["corp.example"]);
    for text in ["A@A.A_", "_10.0.0.1_", "__bob@a.example__"] {
        let hidden = mask.hide_data(text, true).into_owned();
        assert_ne!(hidden, text, "it is hidden");
        assert_eq!(mask.reveal(&hidden, true), text);
    }
}

proptest! {
    #[test]
    fn hiding_and_showing_is_the_identity_on_evidence(
        words in prop::collection::vec(prop_oneof![
            "[a-zA-Z0-9 .:@/_\"\\\\-]{0,20}", Just("alice".to_owned()), Just("CORP\\bob".to_owned()),
            Just("10.0.0.1".to_owned()), Just("444455556666".to_owned()), "[a-z]{2,8}@[a-z]{2,8}\\.com", Just("DB-7".to_owned()),
        ], 0..20)
    ) {
        let mask = mask(&["corp.example"]);
        let text = json!({"rows": words, "joined": words.join(" ")}).to_string();
        let hidden = mask.hide_data(&text, true).into_owned();
        prop_assert_eq!(mask.reveal(&hidden, true).into_owned(), text);
        for value in ["alice", "444455556666", "10.0.0.1"] {
            let whole = hidden.match_indices(value).any(|(at, _)| is_word(&hidden, at, at + value.len()));
            prop_assert!(!whole, "{} in {}", value, hidden);
        }
    }
}
