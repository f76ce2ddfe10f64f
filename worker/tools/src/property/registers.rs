//! Generates registers of a scenario: rows that allow an activity, near misses, and the files that contain them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::scenario::{KINDS, OTHER_ACCOUNT, RowCells, Scenario};
use crate::{
    AssetLookup, AuthorisedScanners, ChangeLookup, ContentSource, IdentityLookup, SlackMins,
    ToolConfig, Watchlist, WatchlistFile,
};

/// Cells that make a row cover nothing.
const WRONG_CELLS: [(&str, &str); 18] = [
    ("approved_by", ""),
    ("approved_by", "-"),
    ("approved_by", "pending"),
    ("expected_findings", ""),
    ("expected_findings", "Stealth:*"),
    ("valid_until", ""),
    ("region", "us-east-1"),
    ("zone", "us-east1-b"),
    ("cluster", "another"),
    ("partition", "aws-cn"),
    ("status", "revoked"),
    ("status", "pending"),
    ("status", "expired"),
    ("status", "draft"),
    ("status", "on ice"),
    ("status", "Approved (withdrawn)"),
    ("kind", "image"),
    ("kind", "container"),
];

impl Scenario {
    /// Returns a row that allows what its subject does.
    pub(super) fn right(&mut self, subject: &str) -> RowCells {
        let known = KINDS.iter().find(|(kind, ..)| *kind == self.kind);
        let glob = known.map_or(self.kind, |(_, glob, _)| glob);
        let types = self.dice.pick(&[
            self.kind.to_owned(),
            glob.to_owned(),
            format!("Stealth:*; {glob}"),
        ]);
        // The window is exactly as long as needed, or longer.
        let days = TimeDelta::days(self.dice.pick(&[0, 60, 90]));
        let (from, until) = (self.time(self.first - days), self.time(self.last + days));
        RowCells::from([
            ("subject", subject.to_owned()),
            ("account", self.account.clone()),
            (
                "approved_by",
                self.dice.pick(&["grace", "ciso", "Ana Lopez"]).to_owned(),
            ),
            ("expected_findings", types),
            ("valid_from", from),
            ("valid_until", until),
        ])
    }

    /// Formats a time as people write it.
    pub(super) fn time(&mut self, at: DateTime<Utc>) -> String {
        match self.dice.below(4) {
            0 => at.format("%Y-%m-%d %H:%M:%S").to_string(),
            1 => (at + TimeDelta::hours(2))
                .format("%Y-%m-%dT%H:%M:%S+02:00")
                .to_string(),
            _ => at.to_rfc3339(),
        }
    }

    /// Keeps a correct row, sometimes split into two adjoining ones.
    pub(super) fn keep(&mut self, register: &'static str, mut row: RowCells) {
        if register == "changes" {
            row.insert(
                "status",
                self.dice.pick(&["approved", "Implemented"]).to_owned(),
            );
        } else if self.dice.one_in(3) {
            row.insert("status", "active".to_owned());
        }
        if let Some(region) = self.region.filter(|_| self.dice.one_in(6)) {
            row.insert("region", region.to_owned());
        }
        if self.dice.one_in(5) && self.first < self.last {
            let middle = self.time(self.first + (self.last - self.first) / 2);
            self.add(register, with(&row, "valid_from", &middle));
            row.insert("valid_until", middle);
        }
        self.add(register, row);
    }

    pub(super) fn add(&mut self, register: &'static str, mut row: RowCells) {
        let rows = self.rows.entry(register).or_default();
        if matches!(register, "changes" | "scanners") {
            row.insert("id", format!("R-{}", rows.len()));
        }
        // The order of rows does not matter.
        let place = self.dice.below(rows.len() + 1);
        rows.insert(place, row);
    }

    /// Records a subject in this register, or only a near miss that covers nothing, or nothing at all.
    pub(super) fn record(
        &mut self,
        register: &'static str,
        row: RowCells,
        fault: &'static str,
    ) -> bool {
        let is_wrong = self.inject_fault(fault);
        if !is_wrong {
            self.keep(register, row);
        } else if !self.dice.one_in(8) {
            self.near_miss(register, row);
        }
        !is_wrong
    }

    pub(super) fn near_miss(&mut self, register: &'static str, mut row: RowCells) {
        if register == "changes" {
            row.insert("status", "approved".to_owned());
        }
        let (days, minutes) = (TimeDelta::days(30), TimeDelta::minutes(11));
        let windows = [
            (self.first - days, self.first - minutes),
            (self.last + minutes, self.last + days),
            (self.first - days, self.last - minutes),
            (self.first + minutes, self.last + days),
        ];
        let subject = row["subject"].clone();
        let is_public = subject
            .parse::<IpAddr>()
            .is_ok_and(nightshift_alert::is_public);
        match self.dice.below(9) {
            0 | 1 => {
                let (from, until) = self.dice.pick(&windows);
                row.insert("valid_from", self.time(from));
                row.insert("valid_until", self.time(until));
            }
            // One row ends during the finding, and another begins too late.
            2 if self.first + minutes * 3 < self.last => {
                let late = self.time(self.last - minutes);
                self.add(register, with(&row, "valid_from", &late));
                row.insert("valid_until", self.time(self.first + minutes));
            }
            3 if !is_public => {
                row.insert("subject", subject.replace(&row["account"], OTHER_ACCOUNT));
                row.insert("account", OTHER_ACCOUNT.to_owned());
            }
            4 => {
                let other = match subject.parse::<IpAddr>() {
                    Ok(_) => "192.0.2.254".to_owned(),
                    Err(_) if subject.contains('@') => format!("x{subject}"),
                    Err(_) => self
                        .dice
                        .pick(&[format!("{subject}2"), subject.replacen('-', "_", 1) + "_"]),
                };
                row.insert("subject", other);
                row.remove("aliases");
            }
            // A register in which the name belongs to another kind of subject.
            5 => {
                let other = if register == "identities" {
                    "assets"
                } else {
                    "identities"
                };
                return self.add(other, row);
            }
            _ => {
                let (column, cell) = self.dice.pick(&WRONG_CELLS);
                row.insert(column, cell.to_owned());
            }
        }
        self.add(register, row);
    }

    /// Returns the registers as files, by name.
    pub(super) fn registers(&self) -> Vec<(String, String)> {
        let all = self.rows.iter().enumerate();
        let files = all.map(
            |(number, (register, rows))| match (self.seed >> number) & 1 {
                0 => (format!("{register}.csv"), csv(rows)),
                _ => (format!("{register}.json"), json!(rows).to_string()),
            },
        );
        files.collect()
    }

    /// Returns the tools of the scenario, which may keep files in this folder.
    pub(super) fn tools(&self, folder: &Path) -> Vec<ToolConfig> {
        let mut tools: Vec<ToolConfig> = self.registers().into_iter().map(tool).collect();
        tools.push(ToolConfig::Watchlist(Watchlist {
            name: "watchlist".to_owned(),
            lists: vec![WatchlistFile {
                name: "bad".to_owned(),
                path: text("bad.txt".to_owned(), self.watched.join("\n")),
                meaning: "malicious".to_owned(),
            }],
            mining_pools: true,
        }));
        tools.extend(self.log.iter().map(|log| log.tool(folder)));
        tools
    }
}

/// Returns the row with one cell replaced.
pub(super) fn with(row: &RowCells, column: &'static str, cell: &str) -> RowCells {
    let mut row = row.clone();
    row.insert(column, cell.to_owned());
    row
}

pub(super) fn text(name: String, text: String) -> ContentSource {
    ContentSource::Text {
        name: name.into(),
        text: text.into(),
    }
}

fn tool((name, content): (String, String)) -> ToolConfig {
    let register = name.split('.').next().unwrap_or_default().to_owned();
    let path = text(name, content);
    match register.as_str() {
        "assets" => ToolConfig::AssetLookup(AssetLookup {
            name: register,
            path,
        }),
        "changes" => ToolConfig::ChangeLookup(ChangeLookup {
            name: register,
            path,
            slack_mins: SlackMins::default(),
        }),
        "scanners" => ToolConfig::AuthorisedScanners(AuthorisedScanners {
            name: register,
            path,
            slack_mins: SlackMins::default(),
        }),
        _ => ToolConfig::IdentityLookup(IdentityLookup {
            name: register,
            path,
        }),
    }
}

fn csv(rows: &[RowCells]) -> String {
    let columns: BTreeSet<&str> = rows.iter().flat_map(|row| row.keys().copied()).collect();
    let line = |cell: &dyn Fn(&str) -> String| {
        let cells = columns.iter().map(|column| format!("\"{}\"", cell(column)));
        cells.collect::<Vec<_>>().join(",")
    };
    let head = line(&|column| column.to_owned());
    let rows = rows
        .iter()
        .map(|row| line(&|column| row.get(column).cloned().unwrap_or_default()));
    std::iter::once(head)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}
