//! `nightshift dead-letters retry`: reads dead letters again, with the current feeds, and fetches the payload that a
//! message points to if its bucket now has it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nightshift_pipeline::intake::{Arrival, read_message};
use nightshift_pipeline::port::Message;
use nightshift_pipeline::spans::record_accepted as trace_accepted;

use crate::config::AnySourceConfig;
use crate::exit::Exit;
use crate::output::{print_stderr, sanitize_line};
use crate::wiring::App;

/// Dead letters per page.
const MAX_LISTED: usize = 200;

pub(super) async fn run(
    app: &App,
    id: Option<i64>,
    per_second: u32,
    feeds: &[String],
) -> Result<(), Exit> {
    let (mut read, mut unreadable) = (0_u64, 0_u64);
    let mut turns = tokio::time::interval(Duration::from_secs(1) / per_second);
    let mut after = None;
    // A message that becomes a dead letter again during this run is not read once more.
    let newest = app
        .store
        .dead_letters(1)
        .await?
        .first()
        .map_or(0, |letter| letter.id);
    loop {
        let ids = match id {
            Some(id) => vec![id],
            None => app.store.unretried_dead_letters(after, MAX_LISTED).await?,
        };
        after = ids.last().copied();
        let is_last =
            id.is_some() || ids.len() < MAX_LISTED || after.is_some_and(|id| id >= newest);
        for id in ids.into_iter().filter(|one| id.is_some() || *one <= newest) {
            turns.tick().await;
            if retry_dead_letter(app, id, feeds).await? {
                read += 1;
            } else {
                unreadable += 1;
            }
        }
        if is_last {
            break;
        }
    }
    print_stderr(&format!(
        "{read} read again, {unreadable} still cannot be read"
    ));
    if unreadable == 0 {
        Ok(())
    } else {
        Err(Exit::Reported(1))
    }
}

/// Retries one dead letter and returns whether it could be read. The alerts are accepted before the letter is marked,
/// so an interruption in between makes them sightings.
async fn retry_dead_letter(app: &App, id: i64, feeds: &[String]) -> Result<bool, Exit> {
    let Some((letter, bytes)) = app.store.dead_letter(id).await? else {
        return Err(Exit::usage(format!(
            "there is no dead letter {id}; `nightshift dead-letters list` shows those there are"
        )));
    };
    let bytes = match fetch_payload(&app.config.sources, &letter.source, &bytes).await {
        None => bytes,
        Some(Ok(payload)) => payload,
        Some(Err(why)) => {
            print_stderr(&format!("dead letter {id}: {why}"));
            return Ok(false);
        }
    };
    let message = Message {
        id: id.to_string(),
        bytes,
        attributes: BTreeMap::new(),
    };
    let mut options = app.read_options();
    options.feeds = match allowed_feeds(&app.config.sources, &letter.source, feeds) {
        Ok(feeds) => feeds,
        Err(why) => {
            print_stderr(&format!("dead letter {id}: {why}"));
            return Ok(false);
        }
    };
    let arrivals = read_message(&letter.source, &message, &options, app.clock.now());
    if let Some(why) = arrivals.iter().find_map(|one| one.unreadable.as_ref()) {
        print_stderr(&format!("dead letter {id}: {why}"));
        return Ok(false);
    }
    let alerts = arrivals.len();
    let arrivals: Arc<[Arrival]> = arrivals.into();
    let accepted = app.store.accept(Arc::clone(&arrivals)).await?;
    trace_accepted("dead_letter", &letter.source, &arrivals, &accepted);
    if let Some(again) = accepted.iter().find_map(|one| one.dead_letter) {
        print_stderr(&format!(
            "dead letter {id}: it could not be stored and is now dead letter {again}"
        ));
        return Ok(false);
    }
    if app
        .store
        .mark_dead_letter_retried(id, app.clock.now())
        .await?
    {
        print_stderr(&format!("dead letter {id}: {alerts} alerts accepted"));
    } else {
        print_stderr(&format!(
            "dead letter {id} was read before; its alerts are sightings"
        ));
    }
    Ok(true)
}

/// Reads the payload that a message of this source points to, or returns `None` if it points to nothing.
async fn fetch_payload(
    sources: &[AnySourceConfig],
    name: &str,
    bytes: &[u8],
) -> Option<Result<Vec<u8>, String>> {
    match sources.iter().find(|one| one.name() == name)? {
        AnySourceConfig::Sqs(config) => nightshift_queue::sqs_payload(config, bytes).await,
        _ => None,
    }
}

/// Returns the feeds that messages of this source may carry, or `None` for all. The limits of a removed source are
/// unknown, so the feeds named on the command line apply to it.
fn allowed_feeds(
    sources: &[AnySourceConfig],
    name: &str,
    named: &[String],
) -> Result<Option<Vec<String>>, String> {
    match sources.iter().find(|one| one.name() == name) {
        Some(source) => Ok(source.feeds()),
        None if !named.is_empty() => Ok(Some(named.to_vec())),
        None => Err(format!(
            "[[source]] {} is no longer configured, so its allowed feeds are unknown; restore it, \
             or name the feeds: `--feeds guardduty,scc`",
            sanitize_line(name, 60)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_gone_may_carry_what_is_named_alone() {
        let source = |more: &str| {
            let text = format!("kind = \"spool\"\ndir = \"spool\"\n{more}");
            toml::from_str::<AnySourceConfig>(&text).unwrap()
        };
        let sources = [
            source("name = \"partner-v2\"\nfeeds = [\"scc\"]"),
            source("name = \"ours\""),
        ];
        let named = ["guardduty".to_owned()];
        let scc = vec!["scc".to_owned()];
        assert_eq!(allowed_feeds(&sources, "partner-v2", &named), Ok(Some(scc)));
        assert_eq!(allowed_feeds(&sources, "ours", &named), Ok(None));
        let unknown = allowed_feeds(&sources, "partner", &[]).unwrap_err();
        assert!(
            unknown.contains("[[source]] partner is no longer configured"),
            "{unknown}"
        );
        let only = allowed_feeds(&sources, "partner", &named);
        assert_eq!(only, Ok(Some(named.to_vec())));
    }
}
