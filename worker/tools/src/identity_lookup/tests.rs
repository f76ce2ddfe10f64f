use nightshift_engine::tool::ToolOutput;
use nightshift_engine::verdict_policy::check_record;
use serde_json::json;

use super::*;
use crate::testing;
use crate::tool::Tool as _;

const ROW: &str = "ID-9,prod-payments-worker,arn:aws:sts::444455556666:assumed-role/prod-payments-worker/*,,role,team-payments,payments,,ES;PT,203.0.113.0/24,ASIAEXAMPLEKEY000001,active,Discovery:IAMUser/*,grace,2026-01-01,2026-12-31\n";

async fn ask(rows: &str, principal: &str) -> ToolOutput {
    let tool = IdentityLookup::new(IdentityLookupConfig {
        name: "identities".to_owned(),
        path: ContentSource::Text {
            name: "identities.csv".into(),
            text: format!(
                "id,principal,aliases,email,kind,owner,department,mfa,usual_countries,usual_networks,access_keys,status,expected_findings,approved_by,valid_from,valid_until\n{rows}"
            )
            .into(),
        },
    }, &RegisterGroup::default());
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
async fn an_identity_tells_its_networks_and_clears_while_active() {
    let output = ask(ROW, "prod-payments-worker").await;
    assert_eq!(output.exonerations[0].kind, "identity");
    assert_eq!(output.exonerations[0].reference, "ID-9");
    assert_eq!(
        check_record(&output.exonerations[0], &testing::alert()),
        Ok(())
    );
    let elsewhere = ask(
        &ROW.replace("203.0.113.0/24", "198.51.100.0/24"),
        "prod-payments-worker",
    )
    .await;
    assert_eq!(
        elsewhere.exonerations[0].extent.networks,
        ListedValues::These(vec!["198.51.100.0/24".to_owned()])
    );
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
async fn any_network_is_told_beside_an_empty_list() {
    let any = ROW.replace("203.0.113.0/24", "any");
    let output = ask(&any, "prod-payments-worker").await;
    assert_eq!(output.exonerations[0].extent.networks, ListedValues::Any);
    let row = &output.body["identities"][0];
    assert_eq!(
        (&row["networks"], &row["usual_networks"]),
        (&json!("any"), &serde_json::Value::Null)
    );
    assert_eq!(row["outside_usual_networks"], json!([]));
}

#[tokio::test]
async fn of_two_rows_one_terminated_neither_clears() {
    let gone = ROW
        .replace("ID-9", "ID-8")
        .replace(",active,", ",terminated,");
    for rows in [format!("{ROW}{gone}"), format!("{gone}{ROW}")] {
        let output = ask(&rows, "prod-payments-worker").await;
        assert_eq!((output.rows, output.exonerations.len()), (Some(2), 0));
    }
    let role = |account| format!("arn:aws:iam::{account}:role/prod-payments-worker");
    let of = |row: &str, account| {
        let worker =
            "prod-payments-worker,arn:aws:sts::444455556666:assumed-role/prod-payments-worker/*";
        row.replace(worker, &format!("{},", role(account)))
    };
    let rows = format!("{}{}", of(ROW, "444455556666"), of(&gone, "111122223333"));
    let output = ask(&rows, "prod-payments-worker").await;
    assert_eq!(output.exonerations.len(), 1, "gone in another account");
    let renewed = ROW.replace(",active,", ",expired,");
    let output = ask(&format!("{renewed}{ROW}"), "prod-payments-worker").await;
    assert_eq!(output.exonerations.len(), 1, "a row that was renewed");
}

#[tokio::test]
async fn what_another_register_ends_is_not_cleared() {
    let family = RegisterGroup::default();
    let register = |name: &'static str, rows: &str| {
        let path = ContentSource::Text {
            name: "r.csv".into(),
            text: format!(
                "principal,account,status,expected_findings,approved_by,valid_until\n{rows}"
            )
            .into(),
        };
        let config = IdentityLookupConfig {
            name: name.to_owned(),
            path,
        };
        IdentityLookup::new(config, &family)
    };
    let holds = register(
        "a",
        "worker,444455556666,active,Discovery:*,grace,2026-12-31",
    );
    let ask = async || {
        let output = testing::call(&holds, json!({"principal": "worker"})).await;
        output.unwrap().exonerations.len()
    };
    assert_eq!(ask().await, 1);
    register("b", "worker,111122223333,terminated,,,");
    assert_eq!(ask().await, 1, "gone in another account");
    register("c", "worker,444455556666,revoked,,,");
    assert_eq!(ask().await, 0);
}

#[tokio::test]
async fn a_service_account_holds_where_its_row_says() {
    let address = "ci@shop.iam.gserviceaccount.com";
    for (subject, account, scope) in [
        (address, "", "shop"),
        (address, "other-shop", "other-shop"),
        (address, "*", "*"),
        ("serviceAccount:ci@shop.iam.gserviceaccount.com", "", "shop"),
        (
            "//iam.googleapis.com/projects/shop/serviceAccounts/ci@shop.iam.gserviceaccount.com",
            "",
            "shop",
        ),
    ] {
        let text = format!(
            "principal,account,expected_findings,approved_by,valid_until\n{subject},{account},Discovery:*,grace,2026-12-31\n"
        );
        let tool = IdentityLookup::new(
            IdentityLookupConfig {
                name: "identities".to_owned(),
                path: ContentSource::Text {
                    name: "identities.csv".into(),
                    text: text.into(),
                },
            },
            &RegisterGroup::default(),
        );
        let asked = json!({ "principal": address });
        let output = testing::call(&tool, asked).await.unwrap();
        let told = output.exonerations.iter();
        let told: Vec<_> = told.map(|one| one.scope.account.as_deref()).collect();
        assert_eq!(told, [Some(scope)], "{subject} {account}");
        assert_eq!(tool.reports()[0].problems, [], "{subject} {account}");
    }
}

#[tokio::test]
async fn a_row_of_a_role_clears_no_user_of_its_name() {
    use nightshift_alert::{Principal, PrincipalKind};
    let named = |row: &str| {
        IdentityLookup::new(IdentityLookupConfig {
            name: "identities".to_owned(),
            path: ContentSource::Text {
                name: "identities.csv".into(),
                text: format!(
                    "principal,kind,account,expected_findings,approved_by,valid_until\n{row},Discovery:*,grace,2026-12-31\n"
                )
                .into(),
            },
        }, &RegisterGroup::default())
    };
    for (row, user, role, other) in [
        ("prod-payments-worker,role,4", 0, 1, 0),
        ("prod-payments-worker,user,4", 1, 0, 0),
        ("prod-payments-worker,kubernetes,4", 0, 0, 1),
        ("prod-payments-worker,ci,4", 1, 1, 0),
        ("prod-payments-worker,,4", 1, 1, 0),
        ("prod-payments-worker,bucket,4", 0, 0, 0),
        (
            "arn:aws:iam::444455556666:role/x/prod-payments-worker,,",
            0,
            1,
            0,
        ),
        (
            "arn:aws:iam::444455556666:user/prod-payments-worker,,",
            1,
            0,
            0,
        ),
    ] {
        for (kind, cleared) in [
            (PrincipalKind::User, user),
            (PrincipalKind::Role, role),
            (PrincipalKind::Other, other),
        ] {
            let mut alert = testing::alert();
            alert.principals.push(Principal {
                name: "prod-payments-worker".to_owned(),
                kind,
                id: None,
            });
            let asked = json!({ "principal": "prod-payments-worker" });
            let output = testing::call_about(alert, &named(row), asked)
                .await
                .unwrap();
            assert_eq!(output.exonerations.len(), cleared, "{row} {kind:?}");
        }
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
async fn a_row_tells_the_accounts_that_it_holds_in() {
    let row = |account: &str| {
        format!("ID-9,{account},ci-deployer,Discovery:IAMUser/*,grace,2026-12-31\n")
    };
    let tool = |account: &str| {
        IdentityLookup::new(
            IdentityLookupConfig {
                name: "identities".to_owned(),
                path: ContentSource::Text {
                    name: "identities.csv".into(),
                    text: format!(
                        "id,account,principal,expected_findings,approved_by,valid_until\n{}",
                        row(account)
                    )
                    .into(),
                },
            },
            &RegisterGroup::default(),
        )
    };
    for (account, scopes) in [
        ("444455556666", vec![Some("444455556666")]),
        ("44455556666", vec![Some("044455556666")]),
        ("444455556666;*", vec![Some("444455556666"), Some("*")]),
        ("", vec![None]),
    ] {
        let tool = tool(account);
        let asked = json!({ "principal": "ci-deployer" });
        let output = testing::call(&tool, asked).await.unwrap();
        assert_eq!(output.body["found"], 1, "{account:?}");
        let told = output.exonerations.iter();
        let told: Vec<_> = told.map(|one| one.scope.account.as_deref()).collect();
        assert_eq!(told, scopes, "{account:?}");
        let doubts = tool.reports()[0].problems.len();
        assert_eq!(doubts, usize::from(account.is_empty()), "{account:?}");
    }
}
