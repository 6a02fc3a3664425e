"""What takes more than a shape to say about definitions, a module for each subject. `check.py` asks them all."""
