//! A report takes a model's answer in, if that is about the same work.

use super::advice::advice;
use super::report::Report;
use crate::replay::Replay;
use crate::words::{duration, harmless};

/// A recorded run with a work that is further from what was measured is not shown.
const WORK_RATIO_MAX: f64 = 1.25;

impl Report {
    /// The same report, with what the model says of a recorded run of the program, from which the
    /// advice about sites takes its numbers; or with the reason why there is no model. Where there
    /// are no bounds, there is no model either, nor where the recorded run had another amount of
    /// work: recording disturbs strands that are very short.
    #[must_use]
    pub fn with_model(mut self, model: Result<Replay, String>) -> Self {
        let model = model.and_then(|model| self.fits(&model).map(|()| model));
        (self.model, self.model_missing) = match model {
            _ if !self.wants_model() => (None, None),
            Ok(model) => (Some(model.harmless()), None),
            Err(why) => (None, Some(harmless(&why))),
        };
        self.advice = advice(&self);
        self
    }

    /// Says why not, if the recorded run differs from those that were measured.
    fn fits(&self, model: &Replay) -> Result<(), String> {
        let (recorded, measured) = (model.work_ns as f64, self.work_ns as f64);
        let ratio = recorded / measured.max(1.0);
        if (1.0 / WORK_RATIO_MAX..=WORK_RATIO_MAX).contains(&ratio) {
            return Ok(());
        }
        Err(format!(
            "the run whose DAG was recorded had {} of work, and the measured ones {}: strands are \
             too short to be recorded, or the runs differ",
            duration(recorded),
            duration(measured)
        ))
    }
}
