use std::sync::Arc;

use serde_json::Value;
use tracing::Level;

use super::*;

/// A buffer in place of standard error.
#[derive(Clone, Default)]
struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the lines that this work writes.
fn lines(format: LogFormat, level: &str, work: impl FnOnce()) -> Vec<String> {
    let written = CapturedOutput::default();
    let lines = LineLayer {
        is_json: Arc::new(AtomicBool::new(format == LogFormat::Json)),
        is_coloured: false,
        out: Mutex::new(written.clone()),
    };
    let filter = filter(level, false, false).ok().unwrap();
    tracing::subscriber::with_default(
        tracing_subscriber::registry().with(filter).with(lines),
        work,
    );
    let bytes = written.0.lock().clone();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn json(work: impl FnOnce()) -> Vec<Value> {
    let lines = lines(LogFormat::Json, "info", work);
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn case() -> tracing::Span {
    tracing::error_span!(
        "case",
        case.id = "k3f9-x2mq-7d1w",
        trace.id = "4bf92f3577b34da6a3ce929d0e0e4736"
    )
}

#[test]
fn lines_within_a_case_carry_case_and_trace_id() {
    let said = json(|| {
        case().in_scope(|| {
            tracing::info!(model.name = "main", "asked");
            let inner = tracing::error_span!("delivery", destination.name = "soc");
            inner.in_scope(|| tracing::event!(target: "nightshift_llm::http", Level::WARN, "slow"));
        });
        tracing::info!("outside");
    });
    for line in said.iter().take(2) {
        assert_eq!(line["case.id"], "k3f9-x2mq-7d1w");
        assert_eq!(line["trace.id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    }
    assert_eq!(said[0]["model.name"], "main");
    assert_eq!(said[1]["destination.name"], "soc");
    assert_eq!(said[1]["target"], "nightshift_llm::http");
    assert_eq!(said[2].get("case.id"), None);
    assert_eq!(said[2]["message"], "outside");
}

#[test]
fn the_case_is_named_whatever_the_level() {
    let said = lines(LogFormat::Json, "warn,nightshift_cli=error", || {
        case().in_scope(|| tracing::error!("broken"));
        case().in_scope(|| tracing::warn!("not written"));
    });
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("\"case.id\":\"k3f9-x2mq-7d1w\""),
        "{said:?}"
    );
}

#[test]
fn a21_no_secret_that_an_error_quotes_stands_in_a_line() {
    let key = "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let secrets = [
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
        "postgres://nightshift:hunter2secret@db/x",
    ];
    for secret in secrets.iter().chain([&key]) {
        for format in [LogFormat::Json, LogFormat::Text] {
            let error = anyhow::anyhow!("sent {secret}").context("no answer");
            let error: &(dyn std::error::Error + 'static) = error.as_ref();
            let said = lines(format, "info", || {
                let span = tracing::error_span!("case", note = %secret);
                span.in_scope(|| {
                    tracing::warn!(error, why = ?secret, "a word: {secret}");
                });
            });
            let secret = secret.rsplit([' ', ':']).next().unwrap();
            let secret = secret.split('@').next().unwrap();
            assert!(!said.join("").contains(secret), "{said:?}");
            assert!(said.join("").contains("no answer: sent"), "{said:?}");
        }
    }
}

#[test]
fn a21_internal_error_is_logged_with_its_case_without_secret() {
    let secret = "hunter2secret";
    let said = lines(LogFormat::Json, "info", || {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(log_panic));
        let fails = || -> () { panic!("no char boundary in\npostgres://app:{secret}@db/x") };
        let ended = case().in_scope(|| std::panic::catch_unwind(fails));
        std::panic::set_hook(before);
        assert!(ended.is_err());
    });
    assert_eq!(said.len(), 1, "{said:?}");
    let line: serde_json::Value = serde_json::from_str(&said[0]).unwrap();
    assert_eq!(line["level"], "ERROR");
    assert_eq!(line["case.id"], "k3f9-x2mq-7d1w");
    let message = line["message"].as_str().unwrap();
    assert!(message.starts_with("internal error at "), "{message}");
    assert!(message.contains("logs/tests.rs:"), "{message}");
    assert!(!message.contains(secret), "{message}");
}

#[test]
fn a22_a_line_stays_one_line_whatever_its_fields_hold() {
    let hostile =
        "a\r\n{\"level\":\"ERROR\"}\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m b\u{202e}c\u{2028}d";
    for format in [LogFormat::Json, LogFormat::Text] {
        let said = lines(format, "info", || {
            let span = tracing::error_span!("case", title = hostile);
            span.in_scope(|| tracing::info!(why = %hostile, again = ?hostile, "{hostile}"));
        });
        assert_eq!(said.len(), 1, "{said:?}");
        let moves = |c: char| c.is_control() || "\u{202e}\u{2028}".contains(c);
        assert!(!said[0].contains(moves), "{said:?}");
    }
    let long = "x y ".repeat(100_000);
    let said = lines(LogFormat::Json, "info", || tracing::info!(long, "long"));
    assert!(said[0].len() < 3_000, "{}", said[0].len());
}

#[test]
fn for_people_a_line_is_time_level_message_and_fields() {
    let said = lines(LogFormat::Text, "info", || {
        case().in_scope(|| {
            tracing::info!(
                messages = 3,
                why = "two words",
                ok = true,
                "messages accepted"
            )
        });
    });
    let (time, rest) = said[0].split_once(' ').unwrap();
    assert!(time.ends_with('Z') && time.len() == 24, "{time}");
    insta::assert_snapshot!(rest, @r#" INFO messages accepted messages=3 why="two words" ok=true case.id=k3f9-x2mq-7d1w trace.id=4bf92f3577b34da6a3ce929d0e0e4736"#);
}

#[test]
fn what_is_nearest_counts_and_each_name_stands_once() {
    let said = lines(LogFormat::Json, "info", || {
        case().in_scope(|| tracing::info!(case.id = "other", "x"));
    });
    assert_eq!(said[0].matches("case.id").count(), 1);
    assert!(said[0].contains("\"case.id\":\"other\""), "{said:?}");
}

#[test]
fn trace_spans_cost_nothing_where_only_logs_are_written() {
    let said = lines(LogFormat::Text, "trace", || {
        assert!(!tracing::enabled!(target: traces::TARGET, Level::INFO));
        assert!(!tracing::enabled!(target: traces::CONTENT, Level::INFO));
        let span = tracing::info_span!(target: traces::TARGET, "chat", otel.kind = "client");
        assert!(span.is_disabled());
        span.in_scope(|| tracing::trace!("said"));
    });
    assert!(said[0].ends_with("TRACE said"), "{said:?}");
}

#[test]
fn a21_library_payloads_are_not_logged_unless_named() {
    let secret = "hunter2secret";
    let bytes = format!("{:?}", secret.as_bytes());
    let all = || {
        tracing::debug!(target: "tokio_postgres::query", "executing with parameters: [{bytes}]");
        tracing::trace!(target: "lapin::io_loop", ?bytes, "SASL PLAIN {secret}");
        tracing::trace!(target: "hyper::proto", "authorization: Bearer {secret}");
        tracing::info!(target: "hyper::proto", "a library");
        tracing::debug!(target: "nightshift_store::claim", "ours");
        tracing::trace!(target: "nightshift", "ours");
    };
    let ends = |level: &str| {
        let said = lines(LogFormat::Text, level, all);
        let word = |line: &String| line.split_whitespace().nth(1).map(str::to_owned);
        said.iter().filter_map(word).collect::<Vec<String>>()
    };
    let (info, debug, trace) = ("INFO", "DEBUG", "TRACE");
    assert_eq!(ends("info"), [info]);
    assert_eq!(ends("debug"), [info, debug]);
    assert_eq!(ends("warn, TRACE"), [info, debug, trace]);
    assert_eq!(ends("trace,nightshift=debug,hyper=warn"), [debug]);
    assert_eq!(ends("debug,tokio_postgres=debug").len(), 3, "it is named");
}

#[test]
fn missing_queue_is_not_logged_as_a_library_error() {
    let closed = || tracing::error!(target: "lapin::channel", "Channel closed");
    assert_eq!(lines(LogFormat::Text, "info", closed), Vec::<String>::new());
    assert_eq!(lines(LogFormat::Text, "info,lapin=error", closed).len(), 1);
}

#[test]
fn unknown_level_is_refused_and_does_not_silence_the_log() {
    let refused = |level: &str| match filter(level, false, false) {
        Err(exit) => exit.message(),
        Ok(filter) => format!("taken as {filter}"),
    };
    insta::assert_snapshot!(refused("warning"), @r#"[log] level = "warning": there is no level "warning"; did you mean "warn"?"#);
    insta::assert_snapshot!(refused("Infos, nightshift_cli=debug"), @r#"[log] level = "Infos, nightshift_cli=debug": there is no level "Infos"; did you mean "info"?"#);
    for level in ["verbose", "info,nightshift_pipeline", "5x"] {
        let said = refused(level);
        assert!(
            said.contains("known are off, error, warn, info, debug, trace"),
            "{said}"
        );
    }
    for level in [
        "INFO",
        "off",
        "warn,nightshift_pipeline=debug",
        "nightshift_pipeline=info",
        "info,[case]=debug",
    ] {
        assert!(filter(level, false, false).is_ok(), "{level}");
    }
}

#[test]
fn unconditional_lines_are_json_where_the_log_is_json() {
    let works = || {
        log_notice("nightshift works: intake from drop");
        log_warning("not everything could be given back in time");
        tracing::info!("a line of the log");
    };
    for level in ["off", "warn", "error,nightshift_pipeline=debug"] {
        assert_eq!(
            lines(LogFormat::Text, level, works),
            [
                "nightshift works: intake from drop",
                "not everything could be given back in time"
            ]
        );
        let said = lines(LogFormat::Json, level, works);
        let said: Vec<Value> = said
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[0]["level"], "INFO");
        assert_eq!(said[0]["message"], "nightshift works: intake from drop");
        assert_eq!(said[1]["level"], "WARN");
    }
}
