//! Tests renewals while a row is locked, and while a connection gets no answers.

use nightshift_pipeline::case::Lease;

use super::*;

/// Returns the seconds until each lease expires, in the order of the leases.
async fn left(database: &TestDatabase, leases: &[Lease]) -> Vec<f64> {
    let sql = "SELECT id, extract(epoch FROM lease_until - clock_timestamp()) FROM cases";
    let rows = database.texts(sql).await;
    let of = |lease: &Lease| {
        let row = rows.iter().find(|row| row[0] == lease.case_id.0);
        row.unwrap()[1].parse().unwrap()
    };
    leases.iter().map(of).collect()
}

#[tokio::test]
async fn f17_a_locked_row_ends_no_lease_but_its_own() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let store = store(&database).await;
    for number in 0..3 {
        accept(&store, numbered(number)).await;
    }
    let claimed = store.claim(Lane::Any, 3).await.unwrap();
    let leases: Vec<Lease> = claimed.into_iter().map(|one| one.lease).collect();
    let client = database.client().await;
    let pass = "UPDATE cases SET lease_until = lease_until - interval '20 seconds'";
    client.batch_execute(pass).await.unwrap();
    let locked = format!(
        "BEGIN; SELECT FROM cases WHERE id = '{}' FOR UPDATE",
        leases[1].case_id
    );
    client.batch_execute(&locked).await.unwrap();
    assert_eq!(store.renew(&leases).await.unwrap(), [], "none is lost");
    let until = left(&database, &leases).await;
    assert!(until[0] > 20.0 && until[2] > 20.0, "{until:?}");
    assert!(until[1] < 11.0, "{until:?}");
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(store.renew(&leases).await.unwrap(), []);
    let until = left(&database, &leases).await;
    assert!(until.iter().all(|secs| *secs > 20.0), "{until:?}");
}

#[tokio::test]
async fn f11_a_connection_on_which_nothing_is_heard_ends_no_lease() {
    let Some(database) = TestDatabase::new().await else {
        return;
    };
    let proxy = Proxy::before(database.url()).await;
    let mut brief = options();
    brief.lease = Duration::from_secs(9);
    let store = SqlStore::open_postgres(&proxy.url, brief).await.unwrap();
    accept(&store, numbered(0)).await;
    let lease = store.claim(Lane::Any, 1).await.unwrap().remove(0).lease;
    proxy.hush();
    assert_eq!(store.renew(&[lease]).await.unwrap(), []);
    let held =
        "SELECT count(*) FROM cases WHERE status = 'running' AND lease_until > clock_timestamp()";
    assert_eq!(number(&database, held).await, 1);
}
