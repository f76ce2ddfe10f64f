//! Tests the refusals of each provider, with status and message. The requests are valid ones with one fault each.

mod anthropic;
mod bedrock;
mod gemini;
mod openai;
mod turns;

use nightshift_tests::model::{Answer, FakeModel, Provider, Script};

use super::raw::{RawRequest, valid_request};

/// A spoilt request, the status, and the expected part of the message.
type RefusalRow = (RawRequest, u16, &'static str);

async fn fake() -> FakeModel {
    let script = Script::from_fn(|_| Answer::text("ok"));
    FakeModel::start(script).await.unwrap()
}

/// Checks that every row is refused in the error format of its provider, and recorded.
async fn refused(rows: Vec<RefusalRow>) {
    let fake = fake().await;
    let count = rows.len();
    for (request, status, words) in rows {
        let back = request.send(&fake).await;
        let body = back.json();
        let message = match request.provider {
            Provider::Bedrock => &body["message"],
            _ => &body["error"]["message"],
        };
        let message = message.as_str().unwrap_or_else(|| panic!("{body}"));
        assert!(message.contains(words), "wanted {words}, got {message}");
        assert_eq!(back.status, status, "{message}");
        match request.provider {
            Provider::OpenAi => assert!(body["error"]["type"].is_string()),
            Provider::Anthropic => {
                assert_eq!(body["type"], "error");
                assert!(back.header("request-id").is_some());
            }
            Provider::Gemini | Provider::Vertex => {
                assert_eq!(body["error"]["code"], status);
                assert!(body["error"]["status"].is_string());
            }
            Provider::Bedrock => assert!(back.header("x-amzn-errortype").is_some()),
            Provider::Azure => {}
        }
    }
    assert_eq!(fake.refusals().len(), count, "every refusal is recorded");
    assert!(fake.requests().is_empty());
}

/// Checks that every row is accepted.
async fn taken(rows: Vec<RawRequest>) {
    let fake = fake().await;
    for request in rows {
        let back = request.send(&fake).await;
        assert_eq!(back.status, 200, "{}: {}", request.body, back.text);
    }
    assert_eq!(fake.refusals(), []);
}

#[tokio::test]
async fn good_requests_are_taken() {
    taken(Provider::ALL.map(valid_request).to_vec()).await;
}

#[tokio::test]
async fn unknown_paths_and_broken_bodies_are_refused() {
    let fake = fake().await;
    let back = valid_request(Provider::OpenAi)
        .path("/v1/responses")
        .send(&fake)
        .await;
    assert_eq!(back.status, 404);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/messages", fake.base_url(Provider::OpenAi));
    let back = client.post(url).body("{\"model\"").send().await.unwrap();
    assert_eq!(back.status(), 400);
    assert_eq!(fake.refusals().len(), 2);
}
