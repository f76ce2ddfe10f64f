use nightshift_alert::IndicatorKind;
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, logged, nothing, on_list, record,
};

const ANONYMOUS: &str = "guardduty-kubernetes-anonymous";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn audit(action: &str) -> Value {
    json!({"at": "2026-03-02T02:31:00Z", "action": action, "principal": "system:anonymous", "source_ip": "185.220.101.42",
        "resource": "secrets", "outcome": "200", "error": null})
}

#[test]
fn secrets_read_without_a_name_are_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([audit("list")]))),
        "watchlist" => Ok(on_list("tor_exit", arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(ANONYMOUS));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The caller did not sign in: it is system:anonymous
    For [E0] The control plane answered 200 to /api/v1/namespaces/payments/secrets
    For [E11 E0] The audit log shows list on secrets by system:anonymous at 2026-03-02T02:31:00Z
    For [E2 E0] 185.220.101.42 is listed as tor exit (watch list threats)
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"remove-anonymous-binding restrict-control-plane rotate-cluster-credentials review-cluster-audit contact-owner");
}

#[test]
fn cluster_admin_for_everybody_is_always_a_true_positive() {
    let change = record(
        "change",
        IndicatorKind::Principal,
        "dev.ops@larkspur.example",
    );
    let ran = PlaybookCase::with(&ALL, quiet)
        .clearing(change)
        .run(made_for("scc-gke-anonymous-binding"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert tells of a binding with system:unauthenticated: everybody who can reach the control plane
    For [E0] The alert tells of a binding with cluster-admin: all rights on the cluster
    For [E0] The alert reports io.k8s.authorization.rbac.v1.clusterrolebindings.create by dev.ops@larkspur.example from 198.51.100.140, once
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"remove-anonymous-binding restrict-control-plane rotate-cluster-credentials review-cluster-audit contact-owner");
}

#[test]
fn an_authorised_scanner_of_clusters_is_benign() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "185.220.101.42");
    let end = PlaybookCase::with(&ALL, quiet)
        .clearing(scanner)
        .run(made_for(ANONYMOUS))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn no_scanner_is_authorised_to_read_secrets_without_a_name() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "185.220.101.42");
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([audit("list")]))),
        _ => quiet(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, answers)
        .clearing(scanner)
        .run(made_for(ANONYMOUS))
        .conclusion;
    assert_eq!(end.verdict, Verdict::TruePositive);
}

#[test]
fn g06_secret_reads_between_other_reads_are_not_skipped() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "185.220.101.42");
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => {
            let on = |resource: &str| {
                let mut row = audit("get");
                row["resource"] = json!(resource);
                row
            };
            Ok(logged(kind, json!([on("pods"), on("secrets"), on("pods")])))
        }
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers)
        .clearing(scanner)
        .run(made_for(ANONYMOUS));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    let claims = ran.claims();
    assert!(
        claims.contains("The audit log shows get on secrets"),
        "{claims}"
    );
    assert!(!claims.contains("None of the calls"), "{claims}");
}

#[test]
fn a_look_at_the_version_leans_benign() {
    let ran = PlaybookCase::with(&ALL, quiet).run(made_for("guardduty-kubernetes-version"));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The caller did not sign in: it is system:anonymous
    For [E0] The alert reports KUBERNETES_API_CALL get /version by system:anonymous from 198.51.100.9, twice
    Against [E0] The alert names only /version, which clusters answer to everybody by default
    ");
    insta::assert_snapshot!(ran.would_decide(), @"
    The audit log of shop-prod for 198.51.100.9: that nothing else was asked for
    An approved record that 198.51.100.9 may do this, with an end and who approved it
    ");
}

#[test]
fn without_the_audit_log_it_stays_open() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for(ANONYMOUS));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.would_decide(), @"
    The audit log of shop-prod for 185.220.101.42 since 2026-03-02T02:11:04Z: whether secrets were read, shells opened or workloads started
    The role bindings of shop-prod that name system:anonymous or system:unauthenticated
    A record (authorised scanner, change, asset) that allows it, with who approved it
    ");
}

#[test]
fn unrelated_log_beside_the_audit_log_blocks_nothing() {
    let asset = record("asset", IndicatorKind::Ip, "198.51.100.9");
    let verdict = |answers: ToolAnswers| {
        let mut alert = made_for("guardduty-kubernetes-version");
        alert.provider = nightshift_alert::CloudProvider::Gcp;
        let world = PlaybookCase::with(&ALL, answers).clearing(asset.clone());
        world.run(alert).conclusion.verdict
    };
    let beside: ToolAnswers = |kind, arguments| {
        let mut answer = nothing(kind, arguments);
        if kind == "log_search.json_lines" {
            answer["searched"] = json!({"records_in_time": 0});
        }
        Ok(answer)
    };
    let neither: ToolAnswers = |kind, arguments| {
        let mut answer = nothing(kind, arguments);
        if kind.starts_with("log_search") {
            answer["searched"] = json!({"records_in_time": 0});
        }
        Ok(answer)
    };
    assert_eq!(verdict(quiet), Verdict::BenignTruePositive);
    assert_eq!(verdict(beside), Verdict::BenignTruePositive);
    assert_eq!(verdict(neither), Verdict::Inconclusive);
}

#[test]
fn what_was_changed_in_the_cluster_is_not_told_as_outside_of_it() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.gcp_audit" => {
            let call = |action: &str, service: &str| {
                let mut row = audit(action);
                row["service"] = json!(service);
                row["read_only"] = json!(false);
                row["outcome"] = json!("success");
                row["resource"] = json!("core/v1/namespaces/shop/configmaps/x");
                row["source_ip"] = json!("198.51.100.140");
                row
            };
            let inside = call("io.k8s.core.v1.configmaps.create", "k8s.io");
            let outside = call("storage.buckets.create", "storage.googleapis.com");
            Ok(logged(kind, json!([inside, outside])))
        }
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for("scc-gke-anonymous-binding"));
    let claims = ran.claims();
    let changed: Vec<_> = claims
        .lines()
        .filter(|line| line.contains("cluster "))
        .collect();
    insta::assert_snapshot!(changed.join("\n"), @"
    For [E14 E0] In the cluster something was changed: io.k8s.core.v1.configmaps.create (198.51.100.140) by system:anonymous at 2026-03-02T02:31:00Z
    For [E14 E0] Outside the cluster the audit log shows storage.buckets.create (198.51.100.140) by system:anonymous at 2026-03-02T02:31:00Z
    ");
}
