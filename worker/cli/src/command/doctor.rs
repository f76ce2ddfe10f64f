//! `nightshift doctor`: probes everything that the configuration names and reports what will not work.
//!
//! Each crate probes what it owns. The probes run concurrently, each with a time limit, and their results are shown
//! together. Nothing is stored, taken from a queue or posted, and no secret is printed.

mod clock;
mod configuration;
mod playbooks;
mod probe_runner;
mod render;
mod sources;
mod targets;
mod tls;

use self::probe_runner::TargetReport;
use crate::args::{DoctorArea, DoctorArgs};
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{print, print_json, table_width};

use nightshift_engine::doctor::{CheckSeverity, HealthReport};

/// Runs the probes and prints the results. The exit code is 1 if something does not work.
pub(super) async fn run(loaded: &LoadedConfig, options: &DoctorArgs) -> Result<(), Exit> {
    let looked = probe_areas(loaded, &options.only).await;
    if options.json.json {
        print_json(&render::object(&looked))?;
    } else {
        print(&render::text(&looked, table_width().min(120)))?;
    }
    let bad = if options.strict {
        CheckSeverity::Warning
    } else {
        CheckSeverity::Error
    };
    if looked
        .iter()
        .flat_map(|one| &one.report.failed_checks)
        .any(|one| one.severity >= bad)
    {
        return Err(Exit::Reported(1));
    }
    Ok(())
}

/// Probes these areas, or all if none is named.
async fn probe_areas(loaded: &LoadedConfig, only: &[DoctorArea]) -> Vec<TargetReport> {
    let wanted = |area: DoctorArea| only.is_empty() || only.contains(&area);
    // The clock is compared while other areas are probed. If it is wanted, these areas are probed too, but shown only
    // if wanted themselves.
    let needed = |area: DoctorArea| {
        wanted(area) || wanted(DoctorArea::Clock) && clock::reports_clock_skew(area)
    };
    let things = targets::doctor_targets(loaded, &needed);
    let mut looked = probe_runner::run_probes(things, probe_runner::probe_timeout).await;
    looked.retain(|one| !is_of_no_model(one));
    if wanted(DoctorArea::Clock) {
        looked.push(clock::check_clock(&looked));
    }
    looked.retain(|one| wanted(one.area));
    looked.sort_by_key(|one| one.area);
    looked
}

/// Returns whether there is nothing to say of the models together.
fn is_of_no_model(looked: &TargetReport) -> bool {
    let is_of_all = looked.area == DoctorArea::Models && looked.name.is_empty();
    is_of_all && looked.report == HealthReport::default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;
    use crate::config::load;

    /// Answers each request with an old date.
    async fn answers(listener: TcpListener) {
        while let Ok((mut one, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = one.read(&mut asked).await;
            let answer = "HTTP/1.1 405 Method Not Allowed\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
                          content-length: 0\r\nconnection: close\r\n\r\n";
            let _ = one.write_all(answer.as_bytes()).await;
        }
    }

    #[tokio::test]
    async fn single_clock_check_compares_with_the_other_clocks() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(answers(listener));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nightshift.toml");
        let store = dir.path().join("n.db");
        let text = format!(
            "store = {{ url = \"sqlite:{}\" }}\n\
             [[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = {url:?}\n\
             secret = \"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\"\n",
            store.display()
        );
        std::fs::write(&file, text).unwrap();
        let looked = probe_areas(&load(Some(&file)).unwrap(), &[DoctorArea::Clock]).await;
        let areas: Vec<DoctorArea> = looked.iter().map(|one| one.area).collect();
        assert_eq!(areas, [DoctorArea::Clock], "nothing else was asked for");
        let checkup = &looked[0].report;
        assert_eq!(checkup.failed_checks.len(), 1, "{checkup:?}");
        let skew = &checkup.failed_checks[0];
        assert_eq!(skew.check, "clock.skew");
        assert!(skew.what.ends_with("of 127.0.0.1"), "{skew:?}");
    }

    /// Returns short limits for probes that hang.
    fn brief(area: DoctorArea) -> Duration {
        Duration::from_secs(if area == DoctorArea::Configuration {
            60
        } else {
            3
        })
    }

    #[test]
    fn unfinished_files_block_only_checks_that_need_them() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let file = dir.path().join("nightshift.toml");
        let text = "[store]\nurl = \"postgres://ana@127.0.0.1:1/n\"\npassword = \"file:pipe\"\n\
             [[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"file:pipe\"]\n\
             [[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\napi_key = \"file:pipe\"\n\
             [[destination]]\nname = \"soc\"\nkind = \"github\"\nrepo = \"acme/soc\"\ntoken = \"file:pipe\"\n";
        std::fs::write(&file, text).unwrap();
        let loaded = load(Some(&file)).unwrap();
        let only = [
            DoctorArea::Configuration,
            DoctorArea::Store,
            DoctorArea::Sources,
            DoctorArea::Models,
            DoctorArea::Destinations,
        ];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let looked = runtime.block_on(async {
            let things = targets::doctor_targets(&loaded, &|area| only.contains(&area));
            probe_runner::run_probes(things, brief).await
        });
        // The reader of the pipe never returns.
        runtime.shutdown_background();
        let checks = |area: DoctorArea| -> Vec<&str> {
            let of_area = looked.iter().filter(|one| one.area == area);
            let found = of_area.flat_map(|one| &one.report.failed_checks);
            found.map(|one| one.check).collect()
        };
        assert_eq!(checks(DoctorArea::Store), ["store.silent"]);
        assert_eq!(checks(DoctorArea::Sources), ["source.silent"]);
        assert!(checks(DoctorArea::Models).contains(&"model.silent"));
        assert_eq!(checks(DoctorArea::Destinations), ["destination.silent"]);
        assert!(checks(DoctorArea::Configuration).contains(&"configuration.no_route"));
    }
}
