//! What is made at AWS and Google Cloud, judged by what there is that can judge it without an account.

use std::collections::BTreeSet;
use std::process::Command;

use nightshift_tests::root;
use regex::Regex;
use serde_json::{Value, json};

use super::{named, succeeds, text};

#[test]
#[cfg_attr(not(has_cfn_lint), ignore = "tests/services installs cfn-lint")]
fn cloudformation_is_what_it_should_be() {
    let mut check = Command::new(named("NIGHTSHIFT_TEST_CFN_LINT"));
    succeeds(check.arg("deploy/aws/guardduty.yaml"));
}

#[test]
fn workers_may_do_at_sqs_what_the_documentation_says_they_need() {
    let stack = text("deploy/aws/guardduty.yaml");
    let action = Regex::new(r#""(sqs:\w+)""#).unwrap();
    let documented: BTreeSet<_> = action
        .captures_iter(&text("docs/sources.md"))
        .map(|found| found[1].to_owned())
        .collect();
    assert!(documented.len() >= 4, "{documented:?}");
    let (_, policy) = stack.split_once("  WorkerPolicy:").unwrap();
    let (policy, _) = policy.split_once("  WorkerRole:").unwrap();
    // Only those who ask for it may send.
    let (policy, canaries) = policy.split_once("            - SendsCanaries\n").unwrap();
    assert!(canaries.contains("Action: sqs:SendMessage"), "{canaries}");
    let given: BTreeSet<_> = Regex::new(r"sqs:\w+")
        .unwrap()
        .find_iter(policy)
        .map(|found| found.as_str().to_owned())
        .collect();
    assert_eq!(given, documented);
}

#[test]
fn values_say_what_their_role_may_do_besides_taking_messages() {
    let values = text("helm/nightshift/ci/postgres-sqs-values.yaml");
    assert!(values.contains("everyMinutes: 10") && values.contains("Canary=yes"));
    assert!(values.contains("provider = \"bedrock\"") && values.contains("bedrock:InvokeModel "));
}

/// A resource of the stack, as it stands there.
fn resource<'a>(stack: &'a str, name: &str) -> &'a str {
    let (_, rest) = stack.split_once(&format!("\n  {name}:\n")).unwrap();
    let next = Regex::new(r"\n {0,2}\S").unwrap();
    next.split(rest).next().unwrap()
}

#[test]
fn eventbridge_may_use_the_key_whatever_its_call_says_and_one_rule_may_send() {
    let stack = text("deploy/aws/guardduty.yaml");
    let key = resource(&stack, "Key");
    let (_, statement) = key.split_once("- Sid: EventBridgeWrites\n").unwrap();
    assert!(
        statement.contains("Service: events.amazonaws.com"),
        "{statement}"
    );
    assert!(!statement.contains("Condition:"), "{statement}");
    let policy = resource(&stack, "QueuePolicy");
    assert!(policy.contains("aws:SourceArn: !GetAtt Rule.Arn"));
}

#[test]
fn what_was_given_up_on_can_be_read_and_its_alarms_say_how_it_comes_back() {
    let stack = text("deploy/aws/guardduty.yaml");
    let told = text("docs/sources.md");
    let (_, told) = told.split_once("\n## SQS\n").unwrap();
    let (told, _) = told.split_once("\n## ").unwrap();
    assert!(told.contains("aws sqs start-message-move-task --source-arn "));
    let (_, outputs) = stack.split_once("\nOutputs:\n").unwrap();
    let policy = resource(&stack, "WorkerPolicy");
    let (_, reads) = policy.split_once("sqs:ReceiveMessage").unwrap();
    let (reads, _) = reads.split_once("- Effect:").unwrap();
    for (queue, alarms) in [
        ("DeadLetters", &["FindingsAreDead"][..]),
        (
            "Undelivered",
            &["FindingsAreUndelivered", "FindingsAreGivenUp"],
        ),
    ] {
        assert!(reads.contains(&format!("!GetAtt {queue}.Arn")), "{reads}");
        assert!(outputs.contains(&format!("\n  {queue}:\n")), "{outputs}");
        assert!(told.contains(&format!("the output `{queue}`")), "{queue}");
        for alarm in alarms {
            let alarm = resource(&stack, alarm);
            let (_, says) = alarm.split_once("AlarmDescription: ").unwrap();
            let says = says.lines().next().unwrap();
            assert!(says.contains("docs/sources.md#sqs"), "{says}");
            assert!(says.ends_with(queue), "{says}");
        }
    }
}

#[test]
fn an_alarm_tells_when_eventbridge_gives_up_also_where_no_queue_can_be_written() {
    let stack = text("deploy/aws/guardduty.yaml");
    let name = Regex::new(r"(?m)^  (\w+):\n    Type: AWS::CloudWatch::Alarm$").unwrap();
    let alarms: Vec<_> = name
        .captures_iter(&stack)
        .map(|found| resource(&stack, &found[1]))
        .collect();
    for metric in ["FailedInvocations", "InvocationsFailedToBeSentToDlq"] {
        let line = format!("      MetricName: {metric}\n");
        let alarm = alarms.iter().find(|one| one.contains(&line));
        let alarm = alarm.unwrap_or_else(|| panic!("no alarm of {metric}"));
        for what in [
            "Namespace: AWS/Events\n",
            "- Name: RuleName\n          Value: !Ref Rule\n",
            "Statistic: Sum\n",
            "Threshold: 0\n",
            "AlarmActions: !If [HasTopic, [!Ref AlarmTopic], !Ref AWS::NoValue]",
        ] {
            assert!(alarm.contains(what), "{metric}: {what}");
        }
    }
}

/// Who may take the role of the workers, with and without KEDA.
fn trusted(stack: &str, with_keda: bool) -> Value {
    let role = resource(stack, "WorkerRole");
    let written =
        Regex::new(r#"(?s)!Sub\n +- \|-\n(.*)\n +- (\w+): !If \[HasKeda, !Sub '(.*)', ""\]"#);
    let written = written.unwrap().captures(role).unwrap();
    let more = if with_keda { &written[3] } else { "" };
    let document = written[1]
        .replace(&format!("${{{}}}", &written[2]), more)
        .replace("${OidcProvider}", "arn")
        .replace("${OidcIssuer}", "issuer")
        .replace("${ServiceAccount}", "security:nightshift")
        .replace("${KedaServiceAccount}", "keda:keda-operator");
    assert!(!document.contains("${"), "{document}");
    let document: Value = serde_json::from_str(&document).unwrap();
    document["Statement"][0]["Condition"]["StringEquals"].clone()
}

#[test]
fn keda_may_take_the_role_of_the_workers_where_that_is_wanted() {
    let stack = text("deploy/aws/guardduty.yaml");
    let workers = "system:serviceaccount:security:nightshift";
    let keda = "system:serviceaccount:keda:keda-operator";
    for (with_keda, subjects) in [(false, &[workers][..]), (true, &[workers, keda])] {
        assert_eq!(
            trusted(&stack, with_keda),
            json!({"issuer:sub": subjects, "issuer:aud": "sts.amazonaws.com"})
        );
    }
    let (_, parameter) = stack.split_once("\n  KedaServiceAccount:\n").unwrap();
    assert!(parameter.starts_with("    Type: String\n    Default: \"\"\n"));
    assert!(stack.contains("HasKeda: !Not [!Equals [!Ref KedaServiceAccount, \"\"]]"));
    for told in ["docs/kubernetes.md", "helm/nightshift/values.yaml"] {
        let told = text(told);
        assert!(told.contains("KedaServiceAccount"));
        assert!(told.contains("sqs:GetQueueAttributes"));
    }
}

#[test]
fn terraform_finds_its_files_formatted_where_it_is_installed() {
    let run = Command::new("terraform")
        .args(["fmt", "-check", "-diff", "deploy/gcp"])
        .current_dir(root())
        .output();
    let Ok(run) = run else {
        println!("skipped: terraform is not installed");
        return;
    };
    assert!(run.status.success(), "{run:?}");
}

/// HashiCorp's own parser says what the file holds: each thing that it refers to is declared in it.
#[test]
#[cfg_attr(not(has_hcl), ignore = "tests/services installs @cdktf/hcl2json")]
fn terraforms_language_is_read_and_refers_to_what_is_declared() {
    let read = |name: &str, text: &str| {
        let file = tempfile::Builder::new().suffix(name).tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let script = "const {parse} = require('@cdktf/hcl2json');\
             parse('scc.tf', require('fs').readFileSync(process.argv[1], 'utf8'))\
             .then((read) => console.log(JSON.stringify(read)), (error) => { console.error(`${error}`); process.exit(1) })";
        let output = Command::new("node")
            .args(["-e", script])
            .arg(file.path())
            .env(
                "NODE_PATH",
                named("NIGHTSHIFT_TEST_HCL").join("node_modules"),
            )
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        } else {
            Err(said)
        }
    };
    let read_as_is = read(".tf", &text("deploy/gcp/scc.tf")).unwrap();
    let mut declared = BTreeSet::new();
    for (kind, prefix) in [("resource", ""), ("data", "data.")] {
        for (of, named) in read_as_is[kind].as_object().unwrap() {
            let names = named.as_object().unwrap().keys();
            declared.extend(names.map(|name| format!("{prefix}{of}.{name}")));
        }
    }
    for name in read_as_is["variable"].as_object().unwrap().keys() {
        declared.insert(format!("var.{name}"));
    }
    for block in read_as_is["locals"].as_array().unwrap() {
        let names = block.as_object().unwrap().keys();
        declared.extend(names.map(|name| format!("local.{name}")));
    }
    let reference =
        Regex::new(r"(?:data\.)?google_[a-z_]+\.[a-z_]+|\b(?:var|local)\.[a-z_]+").unwrap();
    let expression = Regex::new(r"\$\{[^}]*\}").unwrap();
    let all = read_as_is.to_string();
    let used: BTreeSet<String> = expression
        .find_iter(&all)
        .flat_map(|one| reference.find_iter(one.as_str()))
        .map(|one| one.as_str().to_owned())
        .collect();
    assert!(used.len() > 8, "{used:?}");
    let strange: Vec<_> = used.difference(&declared).collect();
    assert!(strange.is_empty(), "not declared: {strange:?}");
    let refused = read(".tf", "resource \"a\" \"b\" {\n  x =\n}\n").unwrap_err();
    assert!(refused.contains("Invalid expression"), "{refused}");
}

#[test]
fn the_script_for_google_cloud_makes_what_terraform_makes() {
    let endpoint = "https://nightshift.example.com/v1/alerts/pubsub";
    let ran = Command::new("bash")
        .arg(root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools", endpoint])
        .env("DRY_RUN", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    for what in [
        "topics create nightshift-scc ",
        "topics create nightshift-scc-dead-letters ",
        "subscriptions create nightshift-scc ",
        "--max-delivery-attempts 100 ",
        &format!("--push-auth-token-audience {endpoint}"),
        "scc notifications create nightshift ",
        "--role roles/pubsub.publisher",
        "--role roles/pubsub.subscriber",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let filter = |text: &str, begin: &str| {
        let (_, rest) = text.split_once(begin).unwrap();
        rest.lines()
            .next()
            .unwrap()
            .replace(['\\', '\'', '"', '='], "")
    };
    let ours = filter(&text("deploy/gcp/scc.sh"), "FILTER=");
    let terraform = filter(&text("deploy/gcp/scc.tf"), "default     = \"state");
    assert_eq!(ours, format!("state{terraform}"));
    let refused = Command::new("bash")
        .arg(root().join("deploy/gcp/scc.sh"))
        .args(["organizations/1", "p"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// What the script for Google Cloud would run, and says, with these arguments after organisation and project.
fn scc(arguments: &[&str], puller: &str) -> String {
    let ran = Command::new("bash")
        .arg(root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools"])
        .args(arguments)
        .env("DRY_RUN", "1")
        .env("PULLER", puller)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn the_script_for_google_cloud_lets_workers_pull_or_says_who_pushes() {
    let may_pull = |said: &str, member: &str| {
        let binding = format!("--member {member} --role roles/pubsub.subscriber");
        let of = "subscriptions add-iam-policy-binding nightshift-scc ";
        said.lines()
            .any(|line| line.contains(of) && line.contains(&binding))
    };
    let agent = "serviceAccount:service-UNKNOWN@gcp-sa-pubsub.iam.gserviceaccount.com";
    let puller = "serviceAccount:nightshift@security-tools.iam.gserviceaccount.com";
    let pulled = scc(&[], puller);
    assert!(may_pull(&pulled, agent), "{pulled}");
    assert!(may_pull(&pulled, puller), "{pulled}");
    assert!(!pulled.contains("pushed as"), "{pulled}");
    let by_nobody = scc(&[], "");
    assert!(
        by_nobody.contains("nobody was named who may pull"),
        "{by_nobody}"
    );
    let pushed = scc(&["https://nightshift.example.com/v1/alerts/pubsub"], "");
    assert!(
        pushed.contains("pushed as nightshift-push@security-tools.iam.gserviceaccount.com:"),
        "{pushed}"
    );
    assert!(!pushed.contains("nobody was named"), "{pushed}");
}

/// What a file says of the subscription's tries: the least and the most seconds between two, and how many there are.
fn tries(file: &str, patterns: [&str; 3]) -> [u64; 3] {
    let file = text(file);
    patterns.map(|pattern| {
        let found = Regex::new(pattern).unwrap().captures(&file).unwrap();
        found[1].parse().unwrap()
    })
}

#[test]
fn pubsub_pushes_for_as_long_as_it_can_and_the_documentation_says_how_long_that_is() {
    let terraform = [
        r#"minimum_backoff = "(\d+)s""#,
        r#"maximum_backoff = "(\d+)s""#,
        r"max_delivery_attempts = (\d+)",
    ];
    let script = [
        r"--min-retry-delay (\d+)s ",
        r"--max-retry-delay (\d+)s ",
        r"--max-delivery-attempts (\d+) ",
    ];
    let made = tries("deploy/gcp/scc.tf", terraform);
    assert_eq!(made, tries("deploy/gcp/scc.sh", script));
    let [least, most, attempts] = made;
    // More than these Pub/Sub refuses.
    assert_eq!([most, attempts], [600, 100]);
    let waits = std::iter::successors(Some(least), |wait| Some((wait * 2).min(most)));
    let between = usize::try_from(attempts).unwrap() - 1;
    let secs: u64 = waits.take(between).sum();
    let told = text("docs/sources.md");
    for what in [
        format!("{},{:03} seconds", secs / 1000, secs % 1000),
        format!("{} hours", secs / 3600),
        "`subscription/num_undelivered_messages`".to_owned(),
        "modify-push-config nightshift-scc-dead-letters".to_owned(),
    ] {
        assert!(told.contains(&what), "{what}");
    }
}
