//! Requests and their answers.

use std::convert::Infallible;
use std::future::Future;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderValue, ALLOW, CONTENT_TYPE, HOST};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode, Version};

use crate::picture::WIDTH_MAX;

/// Answers a request: `/` says that the service is there, and `/thumbnail/WIDTH` is a picture,
/// which `thumbnail` computes.
///
/// # Errors
///
/// Never fails: a request that makes no sense has an answer that says so.
pub async fn answer<B, F>(
    request: Request<B>,
    thumbnail: impl FnOnce(usize) -> F,
) -> Result<Response<Full<Bytes>>, Infallible>
where
    F: Future<Output = Vec<u8>>,
{
    if !names_one_host(&request) {
        let why = "a request of HTTP/1.1 has one header Host, such as `Host: localhost:8080`\n";
        return Ok(text(StatusCode::BAD_REQUEST, why.to_owned()));
    }
    // Hyper leaves out the body of an answer to HEAD.
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let why = "this service understands GET and HEAD only\n";
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, why.to_owned());
        let methods = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, methods);
        return Ok(response);
    }
    let path = request.uri().path();
    let Some(width) = path.strip_prefix("/thumbnail/") else {
        return Ok(match path {
            "/" => text(StatusCode::OK, "ready\n".to_owned()),
            _ => {
                let why = format!("there is no {path}; ask for / or /thumbnail/WIDTH\n");
                text(StatusCode::NOT_FOUND, why)
            }
        });
    };
    let width = match width.parse() {
        Ok(width) if (1..=WIDTH_MAX).contains(&width) => width,
        _ => {
            let why = format!("the width {width:?} is no number from 1 to {WIDTH_MAX}\n");
            return Ok(text(StatusCode::BAD_REQUEST, why));
        }
    };
    let mut response = Response::new(Full::from(thumbnail(width).await));
    let kind = HeaderValue::from_static("image/x-portable-pixmap");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// True if the request has the header that RFC 9112, section 3.2 demands, and but one.
fn names_one_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() < Version::HTTP_11,
        (Some(host), None) if host.is_empty() => true,
        (Some(host), None) => Authority::try_from(host.as_bytes())
            .is_ok_and(|authority| !authority.as_str().contains('@')),
        (Some(_), Some(_)) => false,
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    // Otherwise a browser guesses, and may take a path that it is told of for a program.
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
