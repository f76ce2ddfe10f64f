mod resources;

use serde_json::json;

use super::*;
use crate::authorised_scanners::{AuthorisedScanners, AuthorisedScannersConfig};
use crate::content::ContentSource;
use crate::testing;
use crate::tool::Tool;

const HEADER: &str =
    "id,subject,kind,account,status,approved_by,valid_from,valid_until,expected_findings,networks";
const ROW: &str =
    "PT-7,prod-payments-worker,,444455556666,,ciso,2026-01-01,2026-12-31,Discovery:*,";

fn tool(text: String) -> AuthorisedScanners {
    AuthorisedScanners::new(AuthorisedScannersConfig {
        name: "scanners".to_owned(),
        path: ContentSource::Text {
            name: "scanners.csv".into(),
            text: text.into(),
        },
        slack_mins: crate::SlackMins::default(),
    })
}

async fn exonerations_of_row(text: String) -> Vec<Exoneration> {
    let asked = json!({ "indicator": "prod-payments-worker" });
    testing::call(&tool(text), asked)
        .await
        .map(|output| output.exonerations)
        .unwrap_or_default()
}

/// Returns the first problem that is reported for this row.
fn first_problem(row: &str) -> String {
    let report = tool(format!("{HEADER}\n{row}\n")).reports().remove(0);
    let first = report.problems.first().map(ToString::to_string);
    first.unwrap_or_default()
}

#[tokio::test]
async fn a_row_says_where_it_holds_and_what_it_covers() {
    let text = "id,subject,account,partition,region,zone,cluster,approved_by,valid_until,expected_findings,keys,persons,networks,targets,addresses,calls,processes,hashes\n\
        PT-7,prod-payments-worker,444455556666,aws,eu-west-1,eu-west-1a,prod,ciso,2026-12-31,\"Discovery:*, {Recon,Trojan}:*; Policy:*\",AKIAEXAMPLE000000001,any,::ffff:10.0.0.0/104; 192.0.2.4-192.0.2.5,bucket-1; 192.0.2.0-192.0.2.1,10.0.0.1; h.example.com,s3:Put*,Any,sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    let made = exonerations_of_row(text.to_owned()).await;
    let [one] = &made[..] else { panic!("{made:?}") };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        one.scope,
        RecordScope {
            account: some("444455556666"),
            partition: some("aws"),
            region: some("eu-west-1"),
            zone: some("eu-west-1a"),
            cluster: some("prod"),
        }
    );
    assert_eq!(one.covers, ["Discovery:*", "{Recon,Trojan}:*", "Policy:*"]);
    let these =
        |values: &[&str]| ListedValues::These(values.iter().map(|it| (*it).to_owned()).collect());
    assert_eq!(
        one.extent,
        RecordExtent {
            keys: these(&["AKIAEXAMPLE000000001"]),
            persons: ListedValues::Any,
            networks: these(&["10.0.0.0/8", "192.0.2.4/31"]),
            targets: these(&["bucket-1", "192.0.2.0/31"]),
            addresses: these(&["10.0.0.1", "h.example.com"]),
            calls: these(&["s3:Put*"]),
            processes: ListedValues::Any,
            hashes: these(&["a".repeat(64).as_str()]),
        }
    );
}

#[tokio::test]
async fn x17_row_clears_only_in_force_and_with_an_approver() {
    for (from, to, cleared) in [
        (",,ciso", ",Enabled,ciso", 1),
        (",,ciso", ",Approved (CAB),ciso", 1),
        (",,ciso", ",withdrawn,ciso", 0),
        (",,ciso", ",on ice,ciso", 0),
        (",ciso,", ",pending,", 0),
        (",ciso,", ",-,", 0),
        (",ciso,", ",N/A,", 0),
        (",ciso,", ",TBD (grace),", 0),
        (",ciso,", ",Pending approval,", 0),
        (",ciso,", ",Notburga Meier,", 1),
        (",ciso,", ",k.m.,", 1),
        (",ciso,", ",10432,", 0),
        (",ciso,", ",n.n.,", 0),
        (",ciso,", ",Later,", 0),
        (",ciso,", ",system,", 0),
        (",ciso,", ",me,", 0),
        (",ciso,", ",0,", 0),
    ] {
        let row = ROW.replace(from, to);
        let made = exonerations_of_row(format!("{HEADER}\n{row}\n")).await;
        assert_eq!(made.len(), cleared, "{row}");
    }
}

#[tokio::test]
async fn x04_kind_of_one_platform_covers_nobody_whose_kind_is_not_told() {
    for (kind, cleared) in [("kubernetes", 0), ("root", 0), ("role", 1), ("ci", 1)] {
        let row = ROW.replace("worker,,", &format!("worker,{kind},"));
        let made = exonerations_of_row(format!("{HEADER}\n{row}\n")).await;
        assert_eq!(made.len(), cleared, "{kind}");
    }
}

#[tokio::test]
async fn a_semicolon_may_part_the_cells() {
    let text = format!("{HEADER}\n{ROW}\n").replace(',', ";");
    let text = text.replace("Discovery:*", "Recon:*, Discovery:*");
    let made = exonerations_of_row(text).await;
    assert_eq!(made[0].covers, ["Recon:*", "Discovery:*"]);
}

/// Part of the row, its replacement, and the problem that is then reported.
const SLIPS: &[(&str, &str, &str)] = &[
    (
        ",ciso,",
        ",pending,",
        "line 2: expects findings, but clears none: `approved_by` is \"pending\", which names nobody",
    ),
    (
        ",ciso,",
        ",12345,",
        "line 2: expects findings, but clears none: `approved_by` is \"12345\", which names nobody",
    ),
    (
        ",,ciso",
        ",on ice,ciso",
        "line 2: expects findings, but clears none: `status` is \"on ice\", which is not known",
    ),
    (
        ",444455556666,",
        ",,",
        "line 2: clears nothing that has an account, for `account` is empty: write the account, or * for any",
    ),
    (
        "worker,,",
        "worker,teapot,",
        "line 2: clears nothing: the kind \"teapot\" is not known in this register",
    ),
    (
        "worker,,",
        "worker,bucket,",
        "line 2: clears nothing: the kind \"bucket\" is not known in this register",
    ),
    (
        "prod-payments-worker,,",
        "arn:aws:iam::444455556666:role/x,user,",
        "line 2: never matches: arn:aws:iam::444455556666:role/x is no user by its form",
    ),
    (
        "prod-payments-worker,",
        "arn:aws:iam::111122223333:role/x,",
        "line 2: holds in 111122223333 only, which arn:aws:iam::111122223333:role/x names, and not in what `account` says",
    ),
    (
        "prod-payments-worker,,",
        "arn:aws:s3:::x,,",
        "line 2: never matches: arn:aws:s3:::x is no bucket of this register",
    ),
    (
        "prod-payments-worker,,",
        "\"web-1, web-2\",,",
        "line 2: never matches: part the names in \"web-1, web-2\" by `;`",
    ),
    (
        "prod-payments-worker,,",
        "\"web,db\",,",
        "line 2: is about one name, \"web,db\": part several names by `;`",
    ),
    (
        "prod-payments-worker,,",
        "scanner-1,,",
        "line 2: scanner-1 is taken for a principal: of a host, write the whole name or a `kind`",
    ),
    (
        "2026-12-31",
        "26-12-31",
        "line 2: `valid_until` is \"26-12-31\": write the year with four digits; the row is left out",
    ),
    (
        "Discovery:*,",
        "Discovery:*,0.0.0.0/0",
        "line 2: `networks`: 0.0.0.0/0 is wider than /8: name the networks, or write `any` for all; the row is left out",
    ),
    (
        "Discovery:*,",
        "Discovery:*,2000::/8",
        "line 2: `networks`: 2000::/8 is wider than /32: name the networks, or write `any` for all; the row is left out",
    ),
    (
        "Discovery:*,",
        "Discovery:*,*",
        "line 2: `networks` has \"*\": write `any`; the row is left out",
    ),
    (
        "Discovery:*,",
        "Discovery:*,any; 10.0.0.0/8",
        "line 2: `networks` has `any` and other values: write `any` alone or only the others; the row is left out",
    ),
    (
        "prod-payments-worker",
        "203.*",
        "line 2: `subject` 203.* is not a network: write it as 203.0.113.0/24; the row is left out",
    ),
];

#[test]
fn rows_that_do_not_do_what_they_seem_to_are_told() {
    assert_eq!(first_problem(ROW), "");
    for (from, to, expected) in SLIPS {
        let row = ROW.replace(from, to);
        // When the only row is unusable, the register fails with the same text.
        let told = first_problem(&row);
        assert!(told.ends_with(expected), "{row}: {told}");
    }
}

#[test]
fn addresses_of_a_scanner_are_told_to_do_nothing() {
    let header = HEADER.replace("networks", "addresses");
    let row = ROW.replace("prod-payments-worker", "scan.example.com");
    let report = tool(format!("{header}\n{row}10.1.2.3\n"))
        .reports()
        .remove(0);
    assert_eq!(
        report.problems[0].to_string(),
        "line 2: `addresses` covers nothing in this register: write them into `subject`"
    );
}

#[test]
fn a_column_that_other_registers_have_is_told() {
    for (column, meant) in [
        ("approver", "approved_by"),
        ("usual_networks", "networks"),
        ("satus", "status"),
    ] {
        let text = format!("{HEADER},{column}\n{ROW},x\n");
        let report = tool(text).reports().remove(0);
        let first = report.problems.first().map(ToString::to_string);
        assert_eq!(
            first.unwrap_or_default(),
            format!("line 2: unknown column `{column}`: is `{meant}` meant?")
        );
    }
}
