//! Checks the AWS resources with tools that need no account.

use std::collections::BTreeSet;
use std::process::Command;

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
    // Sending is allowed only when canaries are requested.
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

fn resource<'a>(stack: &'a str, name: &str) -> &'a str {
    let (_, rest) = stack.split_once(&format!("\n  {name}:\n")).unwrap();
    let next = Regex::new(r"\n {0,2}\S").unwrap();
    next.split(rest).next().unwrap()
}

#[test]
fn eventbridge_key_use_is_unconditional_and_one_rule_may_send() {
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
fn dead_letters_are_readable_and_alarms_name_the_recovery() {
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
fn alarm_fires_when_eventbridge_gives_up_on_unwritable_queues() {
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

/// Returns the trust policy of the workers' role, with or without KEDA.
fn trusted(stack: &str, with_keda: bool) -> Value {
    let role = resource(stack, "WorkerRole");
    let issuer = r#"- OidcIssuer: !Select [1, !Split [":oidc-provider/", !Ref OidcProvider]]"#;
    assert!(role.contains(issuer), "{role}");
    let written = Regex::new(
        r#"(?s)!Sub\n +- \|-\n(.*)\n +# [^\n]+\n +- OidcIssuer: [^\n]+\n +(\w+): !If \[HasKeda, !Sub '(.*)', ""\]"#,
    );
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
