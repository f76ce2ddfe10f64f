use nightshift_analyst::chat::{Part, Role};

use super::*;
use crate::testing::{NOW, Scripted, answer, failed, request, secs, urgent};

fn says(text: &str) -> ChatAnswer {
    ChatAnswer {
        parts: vec![Part::text(text)],
        ..answer()
    }
}

fn other_question() -> ChatRequest {
    let mut other = request(secs(60));
    other.messages.push(ChatMessage {
        role: Role::Assistant,
        parts: vec![Part::text("And?")],
    });
    other
}

#[tokio::test(start_paused = true)]
async fn a_recorded_conversation_can_be_had_again_without_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = Scripted::new(|number, _| match number {
        1 => (NOW, Err(failed(Failure::Overloaded { after: None }))),
        _ => (NOW, Ok(says(&format!("answer {number}")))),
    });
    let recorder = Recorder::new(model.clone(), folder.path()).unwrap();
    let mut recorded = Vec::new();
    for _ in 0..3 {
        recorded.extend(recorder.chat(&request(secs(60))).await);
    }
    recorded.extend(recorder.chat(&other_question()).await);
    assert_eq!(recorded.len(), 3);

    let player = Player::new(model.traits().clone(), folder.path()).unwrap();
    let text = async |request: &ChatRequest| player.chat(request).await.unwrap();
    assert_eq!(text(&other_question()).await, recorded[2]);
    // Neither the deadline nor the urgency makes another request.
    assert_eq!(text(&request(secs(5))).await, recorded[0]);
    assert_eq!(text(&urgent(secs(50))).await, recorded[1]);
    assert_eq!(text(&request(secs(60))).await, recorded[1]);
    assert_eq!(model.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_recorded_fails_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let model = Scripted::new(|_, _| (NOW, Ok(answer())));
    let recorder = Recorder::new(model.clone(), folder.path()).unwrap();
    recorder.chat(&request(secs(60))).await.unwrap();
    let player = Player::new(model.traits().clone(), folder.path()).unwrap();
    let error = player.chat(&other_question()).await.unwrap_err();
    assert_eq!((error.failure, error.requests), (Failure::BadRequest, 0));
    let text = error
        .to_string()
        .replace(&folder.path().display().to_string(), "FOLDER")
        .replace(&hash(&other_question()).unwrap(), "HASH");
    insta::assert_snapshot!(text, @"openai/main: bad request: no answer to this `plan` request (HASH) is recorded in FOLDER/openai_main.jsonl: its prompt has changed since, so record it again");
}

#[test]
fn a_record_that_is_not_there_or_is_broken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let traits = Scripted::new(|_, _| (NOW, Ok(answer()))).traits().clone();
    let error = |name: &str| {
        Player::new(traits.clone(), folder.path())
            .err()
            .unwrap()
            .to_string()
            .replace(&folder.path().display().to_string(), name)
    };
    assert_eq!(
        error("FOLDER"),
        "cassette FOLDER/openai_main.jsonl: cannot be read or written"
    );
    fs::write(folder.path().join("openai_main.jsonl"), "{}\n").unwrap();
    assert_eq!(
        error("FOLDER"),
        "cassette FOLDER/openai_main.jsonl: line 1 is no recorded answer: remove it, or record again"
    );
}

#[test]
fn a_change_of_anything_that_the_model_sees_is_another_request() {
    let first = request(secs(1));
    let mut hashes = vec![hash(&first).unwrap()];
    let changes: [fn(&mut ChatRequest); 5] = [
        |request| request.asked = Asked::Turn,
        |request| request.system = "x".into(),
        |request| request.may_call = true,
        |request| request.max_output_tokens += 1,
        |request| request.messages.clear(),
    ];
    for change in changes {
        let mut other = first.clone();
        change(&mut other);
        hashes.push(hash(&other).unwrap());
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
}
