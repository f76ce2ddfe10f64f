//! Implements a fake ticket system that takes tickets as ServiceNow's Table API does and keeps every one, so that
//! duplicates are visible. The tests of `worker/destinations` check whether requests are valid for the vendor.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The fake ticket system, which runs until it is dropped.
pub(crate) struct TicketServer {
    url: String,
    incidents: Incidents,
    _tasks: JoinSet<std::io::Result<()>>,
}

type Incidents = Arc<Mutex<Vec<Map<String, Value>>>>;

impl TicketServer {
    /// Starts the fake on a free port of 127.0.0.1.
    pub(crate) async fn open() -> anyhow::Result<Self> {
        let incidents = Incidents::default();
        let all = get(find).post(make);
        let one = get(read).patch(set);
        let app = Router::new()
            .route("/api/now/table/incident", all)
            .route("/api/now/table/incident/{id}", one)
            .with_state(Arc::clone(&incidents));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await });
        Ok(Self {
            url,
            incidents,
            _tasks: tasks,
        })
    }

    /// Returns the configuration of the destination.
    pub(crate) fn table(&self) -> String {
        format!(
            "[[destination]]\nname = \"tickets\"\nkind = \"servicenow\"\nurl = \"{}\"\nuser = \"chaos\"\nsecret = \"env:CHAOS_TICKETS\"\n",
            self.url
        )
    }

    /// Returns the number of tickets of each case.
    pub(crate) fn tickets(&self) -> BTreeMap<String, usize> {
        let mut many = BTreeMap::new();
        for incident in lock(&self.incidents).iter() {
            let case = incident.get("correlation_id").and_then(Value::as_str);
            *many.entry(case.unwrap_or_default().to_owned()).or_default() += 1;
        }
        many
    }
}

fn lock(incidents: &Incidents) -> MutexGuard<'_, Vec<Map<String, Value>>> {
    incidents.lock()
}

/// Answers `sysparm_query=correlation_id=CASE^…`.
async fn find(
    State(incidents): State<Incidents>,
    Query(asked): Query<HashMap<String, String>>,
) -> Json<Value> {
    let query = asked.get("sysparm_query").map_or("", String::as_str);
    let condition = query.split('^').next().unwrap_or_default();
    let case = condition.trim_start_matches("correlation_id=");
    let all = lock(&incidents);
    let found: Vec<&Map<String, Value>> = all
        .iter()
        .filter(|one| one.get("correlation_id").is_some_and(|own| own == case))
        .collect();
    Json(json!({ "result": found }))
}

async fn make(
    State(incidents): State<Incidents>,
    Json(mut fields): Json<Map<String, Value>>,
) -> (StatusCode, Json<Value>) {
    let mut all = lock(&incidents);
    let id = format!("{:032x}", all.len() + 1);
    fields.insert("sys_id".to_owned(), json!(id));
    fields.insert("state".to_owned(), json!("1"));
    all.push(fields);
    let made = json!({ "result": { "sys_id": id, "number": "INC0010001" } });
    (StatusCode::CREATED, Json(made))
}

/// Returns one ticket, with the value and the displayed value of each field.
async fn read(
    State(incidents): State<Incidents>,
    Path(id): Path<String>,
) -> Result<Json<Value>, StatusCode> {
    let all = lock(&incidents);
    let found = all.iter().find(|one| one.get("sys_id") == Some(&json!(id)));
    let found = found.ok_or(StatusCode::NOT_FOUND)?;
    let both = |value: &Value| json!({ "display_value": value, "value": value });
    let told = found
        .iter()
        .map(|(name, value)| (name.clone(), both(value)));
    Ok(Json(
        json!({ "result": told.collect::<Map<String, Value>>() }),
    ))
}

/// Sets fields. Notes are added to the existing ones.
async fn set(
    State(incidents): State<Incidents>,
    Path(id): Path<String>,
    Json(fields): Json<Map<String, Value>>,
) -> Result<Json<Value>, StatusCode> {
    let mut all = lock(&incidents);
    let mut found = all.iter_mut();
    let found = found.find(|one| one.get("sys_id") == Some(&json!(id)));
    let found = found.ok_or(StatusCode::NOT_FOUND)?;
    for (name, value) in fields {
        let before = found.get(&name).and_then(Value::as_str);
        let value = match (name.as_str(), before, value.as_str()) {
            ("work_notes", Some(before), Some(note)) => json!(format!("{note}\n\n{before}")),
            _ => value,
        };
        found.insert(name, value);
    }
    Ok(Json(json!({ "result": { "sys_id": id } })))
}
