//! `#[remote]`: a unit struct of the function's name that derefs to the function.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, MetaNameValue, Result, ReturnType, Token,
    Type,
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
    function.attrs = kept;
    function.vis = syn::Visibility::Inherited;
    function.sig.ident = format_ident!("body");
    let arguments: Vec<_> = (0..types.len())
        .map(|at| format_ident!("argument_{at}"))
        .collect();
    let (args, pattern) = match (types.as_slice(), arguments.as_slice()) {
        ([one], [argument]) => (quote!(#one), quote!(#argument)),
        _ => (quote!((#(#types,)*)), quote!((#(#arguments,)*))),
    };
    let signature = quote!((#(#types),*) -> #out).to_string();
    let Options { cpus, retries } = options;
    Ok(quote! {
        #(#said)*
        #[allow(non_camel_case_types, reason = "it stands for a function")]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name;

        #(#cfgs)*
        const _: () = {
            #tracked

            #function

            impl ::heist_cluster::RemoteFunction for #name {
                type Args = #args;
                type Out = #out;
                const NAME: &'static str = ::core::concat!(
                    ::core::module_path!(), "::", ::core::stringify!(#name)
                );
                const OPTIONS: ::heist_cluster::CallOptions = ::heist_cluster::CallOptions {
                    cpus: #cpus,
                    retries: #retries,
                };
                fn run(#pattern: #args) -> #out {
                    body(#(#arguments),*)
                }
            }

            impl ::core::ops::Deref for #name {
                type Target = fn(#(#types),*) -> #out;
                fn deref(&self) -> &Self::Target {
                    const BODY: fn(#(#types),*) -> #out = body;
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
}

impl Options {
    fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self {
            cpus: 1,
            retries: 3,
        };
        let list = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(tokens)?;
        for option in list {
            let Expr::Lit(ExprLit {
                lit: Lit::Int(number),
                ..
            }) = &option.value
            else {
                return Err(Error::new_spanned(&option.value, "expected a whole number"));
            };
            let number: u32 = number.base10_parse()?;
            if option.path.is_ident("cpus") && number > 0 {
                options.cpus = number;
            } else if option.path.is_ident("cpus") {
                return Err(Error::new_spanned(&option.value, "it needs at least one"));
            } else if option.path.is_ident("retries") {
                options.retries = number;
            } else {
                let message = "no such option; there are `cpus` and `retries`";
                return Err(Error::new_spanned(&option.path, message));
            }
        }
        Ok(options)
    }
}
