//! A look of the doctor that blocks, in a thread of its own.

/// What the look has found. Where it panics, so does this: to have found nothing is another thing.
pub async fn in_thread<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[should_panic(expected = "a fault of a look")]
    async fn a_look_that_panics_has_not_found_nothing() {
        let () = in_thread(|| panic!("a fault of a look")).await;
    }
}
