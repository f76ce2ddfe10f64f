//! Tests the layout of issues and comments, and that text of an attacker is inert in them.

use nightshift_pipeline::report::Report;
use proptest::prelude::*;

use super::super::page::{DOCUMENT, SUMMARY};
use super::super::schema;
use super::*;
use crate::fixture;
use crate::fixture::strings;
use crate::inert;

/// Renders a document as its reader sees it.
fn outline(node: &Value) -> String {
    let content = || {
        let items = node["content"].as_array().unwrap();
        items.iter().map(outline).collect::<Vec<_>>()
    };
    match node["type"].as_str().unwrap() {
        "doc" => content().join("\n"),
        "heading" => format!("\n## {}", content().concat()),
        "bulletList" => content().join("\n"),
        "listItem" => {
            let mut parts = content();
            let first = parts.remove(0);
            let below = parts.join("\n").replace('\n', "\n  ");
            if below.is_empty() {
                format!("- {first}")
            } else {
                format!("- {first}\n  {below}")
            }
        }
        "codeBlock" => format!("```\n{}\n```", content().concat()),
        "panel" => format!("! {}", content().concat()),
        "table" => content().join("\n"),
        "tableRow" => format!("| {} |", content().join(" | ")),
        "taskList" => content().join("\n"),
        "taskItem" => format!("[ ] {}", content().concat()),
        "text" => {
            let text = node["text"].as_str().unwrap();
            match node.pointer("/marks/0/type").and_then(Value::as_str) {
                Some("strong") => format!("*{text}*"),
                Some(_) => format!(
                    "[{text}]({})",
                    node["marks"][0]["attrs"]["href"].as_str().unwrap()
                ),
                None => text.to_owned(),
            }
        }
        _ => content().concat(),
    }
}

fn issue(report: Report, language: Language) -> Value {
    let config = JiraConfig {
        language,
        ..config("https://example.atlassian.net")
    };
    to(config).preview(&DeliveryPayload::new(report))
}

fn shown(report: Report, language: Language) -> String {
    let mut issue = issue(report, language);
    let description = outline(&issue["fields"]["description"].take());
    format!("{issue}\n\n{description}")
}

#[test]
fn an_issue_on_a_critical_true_positive() {
    let shown = shown(fixture::true_positive(), Language::En);
    let (first, _) = shown.split_once("## Facts").unwrap();
    insta::assert_snapshot!(first, @r#"
    {"fields":{"description":null,"issuetype":{"name":"Task"},"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage","true-positive","account-production-project-12345"],"priority":{"name":"Highest"},"project":{"key":"SEC"},"summary":"▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod-01 (production-project-12345)"},"properties":[{"key":"nightshift","value":{"told":"nightshift:k3f9-x2mq-7d1w:1:concluded:true_positive:none:critical"}}]}

    [Case page](https://nightshift.example.com/cases/k3f9-x2mq-7d1w)

    ## Summary
    Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).
    A program that is known to mine cryptocurrency was started on a virtual machine.
    *Still happening? *last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]
    *Reach: *environment production · internet-facing · owner team-web · role web server [E2] (not known: data)
    *Other cases: *a1b2-c3d4-e5f6

    ## Recommendations: do this first
    Suggested, not executed.
    [ ] *1. Snapshot the disk of web-server-prod-01 before anything else.*
    run:
    ```
    gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01
    ```
    - side effect: Costs storage.
    undo:
    ```
    gcloud compute snapshots delete nightshift-web-server-prod-01 --project production-project-12345
    ```
    [ ] *2. Isolate web-server-prod-01 from the network.*
    - before: A firewall rule that denies all traffic of the tag nightshift-isolated.
    run:
    ```
    gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
    ```
    - side effect: The service on it is down.
    undo:
    ```
    gcloud compute instances remove-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
    ```
    [ ] *3. Block pool.minexmr[.]com at the resolver.*
    "#);
}

#[test]
fn what_an_issue_says_after_what_to_do() {
    let shown = shown(fixture::true_positive(), Language::En);
    let (_, rest) = shown.split_once("## Facts").unwrap();
    let (rest, _) = rest.split_once("## Plan as it ran").unwrap();
    insta::assert_snapshot!(rest, @r#"
    | Account | production-project-12345 |
    | Owner | team-web |
    | Region | us-central1-a |
    | Resource | web-server-prod-01 (google.compute.Instance) |
    | Far end | pool.minexmr[.]com and 1 more |
    | Type | Execution: Cryptocurrency Mining Hash Match |
    | Seen | 2026-11-20 02:41 to 03:02 UTC, 3 times |
    | Techniques | T1496 Resource Hijacking |
    | Severity | High → Critical |

    ## Key findings: why
    - pool.minexmr[.]com is on the watch list of mining pools. [E3]
    - web-server-prod-01 sent 41 MB to 185.220.101[.]42 on port 4444. [E4]
    - No change is recorded for web-server-prod-01 that night. [E5]

    ## Uncertainties: against, or not checked
    - The instance's service account was not used. [E6]
    - Not checked: Read the VPC flow logs failed: access denied
    *Coverage: *4 of 5 sources read; vpc_flow: access denied: vpc flow

    ## Assessment
    *Verdict: *True positive, high confidence: what was seen is what attackers do
    *Severity: *High → Critical

    ## Further recommendations
    [ ] *4. Ask team-web whether they know of it.*

    ## Unverified, counts for nothing
    - Unverified: The miner came in through CVE-2026-0001.
      - problem: the quote does not stand in E4 [E4]

    ## Timeline (UTC)
    - 2026-11-20 02:41:00  first event of the alert [E0]
    - 2026-11-20 03:02:00  last event of the alert [E0]
    - 2026-11-20 03:05:10  connect by web-server-prod-01 to 185.220.101[.]42 [E4]
    - 2026-11-20 03:13:00  triage began
    "#);
}

#[test]
fn an_issue_on_what_could_not_be_decided() {
    insta::assert_snapshot!(shown(fixture::overridden(), Language::Ja), @r#"
    {"fields":{"description":null,"issuetype":{"name":"Task"},"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage","inconclusive","account-production-project-12345"],"priority":{"name":"High"},"project":{"key":"SEC"},"summary":"● 当番時間内 · 判定不能（無害寄り） · 高 — Anomalous discovery by ci-deploy (production-project-12345)"},"properties":[{"key":"nightshift","value":{"told":"nightshift:k3f9-x2mq-7d1w:1:concluded:inconclusive:benign:high"}}]}

    [ケースページ](https://nightshift.example.com/cases/k3f9-x2mq-7d1w)

    ## 要約
    The user agent is the one that ci-deploy always sends. Not decided: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert.
    Somebody listed what an account holds, in a way that this account does not do.
    ! 警告: データ内の文章が分析者に話しかけています。その内容で無害とした点はありません。攻撃者の言葉として読んでください。
    *継続中か？ *最終観測 2026-11-20 03:02 UTC、3 回; 以後の活動なし、読めたログは 2026-11-20 03:09 UTC まで [E4]
    *影響範囲: *環境 production · インターネット公開 · 所有者 team-web · 役割 web server [E2]（不明: データ）
    *関連ケース: *a1b2-c3d4-e5f6

    ## 推奨: 最初にすること
    対応は選ばれていません。判断を決める材料を確認してください。

    ## 概要
    | アカウント | production-project-12345 |
    | 所有者 | team-web |
    | リージョン | us-central1-a |
    | リソース | web-server-prod-01 (google.compute.Instance) |
    | 実行主体 | ci-deploy |
    | 送信元 IP | 198.51.100[.]7 |
    | 種別 | Execution: Cryptocurrency Mining Hash Match |
    | 観測 | 2026-11-20 02:41 ～ 03:02 UTC、3 回 |
    | 攻撃手法 | T1496 Resource Hijacking |
    | 重要度 | 高（変更なし） |

    ## 主な所見: 根拠
    - The user agent is the one that ci-deploy always sends. [E4]

    ## 不確かな点: 反証・未確認
    - 未確認: The identity register was not configured
    *情報源: *5 件中 4 件を読み取り; vpc_flow: access denied: vpc flow

    ## 判断を決める材料
    - An approved change for ci-deploy that covers that night
    - The address it usually comes from

    ## 評価
    *判定: *判定不能（無害寄り）、確信度 低: データ内の文章が分析者に話しかけている
    *重要度: *高（変更なし）
    - 規則が分析者の判断を上書き（suspected manipulation）: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert
    *アラートの読み取り: *4 個の不可視文字を除去; 1 フィールドが分析者に話しかけている

    ## 無害とする根拠
    - ci-deploy (principal): identity ci-deploy、承認 grace
    - 198.51.100[.]23 (ip): 【記録なし】

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
    "#);
}

#[test]
fn an_issue_on_a_failed_run() {
    insta::assert_snapshot!(issue(fixture::failed(), Language::En), @r#"{"fields":{"description":{"content":[{"content":[{"marks":[{"attrs":{"href":"https://nightshift.example.com/cases/k3f9-x2mq-7d1w"},"type":"link"}],"text":"Case page","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"Summary","type":"text"}],"type":"heading"},{"content":[{"text":"Not triaged: No plan could be made: the model gave no answer within 60 s.","type":"text"}],"type":"paragraph"},{"attrs":{"panelType":"warning"},"content":[{"content":[{"text":"Warning: The run failed: nothing here is a verdict. Look at the alert yourself, or run it again.","type":"text"}],"type":"paragraph"}],"type":"panel"},{"content":[{"marks":[{"type":"strong"}],"text":"Still happening? ","type":"text"},{"text":"last seen 2026-11-20 03:02 UTC, 3 times; since then: not known","type":"text"}],"type":"paragraph"},{"content":[{"marks":[{"type":"strong"}],"text":"Reach: ","type":"text"},{"text":"not known: no register or tag tells of environment, exposure, owner, role or data","type":"text"}],"type":"paragraph"},{"content":[{"marks":[{"type":"strong"}],"text":"Other cases: ","type":"text"},{"text":"none known that share an actor, target or far end","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"Recommendations: do this first","type":"text"}],"type":"heading"},{"content":[{"text":"The run failed before an action was chosen. Open the alert in its own console.","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"Facts","type":"text"}],"type":"heading"},{"attrs":{"isNumberColumnEnabled":false,"layout":"default"},"content":[{"content":[{"attrs":{},"content":[{"content":[{"text":"Account","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"production-project-12345","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Region","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"us-central1-a","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Resource","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"web-server-prod-01 (google.compute.Instance)","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Far end","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"pool.minexmr[.]com and 1 more","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Type","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"Execution: Cryptocurrency Mining Hash Match","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Seen","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"2026-11-20 02:41 to 03:02 UTC, 3 times","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Techniques","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"T1496 Resource Hijacking","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"},{"content":[{"attrs":{},"content":[{"content":[{"text":"Severity","type":"text"}],"type":"paragraph"}],"type":"tableHeader"},{"attrs":{},"content":[{"content":[{"text":"High, unchanged","type":"text"}],"type":"paragraph"}],"type":"tableCell"}],"type":"tableRow"}],"type":"table"},{"attrs":{"level":2},"content":[{"text":"Key findings: why","type":"text"}],"type":"heading"},{"content":[{"content":[{"content":[{"text":"Nothing was found: the run failed.","type":"text"}],"type":"paragraph"}],"type":"listItem"}],"type":"bulletList"},{"attrs":{"level":2},"content":[{"text":"Uncertainties: against, or not checked","type":"text"}],"type":"heading"},{"content":[{"content":[{"content":[{"text":"What was read was not judged: the run failed.","type":"text"}],"type":"paragraph"}],"type":"listItem"}],"type":"bulletList"},{"content":[{"marks":[{"type":"strong"}],"text":"Coverage: ","type":"text"},{"text":"1 of 1 source read","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"What would decide it","type":"text"}],"type":"heading"},{"content":[{"content":[{"content":[{"text":"A run that comes to its end.","type":"text"}],"type":"paragraph"}],"type":"listItem"}],"type":"bulletList"},{"attrs":{"level":2},"content":[{"text":"Assessment","type":"text"}],"type":"heading"},{"content":[{"marks":[{"type":"strong"}],"text":"Verdict: ","type":"text"},{"text":"Inconclusive, low confidence: the run failed","type":"text"}],"type":"paragraph"},{"content":[{"marks":[{"type":"strong"}],"text":"Severity: ","type":"text"},{"text":"High, unchanged","type":"text"}],"type":"paragraph"},{"content":[{"marks":[{"type":"strong"}],"text":"The run failed: ","type":"text"},{"text":"no plan could be made: the model gave no answer within 60 s","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"Plan as it ran","type":"text"}],"type":"heading"},{"content":[{"text":"No step was planned.","type":"text"}],"type":"paragraph"},{"attrs":{"level":2},"content":[{"text":"Indicators (defanged)","type":"text"}],"type":"heading"},{"content":[{"content":[{"content":[{"text":"target instance: web-server-prod-01","type":"text"}],"type":"paragraph"}],"type":"listItem"},{"content":[{"content":[{"text":"remote domain: pool.minexmr[.]com","type":"text"}],"type":"paragraph"}],"type":"listItem"},{"content":[{"content":[{"text":"remote ip: 185.220.101[.]42","type":"text"}],"type":"paragraph"}],"type":"listItem"}],"type":"bulletList"},{"attrs":{"level":2},"content":[{"text":"About this report","type":"text"}],"type":"heading"},{"content":[{"text":"case k3f9-x2mq-7d1w revision 1 · low confidence · 0 steps · 12 s · model openai/gpt-x · 0.0020 USD, 1 model call, 900 tokens · concluded 2026-11-20 03:14 UTC · nightshift 0.1.0","type":"text"}],"type":"paragraph"},{"content":[{"text":"Alert scc b9c8d7e6f5a4b3c2d1e0 production-project-12345 of scc.","type":"text"}],"type":"paragraph"},{"content":[{"text":"Written by a machine; alert text is untrusted.","type":"text"}],"type":"paragraph"}],"type":"doc","version":1},"issuetype":{"name":"Task"},"labels":["nightshift-k3f9-x2mq-7d1w","ai-triage","inconclusive","account-production-project-12345"],"priority":{"name":"High"},"project":{"key":"SEC"},"summary":"▲ Act now · Not triaged · Inconclusive · High [PARTIAL] — Crypto miner on web-server-prod-01 (production-project-12345)"},"properties":[{"key":"nightshift","value":{"told":"nightshift:k3f9-x2mq-7d1w:1:failed:inconclusive:none:high"}}]}"#);
}

#[test]
fn a_comment_on_a_changed_verdict() {
    let showing = inert::later(&fixture::benign());
    let mut comment = to(config("https://example.atlassian.net")).preview(&showing);
    insta::assert_snapshot!(outline(&comment["body"].take()), @"
    *□ No action · Benign true positive · Low [PLAYBOOK] — Port scan from 203.0.113[.]50 on web-server-prod-01 (production-project-12345)*
    Triage 2: Benign true positive · Low. Before: True positive · Critical.
    [Case page](https://nightshift.example.com/cases/k3f9-x2mq-7d1w)

    ## Summary
    203.0.113[.]50 is the scanner of the security team, allowed until December.
    A host was probed on many ports.
    *Still happening? *last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]
    *Reach: *not known: no register or tag tells of environment, exposure, owner, role or data
    *Other cases: *none known that share an actor, target or far end

    ## Recommendations: do this first
    Nothing: no action is needed.

    ## Facts
    | Account | production-project-12345 |
    | Region | us-central1-a |
    | Resource | web-server-prod-01 (google.compute.Instance) |
    | Source IP | 203.0.113[.]50 |
    | Type | Execution: Cryptocurrency Mining Hash Match |
    | Seen | 2026-11-20 02:41 to 03:02 UTC, 3 times |
    | Severity | Medium → Low, sent as HIGH |

    ## Key findings: why
    - Cleared: 203.0.113[.]50 is the scanner of the security team, allowed until December (authorised scanner SCAN-7); approved by maria@example[.]com; holds from 2026-01-01 00:00 UTC until 2026-12-31 00:00 UTC [E2]
    - 203.0.113[.]50 stands in the register of authorised scanners. [E2]

    ## Uncertainties: against, or not checked
    - Nothing: no finding speaks against it, and every source that was wanted was read.
    *Coverage: *2 of 2 sources read

    ## Assessment
    *Verdict: *Benign true positive, high confidence: a register says that it was allowed
    *Severity: *Medium → Low

    ## What clears it
    - 203.0.113[.]50 (ip): authorised scanner SCAN-7, approved by maria@example[.]com, until 2026-12-31 00:00 UTC [E2]
    nightshift:k3f9-x2mq-7d1w:2:concluded:benign_true_positive:none:low
    ");
}

/// Checks that Jira accepts the document and that it is inert. Returns its length.
fn check(report: &Report, language: Language) -> usize {
    let showing = inert::later(report);
    let config = JiraConfig {
        language,
        ..config("https://example.atlassian.net")
    };
    let to = to(config);
    let issue = to.preview(&DeliveryPayload::new(report.clone()));
    let comment = to.preview(&showing);
    let summary = issue["fields"]["summary"].as_str().unwrap();
    assert!(summary.encode_utf16().count() <= SUMMARY && !summary.contains('\n'));
    for label in issue["fields"]["labels"].as_array().unwrap() {
        let label = label.as_str().unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(label.chars().all(is_plain), "{label}");
    }
    let mut longest = 0;
    for document in [&issue["fields"]["description"], &comment["body"]] {
        schema::check(document).unwrap();
        let units = document.to_string().encode_utf16().count();
        assert!(units <= DOCUMENT, "{units}");
        longest = longest.max(units);
        commands_only(document, report);
    }
    inert::check(&issue, report);
    inert::check(&comment, report);
    longest
}

/// Checks attack A05: code comes from the catalogue, and every link belongs to Nightshift.
fn commands_only(node: &Value, report: &Report) {
    if node["type"] == "codeBlock" {
        let text = node["content"][0]["text"].as_str().unwrap();
        let actions = report
            .actions
            .iter()
            .flat_map(|one| [&one.command, &one.undo]);
        assert!(
            actions.flatten().any(|command| command.trim_end() == text),
            "{text}"
        );
    }
    if let Some(address) = node.pointer("/marks/0/attrs/href").and_then(Value::as_str) {
        assert!(
            address.starts_with("https://nightshift.example.com/cases/")
                || address.starts_with("https://console."),
            "{address}"
        );
    }
    for child in node["content"].as_array().into_iter().flatten() {
        commands_only(child, report);
    }
}

#[test]
fn longest_report_fits_in_both_languages_and_says_it_was_cut() {
    for language in Language::ALL {
        let units = check(&inert::longest(), language);
        assert!(units > DOCUMENT / 2, "{units}");
        let issue = issue(inert::longest(), language).to_string();
        assert!(issue.contains("nightshift cases show k3f9-x2mq-7d1w"));
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
