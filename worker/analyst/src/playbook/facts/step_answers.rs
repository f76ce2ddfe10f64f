//! Which steps were answered completely, as the functions of playbooks read it.
//!
//! [`crate::playbook::completeness`] finds it out when a rule first asks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use minijinja::value::Object;
use minijinja::{Environment, State, Value};

/// The variable that holds [`LazyStepAnswers`].
pub(in crate::playbook) const STEP_ANSWERS: &str = "_step_answers";

/// How the calls that the playbook would make were answered, by the names of its steps.
#[derive(Debug, Default)]
pub(in crate::playbook) struct StepAnswers {
    /// Every call was answered, and nothing was left out but repeats.
    pub(in crate::playbook) complete: Vec<String>,
    /// They ask something and were not answered completely.
    pub(in crate::playbook) partial: Vec<String>,
    /// What each did not get to know.
    pub(in crate::playbook) unanswered: BTreeMap<String, Vec<String>>,
}

/// The same, found out when it is first read.
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

/// Registers the functions.
pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_function("whole", whole);
    environment.add_function("partial", partial);
    environment.add_function("unasked", unasked);
}

/// Returns what `read` finds in the answers; `None` before the work has ended.
fn with_answers<T>(state: &State<'_, '_>, read: impl FnOnce(&StepAnswers) -> T) -> Option<T> {
    let answers = state.lookup(STEP_ANSWERS)?;
    answers
        .downcast_object_ref::<LazyStepAnswers>()
        .map(|answers| read(&answers.0))
}

/// `whole(step)`: whether every call that the step makes was answered, and nothing was left out but repeats. CallPlanner once
/// the work has ended; before that, no.
fn whole(state: &State<'_, '_>, step: &str) -> bool {
    with_answers(state, |answers| {
        answers.complete.iter().any(|name| name == step)
    })
    .unwrap_or(false)
}

/// `partial(step)`: whether the step has a call to make, and was not answered whole; no where no configured tool could make
/// one. CallPlanner once the work has ended; before that, yes.
fn partial(state: &State<'_, '_>, step: &str) -> bool {
    with_answers(state, |answers| {
        answers.partial.iter().any(|name| name == step)
    })
    .unwrap_or(true)
}

/// `unasked(step)`: what the calls of the step would have been about that were left out, beyond its limit, or gave no answer.
fn unasked(state: &State<'_, '_>, step: &str) -> Value {
    let of = with_answers(state, |answers| answers.unanswered.get(step).cloned());
    Value::from(of.flatten().unwrap_or_default())
}
