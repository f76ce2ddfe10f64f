//! Runs blocking doctor checks on a thread.

/// Runs the check on a thread and returns its result. A panic of the check is passed on, because it must not look
/// like an empty result.
pub async fn run_blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[should_panic(expected = "doctor check panicked")]
    async fn a_look_that_panics_has_not_found_nothing() {
        let () = run_blocking(|| panic!("doctor check panicked")).await;
    }
}
