//! Runs a fake ServiceNow instance for the tests. Its Table API silently drops and cuts what it does not accept.

use serde_json::{Map, Value, json};

use super::super::fake::{FakeRequest, FakeResponse, World};
use super::super::trial::{Ticket, Tickets};
use super::record::{CORRELATION, LONG, SHORT};

/// The credentials `maria@example.com:hush`.
const AUTHORISATION: &str = "Basic bWFyaWFAZXhhbXBsZS5jb206aHVzaA==";

pub(crate) struct Incident {
    pub(crate) sys_id: String,
    pub(crate) fields: Map<String, Value>,
    pub(crate) notes: Vec<String>,
}

pub(crate) struct Instance {
    pub(crate) incidents: Vec<Incident>,
    /// A field that only this instance requires.
    pub(crate) mandatory: Option<&'static str>,
    pub(crate) shows_correlation: bool,
    pub(crate) may_write: bool,
}

impl Instance {
    pub(crate) fn new() -> Self {
        Self {
            incidents: Vec::new(),
            mandatory: None,
            shows_correlation: true,
            may_write: true,
        }
    }

    fn query(&self, ask: &FakeRequest) -> FakeResponse {
        let query = ask.q("sysparm_query");
        let (condition, order) = query.split_once('^').unwrap();
        assert_eq!(order, "ORDERBYsys_created_on");
        let case = condition.strip_prefix("correlation_id=").unwrap();
        // A condition on a column that the user may not read is dropped, so every record matches.
        let is_found =
            |one: &&Incident| !self.shows_correlation || one.fields["correlation_id"] == case;
        let found: Vec<Value> = self
            .incidents
            .iter()
            .filter(is_found)
            .take(ask.q("sysparm_limit").parse().unwrap())
            .map(|one| {
                let mut row = json!({ "sys_id": one.sys_id });
                if self.shows_correlation {
                    row["correlation_id"] = one.fields["correlation_id"].clone();
                }
                row
            })
            .collect();
        FakeResponse::new(200, json!({ "result": found }))
    }

    fn create(&mut self, body: &Value) -> FakeResponse {
        let mut fields = body.as_object().unwrap().clone();
        if let Some(name) = self.mandatory
            && !fields.contains_key(name)
        {
            let detail =
                format!("Data Policy Exception: The following fields are mandatory: {name}");
            return failure(403, "Operation Failed", &detail);
        }
        for (name, most) in [
            ("short_description", SHORT),
            ("description", LONG),
            ("correlation_id", CORRELATION),
            ("correlation_display", CORRELATION),
        ] {
            let text = fields[name].as_str().unwrap();
            // The instance would silently cut longer text.
            assert!(text.encode_utf16().count() <= most, "{name}: {text}");
        }
        for name in ["impact", "urgency"] {
            assert!(["1", "2", "3"].contains(&fields[name].as_str().unwrap()));
        }
        let sys_id = format!("{:032x}", 0xabc + self.incidents.len());
        fields.insert("state".into(), json!("1"));
        self.incidents.push(Incident {
            sys_id: sys_id.clone(),
            fields,
            notes: Vec::new(),
        });
        FakeResponse::new(
            201,
            json!({ "result": { "sys_id": sys_id, "number": "INC0010001" } }),
        )
    }
}

impl Incident {
    fn read(&self) -> Value {
        // The newest note comes first, each below a line with its time and author.
        let notes: Vec<String> = self
            .notes
            .iter()
            .rev()
            .map(|note| format!("2026-11-20 03:20:00 - Nightshift (Work notes)\n{note}\n\n"))
            .collect();
        let both = |value: &Value| json!({ "display_value": value, "value": value });
        json!({ "result": {
            "work_notes": { "display_value": notes.concat(), "value": "" },
            "correlation_display": both(&self.fields["correlation_display"]),
            "state": { "display_value": "In words", "value": self.fields["state"] },
            "active": both(&json!((self.fields["state"] != "7").to_string())),
        } })
    }

    fn patch(&mut self, body: &Value) -> FakeResponse {
        for (name, value) in body.as_object().unwrap() {
            if name == "work_notes" {
                let note = value.as_str().unwrap();
                assert!(note.encode_utf16().count() <= LONG);
                self.notes.push(note.to_owned());
            } else {
                self.fields.insert(name.clone(), value.clone());
            }
        }
        let is_resolved = self.fields["state"] == "6";
        if is_resolved && !self.fields.contains_key("close_code") {
            return failure(403, "Operation Failed", "close_code is mandatory");
        }
        FakeResponse::new(200, json!({ "result": { "sys_id": self.sys_id } }))
    }
}

fn failure(status: u16, message: &str, detail: &str) -> FakeResponse {
    let error = json!({ "message": message, "detail": detail });
    FakeResponse::new(status, json!({ "error": error, "status": "failure" }))
}

impl World for Instance {
    fn answer(&mut self, ask: &FakeRequest, _: u64) -> FakeResponse {
        if ask.header("authorization") != AUTHORISATION {
            return failure(
                401,
                "User Not Authenticated",
                "Required to provide Auth information",
            );
        }
        let parts = ask.parts();
        match (ask.method.as_str(), &parts[..]) {
            ("GET", ["api", "now", "table", "incident"]) => self.query(ask),
            (_, ["api", "now", "table", "incident", ..]) if ask.is_write() && !self.may_write => {
                failure(
                    403,
                    "Insufficient rights",
                    "ACL Exception Insert Failed due to security constraints",
                )
            }
            ("POST", ["api", "now", "table", "incident"]) => self.create(&ask.body),
            (method, ["api", "now", "table", "incident", id]) => {
                let found = self.incidents.iter_mut().find(|one| one.sys_id == *id);
                match (method, found) {
                    ("GET", Some(found)) => {
                        assert_eq!(ask.q("sysparm_display_value"), "all");
                        FakeResponse::new(200, found.read())
                    }
                    ("PATCH", Some(found)) => found.patch(&ask.body),
                    _ => failure(
                        404,
                        "No Record found",
                        "Record doesn't exist or ACL restricts the record retrieval",
                    ),
                }
            }
            _ => failure(400, "Invalid table", "Invalid table"),
        }
    }
}

impl Tickets for Instance {
    fn tickets_of(&self, case: &str) -> Vec<Ticket> {
        let of_case = self
            .incidents
            .iter()
            .filter(|one| one.fields["correlation_id"] == case);
        of_case
            .map(|one| Ticket {
                comments: one.notes.clone(),
                is_open: one.fields["state"] != "6",
            })
            .collect()
    }
}
