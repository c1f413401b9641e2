//! `#[job]`: the name of a type of job, and its registration.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemImpl, Result, Type};

use crate::source;

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !options.is_empty() {
        let message = "no options here; how a job runs is said when it is submitted";
        return Err(Error::new_spanned(options, message));
    }
    let (tracked, source) = (source::tracked(), source::parts(&item));
    let implementation: ItemImpl = syn::parse2(item)?;
    let is_job = implementation
        .trait_
        .as_ref()
        .is_some_and(|(path, _)| path.segments.last().is_some_and(|last| last.ident == "Job"));
    if !is_job {
        let message = "expected `impl Job for` a type";
        return Err(Error::new_spanned(&implementation.self_ty, message));
    }
    if let Some(parameter) = implementation.generics.params.first() {
        let message = "a job cannot be generic: a worker knows it by its name alone";
        return Err(Error::new_spanned(parameter, message));
    }
    let kind = match &*implementation.self_ty {
        Type::Path(path) => path,
        other => return Err(Error::new_spanned(other, "expected the name of a type")),
    };
    let signature = quote!(#kind).to_string();
    Ok(quote! {
        #implementation

        const _: () = {
            #tracked

            impl ::heist_cluster::RegisteredJob for #kind {
                const NAME: &'static str = ::core::concat!(
                    ::core::module_path!(), "::", ::core::stringify!(#kind)
                );
            }

            ::heist_cluster::__private::submit! {
                ::heist_cluster::__private::Registration::job::<#kind>(
                    #signature, #source,
                )
            }
        };
    })
}
