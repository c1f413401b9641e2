//! Options and results: a collection if all items are there, or else a failure.
