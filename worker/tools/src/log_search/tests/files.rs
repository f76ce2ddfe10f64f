//! Tests the files that a log may have: compressed, rotated, in envelopes, and without records.

use std::io::Write;
use std::path::Path;

use super::*;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn trail(path: &Path) -> LogSearch {
    LogSearch::new(LogSearchConfig {
        path: ContentSource::Path(path.to_owned()),
        ..(*tool(LogFormat::Cloudtrail, "").config).clone()
    })
}

fn quiet() -> Value {
    call("2026-03-02T02:10:00Z", "ListBuckets")
}

fn stop() -> Value {
    call("2026-03-02T02:12:00Z", "StopLogging")
}

async fn ask_about_stop(tool: &LogSearch) -> ToolOutput {
    ask(tool, json!({"ip": "203.0.113.42", "action": "StopLogging"})).await
}

#[tokio::test]
async fn a_trail_is_read_as_it_is_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let day = folder
        .path()
        .join("AWSLogs/444455556666/CloudTrail/eu-west-1/2026/03/02");
    std::fs::create_dir_all(&day).unwrap();
    for (name, record) in [("a.json.gz", quiet()), ("b.json.gz", stop())] {
        let file = json!({ "Records": [record] }).to_string();
        std::fs::write(day.join(name), gzip(&file)).unwrap();
    }
    let output = ask_about_stop(&trail(folder.path())).await;
    assert_eq!(output.rows, Some(1));
    assert_eq!(output.body["rows_scanned"], 2);
    assert!(!output.truncated);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_makes_an_answer_partial() {
    let cut = gzip(&lines(&[stop()]).repeat(100));
    let cut = cut.get(..cut.len() - 20).unwrap();
    for (name, bytes, why) in [
        ("b.json.gz", cut, "b.json.gz: incomplete"),
        ("b.parquet", b"PAR1".as_slice(), "b.parquet"),
        ("b.lz4", b"\x04\x22\x4d\x18", "b.lz4"),
        ("b.tgz", b"\x1f\x8b", "b.tgz"),
        ("b.zip", b"PK\x03\x04", "b.zip: "),
        ("b", b"PAR1", "a table of Parquet"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), lines(&[quiet()])).unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let output = ask(
            &trail(folder.path()),
            json!({"ip": "203.0.113.42", "action": "List*"}),
        )
        .await;
        assert!(output.truncated, "{name}");
        let problems = output.body["searched"]["problems"].to_string();
        assert!(problems.contains(why), "{name}: {problems}");
        assert_eq!(output.rows, Some(1), "{name}");
    }
}

#[tokio::test]
async fn a_small_file_that_unpacks_to_much_is_read_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let record = lines(&[quiet()]);
    std::fs::write(
        folder.path().join("a.json.gz"),
        gzip(&record.repeat(10_000)),
    )
    .unwrap();
    let tool = LogSearch::new(LogSearchConfig {
        max_scan_bytes: record.len() as u64 * 100 + 7,
        ..(*trail(folder.path()).config).clone()
    });
    let output = ask(&tool, json!({"ip": "203.0.113.42"})).await;
    assert_eq!(output.body["rows_scanned"], 100);
    assert!(output.truncated);
    let note = output.body["note"].as_str().unwrap();
    assert!(note.contains("scan stopped after"), "{note}");
}

#[tokio::test]
async fn records_are_read_in_the_wrapping_of_a_carrier() {
    use base64::Engine;
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let (quiet, stop) = (quiet(), stop());
    let logs = |record: &Value| json!({"messageType": "DATA_MESSAGE", "logEvents": [{"message": record.to_string()}]});
    for (name, log) in [
        (
            "EventBridge",
            lines(&[json!({"detail": quiet}), json!({"detail": stop})]),
        ),
        (
            "CloudWatch",
            json!({"logEvents": [{"message": quiet.to_string()}, {"message": stop.to_string()}]})
                .to_string(),
        ),
        (
            "Firehose, without new lines",
            format!("{}{}", logs(&quiet), logs(&stop)),
        ),
        (
            "Kinesis",
            json!({"Records": [
                {"kinesis": {"data": base64(quiet.to_string().as_bytes())}},
                {"kinesis": {"data": base64(&gzip(&logs(&stop).to_string()))}},
            ]})
            .to_string(),
        ),
        ("records", json!({"records": [quiet, stop]}).to_string()),
        (
            "hits",
            json!({"hits": {"hits": [{"_source": quiet}, {"_source": stop}]}}).to_string(),
        ),
    ] {
        let output = ask_about_stop(&tool(LogFormat::Cloudtrail, log)).await;
        assert_eq!(output.rows, Some(1), "{name}");
        assert_eq!(output.body["rows_scanned"], 2, "{name}");
        assert!(!output.truncated, "{name}: {}", output.body);
    }
}

#[tokio::test]
async fn a_wrapping_that_is_not_known_makes_an_answer_partial() {
    let mut nameless = stop();
    nameless.as_object_mut().unwrap().remove("eventName");
    for (name, other) in [
        ("another wrapping", json!({"payload": stop()})),
        ("in a text", json!({"raw": stop().to_string()})),
        ("a record without a name", nameless),
        ("cut", json!({"message": "{\"eventVersion\": \"1.0"})),
        ("packed otherwise", json!({"kinesis": {"data": "c25hcHB5"}})),
        (
            "one of two",
            json!({"events": [{"message": quiet().to_string()}, {"message": "{\"eventName\": "}]}),
        ),
    ] {
        let log = lines(&[quiet(), other]);
        let output = ask_about_stop(&tool(LogFormat::Cloudtrail, log)).await;
        assert!(output.truncated, "{name}: {}", output.body);
    }
}

#[tokio::test]
async fn a_record_of_next_year_makes_no_log_whole() {
    let log = lines(&[
        call("2026-03-02T01:00:00Z", "ListBuckets"),
        call("2027-03-02T01:00:00Z", "ListBuckets"),
    ]);
    let output = ask(
        &tool(LogFormat::Cloudtrail, log),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    let searched = &output.body["searched"];
    assert_eq!(searched["records_until"], "2026-03-02T01:00:00Z");
    assert_eq!(searched["of_later"], 1);
}
