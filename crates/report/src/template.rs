//! Pages from templates. Values are escaped unless the template marks them as safe.

use std::fmt::Write;

use serde::Serialize;
use upon::{Engine, Value, fmt};

/// Error of a template, which is a fault of the program.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the report: {0}")]
pub struct RenderError(#[from] upon::Error);

/// Templates that others include, by name.
static PARTS: [(&str, &str); 6] = [
    ("topology.html", include_str!("../assets/topology.html.j2")),
    ("seeds.html", include_str!("../assets/seeds.html.j2")),
    ("details.html", include_str!("../assets/details.html.j2")),
    ("path.html", include_str!("../assets/path.html.j2")),
    ("blame.html", include_str!("../assets/blame.html.j2")),
    ("recorded.html", include_str!("../assets/recorded.html.j2")),
];

/// Fills a template with the values of a page.
pub fn fill(template: &str, page: impl Serialize) -> Result<String, RenderError> {
    let mut engine = Engine::new();
    engine.set_default_formatter(&escaped);
    engine.add_formatter("safe", fmt::default);
    engine.add_formatter("prose", prose);
    for (name, part) in PARTS {
        engine.add_template(name, without_block_lines(part))?;
    }
    engine.add_template("page", without_block_lines(template))?;
    Ok(engine.template("page").render(page).to_string()?)
}

/// Removes the line ends and the indentation of lines that hold only a block.
fn without_block_lines(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    for line in template.split_inclusive('\n') {
        let text = line.trim();
        let block = text.starts_with("{%") && text.find("%}") == text.len().checked_sub(2);
        out.push_str(if block { text } else { line });
    }
    out
}

/// Formats text in which backquotes mark code.
fn prose(out: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    let Value::String(text) = value else {
        return fmt::default(out, value);
    };
    let mut rest = text.as_str();
    // A backquote without a second one marks nothing and stays as it is.
    while let Some((before, code, after)) = rest.split_once('`').and_then(|(before, after)| {
        let (code, after) = after.split_once('`')?;
        Some((before, code, after))
    }) {
        write_escaped(out, before)?;
        out.write_str("<code>")?;
        write_escaped(out, code)?;
        out.write_str("</code>")?;
        rest = after;
    }
    write_escaped(out, rest)?;
    Ok(())
}

/// Escapes text for HTML, including quoted attributes.
fn escaped(out: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::String(text) => Ok(write_escaped(out, text)?),
        other => fmt::default(out, other),
    }
}

fn write_escaped(out: &mut fmt::Formatter<'_>, text: &str) -> std::fmt::Result {
    for char in text.chars() {
        match char {
            '&' => out.write_str("&amp;")?,
            '<' => out.write_str("&lt;")?,
            '>' => out.write_str("&gt;")?,
            '"' => out.write_str("&quot;")?,
            '\'' => out.write_str("&#x27;")?,
            _ => out.write_char(char)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_cannot_become_markup() {
        let page = upon::value! { name: "<b a=\"1\" b='2'>&", raw: "<i>", none: None };
        let text = fill("{{ name }}|{{ raw | safe }}|{{ none }}", page).unwrap();
        assert_eq!(text, "&lt;b a=&quot;1&quot; b=&#x27;2&#x27;&gt;&amp;|<i>|");
    }

    #[test]
    fn what_is_between_backticks_is_code() {
        let page = upon::value! { text: "see `a<b>` and `c`, not `d" };
        let text = fill("{{ text | prose }}", page).unwrap();
        assert_eq!(text, "see <code>a&lt;b&gt;</code> and <code>c</code>, not `d");
    }

    #[test]
    fn a_line_of_a_block_leaves_no_line() {
        let page = upon::value! { list: [1, 2], seeds: [] };
        let template = "a\n  {% for x in list %}\n  {{ x }}{% if loop.last %}.{% endif %}\n  {% endfor %}\n{% include \"seeds.html\" %}\nb\n";
        assert_eq!(fill(template, page).unwrap(), "a\n  1\n  2.\nb\n");
    }

    #[test]
    fn a_template_that_asks_for_what_is_not_there_is_told() {
        let error = fill("{{ nothing }}", upon::value! { a: 1 }).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot render the report: "),
            "{error}"
        );
    }
}
