//! `nightshift dead-letters retry`: what could not be read is read again, with the feeds that are configured now.

use std::collections::BTreeMap;
use std::time::Duration;

use nightshift_pipeline::{Message, read_message};

use crate::config::Source;
use crate::exit::Exit;
use crate::output::say;
use crate::wiring::App;

/// Letters that are listed at once.
const MOST: usize = 200;

pub(super) async fn run(app: &App, id: Option<i64>, per_second: u32) -> Result<(), Exit> {
    let (mut read, mut unreadable) = (0_u64, 0_u64);
    let mut turns = tokio::time::interval(Duration::from_secs(1) / per_second);
    let mut after = None;
    // What becomes a dead letter again while this runs is not read yet another time.
    let newest = app
        .store
        .letters(1)
        .await?
        .first()
        .map_or(0, |letter| letter.id);
    loop {
        let ids = match id {
            Some(id) => vec![id],
            None => app.store.unread(after, MOST).await?,
        };
        after = ids.last().copied();
        let is_last = id.is_some() || ids.len() < MOST || after.is_some_and(|id| id >= newest);
        for id in ids.into_iter().filter(|one| id.is_some() || *one <= newest) {
            turns.tick().await;
            if one(app, id).await? {
                read += 1;
            } else {
                unreadable += 1;
            }
        }
        if is_last {
            break;
        }
    }
    say(&format!(
        "{read} read again, {unreadable} still cannot be read"
    ));
    if unreadable == 0 {
        Ok(())
    } else {
        Err(Exit::Said)
    }
}

/// One letter; whether it could be read. Accepted before it is marked: cut off between, its alerts are sightings.
async fn one(app: &App, id: i64) -> Result<bool, Exit> {
    let Some((letter, bytes)) = app.store.letter(id).await? else {
        return Err(Exit::usage(format!(
            "there is no dead letter {id}; `nightshift dead-letters list` shows those there are"
        )));
    };
    let message = Message {
        id: id.to_string(),
        bytes,
        attributes: BTreeMap::new(),
    };
    let mut options = app.read_options();
    let source = app
        .config
        .sources
        .iter()
        .find(|one| one.name() == letter.source);
    options.feeds = source.and_then(Source::feeds);
    let arrivals = read_message(&letter.source, &message, &options, app.clock.now());
    if let Some(why) = arrivals.iter().find_map(|one| one.unreadable.as_ref()) {
        say(&format!("dead letter {id}: {why}"));
        return Ok(false);
    }
    let alerts = arrivals.len();
    let accepted = app.store.accept(arrivals.into()).await?;
    if let Some(again) = accepted.iter().find_map(|one| one.dead_letter) {
        say(&format!(
            "dead letter {id}: it could not be stored and is now dead letter {again}"
        ));
        return Ok(false);
    }
    if app.store.settle_letter(id, app.clock.now()).await? {
        say(&format!("dead letter {id}: {alerts} alerts accepted"));
    } else {
        say(&format!(
            "dead letter {id} was read before; its alerts are sightings"
        ));
    }
    Ok(true)
}
