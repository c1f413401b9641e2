//! `#[remote]`: a unit struct of the function's name that derefs to the function.
//!
//! The value must be of a type of its own, by which the driver knows the function when it is
//! compiled. Such a value is also a pattern, as are constants, statics and tuple structs; only
//! a function's own name is none, and its type has no name.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, Index, ItemFn, Lit, LitInt, LitStr, Meta,
    MetaNameValue, Path, Result, ReturnType, Token, Type,
};

use crate::source;

// Long: more than half of it is the code that it generates.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(options)?;
    let (tracked, source) = (source::tracked(), source::parts(&item));
    let mut function: ItemFn = syn::parse2(item)?;
    check(&function)?;
    let types = argument_types(&function)?;
    let out = match &function.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, out) => quote!(#out),
    };
    let name = function.sig.ident.clone();
    let visibility = function.vis.clone();
    // Attributes about the function's interface stay with its name; the rest with its body.
    let (said, kept): (Vec<_>, Vec<_>) = function.attrs.drain(..).partition(is_of_interface);
    let cfgs = said.iter().filter(|said| said.path().is_ident("cfg"));
    let cfgs: Vec<_> = cfgs.collect();
    function.attrs = kept;
    function.vis = syn::Visibility::Inherited;
    // As part of a type it hides nothing of that name from its own code.
    function.sig.ident = format_ident!("body");
    // Any name could be that of another such function, which would be a pattern.
    let given = format_ident!("__heist_arguments", span = Span::mixed_site());
    let (args, passed) = match types.as_slice() {
        [one] => (quote!(#one), quote!(#given)),
        _ => {
            let at = (0..types.len()).map(Index::from);
            (quote!((#(#types,)*)), quote!(#(#given.#at),*))
        }
    };
    let signature = quote!((#(#types),*) -> #out).to_string();
    let called = name.unraw().to_string();
    let Options {
        cpus,
        retries,
        memory,
        within,
        backoff,
        resources,
    } = options;
    let resources = resources
        .iter()
        .map(|(name, count)| quote!((#name, #count)));
    Ok(quote! {
        #(#said)*
        #[allow(non_camel_case_types, reason = "it stands for a function")]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name;

        #(#cfgs)*
        impl #name {
            #function
        }

        #(#cfgs)*
        const _: () = {
            #tracked

            impl ::heist_cluster::RemoteFunction for #name {
                type Args = #args;
                type Out = #out;
                const NAME: &'static str = ::core::concat!(::core::module_path!(), "::", #called);
                const OPTIONS: ::heist_cluster::CallOptions = ::heist_cluster::CallOptions {
                    cpus: #cpus,
                    retries: #retries,
                    backoff_ms: #backoff,
                    within_ms: #within,
                    memory_bytes: #memory,
                    resources: &[#(#resources),*],
                };
                fn run(#given: #args) -> #out {
                    Self::body(#passed)
                }
            }

            impl ::core::ops::Deref for #name {
                type Target = fn(#(#types),*) -> #out;
                fn deref(&self) -> &Self::Target {
                    const BODY: fn(#(#types),*) -> #out = #name::body;
                    &BODY
                }
            }

            ::heist_cluster::__private::submit! {
                ::heist_cluster::__private::Registration::function::<#name>(
                    #signature, #source,
                )
            }
        };
    })
}

fn is_of_interface(attribute: &Attribute) -> bool {
    let interface = ["doc", "cfg", "deprecated", "must_use"];
    interface.iter().any(|name| attribute.path().is_ident(name))
}

/// Refuses what cannot be run by its name elsewhere.
fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let refuse = |span: Span, what: &str| {
        Err(Error::new(
            span,
            format!("a remote function cannot be {what}"),
        ))
    };
    if let Some(token) = &signature.asyncness {
        return refuse(token.span, "async: it runs on a worker's own threads");
    }
    if let syn::Safety::Unsafe(token) = &signature.safety {
        return refuse(token.span, "unsafe: its caller is on another machine");
    }
    if let Some(parameter) = signature.generics.params.first() {
        let span = syn::spanned::Spanned::span(parameter);
        return refuse(span, "generic: a worker knows it by its name alone");
    }
    if let Some(token) = &signature.variadic {
        return refuse(token.dots.spans[0], "variadic");
    }
    Ok(())
}

fn argument_types(function: &ItemFn) -> Result<Vec<Type>> {
    let mut types = Vec::new();
    for argument in &function.sig.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                let message = "a remote function is no method: `self` stays where it is";
                return Err(Error::new_spanned(receiver, message));
            }
            FnArg::Typed(argument) => {
                if let Type::Reference(reference) = &*argument.ty {
                    let message = "a remote function owns its arguments; take the value itself, \
                                   or a `Remote<T>` for data that many calls share";
                    return Err(Error::new_spanned(reference, message));
                }
                types.push((*argument.ty).clone());
            }
        }
    }
    Ok(types)
}

/// The options in the brackets of the attribute.
struct Options {
    cpus: u32,
    retries: u32,
    /// Code of the values: a `u64`, an `Option<u64>`, an `Option<[u64; 2]>`.
    memory: TokenStream,
    within: TokenStream,
    backoff: TokenStream,
    resources: Vec<(String, u32)>,
}

const KNOWN: &str =
    "there are `cpus`, `retries`, `backoff_ms`, `within_ms`, `memory` and `resources`";

impl Options {
    fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self {
            cpus: 1,
            retries: 3,
            memory: quote!(0),
            within: quote!(::core::option::Option::None),
            backoff: quote!(::core::option::Option::None),
            resources: Vec::new(),
        };
        let list = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)?;
        for option in list {
            match option {
                Meta::NameValue(MetaNameValue { path, value, .. }) => {
                    options.take(&path, &value)?;
                }
                Meta::List(list) if list.path.is_ident("resources") => {
                    let list =
                        list.parse_args_with(Punctuated::<Resource, Token![,]>::parse_terminated)?;
                    options
                        .resources
                        .extend(list.into_iter().map(|one| (one.name, one.count)));
                }
                other => {
                    let message = format!("no such option; {KNOWN}");
                    return Err(Error::new_spanned(other, message));
                }
            }
        }
        Ok(options)
    }

    fn take(&mut self, path: &Path, value: &Expr) -> Result<()> {
        if path.is_ident("cpus") {
            self.cpus = number(value)?;
            if self.cpus == 0 {
                return Err(Error::new_spanned(value, "it needs at least one"));
            }
        } else if path.is_ident("retries") {
            self.retries = number(value)?;
        } else if path.is_ident("memory") {
            self.memory = quote!(#value);
        } else if path.is_ident("within_ms") {
            self.within = quote!(::core::option::Option::Some(#value));
        } else if path.is_ident("backoff_ms") {
            self.backoff = quote!(::core::option::Option::Some(#value));
        } else if path.is_ident("resources") {
            let message = "expected a list in brackets, such as `resources(gpu = 1)`";
            return Err(Error::new_spanned(value, message));
        } else {
            let message = format!("no such option; {KNOWN}");
            return Err(Error::new_spanned(path, message));
        }
        Ok(())
    }
}

fn number(value: &Expr) -> Result<u32> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse(),
        _ => Err(Error::new_spanned(value, "expected a whole number")),
    }
}

/// A resource and how many of it: `gpu = 1`, or `"fast-disk" = 1`.
struct Resource {
    name: String,
    count: u32,
}

impl Parse for Resource {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = match input.peek(LitStr) {
            true => input.parse::<LitStr>()?.value(),
            false => input.parse::<Ident>()?.to_string(),
        };
        input.parse::<Token![=]>()?;
        let count = input.parse::<LitInt>()?.base10_parse()?;
        Ok(Self { name, count })
    }
}
