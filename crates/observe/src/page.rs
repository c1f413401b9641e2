//! A self-contained page: style, script and data are inside it.
//!
//! The data is JSON in a script element of a type that no browser executes.

use serde_json::Value;

#[cfg(feature = "files")]
pub(crate) mod figures;

const STYLE: &str = include_str!("page/frame.css");
const SCRIPT: &str = include_str!("page/frame.js");

/// The element into which the script draws.
pub(crate) const DRAWN: &str =
    "<noscript><p>The timelines are drawn by a script inside this page; \
     switch scripts on to see them.</p></noscript>\n\
     <div id=\"timelines\"></div>\n";

/// The page with that markup as its body. `style` and `script` come after those of the frame,
/// which reads `data`.
pub(crate) fn page(title: &str, style: &str, body: &str, data: &Value, script: &str) -> String {
    let title = text(title);
    let data = script_json(data);
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n\
         <style>\n{STYLE}{style}</style>\n\
         </head>\n\
         <body>\n\
         <main>\n\
         <h1>{title}</h1>\n\
         {body}\
         </main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n{SCRIPT}{script}</script>\n\
         </body>\n\
         </html>\n"
    )
}

/// Text as it must stand between tags.
pub(crate) fn text(raw: &str) -> String {
    raw.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// JSON as it must stand inside a script element.
///
/// There, the parser looks for `</script` and `<!--` whatever the quotes say.
/// The three characters can only occur inside strings, where the escape means
/// the same to a JSON parser.
fn script_json(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
