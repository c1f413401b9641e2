//! Timelines from the events that a pool recorded, and the pages that show them.
//!
//! There are three nouns. A [`Span`] is a stretch of time that one worker spent on one thing: a
//! task, a search, sleep. A [`Lane`] is everything one worker did. A [`Run`] is one execution: its
//! lanes, the [`Steal`]s between them, and the figures to print beside it.
//!
//! The machines of a cluster have a page of their own, see [`fleet`]; so has a program that does
//! not scale, see [`profile`]. A program that runs is seen by [`live`]. These and [`recording`] are
//! there with the feature `files`, which is on by default.
//!
//! [`fold`] makes lanes out of the events that a pool recorded, and
//! [`report::html`] draws runs, one below the other on one time axis, on a page
//! that needs nothing but a browser; [`trace::write`] writes them for Perfetto. Neither depends on
//! [`fold`]: a program that measured its own spans (a plain thread, a simulator) fills a [`Run`] by
//! hand. A [`Recording`](recording::Recording) is the timeline that a program has written itself.
//!
//! ```
//! use heist_event::{Event, EventKind, WorkerEvents};
//! use heist_observe::{fold, report, Run};
//!
//! let at = |at_ns, kind| Event { at_ns, kind };
//! let recorded = [WorkerEvents {
//!     events: vec![at(10, EventKind::JobBegin), at(90, EventKind::JobEnd)],
//!     names: vec!["wordstat::count::{{closure}}"],
//!     dropped: 0,
//! }];
//!
//! let folded = fold(&recorded, 0..100);
//! assert_eq!(folded.lanes[0].busy_ns(), 80);
//! assert_eq!(folded.lanes[0].spans[0].label, "wordstat::count");
//!
//! let run = Run { name: "stealing".into(), wall_ns: 100, ..Run::from(folded) };
//! let page = report::html("one small run", &[run]);
//! assert!(page.contains("stealing"));
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "files")]
pub mod dag;
#[cfg(feature = "files")]
pub mod fleet;
mod fold;
#[cfg(feature = "files")]
pub mod live;
mod page;
#[cfg(feature = "files")]
pub mod profile;
#[cfg(feature = "files")]
pub mod recording;
#[cfg(feature = "files")]
pub mod replay;
pub mod report;
#[cfg(feature = "files")]
mod syntax;
mod timeline;
pub mod trace;
#[cfg_attr(
    not(any(feature = "files", test)),
    expect(dead_code, reason = "the page of a run needs a part of it")
)]
pub mod words;

pub use fold::{fold, Folded};
pub use timeline::{Fact, Lane, Run, Source, Span, SpanKind, Steal};
