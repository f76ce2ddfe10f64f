use nightshift_engine::exoneration::RecordMismatch;
use nightshift_engine::tool::{ToolError, ToolOutput};
use nightshift_engine::verdict_policy::check_record;
use serde_json::{Value, json};

use super::*;
use crate::testing;

const ROW: &str = "CHG-41,i-0a1b2c3d4e5f60718,prod-payments-worker,2026-03-02T01:00:00Z,2026-03-02T04:00:00Z,Approved,linus,inventory of buckets,Discovery:IAMUser/*\n";
const SUBJECT: &str = "i-0a1b2c3d4e5f60718";

fn tool(rows: &str) -> ChangeLookup {
    ChangeLookup::new(ChangeLookupConfig {
        name: "changes".to_owned(),
        path: ContentSource::Text {
            name: "changes.csv".into(),
            text: format!(
                "id,subject,actor,from,until,status,approved_by,summary,expected_findings\n{rows}"
            )
            .into(),
        },
        slack_mins: crate::SlackMins::default(),
    })
}

async fn ask_with(rows: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    testing::call(&tool(rows), arguments).await
}

async fn ask(rows: &str) -> ToolOutput {
    ask_with(rows, json!({ "indicator": SUBJECT }))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_change_is_a_record_about_its_subject_and_its_actor() {
    let output = ask(ROW).await;
    let change = &output.body["changes"][0];
    assert_eq!(change["status"], "approved");
    assert_eq!(change["covers_events"], true);
    assert_eq!(change["actor_in_alert"], true);
    let [of_subject, of_actor] = &output.exonerations[..] else {
        panic!("{:?}", output.exonerations)
    };
    for one in [of_subject, of_actor] {
        let told = (one.kind.as_str(), one.reference.as_str());
        assert_eq!(told, ("change", "CHG-41"));
        // The row names no account and could be about another one.
        let refused = Err(RecordMismatch::OtherPlace);
        assert_eq!(check_record(one, &testing::alert()), refused);
    }
    assert_eq!(of_subject.subject, SUBJECT);
    assert!(of_subject.extent.is_empty());
    assert_eq!(of_actor.subject, "prod-payments-worker");
    let targets = ListedValues::These(vec![SUBJECT.to_owned()]);
    assert_eq!(of_actor.extent.targets, targets);
    let anybody = ask(&ROW.replace("prod-payments-worker", "")).await;
    assert_eq!(anybody.body["changes"][0]["actor_in_alert"], Value::Null);
    assert_eq!(anybody.exonerations.len(), 1);
}

#[tokio::test]
async fn a_change_is_found_by_its_actor() {
    let arn = ROW.replace(
        ",prod-payments-worker,",
        ",arn:aws:iam::444455556666:role/ci/prod-payments-worker,",
    );
    for row in [ROW, &arn] {
        let asked = json!({ "indicator": "prod-payments-worker" });
        let output = ask_with(row, asked).await.unwrap();
        let [one] = &output.exonerations[..] else {
            panic!("{:?}", output.exonerations)
        };
        assert_eq!(one.subject, "prod-payments-worker");
        let targets = ListedValues::These(vec![SUBJECT.to_owned()]);
        assert_eq!(one.extent.targets, targets);
    }
    let by_key = ROW.replace(",prod-payments-worker,", ",ASIAEXAMPLEKEY000001,");
    let asked = json!({ "indicator": "ASIAEXAMPLEKEY000001" });
    let output = ask_with(&by_key, asked).await.unwrap();
    assert_eq!(
        output.exonerations[0].subject_type,
        IndicatorKind::AccessKey
    );
}

#[tokio::test]
async fn a_user_to_whom_something_is_done_is_not_cleared() {
    let user = "arn:aws:iam::444455556666:user/mallory";
    for (actor, cleared) in [
        ("prod-payments-worker", vec!["prod-payments-worker"]),
        ("mallory", vec!["mallory", "mallory"]),
        ("", vec!["mallory"]),
    ] {
        let row = ROW
            .replace(SUBJECT, user)
            .replace("prod-payments-worker", actor);
        let mut alert = testing::alert();
        let mallory = Indicator::new(IndicatorKind::Principal, "mallory", IndicatorRole::Actor);
        alert.indicators.push(mallory);
        let asked = json!({ "indicator": "mallory" });
        let output = testing::call_about(alert, &tool(&row), asked)
            .await
            .unwrap();
        let subjects = output.exonerations.iter().map(|one| one.subject.as_str());
        assert_eq!(subjects.collect::<Vec<_>>(), cleared, "{actor}");
    }
}

#[tokio::test]
async fn a_changed_thing_is_no_principal_of_its_name() {
    let row = ROW
        .replace(SUBJECT, "mallory")
        .replace("prod-payments-worker", "");
    for (kind, found) in [
        (IndicatorKind::Principal, 0),
        (IndicatorKind::Bucket, 1),
        (IndicatorKind::Container, 1),
        (IndicatorKind::Process, 0),
    ] {
        let mut alert = testing::alert();
        alert
            .indicators
            .push(Indicator::new(kind, "mallory", IndicatorRole::Actor));
        let asked = json!({ "indicator": "mallory" });
        let output = testing::call_about(alert, &tool(&row), asked)
            .await
            .unwrap();
        assert_eq!(output.exonerations.len(), found, "{kind:?}");
    }
}

#[tokio::test]
async fn another_actor_another_state_or_no_approval_clears_nothing() {
    for (from, to) in [
        ("prod-payments-worker", "somebody-else"),
        ("Approved", "cancelled"),
        ("Approved", "draft"),
        ("Approved", ""),
        ("linus", ""),
        ("Discovery:IAMUser/*", ""),
    ] {
        let output = ask(&ROW.replace(from, to)).await;
        assert_eq!(
            (output.rows, output.exonerations.len()),
            (Some(1), 0),
            "{from} → {to}"
        );
    }
}

#[tokio::test]
async fn a_change_of_one_clears_nothing_that_another_did() {
    use IndicatorKind::{AccessKey, Email, Principal};
    let of = |kind, value: &str, role| Indicator::new(kind, value, role);
    let ours = of(Principal, "prod-payments-worker", IndicatorRole::Actor);
    let key = |id: &str| of(AccessKey, id, IndicatorRole::Actor);
    for (who, actors, clears) in [
        ("its actor alone", vec![ours.clone()], 2),
        (
            "its actor with a key",
            vec![ours.clone(), key("AKIAEXAMPLE0000001")],
            2,
        ),
        (
            "another",
            vec![of(Principal, "mallory", IndicatorRole::Actor)],
            0,
        ),
        (
            "another beside it, whom it does not clear",
            vec![ours.clone(), of(Principal, "mallory", IndicatorRole::Actor)],
            2,
        ),
        (
            "another by mail, whom it does not clear",
            vec![
                ours.clone(),
                of(Email, "m@shop.example", IndicatorRole::Actor),
            ],
            2,
        ),
        (
            "another, on the actor as a thing",
            vec![
                of(Principal, "prod-payments-worker", IndicatorRole::Target),
                of(Principal, "mallory", IndicatorRole::Actor),
            ],
            0,
        ),
        ("nobody", vec![], 0),
    ] {
        let mut alert = testing::alert();
        alert
            .indicators
            .retain(|one| one.role != IndicatorRole::Actor);
        alert.indicators.extend(actors);
        let asked = json!({ "indicator": SUBJECT });
        let output = testing::call_about(alert, &tool(ROW), asked).await.unwrap();
        assert_eq!(
            output.body["changes"][0]["actor_in_alert"],
            clears > 0,
            "{who}"
        );
        let subjects = output.exonerations.iter().map(|one| one.subject.as_str());
        assert!(
            subjects
                .clone()
                .all(|one| [SUBJECT, "prod-payments-worker"].contains(&one))
        );
        assert_eq!(output.exonerations.len(), clears, "{who}");
    }
}

#[tokio::test]
async fn a_change_that_ended_before_the_last_event_does_not_cover() {
    let output = ask(&ROW.replace("04:00:00Z", "02:39:59Z")).await;
    assert_eq!(output.body["changes"][0]["covers_events"], false);
    assert!(check_record(&output.exonerations[0], &testing::alert()).is_err());
    let output = ask(&ROW.replace("04:00:00Z", "02:40:00Z")).await;
    assert_eq!(output.body["changes"][0]["covers_events"], true);
}

#[tokio::test]
async fn only_changes_in_the_searched_time_are_found() {
    let early = ROW
        .replace("2026-03-02T01", "2026-02-20T01")
        .replace("2026-03-02T04", "2026-02-20T04");
    let output = ask(&early).await;
    assert_eq!(output.body["found"], 0);
    assert_eq!(output.body["searched"]["from"], "2026-03-01T02:00:00Z");
    assert_eq!(output.body["searched"]["records"], 1);
    let wide = json!({"indicator": SUBJECT, "since": "2026-02-01", "until": "2100-01-01"});
    let output = ask_with(&early, wide).await.unwrap();
    assert_eq!(output.body["found"], 1);
    assert_eq!(
        output.body["searched"]["until"], "2026-03-02T06:00:00Z",
        "clamped to now"
    );
    let none = json!({"indicator": SUBJECT, "since": "2026-03-02T05:00:00Z", "until": "2026-03-02T04:00:00Z"});
    let error = ask_with(ROW, none).await.unwrap_err();
    assert!(error.to_string().contains("no time is left"), "{error}");
}
