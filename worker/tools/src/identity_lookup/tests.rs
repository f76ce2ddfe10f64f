use nightshift_engine::check;
use serde_json::json;

use super::*;
use crate::testing;

const ROW: &str = "ID-9,prod-payments-worker,arn:aws:sts::444455556666:assumed-role/prod-payments-worker/*,,role,team-payments,payments,,ES;PT,203.0.113.0/24,ASIAEXAMPLEKEY000001,active,Discovery:IAMUser/*,grace,2026-01-01,2026-12-31\n";

async fn ask(rows: &str, principal: &str) -> ToolOutput {
    let tool = IdentityLookup::new(Config {
        name: "identities".to_owned(),
        path: Content::Text {
            name: "identities.csv".into(),
            text: format!(
                "id,principal,aliases,email,kind,owner,department,mfa,usual_countries,usual_networks,access_keys,status,expected_findings,approved_by,valid_from,valid_until\n{rows}"
            )
            .into(),
        },
    });
    testing::call(&tool, json!({ "principal": principal }))
        .await
        .unwrap()
}

#[tokio::test]
async fn an_identity_is_found_by_name_session_and_key() {
    for (principal, kind) in [
        ("prod-payments-worker", "principal"),
        (
            "arn:aws:sts::444455556666:assumed-role/prod-payments-worker/i-0a1b",
            "principal",
        ),
        ("ASIAEXAMPLEKEY000001", "access_key"),
    ] {
        let output = ask(ROW, principal).await;
        assert_eq!(output.body["found"], 1, "{principal}");
        assert_eq!(output.body["type"], kind);
        let identity = &output.body["identities"][0];
        assert_eq!(identity["usual_countries"], json!(["ES", "PT"]));
        assert_eq!(identity["mfa"], serde_json::Value::Null);
        assert_eq!(identity["access_keys"], json!(["ASIAEXAMPLEKEY000001"]));
    }
    let miss = ask(ROW, "prod-payments-workers").await;
    assert_eq!((miss.rows, &miss.body["found"]), (Some(0), &json!(0)));
}

#[tokio::test]
async fn a_name_that_only_looks_like_an_approved_one_is_not_found() {
    for name in [
        "prod-payments-worker.",
        "prod-payments-wor\u{212a}er",
        "prod-payments-wor\u{212a}er.",
    ] {
        let output = ask(ROW, name).await;
        assert_eq!(output.body["found"], 0, "{name}");
        assert_eq!(output.exonerations, [], "{name}");
    }
}

#[tokio::test]
async fn an_identity_clears_only_from_its_usual_networks_while_it_is_active() {
    let output = ask(ROW, "prod-payments-worker").await;
    assert_eq!(output.exonerations[0].kind, "identity");
    assert_eq!(output.exonerations[0].reference, "ID-9");
    assert_eq!(check(&output.exonerations[0], &testing::alert()), Ok(()));
    let elsewhere = ask(
        &ROW.replace("203.0.113.0/24", "198.51.100.0/24"),
        "prod-payments-worker",
    )
    .await;
    assert_eq!(elsewhere.exonerations, []);
    assert_eq!(
        elsewhere.body["identities"][0]["outside_usual_networks"],
        json!(["203.0.113.42"])
    );
    for (from, to) in [("active", "disabled"), ("grace", ""), ("2026-12-31", "")] {
        let output = ask(&ROW.replace(from, to), "prod-payments-worker").await;
        assert_eq!(
            (output.rows, output.exonerations.len()),
            (Some(1), 0),
            "{from} → {to}"
        );
    }
}

#[tokio::test]
async fn what_clears_reads_as_a_conclusion() {
    let ci = ROW.replace(",role,", ",ci,");
    let nobodys = ROW.replace(",role,team-payments,", ",,,");
    for (row, asked, said) in [
        (
            &*ci,
            "prod-payments-worker",
            "prod-payments-worker is a machine identity (ci) of team-payments, expected to do this",
        ),
        (
            ROW,
            "ASIAEXAMPLEKEY000001",
            "ASIAEXAMPLEKEY000001 (prod-payments-worker in the register) is an identity (role) of team-payments, expected to do this",
        ),
        (
            &*nobodys,
            "prod-payments-worker",
            "prod-payments-worker is an identity of nobody named, expected to do this",
        ),
    ] {
        let output = ask(row, asked).await;
        assert_eq!(output.exonerations[0].statement, said);
    }
}

#[tokio::test]
async fn a_network_that_is_none_makes_a_bad_row() {
    let bad = ROW.replace("203.0.113.0/24", "office");
    let other = ROW.replace("prod-payments-worker", "other");
    let output = ask(&format!("{bad}{other}"), "prod-payments-worker").await;
    assert_eq!(output.rows, Some(0));
    assert_eq!(output.body["searched"]["left_out"], 1);
}

#[tokio::test]
async fn a_name_clears_in_its_own_account_only() {
    let row = |account: &str| {
        format!("ID-9,{account},ci-deployer,Discovery:IAMUser/*,grace,2026-12-31\n")
    };
    let tool = |account: &str| {
        IdentityLookup::new(Config {
            name: "identities".to_owned(),
            path: Content::Text {
                name: "identities.csv".into(),
                text: format!(
                    "id,account,principal,expected_findings,approved_by,valid_until\n{}",
                    row(account)
                )
                .into(),
            },
        })
    };
    let ours = testing::alert().account.unwrap();
    for (account, cleared) in [(ours.as_str(), 1), ("999988887777", 0), ("", 1)] {
        let tool = tool(account);
        let asked = json!({ "principal": "ci-deployer" });
        let output = testing::call(&tool, asked).await.unwrap();
        assert_eq!(output.body["found"], 1, "{account:?}");
        assert_eq!(output.exonerations.len(), cleared, "{account:?}");
        let doubts = tool.reports()[0].problems.len();
        assert_eq!(doubts, usize::from(account.is_empty()), "{account:?}");
    }
}
