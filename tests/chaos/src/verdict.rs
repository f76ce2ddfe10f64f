//! Checks the guarantees afterwards, in the database and at the destination.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::fleet::Fleet;
use crate::publish::wants_ticket;
use crate::rotation::MAX_ROTATION_SECS;
use crate::tickets::TicketServer;

type Connections = JoinSet<Result<(), tokio_postgres::Error>>;

/// Longest take-over of a dead worker's case that design.md allows, in seconds.
const MAX_TAKEOVER_SECS: f64 = 35.0;

/// Rollouts and rotations under load.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Number of times that all workers were replaced.
    pub(crate) rollouts: usize,
    /// Seconds that each replaced worker took to drain, or `None` if it did not exit cleanly within its grace period.
    pub(crate) drains: Vec<Option<f64>>,
    /// Seconds from each change of the password files until all workers were connected again.
    pub(crate) rotations: Vec<f64>,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = |all: &mut dyn Iterator<Item = f64>| all.fold(0.0, f64::max);
        if self.rollouts > 0 {
            writeln!(
                f,
                "rollouts                 {}, {} workers replaced, longest end {:.1} s, not ended well {}",
                self.rollouts,
                self.drains.len(),
                longest(&mut self.drains.iter().flatten().copied()),
                self.drains.iter().filter(|took| took.is_none()).count()
            )?;
        }
        if !self.rotations.is_empty() {
            writeln!(
                f,
                "rotations                {}, new passwords used after at most {:.1} s (limit {MAX_ROTATION_SECS} s)",
                self.rotations.len(),
                longest(&mut self.rotations.iter().copied())
            )?;
        }
        Ok(())
    }
}

/// The outcome of all obligations.
#[derive(Debug, Default)]
pub(crate) struct ChaosReport {
    /// Number of obligations.
    obligations: usize,
    /// Obligations without a case.
    lost: usize,
    /// Cases that have not ended.
    open: usize,
    /// Number of cases by final status.
    ended: BTreeMap<String, i64>,
    /// Cases that no obligation asked for, and further cases of the same alert.
    unknown: usize,
    /// Reports of revisions that nobody asked for.
    duplicate_reports: usize,
    /// Cases whose report is not at the destination.
    missing_reports: usize,
    /// Tickets that are wanted.
    tickets: usize,
    missing_tickets: usize,
    duplicate_tickets: usize,
    /// Commands that were finished twice, or started again after they were finished.
    repeated: i64,
    /// Journal entries whose epoch is lower than an earlier one.
    zombies: i64,
    /// Seconds that each take-over of a case by another worker took, sorted.
    take_overs: Vec<f64>,
    /// True if one fresh alert was concluded at the end.
    pub(crate) fresh: bool,
    pub(crate) changes: Changes,
}

impl ChaosReport {
    /// Returns whether everything has ended, well or not.
    pub(crate) fn is_over(&self) -> bool {
        self.open == 0 && self.lost == 0 && self.missing_reports + self.missing_tickets == 0
    }

    /// Counts the tickets of a case that has ended. The number in the alert's id says how many are wanted.
    fn count_tickets(&mut self, alert: Option<&str>, many: usize) {
        let number = alert.and_then(|id| id.trim_start_matches("chaos-").parse().ok());
        let wanted = usize::from(number.is_some_and(wants_ticket));
        self.tickets += wanted;
        self.missing_tickets += wanted.saturating_sub(many);
        self.duplicate_tickets += many.saturating_sub(wanted);
    }

    /// Returns whether the outcome is correct, however long it took.
    pub(crate) fn holds(&self) -> bool {
        self.is_over()
            && self.unknown == 0
            && self.duplicate_reports + self.duplicate_tickets == 0
            && self.repeated == 0
            && self.zombies == 0
            && self.fresh
            && self.changes.drains.iter().all(Option::is_some)
    }

    /// Returns whether the limits of design.md and faults.md hold. They assume a quiet machine.
    pub(crate) fn is_in_time(&self) -> bool {
        let is_short = |took: &f64| *took <= MAX_ROTATION_SECS;
        let taken_over = self.take_overs.last();
        self.changes.rotations.iter().all(is_short)
            && taken_over.is_none_or(|longest| *longest <= MAX_TAKEOVER_SECS)
    }
}

impl fmt::Display for ChaosReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended: Vec<String> = self
            .ended
            .iter()
            .map(|(how, many)| format!("{many} {how}"))
            .collect();
        writeln!(
            f,
            "obligations              {} ({})",
            self.obligations,
            ended.join(", ")
        )?;
        writeln!(f, "lost                     {}", self.lost)?;
        writeln!(f, "unknown                  {}", self.unknown)?;
        writeln!(f, "duplicate reports        {}", self.duplicate_reports)?;
        writeln!(f, "missing reports          {}", self.missing_reports)?;
        writeln!(
            f,
            "tickets                  {}, missing {}, made twice {}",
            self.tickets, self.missing_tickets, self.duplicate_tickets
        )?;
        writeln!(f, "repeated finished calls  {}", self.repeated)?;
        writeln!(f, "zombie writes            {}", self.zombies)?;
        let at = |share: usize| {
            let index = self.take_overs.len().saturating_sub(1) * share / 100;
            self.take_overs.get(index).copied().unwrap_or_default()
        };
        writeln!(
            f,
            "take-overs               {}, median {:.1} s, p95 {:.1} s, max {:.1} s (limit {MAX_TAKEOVER_SECS} s)",
            self.take_overs.len(),
            at(50),
            at(95),
            at(100)
        )?;
        write!(f, "{}", self.changes)?;
        let fresh = if self.fresh { "passed" } else { "did not pass" };
        write!(f, "a fresh alert            {fresh}")
    }
}

/// Connects to the database. The connection ends when the set is dropped.
async fn connect(url: &str) -> anyhow::Result<(Client, Connections)> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    Ok((client, connections))
}

/// Waits until the case of an alert is concluded.
pub(crate) async fn wait_for(url: &str, id: &str, patience: Duration) -> anyhow::Result<()> {
    let (client, _connection) = connect(url).await?;
    let over = async {
        loop {
            let found = client
                .query_one(
                    "SELECT count(*) FROM cases WHERE strpos(key, $1) > 0 AND status = 'concluded'",
                    &[&id],
                )
                .await?;
            if found.get::<_, i64>(0) == 1 {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(patience, over)
        .await
        .context("it took too long")?
}

/// Returns the present outcome.
pub(crate) async fn check_obligations(
    url: &str,
    fleet: &Fleet,
    desk: &TicketServer,
    obligations: &[String],
) -> anyhow::Result<ChaosReport> {
    let (client, _connection) = connect(url).await?;
    let rows = client
        .query("SELECT id, key, status, revision FROM cases", &[])
        .await?;
    let mut verdict = ChaosReport {
        obligations: obligations.len(),
        ..ChaosReport::default()
    };
    let mut cases: BTreeMap<&str, usize> = obligations.iter().map(|id| (id.as_str(), 0)).collect();
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    for name in fleet.reports() {
        // The name is k3f9-x2mq-7d1w-r1.json, or another one of the destination that starts with the case's id.
        let id: String = name.chars().take(14).collect();
        *shown.entry(id).or_default() += 1;
    }
    let tickets = desk.tickets();
    for row in &rows {
        let (id, key, status): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
        let place = key
            .find("chaos-")
            .and_then(|at| key.get(at..at + "chaos-000000".len()));
        match place.and_then(|one| cases.get_mut(one)) {
            Some(count) => *count += 1,
            None if key.contains("chaos-fresh") => continue,
            None => verdict.unknown += 1,
        }
        *verdict.ended.entry(status.to_owned()).or_default() += 1;
        let is_over = matches!(status, "concluded" | "failed");
        verdict.open += usize::from(!is_over);
        if is_over {
            match shown.get(id) {
                None => verdict.missing_reports += 1,
                Some(many) => verdict.duplicate_reports += many - 1,
            }
            verdict.count_tickets(place, tickets.get(id).copied().unwrap_or_default());
        }
    }
    verdict.lost = cases.values().filter(|count| **count == 0).count();
    verdict.unknown += cases
        .values()
        .map(|count| count.saturating_sub(1))
        .sum::<usize>();
    verdict.repeated = number(&client, REPEATED).await?;
    verdict.zombies = number(&client, ZOMBIES).await?;
    verdict.take_overs = takeover_secs(&client, &fleet.kills).await?;
    Ok(verdict)
}

async fn number(client: &Client, sql: &str) -> anyhow::Result<i64> {
    Ok(client.query_one(sql, &[]).await?.get(0))
}

/// Counts commands that are started or finished after they were finished, within one revision.
const REPEATED: &str = "SELECT count(*) FROM journal AS later JOIN journal AS finished \
    USING (case_id, revision, command) WHERE finished.kind = 'finished' AND later.kind IN ('started', 'finished') \
    AND later.seq > finished.seq";

/// Counts entries whose epoch is below that of an earlier one.
const ZOMBIES: &str = "SELECT count(*) FROM (SELECT epoch, max(epoch) OVER (PARTITION BY case_id, revision \
    ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM journal) AS entries \
    WHERE epoch < before";

/// Returns the seconds from a kill to the claim that takes its case over. For each claim except the first of a case,
/// the kill is the first one between the entry before it and the claim. A worker that was killed before its first
/// entry left only a greater epoch, so several take-overs then share the time between them.
async fn takeover_secs(client: &Client, kills: &[SystemTime]) -> anyhow::Result<Vec<f64>> {
    let rows = client
        .query(
            "SELECT before, at, claims FROM (SELECT kind, at, lag(at) OVER earlier AS before, \
                 (epoch - lag(epoch) OVER earlier)::integer AS claims \
                 FROM journal WINDOW earlier AS (PARTITION BY case_id, revision ORDER BY seq)) AS entries \
             WHERE kind = 'claimed' AND before IS NOT NULL",
            &[],
        )
        .await?;
    let mut all = Vec::new();
    for row in rows {
        let (before, at): (SystemTime, SystemTime) = (row.get(0), row.get(1));
        let claims = u32::try_from(row.get::<_, i32>(2)).unwrap_or(1).max(1);
        let kill = kills
            .iter()
            .filter(|kill| **kill >= before && **kill <= at)
            .min();
        if let Some(took) = kill.and_then(|kill| at.duration_since(*kill).ok()) {
            all.extend((0..claims).map(|_| took / claims));
        }
    }
    all.sort_unstable();
    Ok(all.into_iter().map(|took| took.as_secs_f64()).collect())
}
