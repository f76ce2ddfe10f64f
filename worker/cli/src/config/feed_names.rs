//! Checks the names of feeds. A misspelt name would silently match no alert.

use nightshift_alert::feed::BUILT_IN;

use super::Config;
use super::environment::suggest_nearest;

/// The feed of alerts about unreadable messages.
const INTERNAL_FEED: &str = "nightshift";

/// Checks that every feed named is built in or a `[[feed]]`.
pub(super) fn check(config: &Config) -> Result<(), String> {
    let carried = known_feeds(config);
    for source in &config.sources {
        for feed in source.feeds().iter().flatten() {
            let place = || format!("[[source]] {}: feeds", source.name());
            check_known(feed, &carried, place)?;
        }
    }
    let all: Vec<&str> = carried.into_iter().chain([INTERNAL_FEED]).collect();
    for (index, route) in config.routes.iter().enumerate() {
        let place = || format!("[[route]] {}: when", index + 1);
        route
            .when
            .feed
            .iter()
            .try_for_each(|feed| check_known(feed, &all, place))?;
    }
    for (index, mute) in config.mutes.iter().enumerate() {
        let place = || format!("[[mute]] {:?}: when", mute.name(index));
        mute.when
            .feed
            .iter()
            .try_for_each(|feed| check_known(feed, &all, place))?;
    }
    Ok(())
}

/// Checks that a feed named at `place` exists.
pub(crate) fn check_feed(config: &Config, feed: &str, place: &str) -> Result<(), String> {
    let all: Vec<&str> = known_feeds(config)
        .into_iter()
        .chain([INTERNAL_FEED])
        .collect();
    check_known(feed, &all, || place.to_owned())
}

/// Returns the feeds that messages can have.
pub(crate) fn known_feeds(config: &Config) -> Vec<&str> {
    let own = config.feeds.iter().map(|feed| feed.name.as_str());
    BUILT_IN.into_iter().chain(own).collect()
}

fn check_known(feed: &str, known: &[&str], place: impl Fn() -> String) -> Result<(), String> {
    if known.contains(&feed) {
        return Ok(());
    }
    Err(format!(
        "{}: there is no feed {feed:?}; {}",
        place(),
        suggest_nearest(feed, known)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    const EDR: &str = "[[feed]]\nname = \"edr\"\nmatch = \"/vendor\"\nfields = { id = \"/id\", type = \"/rule\" }\n";

    fn checked(tables: &str) -> Result<(), String> {
        check(&toml::from_str(&format!("{DEFAULTS}\n{EDR}{tables}")).unwrap())
    }

    fn refused(tables: &str) -> String {
        checked(tables).unwrap_err()
    }

    #[test]
    fn a_feed_that_there_is_not_is_refused_wherever_it_is_named() {
        insta::assert_snapshot!(refused("[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"x\"\nfeeds = [\"edr\", \"gaurdduty\"]\n"), @r#"[[source]] drop: feeds: there is no feed "gaurdduty"; did you mean "guardduty"?"#);
        insta::assert_snapshot!(refused("[[route]]\n[[route]]\nwhen = { feed = \"security-hub\" }\n"), @r#"[[route]] 2: when: there is no feed "security-hub"; did you mean "security_hub"?"#);
        insta::assert_snapshot!(refused("[[mute]]\nwhen = { feed = \"crowdstrike\" }\nuntil = 2100-01-01\nwhy = \"x\"\n"), @r#"[[mute]] "config-1": when: there is no feed "crowdstrike"; known are guardduty, scc, security_hub, ocsf, edr, nightshift"#);
    }

    #[test]
    fn feeds_of_ours_and_of_the_file_are_known() {
        for name in BUILT_IN.into_iter().chain(["edr", INTERNAL_FEED]) {
            let table = format!("[[route]]\nwhen = {{ feed = {name:?} }}\n");
            checked(&table).unwrap();
        }
    }
}
