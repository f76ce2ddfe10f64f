//! Parses the arguments of a call.
//!
//! The engine has already checked the arguments against the spec. This module gives each value a type. An indicator of
//! the alert keeps the type from its parser. An indicator from a result is recognised by its shape.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole, PrincipalKind};
use nightshift_engine::tool::{Argument, ArgumentKind, ToolError};
use serde_json::{Map, Value};

use crate::canonical_name::CanonicalName;
use crate::timestamp::{self, DayBoundary, TimeRange};

/// The arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) alert: &'a Alert,
}

/// A typed value to look up. The forms that rows are compared with are parsed once, not for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: IndicatorKind,
    pub(crate) value: String,
    /// The address, if the value is one.
    pub(crate) ip: Option<IpAddr>,
    /// The canonical name.
    pub(crate) name: CanonicalName,
    /// The principal kinds that the alert reports for this value.
    pub(crate) principals: Vec<PrincipalKind>,
}

impl Subject {
    pub(crate) fn new(kind: IndicatorKind, value: impl Into<String>) -> Self {
        let value = value.into();
        let named = CanonicalName::from_value(kind, &value);
        Self {
            kind,
            ip: match kind {
                IndicatorKind::Ip => value.parse().ok(),
                _ => None,
            },
            principals: named.principal.into_iter().collect(),
            name: named,
            value,
        }
    }

    /// Creates a subject from a value of the alert, with what the feed reports about this value.
    pub(crate) fn from_alert(kind: IndicatorKind, value: &str, alert: &Alert) -> Self {
        let mut subject = Self::new(kind, value);
        let told = alert
            .principals
            .iter()
            .filter(|principal| kind == IndicatorKind::Principal && principal.name == value);
        let mut sessions = Vec::new();
        for principal in told {
            subject.principals.push(principal.kind);
            sessions.push(principal.session());
        }
        if let (None, [Some(session)]) = (&subject.name.session, &sessions[..]) {
            subject.name.session = Some(session.to_ascii_lowercase());
        }
        subject
    }

    /// Returns the kind, by the form of the value where that is a qualified name.
    pub(crate) fn effective_kind(&self) -> IndicatorKind {
        match self.kind {
            IndicatorKind::Arn => self.name.kind.unwrap_or(self.kind),
            kind => kind,
        }
    }
}

impl Arguments<'_> {
    fn argument_error(name: &str, problem: impl Into<String>) -> ToolError {
        ToolError::Argument {
            argument: name.to_owned(),
            problem: problem.into(),
        }
    }

    fn string(&self, name: &str) -> Result<Option<&str>, ToolError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim())),
            Some(_) => Err(Self::argument_error(
                name,
                "must be a text that is not empty",
            )),
        }
    }

    /// Returns the required indicator `name`, as one of `types`.
    pub(crate) fn required_indicator(
        &self,
        name: &str,
        types: &[IndicatorKind],
    ) -> Result<Subject, ToolError> {
        self.optional_indicator(name, types)?
            .ok_or_else(|| Self::argument_error(name, "is missing"))
    }

    /// Returns the indicator `name`, if given.
    pub(crate) fn optional_indicator(
        &self,
        name: &str,
        types: &[IndicatorKind],
    ) -> Result<Option<Subject>, ToolError> {
        let Some(text) = self.string(name)? else {
            return Ok(None);
        };
        let known = self
            .alert
            .indicators
            .iter()
            .filter(|indicator| types.contains(&indicator.kind) && indicator.value == text)
            // An actor may also appear there as a plain email address.
            .min_by_key(|indicator| indicator.role);
        if let Some(indicator) = known {
            let (kind, value) = (indicator.kind, indicator.value.as_str());
            return Ok(Some(Subject::from_alert(kind, value, self.alert)));
        }
        // A value with another type in the alert is not retyped by a guess: `maria.lopez` is no domain.
        let typed = self
            .alert
            .indicators
            .iter()
            .any(|indicator| indicator.value == text);
        types
            .iter()
            .filter(|kind| !typed || has_shape(**kind))
            .find_map(|kind| {
                Indicator::parse(*kind, text, IndicatorRole::Related)
                    .map(|parsed| Subject::from_alert(parsed.kind, &parsed.value, self.alert))
            })
            .map(Some)
            .ok_or_else(|| {
                Self::argument_error(name, format!("{text:?} is no {}", join_kinds(types)))
            })
    }

    /// Returns the timestamp `name`, if given.
    fn optional_time(
        &self,
        name: &str,
        edge: DayBoundary,
    ) -> Result<Option<DateTime<Utc>>, ToolError> {
        let Some(text) = self.string(name)? else {
            return Ok(None);
        };
        timestamp::parse(text, edge).map(Some).ok_or_else(|| {
            Self::argument_error(
                name,
                format!("{text:?} is no time: write it as 2026-03-02T02:41:12Z"),
            )
        })
    }

    /// Returns the range from `since` to `until`, clamped. A missing range defaults to the time around the alert's
    /// events.
    pub(crate) fn range(&self, now: DateTime<Utc>) -> Result<TimeRange, ToolError> {
        let since = self.optional_time("since", DayBoundary::Start)?;
        let until = self.optional_time("until", DayBoundary::End)?;
        TimeRange::around_events(since, until, self.alert, now).ok_or_else(|| {
            Self::argument_error(
                "since",
                "no time is left between `since` and `until`: at most 30 days before the first event, at most until now",
            )
        })
    }

    /// Returns the text `name`, if given.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, ToolError> {
        Ok(self.string(name)?.map(str::to_owned))
    }

    /// Returns the number `name`, clamped to `min` and `max`.
    pub(crate) fn number(
        &self,
        name: &str,
        default: usize,
        max: usize,
    ) -> Result<usize, ToolError> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .filter(|number| (1..=max).contains(number))
                .ok_or_else(|| {
                    Self::argument_error(name, format!("must be a number from 1 to {max}"))
                }),
        }
    }
}

/// Returns whether values of this kind are recognised by their form alone.
const fn has_shape(kind: IndicatorKind) -> bool {
    matches!(
        kind,
        IndicatorKind::Ip
            | IndicatorKind::Url
            | IndicatorKind::Email
            | IndicatorKind::Hash
            | IndicatorKind::AccessKey
            | IndicatorKind::Arn
            | IndicatorKind::Cve
            | IndicatorKind::Wallet
    )
}

fn join_kinds(types: &[IndicatorKind]) -> String {
    types
        .iter()
        .map(|kind| kind.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Creates a required indicator argument.
pub(crate) fn indicator_argument(
    name: &str,
    description: &str,
    types: &[IndicatorKind],
) -> Argument {
    Argument {
        name: name.to_owned(),
        description: description.to_owned(),
        kind: ArgumentKind::Indicator {
            types: types.to_vec(),
        },
        required: true,
    }
}

/// Creates an optional timestamp argument.
pub(crate) fn time_argument(name: &str, description: &str) -> Argument {
    Argument {
        name: name.to_owned(),
        description: description.to_owned(),
        kind: ArgumentKind::Time,
        required: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    fn kind_of(text: &str, types: &[IndicatorKind]) -> Option<IndicatorKind> {
        let mut alert = testing::alert();
        let typed = |kind, value: &str| Indicator::new(kind, value, IndicatorRole::Actor);
        alert.indicators.extend([
            typed(IndicatorKind::Principal, "maria.lopez"),
            typed(IndicatorKind::Principal, "ci@shop.example"),
            Indicator::new(
                IndicatorKind::Email,
                "ci@shop.example",
                IndicatorRole::Related,
            ),
        ]);
        alert.indicators.sort();
        let map = json!({ "x": text });
        let arguments = Arguments {
            map: map.as_object().unwrap(),
            alert: &alert,
        };
        arguments
            .required_indicator("x", types)
            .ok()
            .map(|subject| subject.kind)
    }

    #[test]
    fn value_has_the_type_of_the_alert_or_else_of_its_form() {
        use IndicatorKind::{Bucket, Domain, Email, Instance, Ip, Principal};
        let all = [Ip, Email, Domain, Principal, Instance, Bucket];
        assert_eq!(kind_of("payments-ledger", &all), Some(Bucket));
        assert_eq!(kind_of("maria.lopez", &all), Some(Principal));
        assert_eq!(kind_of("maria.lopez", &[Ip, Domain]), None);
        assert_eq!(kind_of("ci@shop.example", &[Ip, Email]), Some(Email));
        assert_eq!(
            kind_of("ci@shop.example", &all),
            Some(Principal),
            "who acts"
        );
        assert_eq!(kind_of("new.example", &all), Some(Domain));
        assert_eq!(kind_of("8.8.8.8", &all), Some(Ip));
        assert_eq!(kind_of("", &all), None);
    }
}
