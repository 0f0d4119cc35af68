//! When is looked at the predicted bodies?
//!
//! Often in the next few decisions, half as often after that: what is far off in time is known less
//! well, and will be looked at again.
//!
//! **Invariant:** a look falls on the end of every decision, or of every other one later on.

use cpss_highway::Task;

/// The frames at which is looked; looks count from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Looks {
    /// Frames between two early looks.
    pub(crate) stride: usize,
    /// Frames until which every stride is looked at.
    pub(crate) early: usize,
    /// Frames until the horizon.
    pub(crate) frames: usize,
    /// How many looks are early ones.
    pub(crate) early_count: usize,
    frame_time: f64,
}

/// Decisions in which is looked often, where it may be looked less often at all.
const EARLY_DECISIONS: usize = 4;

impl Looks {
    /// Looks up to a horizon \[s\], `sample_time` \[s\] apart, and, if `may_spread`, twice that later.
    pub(crate) fn new(task: &Task, horizon: f64, sample_time: f64, may_spread: bool) -> Looks {
        let whole = |time: f64| (time / task.frame_time).round().max(1.0) as usize;
        let stride = whole(sample_time);
        // Whole looks, and at least the coming decision.
        let frames = whole(horizon).max(task.frames).div_ceil(stride) * stride;
        let early = EARLY_DECISIONS * task.frames;
        let Some(late) = frames.checked_sub(early).filter(|late| may_spread && *late > 0) else {
            let early_count = frames / stride;
            return Looks {
                stride,
                early: frames,
                frames,
                early_count,
                frame_time: task.frame_time,
            };
        };
        let frames = early + late.next_multiple_of(2 * task.frames);
        Looks { stride, early, frames, early_count: early / stride, frame_time: task.frame_time }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.until(self.frames)
    }

    /// How many there are up to a frame.
    #[inline]
    pub(crate) fn until(&self, frame: usize) -> usize {
        frame.min(self.early) / self.stride + frame.saturating_sub(self.early) / (2 * self.stride)
    }

    /// How many strides lie before a look.
    #[inline]
    pub(crate) fn strides(&self, look: usize) -> usize {
        look.min(self.early_count) + 2 * look.saturating_sub(self.early_count)
    }

    /// The time of a look \[s\]; of look 0, which is now, zero.
    #[inline]
    pub(crate) fn time(&self, look: usize) -> f64 {
        (self.strides(look) * self.stride) as f64 * self.frame_time
    }

    /// The time of a stride \[s\].
    pub(crate) fn stride_time(&self) -> f64 {
        self.stride as f64 * self.frame_time
    }

    /// The time until the horizon \[s\].
    pub(crate) fn span(&self) -> f64 {
        self.frames as f64 * self.frame_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::TaskId;

    #[test]
    fn later_looks_are_twice_as_far_apart() {
        let task = Task::with_defaults(TaskId::HighwayV0);
        let looks = Looks::new(&task, 8.0, 1.0 / 3.0, true);
        assert_eq!((looks.stride, looks.early, looks.frames), (5, 60, 120));
        assert_eq!(looks.count(), 12 + 6);
        assert_eq!([11, 12, 13, 18].map(|look| looks.strides(look)), [11, 12, 14, 24]);
        assert!((looks.time(13) - 14.0 / 3.0).abs() < 1e-12 && looks.time(0) == 0.0);
        for look in 0..=looks.count() {
            assert_eq!(looks.until(looks.strides(look) * looks.stride), look);
        }
    }

    #[test]
    fn a_short_horizon_or_a_wish_for_evenness_keeps_them_even() {
        let task = Task::with_defaults(TaskId::HighwayV0);
        assert_eq!(Looks::new(&task, 4.0, 1.0 / 3.0, true).count(), 12);
        assert_eq!(Looks::new(&task, 8.0, 1.0 / 3.0, false).count(), 24);
        // Rounded up to whole decisions, and two of them at a time.
        assert_eq!(Looks::new(&task, 4.5, 1.0 / 3.0, true).frames, 90);
    }
}
