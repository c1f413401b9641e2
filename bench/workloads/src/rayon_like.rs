//! The abilities of peers whose interface is rayon's, written once: rayon and heist.

/// Implements [`peer`](crate::peer)'s traits for `$peer`, which has a `pool` of `$runtime`: joins,
/// loops, scopes, iterators, sorts. `$enter` is the pool's method for a call from outside; what
/// stands in braces goes into the implementation of [`ForkJoin`](crate::peer::ForkJoin).
///
/// The traits of `$runtime::prelude` are in scope where it stands.
#[macro_export]
macro_rules! rayon_like {
    ($peer:ty, $runtime:ident, $enter:ident, { $($of_fork_join:tt)* }) => {
        impl $crate::peer::ForkJoin for $peer {
            type Context<'s> = ();

            fn install<R: Send, F: FnOnce(&mut ()) -> R + Send>(&mut self, task: F) -> R {
                self.pool.install(|| task(&mut ()))
            }

            #[inline(always)]
            fn join<A, B, RA: Send, RB: Send>(_: &mut (), a: A, b: B) -> (RA, RB)
            where
                A: FnOnce(&mut ()) -> RA + Send,
                B: FnOnce(&mut ()) -> RB + Send,
            {
                $runtime::join(|| a(&mut ()), || b(&mut ()))
            }

            $($of_fork_join)*
        }

        impl $crate::peer::Loop for $peer {
            fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F) {
                self.pool
                    .$enter(|| (0..len).into_par_iter().for_each(body));
            }
        }

        impl $crate::peer::Spawn for $peer {
            type Scope<'s> = &'s $runtime::Scope<'static>;

            fn inside<F: FnOnce(Self::Scope<'_>) + Send + 'static>(&mut self, task: F) {
                self.pool.scope(task);
            }

            fn outside<F: FnOnce(Self::Scope<'_>)>(&mut self, task: F) -> bool {
                self.pool.in_place_scope(task);
                true
            }

            fn spawn<F: FnOnce(Self::Scope<'_>) + Send + 'static>(scope: Self::Scope<'_>, task: F) {
                scope.spawn(task);
            }
        }

        impl $crate::peer::Collect for $peer {
            fn map<F: Fn(u64) -> u64 + Sync + Send>(&mut self, len: u64, op: F) -> Vec<u64> {
                self.pool.$enter(|| {
                    let numbers = (0..len as usize).into_par_iter().map(|n| n as u64);
                    numbers.map(op).collect()
                })
            }

            fn filter<F: Fn(u64) -> bool + Sync + Send>(&mut self, len: u64, keep: F) -> Vec<u64> {
                self.pool.$enter(|| {
                    let numbers = (0..len as usize).into_par_iter().map(|n| n as u64);
                    numbers.filter(|&n| keep(n)).collect()
                })
            }
        }

        impl $crate::peer::Sort for $peer {
            fn sort_stable<T: Ord + Send>(&mut self, data: &mut [T]) {
                self.pool.$enter(|| data.par_sort());
            }

            fn sort_unstable<T: Ord + Send>(&mut self, data: &mut [T]) {
                self.pool.$enter(|| data.par_sort_unstable());
            }
        }
    };
}
