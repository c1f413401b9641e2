//! Facts about a Rust file that the rules need: the paths it names, the modules and items it
//! declares, the names of its orderings and fences, and how it hands closures to sorts.
//!
//! Works on tokens, so that neither comments nor strings count, and what stands
//! inside a macro does.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Names and declarations of a file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(super) paths: Vec<NamedPath>,
    pub(super) modules: Vec<Module>,
    /// The files that `include!` names.
    pub(super) included: Vec<String>,
    /// The faults that can be planted.
    pub(crate) faults: Vec<Fault>,
    /// The lines of calls of [`SORTS`] whose closure is a variable or a reference to one.
    pub(super) sorts_by_name: Vec<usize>,
    pub(super) imports: Vec<Import>,
    /// Items by name, each behind the modules with a body that surround it.
    pub(super) items: Vec<(Vec<String>, String)>,
    /// The first and the last line of each function that has a body.
    pub(super) functions: Vec<(usize, usize)>,
    /// The lines of unsafe blocks, functions, traits and impls. A function that a trait demands
    /// is none: the trait tells its duties.
    pub(super) unsafe_sites: Vec<usize>,
    /// The first and the last line of each literal that spans several.
    pub(super) literals: Vec<(usize, usize)>,
}

/// A `use` as a whole.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    /// The name with which its paths begin.
    pub(super) head: String,
    pub(super) is_public: bool,
}

/// A name that is given to an ordering, a fence or a condition, as `heist_sync::fault` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) name: String,
    /// The line of the name.
    pub(crate) line: usize,
    /// The function that is told the name.
    pub(crate) function: String,
    /// The ordering beside it, if it is written there.
    pub(crate) order: Option<String>,
}

/// Functions of `heist_sync::fault`.
const FAULTS: [&str; 3] = ["ordering", "fence", "planted"];
/// Methods of `heist_sync::Barrier`, which are told the name of a fault.
const BARRIERS: [&str; 2] = ["light", "heavy"];
/// The orderings above Relaxed.
pub(super) const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];
/// A fence for the compiler alone: no model sees it, and so none could miss it.
const UNSEEN: &str = "compiler_fence";

/// Methods of slices that compare or ask for a key very often.
const SORTS: [&str; 7] = [
    "sort_by",
    "sort_by_key",
    "sort_by_cached_key",
    "sort_unstable_by",
    "sort_unstable_by_key",
    "select_nth_unstable_by",
    "select_nth_unstable_by_key",
];

/// The words before the names of items.
const ITEMS: [&str; 8] = [
    "struct", "enum", "union", "trait", "fn", "type", "const", "static",
];

/// A path such as `std::thread::spawn`, or one leaf of a `use`.
#[derive(Debug)]
pub(super) struct NamedPath {
    pub(super) segments: Vec<String>,
    /// The line of the last segment.
    pub(super) line: usize,
    /// The modules with a body that surround it.
    pub(super) inside: Vec<String>,
    pub(super) in_use: bool,
    /// In a `use` that has a visibility.
    pub(super) is_public: bool,
    /// The name that a `use` gives it by `as`.
    pub(super) alias: Option<String>,
    /// Inside something that only tests compile.
    pub(super) in_test: bool,
    /// Inside a call that names its ordering.
    pub(super) has_a_name: bool,
}

/// The surroundings of a place in the code.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    in_test: bool,
    /// In the arguments of a call that is told the name of an ordering.
    has_a_name: bool,
    /// In an impl of a trait.
    implements: bool,
}

impl Place {
    fn of(self, in_test: bool) -> Self {
        Self { in_test, ..self }
    }
}

/// A declaration `mod name;`, which stands for a file.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) name: String,
    /// The file that `#[path = ".."]` names.
    pub(super) path: Option<String>,
    /// The modules with a body that surround the declaration.
    pub(super) inside: Vec<String>,
    pub(super) in_test: bool,
}

impl Facts {
    /// Fails with the line and what is wrong there if the text is no Rust.
    pub(crate) fn of(text: &str) -> Result<Self, (usize, String)> {
        let tokens = TokenStream::from_str(text)
            .map_err(|error| (error.span().start().line, error.to_string()))?;
        let mut facts = Self::default();
        facts.walk(tokens, &[], Place::default());
        Ok(facts)
    }

    fn walk(&mut self, tokens: TokenStream, inside: &[String], place: Place) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut item = Item::among(place.in_test);
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            let place = place.of(item.in_test);
            let mut length = 1;
            let mut item_ends = false;
            match &tokens[at] {
                TokenTree::Punct(hash) if hash.as_char() == '#' => length = item.attribute(rest),
                TokenTree::Ident(word) if word == "use" && !is_punct(rest.get(1), '<') => {
                    length = self.add_import(rest, &tokens[..at], inside, item.in_test);
                    item_ends = true;
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let Some(TokenTree::Ident(name)) = rest.get(1) {
                        self.add_module(name.to_string(), rest.get(2), inside, &mut item, place);
                        (length, item_ends) = (3, true);
                    }
                }
                TokenTree::Ident(_) => {
                    item.implements |= is_trait_impl(rest);
                    let is_method = at > 0 && is_punct(tokens.get(at - 1), '.');
                    length = self.add_word(rest, is_method, inside, place);
                }
                TokenTree::Punct(dot) if dot.as_char() == '.' => self.note_sort(&rest[1..]),
                TokenTree::Group(group) => {
                    let implements = place.implements | item.implements;
                    self.walk(
                        group.stream(),
                        inside,
                        Place {
                            implements,
                            ..place
                        },
                    );
                    item_ends = group.delimiter() == Delimiter::Brace;
                }
                TokenTree::Punct(end) => item_ends = [';', ','].contains(&end.as_char()),
                TokenTree::Literal(literal) => {
                    let (start, end) = (literal.span().start().line, literal.span().end().line);
                    self.literals.extend((start < end).then_some((start, end)));
                }
            }
            if item_ends {
                // A comma may stand between the parameters of an impl.
                let implements = item.implements && is_punct(rest.first(), ',');
                item = Item {
                    implements,
                    ..Item::among(item.around)
                };
            }
            at += length;
        }
    }

    /// Notes the item or path at the start of the tokens, and returns how many it has; those of a
    /// call that names its ordering too.
    fn add_word(
        &mut self,
        tokens: &[TokenTree],
        is_method: bool,
        inside: &[String],
        place: Place,
    ) -> usize {
        self.note_item(tokens, inside, place);
        let length = self.add_path(tokens, inside, place);
        let Some(arguments) = self.named_by(is_method, tokens.get(length)) else {
            return length;
        };
        let has_a_name = true;
        self.walk(
            arguments,
            inside,
            Place {
                has_a_name,
                ..place
            },
        );
        length + 1
    }

    /// Notes a module: the file for which it stands, or what its body says.
    fn add_module(
        &mut self,
        name: String,
        next: Option<&TokenTree>,
        inside: &[String],
        item: &mut Item,
        place: Place,
    ) {
        match next {
            Some(TokenTree::Group(body)) => {
                self.walk(body.stream(), &[inside, &[name]].concat(), place);
            }
            _ => self.modules.push(Module {
                name,
                path: item.path.take(),
                inside: inside.to_vec(),
                in_test: item.in_test,
            }),
        }
    }

    /// Notes the item or unsafe block at the start of the tokens, if there is one.
    fn note_item(&mut self, tokens: &[TokenTree], inside: &[String], place: Place) {
        let word = tokens[0].to_string();
        let line = tokens[0].span().start().line;
        let name = match (&*word, &tokens[1..]) {
            ("macro_rules", [_, TokenTree::Ident(name), ..]) => name,
            (word, [TokenTree::Ident(name), ..]) if ITEMS.contains(&word) => name,
            // The type of a pointer to an unsafe function is no site.
            ("unsafe", [TokenTree::Ident(kind), rest @ ..]) => {
                let is_type = match rest {
                    [TokenTree::Group(_), ..] => kind == "fn",
                    [_, TokenTree::Ident(next), TokenTree::Group(_), ..] => next == "fn",
                    _ => false,
                };
                let is_told = kind == "fn" && place.implements;
                self.unsafe_sites
                    .extend((!is_type && !is_told).then_some(line));
                return;
            }
            ("unsafe", [TokenTree::Group(_), ..]) => return self.unsafe_sites.push(line),
            _ => return,
        };
        self.items.push((inside.to_vec(), name.to_string()));
        let body = tokens.iter().find(|token| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            token => is_punct(Some(token), ';'),
        });
        if let ("fn", Some(TokenTree::Group(body))) = (&*word, body) {
            self.functions.push((line, body.span_close().start().line));
        }
    }

    /// Notes the path at the start of the tokens, and returns how many it has.
    fn add_path(&mut self, tokens: &[TokenTree], inside: &[String], place: Place) -> usize {
        let mut segments = Vec::new();
        let mut line = 0;
        let mut length = 0;
        while let Some(TokenTree::Ident(name)) = tokens.get(length) {
            segments.push(name.to_string());
            line = name.span().start().line;
            length += 1;
            let goes_on = is_punct(tokens.get(length), ':')
                && is_punct(tokens.get(length + 1), ':')
                && matches!(tokens.get(length + 2), Some(TokenTree::Ident(_)));
            if !goes_on {
                break;
            }
            length += 2;
        }
        if segments == ["include"] && is_punct(tokens.get(length), '!') {
            if let Some(TokenTree::Group(file)) = tokens.get(length + 1) {
                self.included
                    .extend(file.stream().into_iter().find_map(text_of));
            }
        }
        self.paths.push(NamedPath {
            segments,
            line,
            inside: inside.to_vec(),
            in_use: false,
            is_public: false,
            alias: None,
            in_test: place.in_test,
            has_a_name: place.has_a_name,
        });
        length
    }

    /// The arguments of a call of the path noted last, `next` being what follows it, if the call
    /// gives the orderings in it a name. Notes that name.
    fn named_by(&mut self, is_method: bool, next: Option<&TokenTree>) -> Option<TokenStream> {
        let Some(TokenTree::Group(arguments)) = next else {
            return None;
        };
        let segments = &self.paths.last()?.segments;
        let function = segments.last()?.as_str();
        let is_told_a_name = match segments.as_slice() {
            [_] if is_method => BARRIERS.contains(&function),
            [.., module, _] => module == "fault" && FAULTS.contains(&function),
            _ => false,
        };
        if is_told_a_name {
            self.faults
                .extend(Fault::told(function, arguments.stream()));
        }
        (is_told_a_name || function == UNSEEN).then(|| arguments.stream())
    }

    /// Notes the call at the start of the tokens, if it is one of a sort whose closure is named.
    fn note_sort(&mut self, tokens: &[TokenTree]) {
        let [TokenTree::Ident(method), TokenTree::Group(arguments), ..] = tokens else {
            return;
        };
        if !SORTS.iter().any(|sort| method == sort) {
            return;
        }
        let arguments: Vec<TokenTree> = arguments.stream().into_iter().collect();
        let mut arguments = arguments.split(|token| is_punct(Some(token), ','));
        let last = arguments.rfind(|argument| !argument.is_empty());
        let by_name = match last {
            Some([TokenTree::Ident(_)]) => true,
            Some(argument) => is_punct(argument.first(), '&'),
            None => false,
        };
        if by_name {
            self.sorts_by_name.push(method.span().start().line);
        }
    }

    /// Notes the `use` at the start of the tokens, and returns how many it has.
    fn add_import(
        &mut self,
        tokens: &[TokenTree],
        before: &[TokenTree],
        inside: &[String],
        in_test: bool,
    ) -> usize {
        let end = tokens.iter().position(|token| is_punct(Some(token), ';'));
        let end = end.unwrap_or(tokens.len());
        let is_public = match before {
            [.., TokenTree::Ident(word)] | [.., TokenTree::Ident(word), TokenTree::Group(_)] => {
                word == "pub"
            }
            _ => false,
        };
        let line_of = |token: &TokenTree| token.span().end().line;
        let head = tokens[1..end].iter().find_map(|token| match token {
            TokenTree::Ident(name) => Some(name.to_string()),
            _ => None,
        });
        self.imports.push(Import {
            first_line: line_of(&tokens[0]),
            last_line: tokens.get(end).map_or(0, line_of),
            head: head.unwrap_or_default(),
            is_public,
        });
        let first = self.paths.len();
        self.add_use(&tokens[1..end], &[], in_test);
        for path in &mut self.paths[first..] {
            path.is_public = is_public;
            path.inside = inside.to_vec();
        }
        end + 1
    }

    /// Notes each leaf of the tree of a `use`.
    fn add_use(&mut self, tokens: &[TokenTree], prefix: &[String], in_test: bool) {
        let mut segments = prefix.to_vec();
        let mut line = 0;
        let mut alias = None;
        let mut tokens = tokens.iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    alias = tokens.next().map(TokenTree::to_string);
                }
                TokenTree::Ident(_) => {
                    segments.push(token.to_string());
                    line = token.span().start().line;
                }
                TokenTree::Punct(star) if star.as_char() == '*' => {
                    segments.push("*".to_owned());
                    line = star.span().start().line;
                }
                TokenTree::Group(group) => {
                    let branches: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in branches.split(|token| is_punct(Some(token), ',')) {
                        self.add_use(branch, &segments, in_test);
                    }
                    return;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if segments.len() > prefix.len() {
            self.paths.push(NamedPath {
                segments,
                line,
                inside: Vec::new(),
                in_use: true,
                is_public: false,
                alias,
                in_test,
                has_a_name: false,
            });
        }
    }
}

/// An item by the attributes and words before it.
#[derive(Debug)]
struct Item {
    /// Everything here is for tests only.
    around: bool,
    in_test: bool,
    /// It is an impl of a trait.
    implements: bool,
    path: Option<String>,
}

impl Item {
    /// An item before anything is known of it.
    fn among(in_test: bool) -> Self {
        Self {
            around: in_test,
            in_test,
            implements: false,
            path: None,
        }
    }

    /// Notes the attribute at the start of the tokens, and returns how many it has.
    fn attribute(&mut self, tokens: &[TokenTree]) -> usize {
        let is_inner = is_punct(tokens.get(1), '!');
        let length = 1 + usize::from(is_inner);
        let Some(TokenTree::Group(attribute)) = tokens.get(length) else {
            return 1;
        };
        let attribute = attribute.stream();
        self.path = path_attribute(attribute.clone()).or(self.path.take());
        self.in_test |= is_test_only(attribute);
        self.around |= is_inner && self.in_test;
        length + 1
    }
}

impl Fault {
    /// The fault that a function is told, if its arguments begin with a name.
    fn told(function: &str, arguments: TokenStream) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let name = arguments.next()?;
        let line = name.span().start().line;
        let order = arguments.find_map(|token| {
            let word = token.to_string();
            STRONG.contains(&&*word).then_some(word)
        });
        Some(Self {
            name: text_of(name)?,
            line,
            function: function.to_owned(),
            order,
        })
    }
}

fn is_punct(token: Option<&TokenTree>, char: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

/// True for the start of `impl .. for .. {`.
fn is_trait_impl(tokens: &[TokenTree]) -> bool {
    let is_body = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_punct(Some(token), ';'),
    };
    let header = tokens.iter().take_while(|token| !is_body(token));
    let header: Vec<&TokenTree> = header.collect();
    let is_for =
        |pair: &[&TokenTree]| pair[0].to_string() == "for" && !is_punct(Some(pair[1]), '<');
    tokens[0].to_string() == "impl" && header.windows(2).any(is_for)
}

/// The text of a plain string literal.
fn text_of(token: TokenTree) -> Option<String> {
    let literal = token.to_string();
    Some(literal.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// The file that `path = ".."` names, directly or in a `cfg_attr`.
fn path_attribute(attribute: TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    let found = tokens.windows(3).find_map(|window| match window {
        [TokenTree::Ident(key), equals, value] if key == "path" && is_punct(Some(equals), '=') => {
            text_of(value.clone())
        }
        _ => None,
    });
    let is_conditional = tokens
        .first()
        .is_some_and(|first| first.to_string() == "cfg_attr");
    found.or_else(|| match tokens.get(1) {
        Some(TokenTree::Group(arguments)) if is_conditional => path_attribute(arguments.stream()),
        _ => None,
    })
}

/// True for `cfg(test)` and for a `cfg` of which `test` is a part, unless negated.
fn is_test_only(attribute: TokenStream) -> bool {
    fn names_test(predicate: TokenStream) -> bool {
        let mut negated = false;
        predicate.into_iter().any(|token| match token {
            TokenTree::Ident(word) => {
                negated = word == "not";
                word == "test"
            }
            TokenTree::Group(group) => !negated && names_test(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    let mut tokens = attribute.into_iter();
    let is_cfg = tokens
        .next()
        .is_some_and(|first| first.to_string() == "cfg");
    is_cfg && names_test(tokens.collect())
}
