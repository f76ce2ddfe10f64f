use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::catalogue::{ActionChoice, ActionContext, fill_action};
use nightshift_engine::tool::ToolSpec;

use super::alerts::sample;
use super::case_fixture::{ALL, spec};
use crate::playbook::catalogue::{ActionFile, FILES};
use crate::playbook::{PlaybookSet, catalogue, check_playbook, playbook_set::SHIPPED};

#[test]
fn every_shipped_playbook_is_without_problems() {
    let tools: Vec<ToolSpec> = ALL.iter().map(|kind| spec(kind)).collect();
    for (file, text) in SHIPPED {
        for tools in [&[][..], &tools] {
            let problems = check_playbook(file, text, tools, &[]);
            let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
            assert!(lines.is_empty(), "{}", lines.join("\n"));
        }
    }
    assert_eq!(PlaybookSet::shipped().iter().count(), SHIPPED.len());
}

#[test]
fn no_shipped_rule_clears_every_type_of_finding() {
    for playbook in PlaybookSet::shipped().iter() {
        for glob in playbook.benign.iter().flat_map(|rule| &rule.covers) {
            let spelled = glob.get_ref().chars().filter(|c| c.is_alphabetic());
            assert!(
                spelled.count() >= 3,
                "{}: {}",
                playbook.name,
                glob.get_ref()
            );
        }
    }
}

#[test]
fn every_action_is_readable_and_says_what_its_command_needs() {
    let mut read = 0;
    for (file, text) in FILES {
        read += toml::from_str::<ActionFile>(text)
            .unwrap_or_else(|error| panic!("{file}: {error}"))
            .action
            .len();
    }
    assert_eq!(catalogue().len(), read);
    assert!(read >= 20);
    for action in catalogue() {
        for name in variables(action.command.as_deref().unwrap_or_default()) {
            let told = action.precondition.as_deref().unwrap_or_default();
            assert!(told.contains(&name), "{}: what is {name}?", action.id);
        }
        let again = catalogue()
            .iter()
            .filter(|one| one.id == action.id && one.provider == action.provider)
            .count();
        assert_eq!(again, 1, "{} stands twice", action.id);
        assert!(
            action.command.is_none() || action.side_effect.is_some(),
            "{} has no side effect",
            action.id
        );
    }
}

/// Returns the parts of a command that the reader has to fill in.
fn variables(command: &str) -> Vec<String> {
    let parts = command.split('$').skip(1);
    parts
        .map(|part| {
            let is_name = |c: &char| c.is_ascii_uppercase() || *c == '_';
            format!("${}", part.chars().take_while(is_name).collect::<String>())
        })
        .filter(|name| name.len() > 1)
        .collect()
}

#[test]
fn commands_are_filled_in_from_the_alert() {
    let alert = sample("guardduty-eventbridge-credential-exfiltration");
    let filled = |id: &str| {
        let choice = ActionChoice {
            id: id.to_owned(),
            indicators: Vec::new(),
        };
        fill_action(&catalogue(), &choice, &alert, &ActionContext::default())
            .and_then(|action| action.command)
            .unwrap_or_default()
    };
    insta::assert_snapshot!(filled("snapshot-disk"), @"aws ec2 create-snapshots --region eu-west-1 --instance-specification InstanceId=i-0a1b2c3d4e5f60718 --description nightshift-i-0a1b2c3d4e5f60718");
    insta::assert_snapshot!(filled("deny-role"), @"aws iam attach-role-policy --role-name prod-payments-worker --policy-arn arn:aws:iam::aws:policy/AWSDenyAll");
    insta::assert_snapshot!(filled("revoke-role-sessions"), @r#"aws iam put-role-policy --role-name prod-payments-worker --policy-name AWSRevokeOlderSessions --policy-document '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"DateLessThan":{"aws:TokenIssueTime":"'"$(date -u +%FT%TZ)"'"}}}]}'"#);
    insta::assert_snapshot!(filled("review-key-activity"), @"aws cloudtrail lookup-events --region eu-west-1 --lookup-attributes AttributeKey=AccessKeyId,AttributeValue=ASIAEXAMPLEKEY000001 --max-results 50");
}

#[test]
fn quarantined_object_is_copied_first_and_restorable() {
    let mut alert = sample("guardduty-eventbridge-credential-exfiltration");
    let object = "arn:aws:s3:::uploads-prod/in/invoice.zip";
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Bucket, "uploads-prod", IndicatorRole::Target),
        Indicator::new(IndicatorKind::Arn, object, IndicatorRole::Related),
        Indicator::new(
            IndicatorKind::File,
            "in/invoice.zip",
            IndicatorRole::Related,
        ),
    ];
    let choice = ActionChoice {
        id: "quarantine-object".to_owned(),
        indicators: Vec::new(),
    };
    let action = fill_action(&catalogue(), &choice, &alert, &ActionContext::default()).unwrap();
    insta::assert_snapshot!(action.command.unwrap(), @r#"aws s3 cp s3://uploads-prod/in/invoice.zip s3://"$EVIDENCE_BUCKET"/uploads-prod/in/invoice.zip && aws s3api delete-object --bucket uploads-prod --key in/invoice.zip"#);
    insta::assert_snapshot!(action.undo.unwrap(), @r#"aws s3api delete-object --bucket uploads-prod --key in/invoice.zip --version-id "$DELETE_MARKER""#);
}

#[test]
fn the_examples_in_the_documentation_are_without_problems() {
    let docs = include_str!("../../../../../docs/playbooks.md");
    let tools: Vec<ToolSpec> = ALL.iter().map(|kind| spec(kind)).collect();
    let blocks = docs.split("```toml").skip(1);
    // The words after the language name the file to which the tests of documents write the block.
    let blocks = blocks.map(|rest| rest.split_once('\n').unwrap().1);
    let mut examples = 0;
    for example in blocks.map(|rest| rest.split("```").next().unwrap()) {
        let problems = check_playbook("docs/playbooks.md", example, &tools, &[]);
        assert!(problems.is_empty(), "{problems:?}");
        examples += 1;
    }
    assert_eq!(examples, 2);
}
