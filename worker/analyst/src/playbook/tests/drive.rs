//! Runs a case through the four questions, with tools that answer as the test says. The engine's rules are not here.

use std::sync::Arc;

use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::{
    Analyst, Argument, ArgumentKind, CallView, ConcludeQuestion, ConclusionDraft, Evidence,
    EvidenceId, Exoneration, Exonerator, Limits, PlanAnswer, PlanQuestion, PlanUpdate, Reach,
    ReflectQuestion, Reflection, Step, StepDraft, StepId, StepOutcome, StepStatus, StepView,
    ToolCall, ToolError, ToolSpec, TurnAnswer, TurnQuestion, check, clears,
};
use serde_json::{Value, json};

use crate::playbook::{PlaybookAnalyst, Playbooks};

/// What a tool answers: a body, or why there is none.
pub(super) type Answers = dyn Fn(&str, &Value) -> Result<Value, ToolError>;

/// A case that ran to its end.
pub(super) struct Ran {
    pub(super) plan: PlanAnswer,
    pub(super) steps: Vec<StepView>,
    pub(super) reflections: Vec<Reflection>,
    pub(super) exonerations: Vec<Exoneration>,
    pub(super) draft: ConclusionDraft,
}

impl Ran {
    pub(super) fn claims(&self) -> String {
        let lines: Vec<_> = self
            .draft
            .findings
            .iter()
            .map(|finding| {
                let ids: Vec<_> = finding
                    .quotes
                    .iter()
                    .map(|q| q.evidence.to_string())
                    .collect();
                format!("{:?} [{}] {}", finding.stance, ids.join(" "), finding.claim)
            })
            .collect();
        lines.join("\n")
    }

    pub(super) fn step(&self, name: &str) -> &StepView {
        self.steps
            .iter()
            .find(|view| view.step.name == name)
            .unwrap_or_else(|| panic!("no step {name}"))
    }

    pub(super) fn actions(&self) -> Vec<&str> {
        self.draft
            .actions
            .iter()
            .map(|one| one.id.as_str())
            .collect()
    }
}

fn argument(name: &str, kind: ArgumentKind, required: bool) -> Argument {
    Argument {
        name: name.to_owned(),
        description: String::new(),
        kind,
        required,
    }
}

/// A tool of this kind, as the tools crate declares it.
pub(super) fn spec(kind: &str) -> ToolSpec {
    use IndicatorKind as K;
    let of = |types: &[K]| ArgumentKind::Indicator {
        types: types.to_vec(),
    };
    let one = |types: &[K]| vec![argument("indicator", of(types), true)];
    let arguments = match kind {
        "indicator_facts" => one(&[K::Ip, K::Domain, K::Url, K::Email, K::Hash]),
        "watchlist" => one(&[
            K::Ip,
            K::Domain,
            K::Url,
            K::Hash,
            K::Email,
            K::Principal,
            K::AccessKey,
            K::Wallet,
            K::Image,
        ]),
        "asset_lookup" => one(&[
            K::Ip,
            K::Domain,
            K::Instance,
            K::Arn,
            K::Bucket,
            K::Cluster,
            K::Container,
            K::Function,
            K::Database,
        ]),
        "identity_lookup" => vec![argument(
            "principal",
            of(&[K::Principal, K::AccessKey, K::Email]),
            true,
        )],
        "change_lookup" => one(&IndicatorKind::ALL),
        "authorised_scanners" => one(&[K::Ip, K::Domain, K::Principal, K::AccessKey]),
        "past_cases" => Vec::new(),
        _ => vec![
            argument("ip", of(&[K::Ip]), false),
            argument("principal", of(&[K::Principal, K::Email]), false),
            argument("access_key", of(&[K::AccessKey]), false),
            argument("instance", of(&[K::Instance]), false),
            argument("resource", of(&[K::Arn, K::Bucket, K::Instance]), false),
            argument("action", ArgumentKind::Text { max_chars: 200 }, false),
            argument("since", ArgumentKind::Time, false),
            argument("until", ArgumentKind::Time, false),
            argument("limit", ArgumentKind::Number { min: 1, max: 200 }, false),
        ],
    };
    ToolSpec {
        name: kind.replace('.', "_"),
        kind: kind.to_owned(),
        description: String::new(),
        arguments,
        reach: Reach::Internal,
        trust: Vec::new(),
    }
}

pub(super) fn specs(kinds: &[&str]) -> Arc<[ToolSpec]> {
    kinds.iter().map(|kind| spec(kind)).collect()
}

/// The tools that are there without any configuration.
pub(super) const DEFAULT: [&str; 3] = ["indicator_facts", "watchlist", "past_cases"];

/// All built-in tools.
pub(super) const ALL: [&str; 11] = [
    "indicator_facts",
    "watchlist",
    "past_cases",
    "asset_lookup",
    "identity_lookup",
    "change_lookup",
    "authorised_scanners",
    "log_search.cloudtrail",
    "log_search.vpc_flow",
    "log_search.gcp_audit",
    "log_search.json_lines",
];

/// An answer without matches, in the shape of the tool.
pub(super) fn nothing(kind: &str, arguments: &Value) -> Value {
    let asked = &arguments["indicator"];
    let searched = json!({"register": "r.csv", "records": 3});
    match kind {
        "indicator_facts" => {
            json!({"indicator": asked, "type": "ip", "public": true, "class": "public"})
        }
        "watchlist" => {
            json!({"indicator": asked, "listed": false, "matches": [], "lists_searched": ["mining-pools"], "entries_searched": 60})
        }
        "asset_lookup" => {
            json!({"indicator": asked, "found": 0, "assets": [], "searched": searched})
        }
        "identity_lookup" => {
            json!({"principal": arguments["principal"], "found": 0, "identities": [], "searched": searched})
        }
        "change_lookup" => {
            json!({"indicator": asked, "found": 0, "changes": [], "searched": searched})
        }
        "authorised_scanners" => {
            json!({"indicator": asked, "found": 0, "scanners": [], "searched": searched})
        }
        _ => {
            json!({"source": kind, "rows_scanned": 100, "rows_matched": 0, "rows": [], "truncated": false, "note": "0 rows", "summary": {"actions": {}, "errors": 0}})
        }
    }
}

fn rows(body: &Value) -> Option<u64> {
    [
        "matches",
        "assets",
        "identities",
        "changes",
        "scanners",
        "rows",
    ]
    .iter()
    .find_map(|key| body.get(key).and_then(Value::as_array))
    .map(|list| list.len() as u64)
}

struct Case {
    alert: Arc<Alert>,
    tools: Arc<[ToolSpec]>,
    past: Arc<Evidence>,
    next: u32,
}

fn evidence(
    id: u32,
    kind: &str,
    call: &ToolCall,
    answer: Result<Value, ToolError>,
) -> Arc<Evidence> {
    let (body, error) = match answer {
        Ok(body) => (body, None),
        Err(error) => (Value::Null, Some(error)),
    };
    Arc::new(Evidence {
        id: EvidenceId(id),
        step: None,
        tool: call.tool.clone(),
        kind: kind.to_owned(),
        arguments: call.arguments.clone(),
        at: chrono::DateTime::UNIX_EPOCH,
        rows: rows(&body),
        body,
        truncated: false,
        error,
        flags: Vec::new(),
    })
}

impl Case {
    fn call(&mut self, call: &ToolCall, answers: &Answers) -> CallView {
        let spec = self.tools.iter().find(|spec| spec.name == call.tool);
        let kind = spec.map_or("", |spec| spec.kind.as_str());
        let answer = answers(kind, &Value::Object(call.arguments.clone()));
        self.next += 1;
        CallView {
            call: call.clone(),
            evidence: Some(evidence(self.next, kind, call, answer)),
            refused: None,
        }
    }

    fn view(number: usize, draft: StepDraft) -> StepView {
        StepView {
            step: Step {
                id: StepId::numbered(number),
                name: draft.id,
                description: draft.description,
                tools: draft.tools,
                expected: draft.expected,
                depends_on: Vec::new(),
                calls: draft.calls,
                key: draft.key,
                status: StepStatus::Running,
                outcome: None,
                summary: String::new(),
                wave: None,
                reason: None,
            },
            calls: Vec::new(),
        }
    }

    async fn step(
        &mut self,
        analyst: &PlaybookAnalyst,
        source: &str,
        steps: &[StepView],
        view: &mut StepView,
        answers: &Answers,
    ) {
        for call in view.step.calls.clone() {
            let made = self.call(&call, answers);
            view.calls.push(made);
        }
        for turn in 1..=Limits::default().turns {
            let question = TurnQuestion {
                alert: Arc::clone(&self.alert),
                past: Some(Arc::clone(&self.past)),
                objective: "".into(),
                source: source.into(),
                steps: steps.to_vec(),
                step: view.clone(),
                turn,
                limits: Limits::default(),
                tools: Arc::clone(&self.tools),
            };
            match analyst.turn(&question).await.unwrap().value {
                TurnAnswer::Calls { calls } => {
                    for call in calls {
                        let made = self.call(&call, answers);
                        view.calls.push(made);
                    }
                }
                TurnAnswer::Result {
                    outcome, summary, ..
                } => {
                    view.step.outcome = Some(outcome);
                    view.step.summary = summary;
                    view.step.status = match outcome {
                        StepOutcome::Failed => StepStatus::Failed,
                        _ => StepStatus::Done,
                    };
                    return;
                }
            }
        }
        panic!("step {} came to no result", view.step.name);
    }
}

/// Runs an alert with the shipped playbooks. `given` are exonerations that registers made.
pub(super) fn run(alert: Alert, kinds: &[&str], given: Vec<Exoneration>, answers: &Answers) -> Ran {
    run_with(
        Playbooks::shipped(),
        alert,
        kinds,
        json!([]),
        given,
        answers,
    )
}

pub(super) fn run_with(
    playbooks: Playbooks,
    alert: Alert,
    kinds: &[&str],
    past: Value,
    given: Vec<Exoneration>,
    answers: &Answers,
) -> Ran {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(work(playbooks, alert, kinds, past, given, answers))
}

async fn work(
    playbooks: Playbooks,
    alert: Alert,
    kinds: &[&str],
    past: Value,
    given: Vec<Exoneration>,
    answers: &Answers,
) -> Ran {
    let analyst = PlaybookAnalyst::new(Arc::new(playbooks));
    let found = past.as_array().map_or(0, Vec::len);
    let past = evidence(
        1,
        "past_cases",
        &ToolCall::new("past_cases", serde_json::Map::new()),
        Ok(json!({"cases": past, "found": found, "same_key": 0})),
    );
    let mut case = Case {
        alert: Arc::new(alert),
        tools: specs(kinds),
        past,
        next: 1,
    };
    let plan = analyst
        .plan(&PlanQuestion {
            alert: Arc::clone(&case.alert),
            past: Some(Arc::clone(&case.past)),
            tools: Arc::clone(&case.tools),
            limits: Limits::default(),
        })
        .await
        .unwrap()
        .value;
    let mut steps: Vec<StepView> = Vec::new();
    let mut open = plan.steps.clone();
    let mut reflections = Vec::new();
    for wave in 1..=3 {
        for draft in std::mem::take(&mut open) {
            let mut view = Case::view(steps.len() + 1, draft);
            case.step(&analyst, &plan.source, &steps, &mut view, answers)
                .await;
            steps.push(view);
        }
        let question = ReflectQuestion {
            alert: Arc::clone(&case.alert),
            past: Some(Arc::clone(&case.past)),
            objective: "".into(),
            source: plan.source.as_str().into(),
            steps: steps.clone(),
            wave,
            insights: Vec::new(),
            updates: Vec::new(),
            steps_left: 10,
            tools: Arc::clone(&case.tools),
        };
        let reflection = analyst.reflect(&question).await.unwrap().value;
        for update in &reflection.plan_updates {
            if let PlanUpdate::AddStep { step, .. } = update {
                open.push(step.clone());
            }
        }
        reflections.push(reflection);
        if open.is_empty() {
            break;
        }
    }
    let mut question = ConcludeQuestion {
        alert: Arc::clone(&case.alert),
        past: Some(Arc::clone(&case.past)),
        objective: "".into(),
        source: plan.source.as_str().into(),
        steps: steps.clone(),
        insights: Vec::new(),
        exonerations: given,
        cleared: false,
        actions: crate::playbook::catalogue().into(),
        stopped_by: None,
    };
    let exonerations = analyst.exonerate(&question);
    question.exonerations.extend(exonerations.clone());
    question
        .exonerations
        .retain(|one| check(one, &case.alert).is_ok());
    question.cleared = clears(&question.exonerations, &case.alert);
    let draft = analyst.conclude(&question).await.unwrap().value;
    every_quote_resolves(&case, &steps, &draft);
    Ran {
        plan,
        steps,
        reflections,
        exonerations,
        draft,
    }
}

fn every_quote_resolves(case: &Case, steps: &[StepView], draft: &ConclusionDraft) {
    let alert = serde_json::to_value(&*case.alert).unwrap();
    for quote in draft.findings.iter().flat_map(|finding| &finding.quotes) {
        let body = match quote.evidence {
            EvidenceId(0) => &alert,
            EvidenceId(1) => &case.past.body,
            id => steps
                .iter()
                .flat_map(|view| &view.calls)
                .filter_map(|call| call.evidence.as_ref())
                .find(|evidence| evidence.id == id)
                .map(|evidence| &evidence.body)
                .unwrap(),
        };
        let value = quote
            .quote
            .split_once(": ")
            .map_or(quote.quote.as_str(), |(_, value)| value);
        let escaped = serde_json::to_string(value).unwrap();
        let text = body.to_string();
        assert!(
            text.contains(&escaped) || text.contains(value),
            "{quote:?} is not in {text}"
        );
    }
}
