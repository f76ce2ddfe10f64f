//! Tests a local service: a case pages once, follows what people do, and pages again only after its source reopened it.

use nightshift_alert::Severity;
use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use proptest::prelude::*;

use super::super::fake::{Fake, Fault};
use super::super::inert::{self, has_no_secret, links};
use super::super::trial::{
    FrozenClock, Kill, Trial, acted, again, case, read_config, refusal, secret, triaged_again,
};
use super::event::{EVENT_BYTES, SUMMARY};
use super::world::{Alert, Service};
use super::*;
use crate::fixture;
use crate::fixture::strings;

/// An integration key has 32 characters.
const KEY: &str = "hush0000000000000000000000000000";

fn config(url: &str) -> PagerDutyConfig {
    PagerDutyConfig {
        links: links(),
        ..read_config(json!({ "name": "pager", "url": url, "routing_key": "env:K" }))
    }
}

fn to(config: PagerDutyConfig) -> PagerDutyDestination {
    PagerDutyDestination::new(config, secret(KEY), Arc::new(FrozenClock)).unwrap()
}

async fn service() -> (Fake<Service>, PagerDutyDestination) {
    let fake = Fake::start(Service::default()).await;
    let to = to(config(&fake.url));
    (fake, to)
}

fn alert(fake: &Fake<Service>, case: &str) -> Alert {
    fake.with(|service| service.alerts.get(case).cloned().unwrap_or_default())
}

#[tokio::test]
async fn a_case_pages_once_and_is_followed_to_its_end() {
    let (fake, to) = service().await;
    let first = case("k3f9-x2mq-7d1w");
    let taken = acted(&first, CaseActionKind::Acknowledged);
    let closed = acted(&taken, CaseActionKind::Closed);
    let mut trial = Trial::default();
    let mut worse = again(&closed);
    worse.report.assessed_severity = Severity::Critical;
    let taken_again = acted(&worse, CaseActionKind::Acknowledged);
    for showing in [
        &first,
        &again(&first),
        &taken,
        &taken,
        &closed,
        &closed,
        &worse,
        &taken_again,
    ] {
        assert!(trial.show(&fake, &to, showing, Kill::Never).await.unwrap());
    }
    assert_eq!(
        alert(&fake, "k3f9-x2mq-7d1w"),
        Alert {
            incidents: 1,
            state: "resolved",
            events: ["trigger", "acknowledge", "resolve"]
                .map(str::to_owned)
                .into(),
        }
    );
    assert_eq!(trial.remote_id.as_deref(), Some("resolved"));
}

#[tokio::test]
async fn a_case_that_its_source_opened_again_pages_again() {
    let (fake, to) = service().await;
    let first = case("k3f9-x2mq-7d1w");
    let closed = acted(&first, CaseActionKind::Closed);
    let open = acted(&closed, CaseActionKind::Reopened);
    let second = triaged_again(&open);
    let taken = acted(&second, CaseActionKind::Acknowledged);
    let open_again = acted(
        &acted(&taken, CaseActionKind::Closed),
        CaseActionKind::Reopened,
    );
    let third = triaged_again(&open_again);
    let mut trial = Trial::default();
    // The second close was never shown, because the case was reopened before.
    for showing in [&first, &closed, &open, &second, &taken, &open_again, &third] {
        assert!(trial.show(&fake, &to, showing, Kill::Never).await.unwrap());
    }
    let events = |case: &str| alert(&fake, case).events.join(" ");
    assert_eq!(events("k3f9-x2mq-7d1w"), "trigger resolve");
    assert_eq!(events("k3f9-x2mq-7d1w/2"), "trigger acknowledge resolve");
    assert_eq!(events("k3f9-x2mq-7d1w/3"), "trigger");
    assert_eq!(trial.remote_id.as_deref(), Some("triggered (page 3)"));

    let harmless = DeliveryPayload {
        report: again(&first).report,
        ..triaged_again(&acted(
            &acted(&third, CaseActionKind::Closed),
            CaseActionKind::Reopened,
        ))
    };
    trial
        .show(&fake, &to, &harmless, Kill::Never)
        .await
        .unwrap();
    assert_eq!(events("k3f9-x2mq-7d1w/3"), "trigger resolve");
    assert_eq!(events("k3f9-x2mq-7d1w/4"), "");
}

#[tokio::test]
async fn f26_a_page_again_whose_answer_is_lost_wakes_once_and_ends() {
    use Fault::{Busy, Done, Down, Gateway, NotDone};
    let (fake, to) = service().await;
    let faults = [Done, NotDone, Gateway, Busy, Down, Done, Done];
    for number in 0..49 {
        let id = format!("c{number:03}-f26x-f26x");
        let first = case(&id);
        let open = acted(
            &acted(&first, CaseActionKind::Closed),
            CaseActionKind::Reopened,
        );
        let second = triaged_again(&open);
        let over = acted(&second, CaseActionKind::Closed);
        let mut trial = Trial::default();
        assert!(trial.show(&fake, &to, &first, Kill::Never).await.unwrap());
        // In every other case people close it before the page is recorded.
        let kill = [Kill::Never, Kill::BeforeMark][number % 2];
        for (at, (showing, kill)) in [(&second, kill), (&over, Kill::Never)]
            .into_iter()
            .enumerate()
        {
            fake.breaks((0..4).map(|turn| faults[(number + at + turn) % faults.len()]));
            trial.show(&fake, &to, showing, kill).await.unwrap();
            fake.mends();
        }
        for key in [id.clone(), format!("{id}/2")] {
            let alert = alert(&fake, &key);
            let is_over = alert.incidents == 0 || (alert.incidents, alert.state) == (1, "resolved");
            assert!(is_over, "{key}: {alert:?}");
        }
        let paged = alert(&fake, &format!("{id}/2")).incidents;
        assert!(paged == 1 || kill == Kill::BeforeMark, "{id}");
    }
}

#[tokio::test]
async fn what_people_call_wrong_is_resolved() {
    let (fake, to) = service().await;
    let first = case("k3f9-x2mq-7d1w");
    let verdict = nightshift_engine::conclusion::Verdict::FalsePositive;
    let mut trial = Trial::default();
    for showing in [
        &first,
        &acted(&first, CaseActionKind::Disagreed { verdict }),
    ] {
        trial.show(&fake, &to, showing, Kill::Never).await.unwrap();
    }
    assert_eq!(alert(&fake, "k3f9-x2mq-7d1w").state, "resolved");
}

#[tokio::test]
async fn f26_500_lost_replies_page_once_each_and_all_end() {
    use Fault::{Busy, Done, Down, Gateway, NotDone};
    let (fake, to) = service().await;
    let faults = [Done, NotDone, Gateway, Busy, Down, Done, Done];
    for number in 0..500 {
        let id = format!("c{number:03}-f26x-f26x");
        let first = case(&id);
        let taken = acted(&first, CaseActionKind::Acknowledged);
        let closed = acted(&taken, CaseActionKind::Closed);
        let mut trial = Trial::default();
        for (at, showing) in [&first, &taken, &closed].into_iter().enumerate() {
            fake.breaks((0..4).map(|turn| faults[(number + at + turn) % faults.len()]));
            assert!(trial.show(&fake, &to, showing, Kill::Never).await.unwrap());
            fake.mends();
        }
        let alert = alert(&fake, &id);
        assert_eq!(
            (alert.incidents, alert.state),
            (1, "resolved"),
            "{id}: {alert:?}"
        );
    }
}

#[tokio::test]
async fn f26_killed_at_every_boundary_nobody_is_woken_twice() {
    let (fake, to) = service().await;
    let kills = [Kill::Never, Kill::BeforeSend, Kill::BeforeMark];
    for number in 0..27_usize {
        let id = format!("k{number:03}-kill-kill");
        let first = case(&id);
        let taken = acted(&first, CaseActionKind::Acknowledged);
        let closed = acted(&taken, CaseActionKind::Closed);
        let mut trial = Trial::default();
        let mut at = number;
        for showing in [&first, &taken, &closed] {
            trial
                .show(&fake, &to, showing, kills[at % 3])
                .await
                .unwrap();
            at /= 3;
        }
        trial.show(&fake, &to, &closed, Kill::Never).await.unwrap();
        let alert = alert(&fake, &id);
        // A case did not page only if nothing was sent before people closed it.
        let is_over = alert.incidents == 0 || (alert.incidents, alert.state) == (1, "resolved");
        assert!(is_over, "{id}: {alert:?}");
        assert!(alert.incidents == 1 || number % 3 == 1, "{id}: {alert:?}");
    }
}

#[tokio::test]
async fn ambiguous_page_is_resolved_instead_of_resent_when_finished() {
    let (fake, to) = service().await;
    let first = case("k3f9-x2mq-7d1w");
    let mut trial = Trial::default();
    trial
        .show(&fake, &to, &first, Kill::BeforeMark)
        .await
        .unwrap();
    let closed = acted(&first, CaseActionKind::Closed);
    trial.show(&fake, &to, &closed, Kill::Never).await.unwrap();
    let alert = alert(&fake, "k3f9-x2mq-7d1w");
    assert_eq!(alert.events, ["trigger", "resolve"]);
    assert_eq!(alert.incidents, 1);
}

#[tokio::test]
async fn a_page_whose_acknowledgement_is_lost_is_known_to_have_paged() {
    let (fake, to) = service().await;
    let taken = acted(&case("k3f9-x2mq-7d1w"), CaseActionKind::Acknowledged);
    let taken = DeliveryPayload {
        is_minor: false,
        ..taken
    };
    for fault in [Fault::NotDone, Fault::Busy] {
        fake.breaks([Fault::None, fault]);
        let error = to.deliver(&taken).await.unwrap_err();
        let DeliveryError::Partial { remote_id, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(remote_id, "triggered");
    }
}

#[tokio::test]
async fn permanent_refusal_names_the_fix_and_rate_limit_is_waited_out() {
    let (fake, to) = service().await;
    let short = PagerDutyDestination::new(config(&fake.url), secret("hush"), Arc::new(FrozenClock));
    let invalid = refusal(&fake, &short.unwrap()).await;
    let elsewhere = super::tests::to(config(&format!("{}/x", fake.url)));
    let nowhere = refusal(&fake, &elsewhere).await;
    insta::assert_snapshot!(format!("{invalid}\n{nowhere}"), @r#"
    127.0.0.1 answered 400 Bad Request (is `routing_key` the integration key, 32 characters, of an Events API v2 integration?): Event object is invalid; 'routing_key' is invalid (Expected 32 characters)
    127.0.0.1 answered 404 Not Found (is `url` that of the Events API of your service region?): "Not Found"
    "#);
    fake.with(|service| service.is_full = true);
    let error = to.deliver(&case("k3f9-busy-busy")).await.unwrap_err();
    assert!(
        matches!(error, DeliveryError::Transient { .. }),
        "{error:?}"
    );
}

#[test]
fn samples_and_what_is_not_severe_page_nobody() {
    let to = to(config("http://127.0.0.1:1"));
    let mut sample = case("k3f9-x2mq-7d1w");
    sample.report.alert.sample = true;
    let cleared = DeliveryPayload::new(fixture::benign());
    assert!(!to.wants(&sample) && !to.wants(&cleared));
    assert!(to.wants(&case("k3f9-x2mq-7d1w")));
    let unknown = DeliveryPayload {
        remote_id: Some("of a later version".into()),
        ..acted(&case("k3f9-x2mq-7d1w"), CaseActionKind::Closed)
    };
    assert!(!to.wants(&unknown), "what may be over is left alone");
}

fn event(report: Report, language: Language) -> Value {
    let config = PagerDutyConfig {
        language,
        ..config("https://events.pagerduty.com")
    };
    to(config).preview(&DeliveryPayload::new(report))
}

fn shown(report: Report, language: Language) -> String {
    serde_json::to_string_pretty(&event(report, language)).unwrap()
}

#[test]
fn a_page_on_a_critical_true_positive() {
    insta::assert_snapshot!(shown(fixture::true_positive(), Language::En), @r#"
    {
      "client": "Nightshift",
      "client_url": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
      "dedup_key": "k3f9-x2mq-7d1w",
      "event_action": "trigger",
      "links": [
        {
          "href": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
          "text": "Case page"
        }
      ],
      "payload": {
        "class": "Execution: Cryptocurrency Mining Hash Match",
        "component": "google.compute.Instance",
        "custom_details": {
          "1. Summary": "Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).\nA program that is known to mine cryptocurrency was started on a virtual machine.\nStill happening? last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]\nReach: environment production · internet-facing · owner team-web · role web server [E2] (not known: data)\nOther cases: a1b2-c3d4-e5f6",
          "2. Recommendations: do this first": "Suggested, not executed.\n1. Snapshot the disk of web-server-prod-01 before anything else.\n  - run:\n    gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01\n  - side effect: Costs storage.\n  - undo:\n    gcloud compute snapshots delete nightshift-web-server-prod-01 --project production-project-12345\n2. Isolate web-server-prod-01 from the network.\n  - before: A firewall rule that denies all traffic of the tag nightshift-isolated.\n  - run:\n    gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated\n  - side effect: The service on it is down.\n  - undo:\n    gcloud compute instances remove-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated\n3. Block pool.minexmr[.]com at the resolver.",
          "3. Facts": "Account: production-project-12345\nOwner: team-web\nRegion: us-central1-a\nResource: web-server-prod-01 (google.compute.Instance)\nFar end: pool.minexmr[.]com and 1 more\nType: Execution: Cryptocurrency Mining Hash Match\nSeen: 2026-11-20 02:41 to 03:02 UTC, 3 times\nTechniques: T1496 Resource Hijacking\nSeverity: High → Critical",
          "4. Key findings: why": "- pool.minexmr[.]com is on the watch list of mining pools. [E3]\n- web-server-prod-01 sent 41 MB to 185.220.101[.]42 on port 4444. [E4]\n- No change is recorded for web-server-prod-01 that night. [E5]",
          "5. Uncertainties: against, or not checked": "- The instance's service account was not used. [E6]\n- Not checked: Read the VPC flow logs failed: access denied\nCoverage: 4 of 5 sources read; vpc_flow: access denied: vpc flow",
          "6. Assessment": "Verdict: True positive, high confidence: what was seen is what attackers do\nSeverity: High → Critical"
        },
        "group": "production-project-12345",
        "severity": "critical",
        "source": "web-server-prod-01",
        "summary": "▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod-01 (production-project-12345)",
        "timestamp": "2026-11-20T03:02:00Z"
      }
    }
    "#);
}

#[test]
fn a_page_on_what_could_not_be_decided() {
    insta::assert_snapshot!(shown(fixture::overridden(), Language::Ja), @r#"
    {
      "client": "Nightshift",
      "client_url": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
      "dedup_key": "k3f9-x2mq-7d1w",
      "event_action": "trigger",
      "links": [
        {
          "href": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
          "text": "ケースページ"
        }
      ],
      "payload": {
        "class": "Execution: Cryptocurrency Mining Hash Match",
        "component": "google.compute.Instance",
        "custom_details": {
          "1. 要約": "The user agent is the one that ci-deploy always sends. Not decided: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert.\nSomebody listed what an account holds, in a way that this account does not do.\n警告: データ内の文章が分析者に話しかけています。その内容で無害とした点はありません。攻撃者の言葉として読んでください。\n継続中か？ 最終観測 2026-11-20 03:02 UTC、3 回; 以後の活動なし、読めたログは 2026-11-20 03:09 UTC まで [E4]\n影響範囲: 環境 production · インターネット公開 · 所有者 team-web · 役割 web server [E2]（不明: データ）\n関連ケース: a1b2-c3d4-e5f6",
          "2. 推奨: 最初にすること": "対応は選ばれていません。判断を決める材料を確認してください。",
          "3. 概要": "アカウント: production-project-12345\n所有者: team-web\nリージョン: us-central1-a\nリソース: web-server-prod-01 (google.compute.Instance)\n実行主体: ci-deploy\n送信元 IP: 198.51.100[.]7\n種別: Execution: Cryptocurrency Mining Hash Match\n観測: 2026-11-20 02:41 ～ 03:02 UTC、3 回\n攻撃手法: T1496 Resource Hijacking\n重要度: 高（変更なし）",
          "4. 主な所見: 根拠": "- The user agent is the one that ci-deploy always sends. [E4]",
          "5. 不確かな点: 反証・未確認": "- 未確認: The identity register was not configured\n情報源: 5 件中 4 件を読み取り; vpc_flow: access denied: vpc flow",
          "6. 判断を決める材料": "- An approved change for ci-deploy that covers that night\n- The address it usually comes from",
          "7. 評価": "判定: 判定不能（無害寄り）、確信度 低: データ内の文章が分析者に話しかけている\n重要度: 高（変更なし）\n- 規則が分析者の判断を上書き（suspected manipulation）: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert\nアラートの読み取り: 4 個の不可視文字を除去; 1 フィールドが分析者に話しかけている",
          "8. 無害とする根拠": "- ci-deploy (principal): identity ci-deploy、承認 grace\n- 198.51.100[.]23 (ip): 【記録なし】"
        },
        "group": "production-project-12345",
        "severity": "error",
        "source": "web-server-prod-01",
        "summary": "● 当番時間内 · 判定不能（無害寄り） · 高 — Anomalous discovery by ci-deploy (production-project-12345)",
        "timestamp": "2026-11-20T03:02:00Z"
      }
    }
    "#);
}

#[test]
fn a_page_on_a_failed_run() {
    insta::assert_snapshot!(shown(fixture::failed(), Language::En), @r#"
    {
      "client": "Nightshift",
      "client_url": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
      "dedup_key": "k3f9-x2mq-7d1w",
      "event_action": "trigger",
      "links": [
        {
          "href": "https://nightshift.example.com/cases/k3f9-x2mq-7d1w",
          "text": "Case page"
        }
      ],
      "payload": {
        "class": "Execution: Cryptocurrency Mining Hash Match",
        "component": "google.compute.Instance",
        "custom_details": {
          "1. Summary": "Not triaged: No plan could be made: the model gave no answer within 60 s.\nWarning: The run failed: nothing here is a verdict. Look at the alert yourself, or run it again.\nStill happening? last seen 2026-11-20 03:02 UTC, 3 times; since then: not known\nReach: not known: no register or tag tells of environment, exposure, owner, role or data\nOther cases: none known that share an actor, target or far end",
          "2. Recommendations: do this first": "The run failed before an action was chosen. Open the alert in its own console.",
          "3. Facts": "Account: production-project-12345\nRegion: us-central1-a\nResource: web-server-prod-01 (google.compute.Instance)\nFar end: pool.minexmr[.]com and 1 more\nType: Execution: Cryptocurrency Mining Hash Match\nSeen: 2026-11-20 02:41 to 03:02 UTC, 3 times\nTechniques: T1496 Resource Hijacking\nSeverity: High, unchanged",
          "4. Key findings: why": "- Nothing was found: the run failed.",
          "5. Uncertainties: against, or not checked": "- What was read was not judged: the run failed.\nCoverage: 1 of 1 source read",
          "6. What would decide it": "- A run that comes to its end.",
          "7. Assessment": "Verdict: Inconclusive, low confidence: the run failed\nSeverity: High, unchanged\nThe run failed: no plan could be made: the model gave no answer within 60 s"
        },
        "group": "production-project-12345",
        "severity": "error",
        "source": "web-server-prod-01",
        "summary": "▲ Act now · Not triaged · Inconclusive · High [PARTIAL] — Crypto miner on web-server-prod-01 (production-project-12345)",
        "timestamp": "2026-11-20T03:02:00Z"
      }
    }
    "#);
}

fn check(report: &Report, language: Language) {
    let event = event(report.clone(), language);
    assert!(event.to_string().len() <= EVENT_BYTES);
    let summary = event["payload"]["summary"].as_str().unwrap();
    assert!(summary.encode_utf16().count() <= SUMMARY && !summary.contains('\n'));
    assert!(!event["payload"]["source"].as_str().unwrap().is_empty());
    inert::check(&event, report);
}

#[test]
fn longest_report_fits_in_both_languages_and_says_it_was_cut() {
    for language in Language::ALL {
        check(&inert::longest(), language);
        let event = event(inert::longest(), language).to_string();
        assert!(event.contains("nightshift cases show k3f9-x2mq-7d1w"));
    }
}

#[test]
fn a21_the_routing_key_is_shown_nowhere() {
    let to = to(config("http://127.0.0.1:1"));
    has_no_secret(&format!("{to:?}"));
    has_no_secret(&to.preview(&case("k3f9-x2mq-7d1w")).to_string());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a04_a05_a06_a15_a22_whatever_stands_in_a_report_it_is_text(strings in strings(), is_japanese: bool) {
        let language = Language::ALL[usize::from(is_japanese)];
        for report in inert::reports(&strings) {
            check(&report, language);
        }
    }
}
