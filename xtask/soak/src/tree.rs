//! Random programs: trees whose nodes are operations of heist, each with the
//! value that a serial run gives.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use heist::prelude::*;
use heist::{CancellationToken, JoinContext, Once, TaskGroup, Waiting};

use crate::books::{self, Entry};
use crate::world::World;

/// The world and the seed that all nodes of a tree share.
pub(crate) struct Context {
    pub(crate) world: Arc<World>,
    /// The operation that its panics name.
    pub(crate) op: u64,
    /// Some leaves panic.
    pub(crate) bombs: bool,
}

/// A node with all below it, of which the seed is the whole description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) seed: u64,
    /// How many leaves there are at most.
    pub(crate) size: u32,
    /// Some frame below may wait for its descendants only. Such a frame must not wait for
    /// another pool, which could wait for the place that stays empty meanwhile.
    pub(crate) strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Leaf,
    Bomb,
    /// Closures of a few bytes.
    Join,
    /// Closures and results of kilobytes, or with an alignment.
    LargeJoin,
    Told,
    /// Joins with a context, as far as there are joins below.
    Context,
    Scope(u32),
    ScopeFifo(u32),
    InPlace(u32),
    /// Each job of the scope spawns the next.
    Chain(u32),
    Group(u32),
    Submit,
    /// `install` in another pool.
    Install(usize),
    /// `participate` in another pool.
    Participate(usize),
    Strict,
    /// In surroundings that follow all that it begins.
    Within,
    /// The initialiser of a value that both halves of a join want.
    Once,
    /// In a call that could be cancelled.
    Cancellable,
    Yield,
    /// In a call that blocks, until it does something.
    Block,
    Loop,
    Iterator,
    Sort,
    Broadcast,
}

impl Node {
    fn shape(self, context: &Context) -> Shape {
        if self.size <= 1 {
            return match context.bombs && self.seed.is_multiple_of(97) {
                true => Shape::Bomb,
                false => Shape::Leaf,
            };
        }
        let pick = |n: u64| (self.seed >> 32) % n;
        let few = 1 + pick(6) as u32;
        let pool = pick(context.world.pools.len() as u64) as usize;
        match self.seed % 100 {
            0..40 => Shape::Join,
            40..45 => Shape::LargeJoin,
            45..47 => Shape::Told,
            47..51 => Shape::Context,
            51..55 => Shape::Scope(few),
            55..57 => Shape::ScopeFifo(few),
            57..59 => Shape::Cancellable,
            59..63 => Shape::InPlace(few),
            63..68 => Shape::Chain(few),
            68..73 => Shape::Group(few),
            73..78 => Shape::Submit,
            78..85 if self.strict => Shape::Join,
            78..82 => Shape::Install(pool),
            82..85 => Shape::Participate(pool),
            // Not beside frames that wait for other pools: what the same job has pushed before
            // runs on top of a strict frame that waits for one of its handles, and waits in
            // its way.
            85..88 if !self.strict => Shape::Join,
            85 => Shape::Strict,
            86 => Shape::Within,
            87 => Shape::Once,
            88..91 if self.strict => Shape::Join,
            88..91 => Shape::Yield,
            91..94 => Shape::Loop,
            94..96 => Shape::Iterator,
            96 => Shape::Block,
            97 => Shape::Sort,
            _ => Shape::Broadcast,
        }
    }

    fn child(self, index: u32, children: u32) -> Self {
        // A little less each time, so that chains of single children end.
        let size = match children {
            1 => self.size - self.size.div_ceil(4),
            _ => (self.size + index) / children,
        };
        Self {
            seed: mixed(self.seed ^ u64::from(index + 1)),
            size,
            strict: self.strict,
        }
    }

    fn strict(self, strict: bool) -> Self {
        Self {
            strict: self.strict || strict,
            ..self
        }
    }

    fn mark(self) -> u8 {
        (self.seed >> 8) as u8
    }
}

/// Spreads the bits of a number.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Values of two children: not the same the other way round.
fn both(a: u64, b: u64) -> u64 {
    a.wrapping_mul(3).wrapping_add(b)
}

/// Where the items of a loop come from.
fn items(node: Node) -> impl Fn(u64) -> u64 + Copy + Send + Sync {
    move |index| mixed(node.seed ^ index)
}

/// How many items a loop has.
fn count(node: Node) -> usize {
    node.size as usize * 16
}

/// The node's value; `None` if it panics.
pub(crate) fn serial(context: &Context, node: Node) -> Option<u64> {
    let all = |children: u32| {
        // All of them run, whichever panics.
        let values = (0..children).map(|index| serial(context, node.child(index, children)));
        let values: Vec<_> = values.collect();
        values
            .into_iter()
            .try_fold(0, |sum: u64, value| Some(sum.wrapping_add(value?)))
    };
    let one = |strict| serial(context, node.child(0, 1).strict(strict));
    match node.shape(context) {
        Shape::Leaf => Some(mixed(node.seed)),
        Shape::Bomb => None,
        Shape::Join | Shape::LargeJoin | Shape::Told | Shape::Context => {
            let (a, b) = (
                serial(context, node.child(0, 2)),
                serial(context, node.child(1, 2)),
            );
            Some(both(a?, b?))
        }
        Shape::Scope(children)
        | Shape::ScopeFifo(children)
        | Shape::InPlace(children)
        | Shape::Chain(children)
        | Shape::Group(children) => all(children),
        Shape::Submit | Shape::Yield | Shape::Cancellable => one(false),
        Shape::Install(pool) | Shape::Participate(pool) => one(context.world.is_strict(pool)),
        Shape::Strict | Shape::Within => one(true),
        Shape::Once => one(true).map(|value| both(value, value)),
        Shape::Block => one(node.strict),
        Shape::Loop | Shape::Iterator => {
            let items = (0..count(node) as u64).map(items(node));
            Some(items.fold(0, u64::wrapping_add))
        }
        Shape::Sort => {
            let mut items: Vec<u64> = (0..count(node) as u64).map(items(node)).collect();
            items.sort_unstable();
            Some(digest(&items))
        }
        Shape::Broadcast => Some(mixed(node.seed)),
    }
}

/// A number that depends on the order.
fn digest(items: &[u64]) -> u64 {
    items.iter().fold(0, |sum, item| both(sum, *item))
}

/// Runs the node on heist; panics with the operation if a leaf does.
pub(crate) fn parallel(context: &Arc<Context>, node: Node) -> u64 {
    let one = |strict| parallel(context, node.child(0, 1).strict(strict));
    match node.shape(context) {
        Shape::Leaf => {
            for _ in 0..node.seed % 64 {
                std::hint::spin_loop();
            }
            mixed(node.seed)
        }
        Shape::Bomb => books::throw(context.op),
        Shape::Join => join::<4>(context, node),
        Shape::LargeJoin => large_join(context, node),
        Shape::Context => heist::with_context(|cx| carried(context, node, cx)),
        Shape::Told => told_join(context, node),
        Shape::Scope(children) => scope(context, node, children),
        Shape::ScopeFifo(children) => scope_fifo(context, node, children),
        Shape::InPlace(children) => in_place(context, node, children, || ()),
        Shape::Chain(children) => chain(context, node, children),
        Shape::Group(children) => group(context, node, children),
        Shape::Submit => submitted(context, node),
        Shape::Install(pool) => {
            let (pool, strict) = (&context.world.pools[pool], context.world.is_strict(pool));
            pool.install(|| one(strict))
        }
        Shape::Participate(pool) => {
            let (pool, strict) = (&context.world.pools[pool], context.world.is_strict(pool));
            pool.participate(|| one(strict))
        }
        Shape::Strict => heist::with_waiting(Waiting::Descendants, || one(true)),
        Shape::Within => within(|| one(true)),
        Shape::Once => made_once(|| one(true)),
        Shape::Cancellable => {
            let value = heist::with_cancellation(&CancellationToken::new(), || one(false));
            value.expect("nobody has cancelled it")
        }
        Shape::Block => heist::blocking(|| {
            std::thread::yield_now();
            one(node.strict)
        }),
        Shape::Yield => {
            heist::yield_local();
            let value = one(false);
            heist::yield_now();
            value
        }
        Shape::Loop => reduced(node),
        Shape::Iterator => (0..count(node) as u64)
            .into_par_iter()
            .map(items(node))
            .reduce(|| 0, u64::wrapping_add),
        Shape::Sort => sorted(node),
        Shape::Broadcast => {
            let indices = heist::broadcast(|worker| worker.index());
            if !indices.iter().copied().eq(0..indices.len()) {
                books::complain(format!("a broadcast gave {indices:?}"));
            }
            mixed(node.seed)
        }
    }
}

/// The value, which both halves of a join want.
fn made_once(make: impl Fn() -> u64 + Send + Sync) -> u64 {
    let once = Once::new();
    let value = || *once.get_or_init(&make);
    let (a, b) = heist::join(value, value);
    both(a, b)
}

/// Calls `op` in surroundings that are there when it begins and when it ends.
fn within(op: impl FnOnce() -> u64 + Send) -> u64 {
    thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
    let around = |run: &mut dyn FnMut()| {
        DEPTH.set(DEPTH.get() + 1);
        run();
        DEPTH.set(DEPTH.get() - 1);
    };
    let check = || {
        if DEPTH.get() == 0 {
            books::complain("a part of a call runs outside of its surroundings".to_owned());
        }
    };
    heist::with_propagation(Arc::new(around), || {
        let (value, ()) = heist::join(op, check);
        check();
        value
    })
}

/// Joins whose closures are larger than a slot, or aligned to more.
fn large_join(context: &Arc<Context>, node: Node) -> u64 {
    match node.seed >> 60 {
        0..4 => join::<100>(context, node),
        4..8 => join::<5000>(context, node),
        8..12 => aligned_join::<Line>(context, node),
        _ => aligned_join::<Page>(context, node),
    }
}

/// A join whose second closure is told whether it has moved.
fn told_join(context: &Arc<Context>, node: Node) -> u64 {
    let (a, b) = heist::join_context(
        |_| parallel(context, node.child(0, 2)),
        |here| {
            std::hint::black_box(here.migrated());
            parallel(context, node.child(1, 2))
        },
    );
    both(a, b)
}

fn scope(context: &Arc<Context>, node: Node, children: u32) -> u64 {
    let mut values = vec![0; children as usize];
    heist::scope(|scope| {
        for (value, child) in slots(&mut values, node) {
            let mut entry = Entry::<12>::new(child.mark());
            scope.spawn(move |_| {
                entry.run();
                *value = parallel(context, child);
            });
        }
    });
    sum(&values)
}

fn scope_fifo(context: &Arc<Context>, node: Node, children: u32) -> u64 {
    let mut values = vec![0; children as usize];
    heist::scope_fifo(|scope| {
        for (value, child) in slots(&mut values, node) {
            let mut entry = Entry::<300>::new(child.mark());
            scope.spawn_fifo(move |_| {
                entry.run();
                *value = parallel(context, child);
            });
        }
    });
    sum(&values)
}

/// Jobs of a scope, each of which spawns the next.
fn chain(context: &Arc<Context>, node: Node, children: u32) -> u64 {
    let mut values = vec![0; children as usize];
    let mut links = slots(&mut values, node).collect::<Vec<_>>().into_iter();
    heist::scope(|scope| {
        if let Some(first) = links.next() {
            link(context, scope, first, links);
        }
    });
    sum(&values)
}

fn group(context: &Arc<Context>, node: Node, children: u32) -> u64 {
    let sum = Arc::new(Mutex::new(0_u64));
    let group = TaskGroup::new();
    for index in 0..children {
        let child = node.child(index, children);
        let (context, sum) = (Arc::clone(context), Arc::clone(&sum));
        let mut entry = Entry::<20>::new(child.mark());
        group.run(move || {
            entry.run();
            let value = parallel(&context, child);
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            *sum = sum.wrapping_add(value);
        });
    }
    group.wait();
    let sum = *sum.lock().unwrap_or_else(PoisonError::into_inner);
    sum
}

fn submitted(context: &Arc<Context>, node: Node) -> u64 {
    let mut entry = Entry::<30>::new(node.mark());
    let (context, child) = (Arc::clone(context), node.child(0, 1));
    let handle = heist::submit(move || {
        entry.run();
        parallel(&context, child)
    });
    handle.join()
}

fn reduced(node: Node) -> u64 {
    let item = items(node);
    heist::parallel_reduce(
        0..count(node),
        || 0,
        |sum, part| part.fold(sum, |sum, index| sum.wrapping_add(item(index as u64))),
        u64::wrapping_add,
    )
}

fn sorted(node: Node) -> u64 {
    let mut items: Vec<u64> = (0..count(node) as u64).map(items(node)).collect();
    match node.seed >> 63 {
        0 => items.par_sort(),
        _ => items.par_sort_unstable(),
    }
    digest(&items)
}

/// As [`parallel`], for a node whose joins, and those below it as far as there is nothing
/// else between, are those of a context.
fn carried(context: &Arc<Context>, node: Node, mut cx: JoinContext<'_>) -> u64 {
    match node.shape(context) {
        Shape::Join | Shape::LargeJoin | Shape::Told | Shape::Context => {
            let half = |index| {
                let child = node.child(index, 2);
                let mut entry = Entry::<6>::new(child.mark());
                move |cx: JoinContext<'_>| {
                    entry.run();
                    carried(context, child, cx)
                }
            };
            let (a, b) = cx.join(half(0), half(1));
            both(a, b)
        }
        Shape::InPlace(children) => {
            // Joins among the jobs of the scope. A yield runs whatever there is, which may want the
            // value of the `Once` below.
            let more = || {
                let pause = || (!node.strict).then(heist::yield_local);
                cx.join(|_| pause(), |mut cx| cx.join(|_| (), |_| ()));
            };
            in_place(context, node, children, more)
        }
        _ => parallel(context, node),
    }
}

fn in_place(context: &Arc<Context>, node: Node, children: u32, more: impl FnOnce()) -> u64 {
    let mut values = vec![0; children as usize];
    heist::in_place_scope(|scope| {
        for (value, child) in slots(&mut values, node) {
            let mut entry = Entry::<60>::new(child.mark());
            scope.spawn(move |_| {
                entry.run();
                *value = parallel(context, child);
            });
        }
        more();
    });
    sum(&values)
}

fn sum(values: &[u64]) -> u64 {
    values.iter().copied().fold(0, u64::wrapping_add)
}

/// A place for the value of each child.
fn slots(values: &mut [u64], node: Node) -> impl Iterator<Item = (&mut u64, Node)> {
    let children = values.len() as u32;
    let child = move |(index, value)| (value, node.child(index, children));
    (0..children).zip(values).map(child)
}

/// A job that spawns the next one, then runs its node.
fn link<'scope>(
    context: &'scope Arc<Context>,
    scope: &heist::Scope<'scope>,
    (value, child): (&'scope mut u64, Node),
    mut others: std::vec::IntoIter<(&'scope mut u64, Node)>,
) {
    let mut entry = Entry::<5>::new(child.mark());
    scope.spawn(move |scope| {
        entry.run();
        if let Some(next) = others.next() {
            link(context, scope, next, others);
        }
        *value = parallel(context, child);
    });
}

/// A join whose closures and results carry `N` bytes.
fn join<const N: usize>(context: &Arc<Context>, node: Node) -> u64 {
    let half = |index| {
        let child = node.child(index, 2);
        let mut entry = Entry::<N>::new(child.mark());
        move || {
            entry.run();
            let result = [child.mark(); N];
            (parallel(context, child), result)
        }
    };
    let ((a, left), (b, right)) = heist::join(half(0), half(1));
    for (index, result) in [left, right].iter().enumerate() {
        let mark = node.child(index as u32, 2).mark();
        if result.iter().any(|byte| *byte != mark) {
            books::complain(format!("a result of {N} bytes came back changed"));
        }
    }
    both(a, b)
}

#[derive(Default)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its place matters")] u8);

#[derive(Default)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only its place matters")] u8);

/// A join whose closures and results have an alignment.
fn aligned_join<A: Default + Send>(context: &Arc<Context>, node: Node) -> u64 {
    fn check<A>(value: &A) {
        if !(std::ptr::from_ref(value) as usize).is_multiple_of(align_of::<A>()) {
            books::complain(format!("a value lies off its {} bytes", align_of::<A>()));
        }
    }
    let half = |index| {
        let (child, cargo) = (node.child(index, 2), A::default());
        let mut entry = Entry::<3>::new(child.mark());
        move || {
            entry.run();
            check(&cargo);
            (parallel(context, child), cargo)
        }
    };
    let ((a, left), (b, right)) = heist::join(half(0), half(1));
    check(&left);
    check(&right);
    both(a, b)
}
