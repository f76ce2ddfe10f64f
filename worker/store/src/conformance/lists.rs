//! Tests lists of cases: by account, by text, and page by page.

use nightshift_alert::Severity;
use nightshift_pipeline::case::CaseRow;
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::feedback::NewPersonVerdict;

use super::*;

on_both_stores! {
    pages_follow_one_another_without_a_gap_or_a_repetition
    a_list_is_searched_by_account_and_by_letters
    letters_are_searched_as_they_are
    a_severity_is_the_one_that_the_row_shows
    samples_are_left_out_of_what_is_grave
    a_list_is_searched_by_what_an_alert_names
    a_row_says_what_it_is_about_and_what_people_say
}

async fn list(fixture: &Fixture, filter: CaseFilter) -> Vec<CaseId> {
    let rows = fixture.store.list(&filter).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

fn most(limit: usize) -> CaseFilter {
    CaseFilter {
        limit,
        ..CaseFilter::default()
    }
}

async fn pages_follow_one_another_without_a_gap_or_a_repetition(fixture: Fixture) {
    for bytes in [DNS, MINER, THEFT] {
        fixture.accept(bytes).await;
    }
    let all = list(&fixture, most(10)).await;
    assert_eq!(all.len(), 3, "all of the same second");
    let mut seen: Vec<CaseId> = Vec::new();
    loop {
        let page = CaseFilter {
            after: seen.last().cloned(),
            ..most(1)
        };
        match list(&fixture, page).await.as_slice() {
            [] => break,
            [one] => seen.push(one.clone()),
            more => panic!("{more:?}"),
        }
    }
    assert_eq!(seen, all);
    let after_nothing = CaseFilter {
        after: Some(CaseId("no-such-case".into())),
        ..most(10)
    };
    assert!(list(&fixture, after_nothing).await.is_empty());
}

async fn a_list_is_searched_by_account_and_by_letters(fixture: Fixture) {
    let dns = case_of(&fixture.accept(DNS).await);
    let miner = case_of(&fixture.accept(MINER).await);
    let rows = fixture.store.list(&most(10)).await.unwrap();
    let row = rows.iter().find(|row| row.id == dns).unwrap();
    let by_account = CaseFilter {
        account: row.account.clone(),
        ..most(10)
    };
    assert_eq!(list(&fixture, by_account).await, [dns]);
    let with = |text: &str| CaseFilter {
        text: Some(text.to_owned()),
        ..most(10)
    };
    for words in ["cryptocurrency mining", "MINING HASH", &miner.0] {
        assert_eq!(
            list(&fixture, with(words)).await,
            std::slice::from_ref(&miner),
            "{words}"
        );
    }
    for nothing in ["%", "mining_hash", "' OR 1=1 --"] {
        assert!(list(&fixture, with(nothing)).await.is_empty(), "{nothing}");
    }
}

async fn letters_are_searched_as_they_are(fixture: Fixture) {
    let mut strange = arrivals(DNS).remove(0);
    Arc::make_mut(&mut strange.alert).title = "Größe 100%_\\ \0 end".into();
    let strange = case_of(&fixture.take(strange).await);
    fixture.accept(MINER).await;
    let with = |text: &str| CaseFilter {
        text: Some(text.to_owned()),
        ..most(10)
    };
    for found in ["größe", "GRö", "100%_\\", "\0 END"] {
        let found_by = list(&fixture, with(found)).await;
        assert_eq!(found_by, std::slice::from_ref(&strange), "{found:?}");
    }
    for nothing in ["GRÖ", "100__", "a\0b", "\\\\"] {
        assert!(
            list(&fixture, with(nothing)).await.is_empty(),
            "{nothing:?}"
        );
    }
    assert_eq!(list(&fixture, with("")).await.len(), 2);
    let nul = || Some("\0".to_owned());
    for strange in [
        CaseFilter {
            account: nul(),
            ..most(10)
        },
        CaseFilter {
            feed: nul(),
            ..most(10)
        },
        CaseFilter {
            after: nul().map(CaseId),
            ..most(10)
        },
    ] {
        assert!(list(&fixture, strange).await.is_empty());
    }
}

/// Returns the filter for open cases of high priority.
fn grave(status: Option<CaseStatus>, verdict: Option<Verdict>) -> CaseFilter {
    CaseFilter {
        status,
        verdict,
        severity_at_least: Some(Severity::High),
        workflow_status: Some(WorkflowStatus::Open),
        without_samples: true,
        ..most(10)
    }
}

async fn a_severity_is_the_one_that_the_row_shows(fixture: Fixture) {
    let at_least = |severity| CaseFilter {
        severity_at_least: Some(severity),
        ..most(10)
    };
    let shown = async |severity| {
        let rows = fixture.store.list(&at_least(severity)).await.unwrap();
        assert!(rows.iter().all(|row| row.shown_severity() >= severity));
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let mut mild = arrivals(MINER).remove(0);
    Arc::make_mut(&mut mild.alert).severity = Severity::Medium;
    let raised = case_of(&fixture.take(mild).await);
    assert!(shown(Severity::High).await.is_empty());
    let claimed = fixture.claim().await;
    conclude_at(&fixture, &claimed, Severity::High).await;
    assert_eq!(shown(Severity::High).await, std::slice::from_ref(&raised));
    let found = grave(Some(CaseStatus::Concluded), Some(Verdict::TruePositive));
    assert!(found.is_high_priority());
    assert_eq!(list(&fixture, found).await, std::slice::from_ref(&raised));
    // The alert was sent as critical. That severity counts again as soon as the case waits for another triage.
    let lowered = case_of(&fixture.accept(THEFT).await);
    assert_eq!(shown(Severity::High).await.len(), 2);
    let claimed = fixture.claim().await;
    let sent = claimed.alert.severity;
    conclude_at(&fixture, &claimed, Severity::Low).await;
    assert_eq!(shown(Severity::High).await, std::slice::from_ref(&raised));
    fixture.store.retry(&lowered.0).await.unwrap();
    assert!(shown(sent).await.contains(&lowered), "{sent}");
    let waits = grave(Some(CaseStatus::Queued), None);
    assert_eq!(list(&fixture, waits).await, [lowered]);
}

async fn conclude_at(fixture: &Fixture, claimed: &ClaimedCase, severity: Severity) {
    conclude_with(&fixture.store, claimed, |closing| {
        closing.conclusion.verdict = Verdict::TruePositive;
        closing.conclusion.assessed_severity = severity;
    })
    .await;
}

async fn samples_are_left_out_of_what_is_grave(fixture: Fixture) {
    let mut sample = arrivals(MINER).remove(0);
    Arc::make_mut(&mut sample.alert).state.sample = true;
    let sample = case_of(&fixture.take(sample).await);
    let theft = case_of(&fixture.accept(THEFT).await);
    let waits = grave(Some(CaseStatus::Queued), None);
    assert!(waits.is_high_priority());
    assert_eq!(list(&fixture, waits.clone()).await, [theft]);
    let all = CaseFilter {
        without_samples: false,
        ..waits
    };
    assert!(list(&fixture, all).await.contains(&sample));
}

async fn a_list_is_searched_by_what_an_alert_names(fixture: Fixture) {
    let miner = case_of(&fixture.accept(MINER).await);
    fixture.accept(DNS).await;
    let with = |text: &str| CaseFilter {
        text: Some(text.to_owned()),
        ..most(10)
    };
    for value in [
        "web-server-prod-01",
        "pool.minexmr.com",
        " pool[.]minexmr[.]com ",
        "POOL.MINEXMR.COM",
    ] {
        let found = list(&fixture, with(value)).await;
        assert_eq!(found, std::slice::from_ref(&miner), "{value}");
    }
    for nothing in ["minexmr", "pool.minexmr.co", "pool%", "\0"] {
        assert!(list(&fixture, with(nothing)).await.is_empty(), "{nothing}");
    }
    let elsewhere = CaseFilter {
        account: Some("another".into()),
        ..with("pool.minexmr.com")
    };
    assert!(list(&fixture, elsewhere).await.is_empty());
}

async fn a_row_says_what_it_is_about_and_what_people_say(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let row = async || fixture.store.list(&most(1)).await.unwrap().remove(0);
    let said = |row: CaseRow| (row.subject, row.urgency, row.person_verdict);
    let subject = || Some("web-server-prod-01".to_owned());
    assert_eq!(said(row().await), (subject(), None, None));
    let claimed = fixture.claim().await;
    conclude_at(&fixture, &claimed, Severity::High).await;
    let urgency = row().await.urgency;
    assert!(urgency.is_some(), "as its report says");
    let theirs = |verdict| NewPersonVerdict {
        at: at(9),
        by: "ana".into(),
        verdict: Some(verdict),
        note: String::new(),
    };
    let benign = Verdict::FalsePositive;
    let judged = fixture.store.add_verdict(&id.0, theirs(benign)).await;
    judged.unwrap();
    assert_eq!(said(row().await), (subject(), urgency, Some(benign)));
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.row.person_verdict, Some(benign));
}
