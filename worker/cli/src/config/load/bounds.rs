//! Checks for numbers with which nothing would run, or which no time or memory could hold.

use super::refuse_if;
use crate::config::{Config, LimitsConfig};

/// No process has memory for more cases at once.
const MAX_CASES: usize = 10_000;
/// The case of a lost worker waits this long.
const MAX_LEASE_SECS: u64 = 3_600;
/// Ten years.
const MAX_COOLDOWN_HOURS: u32 = 87_600;
/// Benign cases are re-evaluated for this long.
const MAX_RECHECK_HOURS: u32 = 720;
/// A year.
const MAX_STORM_MINUTES: u32 = 525_600;

/// Refuses the first value out of bounds.
pub(super) fn check(config: &Config) -> anyhow::Result<()> {
    let worker = &config.worker;
    refuse_if(
        worker.max_cases == 0,
        "[worker] max_cases = 0: no case would ever run; use 1 or more".to_owned(),
    )?;
    most("[worker] max_cases", worker.max_cases, MAX_CASES)?;
    refuse_if(
        worker.lease_secs < 15,
        "[worker] lease_secs: use 15 or more; a lease is renewed three times before it ends, and every 10 seconds at least".to_owned(),
    )?;
    most("[worker] lease_secs", worker.lease_secs, MAX_LEASE_SECS)?;
    refuse_if(
        worker.inbox_max == 0,
        "[worker] inbox_max = 0: no message would ever be taken; use 1 or more".to_owned(),
    )?;
    limits(&config.limits)
}

fn limits(limits: &LimitsConfig) -> anyhow::Result<()> {
    for (name, is_zero) in [
        ("first_plan_steps", limits.first_plan_steps == 0),
        ("steps", limits.steps == 0),
        ("turns", limits.turns == 0),
        ("minutes", limits.minutes == 0),
        ("parallel", limits.parallel == 0),
        ("tool_secs", limits.tool_secs == 0),
        ("question_secs", limits.question_secs == 0),
        ("storm_cases", limits.storm_cases == 0),
        ("storm_minutes", limits.storm_minutes == 0),
    ] {
        refuse_if(is_zero, format!("[limits] {name} = 0: use 1 or more"))?;
    }
    let (cooldown, storm) = (limits.cooldown_hours, limits.storm_minutes);
    most("[limits] cooldown_hours", cooldown, MAX_COOLDOWN_HOURS)?;
    most(
        "[limits] recheck_hours",
        limits.recheck_hours,
        MAX_RECHECK_HOURS,
    )?;
    most("[limits] storm_minutes", storm, MAX_STORM_MINUTES)?;
    for (name, usd) in [("usd", limits.usd), ("day_usd", limits.day_usd)] {
        refuse_if(
            !usd.is_finite() || usd < 0.0,
            format!("[limits] {name} = {usd}: use an amount of 0 or more"),
        )?;
    }
    Ok(())
}

fn most<T: PartialOrd + std::fmt::Display>(key: &str, value: T, most: T) -> anyhow::Result<()> {
    let is_more = value > most;
    refuse_if(is_more, format!("{key} = {value}: use {most} or less"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    /// Returns the error of the defaults with this key set to another value.
    fn told(table: &str, key: &str, value: &str) -> Result<(), String> {
        let mut config: toml::Table = DEFAULTS.parse().unwrap();
        let changed: toml::Table = format!("it = {value}").parse().unwrap();
        let table = config[table].as_table_mut().unwrap();
        table.insert(key.to_owned(), changed["it"].clone());
        check(&config.try_into().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn blocking_number_is_refused_with_its_key_and_bound() {
        for (table, key, value, wanted) in [
            ("worker", "max_cases", "0", "use 1 or more"),
            ("worker", "max_cases", "10001", "use 10000 or less"),
            ("worker", "inbox_max", "0", "use 1 or more"),
            ("worker", "lease_secs", "14", "use 15 or more"),
            ("worker", "lease_secs", "3601", "use 3600 or less"),
            (
                "limits",
                "cooldown_hours",
                "4294967295",
                "use 87600 or less",
            ),
            (
                "limits",
                "storm_minutes",
                "4294967295",
                "use 525600 or less",
            ),
            ("limits", "recheck_hours", "721", "use 720 or less"),
            ("limits", "usd", "-0.5", "-0.5: use an amount of 0 or more"),
            (
                "limits",
                "day_usd",
                "-1.0",
                "-1: use an amount of 0 or more",
            ),
            ("limits", "day_usd", "nan", "use an amount of 0 or more"),
        ] {
            let told = told(table, key, value).unwrap_err();
            assert!(told.starts_with(&format!("[{table}] {key}")), "{told}");
            assert!(told.contains(wanted), "{told}");
        }
        for (table, key, value) in [
            ("worker", "max_cases", "10000"),
            ("worker", "inbox_max", "1"),
            ("worker", "lease_secs", "3600"),
            ("limits", "cooldown_hours", "0"),
            ("limits", "cooldown_hours", "87600"),
            ("limits", "storm_minutes", "525600"),
            ("limits", "usd", "0.0"),
        ] {
            told(table, key, value).unwrap();
        }
    }
}
