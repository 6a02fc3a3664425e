"""Commands that are functions of the engine. `callsheet.registry` maps the names definitions use to them."""
