//! The nodes of a tree whose children a closure tells.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::iter::adaptor::debug_without_closures;
use crate::part::Part;

/// Gives all nodes of the tree below `root`, and that itself, in no particular order.
///
/// # Examples
///
/// ```
/// use heist::iter::walk_tree;
/// use heist::prelude::*;
///
/// // The divisors of divisors: below each number lies what it is a multiple of.
/// let nodes = walk_tree(12_u32, |&n| (1..n).filter(move |d| n % d == 0).collect::<Vec<_>>());
/// assert_eq!(nodes.filter(|&n| n == 2).count(), 3); // of 12, of 4 and of 6
/// ```
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    let walk = Walk::new(root, children_of);
    WalkTree { walk }
}

/// As [`walk_tree`], with each node before its children and all below them.
///
/// # Examples
///
/// ```
/// use heist::iter::walk_tree_prefix;
/// use heist::prelude::*;
///
/// let halves = walk_tree_prefix(6_u32, |&n| if n > 2 { vec![n / 2, n - n / 2] } else { vec![] });
/// assert_eq!(halves.collect::<Vec<_>>(), [6, 3, 1, 2, 3, 1, 2]);
/// ```
pub fn walk_tree_prefix<S, B, I>(root: S, children_of: B) -> WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    let walk = Walk::new(root, children_of);
    WalkTreePrefix { walk }
}

/// As [`walk_tree`], with each node after its children and all below them.
///
/// # Examples
///
/// ```
/// use heist::iter::walk_tree_postfix;
/// use heist::prelude::*;
///
/// let halves = walk_tree_postfix(6_u32, |&n| if n > 2 { vec![n / 2, n - n / 2] } else { vec![] });
/// assert_eq!(halves.collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3, 6]);
/// ```
pub fn walk_tree_postfix<S, B, I>(root: S, children_of: B) -> WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S>,
{
    let walk = Walk::new(root, children_of);
    WalkTreePostfix { walk }
}

macro_rules! walk_types {
    ($($(#[$doc:meta])* $name:ident: $postfix:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "a parallel iterator does nothing until it is consumed"]
        pub struct $name<S, B> {
            walk: Walk<S, B>,
        }

        debug_without_closures!($name<S; B> { walk });

        impl<S, B, I> Part for $name<S, B>
        where
            S: Send,
            B: Fn(&S) -> I + Send + Sync,
            I: IntoIterator<Item = S>,
        {
            type Output = S;

            #[inline]
            fn steps(&self) -> usize {
                self.walk.steps()
            }

            fn split(&mut self) -> Option<Self> {
                let walk = self.walk.split::<$postfix, _>()?;
                Some(Self { walk })
            }

            #[inline]
            fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
            where
                C: FnMut(S) -> ControlFlow<()>,
            {
                self.walk.run::<$postfix, _, _>(budget, consume)
            }
        }
    )* };
}

walk_types! {
    /// The nodes of a tree in no particular order: see [`walk_tree`].
    WalkTree: false;
    /// The nodes of a tree, each before its children: see [`walk_tree_prefix`].
    WalkTreePrefix: false;
    /// The nodes of a tree, each after its children: see [`walk_tree_postfix`].
    WalkTreePostfix: true;
}

/// The rest of a tree. A walk is `POSTFIX` if children come first.
#[derive(Clone)]
struct Walk<S, B> {
    /// The visits to make, the last first.
    stack: Vec<Visit<S>>,
    /// The number of nodes among them to be explored.
    unexplored: usize,
    children_of: Arc<B>,
}

debug_without_closures!(Walk<S; B> { stack });

/// A visit of a node.
#[derive(Clone, Debug)]
enum Visit<S> {
    /// Ask for its children, which are to be explored.
    Explore(S),
    /// It is an item.
    Give(S),
}

/// To split a tree that begins with a path, so many nodes of it are explored.
const PATH_MAX: usize = 64;

impl<S, B> Walk<S, B> {
    fn new(root: S, children_of: B) -> Self {
        Self {
            stack: vec![Visit::Explore(root)],
            unexplored: 1,
            children_of: Arc::new(children_of),
        }
    }

    fn steps(&self) -> usize {
        match self.unexplored {
            0 => self.stack.len(),
            _ => usize::MAX,
        }
    }
}

impl<S, B> Walk<S, B> {
    #[inline]
    fn run<const POSTFIX: bool, I, C>(
        &mut self,
        budget: &mut usize,
        mut consume: C,
    ) -> ControlFlow<()>
    where
        B: Fn(&S) -> I,
        I: IntoIterator<Item = S>,
        C: FnMut(S) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let Some(visit) = self.stack.pop() else {
                break;
            };
            *budget -= 1;
            match visit {
                Visit::Give(node) => consume(node)?,
                Visit::Explore(node) => {
                    self.unexplored -= 1;
                    let children = (self.children_of)(&node);
                    if POSTFIX {
                        self.stack.push(Visit::Give(node));
                        self.push_all(children);
                    } else {
                        self.push_all(children);
                        consume(node)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn push_all(&mut self, children: impl IntoIterator<Item = S>) {
        let first = self.stack.len();
        let children = children.into_iter().map(Visit::Explore);
        self.stack.extend(children);
        self.stack[first..].reverse();
        self.unexplored += self.stack.len() - first;
    }

    fn split<const POSTFIX: bool, I>(&mut self) -> Option<Self>
    where
        B: Fn(&S) -> I,
        I: IntoIterator<Item = S>,
    {
        if self.unexplored == 1 && self.stack.len() == 1 {
            self.explore_path::<POSTFIX, I>();
        }
        let len = self.stack.len();
        let mut places = self.unexplored_places();
        // Half of what is to be explored, or what lies on one side of it.
        let (upper_len, unexplored) = match self.unexplored {
            0 => (len / 2, 0),
            1 => match places.next()? {
                place if place + 1 < len => (place + 1, 1),
                place => (place, 0),
            },
            nodes => (places.nth(nodes / 2 - 1)? + 1, nodes / 2),
        };
        drop(places);
        if upper_len == 0 {
            return None;
        }
        let lower = self.stack.split_off(upper_len);
        self.unexplored -= unexplored;
        Some(Self {
            stack: std::mem::replace(&mut self.stack, lower),
            unexplored,
            children_of: Arc::clone(&self.children_of),
        })
    }

    /// Explores the only node, and its child as long as there is one, so that there is something to
    /// split.
    fn explore_path<const POSTFIX: bool, I>(&mut self)
    where
        B: Fn(&S) -> I,
        I: IntoIterator<Item = S>,
    {
        let mut given_before = Vec::new();
        let mut explored = 0;
        // If there is one to explore, it was pushed last.
        while self.unexplored == 1 && explored < PATH_MAX {
            let Some(Visit::Explore(node)) = self.stack.pop() else {
                break;
            };
            (self.unexplored, explored) = (0, explored + 1);
            let children = (self.children_of)(&node);
            let given = if POSTFIX {
                &mut self.stack
            } else {
                &mut given_before
            };
            given.push(Visit::Give(node));
            self.push_all(children);
        }
        self.stack.extend(given_before.into_iter().rev());
    }

    fn unexplored_places(&self) -> impl Iterator<Item = usize> + '_ {
        let visits = self.stack.iter().enumerate();
        visits.filter_map(|(i, visit)| matches!(visit, Visit::Explore(_)).then_some(i))
    }
}
