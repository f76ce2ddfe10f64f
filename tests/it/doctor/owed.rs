//! Tests the finding about deliveries that are pending for a destination that was removed from the configuration.

use nightshift_tests::Sandbox;

use super::store::PostgresServer;
use super::{failed_checks, run_doctor};
use crate::cli::removed_destination::{config, owing};

/// Renames a destination on this store, checks the finding, and gives the pending deliveries up.
fn renamed(place: &Sandbox, store: &str) {
    owing(place, store);
    let soc = format!("{store}{}", config("soc", "reports", ""));
    assert_eq!(failed_checks(place, &soc, "store"), Vec::<String>::new());
    let archive = format!("{store}{}", config("archive", "reports", ""));
    let said = run_doctor(place, &archive, "store");
    assert_eq!(
        (said.failed_checks(), said.code),
        (vec!["destination.gone"], Some(0))
    );
    let only = said.only_finding();
    let what = only["what"].as_str().unwrap();
    let told = "no [[destination]] is called \"soc\", and reports are owed to it: 1, since 20";
    assert!(what.starts_with(told), "{what}");
    let mend = only["mend"].as_str().unwrap();
    let command = mend.split('`').nth(1).unwrap();
    assert_eq!(command, "nightshift destinations drop soc");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let ran = place.run(&arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        failed_checks(place, &archive, "store"),
        Vec::<String>::new()
    );
}

#[test]
fn what_is_owed_to_a_name_that_is_gone_is_found_in_a_file() {
    renamed(&Sandbox::new().unwrap(), "");
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_to_a_name_that_is_gone_is_found_on_a_server() {
    let server = PostgresServer::start().await;
    let place = Sandbox::new().unwrap();
    place.write_file("pw", "hush\n").unwrap();
    renamed(&place, &server.config());
}
