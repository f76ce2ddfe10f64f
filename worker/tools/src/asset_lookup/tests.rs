use nightshift_engine::exoneration::RecordMismatch;
use nightshift_engine::tool::{ToolError, ToolOutput};
use nightshift_engine::verdict_policy::check_record;
use serde_json::{Value, json};

use super::*;
use crate::testing;
use crate::tool::Tool as _;

const HEADER: &str = "id,name,type,account,owner,environment,internet_facing,role,data,addresses,purpose,expected_findings,approved_by,valid_from,valid_until,detection_wrong\n";

fn tool(rows: &str) -> AssetLookup {
    AssetLookup::new(
        AssetLookupConfig {
            name: "assets".to_owned(),
            path: ContentSource::Text {
                name: "assets.csv".into(),
                text: format!("{HEADER}{rows}").into(),
            },
        },
        &RegisterGroup::default(),
    )
}

async fn ask(rows: &str, indicator: &str) -> ToolOutput {
    testing::call(&tool(rows), json!({ "indicator": indicator }))
        .await
        .unwrap()
}

const ROW: &str = "i-0a1b2c3d4e5f60718,payments-worker-7,instance,444455556666,team-payments,prod,false,worker,card data,10.20.31.7; 52.18.4.201,takes payments,Discovery:IAMUser/*,grace,2026-01-01,2026-12-31,\n";

#[tokio::test]
async fn an_asset_is_found_by_id_arn_address_and_name() {
    for (indicator, by) in [
        ("i-0a1b2c3d4e5f60718", "id"),
        (
            "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1b2c3d4e5f60718",
            "id",
        ),
        ("52.18.4.201", "address"),
        ("payments-worker-7", "name"),
    ] {
        let output = ask(ROW, indicator).await;
        assert_eq!(output.rows, Some(1), "{indicator}");
        let asset = &output.body["assets"][0];
        assert_eq!(asset["matched_by"], by);
        assert_eq!(asset["owner"], "team-payments");
        assert_eq!(asset["internet_facing"], false);
        assert_eq!(asset["addresses"], json!(["10.20.31.7", "52.18.4.201"]));
        assert!(output.indicators.contains(&Indicator::new(
            IndicatorKind::Ip,
            "10.20.31.7",
            IndicatorRole::Related
        )));
    }
    let other = ask(
        ROW,
        "arn:aws:ec2:eu-west-1:999955556666:instance/i-0a1b2c3d4e5f60718",
    )
    .await;
    assert_eq!(other.rows, Some(0), "another account's instance");
}

#[tokio::test]
async fn full_names_of_other_clouds_and_services_are_found() {
    let bucket = ROW
        .replace("i-0a1b2c3d4e5f60718", "payments-ledger")
        .replace(",instance,", ",bucket,");
    assert_eq!(
        ask(&bucket, "arn:aws:s3:::payments-ledger").await.rows,
        Some(1)
    );
    assert_eq!(
        ask(&bucket, "arn:aws:s3:::old-payments-ledger").await.rows,
        Some(0)
    );
    let machine = "web-1,,instance,shop,,,,,,,,,,,,\n";
    for (project, found) in [("shop", 1), ("shop-2", 0)] {
        let name = format!("//compute.googleapis.com/projects/{project}/zones/z/instances/web-1");
        assert_eq!(ask(machine, &name).await.rows, Some(found), "{name}");
    }
}

#[tokio::test]
async fn a_name_that_anybody_may_choose_is_no_asset() {
    let scanner = ROW
        .replace("i-0a1b2c3d4e5f60718", "vuln-scan-1")
        .replace(",instance,", ",,");
    for (name, found) in [
        ("arn:aws:ec2:eu-west-1:444455556666:instance/vuln-scan-1", 1),
        ("arn:aws:rds:eu-west-1:444455556666:db:vuln-scan-1", 1),
        (
            "arn:aws:sts::444455556666:assumed-role/stolen/vuln-scan-1",
            0,
        ),
        ("arn:aws:sts::444455556666:federated-user/vuln-scan-1", 0),
        ("arn:aws:iam::444455556666:user/vuln-scan-1", 0),
        ("arn:aws:s3:::secret-ledger/vuln-scan-1", 0),
        ("arn:aws:s3:::secret-ledger/2026/vuln-scan-1", 0),
        (
            "arn:aws:ecs:eu-west-1:444455556666:task/stolen/vuln-scan-1",
            0,
        ),
        ("//storage.googleapis.com/vuln-scan-1", 1),
        ("//storage.googleapis.com/projects/_/buckets/vuln-scan-1", 1),
        ("//storage.googleapis.com/stolen/vuln-scan-1", 0),
        (
            "//storage.googleapis.com/projects/_/buckets/b/objects/vuln-scan-1",
            0,
        ),
        (
            "//container.googleapis.com/projects/444455556666/zones/z/clusters/c/k8s/namespaces/n/pods/vuln-scan-1",
            0,
        ),
        (
            "//iam.googleapis.com/projects/444455556666/serviceAccounts/vuln-scan-1",
            0,
        ),
    ] {
        assert_eq!(ask(&scanner, name).await.rows, Some(found), "{name}");
    }
}

#[tokio::test]
async fn a_miss_is_an_answer() {
    let output = ask(ROW, "203.0.113.42").await;
    assert_eq!(output.rows, Some(0));
    assert_eq!(output.body["found"], 0);
    assert_eq!(output.body["assets"], json!([]));
    assert_eq!(
        output.body["searched"],
        json!({"register": "assets.csv", "records": 1})
    );
    assert_eq!(output.exonerations, []);
}

#[tokio::test]
async fn only_an_approved_row_with_findings_and_an_end_clears() {
    let alert = testing::alert();
    let whole = ask(ROW, "i-0a1b2c3d4e5f60718").await;
    let [one] = &whole.exonerations[..] else {
        panic!("{:?}", whole.exonerations)
    };
    assert_eq!(check_record(one, &alert), Ok(()));
    assert_eq!(one.kind, "asset");
    assert_eq!(one.subject_type, IndicatorKind::Instance);
    assert_eq!(one.reference, "i-0a1b2c3d4e5f60718");
    for (from, to) in [
        ("grace", ""),
        ("Discovery:IAMUser/*", ""),
        ("2026-12-31", ""),
    ] {
        let output = ask(&ROW.replace(from, to), "i-0a1b2c3d4e5f60718").await;
        assert_eq!(output.exonerations, [], "without {from}");
        assert_eq!(output.rows, Some(1));
    }
    let over = ask(
        &ROW.replace("2026-12-31", "2026-02-01"),
        "i-0a1b2c3d4e5f60718",
    )
    .await;
    assert_eq!(
        check_record(&over.exonerations[0], &alert),
        Err(RecordMismatch::OtherTime)
    );
    let other = ask(&ROW.replace("Discovery:", "Recon:"), "i-0a1b2c3d4e5f60718").await;
    assert_eq!(
        check_record(&other.exonerations[0], &alert),
        Err(RecordMismatch::OtherType)
    );
}

#[tokio::test]
async fn a_name_clears_nothing_and_an_address_does() {
    let by_name = ROW.replace(
        "i-0a1b2c3d4e5f60718,payments-worker-7",
        "x-1,payments-ledger",
    );
    let output = ask(&by_name, "payments-ledger").await;
    assert_eq!((output.rows, output.exonerations.len()), (Some(1), 0));
    let egress = ROW
        .replace("52.18.4.201", "203.0.113.40/29")
        .replace("2026-12-31,", "2026-12-31,true");
    let output = ask(&egress, "203.0.113.42").await;
    assert!(output.exonerations[0].detection_wrong);
    assert_eq!(
        check_record(&output.exonerations[0], &testing::alert()),
        Ok(())
    );
    let no_purpose = egress.replace("takes payments", "");
    let output = ask(&no_purpose, "203.0.113.42").await;
    assert!(!output.exonerations[0].detection_wrong);
}

#[tokio::test]
async fn a_name_of_one_kind_is_no_name_of_another() {
    use IndicatorKind::{Bucket, Container, Function, Instance};
    let row = |id: &str, kind: &str| {
        ROW.replace("i-0a1b2c3d4e5f60718", id)
            .replace(",instance,", &format!(",{kind},"))
    };
    let id = "i-0fffffffffffffff1";
    for (row, kind, name, found, cleared) in [
        (row(id, "instance"), Instance, id, 1, 1),
        (row(id, ""), Instance, id, 1, 1),
        (row(id, "instance"), Container, id, 0, 0),
        (row(id, ""), Container, id, 0, 0),
        (row("web-1", "EC2 instance"), Function, "web-1", 0, 0),
        (row("web-1", ""), Function, "web-1", 1, 0),
        (row("web-1", "lambda"), Function, "web-1", 1, 1),
        (row("web-1", ""), Bucket, "web-1", 1, 1),
        (row("web-1", "bucket"), Bucket, "web-1", 1, 1),
        (row("web-1", "instance"), Bucket, "web-1", 0, 0),
        (row("web-1", "teapot"), Bucket, "web-1", 1, 0),
        (row("arn:aws:s3:::web-1", ""), Bucket, "web-1", 1, 1),
        (row("arn:aws:s3:::web-1", ""), Instance, "web-1", 0, 0),
    ] {
        let mut alert = testing::alert();
        alert
            .indicators
            .push(Indicator::new(kind, name, IndicatorRole::Target));
        let asked = json!({ "indicator": name });
        let output = testing::call_about(alert, &tool(&row), asked)
            .await
            .unwrap();
        let told = (output.rows, output.exonerations.len());
        assert_eq!(told, (Some(found), cleared), "{kind:?} {row}");
    }
}

#[tokio::test]
async fn a_retired_machine_clears_nothing_but_its_address_may_pass_on() {
    let header = HEADER.replace(",purpose,", ",status,");
    let tool = |rows: &str| {
        AssetLookup::new(
            AssetLookupConfig {
                name: "assets".to_owned(),
                path: ContentSource::Text {
                    name: "assets.csv".into(),
                    text: format!("{header}{rows}").into(),
                },
            },
            &RegisterGroup::default(),
        )
    };
    let row = ROW.replace("takes payments", "active");
    let retired = ROW.replace("takes payments", "retired");
    let other = row.replace("i-0a1b2c3d4e5f60718", "i-0fffffffffffffff1");
    for (rows, asked, cleared) in [
        (format!("{row}{retired}"), "i-0a1b2c3d4e5f60718", 0),
        (format!("{other}{retired}"), "52.18.4.201", 1),
    ] {
        let asked = json!({ "indicator": asked });
        let output = testing::call(&tool(&rows), asked).await.unwrap();
        assert_eq!((output.rows, output.exonerations.len()), (Some(2), cleared));
    }
    let report = &tool(&format!("{row}{retired}")).reports()[0];
    assert_eq!(
        report.problems[0].to_string(),
        "line 2: clears nothing: line 3 says that i-0a1b2c3d4e5f60718 is no more"
    );
}

#[tokio::test]
async fn a_place_holds_only_in_alerts_that_tell_it() {
    let subject = "arn:aws:ec2:eu-west-1:444455556666:instance/i-0a1b2c3d4e5f60718";
    let tool = |region: &str| {
        let header = "id,region,expected_findings,approved_by,valid_until";
        let path = ContentSource::Text {
            name: "assets.csv".into(),
            text: format!("{header}\n{subject},{region},Discovery:*,ciso,2026-12-31\n").into(),
        };
        let name = "assets".to_owned();
        AssetLookup::new(AssetLookupConfig { name, path }, &RegisterGroup::default())
    };
    let asked = json!({ "indicator": "i-0a1b2c3d4e5f60718" });
    let output = testing::call(&tool(""), asked.clone()).await.unwrap();
    let [row] = &output.exonerations[..] else {
        panic!("{:?}", output.exonerations)
    };
    let mut alert = testing::alert();
    assert_eq!(check_record(row, &alert), Ok(()));
    alert.region = None;
    let why = check_record(row, &alert).unwrap_err().to_string();
    assert!(why.contains("than the finding tells"), "{why}");
    // The columns of the row contradict each other.
    let tool = tool("us-east-1");
    let output = testing::call(&tool, asked).await.unwrap();
    assert_eq!((output.rows, output.exonerations.len()), (Some(1), 0));
    let told = tool.reports()[0].problems[0].to_string();
    assert!(told.contains("names another region or zone"), "{told}");
}

#[tokio::test]
async fn a_machine_may_be_called_by_its_address_or_host_name() {
    for (id, asked) in [
        ("203.0.113.42", "203.0.113.42"),
        ("web-1.shop.example", "web-1.shop.example"),
        ("bücher.example", "xn--bcher-kva.example"),
    ] {
        let row = ROW.replace("i-0a1b2c3d4e5f60718", id);
        let output = ask(&row, asked).await;
        assert_eq!(output.exonerations.len(), 1, "{id}");
        assert_eq!(tool(&row).reports()[0].problems, [], "{id}");
    }
}

#[tokio::test]
async fn a_register_that_cannot_be_read_is_no_miss() {
    let tool = AssetLookup::new(
        AssetLookupConfig {
            name: "assets".to_owned(),
            path: ContentSource::Path("/nonexistent/assets.csv".into()),
        },
        &RegisterGroup::default(),
    );
    let error = testing::call(&tool, json!({"indicator": "203.0.113.42"}))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ToolError::Unavailable { what } if what.contains("cannot read /nonexistent/assets.csv")),
        "{error}"
    );
    assert_eq!(tool.reports()[0].records, 0);
    assert_eq!(tool.reports()[0].problems.len(), 1);
}

#[test]
fn rows_that_mean_to_clear_and_cannot_are_told() {
    let report = &tool(&ROW.replace("grace", "").replace("2026-12-31", "")).reports()[0];
    let what: Vec<&str> = report.problems.iter().map(|p| p.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "expects findings, but clears none: `approved_by` is empty",
            "expects findings, but clears none: `valid_until` is empty"
        ]
    );
    assert_eq!(report.records, 1);
    let wide = &tool(&ROW.replace("Discovery:IAMUser/*", "*")).reports()[0];
    assert!(wide.problems[0].what.contains("nearly every finding"));
    assert_eq!((wide.records, wide.problems[0].line), (0, Some(2)));
}

#[tokio::test]
async fn r1_results_that_are_not_strings_are_kept() {
    let tool = AssetLookup::new(
        AssetLookupConfig {
            name: "assets".to_owned(),
            path: ContentSource::embedded(
                "assets.json",
                r#"[{"id": "payments-ledger", "internet_facing": true, "cost": 12.5, "tags": {"tier": 1}, "ports": [443, 8443]}]"#,
            ),
        },
        &RegisterGroup::default(),
    );
    let output = testing::call(&tool, json!({"indicator": "payments-ledger"}))
        .await
        .unwrap();
    let asset = &output.body["assets"][0];
    assert_eq!(asset["internet_facing"], true);
    assert_eq!(
        asset["more"],
        json!({"cost": 12.5, "tags": {"tier": 1}, "ports": [443, 8443]})
    );
    assert_eq!(asset["owner"], Value::Null);
}
