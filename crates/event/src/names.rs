//! Names of sites, as people know them.
//!
//! A site is named by the type of its closure. In a program on rayon that is a type of rayon's,
//! with the user's closures somewhere inside its parameters.

/// The packages whose types are around the user's: the runtimes, and the standard library.
const AROUND: [&str; 13] = [
    "alloc",
    "core",
    "std",
    "rayon",
    "rayon_core",
    "crossbeam_deque",
    "crossbeam_utils",
    "heist_core",
    "heist_deque",
    "heist_event",
    "heist_futures",
    "heist_par",
    "heist_sync",
];

/// How deep in brackets types are read. The compiler's own limit is 128, unless a crate raises it.
const DEPTH_MAX: usize = 256;

/// The name of the user's innermost closure within `name`, without parameters.
///
/// Without a closure of the user's it is the innermost function, then the innermost type, then the
/// outermost name of all, such as a sort of rayon's. A closure is known by its function. A name is
/// read up to where its brackets are deeper than those of any program.
///
/// # Examples
///
/// ```
/// use heist_event::short_name;
///
/// let name = "rayon::iter::plumbing::helper<rayon::iter::map::MapConsumer<rayon::Sum<u64>, \
///             wordstat::count::{{closure}}>>::{{closure}}";
/// assert_eq!(short_name(name), "wordstat::count");
/// ```
#[must_use]
pub fn short_name(name: &str) -> String {
    // The writer's own words for what is no type.
    if name.starts_with('(') && name.contains(' ') && !name.contains("::") {
        return name.to_owned();
    }
    let mut reader = Reader {
        rest: name,
        found: Vec::new(),
    };
    while !reader.rest.is_empty() {
        let before = reader.rest.len();
        reader.list(0);
        if reader.rest.len() == before {
            reader.skip();
        }
    }
    let paths = reader.found;
    let outer = paths.iter().find(|path| path.depth == 0);
    if let Some(outer) = outer.filter(|path| path.rank() == Rank::Closure) {
        return outer.text();
    }
    let best = paths
        .iter()
        .enumerate()
        .filter(|(_, path)| path.rank() > Rank::Around);
    // Of equals, the first one.
    let best = best.max_by_key(|(at, path)| (path.rank(), path.depth, usize::MAX - at));
    let outer = paths.iter().min_by_key(|path| path.depth);
    let best = best.map(|(_, path)| path).or(outer);
    best.map_or_else(|| name.to_owned(), Path::text)
}

/// As [`short_name`], or none if there is nothing of the user's in the name.
///
/// # Examples
///
/// ```
/// use heist_event::user_name;
///
/// let name = "rayon_core::job::HeapJob<wordstat::count::{{closure}}>";
/// assert_eq!(user_name(name).as_deref(), Some("wordstat::count"));
/// assert_eq!(user_name("rayon_core::job::JobRef"), None);
/// ```
#[must_use]
pub fn user_name(name: &str) -> Option<String> {
    let short = short_name(name);
    let package = short.split("::").next().unwrap_or_default();
    let is_users = package.len() < short.len() && !AROUND.contains(&package);
    is_users.then_some(short)
}

/// How well a path serves as a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Around,
    Type,
    Function,
    Closure,
}

/// A name with `::` in it, and how many brackets are around it.
struct Path {
    segments: Vec<String>,
    depth: usize,
}

impl Path {
    fn rank(&self) -> Rank {
        let [package, .., last] = self.segments.as_slice() else {
            return Rank::Around;
        };
        if AROUND.contains(&package.as_str()) {
            Rank::Around
        } else if last.starts_with('{') {
            Rank::Closure
        } else if last.starts_with(char::is_lowercase) {
            Rank::Function
        } else {
            Rank::Type
        }
    }

    /// The path without the braces for closures at its end.
    fn text(&self) -> String {
        let closures = self
            .segments
            .iter()
            .rev()
            .take_while(|name| name.starts_with('{'));
        let kept = self.segments.len() - closures.count();
        self.segments[..kept].join("::")
    }
}

/// Reads the type from left to right, and keeps each path that ends.
struct Reader<'a> {
    rest: &'a str,
    found: Vec<Path>,
}

impl<'a> Reader<'a> {
    fn skip(&mut self) -> Option<char> {
        let mut signs = self.rest.chars();
        let sign = signs.next();
        self.rest = signs.as_str();
        sign
    }

    fn take(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// An identifier, or a word in braces such as `{{closure}}`.
    fn word(&mut self) -> &'a str {
        let is_word = |sign: char| sign.is_alphanumeric() || "_#{}'".contains(sign);
        let end = self
            .rest
            .find(|sign| !is_word(sign))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Types up to the bracket that closes the list, each with the keyword before it.
    fn list(&mut self, depth: usize) -> Vec<(&'a str, Vec<String>)> {
        let mut keyword = "";
        let mut paths = Vec::new();
        if depth > DEPTH_MAX {
            self.rest = "";
        }
        while let Some(next) = self.rest.chars().next() {
            if ">)]".contains(next) {
                break;
            }
            if self.take("->") || self.take("=>") {
                continue;
            }
            if "([".contains(next) {
                self.skip();
                self.list(depth + 1);
                self.skip();
                continue;
            }
            if next != '<' && !next.is_alphanumeric() && !"_{".contains(next) {
                self.skip();
                continue;
            }
            let segments = self.path(depth);
            match segments.as_slice() {
                [word] if ["as", "for"].contains(&word.as_str()) => {
                    keyword = if word == "as" { "as" } else { "for" };
                }
                [word] if ["dyn", "impl", "mut", "const", "fn"].contains(&word.as_str()) => {}
                _ => paths.push((std::mem::take(&mut keyword), segments)),
            }
        }
        paths
    }

    /// A path with its parameters left out.
    fn path(&mut self, depth: usize) -> Vec<String> {
        let mut segments = Vec::new();
        loop {
            if self.take("<") {
                // Parameters follow a name at once or, as in code, after a `::`.
                let is_owner = self.rest.starts_with("impl ") || segments.is_empty();
                let inside = self.list(depth + 1);
                self.take(">");
                if is_owner {
                    segments = owner(inside).unwrap_or(segments);
                }
            } else {
                let word = self.word();
                if word.is_empty() {
                    break;
                }
                segments.push(word.to_owned());
            }
            if !self.take("::") && !self.rest.starts_with('<') {
                break;
            }
        }
        if segments.len() > 1 {
            let path = Path {
                segments: segments.clone(),
                depth,
            };
            self.found.push(path);
        }
        segments
    }
}

/// The type that `<A as B>` or `<impl B for A>` is about: A, unless only B is the user's.
fn owner(inside: Vec<(&str, Vec<String>)>) -> Option<Vec<String>> {
    let inside = inside.into_iter().filter(|(_, path)| path.len() > 1);
    let best = inside.min_by_key(|(keyword, path)| {
        let place = match *keyword {
            "for" => 0,
            "as" => 2,
            _ => 1,
        };
        (AROUND.contains(&path[0].as_str()), place)
    });
    best.map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_runtimes_around_a_closure_are_stripped() {
        for (name, short) in [
            ("prog::fib::{{closure}}", "prog::fib"),
            ("prog::fib::{{closure}}::{{closure}}", "prog::fib"),
            ("prog::fib::{closure#0}", "prog::fib"),
            (
                "rayon_core::scope::Scope::spawn<prog::walk::{{closure}}>::{{closure}}",
                "prog::walk",
            ),
            (
                "rayon::iter::plumbing::bridge_producer_consumer::helper<rayon::vec::DrainProducer\
                 <prog::Word>, rayon::iter::map::MapConsumer<rayon::iter::reduce::ReduceConsumer<\
                 prog::merge::{{closure}}, prog::new>, prog::count::{{closure}}>>::{{closure}}",
                "prog::merge",
            ),
            (
                "prog::par_map<prog::main::{{closure}}>::{{closure}}",
                "prog::par_map",
            ),
            (
                "heist_par::iter::Map<&[u8], fn(&u8) -> u8, lib::f::{{closure}}>",
                "lib::f",
            ),
        ] {
            assert_eq!(short_name(name), short, "{name}");
        }
    }

    #[test]
    fn functions_then_types_then_the_runtime_itself_stand_in_for_a_closure() {
        for (name, short) in [
            (
                "rayon::helper<rayon::Map<prog::Word, prog::count>>::{{closure}}",
                "prog::count",
            ),
            (
                "rayon::slice::sort::recurse<prog::Word>::{{closure}}",
                "prog::Word",
            ),
            (
                "rayon::slice::sort::recurse<u64>::{{closure}}",
                "rayon::slice::sort::recurse",
            ),
            (
                "(heist_par::map::Map<heist_par::Iter<u64>, u64>, heist_par::total::Total)",
                "heist_par::map::Map",
            ),
            ("(outside any fork)", "(outside any fork)"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(short_name(name), short, "{name}");
        }
    }

    #[test]
    fn methods_are_named_by_the_type_of_the_user() {
        for (name, short) in [
            (
                "<prog::Tree as prog::Walk>::go::{{closure}}",
                "prog::Tree::go",
            ),
            (
                "<prog::Tree<T> as core::ops::Fn<(u8,)>>::go::{{closure}}",
                "prog::Tree::go",
            ),
            (
                "<alloc::vec::Vec<u8> as prog::Walk>::go::{{closure}}",
                "prog::Walk::go",
            ),
            (
                "prog::walk::<impl prog::Walk for prog::Tree>::go::{{closure}}",
                "prog::Tree::go",
            ),
            (
                "prog::walk::<impl prog::Tree<u8>>::go::{{closure}}",
                "prog::Tree::go",
            ),
            ("prog::sort::<impl [T]>::go::{{closure}}", "prog::sort::go"),
        ] {
            assert_eq!(short_name(name), short, "{name}");
        }
    }

    #[test]
    fn broken_names_end_as_some_name() {
        for name in [
            "a::b<",
            "<<<>",
            "a::",
            "::",
            ">>",
            "(a::b",
            "a::b->",
            "é::<ü::{{",
            "<a as",
        ] {
            let short = short_name(name);
            assert!(short.len() <= name.len(), "{name}: {short}");
        }
    }

    #[test]
    fn a_name_in_more_brackets_than_the_stack_could_hold_is_read_up_to_some_depth() {
        for bracket in ["<", "(", "[", "a::b<", "(a::b<", "<impl "] {
            let name = format!("prog::go<{}", bracket.repeat(200_000));
            let short = short_name(&name);
            assert!(["prog::go", "a::b"].contains(&&*short), "{short}");
        }
    }
}
