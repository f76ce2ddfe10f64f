//! Tests the layout of issues and comments, and that text of an attacker is inert in them.

use nightshift_pipeline::report::Report;
use nightshift_render::Language;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::super::body::{BODY, TITLE};
use super::*;
use crate::fixture;
use crate::fixture::strings;
use crate::inert;

fn issue(report: Report, language: Language) -> Value {
    let config = GitHubConfig {
        language,
        ..config("https://api.github.com")
    };
    to(config).preview(&DeliveryPayload::new(report))
}

fn shown(report: Report, language: Language) -> String {
    let mut issue = issue(report, language);
    let body = issue["body"].take();
    format!("{issue}\n\n{}", body.as_str().unwrap())
}

#[test]
fn an_issue_on_a_critical_true_positive() {
    let shown = shown(fixture::true_positive(), Language::En);
    let (first, _) = shown.split_once("## Facts").unwrap();
    insta::assert_snapshot!(first, @r#"
    {"body":null,"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage"],"title":"▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod-01 (production-project-12345)"}

    [Case page](<https://nightshift.example.com/cases/k3f9-x2mq-7d1w>)

    ## Summary

    Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).

    A program that is known to mine cryptocurrency was started on a virtual machine.

    **Still happening?** last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]

    **Reach:** environment production · internet-facing · owner team-web · role web server [E2] (not known: data)

    **Other cases:** a1b2-c3d4-e5f6

    ## Recommendations: do this first

    Suggested, not executed.

    1. **Snapshot the disk of web-server-prod-01 before anything else.**
       - run:

         ```sh
         gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01
         ```

       - side effect: Costs storage.
       - undo:

         ```sh
         gcloud compute snapshots delete nightshift-web-server-prod-01 --project production-project-12345
         ```

    2. **Isolate web-server-prod-01 from the network.**
       - before: A firewall rule that denies all traffic of the tag nightshift-isolated.
       - run:

         ```sh
         gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
         ```

       - side effect: The service on it is down.
       - undo:

         ```sh
         gcloud compute instances remove-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
         ```

    3. **Block pool.minexmr[.]com at the resolver.**
    "#);
}

#[test]
fn an_issue_on_what_could_not_be_decided() {
    insta::assert_snapshot!(shown(fixture::overridden(), Language::Ja), @r#"
    {"body":null,"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage"],"title":"● 当番時間内 · 判定不能（無害寄り） · 高 — Anomalous discovery by ci-deploy (production-project-12345)"}

    [ケースページ](<https://nightshift.example.com/cases/k3f9-x2mq-7d1w>)

    ## 要約

    The user agent is the one that ci-deploy always sends. Not decided: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert.

    Somebody listed what an account holds, in a way that this account does not do.

    > **警告:** データ内の文章が分析者に話しかけています。その内容で無害とした点はありません。攻撃者の言葉として読んでください。

    **継続中か？** 最終観測 2026-11-20 03:02 UTC、3 回; 以後の活動なし、読めたログは 2026-11-20 03:09 UTC まで [E4]

    **影響範囲:** 環境 production · インターネット公開 · 所有者 team-web · 役割 web server [E2]（不明: データ）

    **関連ケース:** a1b2-c3d4-e5f6

    ## 推奨: 最初にすること

    対応は選ばれていません。判断を決める材料を確認してください。

    ## 概要

    | 項目 | 値 |
    |---|---|
    | アカウント | production-project-12345 |
    | 所有者 | team-web |
    | リージョン | us-central1-a |
    | リソース | web-server-prod-01 (google.compute.Instance) |
    | 実行主体 | ci-deploy |
    | 送信元 IP | 198\.51.100[.]7 |
    | 種別 | Execution: Cryptocurrency Mining Hash Match |
    | 観測 | 2026-11-20 02:41 ～ 03:02 UTC、3 回 |
    | 攻撃手法 | T1496 Resource Hijacking |
    | 重要度 | 高（変更なし） |

    ## 主な所見: 根拠

    - The user agent is the one that ci-deploy always sends. [E4]

    ## 不確かな点: 反証・未確認

    - 未確認: The identity register was not configured

    **情報源:** 5 件中 4 件を読み取り; vpc_flow: access denied: vpc flow

    ## 判断を決める材料

    - An approved change for ci-deploy that covers that night
    - The address it usually comes from

    ## 評価

    **判定:** 判定不能（無害寄り）、確信度 低: データ内の文章が分析者に話しかけている

    **重要度:** 高（変更なし）

    - 規則が分析者の判断を上書き（suspected manipulation）: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert

    **アラートの読み取り:** 4 個の不可視文字を除去; 1 フィールドが分析者に話しかけている

    ## 無害とする根拠

    - ci-deploy (principal): identity ci-deploy、承認 grace
    - 198\.51.100[.]23 (ip): 【記録なし】

    ## 時系列 (UTC)

    - 2026-11-20 02:41:00  ListUsers by ci-deploy from 198.51.100[.]7 [E4]

    ## 実行した計画

    - s1 · 第 1 波 · 完了（達成） — Read CloudTrail.
       - Two calls.
       - 問い合わせ: log_search [E4]

    ## 証拠

    - E4 log_search (principal=ci-deploy): 2 行
       - /rows/0/user_agent: aws-cli/2.15

    ## 指標（無害化表記）

    - actor principal: ci-deploy
    - actor ip: 198.51.100[.]7

    ## このレポートについて

    ケース k3f9-x2mq-7d1w 改訂 1 · 確信度 低 · 1 ステップ · 12 秒 · モデル openai/gpt-x, openai/gpt-x-mini · プロンプト 1a2b3c4d · 0.0312 USD、モデル呼び出し 7 回、6120 トークン · 結論 2026-11-20 03:14 UTC · nightshift 0.1.0

    アラート scc b9c8d7e6f5a4b3c2d1e0 production-project-12345、フィード scc。

    機械が作成しました。アラート内の文章は信頼できません。

    <!-- nightshift:k3f9-x2mq-7d1w:1:concluded:inconclusive:benign:high -->
    "#);
}

#[test]
fn an_issue_on_a_failed_run() {
    insta::assert_snapshot!(shown(fixture::failed(), Language::En), @r#"
    {"body":null,"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage"],"title":"▲ Act now · Not triaged · Inconclusive · High [PARTIAL] — Crypto miner on web-server-prod-01 (production-project-12345)"}

    [Case page](<https://nightshift.example.com/cases/k3f9-x2mq-7d1w>)

    ## Summary

    Not triaged: No plan could be made: the model gave no answer within 60 s.

    > **Warning:** The run failed: nothing here is a verdict. Look at the alert yourself, or run it again.

    **Still happening?** last seen 2026-11-20 03:02 UTC, 3 times; since then: not known

    **Reach:** not known: no register or tag tells of environment, exposure, owner, role or data

    **Other cases:** none known that share an actor, target or far end

    ## Recommendations: do this first

    The run failed before an action was chosen. Open the alert in its own console.

    ## Facts

    | Fact | Value |
    |---|---|
    | Account | production-project-12345 |
    | Region | us-central1-a |
    | Resource | web-server-prod-01 (google.compute.Instance) |
    | Far end | pool.minexmr[.]com and 1 more |
    | Type | Execution: Cryptocurrency Mining Hash Match |
    | Seen | 2026-11-20 02:41 to 03:02 UTC, 3 times |
    | Techniques | T1496 Resource Hijacking |
    | Severity | High, unchanged |

    ## Key findings: why

    - Nothing was found: the run failed.

    ## Uncertainties: against, or not checked

    - What was read was not judged: the run failed.

    **Coverage:** 1 of 1 source read

    ## What would decide it

    - A run that comes to its end.

    ## Assessment

    **Verdict:** Inconclusive, low confidence: the run failed

    **Severity:** High, unchanged

    **The run failed:** no plan could be made: the model gave no answer within 60 s

    ## Plan as it ran

    No step was planned.

    ## Indicators (defanged)

    - target instance: web-server-prod-01
    - remote domain: pool.minexmr[.]com
    - remote ip: 185.220.101[.]42

    ## About this report

    case k3f9-x2mq-7d1w revision 1 · low confidence · 0 steps · 12 s · model openai/gpt-x · 0.0020 USD, 1 model call, 900 tokens · concluded 2026-11-20 03:14 UTC · nightshift 0.1.0

    Alert scc b9c8d7e6f5a4b3c2d1e0 production-project-12345 of scc.

    Written by a machine; alert text is untrusted.

    <!-- nightshift:k3f9-x2mq-7d1w:1:failed:inconclusive:none:high -->
    "#);
}

#[test]
fn a_comment_on_a_changed_verdict() {
    let showing = inert::later(&fixture::benign());
    let comment = to(config("https://api.github.com")).preview(&showing);
    insta::assert_snapshot!(comment["body"].as_str().unwrap(), @r"
    **□ No action · Benign true positive · Low [PLAYBOOK] — Port scan from 203.0.113[.]50 on web-server-prod-01 (production-project-12345)**

    Triage 2: Benign true positive · Low. Before: True positive · Critical.

    [Case page](<https://nightshift.example.com/cases/k3f9-x2mq-7d1w>)

    ## Summary

    203\.0.113[.]50 is the scanner of the security team, allowed until December.

    A host was probed on many ports.

    **Still happening?** last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]

    **Reach:** not known: no register or tag tells of environment, exposure, owner, role or data

    **Other cases:** none known that share an actor, target or far end

    ## Recommendations: do this first

    Nothing: no action is needed.

    ## Facts

    | Fact | Value |
    |---|---|
    | Account | production-project-12345 |
    | Region | us-central1-a |
    | Resource | web-server-prod-01 (google.compute.Instance) |
    | Source IP | 203\.0.113[.]50 |
    | Type | Execution: Cryptocurrency Mining Hash Match |
    | Seen | 2026-11-20 02:41 to 03:02 UTC, 3 times |
    | Severity | Medium → Low, sent as HIGH |

    ## Key findings: why

    - Cleared: 203.0.113[.]50 is the scanner of the security team, allowed until December (authorised scanner SCAN-7); approved by maria@example[.]com; holds from 2026-01-01 00:00 UTC until 2026-12-31 00:00 UTC [E2]
    - 203\.0.113[.]50 stands in the register of authorised scanners. [E2]

    ## Uncertainties: against, or not checked

    - Nothing: no finding speaks against it, and every source that was wanted was read.

    **Coverage:** 2 of 2 sources read

    ## Assessment

    **Verdict:** Benign true positive, high confidence: a register says that it was allowed

    **Severity:** Medium → Low

    ## What clears it

    - 203\.0.113[.]50 (ip): authorised scanner SCAN-7, approved by maria@example[.]com, until 2026-12-31 00:00 UTC [E2]

    <!-- nightshift:k3f9-x2mq-7d1w:2:concluded:benign_true_positive:none:low -->
    ");
}

/// Checks how GitHub would render the text: no HTML but the key, no foreign link, no mention.
fn check(report: &Report, language: Language) {
    let config = GitHubConfig {
        language,
        ..config("https://api.github.com")
    };
    let to = to(config);
    let mut issue = to.preview(&DeliveryPayload::new(report.clone()));
    let mut comment = to.preview(&inert::later(report));
    let title = issue["title"].as_str().unwrap();
    assert!(title.chars().count() <= TITLE && !title.contains('\n'));
    for payload in [&mut issue, &mut comment] {
        let body = payload["body"].as_str().unwrap().to_owned();
        assert!(body.len() <= BODY, "{}", body.len());
        live(&body, report);
        let (text, key) = body.rsplit_once("<!-- ").unwrap();
        assert!(key.starts_with("nightshift:k3f9-x2mq-7d1w:") && key.ends_with(" -->"));
        payload["body"] = json!(text);
        inert::check(payload, report);
    }
}

fn live(body: &str, report: &Report) {
    let mut code = None;
    for event in Parser::new_ext(body, Options::ENABLE_GFM | Options::all()) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let is_ours = dest_url.starts_with("https://nightshift.example.com/cases/")
                    || dest_url.starts_with("https://console.");
                assert!(is_ours, "{dest_url}");
            }
            Event::Html(html) => assert!(html.starts_with("<!-- nightshift:"), "{html}"),
            Event::InlineHtml(html) => panic!("{html} in {body}"),
            Event::Start(Tag::CodeBlock(_)) => code = Some(String::new()),
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => {
                let code = code.take().unwrap();
                let actions = report
                    .actions
                    .iter()
                    .flat_map(|one| [&one.command, &one.undo]);
                assert!(
                    actions
                        .flatten()
                        .any(|one| one.trim_end() == code.trim_end()),
                    "{code}"
                );
            }
            Event::Text(text) => match &mut code {
                Some(code) => code.push_str(&text),
                None => calls_nobody(&text),
            },
            _ => {}
        }
    }
}

/// Checks attack A06: no `@name`, `#1` or `GH-1` remains where GitHub would read one.
fn calls_nobody(text: &str) {
    let letters: Vec<char> = text.chars().collect();
    for pair in letters.windows(2) {
        assert!(!(pair[0] == '#' && pair[1].is_ascii_digit()), "{text}");
    }
    for (at, pair) in letters.windows(2).enumerate() {
        let is_name = pair[0] == '@' && pair[1].is_ascii_alphanumeric();
        let before = at.checked_sub(1).map(|at| letters[at]);
        assert!(
            !is_name || before.is_some_and(|c| c.is_ascii_alphanumeric()),
            "{text}"
        );
    }
}

#[test]
fn longest_report_fits_in_both_languages_and_says_it_was_cut() {
    for language in Language::ALL {
        check(&inert::longest(), language);
        assert!(shown(inert::longest(), language).contains("nightshift cases show k3f9-x2mq-7d1w"));
    }
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
