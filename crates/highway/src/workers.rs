//! Who helps to step a batch?
//!
//! Threads besides the caller's, which do a share of every step. A step may take little longer than
//! it takes to wake a thread, so after a step the helpers stay awake for a moment, in case another
//! follows. Start at [`Workers::share`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Threads that wait for a share of work.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: ThreadPool,
    /// How often work was shared: whoever stays awake watches this.
    shared: Arc<AtomicU64>,
}

/// How often helpers look for more work after a step before they fall asleep. Counted and not timed,
/// since nothing in this crate knows what time it is; it comes to some tenths of a millisecond, a few
/// times as long as waking one takes.
const PATIENCE: usize = 10_000;

impl Workers {
    /// Starts some threads besides the caller's.
    pub(crate) fn start(helpers: usize) -> Result<Workers, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new().num_threads(helpers).build()?;
        Ok(Workers { pool, shared: Arc::new(AtomicU64::new(0)) })
    }

    /// Has `work` done once by every thread, the caller's (number 0) included, and waits for all.
    pub(crate) fn share(&self, work: impl Fn(usize) + Sync) {
        let now = self.shared.fetch_add(1, Ordering::Release) + 1;
        self.pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, context| work(context.index() + 1));
            work(0);
        });
        let shared = Arc::clone(&self.shared);
        self.pool.spawn_broadcast(move |_| {
            for _ in 0..PATIENCE {
                if shared.load(Ordering::Acquire) != now {
                    break;
                }
                std::hint::spin_loop();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_takes_part_every_time() {
        let workers = Workers::start(3).unwrap();
        let calls: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(0));
        for round in 0..200 {
            workers.share(|who| {
                calls[who].fetch_add(1, Ordering::Relaxed);
            });
            // Now and then they fall asleep in between.
            if round % 50 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 200));
    }
}
