"""Files of the programs that agents run in: where they lie, and changing one entry of them."""
