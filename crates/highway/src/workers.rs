//! Who helps to step a batch?
//!
//! Threads besides the caller's, which do a share of every step. A step may take little longer than
//! it takes to wake a thread, so after a step the helpers stay awake for a moment, in case another
//! follows. Start at [`Workers::share`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Threads that wait for a share of work.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: ThreadPool,
    /// How often work was shared: whoever stays awake watches this.
    shared: Arc<AtomicU64>,
}

/// How long helpers stay awake after a step: some times as long as waking one takes.
const AWAKE: Duration = Duration::from_micros(200);
/// How often they look at the work before they look at the clock.
const LOOKS: usize = 64;

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
            let asleep = Instant::now() + AWAKE;
            while shared.load(Ordering::Acquire) == now && Instant::now() < asleep {
                for _ in 0..LOOKS {
                    std::hint::spin_loop();
                }
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
                std::thread::sleep(2 * AWAKE);
            }
        }
        assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 200));
    }
}
