//! Tests the messages as readers see them.

use chrono::NaiveDate;
use insta::assert_snapshot;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::digest::{DigestMute, FeedDay, MOST_COUNTED, OpenCase};

use super::view::seen;
use super::*;

fn message(showing: &DeliveryPayload, language: Language) -> Message {
    let clock = ManualClock::new();
    let config = SlackConfig {
        language,
        ..config("http://127.0.0.1:1")
    };
    let to = SlackDestination::resting(config, secret(TOKEN), clock.clone(), clock).unwrap();
    let message = to.message(showing);
    stub::limits::check(&bot::body(CHANNEL, &message, &place::metadata("c", "p", 1))).unwrap();
    message
}

fn shown(showing: &DeliveryPayload, language: Language) -> String {
    seen(&message(showing, language).blocks)
}

pub(super) fn digest() -> Digest {
    let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().to_utc();
    Digest {
        day: NaiveDate::from_ymd_opt(2026, 11, 19).unwrap(),
        timezone: "Europe/Madrid".into(),
        since: at("2026-11-18T23:00:00Z"),
        until: at("2026-11-19T23:00:00Z"),
        arrived: vec![
            FeedDay {
                feed: "guardduty".into(),
                alerts: 31,
                triaged: 9,
                repeated: 14,
                members: 6,
                muted: 2,
                set_aside: 0,
            },
            FeedDay {
                feed: "scc".into(),
                alerts: 10,
                triaged: 3,
                repeated: 0,
                members: 0,
                muted: 0,
                set_aside: 7,
            },
        ],
        verdicts: vec![
            (Verdict::TruePositive, 1),
            (Verdict::BenignTruePositive, 7),
            (Verdict::FalsePositive, 0),
            (Verdict::Inconclusive, 3),
        ],
        open: vec![OpenCase {
            case_id: "k3f9-x2mq-7d1w".into(),
            title: "Crypto miner on web-server-prod-01 <!channel> evil.com".into(),
            verdict: Some(Verdict::TruePositive),
            severity: Severity::Critical,
            since: at("2026-11-19T03:14:00Z"),
            owner: None,
        }],
        open_total: 4,
        mutes: vec![DigestMute {
            name: "scanner".into(),
            why: "quarterly scan".into(),
            until: at("2026-12-01T00:00:00Z"),
            hid: 2,
        }],
        mutes_total: 1,
        failed: 1,
        dead_letters: 0,
        undelivered: vec![("jira".into(), 2)],
        silent: vec![("edr".into(), at("2026-11-18T12:00:00Z"))],
        cost_usd: 0.421,
    }
}

#[test]
fn a_critical_true_positive() {
    let showing = DeliveryPayload::new(fixture::true_positive());
    assert_snapshot!(shown(&showing, Language::En), @"
    # ▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod…

    Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).

    *Still happening? *1 event since 2026-11-20 03:02 UTC
    *Reach: *production · internet-facing…

    *First: *Snapshot the disk of web-server-prod-01 before anything else
    *Then: *Isolate web-server-prod-01 from the…

    *Why: *pool.minexmr[.]com is on the watch list of mining pools. [E3]
    *Not checked: *Read the VPC flow logs failed…

    (case k3f9-x2mq-7d1w revision 1 · written by…)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [I have it] [Agree] [Disagree] [Run again] [Close]
    ");
}

/// Returns the messages of the thread of a report.
fn thread(report: Report) -> String {
    let clock = ManualClock::new();
    let to = SlackDestination::resting(
        config("http://127.0.0.1:1"),
        secret(TOKEN),
        clock.clone(),
        clock,
    )
    .unwrap();
    let showing = DeliveryPayload::new(report);
    let below = to.below(&showing);
    let all: Vec<String> = below
        .iter()
        .map(|one| format!("== {} ==\n{}", one.part, seen(&one.message.blocks)))
        .collect();
    all.join("\n")
}

#[test]
fn what_stands_in_the_thread() {
    assert_snapshot!(thread(fixture::true_positive()), @"
    == details.0 ==
    *Summary*
    Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).
    A program that is known to mine cryptocurrency was started on a virtual machine.
    *Still happening? *last seen 2026-11-20 03:02 UTC, 3 times; the logs show 1 event since, the last at 2026-11-20 03:05 UTC [E4]
    *Reach: *environment production · internet-facing · owner team-web · role web server [E2] (not known: data)
    *Other cases: *a1b2-c3d4-e5f6

    *Do this first*
    Suggested, not executed.
    *1. *Snapshot the disk of web-server-prod-01 before anything else.
    run:
        $ gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01
      • side effect: Costs storage.
    undo:
        $ gcloud compute snapshots delete nightshift-web-server-prod-01 --project production-project-12345
    *2. *Isolate web-server-prod-01 from the network.
      • before: A firewall rule that denies all traffic of the tag nightshift-isolated.
    run:
        $ gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
      • side effect: The service on it is down.
    undo:
        $ gcloud compute instances remove-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
    *3. *Block pool.minexmr[.]com at the resolver.

    *Facts*
    *Account: *production-project-12345
    *Owner: *team-web
    *Region: *us-central1-a
    *Resource: *web-server-prod-01 (google.compute.Instance)
    *Far end: *pool.minexmr[.]com and 1 more
    *Type: *Execution: Cryptocurrency Mining Hash Match
    *Seen: *2026-11-20 02:41 to 03:02 UTC, 3 times
    *Techniques: *T1496 Resource Hijacking
    *Severity: *High → Critical

    *Why*
    • pool.minexmr[.]com is on the watch list of mining pools. [E3]
    • web-server-prod-01 sent 41 MB to 185.220.101[.]42 on port 4444. [E4]
    • No change is recorded for web-server-prod-01 that night. [E5]

    *Against, or not checked*
    • The instance's service account was not used. [E6]
    • Not checked: Read the VPC flow logs failed: access denied
    *Coverage: *4 of 5 sources read; vpc_flow: access denied: vpc flow

    *Assessment*
    *Verdict: *True positive, high confidence: what was seen is what attackers do
    *Severity: *High → Critical

    *After that*
    *4. *Ask team-web whether they know of it.

    *Unverified, counts for nothing*
    • Unverified: The miner came in through CVE-2026-0001.
      • problem: the quote does not stand in E4 [E4]

    *Timeline (UTC)*
    • 2026-11-20 02:41:00  first event of the alert [E0]
    • 2026-11-20 03:02:00  last event of the alert [E0]
    • 2026-11-20 03:05:10  connect by web-server-prod-01 to 185.220.101[.]42 [E4]
    • 2026-11-20 03:13:00  triage began

    *Plan as it ran*
    • s1 · wave 1 · done, met — Look the pool and the address up.
      • The pool is on the watch list.
      • asked: watchlist [E3]
    • s2 · wave 1 · done, met — Find out what the instance is.
      • A production web server of team-web.
      • asked: asset_lookup [E2], change_lookup [E5]
    • s3 · wave 1 · FAILED — Read the VPC flow logs.
      • access denied: vpc flow
      • asked: vpc_flow [E7] (access denied: vpc flow)
    • s4 · CANCELLED — Look up the image's owner.
      • changed by reflection: the asset register already named the owner
    • Learned: The address belongs to a Tor exit.
    • Reflection 1 cancelled s4 (the asset register already named the owner)
    • Reflection 1 wanted to change s1 to “Look again” (to be sure): REFUSED, s1 is finished

    *Evidence*
    • E0 alert: as it was read
    • E3 watchlist (indicator=pool.minexmr[.]com): 1 row
      • /matches/0/label: mining pool
    • E4 log_search (from=2026-11-20T01:00:00Z, ip=185.220.101[.]42): 12 rows
      • /rows/0/destination_ip: 185.220.101[.]42
      • /rows/0/destination_port: 4444
    • E5 change_lookup (indicator=web-server-prod-01): 0 rows
      • /found: 0
    • E7 vpc_flow (ip=185.220.101[.]42): NO ANSWER, access denied: vpc flow

    *Indicators (defanged)*
    • target instance: web-server-prod-01
    • remote domain: pool.minexmr[.]com
    • remote ip: 185.220.101[.]42

    *About this report*
    case k3f9-x2mq-7d1w revision 1 · high confidence · 3 of 4 steps · 12 s · playbook crypto-mining 1, no model was used · no model calls, 0 USD · concluded 2026-11-20 03:14 UTC · nightshift 0.1.0
    Alert scc b9c8d7e6f5a4b3c2d1e0 production-project-12345 of scc.
    Written by a machine; alert text is untrusted.
    ");
}

#[test]
fn one_that_is_inconclusive_and_was_worked_on() {
    let showing = DeliveryPayload::new(fixture::overridden());
    assert_snapshot!(shown(&showing, Language::En), @"
    # ● This shift · Inconclusive, leans benign · High — Anomalous discovery by ci-deploy

    The user agent is the one that ci-deploy always sends.
    Not decided: the analyst said benign true positive; text in the data talks to the…
    *⚠ *Text in the data talks to the analyst…

    *Still happening? *nothing since 2026-11-20 03:02 UTC
    *Reach: *production · internet-facing…

    *First: *No action was chosen: read what…

    *Why: *The user agent is the one that…
    *Not checked: *The identity register was not…

    (case k3f9-x2mq-7d1w revision 1 · written by…)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [I have it] [Agree] [Disagree] [Run again] [Mute] [Close]
    ");
}

#[test]
fn a_benign_one() {
    let showing = DeliveryPayload::new(fixture::benign());
    assert_snapshot!(shown(&showing, Language::En), @"
    # □ No action · Benign true positive · Low [PLAYBOOK] — Port scan… on web-server-prod-01

    203.0.113[.]50 is the scanner of the security team, allowed until December.

    *Still happening? *1 event since 2026-11-20 03:02 UTC [E4], 3 times
    *Reach: *not known

    *First: *Nothing: no action is needed.

    *Why: *203.0.113[.]50 is approved (authorised scanner SCAN-7) by maria@example[.]com, until 2026-12-31 00:00 UTC [E2]
    *Not checked: *nothing; all sources read

    (case k3f9-x2mq-7d1w revision 1 · written by…)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [I have it] [Agree] [Disagree] [Run again] [Mute] [Close]
    ");
}

#[test]
fn one_that_failed() {
    let showing = DeliveryPayload::new(fixture::failed());
    assert_snapshot!(shown(&showing, Language::En), @"
    # ▲ Act now · Not triaged · Inconclusive · High [PARTIAL] — Crypto miner on web-server-prod…

    Not triaged: No plan could be made: the model gave no answer within 60 s.

    *Still happening? *unknown since 2026-11-20 03:02 UTC, 3 times
    *Reach: *not known

    *First: *The run failed before an action was chosen. Open the alert in its own console.

    *Why: *Nothing was found: the run failed
    *Not checked: *everything (the run failed)

    (case k3f9-x2mq-7d1w revision 1 · written by a machine; alert text is untrusted · low…)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [I have it] [Agree] [Disagree] [Run again] [Mute] [Close]
    ");
}

#[test]
fn one_that_is_looked_into() {
    let showing = DeliveryPayload::new(early());
    assert_snapshot!(shown(&showing, Language::En), @"
    # ◌ Investigating · High — Crypto miner on web-server-prod-01 (production-project-12345)

    It is being looked into; nothing is decided yet. The report will replace this message.
    *Last event, your time: *2026-11-20 03:02 UTC

    Account: production-project-12345 | Region: us-central1-a
    Resource: web-server-prod-01 (google.compute.Instance) | Far end: pool.minexmr[.]com and 1 more
    Type: Execution: Cryptocurrency Mining Hash Match | Seen: 2026-11-20 02:41 to 03:02 UTC, 3 times
    Techniques: T1496 Resource Hijacking

    (case k3f9-x2mq-7d1w)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [I have it]
    ");
}

#[test]
fn a_revision_that_got_worse() {
    let mut report = fixture::true_positive();
    report.revision = 2;
    let showing = later(&DeliveryPayload::new(fixture::overridden()), None, report);
    let text = shown(&showing, Language::En);
    let head: Vec<&str> = text.lines().take(6).collect();
    assert_snapshot!(head.join("\n"), @"
    # ▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod…

    *Changed: *verdict Inconclusive, leans benign…
    Web-server-prod-01 runs xmrig and talks to…

    *Still happening? *1 event since 2026-11-20 03:02 UTC
    ");
}

#[test]
fn a_critical_true_positive_in_japanese() {
    let showing = DeliveryPayload::new(fixture::true_positive());
    assert_snapshot!(shown(&showing, Language::Ja), @"
    # ▲ 今すぐ対応 · 真陽性 · 緊急 [PLAYBOOK] — Crypto miner on web-server-prod-01

    Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com (185.220.101[.]42).

    *継続中か？ *1 件が以後にあり 2026-11-20 03:02 UTC
    *影響範囲: *production · インターネット公開…

    *最初に: *Snapshot the disk of web-server-prod-01 before anything else
    *次に: *Isolate web-server-prod-01 from the…

    *根拠: *pool.minexmr[.]com is on the watch list of mining pools. [E3]
    *未確認: *Read the VPC flow logs failed…

    (ケース k3f9-x2mq-7d1w 改訂 1…)

    [レポート → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [担当する] [同意] [異議] [再実行] [クローズ]
    ");
}

#[test]
fn the_digest_of_a_day() {
    let style = Style::default();
    let message = digest::message(&digest(), &style);
    stub::limits::check(&bot::body(CHANNEL, &message, &place::metadata("c", "p", 1))).unwrap();
    assert_snapshot!(format!("{}\n---\n{}", message.text, seen(&message.blocks)), @"
    Nightshift: 2026-11-19
    41 alerts · 12 triaged · 4 open · 1 failure · 0.4210 USD
    ---
    # Nightshift: 2026-11-19

    41 alerts · 12 triaged · 4 open · 1 failure · 0.4210 USD

    *What came*
    • guardduty: 31 alerts, 9 triaged, 14 repeated, 6 in a storm, 2 muted
    • scc: 10 alerts, 3 triaged, 7 set aside
    • SILENT: edr, the last message at 2026-11-18 12:00 UTC

    *What it was*
    • True positive 1 · Benign true positive 7 · Inconclusive 3

    *Open, and whose*
    • Critical · True positive · Crypto miner on web-server-prod-01 <(!)channel> evil[.]com · nobody has it · since 2026-11-19 03:14 UTC · k3f9-x2mq-7d1w
    • … and 3 more

    *Muted, and until when*
    • scanner, until 2026-12-01 00:00 UTC, hid 2 alerts — quarterly scan

    *What failed*
    • 1 case was not triaged
    • jira did not take 2 reports

    (2026-11-18 23:00 UTC to 2026-11-19 23:00 UTC · Europe/Madrid)
    ");
}

#[test]
fn what_is_not_counted_to_its_end_is_told_so() {
    let mut long = digest();
    long.open_total = MOST_COUNTED + 1;
    long.mutes[0].hid = MOST_COUNTED + 1;
    let text = seen(&digest::message(&long, &Style::default()).blocks);
    for told in ["· 10000+ open ·", "… and 9999+ more", "hid 10000+ alerts"] {
        assert!(text.contains(told), "{told}: {text}");
    }
}

/// The worst of a report's states: every line of the short form has something to say.
fn crowded(report: Report) -> DeliveryPayload {
    let mut report = fixture::handed_on(report);
    report.manipulation = true;
    report.again = fixture::again().again;
    report.alert.sightings = 4;
    let mut showing = later(&DeliveryPayload::new(fixture::overridden()), None, report);
    showing.workflow = CaseWorkflow::from_actions(vec![CaseAction {
        at: fixture::now(),
        by: "maria lopez of the night shift".into(),
        kind: CaseActionKind::Acknowledged,
        note: "Looking at it with the team that owns it.".into(),
    }]);
    showing
}

#[test]
fn a_report_has_at_most_15_lines_on_a_phone() {
    let mut reports = vec![
        fixture::true_positive(),
        fixture::again(),
        fixture::overridden(),
        fixture::benign(),
        fixture::failed(),
        fixture::hostile(),
    ];
    // One word that is longer than any line, and an alert that Slack has a link to.
    let mut value = serde_json::to_value(fixture::hostile()).unwrap();
    crate::fixture::replace(&mut value, &mut std::iter::repeat("日本語x".repeat(600)));
    let mut long: Report = serde_json::from_value(value).unwrap();
    long.case_id = "k3f9-x2mq-7d1w".into();
    let mut undecided = fixture::true_positive();
    undecided.verdict = Verdict::Inconclusive;
    undecided.summary = "word ".repeat(60) + "Not decided; missing: " + &"log ".repeat(60);
    reports.extend([long, undecided]);
    for report in reports {
        for showing in [
            DeliveryPayload::new(report.clone()),
            crowded(report.clone()),
        ] {
            for language in Language::ALL {
                let blocks = message(&showing, language).blocks;
                let lines = stub::phone::lines(&blocks);
                assert!(lines <= 15, "{lines} lines:\n{}", seen(&blocks));
                let shown = seen(&blocks);
                let unchecked = language.pick("*Not checked: *", "*未確認: *");
                assert!(shown.contains(unchecked), "{shown}");
                let first = language.pick("*First: *", "*最初に: *");
                assert!(shown.contains(first), "{shown}");
            }
        }
    }
}

#[test]
fn what_is_left_out_for_want_of_room_is_in_the_thread() {
    let showing = crowded(fixture::true_positive());
    assert_snapshot!(shown(&showing, Language::En), @"
    # ▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on web-server-prod…

    Changed since revision 1: verdict…
    Web-server-prod-01 runs xmrig and talks to…
    *⚠ *Text in the data talks to the analyst…

    *Still happening? *1 event since 2026-11-20 03:02 UTC
    *Reach: *production · internet-facing…

    *First: *Snapshot the disk of web-server-prod-01 before anything else

    *Why: *pool.minexmr[.]com is on the watch…
    *Not checked: *Read the VPC flow logs failed…

    *People: *maria lopez of the night shift has…

    (case k3f9-x2mq-7d1w revision 1 · written by…)

    [Open report → https://nightshift.example.com/cases/k3f9-x2mq-7d1w] [Agree] [Disagree] [Run again] [Close]
    ");
    let clock = ManualClock::new();
    let to = SlackDestination::resting(
        config("http://127.0.0.1:1"),
        secret(TOKEN),
        clock.clone(),
        clock,
    )
    .unwrap();
    let below = to.below(&showing);
    let thread: String = below.iter().map(|one| seen(&one.message.blocks)).collect();
    for words in [
        "Block pool.minexmr[.]com at the resolver.",
        "No change is recorded for web-server-prod-01 that night.",
        "4 repeats",
        "Looking at it with the team that owns it.",
        "gcloud compute instances add-tags",
    ] {
        assert!(thread.contains(words), "{words} is not in {thread}");
    }
}

/// Compares a message with a file, which `tests/it/slack_types.rs` also checks against the official types.
#[test]
fn the_same_as_slack_has_it() {
    let mut worse = fixture::true_positive();
    worse.revision = 2;
    let all = [
        DeliveryPayload::new(fixture::true_positive()),
        DeliveryPayload::new(fixture::overridden()),
        DeliveryPayload::new(fixture::benign()),
        DeliveryPayload::new(fixture::failed()),
        DeliveryPayload::new(early()),
        later(&DeliveryPayload::new(fixture::overridden()), None, worse),
    ];
    let mut messages: Vec<Vec<Value>> = Vec::new();
    for (index, showing) in all.iter().enumerate() {
        let language = Language::ALL[index % 2];
        messages.push(message(showing, language).blocks);
    }
    messages.push(digest::message(&digest(), &Style::default()).blocks);
    let message = |blocks: &Vec<Value>| {
        let blocks: Vec<String> = blocks.iter().map(|one| format!("    {one}")).collect();
        format!("  [\n{}\n  ]", blocks.join(",\n"))
    };
    let messages: Vec<String> = messages.iter().map(message).collect();
    assert_snapshot!("messages", format!("[\n{}\n]", messages.join(",\n")));
}

#[test]
fn f28_failover_message_names_its_channel_from_the_first_word() {
    let words = "Not shown at soc-oncall, which refused it: it stands here instead.";
    let mut showing = DeliveryPayload::new(fixture::handed_on(fixture::true_positive()));
    let report = shown(&showing, Language::En);
    let names = "⚠ *Shown here in place of old-desk";
    assert!(report.contains(names), "{report}");
    showing.report.status = CaseStatus::Running;
    let first = shown(&showing, Language::En);
    assert!(first.contains(words), "{first}");
}
