//! Lists of cases: by account, by text, page by page.

use super::*;

on_both_stores! {
    pages_follow_one_another_without_a_gap_or_a_repetition
    a_list_is_searched_by_account_and_by_letters
    letters_are_searched_as_they_are
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
