//! Tests the short form: what it says, its length, and that each part is complete or says where the rest is.

use insta::assert_snapshot;

use crate::{fixture, render_short_text};

const SHOW: &str = "nightshift cases show";

#[test]
fn a_true_positive_in_short() {
    assert_snapshot!(render_short_text(&fixture::true_positive(), &fixture::options(80), SHOW), @"
    ▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on
      web-server-prod-01 (production-project-12345)

      Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com
      (185.220.101[.]42).

      Still happening? 1 event since 12 min ago (2026-11-20 03:02 UTC) [E4], 3 times
      Reach: production · internet-facing · team-web [E2] · 1 other case

    Do this first
      1. Snapshot the disk of web-server-prod-01 before anything else
      2. Isolate web-server-prod-01 from the network
      3. Block pool.minexmr[.]com at the resolver

    Why
      - pool.minexmr[.]com is on the watch list of mining pools. [E3]
      - web-server-prod-01 sent 41 MB to 185.220.101[.]42 on port 4444. [E4]
      Not checked: Read the VPC flow logs failed: access denied

      case k3f9-x2mq-7d1w revision 1 · written by a machine; alert text is untrusted
      · high confidence · playbook crypto-mining 1, no model was used · 12 s
      All of it: nightshift cases show k3f9-x2mq-7d1w
    ");
}

#[test]
fn an_overridden_one_in_short() {
    assert_snapshot!(render_short_text(&fixture::overridden(), &fixture::options(80), SHOW), @"
    ● This shift · Inconclusive, leans benign · High — Anomalous discovery by
      ci-deploy (production-project-12345)

      The user agent is the one that ci-deploy always sends.
      Not decided: the analyst said benign true positive; text in the data talks to
      the analyst, so nothing in it may clear the alert.
      ! Text in the data talks to the analyst: read it as the attacker's

      Still happening? nothing since 12 min ago (2026-11-20 03:02 UTC) [E4], 3 times
      Reach: production · internet-facing · team-web [E2] · 1 other case

    Do this first
      No action was chosen: read what would decide it.

    Why
      - The user agent is the one that ci-deploy always sends. [E4]
      Not checked: The identity register was not configured

      case k3f9-x2mq-7d1w revision 1 · written by a machine; alert text is untrusted
      · low confidence · model openai/gpt-x, openai/gpt-x-mini · prompts 1a2b3c4d ·
      12 s · 0.0312 USD, 7 model calls, 6120 tokens
      All of it: nightshift cases show k3f9-x2mq-7d1w
    ");
}

#[test]
fn a_benign_one_in_short() {
    assert_snapshot!(render_short_text(&fixture::benign(), &fixture::options(80), SHOW), @"
    □ No action · Benign true positive · Low [PLAYBOOK] — Port scan from
      203.0.113[.]50 on web-server-prod-01 (production-project-12345)

      203.0.113[.]50 is the scanner of the security team, allowed until December.
      Approved by maria@example[.]com.

      Still happening? 1 event since 12 min ago (2026-11-20 03:02 UTC) [E4], 3 times
      Reach: not known

    Optional
      Nothing: no action is needed.

    Why
      - 203.0.113[.]50 is approved (authorised scanner SCAN-7) by
        maria@example[.]com, until 2026-12-31 00:00 UTC [E2]
      - 203.0.113[.]50 stands in the register of authorised scanners. [E2]
      Not checked: nothing; all sources read

      case k3f9-x2mq-7d1w revision 1 · written by a machine; alert text is untrusted
      · high confidence · playbook crypto-mining 1, no model was used · 12 s
      All of it: nightshift cases show k3f9-x2mq-7d1w
    ");
}

#[test]
fn a_failed_run_in_short() {
    assert_snapshot!(render_short_text(&fixture::failed(), &fixture::options(80), SHOW), @"
    ▲ Act now · Not triaged · Inconclusive · High [PARTIAL] — Crypto miner on
      web-server-prod-01 (production-project-12345)

      Not triaged: No plan could be made: the model gave no answer within 60 s.

      Still happening? unknown since 12 min ago (2026-11-20 03:02 UTC), 3 times
      Reach: not known

    Do this first
      The run failed before an action was chosen. Open the alert in its own console.

    Why
      - Nothing was found: the run failed
      Not checked: everything (the run failed)

      case k3f9-x2mq-7d1w revision 1 · written by a machine; alert text is untrusted
      · low confidence · model openai/gpt-x · 12 s · 0.0020 USD, 1 model call, 900
      tokens
      All of it: nightshift cases show k3f9-x2mq-7d1w
    ");
}

#[test]
fn a_revision_in_short() {
    assert_snapshot!(render_short_text(&fixture::again(), &fixture::options(80), SHOW), @"
    ▲ Act now · True positive · Critical [PLAYBOOK] — Crypto miner on
      web-server-prod-01 (production-project-12345)

      Changed since revision 1: verdict Inconclusive → True positive; severity High
      → Critical; urgency This shift → Act now; triaged again…
      Web-server-prod-01 runs xmrig and talks to pool.minexmr[.]com
      (185.220.101[.]42).

      Still happening? 1 event since 12 min ago (2026-11-20 03:02 UTC) [E4], 3 times
      Reach: production · internet-facing · team-web [E2] · 1 other case

    Do this first
      1. Snapshot the disk of web-server-prod-01 before anything else
      2. Isolate web-server-prod-01 from the network
      3. Block pool.minexmr[.]com at the resolver

    Why
      - pool.minexmr[.]com is on the watch list of mining pools. [E3]
      - web-server-prod-01 sent 41 MB to 185.220.101[.]42 on port 4444. [E4]
      Not checked: Read the VPC flow logs failed: access denied

      case k3f9-x2mq-7d1w revision 2 · written by a machine; alert text is untrusted
      · high confidence · playbook crypto-mining 1, no model was used · 12 s
      All of it: nightshift cases show k3f9-x2mq-7d1w
    ");
}

#[test]
fn a_short_report_fits_one_screen() {
    let lines = |report, width| {
        let shown = render_short_text(report, &fixture::options(width), SHOW);
        shown.lines().count()
    };
    let reports = [
        fixture::true_positive(),
        fixture::overridden(),
        fixture::benign(),
        fixture::failed(),
    ];
    for report in &reports {
        assert!(lines(report, 80) <= 26, "{}", report.title);
    }
    let hostile = fixture::handed_on(fixture::hostile());
    let shown = render_short_text(&hostile, &fixture::options(80), SHOW);
    assert!(lines(&hostile, 80) <= 44, "{shown}");
}

#[test]
fn what_happened_ends_with_a_whole_sentence() {
    let mut report = fixture::true_positive();
    let happened = |report: &_| {
        let shown = render_short_text(report, &fixture::options(80), SHOW);
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let (before, _) = words.split_once(" Still happening?").unwrap();
        let (_, said) = before.split_once("(production-project-12345) ").unwrap();
        said.to_owned()
    };
    let second = format!("web-2 runs {}.", "xmrig ".repeat(25).trim());
    report.summary = format!("web-1 runs xmrig. {second} A third sentence that has no room.");
    assert_eq!(happened(&report), format!("web-1 runs xmrig. {second}"));
    report.summary = "word ".repeat(80);
    let said = happened(&report);
    assert!(said.ends_with(" word…") && said.len() < 210, "{said}");
}
