//! A fleet of machines in a model: jobs that share processors, arrive, and move from node to node.
//!
//! The decision which job moves is that of a [`Rule`]: the planner that heist ships ([`Ours`]), or
//! one of the simpler rules beside it ([`Plain`]). All rules meet the same fleet: everything that
//! is left to chance follows from the seed alone, and from no rule's decisions.
//!
//! Time is whole nanoseconds and goes from event to event. A node's jobs share its CPUs in
//! proportion to what they want, so that all of them are slowed down alike, and a job runs for its
//! duration where it gets all that it wants. A rule does not see this: it sees measurements, which
//! are late, rare, noisy, smoothed or lost, and estimates, which are wrong. A move pauses the job,
//! takes its state over a link that all moves share, and starts it with cold caches; meanwhile its
//! memory is taken at both ends, and a CPU at each is busy with it.
//!
//! # Examples
//!
//! ```
//! use heist_sim::fleet::{simulate, Named, Scenario};
//!
//! let setup = Scenario::Hotspot.setup(8, 1);
//! let run = |named: Named| simulate(&setup, &mut *named.rule(&setup, 1), 1);
//! let (none, ours) = (run(Named::None), run(Named::Ours));
//! assert_eq!(none.slowdowns.len(), ours.slowdowns.len());
//! assert!(none.moves == 0 && ours.moves > 0);
//! ```

mod bound;
pub mod dag;
mod draw;
mod generate;
mod link;
mod measure;
mod named;
mod node;
mod ours;
mod outcome;
mod rule;
mod run;
mod scenario;
mod score;
mod setup;
mod state;
mod travel;
mod view;

pub use bound::{bound, Bound};
pub use draw::Draw;
pub use generate::{Generated, Mix};
pub use named::Named;
pub use ours::Ours;
pub use outcome::Run;
pub use rule::{Order, Plain, Rule};
pub use run::simulate;
pub use scenario::{thrash, Scenario};
pub use score::Score;
pub use setup::{Job, Measuring, Moving, Node, Setup, Task, CPU, GIB, MIB, SECOND};
pub use view::{JobView, View};
