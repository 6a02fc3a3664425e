"""Elements of HTML in storage XHTML that have no form of their own."""

# They are blocks, whatever they hold.
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "legend",
        "main",
        "nav",
        "section",
        "summary",
    ]
)
