use nightshift_alert::{Indicator, IndicatorRole};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn tool(lists: &[(&str, &str, &'static str, &'static str)]) -> Watchlist {
    Watchlist::new(WatchlistConfig {
        name: "watch".to_owned(),
        lists: lists
            .iter()
            .map(|(name, meaning, file, text)| WatchlistFile {
                name: (*name).to_owned(),
                path: ContentSource::embedded(file, text),
                meaning: (*meaning).to_owned(),
            })
            .collect(),
        mining_pools: true,
    })
}

async fn ask(tool: &Watchlist, indicator: &str) -> Value {
    testing::call(tool, json!({ "indicator": indicator }))
        .await
        .unwrap()
        .body
}

#[tokio::test]
async fn a_pool_is_found_by_its_suffix_and_a_look_alike_is_not() {
    let tool = tool(&[]);
    let body = ask(&tool, "pool.minexmr.com").await;
    assert_eq!(body["listed"], true);
    assert_eq!(body["matches"][0]["list"], "mining-pools");
    assert_eq!(body["matches"][0]["meaning"], "mining_pool");
    assert_eq!(body["matches"][0]["entry"], "minexmr.com");
    let url = ask(&tool, "http://eu.minexmr.com:4444/login").await;
    assert_eq!(url["matches"][0]["entry"], "minexmr.com");
    for miss in ["notminexmr.com", "minexmr.com.example.org"] {
        assert_eq!(ask(&tool, miss).await["listed"], false, "{miss}");
    }
    assert_eq!(tool.reports()[0].problems, []);
}

#[tokio::test]
async fn a_miss_says_what_was_searched() {
    let own = [("own", "own", "own.txt", "198.51.100.0/24\n")];
    let output = testing::call(&tool(&own), json!({"indicator": "203.0.113.42"}))
        .await
        .unwrap();
    assert_eq!(output.rows, Some(0));
    assert_eq!(output.body["listed"], false);
    assert_eq!(output.body["matches"], json!([]));
    assert_eq!(
        output.body["lists_searched"],
        json!(["mining-pools", "own"])
    );
    assert!(output.body["entries_searched"].as_u64().unwrap() > 10);
    assert_eq!(output.exonerations, []);
}

#[tokio::test]
async fn lists_of_threats_are_those_that_somebody_keeps() {
    let own = ("own", "own", "own.txt", "198.51.100.0/24\n");
    let bad = ("bad", "malicious", "bad.txt", "192.0.2.1\n");
    let none: [&str; 0] = [];
    for (lists, names) in [
        (vec![], none.as_slice()),
        (vec![own], &none),
        (vec![own, bad], &["bad"]),
    ] {
        let body = ask(&tool(&lists), "203.0.113.42").await;
        assert_eq!(body["threat_lists_searched"], json!(names));
    }
}

#[tokio::test]
async fn text_and_csv_lists_match_each_type() {
    let text =
        "# ours\n198.51.100.0/24 # office\n198.51.100.7\n2001:db8::/32\nAKIAEXAMPLEKEY0000002\n";
    let csv = "indicator,note,meaning\nmaria@example.com,leaver,\nregistry.example/miner,\"seen, often\",malicious\nD41D8CD98F00B204E9800998ECF8427E,,\n";
    let tool = tool(&[
        ("own", "own", "own.txt", text),
        ("seen", "seen", "seen.csv", csv),
    ]);
    let ip = ask(&tool, "198.51.100.7").await;
    assert_eq!(
        ip["matches"][0]["entry"], "198.51.100.7",
        "the closest first"
    );
    assert_eq!(ip["matches"][1]["note"], "office");
    assert_eq!(ask(&tool, "2001:db8::7").await["found"], 1);
    assert_eq!(
        ask(&tool, "maria@example.com").await["matches"][0]["note"],
        "leaver"
    );
    let image = ask(&tool, "registry.example/miner:latest").await;
    assert_eq!(image["matches"][0]["meaning"], "malicious");
    let hash = ask(&tool, "d41d8cd98f00b204e9800998ecf8427e").await;
    assert_eq!(hash["listed"], true);
    assert_eq!(ask(&tool, "AKIAEXAMPLEKEY0000002").await["listed"], true);
}

#[test]
fn bad_entries_are_told_with_their_line() {
    let tool = tool(&[
        (
            "a",
            "own",
            "a.txt",
            "0.0.0.0/0\nfine.example\ntwo words\n*\n",
        ),
        ("b", "own", "b.csv", "name,note\nx,y\n"),
    ]);
    let reports = tool.reports();
    let lines: Vec<_> = reports[1].problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [Some(1), Some(3), Some(4)]);
    assert_eq!(reports[1].records, 1);
    assert_eq!(reports[1].name, "watch/a");
    assert!(reports[2].problems[0].what.contains("none of the columns"));
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_no_miss() {
    for (file, text) in [
        ("b.csv", "name,note\nx,y\n"),
        ("b.csv", "indicator,note\n,y\n"),
        ("b.txt", "203.0.113.0/24 SBL1\n198.51.100.0/24 SBL2\n"),
    ] {
        let tool = tool(&[("b", "own", file, text)]);
        let error = testing::call(&tool, json!({"indicator": "203.0.113.42"}))
            .await
            .unwrap_err();
        assert!(matches!(error, ToolError::Unavailable { .. }), "{error}");
        assert_eq!(tool.reports()[1].records, 0);
    }
    let tool = tool(&[("b", "own", "b.txt", "203.0.113.0/24 SBL1\n192.0.2.1\n")]);
    let body = ask(&tool, "203.0.113.42").await;
    assert_eq!(body["listed"], false);
    assert_eq!(body["entries_left_out"], 1);
}

#[tokio::test]
async fn multipart_entry_is_found_by_its_searchable_parts() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for (entry, found, missed) in [
        ("203.0.113.42:443", "203.0.113.42", "203.0.113.4"),
        ("203.0.113[.]42:443", "203.0.113.42", "203.0.113.4"),
        ("[2001:db8::7]:443", "2001:db8::7", "2001:db8::8"),
        (
            "Pool.evil.example:4444",
            "eu.pool.evil.example",
            "evil.example",
        ),
        (
            "203.0.113.0-203.0.113.130",
            "203.0.113.130",
            "203.0.113.131",
        ),
        ("2001:db8::1-2001:db8::9", "2001:db8::9", "2001:db8::a"),
        ("203.0.113.42|443", "203.0.113.42", "203.0.113.4"),
        (
            "evil.example|8443",
            "http://evil.example/x",
            "other.example",
        ),
        ("evil.example|203.0.113.42", "evil.example", "203.0.113.4"),
        ("evil.example|203.0.113.42", "203.0.113.42", "other.example"),
        (&format!("x.exe|{hash}"), hash, "x.exe"),
        (
            "evil.example/miner:4",
            "evil.example/miner:4",
            "evil.example",
        ),
        ("evil.miner:4", "evil.miner:4", "evil.miners:4"),
        (
            "auth0|5f7c8ec7c33c6c004bbafe82",
            "auth0|5f7c8ec7c33c6c004bbafe82",
            "auth0",
        ),
        ("CN=maria,DC=corp", "CN=maria,DC=corp", "maria"),
        (
            "http://evil.example/a,b;c|d",
            "http://evil.example/a,b;c|d",
            "other.example",
        ),
    ] {
        let text: &'static str = format!("{entry} # why\n").leak();
        let tool = tool(&[("bad", "malicious", "bad.txt", text)]);
        assert_eq!(tool.reports()[1].problems, [], "{entry}");
        let body = ask(&tool, found).await;
        assert_eq!(body["listed"], true, "{entry} {found}");
        assert_eq!(body["matches"][0]["entry"], entry);
        assert_eq!(body["matches"][0]["note"], "why");
        assert_eq!(
            ask(&tool, missed).await["listed"],
            false,
            "{entry} {missed}"
        );
    }
}

#[tokio::test]
async fn unsearchable_entry_is_skipped_and_a_miss_is_incomplete() {
    let text = "198.51.100.7\nindicator,type,date\n203.0.113.42,C2,2026-03-01\n203.0.113.42;C2\n\
                \"203.0.113.42\",\"C2\"\nevil.example|203.0.113.42|443\n203.0.113.0/33\n\
                203.0.113.0/255.255.255.0\n203.0.113.255-203.0.113.0\n203.0.113.0-255\n\
                0.0.0.0-255.255.255.255\n";
    let tool = tool(&[("bad", "malicious", "bad.txt", text)]);
    let report = &tool.reports()[1];
    let lines: Vec<_> = report.problems.iter().filter_map(|p| p.line).collect();
    assert_eq!(lines, (2..=11).collect::<Vec<_>>());
    assert_eq!(report.records, 1);
    let arguments = json!({ "indicator": "203.0.113.42" });
    let output = testing::call(&tool, arguments).await.unwrap();
    assert!(output.truncated);
    assert_eq!(output.body["listed"], false);
    assert_eq!(output.body["entries_left_out"], 10);
    assert_eq!(
        output.body["note"],
        "unreadable in the lists: 10, which may name it"
    );
}

#[tokio::test]
async fn lists_are_read_as_those_who_publish_them_write_them() {
    let hosts = "127.0.0.1 localhost localhost.localdomain\n0.0.0.0 evil.example.com ads.example # two\n\
                 ::1 ip6-localhost\n0.0.0.0 0.0.0.0\n";
    let drop = "; Spamhaus DROP List\n203.0.113.0/24 ; SBL1\n198.51.100.9\t# with a tab\n\
                hxxp://evil[.]example/x\n192.0.2[.]7\nhttps://example.org/#here\n";
    let tool = tool(&[
        ("hosts", "bad", "hosts.txt", hosts),
        ("drop", "bad", "drop.txt", drop),
    ]);
    for (value, note) in [
        ("evil.example.com", json!("two")),
        ("ads.example", json!("two")),
        ("203.0.113.42", json!("SBL1")),
        ("198.51.100.9", json!("with a tab")),
        ("http://evil.example/x", Value::Null),
        ("192.0.2.7", Value::Null),
        ("https://example.org/#here", Value::Null),
    ] {
        let body = ask(&tool, value).await;
        assert_eq!(body["listed"], true, "{value}");
        assert_eq!(body["matches"][0]["note"], note, "{value}");
    }
    for miss in ["127.0.0.1", "0.0.0.0", "localhost.localdomain"] {
        assert_eq!(ask(&tool, miss).await["listed"], false, "{miss}");
    }
    for report in tool.reports() {
        assert_eq!(report.problems, [], "{}", report.name);
    }
}

#[tokio::test]
async fn a_url_with_random_parts_is_found_and_its_neighbour_is_not() {
    let list = "http://198.51.100.7/aB3dE5fG7hI9jK1lM3nO5pQ7\n\
                hxxp://EVIL[.]example:80/get?id=q7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0Jp\n\
                https://api.telegram.org/bot5260181590:AAq7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0JpXy/sendMessage\n\
                http://evil.example/payload/install.sh\n";
    let tool = tool(&[("bad", "malicious", "bad.txt", list)]);
    for url in [
        "http://198.51.100.7/aB3dE5fG7hI9jK1lM3nO5pQ7",
        "http://evil.example/get?id=q7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0Jp",
        "https://api.telegram.org/bot5260181590:AAq7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0JpXy/sendMessage",
        "http://evil.example/payload/install.sh",
    ] {
        let body = ask(&tool, url).await;
        assert_eq!(body["listed"], true, "{url}");
        let shown = Indicator::parse(IndicatorKind::Url, url, IndicatorRole::Related).unwrap();
        let again = ask(&tool, &shown.value).await;
        assert_eq!(again["listed"], true, "{url} as its case has it");
    }
    for url in [
        "http://198.51.100.7/zY9xW7vU5tS3rQ1pO8nM6lK4",
        "http://evil.example/get?id=J0sG5fH1cN6dY3wR8bT4mL9xV2kZ7qp",
        "https://api.telegram.org/bot5260181590:AAJ0sG5fH1cN6dY3wR8bT4mL9xV2kZ7qpXy/sendMessage",
    ] {
        assert_eq!(ask(&tool, url).await["listed"], false, "{url}");
    }
}

proptest! {
    #[test]
    fn any_list_is_read(text in "(.{0,20}\n){0,6}", csv: bool, value in ".{0,20}") {
        let name = if csv { "x.csv" } else { "x.txt" };
        let content = ContentSource::Text { name: name.into(), text: text.clone().into() };
        if let Ok(entries) = entries::parse(&content, &text) {
            for kind in SUPPORTED_KINDS {
                entries.find(&Subject::new(kind, value.as_str()));
            }
        }
    }

    #[test]
    fn an_address_is_listed_exactly_when_its_network_is(ip: u32, other: u32, prefix in 1_u8..=32) {
        let (ip, other) = (std::net::Ipv4Addr::from(ip), std::net::Ipv4Addr::from(other));
        let text = format!("{ip}/{prefix}\n");
        let content = ContentSource::Text { name: "x.txt".into(), text: text.clone().into() };
        let entries = entries::parse(&content, &text).unwrap();
        let net: ipnet::IpNet = format!("{ip}/{prefix}").parse().unwrap();
        let subject = Subject::new(IndicatorKind::Ip, other.to_string());
        prop_assert_eq!(!entries.find(&subject).is_empty(), net.contains(&std::net::IpAddr::from(other)));
    }
}
