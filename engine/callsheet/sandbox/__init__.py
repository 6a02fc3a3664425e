"""A site on this machine to try everything on: what `entity` definitions say, kept, searched and served."""
