//! Defines the functions of playbooks that ask which steps were answered completely.
//!
//! [`crate::playbook::completeness`] computes the answers when a rule first asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use minijinja::value::Object;
use minijinja::{Environment, State, Value};

/// The variable that holds [`LazyStepAnswers`].
pub(in crate::playbook) const STEP_ANSWERS: &str = "_step_answers";

/// The answers to the calls that the playbook would make, by the names of its steps.
#[derive(Debug, Default)]
pub(in crate::playbook) struct StepAnswers {
    /// Steps with every call answered and nothing left out but repetitions.
    pub(in crate::playbook) complete: Vec<String>,
    /// Steps that have calls to make and were not answered completely.
    pub(in crate::playbook) partial: Vec<String>,
    /// The values for which each step has no answer.
    pub(in crate::playbook) unanswered: BTreeMap<String, Vec<String>>,
}

/// [`StepAnswers`], computed when they are first read.
pub(in crate::playbook) struct LazyStepAnswers(
    LazyLock<StepAnswers, Box<dyn FnOnce() -> StepAnswers + Send>>,
);

impl LazyStepAnswers {
    pub(in crate::playbook) fn new(read: impl FnOnce() -> StepAnswers + Send + 'static) -> Self {
        Self(LazyLock::new(Box::new(read)))
    }
}

impl fmt::Debug for LazyStepAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyStepAnswers").finish_non_exhaustive()
    }
}

impl Object for LazyStepAnswers {}

pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_function("whole", whole);
    environment.add_function("partial", partial);
    environment.add_function("unasked", unasked);
}

/// Returns what `read` finds in the answers, or `None` while the case still runs.
fn with_answers<T>(state: &State<'_, '_>, read: impl FnOnce(&StepAnswers) -> T) -> Option<T> {
    let answers = state.lookup(STEP_ANSWERS)?;
    answers
        .downcast_object_ref::<LazyStepAnswers>()
        .map(|answers| read(&answers.0))
}

/// Implements `whole(step)`, which returns whether every call that the step makes was answered with nothing left out
/// but repetitions. It is false while the case still runs.
fn whole(state: &State<'_, '_>, step: &str) -> bool {
    with_answers(state, |answers| {
        answers.complete.iter().any(|name| name == step)
    })
    .unwrap_or(false)
}

/// Implements `partial(step)`, which returns whether the step has a call to make and was not answered completely. It is
/// false when no configured tool could make a call, and true while the case still runs.
fn partial(state: &State<'_, '_>, step: &str) -> bool {
    with_answers(state, |answers| {
        answers.partial.iter().any(|name| name == step)
    })
    .unwrap_or(true)
}

/// Implements `unasked(step)`, which returns the values that the step left out beyond its limit or that gave no answer.
fn unasked(state: &State<'_, '_>, step: &str) -> Value {
    let of = with_answers(state, |answers| answers.unanswered.get(step).cloned());
    Value::from(of.flatten().unwrap_or_default())
}
