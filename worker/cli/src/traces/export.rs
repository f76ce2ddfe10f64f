//! Takes spans out of the queue and posts them, in batches. What the collector does not take is tried for a minute, and
//! then lost and counted: traces are of use, and never in the way.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::collector::{Problem, Then};
use super::queue::{Held, count};

/// Most spans of a post.
const BATCH: usize = 512;
/// How long a post waits for more spans.
const GATHER: Duration = Duration::from_secs(1);
/// How long one batch is tried.
const PATIENCE: Duration = Duration::from_secs(60);
/// Shortest time between two lines about the same trouble.
const QUIET: Duration = Duration::from_secs(60);

/// Whom spans are posted to.
pub(super) trait Post: Send + Sync {
    /// Posts spans, and says how many of them were not wanted.
    fn post(&self, spans: Vec<Span>) -> impl Future<Output = Result<u64, Problem>> + Send;
}

/// Posts what is in the queue.
pub(super) struct Exporter<P> {
    collector: P,
    spans: Receiver<Span>,
    held: Arc<Held>,
    stop: CancellationToken,
    lines: Lines,
}

/// What is said, and not more often than once in a while.
#[derive(Debug, Default)]
struct Lines {
    last: Option<Instant>,
    is_trouble: bool,
}

impl Lines {
    /// Something is wrong: whether that is told now.
    fn trouble(&mut self) -> bool {
        self.is_trouble = true;
        self.is_due()
    }

    /// Spans are taken: whether that is told now.
    fn well(&mut self, lost: bool) -> bool {
        let is_told = (self.is_trouble || lost) && self.is_due();
        self.is_trouble &= !is_told;
        is_told
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|at| at.elapsed() >= QUIET);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}

impl<P: Post> Exporter<P> {
    pub(super) fn new(
        collector: P,
        spans: Receiver<Span>,
        held: Arc<Held>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            collector,
            spans,
            held,
            stop,
            lines: Lines::default(),
        }
    }

    /// Runs until it is told to stop and the queue is empty.
    pub(super) async fn run(mut self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            self.send(&batch).await;
        }
    }

    /// The next batch; an empty one is the end.
    async fn gather(&mut self) -> Vec<Span> {
        let mut batch = Vec::new();
        tokio::select! {
            biased;
            _ = self.spans.recv_many(&mut batch, BATCH) => {}
            () = self.stop.cancelled() => return batch,
        }
        let deadline = Instant::now() + GATHER;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            tokio::select! {
                biased;
                more = self.spans.recv_many(&mut batch, room) => if more == 0 { break },
                () = self.stop.cancelled() => break,
                () = tokio::time::sleep_until(deadline) => break,
            }
        }
        batch
    }

    /// Posts a batch, in halves of halves where it is more than is taken at once.
    async fn send(&mut self, batch: &[Span]) {
        let until = Instant::now() + PATIENCE;
        let mut parts = vec![batch];
        while let Some(part) = parts.pop() {
            if self.send_part(part, until).await {
                self.held.done(part);
            } else {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
    }

    /// Posts spans until they are taken or lost, and begins no try after this time but the first; false where fewer of them
    /// might be taken.
    async fn send_part(&mut self, spans: &[Span], until: Instant) -> bool {
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_secs(1))
            .with_max_delay(Duration::from_secs(15))
            .with_jitter()
            .without_max_times()
            .build();
        loop {
            let problem = match self.collector.post(spans.to_vec()).await {
                Ok(rejected) => {
                    self.taken(rejected);
                    return true;
                }
                Err(problem) => problem,
            };
            if problem.then == Then::Smaller && spans.len() > 1 {
                return false;
            }
            let is_tried = problem.then == Then::Again && Instant::now() < until;
            let pause = pauses
                .next()
                .filter(|_| is_tried && !self.stop.is_cancelled());
            if pause.is_none() {
                self.held.lose(count(spans));
            }
            self.tell(&problem.what);
            let Some(pause) = pause else { return true };
            // Told to stop, it tries once more.
            drop(tokio::time::timeout(pause, self.stop.cancelled()).await);
        }
    }

    fn taken(&mut self, rejected: u64) {
        if rejected > 0 {
            self.held.lose(rejected);
            return self.tell("it did not want some of the spans");
        }
        if !self.lines.well(self.held.has_lost()) {
            return;
        }
        match self.held.take_lost() {
            0 => tracing::info!("the collector takes spans; no more were lost"),
            spans => tracing::warn!(spans, "the collector takes spans; these were lost"),
        }
    }

    /// Says what is wrong and how much was lost, once in a while.
    fn tell(&mut self, why: &str) {
        if self.lines.trouble() {
            let spans = self.held.take_lost();
            tracing::warn!(why, spans, "spans cannot be exported; these were lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::queue::queue;
    use super::*;

    /// What a collector says of a post, told how many posts came before and how many spans were taken of them.
    type Says = fn(&[Span], usize, usize) -> Option<Then>;

    /// A collector that takes what it has nothing to say of, and does not answer at all where it would lose spans.
    struct Fake {
        says: Says,
        posts: AtomicUsize,
        taken: Arc<Mutex<Vec<String>>>,
    }

    impl Post for Fake {
        async fn post(&self, spans: Vec<Span>) -> Result<u64, Problem> {
            let posts = self.posts.fetch_add(1, Ordering::Relaxed);
            let taken = self.taken.lock().unwrap().len();
            match (self.says)(&spans, posts, taken) {
                None => {
                    let names = spans.into_iter().map(|one| one.name);
                    self.taken.lock().unwrap().extend(names);
                    Ok(0)
                }
                Some(Then::Lose) => std::future::pending().await,
                Some(then) => Err(Problem {
                    what: "no".to_owned(),
                    then,
                }),
            }
        }
    }

    /// What of these is taken within five minutes, how many are not, and after how many seconds all is over.
    async fn exported(names: &[&str], says: Says) -> (Vec<String>, u64, u64) {
        let taken = Arc::default();
        let fake = Fake {
            says,
            posts: AtomicUsize::new(0),
            taken: Arc::clone(&taken),
        };
        let (queue, out) = queue();
        for name in names {
            queue.add(Span {
                name: (*name).to_owned(),
                ..Span::default()
            });
        }
        let held = queue.held();
        let before = Instant::now();
        drop(queue);
        let mut exporter = Exporter::new(fake, out, Arc::clone(&held), CancellationToken::new());
        // What is told is counted no more.
        exporter.lines.last = Some(before + Duration::from_secs(60 * 60));
        drop(tokio::time::timeout(Duration::from_secs(300), exporter.run()).await);
        let taken = taken.lock().unwrap().clone();
        (taken, held.take_unexported(), before.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_much_at_once_goes_in_halves_and_one_that_is_too_large_is_lost_alone() {
        let names = ["a", "b", "c", "huge", "d", "e", "f"];
        let (taken, lost, _) = exported(&names, |spans, _, _| {
            let is_too_much = spans.len() > 2 || spans.iter().any(|one| one.name == "huge");
            is_too_much.then_some(Then::Smaller)
        })
        .await;
        assert_eq!(taken, ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(lost, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_tried_for_a_minute() {
        let away = |_: &[Span], posts, _| (posts < 4).then_some(Then::Again);
        let (taken, lost, secs) = exported(&["a", "b"], away).await;
        assert_eq!((taken.len(), lost), (2, 0));
        assert!(secs < 60, "{secs}");
        let (taken, lost, secs) = exported(&["a", "b"], |_, _, _| Some(Then::Again)).await;
        assert_eq!((taken.len(), lost), (0, 2));
        assert!((60..91).contains(&secs), "{secs}");
        // In parts, too: it takes one at once, and is away from the third on.
        let parts = |spans: &[Span], _, taken| match spans.len() {
            1 => (taken >= 2).then_some(Then::Again),
            _ => Some(Then::Smaller),
        };
        let (taken, lost, secs) = exported(&["x"; 16], parts).await;
        assert_eq!((taken.len(), lost), (2, 14));
        assert!((60..91).contains(&secs), "{secs}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_of_a_batch_is_not_said_to_be_lost() {
        let hangs = |spans: &[Span], _, taken| match spans.len() {
            1 => (taken >= 3).then_some(Then::Lose),
            _ => Some(Then::Smaller),
        };
        let (taken, lost, _) = exported(&["x"; 8], hangs).await;
        assert_eq!((taken.len(), lost), (3, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_that_comes_and_goes_is_a_line_a_minute() {
        let mut lines = Lines::default();
        assert!(!lines.well(false), "there is nothing to tell");
        let mut told = 0;
        for _ in 0..120 {
            told += u32::from(lines.trouble()) + u32::from(lines.well(false));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, 2);
        assert!(lines.trouble());
        tokio::time::advance(QUIET).await;
        assert!(lines.well(false) && !lines.well(false));
        tokio::time::advance(QUIET).await;
        assert!(!lines.well(false) && lines.well(true));
    }
}
