//! Tests large messages in a bucket, against moto's S3.

use nightshift_tests::Sandbox;
use reqwest::Client;

use super::fixture::{cases, place, read_again_knowing_vendor};
use crate::doctor::{service, settings_of_aws};

const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=test/20261122/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Creates a bucket for one test.
pub(crate) async fn bucket() -> String {
    let name = format!("blobs-{}", uuid::Uuid::new_v4().simple());
    let made = Client::new()
        .put(format!("{}/{name}", service("SQS")))
        .header("authorization", SIGNED)
        .body(
            "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>",
        )
        .send()
        .await
        .unwrap();
    assert!(made.status().is_success(), "{}", made.text().await.unwrap());
    name
}

pub(crate) fn blobs(bucket: &str) -> String {
    format!(
        "[blobs]\nurl = \"s3://{bucket}/night/shift\"\nmin_bytes = 1000\nendpoint_url = \"{}\"\n",
        service("SQS")
    )
}

/// Returns keys and sizes of the bucket's objects.
async fn objects(bucket: &str) -> Vec<(String, String)> {
    let listed = Client::new()
        .get(format!("{}/{bucket}?list-type=2", service("SQS")))
        .header("authorization", SIGNED);
    let listed = listed.send().await.unwrap().text().await.unwrap();
    let between = |text: &str, tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>")).unwrap();
        rest.split_once("</").unwrap().0.to_owned()
    };
    let contents = listed.split("<Contents>").skip(1);
    contents
        .map(|one| (between(one, "Key"), between(one, "Size")))
        .collect()
}

fn large_message(place: &Sandbox) -> usize {
    let message = format!(
        r#"{{"vendor": {{"id": "e-1", "rule": "Execution:Host/Miner", "title": "A miner", "level": "high", "log": "{}"}}}}"#,
        "a line of a log\\n".repeat(4000)
    );
    place.write_file("spool/tmp/m.json", &message).unwrap();
    let spool = |folder: &str| place.path().join("spool").join(folder);
    std::fs::create_dir_all(spool("new")).unwrap();
    std::fs::rename(spool("tmp/m.json"), spool("new/m.json")).unwrap();
    message.len()
}

#[cfg_attr(not(has_services), ignore = "needs moto: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_message_lies_in_a_bucket_until_it_is_purged() {
    let bucket = bucket().await;
    let mut place = place(&blobs(&bucket));
    for (name, value) in settings_of_aws() {
        place.set_env(name, value);
    }
    let size = large_message(&place);
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let kept = objects(&bucket).await;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].0.starts_with("night/shift/raw/"), "{kept:?}");
    assert_eq!(kept[0].1, size.to_string());

    // The message is read again from the bucket.
    read_again_knowing_vendor(&place);
    assert_eq!(objects(&bucket).await.len(), 2, "it came once more");
    for case in cases(&place) {
        if case["status"] == "queued" {
            let id = case["id"].as_str().unwrap();
            let over = place.run(&["cases", "cancel", id, "--by", "ana"]).unwrap();
            assert_eq!(over.code, Some(0), "{over:?}");
        }
    }

    let purged = place
        .run(&["cases", "purge", "--before", "2100-01-01", "--yes"])
        .unwrap();
    assert_eq!(purged.code, Some(0), "{purged:?}");
    assert_eq!(objects(&bucket).await, []);
}
