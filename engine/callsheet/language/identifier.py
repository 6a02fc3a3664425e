"""Names of parameters as expressions write them."""


def identifier(name: str) -> str:
    """`space-id` → `space_id`."""
    return name.replace("-", "_").replace(".", "_")
