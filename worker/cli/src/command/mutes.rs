//! `nightshift mutes`: lists, adds, previews and removes mutes.

use chrono::{DateTime, Duration, Utc};
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::mutes::{MutePreview, MuteRow, NewMute};
use nightshift_pipeline::port::StoreError;
use nightshift_pipeline::route::Match;

use super::table::table;
use crate::args::{MuteRuleArgs, MutesCommand};
use crate::config::check_feed;
use crate::exit::Exit;
use crate::output::{print, print_json, print_stderr, sanitize_line};
use crate::wiring::App;

/// Days that the preview of a new mute covers.
const PREVIEW_DAYS: u32 = 90;
/// Time limit of that preview.
const PREVIEW_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// Maximum number of true positives that are listed.
const MAX_LISTED: usize = 20;
/// The author of a mute that is only previewed.
const PREVIEW_AUTHOR: &str = "preview";

pub(super) async fn run(app: &App, command: &MutesCommand) -> Result<(), Exit> {
    match command {
        MutesCommand::List { all, json } => list(app, *all, json.json).await,
        MutesCommand::Add {
            rule,
            until,
            why,
            by,
            json,
        } => add(app, mute(app, rule, *until, why, by)?, json.json).await,
        MutesCommand::Preview { rule, days, json } => {
            let mute = mute(
                app,
                rule,
                DateTime::<Utc>::MAX_UTC,
                PREVIEW_AUTHOR,
                PREVIEW_AUTHOR,
            )?;
            let preview = preview(app, &mute, *days).await?;
            if json.json {
                return print_json(&preview);
            }
            print(&preview_text(&preview, *days))
        }
        MutesCommand::Remove { name } => remove(app, name).await,
    }
}

/// Builds the rule if it is valid.
fn mute(
    app: &App,
    rule: &MuteRuleArgs,
    until: DateTime<Utc>,
    why: &str,
    by: &str,
) -> Result<NewMute, Exit> {
    if let Some(feed) = &rule.feed {
        check_feed(&app.config, feed, "--feed").map_err(Exit::usage)?;
    }
    let mute = NewMute {
        when: Match {
            feed: rule.feed.clone(),
            kind: rule.kind.clone(),
            severity_at_least: None,
            account: rule.account.clone(),
            region: rule.region.clone(),
            class: rule.class.clone(),
            ..Match::default()
        },
        severity: rule.severity,
        until,
        why: why.to_owned(),
        by: by.to_owned(),
    };
    match mute.clone().named("").faults().first() {
        Some(fault) => Err(Exit::usage((*fault).to_owned())),
        None => Ok(mute),
    }
}

async fn add(app: &App, mute: NewMute, json: bool) -> Result<(), Exit> {
    let now = app.clock.now();
    if mute.until <= now {
        return Err(Exit::usage(format!(
            "--until {}: that is over; use a time to come",
            mute.until.format("%Y-%m-%d %H:%M UTC")
        )));
    }
    let foreseen = preview_or_timeout(preview(app, &mute, PREVIEW_DAYS)).await;
    let mute = app.store.add_mute(mute, now).await?;
    print_stderr(foreseen.trim_end());
    if json {
        return print_json(&mute);
    }
    print(&format!(
        "{} holds until {}; `nightshift mutes remove {}` takes it back",
        mute.name,
        mute.until.format("%Y-%m-%d %H:%M UTC"),
        mute.name
    ))
}

async fn remove(app: &App, name: &str) -> Result<(), Exit> {
    let configured = app.config.admission_policy().map_err(Exit::usage)?.mutes;
    if configured.iter().any(|mute| mute.name == name) {
        return Err(Exit::usage(format!(
            "{name} stands in the configuration; take it out there"
        )));
    }
    match app.store.remove_mute(name, app.clock.now()).await {
        Err(StoreError::NoSuchMute(name)) => Err(Exit::usage(format!(
            "there is no mute {name:?} that holds; `nightshift mutes list` shows those there are"
        ))),
        removed => {
            removed?;
            print(&format!("{name} is removed; what it hid stays counted"))
        }
    }
}

async fn preview(app: &App, mute: &NewMute, days: u32) -> Result<MutePreview, StoreError> {
    let since = app.clock.now() - Duration::days(i64::from(days));
    app.store.preview_mute(mute, since).await
}

/// Returns what a new mute would have hidden, if the preview ends in time. The mute is added in any case, because a
/// store under a flood of alerts may be slow.
async fn preview_or_timeout(
    preview: impl Future<Output = Result<MutePreview, StoreError>>,
) -> String {
    match tokio::time::timeout(PREVIEW_TIMEOUT, preview).await {
        Ok(Ok(preview)) => preview_text(&preview, PREVIEW_DAYS),
        Ok(Err(error)) => format!(
            "what it would have hidden is not known: {:#}\n",
            anyhow::Error::from(error)
        ),
        Err(_) => format!(
            "what it would have hidden is not known: there is too much to look at for {} s; \
             `nightshift mutes preview` takes longer\n",
            PREVIEW_TIMEOUT.as_secs()
        ),
    }
}

/// Renders a preview, with the true positives at its end, where they are seen.
fn preview_text(preview: &MutePreview, days: u32) -> String {
    let total: u64 = preview.cases.values().sum();
    let words = |(word, count): (&String, &u64)| format!("{count} {}", word.replace('_', " "));
    let verdicts: Vec<String> = preview.cases.iter().map(words).collect();
    let mut lines = vec![if total == 0 {
        format!("it would have hidden no case in the last {days} days")
    } else {
        format!(
            "cases that it would have hidden in the last {days} days: {total} ({})",
            verdicts.join(", ")
        )
    }];
    for (count, what) in [
        (preview.members, "members of storms"),
        (preview.muted, "alerts that other mutes hid"),
    ] {
        if count > 0 {
            lines.push(format!("and {count} {what}"));
        }
    }
    if let Some(newest) = preview.only_newest {
        lines.push(format!("only the newest {newest} alerts were looked at"));
    }
    let positives = &preview.true_positives;
    if !positives.is_empty() {
        lines.push("TRUE POSITIVES among them:".to_owned());
    }
    for row in positives.iter().take(MAX_LISTED) {
        lines.push(format!(
            "  {} {} {} {}",
            row.id,
            row.opened_at.format("%Y-%m-%d"),
            row.severity,
            sanitize_line(&row.title, 100)
        ));
    }
    if positives.len() > MAX_LISTED {
        lines.push(format!("  and {} more", positives.len() - MAX_LISTED));
    }
    lines.join("\n") + "\n"
}

async fn list(app: &App, all: bool, json: bool) -> Result<(), Exit> {
    let now = app.clock.now();
    let mut rows = app.store.mutes().await?;
    rows.retain(|row| all || state(row, now) == "holds");
    if json {
        return rows.iter().try_for_each(print_json);
    }
    if rows.is_empty() {
        print_stderr("no mutes hold; `nightshift mutes list --all` also shows those that ended");
        return Ok(());
    }
    let header = [
        "Name",
        "Hides",
        "Until (UTC)",
        "Hits",
        "Last hit (UTC)",
        "Why",
        "By",
    ];
    let mut table = table(&header, &[1, 5]);
    for row in &rows {
        let until = match state(row, now) {
            "holds" => row.mute.until.format("%Y-%m-%d %H:%M").to_string(),
            over => over.to_owned(),
        };
        table.add_row([
            sanitize_line(&row.mute.name, 60),
            sanitize_line(&hides(row), 200),
            until,
            hits(row),
            row.last_hit
                .map_or_else(String::new, |at| at.format("%Y-%m-%d %H:%M").to_string()),
            sanitize_line(&row.mute.why, 100),
            sanitize_line(&row.mute.by, 60),
        ]);
    }
    print(&table.to_string())
}

/// Returns the number of hits. A flood is not counted exactly.
fn hits(row: &MuteRow) -> String {
    match row.hits {
        more if more > MOST_COUNTED => format!("{MOST_COUNTED}+"),
        hits => hits.to_string(),
    }
}

fn state(row: &MuteRow, now: DateTime<Utc>) -> &'static str {
    if row.removed_at.is_some() {
        "removed"
    } else if row.mute.until <= now {
        "ended"
    } else {
        "holds"
    }
}

/// Describes the rule in a line.
fn hides(row: &MuteRow) -> String {
    let when = &row.mute.when;
    let mut parts = Vec::new();
    parts.extend(when.feed.clone());
    parts.extend(when.kind.clone());
    parts.extend(
        when.severity_at_least
            .map(|least| format!("{least} and above")),
    );
    for (name, values) in [
        ("account", &when.account),
        ("region", &when.region),
        ("class", &when.class),
    ] {
        if !values.is_empty() {
            parts.push(format!("{name} {}", values.join(" or ")));
        }
    }
    format!("{}, up to {}", parts.join(", "), row.mute.severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_mute_does_not_wait_for_what_it_would_have_hidden() {
        let failed = async {
            Err(StoreError::Database {
                doing: "preview a mute",
                cause: "canceling statement due to statement timeout".into(),
            })
        };
        let told = preview_or_timeout(failed).await;
        assert!(
            told.starts_with("what it would have hidden is not known: ")
                && told.contains("statement timeout"),
            "{told}"
        );
        let told = preview_or_timeout(std::future::pending()).await;
        assert!(told.contains("too much to look at for 5 s"), "{told}");
        let cut = MutePreview {
            only_newest: Some(50_000),
            ..MutePreview::default()
        };
        let told = preview_or_timeout(std::future::ready(Ok(cut))).await;
        assert!(told.contains("only the newest 50000 alerts"), "{told}");
    }
}
