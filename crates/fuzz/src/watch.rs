//! What does a reader do with an input?
//!
//! [`Watch::look`] runs it and answers with what it said, or with a [`Fault`]: a panic, too long a time, more memory than the
//! input explains, or a refusal without a reason. An input that never comes back, or takes the whole process with it, is found
//! too: it lies in a file while it is looked at, and a second thread has an eye on the clock.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use crate::targets::{Answer, Target};

/// A reader that takes longer than this is too slow, whatever the input.
pub const MOST_TIME: Duration = Duration::from_secs(3);

/// A reader that takes longer than this never comes back.
const NEVER: Duration = Duration::from_secs(60);

/// Memory that any reader may take \[bytes\], and how much more for each byte of its input.
const MOST_MEMORY: u64 = 64 << 20;
const MEMORY_PER_BYTE: u64 = 512;

/// What a reader must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It panicked, and said this.
    Panic(String),
    /// It took so long.
    Slow(Duration),
    /// It took so much memory \[bytes\].
    Greedy(u64),
    /// It refused, and said nothing.
    Silent,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Panic(message) => write!(f, "it panicked: {message}"),
            Fault::Slow(time) => write!(f, "it took {:.1} s", time.as_secs_f64()),
            Fault::Greedy(bytes) => write!(f, "it took {} MiB of memory", bytes >> 20),
            Fault::Silent => f.write_str("it refused without a reason"),
        }
    }
}

/// Looks on while a target reads.
pub struct Watch<'a> {
    target: &'a Target,
    /// Where the input at hand lies; open all the time, as making a file anew takes longer than most readers.
    current: Option<File>,
    /// When the reading began, in milliseconds since the watch was made, and one more; 0 between readings.
    began: Arc<AtomicU64>,
    made: Instant,
}

impl<'a> Watch<'a> {
    /// Begins to watch; the input at hand lies in `folder`.
    pub fn new(target: &'a Target, folder: &Path) -> Watch<'a> {
        hush();
        let current = folder.join(format!("{}.current", target.name));
        let (began, made) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let (eye, path) = (Arc::downgrade(&began), current.clone());
        std::thread::spawn(move || {
            // Ends with the watch, which holds the only strong reference.
            while let Some(began) = eye.upgrade() {
                let since = began.load(Ordering::Relaxed);
                let now = made.elapsed().as_millis() as u64;
                if since > 0 && now.saturating_sub(since - 1) > NEVER.as_millis() as u64 {
                    fail_for_good(&path);
                }
                drop(began);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch { target, current: File::create(&current).ok(), began, made }
    }

    /// Lets the target read an input.
    ///
    /// # Errors
    ///
    /// What it must not do.
    pub fn look(&self, input: &[u8]) -> Result<Answer, Fault> {
        // A clock on the wall goes on while the machine is busy elsewhere: who is slow once gets a second try.
        match self.look_once(input) {
            Err(Fault::Slow(_)) => self.look_once(input),
            answer => answer,
        }
    }

    fn look_once(&self, input: &[u8]) -> Result<Answer, Fault> {
        // If even this cannot be written, an input that takes the process with it is lost; no more than that.
        if let Some(file) = &self.current {
            let _ = overwrite(file, input);
        }
        let mut outcome = None;
        READING.with_borrow_mut(|(reading, _)| *reading = true);
        let begin = Instant::now();
        self.began.store(self.made.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
        let memory = allocation_counter::measure(|| {
            outcome = Some(catch_unwind(AssertUnwindSafe(|| (self.target.read)(input))));
        });
        self.began.store(0, Ordering::Relaxed);
        let time = begin.elapsed();
        READING.with_borrow_mut(|(reading, _)| *reading = false);
        let answer = match outcome {
            Some(Ok(answer)) => answer,
            _ => return Err(Fault::Panic(READING.with_borrow(|(_, said)| said.clone()))),
        };
        if time > MOST_TIME {
            return Err(Fault::Slow(time));
        }
        if memory.bytes_max > MOST_MEMORY + MEMORY_PER_BYTE * input.len() as u64 {
            return Err(Fault::Greedy(memory.bytes_max));
        }
        match &answer {
            Answer::Refused(reason) if reason.trim().is_empty() => Err(Fault::Silent),
            _ => Ok(answer),
        }
    }
}

/// Puts other bytes into an open file.
pub(crate) fn overwrite(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.rewind()?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

thread_local! {
    /// Whether this thread is reading an input, and what its last panic said.
    static READING: RefCell<(bool, String)> = const { RefCell::new((false, String::new())) };
}

/// Keeps the panics of readers quiet and remembers them; all others are said as ever.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_read = READING.with_borrow_mut(|(reading, said)| {
                *said = panic.to_string().replace('\n', " ");
                *reading
            });
            if !is_read {
                loud(panic);
            }
        }));
    });
}

#[expect(clippy::print_stderr, reason = "the process ends here, and has to say why")]
fn fail_for_good(path: &Path) {
    eprintln!("a reader never comes back from {}", path.display());
    std::process::exit(1);
}
