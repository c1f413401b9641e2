//! The live view (`HEIST_LIVE`): the program as it runs, in a file that `heist top` reads.
//!
//! One thread, which the first pool starts, looks at all pools four times a second and writes a
//! [snapshot](heist_event::live) into a file of this process (`heist_sync::process_folder`). The file
//! has two [halves](heist_event::halves), of which one is whole at any moment, so that it can be read
//! after the process was killed. When the process ends in order the file goes; those of processes
//! that did not are removed by the next one.
//!
//! The file is written, not mapped: in a mapping, a disk that is full or a file that somebody cuts
//! off would kill the program.
//!
//! All that it reads is counted in any case, so that a pool which is looked at executes no other
//! instruction than one that is not. Figures of the meter are there if the program is
//! [profiled](crate::insight), the report of a stall if it is [watched](crate::stall).
//!
//! | file | holds |
//! |---|---|
//! | `seen` | a pool and the meter, as the thread sees them |
//! | `writer` | the file |
//! | `viewer` | the thread |

mod seen;
mod viewer;
mod writer;

pub(crate) use viewer::watch;
