"""The language of definitions: where they are found, what they may say, how they are checked."""
